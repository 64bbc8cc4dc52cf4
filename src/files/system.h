// Files as the operating system gives them. The only files of the project that call it are
// system_*.cc.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_SYSTEM_H_
#define TENSORCAST_SRC_FILES_SYSTEM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/byte_source.h"
#include "files/file_status.h"
#include "files/output_options.h"

namespace tensorcast::files {

class PrivateMapping;  // files/private_mapping.h

// Where in a path the name of the file or directory begins: behind the last divider of directories;
// at the end where the path ends in one.
std::size_t NameBegin(std::string_view path);

// Why a name that another file gives cannot be one of this system's in a directory: "has a ':'".
// Empty where it can; that it is neither empty nor "..", and has no '/', the caller sees to.
std::string WhyNoName(std::string_view name);

// Whether a regular file stands at `path`, or a symbolic link to one.
bool IsFile(const std::string& path);

// The size of the file at `path`. Throws Error, which says `what` about it: "cannot be accessed".
std::uint64_t FileBytes(const std::string& path, const std::string& what);

// How many files of a kind (inputs, outputs) a process may keep open at once; others of that kind
// are opened for each use.
std::size_t MostOpenFiles();

// The most that a new output at `path` lets others do which is made of `inputs`: what all of these
// let them do. Permissions as the system has them.
unsigned PermissionsOfOutput(const std::string& path, std::span<const std::string> inputs);

// Where a file that another one names must lie, once all symbolic links are followed.
struct Enclosure {
  // Resolved: at or below one of them; the first is told. None for files of a file system that is
  // lent, which has no links.
  std::vector<std::string> directories;
  bool allow_hard_links = false;  // of a file with other names, which may be from anywhere
};

// What a model may name: what lies at or below its directory, or that of what it is a link to.
// Throws Error where there is no such directory.
Enclosure EnclosureOfModel(const std::string& model_path, bool allow_hard_links);

// What may be read of a checkpoint's directory: what lies at or below it and, where it is a
// snapshot in a Hugging Face cache (.../snapshots/REVISION), in the cache's "blobs". Hard links are
// allowed: copies of a whole directory are made of them.
Enclosure EnclosureOfCheckpoint(const std::string& directory);

// A regular file, open for reading. Its size is that at opening: what is appended later is not
// seen, and a file that becomes shorter is an error where the missing bytes are read.
// CheckUnchanged looks at the size and at the times of the last write and the last change; a file
// that has lost its name meanwhile is as good as before.
class InputFile final : public ByteSource {
 public:
  explicit InputFile(const std::string& path);
  // The same of a file that another one names. A file that is none, and one that does not lie where
  // it must, are refused (contents) without having been opened for reading.
  InputFile(const std::string& path, const Enclosure& enclosure);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() override;

  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return status_.bytes; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override;
  void CheckUnchanged() const override;
  std::shared_ptr<std::byte> Map(std::uint64_t offset, std::uint64_t bytes) const override;

  // The file as it was when it was opened.
  const FileStatus& status() const { return status_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  FileStatus status_;
  mutable std::mutex mutex_;                         // guards what follows
  mutable std::shared_ptr<PrivateMapping> mapping_;  // once it was asked for
};

// Bytes that are made once, from front to end, and then read at random: in memory, or where a
// directory is given in an unnamed temporary file, which is gone with its last descriptor, however
// the process ends.
class SpoolFile final : public ByteSource {
 public:
  // `label` is what path() gives, for messages; no file of that name is touched.
  SpoolFile(std::string label, const SpoolOptions& options);
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;
  ~SpoolFile() override;

  // Throws where so many bytes more would not go into the directory, before any is written.
  void CheckRoomFor(std::uint64_t bytes) const;

  // Not from two threads at once, nor beside Read.
  void Append(std::span<const std::byte> data);

