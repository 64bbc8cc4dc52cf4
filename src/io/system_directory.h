// Directories as the operating system gives them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_SYSTEM_DIRECTORY_H_
#define TENSORCAST_SRC_IO_SYSTEM_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_file.h"

namespace tensorcast::io {

// Whether a directory stands at `path`, or a symbolic link to one.
bool IsDirectory(const std::string& path);

// "a/b" of "a" or "a/" and "b".
std::string Joined(std::string_view directory, std::string_view name);

struct DirectoryEntry {
  enum class Kind { kFile, kDirectory, kOther };
  std::string name;
  Kind kind = Kind::kOther;  // of what a symbolic link leads to; to nothing: kOther
  bool is_link = false;
  std::uint64_t bytes = 0;  // of a file
};

// What is in a directory, by name. Throws Error where it cannot be read, or holds more entries
// than any checkpoint does.
std::vector<DirectoryEntry> ListDirectory(const std::string& path);

// Throws where a directory of `bytes` cannot be created at `path`: the name is taken (and not to be
// replaced, or by what is no directory), it is the same as an input's directory, above or below it,
// the directory it is to stand in is missing, or the disk has no room. `input`: the directory of
// which the new one is made.
void CheckOutputDirectory(const std::string& path, const std::string& input, std::uint64_t bytes,
                          const CreateOptions& options);

// A directory that is built beside its final name, under a hidden one, and gets its name in Commit:
// whatever ends before leaves what stood there as it was. The destructor removes what is not
// committed; what a killed process left is removed when the same output is made again.
//
// A directory that is replaced is exchanged with the new one in one step and then removed. Where
// the file system cannot exchange, it is first moved to a hidden name that ends in ".old"; a
// process killed in that moment leaves it, and nothing removes it.
class OutputDirectory {
 public:
  // Checks as CheckOutputDirectory does, then creates the hidden directory.
  OutputDirectory(const std::string& path, const std::string& input, std::uint64_t bytes,
                  const CreateOptions& options);
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;
  ~OutputDirectory();

  // The final name, and where files are written until it is given.
  const std::string& path() const { return path_; }
  const std::string& staging() const { return staging_; }

  // Creates a directory below, "a" before "a/b".
  void Add(const std::string& relative);
  // Syncs the directories; the files are synced by those who write them.
  void Sync();
  // Gives the directory its name, and removes the one it replaces. Call once, after Sync.
  void Commit();

  // What was done beside that: what a killed run left and was removed; what could not be.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void RemoveStale(const std::string& prefix);
  void Create(const std::string& prefix);
  bool Exchange();
  std::string MoveAside();
  void Name(const std::string& old);

  std::string path_;
  std::string parent_;
  bool overwrite_ = false;
  std::string staging_;  // empty: there is nothing under a hidden name
  int lock_ = -1;        // on the directory, as long as this lives
  std::vector<std::string> added_;
  std::vector<std::string> notes_;
};

// One run at a time gives names, and takes them away, in the directory of `path`: held while an
// output of several files gets its names. Where the file system has no locks there is none.
class DirectoryLock {
 public:
  // Waits for another run, calling `wait` every few milliseconds, which may throw. Throws Error
  // where that takes long.
  DirectoryLock(const std::string& path, const std::function<void()>& wait);
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock();

 private:
  int lock_ = -1;
};

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_SYSTEM_DIRECTORY_H_
