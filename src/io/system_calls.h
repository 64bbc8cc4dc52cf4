// What the files system_*.cc share: descriptors that close themselves, calls that go on after a
// signal, the names of temporary files, and the words in which the system's errors are told.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_SYSTEM_CALLS_H_
#define TENSORCAST_SRC_IO_SYSTEM_CALLS_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tensorcast::io {

inline constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;  // of one call

std::string ReasonText(int error);
[[noreturn]] void ThrowSystem(const std::string& path, const std::string& what, int error);
// The same of a file that is being written, with what can be done.
[[noreturn]] void ThrowWrite(const std::string& path, const std::string& what, int error);

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }
  int Release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

// A file never becomes descriptor 0, 1 or 2: in a process that has closed one of those, what it
// prints would land in the file.
int AboveStandardStreams(int descriptor);
int OpenRetrying(const std::string& path, int flags, mode_t mode = 0);
int SyncRetrying(int descriptor);

std::string_view KindOfFile(mode_t mode);  // "a directory"
void RefuseNul(const std::string& path);

// The directory and the last part of a path: "a/b" is ("a", "b"), "b" is (".", "b").
std::pair<std::string, std::string> SplitPath(const std::string& path);
// An absolute path without symbolic links; empty where there is no such file.
std::string ResolvedPath(const std::string& path);
// Of two resolved paths.
bool IsBelow(std::string_view path, std::string_view directory);

std::int64_t WrittenAt(const struct stat& status);
bool SameFile(const struct stat& a, const struct stat& b);
// Whether `path` is still the name of the open file.
bool StillNamed(const std::string& path, int descriptor);

// Fills `out` from `offset` of an open file that had `size` bytes.
void ReadFully(int descriptor, const std::string& path, std::uint64_t size, std::uint64_t offset,
               std::span<std::byte> out);

// Throws where the directory of an output at `path` is not there or lets nothing be made in it.
void CheckWritable(const std::string& path, const std::string& directory);
// Throws where no file may have so many `bytes`. `what` takes them: "the output".
void CheckSizeLimit(const std::string& path, const std::string& what, std::uint64_t bytes);
// Throws where the disk has no room for them. Nothing is said where the system does not say.
void CheckFreeSpace(const std::string& path, const std::string& directory, const std::string& what,
                    std::uint64_t bytes, const std::string& remedy);
inline constexpr std::string_view kRoomRemedy = "free some room, or write to another disk";

// What stands under a temporary name is called ".NAME.tensorcast-[8 digits].tmp" after the output
// that it becomes.
std::string TemporaryPrefix(const std::string& name);
std::string TemporaryName(const std::string& prefix);
bool IsTemporary(std::string_view entry, std::string_view prefix);

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_SYSTEM_CALLS_H_
