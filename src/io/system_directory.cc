// Directories as the operating system gives them.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/system_directory.h"

#include <dirent.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "io/error_text.h"
#include "io/system_calls.h"

namespace tensorcast::io {
namespace {

constexpr std::size_t kMostEntries = 100'000;
constexpr std::string_view kAsideEnding = ".old";

struct CloseEntries {
  void operator()(DIR* entries) const { ::closedir(entries); }
};
using Entries = std::unique_ptr<DIR, CloseEntries>;

// The next name but "." and ".."; nullptr after the last, with errno 0, and where reading fails.
const char* NextName(DIR* entries) {
  do {
    errno = 0;
    const dirent* const entry = ::readdir(entries);
    if (entry == nullptr) return nullptr;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry->d_name;
  } while (true);
}

// Removes what is in an open directory, which it takes; what was removed by another meanwhile is as
// good. False, with errno, where something stays.
bool RemoveContents(int descriptor) {
  const Entries entries(::fdopendir(descriptor));
  if (entries == nullptr) {
    ::close(descriptor);
    return false;
  }
  while (const char* const name = NextName(entries.get())) {
    if (::unlinkat(descriptor, name, 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) return false;
    const int below = ::openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0 || !RemoveContents(below)) return false;
    if (::unlinkat(descriptor, name, AT_REMOVEDIR) != 0 && errno != ENOENT) return false;
  }
  return errno == 0;
}

// Removes a directory with what is in it, or a link. False, with errno, where something stays.
bool RemoveTree(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return true;
  const int descriptor = OpenRetrying(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (descriptor < 0 || !RemoveContents(descriptor)) return false;
  return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
}

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
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
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    ThrowSystem(path, "cannot be looked at", errno);
  }
  if (!S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode)) {
    throw Error(ErrorKind::kArguments,
                PathText(path) + ": the output, which is to be a directory, is " +
                    std::string(S_ISREG(status.st_mode) ? "a file" : KindOfFile(status.st_mode)) +
                    "; name a directory that is not there yet");
  }
  if (!options.overwrite) {
    throw Error(ErrorKind::kArguments,
                PathText(path) + ": the output exists; name another directory, or replace it",
                Remedy::kAllowOverwriting);
  }
}

}  // namespace

