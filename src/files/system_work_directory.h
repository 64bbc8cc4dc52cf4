// The directory that holds a run that others go on with: the output as far as it is made, and the
// journals of what is done. It lasts until the output is complete.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_SYSTEM_WORK_DIRECTORY_H_
#define TENSORCAST_SRC_FILES_SYSTEM_WORK_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensorcast::files {

// Held under a lock as long as this lives: by one process, or by several that do parts. A process
// that is killed leaves its lock; the system takes it back.
class WorkDirectory {
 public:
  // Where the work of an output lies.
  static std::string PathOf(const std::string& output);

  // Makes the directory of an output's work, or takes up the one that stands, alone. kShared: where
  // others that do parts have it, beside them; then Share() has no effect. kStanding: none is made.
  // `wait` is called while another prepares it, and may throw. Throws Error where another run has
  // it, and where what stands there is no such directory.
  enum class Use { kAlone, kShared, kStanding };
  WorkDirectory(const std::string& output, Use use, const std::function<void()>& wait);
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  ~WorkDirectory();

  const std::string& path() const { return path_; }
  // The directory where the output is made, which Clear makes; and its path in it.
  std::string staging() const;
  std::string staged() const;
  // Where the output is that has this number: staged, which a run that was killed while it gave the
  // name may not have left it; under its name; or nowhere.
  enum class Place { kStaged, kNamed, kNowhere };
  Place FindOutput(std::uint64_t number);
  // What such a run had put aside that stood at the output's name; empty: nothing.
  std::string PutAside() const;

  // What the run is, or nothing: none has been prepared here.
  std::optional<std::string> Head() const;
  // Writes it, whole or not at all, and makes all names in the directory last.
  void SetHead(std::string_view text);
  // Removes what is left of a run that was not prepared, and makes the output's directory.
  void Clear();
  // Lets others in that do parts.
  void Share();
  // The paths of all journals, in their order.
  std::vector<std::string> Journals() const;
  // A name for a journal here.
  std::string JournalPath(std::string_view name) const;
  // Removes it with all that is in it, after the output has its name, or because nothing was
  // prepared. Returns what could not be removed, or nothing.
  std::string Remove();

 private:
  bool TryOpen(Use use);

  const std::string output_;  // the final path
  std::string path_;
  int lock_ = -1;
  int lost_ = 0;  // how often the directory was gone when its lock was to be taken
  bool is_alone_ = false;
};

// A file of entries that are added one by one: each is there whole, once Add has returned, or,
// where the process or the machine stopped before, not at all.
class JournalFile {
 public:
  // Opens it for adding, or makes it. Throws Error where another process has it open so.
  explicit JournalFile(const std::string& path);
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;
  ~JournalFile();

  void Add(std::span<const std::byte> entry);

  // The entries of a journal, in their order, up to the first that is not whole.
  static void ForEach(const std::string& path,
                      const std::function<void(std::span<const std::byte>)>& use);

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t end_ = 0;
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_SYSTEM_WORK_DIRECTORY_H_
