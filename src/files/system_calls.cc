// What is made of the system's calls, and is the same on every system.
//
// SPDX-License-Identifier: Apache-2.0
#include "files/system_calls.h"

#include <algorithm>
#include <cerrno>
#include <random>

#include "files/error.h"
#include "files/system.h"

namespace tensorcast::files {
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

bool RemoveStaleDirectory(const std::string& path) {
  Descriptor lock(OpenLockOfBuilt(path));
  return lock.get() >= 0 && Lock(lock.get()) && IsStillLocked(path, lock.get()) &&
         RemoveBuilt(path, lock.Release());
}

bool RemoveStaleFile(const std::string& path) {
  const Descriptor descriptor(OpenTemporary(path));
  return descriptor.get() >= 0 && Lock(descriptor.get()) && IsStillNamed(path, descriptor.get()) &&
         Remove(path);
}

}  // namespace

void ThrowSystem(const std::string& path, const std::string& what, int error) {
  throw Error(core::ErrorKind::kSystem,
              words::PathText(path) + ": " + what + ": " + ReasonText(error), Remedy::kNone, path,
              error);
}

void ThrowWrite(const std::string& path, const std::string& what, int error) {
  throw Error(core::ErrorKind::kSystem,
              words::PathText(path) + ": " + what + ": " + ReasonText(error) +
                  std::string(WriteAdvice(error)),
              Remedy::kNone, path, error);
}

void ThrowTaken(const std::string& path, const std::string& what) {
  throw Error(core::ErrorKind::kArguments, words::PathText(path) + ": " + what + ", or replace it",
              Remedy::kAllowOverwriting, path, EEXIST);
}

void ThrowDirectory(core::ErrorKind kind, const std::string& path, const std::string& what) {
  throw Error(kind, words::PathText(path) + ": " + what, Remedy::kNone, path, EISDIR);
}

std::string_view KindText(FileKind kind) {
  switch (kind) {
    case FileKind::kFile: return "a file";
    case FileKind::kDirectory: return "a directory";
    case FileKind::kPipe: return "a pipe";
    case FileKind::kSocket: return "a socket";
    case FileKind::kDevice: return "a device";
    case FileKind::kOther: break;
  }
  return "no regular file";
}

void RefuseNul(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    throw Error(core::ErrorKind::kArguments, words::PathText(path) + ": a path holds no NUL byte",
                path);
  }
}

bool IsBelow(std::string_view path, std::string_view directory) {
  if (directory.empty() || !path.starts_with(directory)) return false;
  if (directory.ends_with('/')) return true;  // of a whole disk
  return path.size() > directory.size() && path[directory.size()] == '/';
}

bool IsSameFile(const FileStatus& a, const FileStatus& b) {
  return a.device == b.device && a.number == b.number;
}

bool IsStillNamed(const std::string& path, int descriptor) {
  FileStatus by_name;
  FileStatus open;
  return OwnStatus(path, &by_name) && ReadStatus(descriptor, &open) && IsSameFile(by_name, open);
}

void ReadFully(int descriptor, const std::string& path, std::uint64_t size, std::uint64_t offset,
               std::span<std::byte> out) {
  while (!out.empty()) {
    const std::int64_t got = ReadAt(descriptor, offset, out);
    if (got < 0) ThrowSystem(path, "cannot be read at offset " + std::to_string(offset), errno);
    if (got == 0) {
      throw Error(core::ErrorKind::kSystem,
                  words::PathText(path) + ": shrank while it was read: " + "nothing at offset " +
                      std::to_string(offset) + ", it had " + words::CountText(size, "byte") +
                      "; do not change a file that is being read",
                  path);
    }
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

void CheckWritable(const std::string& path, const std::string& directory) {
  FileStatus status;
  const bool exists = ReadStatus(directory, &status);
  if (!exists || status.kind != FileKind::kDirectory) {
    ThrowSystem(path, "its directory " + words::PathText(directory) + " cannot be used",
                exists ? ENOTDIR : errno);
  }
  if (!MayCreateIn(directory)) {
    ThrowSystem(path, "cannot be created in " + words::PathText(directory), errno);
  }
}

void CheckSizeLimit(const std::string& path, const std::string& what, std::uint64_t bytes) {
  if (const auto limit = FileSizeLimit(); limit && bytes > *limit) {
    throw Error(core::ErrorKind::kSystem,
                words::PathText(path) + ": " + what + " takes " + words::CountText(bytes, "byte") +
                    ", and files are limited to " + std::to_string(*limit) +
                    "; raise the limit (ulimit -f)",
                Remedy::kNone, path, EFBIG);
  }
}

void CheckFreeSpace(const std::string& path, const std::string& directory, const std::string& what,
                    std::uint64_t bytes, const std::string& remedy) {
  const auto free = FreeBytes(directory);  // nothing: writing will say
  if (free && bytes > *free) {
    throw Error(core::ErrorKind::kSystem,
                words::PathText(path) + ": " + what + " takes " + words::CountText(bytes, "byte") +
                    ", and its disk has " + std::to_string(*free) + " free; " + remedy,
                Remedy::kNone, path, ENOSPC);
  }
}

void SyncNames(const std::string& path, const std::string& directory) {
  const Descriptor descriptor(OpenDirectory(directory));
  // A directory that may be written but not read cannot be synced.
  if (descriptor.get() >= 0 && !SyncDirectory(descriptor.get())) {
    ThrowWrite(path, "was written, but its directory could not be synced", errno);
  }
}

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() != ':' && NameBegin(path) == path.size()) path.pop_back();
  return path;
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

std::vector<std::string> TemporaryNames(const std::string& directory, const std::string& prefix) {
  std::vector<std::string> found;
  // Where it is not readable nothing can be seen, and nothing is removed.
  ForEachName(directory, [&](std::string_view name) {
    if (IsTemporary(name, prefix)) found.emplace_back(name);
    return true;
  });
  std::sort(found.begin(), found.end());
  return found;
}

void RemoveStale(const std::string& directory, const std::string& prefix,
                 std::vector<std::string>& notes) {
  for (const std::string& name : TemporaryNames(directory, prefix)) {
    const std::string path = directory + '/' + name;
    FileStatus status;
    if (!OwnStatus(path, &status)) continue;
    if ((status.kind == FileKind::kDirectory && RemoveStaleDirectory(path)) ||
        (status.kind == FileKind::kFile && RemoveStaleFile(path))) {
      notes.push_back("removed " + words::PathText(path) + ", left by a run that was killed");
    }
  }
}

}  // namespace tensorcast::files
