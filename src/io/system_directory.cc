// Directories as the operating system gives them.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/system_directory.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "io/error_text.h"
#include "io/system.h"
#include "io/system_calls.h"

namespace tensorcast::io {
namespace {

constexpr std::size_t kMostEntries = 100'000;
constexpr std::string_view kAsideEnding = ".old";

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() != ':' && NameBegin(path) == path.size()) path.pop_back();
  return path;
}

// The path that a name has, or would have, once links are followed up to its last part.
std::string ResolvedName(const std::string& path) {
  const auto [directory, name] = SplitPath(path);
  const std::string resolved = ResolvedPath(directory);
  return resolved.empty() ? resolved : Joined(resolved, name);
}

// What stands at the output's name: nothing, or a directory that may be replaced.
void CheckDirectoryName(const std::string& path, const CreateOptions& options) {
  FileStatus status;
  if (!OwnStatus(path, &status)) {
    if (errno == ENOENT) return;
    ThrowSystem(path, "cannot be looked at", errno);
  }
  if (status.kind != FileKind::kDirectory && !status.is_link) {
    throw Error(ErrorKind::kArguments, PathText(path) +
                                           ": the output, which is to be a directory, is " +
                                           std::string(KindText(status.kind)) +
                                           "; name a directory that is not there yet");
  }
  if (!options.overwrite) {
    ThrowTaken(path, "the output exists; name another directory");
  }
}

}  // namespace

bool IsDirectory(const std::string& path) {
  FileStatus status;
  return ReadStatus(path, &status) && status.kind == FileKind::kDirectory;
}

