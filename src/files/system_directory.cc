// Directories as the operating system gives them.
//
// SPDX-License-Identifier: Apache-2.0
#include "files/system_directory.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "files/error.h"
#include "files/mounted_files.h"
#include "files/system.h"
#include "files/system_calls.h"

namespace tensorcast::files {
namespace {

constexpr std::size_t kMostEntries = 100'000;

}  // namespace

bool IsDirectory(const std::string& path) {
  const std::optional<FileStatus> status = StatusOf(path);
  return status && status->kind == FileKind::kDirectory;
}

std::string Joined(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

std::vector<DirectoryEntry> ListDirectory(const std::string& path) {
  const std::shared_ptr<MountedFiles> mounted = MountedAt(path);
  std::vector<DirectoryEntry> found;
  if (mounted != nullptr) {
    found = mounted->ListDirectory(path);
  } else if (!ForEachName(path, [&](std::string_view name) {
               found.emplace_back().name = name;
               return found.size() <= kMostEntries;
             })) {
    ThrowSystem(path, "cannot be read", errno);
  }
  if (found.size() > kMostEntries) {
    throw Error(
        core::ErrorKind::kUnsupported,
        words::PathText(path) + ": has more than " + std::to_string(kMostEntries) + " entries",
        path);
  }
  for (DirectoryEntry& entry : found) {
    if (mounted != nullptr) break;  // which has said all of it
    const std::string place = Joined(path, entry.name);
    FileStatus status;
    if (!OwnStatus(place, &status)) ThrowSystem(place, "cannot be accessed", errno);
    entry.is_link = status.is_link;
    if (entry.is_link && !ReadStatus(place, &status)) {
      if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) continue;
      ThrowSystem(place, "cannot be accessed", errno);
    }
    if (status.kind == FileKind::kFile) entry.kind = DirectoryEntry::Kind::kFile;
    if (status.kind == FileKind::kDirectory) entry.kind = DirectoryEntry::Kind::kDirectory;
    entry.bytes = status.bytes;
  }
  std::sort(found.begin(), found.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  return found;
}

// ---------------------------------------------------------------------------- DirectoryLock

DirectoryLock::DirectoryLock(const std::string& path, const std::function<void()>& wait)
    : file_(Joined(SplitPath(path).first, kLockName)) {
  constexpr std::chrono::milliseconds kBetweenTries(10);
  constexpr int kMostTries = 3000;
  for (int i = 0;; ++i) {
    lock_ = LockNames(file_);
    if (lock_ >= 0 || errno != EWOULDBLOCK) return;
    if (i == kMostTries) {
      throw Error(core::ErrorKind::kSystem,
                  words::PathText(path) + ": another run has held its directory for " +
                      "30 s; try again when that has ended",
                  path);
    }
    wait();
    std::this_thread::sleep_for(kBetweenTries);
  }
}

DirectoryLock::~DirectoryLock() {
  if (lock_ >= 0) UnlockNames(file_, lock_);
}

}  // namespace tensorcast::files