bool IsDirectory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string Joined(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

std::vector<DirectoryEntry> ListDirectory(const std::string& path) {
  const Entries entries(::opendir(path.c_str()));
  if (entries == nullptr) ThrowSystem(path, "cannot be read", errno);
  std::vector<DirectoryEntry> found;
  while (const char* const name = NextName(entries.get())) {
    if (found.size() == kMostEntries) {
      throw Error(ErrorKind::kUnsupported,
                  PathText(path) + ": has more than " + std::to_string(kMostEntries) + " entries");
    }
    found.emplace_back().name = name;
  }
  if (errno != 0) ThrowSystem(path, "cannot be read", errno);
  for (DirectoryEntry& entry : found) {
    const std::string place = Joined(path, entry.name);
    struct stat status {};
    if (::lstat(place.c_str(), &status) != 0) ThrowSystem(place, "cannot be looked at", errno);
    entry.is_link = S_ISLNK(status.st_mode);
    if (entry.is_link && ::stat(place.c_str(), &status) != 0) {
      if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) continue;
      ThrowSystem(place, "cannot be looked at", errno);
    }
    if (S_ISREG(status.st_mode)) entry.kind = DirectoryEntry::Kind::kFile;
    if (S_ISDIR(status.st_mode)) entry.kind = DirectoryEntry::Kind::kDirectory;
    entry.bytes = static_cast<std::uint64_t>(status.st_size);
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
  if (descriptor_ >= 0) ::close(descriptor_);
}

// A hidden directory is held under a lock as long as its process lives: one whose lock is free was
// left by a process that was killed.
void OutputDirectory::RemoveStale(const std::string& prefix) {
  const Entries entries(::opendir(parent_.c_str()));
  if (entries == nullptr) return;  // not readable: nothing can be seen, nothing is removed
  std::vector<std::string> found;
  while (const char* const name = NextName(entries.get())) {
    if (IsTemporary(name, prefix)) found.emplace_back(name);
  }
  std::sort(found.begin(), found.end());
  for (const std::string& name : found) {
    const std::string path = Joined(parent_, name);
    const Descriptor descriptor(OpenRetrying(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (descriptor.get() < 0 || ::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0 ||
        !StillNamed(path, descriptor.get())) {
      continue;
    }
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
    if (::mkdir(path.c_str(), 0777) != 0) {  // the permissions are those that the umask leaves
      error = errno;
      if (error == EEXIST) continue;
      break;
    }
    Descriptor descriptor(OpenRetrying(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    error = errno;
    if (descriptor.get() >= 0) {
      const int locked = ::flock(descriptor.get(), LOCK_EX | LOCK_NB);
      const bool lockable = locked == 0 || (errno != EWOULDBLOCK && errno != EINTR);
      // Another run may have taken the directory for a stale one before it was locked.
      if (lockable && StillNamed(path, descriptor.get())) {
        staging_ = std::move(path);  // a copy might find no memory, and leave the directory
        descriptor_ = descriptor.Release();
        return;
      }
      error = EAGAIN;
    }
    ::rmdir(path.c_str());
  }
  ThrowWrite(path_, "cannot be created in " + PathText(parent_), error);
}

void OutputDirectory::Add(const std::string& relative) {
  if (::mkdir(Joined(staging_, relative).c_str(), 0777) != 0) {
    ThrowWrite(Joined(path_, relative), "cannot be created", errno);
  }
  added_.push_back(relative);
}

void OutputDirectory::Sync() {
  const auto sync = [&](const std::string& relative) {
    const Descriptor descriptor(OpenRetrying(Joined(staging_, relative), O_RDONLY | O_DIRECTORY));
    if (descriptor.get() < 0 ||
        (SyncRetrying(descriptor.get()) != 0 && errno != EINVAL && errno != EROFS)) {
      ThrowWrite(Joined(path_, relative), "could not be synced to its disk", errno);
    }
  };
  for (const std::string& relative : added_) sync(relative);
  sync("");
}

void OutputDirectory::Commit() {
  struct stat replaced {};
  const bool exists = overwrite_ && ::lstat(path_.c_str(), &replaced) == 0;
  if (exists && S_ISDIR(replaced.st_mode)) ::fchmod(descriptor_, replaced.st_mode & 0777);
  std::string old;  // what the replaced directory is called now
  if (exists && Exchange()) {
    old = staging_;
  } else {
    if (exists) old = MoveAside();
    Name(old);
  }
  staging_.clear();
  const Descriptor parent(OpenRetrying(parent_, O_RDONLY | O_DIRECTORY));
  if (parent.get() >= 0 && SyncRetrying(parent.get()) != 0 && errno != EINVAL && errno != EROFS) {
    ThrowWrite(path_, "was written, but its directory could not be synced", errno);
  }
  if (!old.empty() && !RemoveTree(old)) {
    notes_.push_back("the directory that was replaced could not be removed: " + PathText(old) +
                     ": " + ReasonText(errno));
  }
}

// True where the two have changed their names: the old one has the hidden name then.
bool OutputDirectory::Exchange() {
  if (::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0) {
    return true;
  }
  const int error = errno;
  if (StillNamed(path_, descriptor_)) return true;  // a server that says that it failed
  if (error == EINVAL || error == ENOSYS || error == ENOENT) return false;
  ThrowWrite(path_, "could not be exchanged with the finished directory", error);
}

// Moves the directory that is replaced to a name that is free; returns it.
std::string OutputDirectory::MoveAside() {
  std::string aside = staging_ + std::string(kAsideEnding);
  if (::rename(path_.c_str(), aside.c_str()) == 0) return aside;
  if (errno != ENOENT) ThrowWrite(path_, "could not be moved aside", errno);
  return {};
}

// Gives the name, which is free; where that fails `old` gets it back.
void OutputDirectory::Name(const std::string& old) {
  int error = 0;
  if (::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0) {
    error = errno;
  }
  // Where the file system cannot say so: a rename replaces no directory that holds anything.
  if (error == EINVAL || error == ENOSYS) {
    error = ::rename(staging_.c_str(), path_.c_str()) == 0 ? 0 : errno;
  }
  // A server that was asked twice for what it has done already says that it failed.
  if (error == 0 || StillNamed(path_, descriptor_)) return;
  if (!old.empty()) ::rename(old.c_str(), path_.c_str());
  if (error == EEXIST || error == ENOTEMPTY || error == ENOTDIR) {
    throw Error(ErrorKind::kArguments,
                PathText(path_) + ": the output appeared while it was written; name another " +
                    "directory, or replace it",
                Remedy::kAllowOverwriting);
  }
  ThrowWrite(path_, "the finished directory could not be given its name", error);
}

// ---------------------------------------------------------------------------- DirectoryLock

DirectoryLock::DirectoryLock(const std::string& path, const std::function<void()>& wait) {
  constexpr std::chrono::milliseconds kBetweenTries(10);
  constexpr int kMostTries = 3000;
  Descriptor descriptor(OpenRetrying(SplitPath(path).first, O_RDONLY | O_DIRECTORY));
  if (descriptor.get() < 0) return;
  for (int i = 0; ::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    if (i == kMostTries) {
      throw Error(ErrorKind::kSystem, PathText(path) + ": another run has held its directory for " +
                                          "30 s; try again when that has ended");
    }
    wait();
    std::this_thread::sleep_for(kBetweenTries);
  }
  descriptor_ = descriptor.Release();
}

DirectoryLock::~DirectoryLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tensorcast::io
