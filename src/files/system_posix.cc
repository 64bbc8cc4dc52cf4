// The calls of the operating system where that is Linux.
//
// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "files/mounted_files.h"
#include "files/system.h"
#include "files/system_calls.h"

namespace tensorcast::files {

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
  // What a directory hands on to what is made in it belongs to its permissions.
  constexpr mode_t kAnybody = S_IRWXU | S_IRWXG | S_IRWXO;
  status->permissions =
      from.st_mode & (S_ISDIR(from.st_mode) ? kAnybody | S_ISGID | S_ISVTX : kAnybody);
  status->owner = from.st_uid;
  status->group = from.st_gid;
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

int OpenShared(const std::string& path) { return Open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK); }

int CreateTemporary(const std::string& path, unsigned permissions) {
  // 0666: what the umask leaves of it.
  return Open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666 & permissions);
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

std::byte* MapToCopy(int descriptor, std::uint64_t bytes) {
  // Without a reserve: few pages are written to, and a file may be larger than the memory.
  void* const memory = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

void Unmap(std::byte* memory, std::uint64_t bytes) {
  ::munmap(memory, static_cast<std::size_t>(bytes));
}

void DropPages(std::byte* memory, std::uint64_t bytes) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + page - 1) / page * page,
                       end = (begin + bytes) / page * page;
  if (first < end) ::madvise(memory + (first - begin), end - first, MADV_DONTNEED);
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

void DropCached(int descriptor) { ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED); }

bool SyncDirectory(int descriptor) {
  return SyncFile(descriptor) || errno == EINVAL || errno == EROFS;
}

bool CanSyncTogether(int descriptor) {
  // The servers behind these file systems are told to sync by fsync alone.
  constexpr std::array<std::uint32_t, 3> kAskEach = {0x65735546 /* FUSE */, 0xFF534D42 /* CIFS */,
                                                     0xFE534D42 /* SMB2 */};
  struct statfs disk {};
  if (::fstatfs(descriptor, &disk) != 0) return false;
  return std::find(kAskEach.begin(), kAskEach.end(), static_cast<std::uint32_t>(disk.f_type)) ==
         kAskEach.end();
}

bool SyncTogether(int descriptor) {
  int result = 0;
  do {
    result = ::syncfs(descriptor);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && (errno == ENOSYS || errno == EPERM)) {  // a filter that does not know the call
    ::sync();
    return true;
  }
  return result == 0;
}

// ------------------------------------------------------------------------------------ locks

bool Lock(int descriptor) {
  const int result = ::flock(descriptor, LOCK_EX | LOCK_NB);
  if (result != 0 && errno == EINTR) errno = EWOULDBLOCK;
  return result == 0;
}

bool LockShared(int descriptor) {
  const int result = ::flock(descriptor, LOCK_SH | LOCK_NB);
  if (result != 0 && errno == EINTR) errno = EWOULDBLOCK;
  return result == 0;
}

int OpenLockFile(const std::string& file) {
  return Open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, S_IRUSR | S_IWUSR);
}

int OpenLockOfBuilt(const std::string& directory) {
  return Open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

int LockNames(const std::string& file) {
  const std::string directory = SplitPath(file).first;  // what can fail, before there is a file
  Descriptor lock(
      Open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, S_IRUSR | S_IWUSR));
  if (lock.get() < 0) return -1;
  struct stat folder {};
  if (::stat(directory.c_str(), &folder) == 0) {
    const mode_t writers = folder.st_mode & (S_IWGRP | S_IWOTH);
    if ((writers & S_IWGRP) != 0) {
      static_cast<void>(!::fchown(lock.get(), static_cast<uid_t>(-1), folder.st_gid));
    }
    if (writers != 0) ::fchmod(lock.get(), S_IRUSR | S_IWUSR | writers | writers << 1);
  }
  FileStatus status;
  const bool is_locked = Lock(lock.get()) && ReadStatus(lock.get(), &status);
  if (is_locked && status.links != 0) return lock.Release();
  const int error = is_locked ? EWOULDBLOCK : errno;  // who held it has removed it
  if (error != EWOULDBLOCK) Remove(file);             // there are no locks here
  Close(lock.Release());
  errno = error;
  return -1;
}

void UnlockNames(const std::string& file, int lock) {
  Remove(file);
  Close(lock);
}

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

bool MakeDirectory(const std::string& path, unsigned permissions) {
  return ::mkdir(path.c_str(), 0777 & permissions) == 0;  // what the umask leaves of it
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

bool Exchange(const std::string& one, const std::string& other) {
  if (RenameWith(RENAME_EXCHANGE, one, other)) return true;
  if (errno == EINVAL) errno = ENOSYS;
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
  struct stat own {};
  if (::fstat(descriptor, &own) == 0 && (own.st_mode & S_IRWXU) != S_IRWXU) {
    ::fchmod(descriptor, own.st_mode | S_IRWXU);  // nothing goes out of one that is read-only
  }
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
  if (::rmdir(path.c_str()) == 0) return true;  // empty: this needs no descriptor
  const int descriptor = OpenLockOfBuilt(path);
  return descriptor >= 0 && RemoveBuilt(path, descriptor);
}

bool RemoveBuilt(const std::string& path, int lock) {
  return RemoveContents(lock) && (::rmdir(path.c_str()) == 0 || errno == ENOENT);
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

namespace {

// What was one group's must not be given to another: it may do what all may.
mode_t ForAnotherGroup(mode_t mode) {
  return (mode & (S_IRWXU | S_IRWXO | S_ISVTX)) | (mode & S_IRWXG & (mode & S_IRWXO) << 3);
}

}  // namespace

std::optional<unsigned> TakeAccess(int descriptor, const FileStatus& replaced) {
  FileStatus own;
  if (!ReadStatus(descriptor, &own)) return {};
  const auto owner = static_cast<uid_t>(replaced.owner);
  const auto group = static_cast<gid_t>(replaced.group);
  mode_t mode = replaced.permissions;
  if ((replaced.owner != own.owner || replaced.group != own.group) &&
      ::fchown(descriptor, owner, group) != 0 &&
      ::fchown(descriptor, static_cast<uid_t>(-1), group) != 0) {
    mode = ForAnotherGroup(mode);
  }
  // Another run must be able to open it, to see whether it is stale; files are made in it.
  ::fchmod(descriptor, mode | (own.kind == FileKind::kDirectory ? S_IRWXU : S_IRUSR | S_IWUSR));
  return mode;
}

unsigned PermissionsOfOutput(const std::string& path, std::span<const std::string> inputs) {
  struct stat folder {};
  const bool is_handed_on =
      ::stat(SplitPath(path).first.c_str(), &folder) == 0 && (folder.st_mode & S_ISGID) != 0;
  const gid_t group = is_handed_on ? folder.st_gid : ::getegid();
  mode_t mode = S_IRWXU | S_IRWXG | S_IRWXO;
  for (const std::string& input : inputs) {
    if (MountedAt(input) != nullptr) continue;  // which says nothing of other users
    FileStatus of_input;  // of one that is gone nothing is known: none but the owner
    if (ReadStatus(input, &of_input) && of_input.group != group) {
      of_input.permissions = ForAnotherGroup(of_input.permissions);
    }
    mode &= of_input.permissions;
  }
  return mode | S_IRWXU;
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

std::size_t MostOpenFiles() {
  constexpr std::size_t kMost = 256, kLeast = 16;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kLeast;
  // Inputs and outputs each take as many, and half is left to the rest of the process.
  return std::clamp(static_cast<std::size_t>(limit.rlim_cur / 4), kLeast, kMost);
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

}  // namespace tensorcast::files
