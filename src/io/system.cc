// All calls of the operating system that the project makes; this is Linux.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "io/error_text.h"

namespace tensorcast::io {
namespace {

constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;  // of one call
constexpr std::string_view kTemporaryMark = ".tensorcast-";
constexpr std::string_view kTemporaryEnding = ".tmp";
// NAME_MAX is 255: room for the dot, the mark, the random digits and the ending.
constexpr std::size_t kLongestNamePart = 200;

std::string Reason(int error) { return std::system_category().message(error); }

[[noreturn]] void ThrowSystem(const std::string& path, const std::string& what, int error) {
  throw Error(ErrorKind::kSystem, PathText(path) + ": " + what + ": " + Reason(error));
}

[[noreturn]] void ThrowWrite(const std::string& path, const std::string& what, int error) {
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
  throw Error(ErrorKind::kSystem, PathText(path) + ": " + what + ": " + Reason(error) + advice);
}

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
int AboveStandardStreams(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return moved;
}

int OpenRetrying(const std::string& path, int flags, mode_t mode = 0) {
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
std::pair<std::string, std::string> Split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// An absolute path without symbolic links; empty where there is no such file.
std::string Resolved(const std::string& path) {
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

// What stands under the output's name must not be an input, by any name, and nothing that is not a
// file; that it exists is said last.
void CheckName(const std::string& path, const CreateOptions& options) {
  const auto [directory, name] = Split(path);
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

// `what` takes the bytes: "the output". Nothing is said where the system does not say.
void CheckFreeSpace(const std::string& path, const std::string& directory, const std::string& what,
                    std::uint64_t bytes, const std::string& remedy) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      bytes > limit.rlim_cur) {
    throw Error(ErrorKind::kSystem, PathText(path) + ": " + what + " takes " +
                                        CountText(bytes, "byte") + ", and files are limited to " +
                                        std::to_string(limit.rlim_cur) +
                                        "; raise the limit (ulimit -f)");
  }
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

void CheckRoom(const std::string& path, const std::string& directory, std::uint64_t bytes) {
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
  CheckFreeSpace(path, directory, "the output", bytes, "free some room, or write to another disk");
}

std::string RandomDigits() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device source;
  std::string digits;
  for (unsigned value = source(), i = 0; i < 8; ++i, value >>= 4) digits += kDigits[value & 15];
  return digits;
}

std::string TemporaryPrefix(const std::string& name) {
  return '.' + name.substr(0, kLongestNamePart) + std::string(kTemporaryMark);
}

bool IsTemporary(std::string_view entry, std::string_view prefix) {
  constexpr std::size_t kDigitCount = 8;
  if (entry.size() != prefix.size() + kDigitCount + kTemporaryEnding.size()) return false;
  if (!entry.starts_with(prefix) || !entry.ends_with(kTemporaryEnding)) return false;
  const std::string_view digits = entry.substr(prefix.size(), kDigitCount);
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Whether `path` is still the name of the open file.
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

}  // namespace

// -------------------------------------------------------------------------------- InputFile

bool IsFile(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

InputFile::InputFile(const std::string& path) : path_(path) {
  RefuseNul(path);
  // Without O_NONBLOCK opening a pipe would wait for its writer.
  Descriptor descriptor(OpenRetrying(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (descriptor.get() < 0) ThrowSystem(path, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) ThrowSystem(path, "cannot be looked at", errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kUnsupported,
                PathText(path) + ": is " + std::string(KindOfFile(status.st_mode)) +
                    (S_ISDIR(status.st_mode) ? "; name one of its files"
                                             : "; copy its data into a file first"));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  written_at_ = WrittenAt(status);
  ::posix_fadvise(descriptor.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  descriptor_ = descriptor.Release();
}

// A descriptor of the file as it is named stands for it from the first check to the reading: what
// the names lead to may change in between.
InputFile::InputFile(const std::string& path, const std::string& owner, bool allow_hard_links)
    : path_(path) {
  RefuseNul(path);
  const Descriptor named(OpenRetrying(path, O_PATH));
  if (named.get() < 0) ThrowSystem(path, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(named.get(), &status) != 0) ThrowSystem(path, "cannot be looked at", errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kContents,
                PathText(path) + ": is " + std::string(KindOfFile(status.st_mode)));
  }
  if (status.st_nlink > 1 && !allow_hard_links) {
    throw Error(ErrorKind::kContents,
                PathText(path) + ": has " + CountText(status.st_nlink, "hard link") +
                    ", so it may be a file from elsewhere: " + std::string(kHardLinkRemedy));
  }
  const std::string link = "/proc/self/fd/" + std::to_string(named.get());
  std::string resolved(PATH_MAX, '\0');
  const ssize_t length = ::readlink(link.c_str(), resolved.data(), resolved.size());
  if (length <= 0) ThrowSystem(path, "cannot be found under /proc, which says where it is", errno);
  resolved.resize(static_cast<std::size_t>(length));
  const std::string directory = Resolved(Split(owner).first);
  if (directory.empty()) ThrowSystem(path, "its model's directory cannot be found", errno);
  if (!IsBelow(resolved, directory) && !IsBelow(resolved, Split(Resolved(owner)).first)) {
    throw Error(ErrorKind::kContents, PathText(path) + ": leads to " + PathText(resolved) +
                                          ", out of the directory " + PathText(directory));
  }
  Descriptor descriptor(OpenRetrying(link, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (descriptor.get() < 0) ThrowSystem(path, "cannot be opened", errno);
  size_ = static_cast<std::uint64_t>(status.st_size);
  written_at_ = WrittenAt(status);
  ::posix_fadvise(descriptor.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  descriptor_ = descriptor.Release();
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::Read(std::uint64_t offset, std::span<std::byte> out) const {
  ReadFully(descriptor_, path_, size_, offset, out);
}

void InputFile::CheckUnchanged() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) ThrowSystem(path_, "cannot be looked at", errno);
  if (static_cast<std::uint64_t>(status.st_size) != size_ || WrittenAt(status) != written_at_) {
    throw Error(ErrorKind::kSystem, PathText(path_) + ": was rewritten while it was read; do not " +
                                        "change a file that is being read");
  }
}

// -------------------------------------------------------------------------------- SpoolFile

SpoolFile::SpoolFile(std::string label, const SpoolOptions& options)
    : label_(std::move(label)), options_(options) {
  const std::string& directory = options_.directory;
  if (directory.empty()) return;
  descriptor_ = OpenRetrying(directory, O_RDWR | O_TMPFILE | O_EXCL, 0600);
  if (descriptor_ >= 0) return;
  int error = errno;
  // EISDIR: a kernel, and EOPNOTSUPP: a file system, without such files.
  if (error == EISDIR || error == EOPNOTSUPP) {
    std::string name = directory + "/tensorcast-XXXXXX";
    const int created = ::mkostemp(name.data(), O_CLOEXEC);
    error = errno;
    if (created >= 0) {
      ::unlink(name.c_str());
      descriptor_ = AboveStandardStreams(created);
      error = errno;
    }
    if (descriptor_ >= 0) return;
  }
  throw Error(ErrorKind::kSystem, PathText(label_) + ": needs a temporary file, which cannot be " +
                                      "created in " + PathText(directory) + ": " + Reason(error) +
                                      options_.advice);
}

SpoolFile::~SpoolFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SpoolFile::CheckRoomFor(std::uint64_t bytes) const {
  if (options_.directory.empty()) return;
  CheckFreeSpace(label_, options_.directory,
                 "its temporary file in " + PathText(options_.directory), size_ + bytes,
                 "free some room" + options_.advice);
}

void SpoolFile::Append(std::span<const std::byte> data) {
  if (options_.directory.empty()) {
    memory_.insert(memory_.end(), data.begin(), data.end());
    size_ += data.size();
    return;
  }
  while (!data.empty()) {
    const ssize_t put = ::pwrite(descriptor_, data.data(), std::min(data.size(), kLargestTransfer),
                                 static_cast<off_t>(size_));
    if (put < 0) {
      if (errno == EINTR) continue;
      throw Error(ErrorKind::kSystem, PathText(label_) + ": its temporary file in " +
                                          PathText(options_.directory) +
                                          " cannot be written after " + CountText(size_, "byte") +
                                          ": " + Reason(errno) + options_.advice);
    }
    size_ += static_cast<std::uint64_t>(put);
    data = data.subspan(static_cast<std::size_t>(put));
  }
}

void SpoolFile::Read(std::uint64_t offset, std::span<std::byte> out) const {
  if (!options_.directory.empty()) return ReadFully(descriptor_, label_, size_, offset, out);
  if (offset > size_ || out.size() > size_ - offset) {
    throw std::out_of_range("bytes beyond the last that were made");
  }
  std::copy_n(memory_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
}

// ------------------------------------------------------------------------------- OutputFile

void CheckOutput(const std::string& path, std::uint64_t bytes, const CreateOptions& options) {
  RefuseNul(path);
  CheckName(path, options);
  if (bytes > static_cast<std::uint64_t>(INT64_MAX)) {
    throw Error(ErrorKind::kSystem, PathText(path) + ": the output takes " +
                                        CountText(bytes, "byte") + ", more than any file holds");
  }
  CheckRoom(path, Split(path).first, bytes);
}

OutputFile::OutputFile(const std::string& path, std::uint64_t bytes, const CreateOptions& options,
                       const std::string& owner)
    : path_(path), directory_(Split(path).first), overwrite_(options.overwrite) {
  if (!options.begun.empty()) {
    OpenBegun(options.begun, bytes);
    return;
  }
  CheckOutput(path, bytes, options);
  const std::string prefix = TemporaryPrefix(Split(owner.empty() ? path : owner).second);
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
    std::string path = directory_ + '/' + prefix + RandomDigits() + std::string(kTemporaryEnding);
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

// As the replaced file's, where the system lets: the owner and the group, and the permissions. What
// cannot be kept is no error.
// Only what a run left unnamed beside this output: the name may come from anybody.
void OutputFile::OpenBegun(const std::string& begun, std::uint64_t bytes) {
  const auto [directory, name] = Split(begun);
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::kContents, PathText(begun) + ": " + why + "; it is to be an output of " +
                                          CountText(bytes, "byte") + " begun for " +
                                          PathText(path_));
  };
  if (directory != directory_ || !IsTemporary(name, TemporaryPrefix(Split(path_).second))) {
    refuse("does not have the name of a temporary file");
  }
  Descriptor descriptor(OpenRetrying(begun, O_RDWR | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (descriptor.get() < 0 || ::fstat(descriptor.get(), &status) != 0) {
    throw Error(ErrorKind::kSystem, PathText(begun) + ": cannot be opened: " + Reason(errno) +
                                        "; the process that began it may have ended");
  }
  if (!S_ISREG(status.st_mode)) refuse("is not a regular file");
  if (status.st_size != static_cast<off_t>(bytes)) {
    refuse("has " + CountText(static_cast<std::uint64_t>(status.st_size), "byte"));
  }
  begun_ = begun;
  descriptor_ = descriptor.Release();
}

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
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) error = errno;
  } else {
    // Of two runs that write one output the second must fail here, not replace the first's.
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0) {
      error = errno;
    }
    if (error == EINVAL || error == ENOSYS) {  // the file system cannot: a hard link never replaces
      error = ::link(temporary_.c_str(), path_.c_str()) == 0 ? 0 : errno;
      if (error == 0) ::unlink(temporary_.c_str());
    }
    if (error == EPERM || error == EOPNOTSUPP) {  // nor has it hard links: look, then rename
      struct stat status {};
      error = ::lstat(path_.c_str(), &status) == 0 ? EEXIST : 0;
      if (error == 0 && ::rename(temporary_.c_str(), path_.c_str()) != 0) error = errno;
    }
  }
  // A server that was asked twice for what it has done already says that it failed.
  if (error != 0 && StillNamed(path_, descriptor_)) {
    ::unlink(temporary_.c_str());
    error = 0;
  }
  if (error == EEXIST && !overwrite_) return false;
  if (error != 0) ThrowWrite(path_, "the finished file could not be given its name", error);
  temporary_.clear();
  return true;
}

bool OutputFile::NameAs(const std::string& path) {
  path_ = path;
  return Name();
}

void OutputFile::Unname() noexcept {
  if (StillNamed(path_, descriptor_)) ::unlink(path_.c_str());
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

// ---------------------------------------------------------------------------- DirectoryLock

DirectoryLock::DirectoryLock(const std::string& path, const std::function<void()>& wait) {
  constexpr std::chrono::milliseconds kBetweenTries(10);
  constexpr int kMostTries = 3000;
  Descriptor descriptor(OpenRetrying(Split(path).first, O_RDONLY | O_DIRECTORY));
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
