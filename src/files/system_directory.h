// Directories as the operating system gives them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_SYSTEM_DIRECTORY_H_
#define TENSORCAST_SRC_FILES_SYSTEM_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorcast::files {

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

// The file that stands for the lock of a directory's names while it is held.
inline constexpr std::string_view kLockName = ".tensorcast.lock";

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
  std::string file_;
  int lock_ = -1;
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_SYSTEM_DIRECTORY_H_
