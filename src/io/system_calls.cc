// The parts of which the calls of the operating system are made.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/system_calls.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <system_error>

#include "io/error_text.h"
#include "io/tensor_file.h"

namespace tensorcast::io {
namespace {

constexpr std::string_view kTemporaryMark = ".tensorcast-";
constexpr std::string_view kTemporaryEnding = ".tmp";
// NAME_MAX is 255: room for the dot, the mark, the random digits and the ending.
constexpr std::size_t kLongestNamePart = 200;

std::string RandomDigits() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device source;
  std::string digits;
  for (unsigned value = source(), i = 0; i < 8; ++i, value >>= 4) digits += kDigits[value & 15];
  return digits;
}

}  // namespace

std::string ReasonText(int error) { return std::system_category().message(error); }

void ThrowSystem(const std::string& path, const std::string& what, int error) {
  throw Error(ErrorKind::kSystem, PathText(path) + ": " + what + ": " + ReasonText(error));
}

void ThrowWrite(const std::string& path, const std::string& what, int error) {
  std::string advice;
  switch (error) {
    case ENOSPC: advice = "; free some room, or write to another disk"; break;
    case EDQUOT:
      advice = "; your quota is used up: free some room, or write to another disk";
      break;
    case EFBIG:
      advice =
          "; raise the limit on the size of files (ulimit -f), or write to a file "
          "system that holds larger files";
      break;
    case EIO: advice = "; the disk may be failing"; break;
    default: break;
  }
  throw Error(ErrorKind::kSystem, PathText(path) + ": " + what + ": " + ReasonText(error) + advice);
}

int AboveStandardStreams(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return moved;
}

int OpenRetrying(const std::string& path, int flags, mode_t mode) {
  int descriptor = 0;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return AboveStandardStreams(descriptor);
}

int SyncRetrying(int descriptor) {
  int result = 0;
  do {
    result = ::fsync(descriptor);
  } while (result != 0 && errno == EINTR);
  return result;
}

std::string_view KindOfFile(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

void RefuseNul(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    throw Error(ErrorKind::kArguments, PathText(path) + ": a path holds no NUL byte");
  }
}

// The directory and the last part of a path: "a/b" is ("a", "b"), "b" is (".", "b").
std::pair<std::string, std::string> SplitPath(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// An absolute path without symbolic links; empty where there is no such file.
std::string ResolvedPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> text(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (text == nullptr && errno != ENOENT && errno != ENOTDIR) {
    ThrowSystem(path, "cannot be followed to where it leads", errno);
  }
  return text ? text.get() : "";
}

bool IsBelow(std::string_view path, std::string_view directory) {
  if (directory.empty()) return false;
  if (directory == "/") return true;
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

std::int64_t WrittenAt(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void CheckWritable(const std::string& path, const std::string& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) {
    ThrowSystem(path, "its directory " + PathText(directory) + " cannot be used", errno);
  }
  if (!S_ISDIR(status.st_mode)) {
    ThrowSystem(path, "its directory " + PathText(directory) + " cannot be used", ENOTDIR);
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    ThrowSystem(path, "cannot be created in " + PathText(directory), errno);
  }
}

void CheckSizeLimit(const std::string& path, const std::string& what, std::uint64_t bytes) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      bytes > limit.rlim_cur) {
    throw Error(ErrorKind::kSystem, PathText(path) + ": " + what + " takes " +
                                        CountText(bytes, "byte") + ", and files are limited to " +
                                        std::to_string(limit.rlim_cur) +
                                        "; raise the limit (ulimit -f)");
  }
}

void CheckFreeSpace(const std::string& path, const std::string& directory, const std::string& what,
                    std::uint64_t bytes, const std::string& remedy) {
  struct statvfs disk {};
  int result = 0;
  do {
    result = ::statvfs(directory.c_str(), &disk);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return;  // the file system does not say; writing will
  const std::uint64_t unit = disk.f_frsize != 0 ? disk.f_frsize : disk.f_bsize;
  if (unit != 0 && bytes / unit > disk.f_bavail) {
    throw Error(ErrorKind::kSystem, PathText(path) + ": " + what + " takes " +
                                        CountText(bytes, "byte") + ", and its disk has " +
                                        std::to_string(disk.f_bavail * unit) + " free; " + remedy);
  }
}

std::string TemporaryPrefix(const std::string& name) {
  return '.' + name.substr(0, kLongestNamePart) + std::string(kTemporaryMark);
}

std::string TemporaryName(const std::string& prefix) {
  return prefix + RandomDigits() + std::string(kTemporaryEnding);
}

bool IsTemporary(std::string_view entry, std::string_view prefix) {
  constexpr std::size_t kDigitCount = 8;
  if (entry.size() != prefix.size() + kDigitCount + kTemporaryEnding.size()) return false;
  if (!entry.starts_with(prefix) || !entry.ends_with(kTemporaryEnding)) return false;
  const std::string_view digits = entry.substr(prefix.size(), kDigitCount);
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool StillNamed(const std::string& path, int descriptor) {
  struct stat by_name {
  }, open{};
  return ::lstat(path.c_str(), &by_name) == 0 && ::fstat(descriptor, &open) == 0 &&
         SameFile(by_name, open);
}

// Fills `out` from `offset` of an open file that had `size` bytes.
void ReadFully(int descriptor, const std::string& path, std::uint64_t size, std::uint64_t offset,
               std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor, out.data(), std::min(out.size(), kLargestTransfer),
                                static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      ThrowSystem(path, "cannot be read at offset " + std::to_string(offset), errno);
    }
    if (got == 0) {
      throw Error(ErrorKind::kSystem,
                  PathText(path) + ": shrank while it was read: " + "nothing at offset " +
                      std::to_string(offset) + ", it had " + CountText(size, "byte") +
                      "; do not change a file that is being read");
    }
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace tensorcast::io