  const std::string& path() const override { return label_; }
  std::uint64_t size() const override { return size_; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::string label_;
  SpoolOptions options_;
  std::vector<std::byte> memory_;  // if there is no directory
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// Calls `use` with each temporary file of an output at `path` that a killed process left. None is
// anybody else's meanwhile.
void ForEachStale(const std::string& path, const std::function<void(const std::string&)>& use);

// Throws where a file of `bytes` cannot be created at `path`: it exists (and is not to be
// replaced), is a directory or a device, is one of the inputs by any name, its directory is
// missing, or the disk has no room.
void CheckOutput(const std::string& path, std::uint64_t bytes, const CreateOptions& options);

// A file that is written beside its final name, or in a directory of hidden name (Staging), and
// gets its final name in Commit. Whatever ends before leaves nothing under that name; the
// destructor removes the temporary file, and one that a killed process left is removed when the
// same output is written again. A file that replaces another has its permissions, and its owner
// and group where the system allows it; any other has those that the umask leaves of what its
// inputs let others do.
//
// Outputs that belong together are all synced before the first is named, and are named in an order
// in which each state between is whole: Sync, Name and SyncDirectory are the steps of Commit.
class OutputFile {
 public:
  // Checks as CheckOutput does, then creates the temporary file and reserves its room; or opens the
  // one that options.begun names, which is left to the process that created it, and is written to
  // as long as that process has neither removed it nor given it its name, or is taken over.
  // `owner`: the output, in the same directory, to which the file belongs and under whose name the
  // temporary file stands, and whose permissions it has where that is replaced; empty: `path`
  // itself.
  OutputFile(const std::string& path, std::uint64_t bytes, const CreateOptions& options,
             const std::string& owner = {});
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  const std::string& path() const { return path_; }
  const std::string& temporary() const { return temporary_.empty() ? begun_ : temporary_; }

  // Safe to call from several threads.
  void Write(std::uint64_t offset, std::span<const std::byte> data);
  // Gives back what was reserved beyond `bytes`: the size was the most there could be.
  void Truncate(std::uint64_t bytes);
  // What has been written, not while Write is called.
  void Read(std::uint64_t offset, std::span<std::byte> out) const;

  // Syncs the file, gives it its final name and syncs the directory. Call once.
  void Commit();

  void Sync();
  // Brings what this process has written so far to the disk, for others of other machines that
  // write the same file, or give it its name.
  void SyncPart();
  // False where the name is taken and is not to be replaced: the file stays as it was.
  bool Name();
  // The same under another name in the directory of path(), which becomes path().
  bool NameAs(const std::string& path);
  // Takes the name away again, if the file has it: also where giving it failed, which some file
  // systems say of what they did. For a name that was free. Returns whether it is gone.
  bool Unname() noexcept;
  // Leaves the temporary file to the next run of its output.
  void Leave() noexcept;
  // Makes the names given in the directory of path() last.
  void SyncDirectory() const;
  [[noreturn]] void FailTaken() const;

  // Whether another run is writing the same output.
  bool IsContested() const;

  // What was done beside writing: a stale temporary file that was removed.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void CreateTemporary(const std::string& prefix, unsigned permissions);
  void CreateStaged(unsigned permissions);
  void OpenBegun(const std::string& begun, std::uint64_t bytes, bool takes);
  // Notes the access of a file that is replaced, for the finished one.
  void TakeAccessOf(const std::string& replaced);
  void NoteInputs(const CreateOptions& options);
  void CloseUntilUsed();
  void CheckBegun(int descriptor) const;
  void Reserve(std::uint64_t bytes);
  void Discard() noexcept;
  bool HasName() const;
  // Calls use(descriptor) of the file, which is opened for it where it does not stay open.
  template <class Use> void WithDescriptor(Use use) const;

  std::string path_;
  Staging staging_;
  std::string directory_;  // where it is made: "." where the path has none
  bool overwrite_ = false;
  bool synced_ = false;
  std::atomic<bool> has_unsynced_ = false;  // since SyncPart
  std::string begun_;      // the temporary file of another process, which this one writes to
  std::string temporary_;  // where the file is until it has its name; empty: it has
  int descriptor_ = -1;    // stays open with the final name too; -1: is opened for each use
  std::pair<std::uint64_t, std::uint64_t> number_;  // which file of the machine it is then
  std::optional<unsigned> permissions_;  // of the file that is replaced, for the finished one
  // Which files of the machine the inputs are, where it may replace what has its name then.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> inputs_;
  std::vector<std::string> notes_;
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_SYSTEM_H_
