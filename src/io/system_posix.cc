// The calls of the operating system where that is Linux.
//
// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "io/system.h"
#include "io/system_calls.h"

namespace tensorcast::io {

std::string ReasonText(int error) { return std::system_category().message(error); }

std::string_view WriteAdvice(int error) {
  switch (error) {
    case ENOSPC: return "; free some room, or write to another disk";
    case EDQUOT: return "; your quota is used up: free some room, or write to another disk";
    case EFBIG:
      return "; raise the limit on the size of files (ulimit -f), or write to a file system that "
             "holds larger files";
    case EIO: return "; the disk may be failing";
    default: return {};
  }
}

// ---------------------------------------------------------------------- status, descriptors

namespace {

FileKind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kFile;
  if (S_ISDIR(mode)) return FileKind::kDirectory;
  if (S_ISFIFO(mode)) return FileKind::kPipe;
  if (S_ISSOCK(mode)) return FileKind::kSocket;
  if (S_ISCHR(mode) || S_ISBLK(mode)) return FileKind::kDevice;
  return FileKind::kOther;
}

std::int64_t Nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool Fill(const struct stat& from, FileStatus* status) {
  status->kind = KindOf(from.st_mode);
  status->is_link = S_ISLNK(from.st_mode);
  status->bytes = static_cast<std::uint64_t>(from.st_size);
  status->written_at = Nanoseconds(from.st_mtim);
  status->changed_at = Nanoseconds(from.st_ctim);
  status->links = from.st_nlink;
  status->device = from.st_dev;
  status->number = from.st_ino;
  status->permissions = from.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  return true;
}

int AboveStandardStreams(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return moved;
}

int Open(const std::string& path, int flags, mode_t mode = 0) {
  int descriptor = 0;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return AboveStandardStreams(descriptor);
}

int OpenToRead(const std::string& path) {
  // Without O_NONBLOCK opening a pipe would wait for its writer.
  const int descriptor = Open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (descriptor >= 0) ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  return descriptor;
}

}  // namespace

bool ReadStatus(const std::string& path, FileStatus* status) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && Fill(found, status);
}

bool OwnStatus(const std::string& path, FileStatus* status) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && Fill(found, status);
}

bool ReadStatus(int descriptor, FileStatus* status) {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 && Fill(found, status);
}

int OpenInput(const std::string& path) { return OpenToRead(path); }

int OpenTemporary(const std::string& path) { return Open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK); }

int CreateTemporary(const std::string& path) {
  // 0666: the permissions are those that the umask leaves.
  return Open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
}

int CreateUnnamed(const std::string& directory) {
  const int descriptor = Open(directory, O_RDWR | O_TMPFILE | O_EXCL, 0600);
  // EISDIR: a kernel, and EOPNOTSUPP: a file system, without such files.
  if (descriptor >= 0 || (errno != EISDIR && errno != EOPNOTSUPP)) return descriptor;
  std::string name = directory + "/tensorcast-XXXXXX";
  const int created = ::mkostemp(name.data(), O_CLOEXEC);
  if (created < 0) return created;
  ::unlink(name.c_str());
  return AboveStandardStreams(created);
}

int OpenDirectory(const std::string& path) { return Open(path, O_RDONLY | O_DIRECTORY); }

void Close(int descriptor) { ::close(descriptor); }

int OpenName(const std::string& path) { return Open(path, O_PATH); }