std::string Joined(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

std::vector<DirectoryEntry> ListDirectory(const std::string& path) {
  std::vector<DirectoryEntry> found;
  const bool is_read = ForEachName(path, [&](std::string_view name) {
    found.emplace_back().name = name;
    return found.size() <= kMostEntries;
  });
  if (!is_read) ThrowSystem(path, "cannot be read", errno);
  if (found.size() > kMostEntries) {
    throw Error(ErrorKind::kUnsupported,
                PathText(path) + ": has more than " + std::to_string(kMostEntries) + " entries");
  }
  for (DirectoryEntry& entry : found) {
    const std::string place = Joined(path, entry.name);
    FileStatus status;
    if (!OwnStatus(place, &status)) ThrowSystem(place, "cannot be looked at", errno);
    entry.is_link = status.is_link;
    if (entry.is_link && !ReadStatus(place, &status)) {
      if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) continue;
      ThrowSystem(place, "cannot be looked at", errno);
    }
    if (status.kind == FileKind::kFile) entry.kind = DirectoryEntry::Kind::kFile;
    if (status.kind == FileKind::kDirectory) entry.kind = DirectoryEntry::Kind::kDirectory;
    entry.bytes = status.bytes;
  }
  std::sort(found.begin(), found.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  return found;
}

// -------------------------------------------------------------------------- OutputDirectory

void CheckOutputDirectory(const std::string& given, const std::string& input, std::uint64_t bytes,
                          const CreateOptions& options) {
  RefuseNul(given);
  const std::string path = WithoutSlashes(given);
  const auto [parent, name] = SplitPath(path);
  if (name.empty() || name == "." || name == "..") {
    throw Error(ErrorKind::kArguments,
                PathText(path) + ": name the directory that is to be made, not its place");
  }
  // By where they lead, so that no link makes one of them a part of the other.
  const std::string from = ResolvedPath(input);
  for (const std::string& to : {ResolvedName(path), ResolvedPath(path)}) {
    if (to.empty() || from.empty()) continue;
    const std::string_view relation = to == from          ? "is"
                                      : IsBelow(to, from) ? "is in"
                                      : IsBelow(from, to) ? "holds"
                                                          : "";
    if (relation.empty()) continue;
    throw Error(ErrorKind::kArguments, PathText(path) + ": the output " + std::string(relation) +
                                           " the input " + PathText(input) +
                                           "; name a directory elsewhere");
  }
  CheckDirectoryName(path, options);
  // What is read may lie elsewhere: a cache's files do.
  if (const std::string to = ResolvedPath(path); !to.empty()) {
    for (const std::string& file : options.inputs) {
      if (!IsBelow(ResolvedPath(file), to)) continue;
      throw Error(ErrorKind::kArguments, PathText(path) + ": the output holds the input " +
                                             PathText(file) + "; name a directory elsewhere");
    }
  }
  CheckWritable(path, parent);
  CheckFreeSpace(path, parent, "the output", bytes, std::string(kRoomRemedy));
}

OutputDirectory::OutputDirectory(const std::string& path, const std::string& input,
                                 std::uint64_t bytes, const CreateOptions& options)
    : path_(WithoutSlashes(path)), parent_(SplitPath(path_).first), overwrite_(options.overwrite) {
  CheckOutputDirectory(path, input, bytes, options);
  const std::string prefix = TemporaryPrefix(SplitPath(path_).second);
  RemoveStale(prefix);
  Create(prefix);
}

OutputDirectory::~OutputDirectory() {
  if (!staging_.empty()) RemoveTree(staging_);
  if (lock_ >= 0) Close(lock_);
}

// A hidden directory is held under a lock as long as its process lives: one whose lock is free was
// left by a process that was killed.
void OutputDirectory::RemoveStale(const std::string& prefix) {
  std::vector<std::string> found;
  // Where it is not readable nothing can be seen, and nothing is removed.
  ForEachName(parent_, [&](std::string_view name) {
    if (IsTemporary(name, prefix)) found.emplace_back(name);
    return true;
  });
  std::sort(found.begin(), found.end());
  for (const std::string& name : found) {
    const std::string path = Joined(parent_, name);
    const Descriptor lock(OpenLockOfBuilt(path));
    if (lock.get() < 0 || !Lock(lock.get()) || !IsStillLocked(path, lock.get())) continue;
    if (RemoveTree(path)) {
      notes_.push_back("removed " + PathText(path) + ", left by a run that was killed");
    }
  }
}

void OutputDirectory::Create(const std::string& prefix) {
  constexpr int kMostTries = 16;
  int error = EEXIST;
  for (int i = 0; i < kMostTries; ++i) {
    std::string path = Joined(parent_, TemporaryName(prefix));
    if (!MakeDirectory(path)) {
      error = errno;
      if (error == EEXIST) continue;
      break;
    }
    Descriptor lock(OpenLockOfBuilt(path));
    error = errno;
    if (lock.get() >= 0) {
      const bool lockable = Lock(lock.get()) || errno != EWOULDBLOCK;
      // Another run may have taken the directory for a stale one before it was locked.
      if (lockable && IsStillLocked(path, lock.get())) {
        staging_ = std::move(path);  // a copy might find no memory, and leave the directory
        lock_ = lock.Release();
        return;
      }
      error = EAGAIN;
    }
    RemoveTree(path);
  }
  ThrowWrite(path_, "cannot be created in " + PathText(parent_), error);
}

void OutputDirectory::Add(const std::string& relative) {
  if (!MakeDirectory(Joined(staging_, relative))) {
    ThrowWrite(Joined(path_, relative), "cannot be created", errno);
  }
  added_.push_back(relative);
}

void OutputDirectory::Sync() {
  const auto sync = [&](const std::string& relative) {
    const Descriptor descriptor(OpenDirectory(Joined(staging_, relative)));
    if (descriptor.get() < 0 || !SyncDirectory(descriptor.get())) {
      ThrowWrite(Joined(path_, relative), "could not be synced to its disk", errno);
    }
  };
  for (const std::string& relative : added_) sync(relative);
  sync("");
}

void OutputDirectory::Commit() {
  FileStatus replaced;
  const bool exists = overwrite_ && OwnStatus(path_, &replaced);
  if (exists && replaced.kind == FileKind::kDirectory) SetPermissions(lock_, replaced.permissions);
  std::string old;  // what the replaced directory is called now
  if (exists && Exchange()) {
    old = staging_;
  } else {
    if (exists) old = MoveAside();
    Name(old);
  }
  staging_.clear();
  const Descriptor parent(OpenDirectory(parent_));
  if (parent.get() >= 0 && !SyncDirectory(parent.get())) {
    ThrowWrite(path_, "was written, but its directory could not be synced", errno);
  }
  if (!old.empty() && !RemoveTree(old)) {
    notes_.push_back("the directory that was replaced could not be removed: " + PathText(old) +
                     ": " + ReasonText(errno));
  }
}

// True where the two have changed their names: the old one has the hidden name then.
bool OutputDirectory::Exchange() {
  if (ExchangeDirectories(staging_, path_, lock_)) return true;
  if (errno == ENOSYS || errno == ENOENT) return false;
  ThrowWrite(path_, "could not be exchanged with the finished directory", errno);
}

// Moves the directory that is replaced to a name that is free; returns it.
std::string OutputDirectory::MoveAside() {
  std::string aside = staging_ + std::string(kAsideEnding);
  if (Rename(path_, aside)) return aside;
  if (errno != ENOENT) ThrowWrite(path_, "could not be moved aside", errno);
  return {};
}

// Gives the name, which is free; where that fails `old` gets it back.
void OutputDirectory::Name(const std::string& old) {
  if (RenameNewDirectory(staging_, path_, lock_)) return;
  const int error = errno;
  if (!old.empty()) Rename(old, path_);
  if (error == EEXIST || error == ENOTEMPTY || error == ENOTDIR) {
    ThrowTaken(path_, "the output appeared while it was written; name another directory");
  }
  ThrowWrite(path_, "the finished directory could not be given its name", error);
}

// ---------------------------------------------------------------------------- DirectoryLock

DirectoryLock::DirectoryLock(const std::string& path, const std::function<void()>& wait) {
  constexpr std::chrono::milliseconds kBetweenTries(10);
  constexpr int kMostTries = 3000;
  const std::string directory = SplitPath(path).first;
  for (int i = 0;; ++i) {
    Descriptor lock(OpenLockOfNames(directory));
    if (lock.get() >= 0 && Lock(lock.get())) {
      lock_ = lock.Release();
      return;
    }
    if (errno != EWOULDBLOCK) return;
    if (i == kMostTries) {
      throw Error(ErrorKind::kSystem, PathText(path) + ": another run has held its directory for " +
                                          "30 s; try again when that has ended");
    }
    wait();
    std::this_thread::sleep_for(kBetweenTries);
  }
}

DirectoryLock::~DirectoryLock() {
  if (lock_ >= 0) Close(lock_);
}

}  // namespace tensorcast::io
