// Files that are written beside their final name.
//
// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "io/error_text.h"
#include "io/system.h"
#include "io/system_calls.h"
#include "io/system_directory.h"

namespace tensorcast::io {
namespace {

// What stands under the output's name must not be an input, by any name, and nothing that is not a
// file; that it exists is said last.
void CheckName(const std::string& path, const CreateOptions& options) {
  const auto [directory, name] = SplitPath(path);
  if (name.empty() || name == "." || name == "..") {
    throw Error(ErrorKind::kArguments, PathText(path) + ": the output is a directory; name a file");
  }
  struct stat link {};
  if (::lstat(path.c_str(), &link) != 0) {
    if (errno == ENOENT) return;
    ThrowSystem(path, "cannot be looked at", errno);
  }
  struct stat target {};
  const bool has_target = ::stat(path.c_str(), &target) == 0;
  if (has_target) {
    for (const std::string& input : options.inputs) {
      struct stat other {};
      if (::stat(input.c_str(), &other) == 0 && SameFile(target, other)) {
        throw Error(ErrorKind::kArguments, PathText(path) + ": the output is the input " +
                                               PathText(input) + "; name another file");
      }
    }
    if (!S_ISREG(target.st_mode)) {
      throw Error(ErrorKind::kArguments, PathText(path) + ": the output is " +
                                             std::string(KindOfFile(target.st_mode)) +
                                             "; name a file");
    }
  } else if (!S_ISLNK(link.st_mode)) {
    ThrowSystem(path, "cannot be looked at", errno);
  }
  if (!options.overwrite) {
    throw Error(ErrorKind::kArguments,
                PathText(path) + ": the output exists" +
                    (has_target ? "" : " (a symbolic link to nothing)") +
                    "; name another file, or replace it",
                Remedy::kAllowOverwriting);
  }
}

}  // namespace

void CheckOutput(const std::string& path, std::uint64_t bytes, const CreateOptions& options) {
  RefuseNul(path);
  CheckName(path, options);
  if (bytes > static_cast<std::uint64_t>(INT64_MAX)) {
    throw Error(ErrorKind::kSystem, PathText(path) + ": the output takes " +
                                        CountText(bytes, "byte") + ", more than any file holds");
  }
  const std::string directory = SplitPath(path).first;
  CheckWritable(path, directory);
  CheckSizeLimit(path, "the output", bytes);
  CheckFreeSpace(path, directory, "the output", bytes, std::string(kRoomRemedy));
}

OutputFile::OutputFile(const std::string& path, std::uint64_t bytes, const CreateOptions& options,
                       const std::string& owner)
    : path_(path),
      place_(options.staging.empty() ? path : Joined(options.staging, SplitPath(path).second)),
      directory_(SplitPath(place_).first),
      overwrite_(options.overwrite) {
  if (!options.begun.empty()) {
    OpenBegun(options.begun, bytes);
    return;
  }
  if (options.staging.empty()) {
    CheckOutput(path, bytes, options);
  } else {
    CheckSizeLimit(path, "the output", bytes);
  }
  const std::string prefix = TemporaryPrefix(SplitPath(owner.empty() ? path : owner).second);
  if (owner.empty()) RemoveStale(prefix);
  CreateTemporary(prefix);
  if (overwrite_ || !owner.empty()) TakeOwnership(owner.empty() ? path : owner);
  try {
    Reserve(bytes);
  } catch (...) {
    Discard();
    throw;
  }
}

OutputFile::~OutputFile() { Discard(); }

void OutputFile::Discard() noexcept {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

// A temporary file is held under a lock as long as its process lives: one whose lock is free was
// left by a process that was killed.
void OutputFile::RemoveStale(const std::string& prefix) {
  DIR* const entries = ::opendir(directory_.c_str());
  if (entries == nullptr) return;  // not readable: nothing can be seen, nothing is removed
  std::vector<std::string> found;
  while (const dirent* const entry = ::readdir(entries)) {
    if (IsTemporary(entry->d_name, prefix)) found.emplace_back(entry->d_name);
  }
  ::closedir(entries);
  std::sort(found.begin(), found.end());
  for (const std::string& name : found) {
    const std::string path = directory_ + '/' + name;
    const Descriptor descriptor(OpenRetrying(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (descriptor.get() < 0 || ::fstat(descriptor.get(), &status) != 0 ||
        !S_ISREG(status.st_mode) || ::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0 ||
        !StillNamed(path, descriptor.get())) {
      continue;
    }
    if (::unlink(path.c_str()) == 0) {
      notes_.push_back("removed " + PathText(path) + ", left by a run that was killed");
    }
  }
}

void OutputFile::CreateTemporary(const std::string& prefix) {
  constexpr int kMostTries = 16;
  int error = EEXIST;
  for (int i = 0; i < kMostTries; ++i) {
    std::string path = directory_ + '/' + TemporaryName(prefix);
    // 0666: the permissions are those that the umask leaves.
    Descriptor descriptor(OpenRetrying(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666));
    if (descriptor.get() < 0) {
      error = errno;
      if (error == EEXIST) continue;
      break;
    }
    const int locked = ::flock(descriptor.get(), LOCK_EX | LOCK_NB);
    const bool lockable = locked == 0 || (errno != EWOULDBLOCK && errno != EINTR);
    // Another run may have taken the file for a stale one before it was locked.
    if (lockable && StillNamed(path, descriptor.get())) {
      temporary_ = std::move(path);  // a copy might find no memory, and leave the file
      descriptor_ = descriptor.Release();
      return;
    }
    ::unlink(path.c_str());
    error = EAGAIN;
  }
  ThrowWrite(path_, "cannot be created in " + PathText(directory_), error);
}

// Only what a run left unnamed beside this output: the name may come from anybody.
void OutputFile::OpenBegun(const std::string& begun, std::uint64_t bytes) {
  const auto [directory, name] = SplitPath(begun);
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::kContents, PathText(begun) + ": " + why + "; it is to be an output of " +
                                          CountText(bytes, "byte") + " begun for " +
                                          PathText(path_));
  };
  if (directory != directory_ || !IsTemporary(name, TemporaryPrefix(SplitPath(path_).second))) {
    refuse("does not have the name of a temporary file");
  }
  Descriptor descriptor(OpenRetrying(begun, O_RDWR | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (descriptor.get() < 0 || ::fstat(descriptor.get(), &status) != 0) {
    throw Error(ErrorKind::kSystem, PathText(begun) + ": cannot be opened: " + ReasonText(errno) +
                                        "; the process that began it may have ended");
  }
  if (!S_ISREG(status.st_mode)) refuse("is not a regular file");
  if (status.st_size != static_cast<off_t>(bytes)) {
    refuse("has " + CountText(static_cast<std::uint64_t>(status.st_size), "byte"));
  }
  begun_ = begun;
  descriptor_ = descriptor.Release();
}

// As the replaced file's, where the system lets: the owner and the group, and the permissions. What
// cannot be kept is no error.
void OutputFile::TakeOwnership(const std::string& path) {
  struct stat replaced {
  }, own{};
  if (::stat(path.c_str(), &replaced) != 0 || ::fstat(descriptor_, &own) != 0) return;
  mode_t mode = replaced.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  if ((replaced.st_uid == own.st_uid && replaced.st_gid == own.st_gid) ||
      ::fchown(descriptor_, replaced.st_uid, replaced.st_gid) == 0 ||
      ::fchown(descriptor_, own.st_uid, replaced.st_gid) == 0) {
    mode_ = mode;
  } else {
    // Another group must not be given what was the old group's: it may do what all may.
    mode_ = mode & (S_IRWXU | S_IRWXO | (mode & S_IRWXO) << 3);
  }
  // Until it is complete its owner can open it: another run must, to see whether it is stale.
  ::fchmod(descriptor_, *mode_ | S_IRUSR | S_IWUSR);
}

void OutputFile::Reserve(std::uint64_t bytes) {
  const auto size = static_cast<off_t>(bytes);
  if (size == 0) return;
  int error = 0;
  do {
    // Not posix_fallocate: where the file system cannot reserve, that one writes every block.
    error = ::fallocate(descriptor_, 0, 0, size) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error == EOPNOTSUPP || error == ENOSYS || error == EINVAL) {
    error = ::ftruncate(descriptor_, size) == 0 ? 0 : errno;
  }
  if (error != 0) {
    ThrowWrite(path_, "the room for its " + CountText(bytes, "byte") + " could not be reserved",
               error);
  }
}

void OutputFile::Write(std::uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put = ::pwrite(descriptor_, data.data(), std::min(data.size(), kLargestTransfer),
                                 static_cast<off_t>(offset));
    if (put < 0) {
      if (errno == EINTR) continue;
      ThrowWrite(path_, "cannot be written at offset " + std::to_string(offset), errno);
    }
    offset += static_cast<std::uint64_t>(put);
    data = data.subspan(static_cast<std::size_t>(put));
  }
}

void OutputFile::Truncate(std::uint64_t bytes) {
  int result = 0;
  do {
    result = ::ftruncate(descriptor_, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result != 0) ThrowWrite(path_, "cannot be cut to " + CountText(bytes, "byte"), errno);
}

void OutputFile::Read(std::uint64_t offset, std::span<std::byte> out) const {
  ReadFully(descriptor_, path_, offset + out.size(), offset, out);
}

void OutputFile::Commit() {
  Sync();
  if (!Name()) FailTaken();
  SyncDirectory();
}

void OutputFile::Sync() {
  if (synced_) return;
  if (mode_) ::fchmod(descriptor_, *mode_);
  if (SyncRetrying(descriptor_) != 0) ThrowWrite(path_, "could not be synced to its disk", errno);
  synced_ = true;
}

bool OutputFile::Name() {
  int error = 0;
  if (overwrite_) {
    if (::rename(temporary_.c_str(), place_.c_str()) != 0) error = errno;
  } else {
    // Of two runs that write one output the second must fail here, not replace the first's.
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, place_.c_str(), RENAME_NOREPLACE) !=
        0) {
      error = errno;
    }
    if (error == EINVAL || error == ENOSYS) {  // the file system cannot: a hard link never replaces
      error = ::link(temporary_.c_str(), place_.c_str()) == 0 ? 0 : errno;
      if (error == 0 && ::unlink(temporary_.c_str()) != 0) error = errno;  // tried again below
    }
    if (error == EPERM || error == EOPNOTSUPP) {  // nor has it hard links: look, then rename
      struct stat status {};
      error = ::lstat(place_.c_str(), &status) == 0 ? EEXIST : 0;
      if (error == 0 && ::rename(temporary_.c_str(), place_.c_str()) != 0) error = errno;
    }
  }
  // A server that was asked twice for what it has done already says that it failed.
  if (error != 0 && StillNamed(place_, descriptor_)) {
    // A second name that stays would be one more file of a directory's; beside a file the next run
    // removes it.
    const bool has_two = ::unlink(temporary_.c_str()) != 0 && errno != ENOENT;
    if (!has_two || place_ == path_) error = 0;
  }
  if (error == EEXIST && !overwrite_) return false;
  if (error != 0) ThrowWrite(path_, "the finished file could not be given its name", error);
  temporary_.clear();
  return true;
}

bool OutputFile::NameAs(const std::string& path) {
  path_ = path;
  place_ = path;
  return Name();
}

void OutputFile::Unname() noexcept {
  if (StillNamed(place_, descriptor_)) ::unlink(place_.c_str());
}

void OutputFile::SyncDirectory() const {
  const Descriptor descriptor(OpenRetrying(directory_, O_RDONLY | O_DIRECTORY));
  // A directory that may be written but not read cannot be synced, and some file systems refuse.
  if (descriptor.get() < 0) return;
  if (SyncRetrying(descriptor.get()) != 0 && errno != EINVAL && errno != EROFS) {
    ThrowWrite(path_, "was written, but its directory could not be synced", errno);
  }
}

void OutputFile::FailTaken() const {
  throw Error(ErrorKind::kArguments,
              PathText(path_) + ": the output appeared while it was written; name another " +
                  "file, or replace it",
              Remedy::kAllowOverwriting);
}

}  // namespace tensorcast::io