namespace {

std::string LinkTo(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

}  // namespace

std::string PlaceOf(int name, const std::string& path) {
  std::string place(PATH_MAX, '\0');
  const ssize_t length = ::readlink(LinkTo(name).c_str(), place.data(), place.size());
  if (length <= 0) ThrowSystem(path, "cannot be found under /proc, which says where it is", errno);
  place.resize(static_cast<std::size_t>(length));
  return place;
}

int OpenNamed(int name, const std::string&) { return OpenToRead(LinkTo(name)); }

// ------------------------------------------------------------------------------------ bytes

std::int64_t ReadAt(int descriptor, std::uint64_t offset, std::span<std::byte> out) {
  ssize_t got = 0;
  do {
    got = ::pread(descriptor, out.data(), std::min(out.size(), kLargestTransfer),
                  static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  return got;
}

std::int64_t WriteAt(int descriptor, std::uint64_t offset, std::span<const std::byte> data) {
  ssize_t put = 0;
  do {
    put = ::pwrite(descriptor, data.data(), std::min(data.size(), kLargestTransfer),
                   static_cast<off_t>(offset));
  } while (put < 0 && errno == EINTR);
  return put;
}

bool Reserve(int descriptor, std::uint64_t bytes) {
  const auto size = static_cast<off_t>(bytes);
  int result = 0;
  do {
    // Not posix_fallocate: where the file system cannot reserve, that one writes every block.
    result = ::fallocate(descriptor, 0, 0, size);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)) {
    result = ::ftruncate(descriptor, size);
  }
  return result == 0;
}

bool Cut(int descriptor, std::uint64_t bytes) {
  int result = 0;
  do {
    result = ::ftruncate(descriptor, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

bool SyncFile(int descriptor) {
  int result = 0;
  do {
    result = ::fsync(descriptor);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

void StartSyncing(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
  const int error = errno;
  ::sync_file_range(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                    SYNC_FILE_RANGE_WRITE);
  errno = error;
}

bool SyncDirectory(int descriptor) {
  return SyncFile(descriptor) || errno == EINVAL || errno == EROFS;
}

// ------------------------------------------------------------------------------------ locks

bool Lock(int descriptor) {
  const int result = ::flock(descriptor, LOCK_EX | LOCK_NB);
  if (result != 0 && errno == EINTR) errno = EWOULDBLOCK;
  return result == 0;
}

int OpenLockOfBuilt(const std::string& directory) {
  return Open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

int OpenLockOfNames(const std::string& directory) { return OpenDirectory(directory); }

bool IsStillLocked(const std::string& built, int lock) { return IsStillNamed(built, lock); }

// ------------------------------------------------------------------------------------ names

bool Rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0;
}

namespace {

bool RenameWith(unsigned flags, const std::string& from, const std::string& to) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0;
}

}  // namespace

bool RenameNew(const std::string& from, const std::string& to) {
  if (RenameWith(RENAME_NOREPLACE, from, to)) return true;
  int error = errno;
  if (error == EINVAL || error == ENOSYS) {  // the file system cannot: a hard link never replaces
    error = ::link(from.c_str(), to.c_str()) == 0 ? 0 : errno;
    if (error == 0 && !Remove(from)) error = errno;
  }
  if (error == EPERM || error == EOPNOTSUPP) {  // nor has it hard links: look, then rename
    FileStatus status;
    error = OwnStatus(to, &status) ? EEXIST : 0;
    if (error == 0 && !Rename(from, to)) error = errno;
  }
  errno = error;
  return error == 0;
}

bool Remove(const std::string& path) { return ::unlink(path.c_str()) == 0; }

bool MakeDirectory(const std::string& path) {
  return ::mkdir(path.c_str(), 0777) == 0;  // the permissions are those that the umask leaves
}

bool RenameNewDirectory(const std::string& from, const std::string& to, int lock) {
  if (RenameWith(RENAME_NOREPLACE, from, to)) return true;
  int error = errno;
  // Where the file system cannot say so: a rename replaces no directory that holds anything.
  if (error == EINVAL || error == ENOSYS) error = Rename(from, to) ? 0 : errno;
  // A server that was asked twice for what it has done already says that it failed.
  if (error == 0 || IsStillNamed(to, lock)) return true;
  errno = error;
  return false;
}

bool ExchangeDirectories(const std::string& from, const std::string& to, int lock) {
  if (RenameWith(RENAME_EXCHANGE, from, to)) return true;
  const int error = errno;
  if (IsStillNamed(to, lock)) return true;  // such a server
  errno = error == EINVAL ? ENOSYS : error;
  return false;
}

namespace {

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

// Removes what is in an open directory, which it takes.
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

}  // namespace

bool RemoveTree(const std::string& path) {
  if (Remove(path) || errno == ENOENT) return true;
  const int descriptor = OpenLockOfBuilt(path);
  if (descriptor < 0 || !RemoveContents(descriptor)) return false;
  return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
}

bool ForEachName(const std::string& directory, const std::function<bool(std::string_view)>& use) {
  const Entries entries(::opendir(directory.c_str()));
  if (entries == nullptr) return false;
  while (const char* const name = NextName(entries.get())) {
    if (!use(name)) return true;
  }
  return errno == 0;
}

// ------------------------------------------------------------------------------ permissions

std::optional<unsigned> TakeOwnership(int descriptor, const std::string& replaced_path) {
  struct stat replaced {
  }, own{};
  if (::stat(replaced_path.c_str(), &replaced) != 0 || ::fstat(descriptor, &own) != 0) return {};
  mode_t mode = replaced.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  if ((replaced.st_uid != own.st_uid || replaced.st_gid != own.st_gid) &&
      ::fchown(descriptor, replaced.st_uid, replaced.st_gid) != 0 &&
      ::fchown(descriptor, own.st_uid, replaced.st_gid) != 0) {
    // Another group must not be given what was the old group's: it may do what all may.
    mode &= S_IRWXU | S_IRWXO | (mode & S_IRWXO) << 3;
  }
  // Another run must be able to open it, to see whether it is stale.
  ::fchmod(descriptor, mode | S_IRUSR | S_IWUSR);
  return mode;
}

void SetPermissions(int descriptor, unsigned permissions) { ::fchmod(descriptor, permissions); }

bool MayCreateIn(const std::string& directory) {
  return ::access(directory.c_str(), W_OK | X_OK) == 0;
}

std::optional<std::uint64_t> FileSizeLimit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return limit.rlim_cur;
}

std::optional<std::uint64_t> FreeBytes(const std::string& directory) {
  struct statvfs disk {};
  int result = 0;
  do {
    result = ::statvfs(directory.c_str(), &disk);
  } while (result != 0 && errno == EINTR);
  const std::uint64_t unit = disk.f_frsize != 0 ? disk.f_frsize : disk.f_bsize;
  if (result != 0 || unit == 0) return {};
  return disk.f_bavail * unit;
}

std::size_t NameBegin(std::string_view path) { return path.rfind('/') + 1; }

std::string WhyNoName(std::string_view name) {
  return name.find('\0') != std::string_view::npos ? "has a NUL byte" : "";
}

std::pair<std::string, std::string> SplitPath(const std::string& path) {
  const std::size_t name = NameBegin(path);
  if (name == 0) return {".", path};
  return {name == 1 ? "/" : path.substr(0, name - 1), path.substr(name)};
}

std::string ResolvedPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> text(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (text == nullptr && errno != ENOENT && errno != ENOTDIR) {
    ThrowSystem(path, "cannot be followed to where it leads", errno);
  }
  return text ? text.get() : "";
}

}  // namespace tensorcast::io
