// The calls of the operating system where that is Windows. Paths are UTF-8, divided by '/' or '\'.
// A descriptor is a handle: of those the system uses 32 bits, and never the three lowest numbers.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef NOMINMAX  // which libstdc++ defines too, where it came first
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
// After it.
#include <winioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>

#include "files/system.h"
#include "files/system_calls.h"

namespace tensorcast::files {
namespace {

HANDLE HandleOf(int descriptor) {
  return reinterpret_cast<HANDLE>(static_cast<std::intptr_t>(descriptor));
}
int DescriptorOf(HANDLE handle) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
}

constexpr DWORD kQuotaExceeded = 1295;  // MinGW's headers have no name for it

struct ErrorRow {
  DWORD windows;
  int error;
};
constexpr ErrorRow kErrors[] = {
    {ERROR_FILE_NOT_FOUND, ENOENT},
    {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_INVALID_DRIVE, ENOENT},
    {ERROR_BAD_NETPATH, ENOENT},
    {ERROR_BAD_NET_NAME, ENOENT},
    {ERROR_INVALID_NAME, EINVAL},
    {ERROR_DIRECTORY, ENOTDIR},
    {ERROR_ACCESS_DENIED, EACCES},
    {ERROR_PRIVILEGE_NOT_HELD, EACCES},
    {ERROR_WRITE_PROTECT, EROFS},
    {ERROR_SHARING_VIOLATION, EBUSY},
    {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
    {ERROR_FILE_EXISTS, EEXIST},
    {ERROR_ALREADY_EXISTS, EEXIST},
    {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
    {ERROR_DISK_FULL, ENOSPC},
    {ERROR_HANDLE_DISK_FULL, ENOSPC},
    {kQuotaExceeded, ENOSPC},
    {ERROR_FILE_TOO_LARGE, EFBIG},
    {ERROR_NOT_SAME_DEVICE, EXDEV},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
    {ERROR_OUTOFMEMORY, ENOMEM},
    {ERROR_NO_SYSTEM_RESOURCES, ENOMEM},
    {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    {ERROR_CANT_RESOLVE_FILENAME, ELOOP},
    {ERROR_NO_UNICODE_TRANSLATION, EILSEQ},
    {ERROR_NOT_SUPPORTED, ENOSYS},
    {ERROR_INVALID_PARAMETER, EINVAL},
};

// Leaves the reason in errno.
bool Fail(DWORD windows) {
  const auto* const row = std::find_if(std::begin(kErrors), std::end(kErrors),
                                       [&](const ErrorRow& one) { return one.windows == windows; });
  errno = row != std::end(kErrors) ? row->error : EIO;
  return false;
}
bool Done(BOOL result) { return result != 0 || Fail(GetLastError()); }

std::wstring Wide(std::string_view text) {
  if (text.empty()) return {};
  const int bytes = static_cast<int>(std::min<std::size_t>(text.size(), 1U << 20));
  const int size =
      MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), bytes, nullptr, 0);
  std::wstring wide(static_cast<std::size_t>(std::max(size, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), bytes, wide.data(), size);
  return wide;
}

// Empty where the name is not UTF-16.
std::string Narrow(std::wstring_view wide) {
  if (wide.empty()) return {};
  const int units = static_cast<int>(wide.size());
  const int size = WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, wide.data(), units, nullptr,
                                       0, nullptr, nullptr);
  std::string text(static_cast<std::size_t>(std::max(size, 0)), '\0');
  WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, wide.data(), units, text.data(), size, nullptr,
                      nullptr);
  return text;
}

// The path as the calls take it: a long one needs a mark in front, and then must be whole. It is
// empty, which no call takes, if `path` is not UTF-8.
std::wstring CallPath(const std::string& path) {
  std::wstring wide = Wide(path);
  constexpr std::size_t kShort = 240;  // directories are cut at 248 units, files at 260
  if (wide.size() < kShort || wide.starts_with(L"\\\\")) return wide;
  std::wstring whole(GetFullPathNameW(wide.c_str(), 0, nullptr, nullptr), L'\0');
  whole.resize(
      GetFullPathNameW(wide.c_str(), static_cast<DWORD>(whole.size()), whole.data(), nullptr));
  return whole.starts_with(L"\\\\") ? whole : L"\\\\?\\" + whole;
}

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

int Open(const std::string& path, DWORD access, DWORD creation, DWORD flags,
         DWORD share = kShareAll) {
  const std::wstring wide = CallPath(path);
  const HANDLE handle =
      wide.empty() ? INVALID_HANDLE_VALUE
                   : CreateFileW(wide.c_str(), access, share, nullptr, creation, flags, nullptr);
  if (handle == INVALID_HANDLE_VALUE) {
    Fail(!wide.empty()  ? GetLastError()
         : path.empty() ? ERROR_FILE_NOT_FOUND
                        : ERROR_NO_UNICODE_TRANSLATION);
    return -1;
  }
  return DescriptorOf(handle);
}

// Whether what was opened is a link and not what it leads to. Other reparse points (of files that
// are kept in a cloud) are files.
bool IsLink(HANDLE handle, DWORD attributes) {
  FILE_ATTRIBUTE_TAG_INFO tag = {};
  return (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
         GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof tag) != 0 &&
         (tag.ReparseTag == IO_REPARSE_TAG_SYMLINK || tag.ReparseTag == IO_REPARSE_TAG_MOUNT_POINT);
}

constexpr std::uint64_t FromHalves(DWORD high, DWORD low) {
  return std::uint64_t{high} << 32 | low;
}

bool StatusOfName(const std::string& path, DWORD flags, FileStatus* status) {
  const Descriptor descriptor(
      Open(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags));
  return descriptor.get() >= 0 && ReadStatus(descriptor.get(), status);
}

}  // namespace

// The C library has words for few of its numbers.
std::string ReasonText(int error) {
  switch (error) {
    case EBUSY: return "Another program has it open";
    case EROFS: return "Read-only file system";
    case ELOOP: return "Too many levels of symbolic links";
    case EILSEQ: return "A name that is not UTF-8";
    default: return std::strerror(error);
  }
}

std::string_view WriteAdvice(int error) {
  switch (error) {
    case ENOSPC: return "; free some room, or write to another disk";
    case EFBIG: return "; write to a file system that holds larger files";
    case EBUSY: return "; close it there, or name another file";
    case EIO: return "; the disk may be failing";
    default: return {};
  }
}

// ---------------------------------------------------------------------- status, descriptors

bool ReadStatus(const std::string& path, FileStatus* status) {
  return StatusOfName(path, 0, status);
}

bool OwnStatus(const std::string& path, FileStatus* status) {
  return StatusOfName(path, FILE_FLAG_OPEN_REPARSE_POINT, status);
}

bool ReadStatus(int descriptor, FileStatus* status) {
  const HANDLE handle = HandleOf(descriptor);
  *status = {};
  switch (GetFileType(handle)) {
    case FILE_TYPE_DISK: break;
    case FILE_TYPE_PIPE: status->kind = FileKind::kPipe; return true;
    case FILE_TYPE_CHAR: status->kind = FileKind::kDevice; return true;
    default: return true;
  }
  BY_HANDLE_FILE_INFORMATION found = {};
  if (!Done(GetFileInformationByHandle(handle, &found))) return false;
  status->is_link = IsLink(handle, found.dwFileAttributes);
  status->kind = status->is_link                                            ? FileKind::kOther
                 : (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? FileKind::kDirectory
                                                                            : FileKind::kFile;
  status->bytes = FromHalves(found.nFileSizeHigh, found.nFileSizeLow);
  FILE_BASIC_INFO times = {};
  if (!Done(GetFileInformationByHandleEx(handle, FileBasicInfo, &times, sizeof times))) {
    return false;
  }
  // From hundreds of nanoseconds since 1601.
  constexpr std::int64_t kFrom1601To1970 = 116'444'736'000'000'000;
  status->written_at = (times.LastWriteTime.QuadPart - kFrom1601To1970) * 100;
  status->changed_at = (times.ChangeTime.QuadPart - kFrom1601To1970) * 100;
  status->links = found.nNumberOfLinks;
  status->device = found.dwVolumeSerialNumber;
  status->number = FromHalves(found.nFileIndexHigh, found.nFileIndexLow);
  return true;
}

int OpenInput(const std::string& path) {
  // Backup: also a directory opens, which is told from what cannot be opened.
  return Open(path, GENERIC_READ, OPEN_EXISTING,
              FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_SEQUENTIAL_SCAN);
}

// DELETE, of this handle and shared: it is renamed while it is open.
constexpr DWORD kTemporaryAccess = GENERIC_READ | GENERIC_WRITE | DELETE;

int OpenTemporary(const std::string& path) {
  return Open(path, kTemporaryAccess, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT);
}

int OpenShared(const std::string& path) { return OpenTemporary(path); }

int CreateTemporary(const std::string& path, unsigned) {
  return Open(path, kTemporaryAccess, CREATE_NEW, FILE_ATTRIBUTE_NORMAL);
}

int CreateUnnamed(const std::string& directory) {
  std::random_device digits;
  const std::string path = directory + "/tensorcast-" + std::to_string(digits()) + ".tmp";
  return Open(path, GENERIC_READ | GENERIC_WRITE | DELETE, CREATE_NEW,
              FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, 0);
}

int OpenDirectory(const std::string& path) {
  return Open(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
}

void Close(int descriptor) { CloseHandle(HandleOf(descriptor)); }

int OpenName(const std::string& path) { return OpenDirectory(path); }

std::string PlaceOf(int name, const std::string& path) {
  std::wstring place(GetFinalPathNameByHandleW(HandleOf(name), nullptr, 0, 0), L'\0');
  place.resize(
      GetFinalPathNameByHandleW(HandleOf(name), place.data(), static_cast<DWORD>(place.size()), 0));
  std::string text = Narrow(place);
  if (text.empty()) {
    Fail(place.empty() ? GetLastError() : ERROR_NO_UNICODE_TRANSLATION);
    ThrowSystem(path, "cannot be followed to where it leads", errno);
  }
  constexpr std::string_view kMark = "\\\\?\\";
  constexpr std::string_view kServer = "UNC\\";
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  if (text.starts_with(kServer)) text.replace(0, kServer.size(), "\\\\");
  std::replace(text.begin(), text.end(), '\\', '/');
  return text;
}

int OpenNamed(int name, const std::string& place) {
  Descriptor descriptor(OpenInput(place));
  FileStatus named;
  FileStatus open;
  if (descriptor.get() >= 0 && ReadStatus(name, &named) && ReadStatus(descriptor.get(), &open) &&
      !IsSameFile(named, open)) {
    errno = ENOENT;  // the file has lost that name meanwhile
    return -1;
  }
  return descriptor.Release();
}

// ------------------------------------------------------------------------------------ bytes

namespace {

OVERLAPPED At(std::uint64_t offset) {
  OVERLAPPED at = {};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return at;
}

DWORD TransferSize(std::size_t bytes) {
  return static_cast<DWORD>(std::min(bytes, kLargestTransfer));
}

}  // namespace

std::int64_t ReadAt(int descriptor, std::uint64_t offset, std::span<std::byte> out) {
  OVERLAPPED at = At(offset);
  DWORD got = 0;
  if (ReadFile(HandleOf(descriptor), out.data(), TransferSize(out.size()), &got, &at) != 0)
    return got;
  if (GetLastError() == ERROR_HANDLE_EOF) return 0;
  Fail(GetLastError());
  return -1;
}

std::int64_t WriteAt(int descriptor, std::uint64_t offset, std::span<const std::byte> data) {
  OVERLAPPED at = At(offset);
  DWORD put = 0;
  const BOOL done =
      WriteFile(HandleOf(descriptor), data.data(), TransferSize(data.size()), &put, &at);
  return Done(done) ? std::int64_t{put} : -1;
}

// A file that is mapped can be neither replaced nor removed there.
std::byte* MapToCopy(int, std::uint64_t) { return nullptr; }
void Unmap(std::byte*, std::uint64_t) {}
void DropPages(std::byte*, std::uint64_t) {}

bool Reserve(int descriptor, std::uint64_t bytes) {
  FILE_ALLOCATION_INFO room = {};
  room.AllocationSize.QuadPart = static_cast<LONGLONG>(bytes);
  // A file system that cannot reserve is as good until it is full.
  if (SetFileInformationByHandle(HandleOf(descriptor), FileAllocationInfo, &room, sizeof room) ==
          0 &&
      (GetLastError() == ERROR_DISK_FULL || GetLastError() == ERROR_HANDLE_DISK_FULL)) {
    return Fail(ERROR_DISK_FULL);
  }
  return Cut(descriptor, bytes);
}

bool Cut(int descriptor, std::uint64_t bytes) {
  FILE_END_OF_FILE_INFO end = {};
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(bytes);
  return Done(
      SetFileInformationByHandle(HandleOf(descriptor), FileEndOfFileInfo, &end, sizeof end));
}

bool SyncFile(int descriptor) { return Done(FlushFileBuffers(HandleOf(descriptor))); }

// Windows has no such hints.
void StartSyncing(int, std::uint64_t, std::uint64_t) {}
void DropCached(int) {}

// Names are written through as they are given.
bool SyncDirectory(int) { return true; }

bool CanSyncTogether(int) { return false; }
bool SyncTogether(int) {
  errno = ENOSYS;
  return false;
}

// ------------------------------------------------------------------------------------ locks

// A byte that no file has is locked: the bytes of a locked range cannot be read by others.
bool LockShared(int descriptor) {
  OVERLAPPED at = At(std::uint64_t{INT64_MAX} - 1);
  UnlockFileEx(HandleOf(descriptor), 0, 1, 0, &at);
  return Done(LockFileEx(HandleOf(descriptor), LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at));
}

int OpenLockFile(const std::string& file) {
  return Open(file, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL);
}

bool Lock(int descriptor) {
  OVERLAPPED at = At(std::uint64_t{INT64_MAX} - 1);
  return Done(LockFileEx(HandleOf(descriptor), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY,
                         0, 1, 0, &at));
}

namespace {

// Directories have no locks: a file stands for one, is open to one process and goes with it.
int OpenExclusive(const std::string& path) {
  constexpr int kMostTries = 10;
  for (int i = 0;; ++i) {
    const int descriptor = Open(path, GENERIC_READ | GENERIC_WRITE | DELETE, OPEN_ALWAYS,
                                FILE_ATTRIBUTE_HIDDEN | FILE_FLAG_DELETE_ON_CLOSE, 0);
    if (descriptor >= 0) return descriptor;
    if (errno == EBUSY) errno = EWOULDBLOCK;
    // Access is also denied while the file is being removed.
    if (errno != EACCES || i == kMostTries) return -1;
    Sleep(1);
  }
}

}  // namespace

int OpenLockOfBuilt(const std::string& directory) { return OpenExclusive(directory + ".lock"); }

int LockNames(const std::string& file) { return OpenExclusive(file); }
void UnlockNames(const std::string&, int lock) { Close(lock); }

bool IsStillLocked(const std::string& built, int) {
  FileStatus status;
  return OwnStatus(built, &status) && status.kind == FileKind::kDirectory;
}

// ------------------------------------------------------------------------------------ names

namespace {

bool Move(const std::string& from, const std::string& to, DWORD flags) {
  return Done(
      MoveFileExW(CallPath(from).c_str(), CallPath(to).c_str(), flags | MOVEFILE_WRITE_THROUGH));
}

}  // namespace

bool Rename(const std::string& from, const std::string& to) {
  return Move(from, to, MOVEFILE_REPLACE_EXISTING);
}

bool RenameNew(const std::string& from, const std::string& to) { return Move(from, to, 0); }

bool Remove(const std::string& path) { return Done(DeleteFileW(CallPath(path).c_str())); }

bool MakeDirectory(const std::string& path, unsigned) {
  return Done(CreateDirectoryW(CallPath(path).c_str(), nullptr));
}

bool RenameNewDirectory(const std::string& from, const std::string& to, int) {
  return Move(from, to, 0);
}

bool Exchange(const std::string&, const std::string&) {
  errno = ENOSYS;
  return false;
}

bool RemoveTree(const std::string& path) {
  FileStatus status;
  if (!OwnStatus(path, &status)) return errno == ENOENT;
  if (Remove(path) || errno == ENOENT) return true;
  // A link to a directory goes without what it leads to.
  bool is_empty = true;
  const auto remove = [&](std::string_view name) {
    is_empty = RemoveTree(path + '/' + std::string(name));
    return is_empty;
  };
  if (!status.is_link && (!ForEachName(path, remove) || !is_empty)) return false;
  return Done(RemoveDirectoryW(CallPath(path).c_str())) || errno == ENOENT;
}

bool RemoveBuilt(const std::string& path, int lock) {
  const bool is_removed = RemoveTree(path);
  const int error = errno;
  Close(lock);
  errno = error;
  return is_removed;
}

bool ForEachName(const std::string& directory, const std::function<bool(std::string_view)>& use) {
  struct Search {
    HANDLE handle = INVALID_HANDLE_VALUE;
    ~Search() {
      if (handle != INVALID_HANDLE_VALUE) FindClose(handle);
    }
  } search;
  WIN32_FIND_DATAW found = {};
  search.handle = FindFirstFileW(CallPath(directory + "/*").c_str(), &found);
  if (search.handle == INVALID_HANDLE_VALUE) {
    // The root of a disk may hold nothing.
    return GetLastError() == ERROR_FILE_NOT_FOUND || Fail(GetLastError());
  }
  do {
    const std::wstring_view wide = found.cFileName;
    if (wide == L"." || wide == L"..") continue;
    const std::string name = Narrow(wide);
    if (name.empty()) return Fail(ERROR_NO_UNICODE_TRANSLATION);
    if (!use(name)) return true;
  } while (FindNextFileW(search.handle, &found) != 0);
  return GetLastError() == ERROR_NO_MORE_FILES || Fail(GetLastError());
}

// ------------------------------------------------------------------------------ permissions

// A file has the permissions that its directory gives, also one that replaces another.
std::optional<unsigned> TakeAccess(int, const FileStatus&) { return {}; }
void SetPermissions(int, unsigned) {}
unsigned PermissionsOfOutput(const std::string&, std::span<const std::string>) { return 0; }

bool MayCreateIn(const std::string&) { return true; }  // creating will say
std::optional<std::uint64_t> FileSizeLimit() { return {}; }

std::size_t MostOpenFiles() {
  constexpr std::size_t kMost = 256;  // a process may have millions
  return kMost;
}

std::optional<std::uint64_t> FreeBytes(const std::string& directory) {
  ULARGE_INTEGER free = {};
  if (GetDiskFreeSpaceExW(CallPath(directory).c_str(), &free, nullptr, nullptr) == 0) return {};
  return free.QuadPart;
}

// ------------------------------------------------------------------------------------ paths

std::size_t NameBegin(std::string_view path) { return path.find_last_of("/\\:") + 1; }

// Such a character would divide directories, name a stream of a file, or stand for others; and a
// last dot or blank is not kept.
std::string WhyNoName(std::string_view name) {
  const auto* const bad = std::find_if(name.begin(), name.end(), [](char c) {
    return (c >= 0 && c < ' ') || std::string_view("\\:*?\"<>|").find(c) != std::string_view::npos;
  });
  if (bad != name.end()) {
    return *bad >= ' ' ? "has a '" + std::string(1, *bad) + '\'' : "has a control character";
  }
  return name.ends_with('.') || name.ends_with(' ') ? "ends in a dot or a blank" : "";
}

std::pair<std::string, std::string> SplitPath(const std::string& path) {
  const std::size_t name = NameBegin(path);
  if (name == 0) return {".", path};
  const char divider = path[name - 1];
  if (divider == ':') return {path.substr(0, name) + '.', path.substr(name)};  // not its root
  const bool is_root = name == 1 || path[name - 2] == ':';
  return {path.substr(0, is_root ? name : name - 1), path.substr(name)};
}

std::string ResolvedPath(const std::string& path) {
  const Descriptor name(OpenName(path));
  if (name.get() >= 0) return PlaceOf(name.get(), path);
  if (errno != ENOENT && errno != ENOTDIR) {
    ThrowSystem(path, "cannot be followed to where it leads", errno);
  }
  return {};
}

}  // namespace tensorcast::files
