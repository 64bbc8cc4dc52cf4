// The calls of the operating system, in one shape for every system (system_posix.cc,
// system_windows.cc), and what else the files system_*.cc share: descriptors that close themselves,
// the names of temporary files, and the words in which the system's errors are told.
//
// Calls go on after a signal. One that fails returns false or -1 and leaves the reason in errno.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_SYSTEM_CALLS_H_
#define TENSORCAST_SRC_FILES_SYSTEM_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/error.h"
#include "files/file_status.h"

namespace tensorcast::files {

// ------------------------------------------------------------------------ the system's own

// The words for a value of errno, and what can be done where a file that is written meets it: empty
// or with "; " in front.
std::string ReasonText(int error);
std::string_view WriteAdvice(int error);

bool ReadStatus(const std::string& path, FileStatus* status);  // of what links lead to
bool OwnStatus(const std::string& path, FileStatus* status);   // of a link itself
bool ReadStatus(int descriptor, FileStatus* status);

// A descriptor is never 0, 1 or 2: in a process that has closed one of those, what it prints would
// land in the file.
int OpenInput(const std::string& path);      // for reading; waits for no pipe's writer
int OpenTemporary(const std::string& path);  // for reading and writing; follows no last link
// The same of another process's, to write parts of it. For writing alone: where a page is read
// before a part of it is written, NFS may send all of it back, over what others have written.
int OpenShared(const std::string& path);
// The same, new, with at most these permissions.
int CreateTemporary(const std::string& path, unsigned permissions);
int CreateUnnamed(const std::string& directory);  // goes with its descriptor
int OpenDirectory(const std::string& path);       // for SyncDirectory
void Close(int descriptor);
// A file as it is named, not yet for reading; where it is, by a path without symbolic links (throws
// Error, of `path`); and the same file for reading.
int OpenName(const std::string& path);
std::string PlaceOf(int name, const std::string& path);
int OpenNamed(int name, const std::string& place);

// How many bytes went, at most all; 0 at the end of the file.
std::int64_t ReadAt(int descriptor, std::uint64_t offset, std::span<std::byte> out);
std::int64_t WriteAt(int descriptor, std::uint64_t offset, std::span<const std::byte> data);
// The first bytes of a file as memory of which a page becomes this process's own when it is written
// to; null: not on this system, or not now.
std::byte* MapToCopy(int descriptor, std::uint64_t bytes);
void Unmap(std::byte* memory, std::uint64_t bytes);
// Lets go of the pages that lie wholly in such memory: they are as the file has them, if they are
// looked at again.
void DropPages(std::byte* memory, std::uint64_t bytes);
bool Reserve(int descriptor, std::uint64_t bytes);  // room, and the size; new bytes are zero
bool Cut(int descriptor, std::uint64_t bytes);
bool SyncFile(int descriptor);
// Has what stands in the range go to its disk from now on, so that SyncFile finds less to wait for.
// A hint: that it fails says nothing.
void StartSyncing(int descriptor, std::uint64_t offset, std::uint64_t bytes);
// Forgets what was read or written and is on its disk; a hint, too.
void DropCached(int descriptor);
bool SyncDirectory(int descriptor);  // also true of a file system that cannot
// Whether SyncTogether syncs what SyncFile does, on the file system of an open directory; all of
// that file system.
bool CanSyncTogether(int descriptor);
bool SyncTogether(int descriptor);

// Locks last as long as the descriptor, or the process. EWOULDBLOCK: another has it, also where a
// directory's is opened. A file system may have none.
bool Lock(int descriptor);
bool LockShared(int descriptor);  // with others that do; in the place of a lock that this one has
// A file that is locked, for reading and writing; new, where there is none, for its owner alone.
int OpenLockFile(const std::string& file);
// What is locked for a directory that is built, under a name of our own.
int OpenLockOfBuilt(const std::string& directory);
// The lock of DirectoryLock: a file that only those can open who can write to its directory, there
// as long as it is held. Returns its descriptor.
int LockNames(const std::string& file);
void UnlockNames(const std::string& file, int lock);
// Whether the name is still that of what was opened.
bool IsStillLocked(const std::string& built, int lock);

bool Rename(const std::string& from, const std::string& to);  // a file, replacing another
bool RenameNew(const std::string& from, const std::string& to);
bool Remove(const std::string& path);
bool MakeDirectory(const std::string& path, unsigned permissions);  // with at most these
// `lock`: OpenLockOfBuilt's of `from`.
bool RenameNewDirectory(const std::string& from, const std::string& to, int lock);
// ENOSYS where the system cannot.
bool Exchange(const std::string& one, const std::string& other);
// Removes a directory with what is in it, or a link; what was removed by another meanwhile is as
// good.
bool RemoveTree(const std::string& path);
// The same of a directory that is built; takes its lock, so that it needs no other descriptor.
bool RemoveBuilt(const std::string& path, int lock);
// Each name in a directory but "." and "..", until `use` returns false.
bool ForEachName(const std::string& directory, const std::function<bool(std::string_view)>& use);

// The permissions of what replaces another file, until TakeAccess has seen which it may have.
inline constexpr unsigned kOwnersAlone = 0700;
// Gives a new file or directory the owner and the group of the one that it replaces, as far as the
// system lets; returns the permissions that it may have then. Until SetPermissions its owner can
// open it.
std::optional<unsigned> TakeAccess(int descriptor, const FileStatus& replaced);
void SetPermissions(int descriptor, unsigned permissions);

bool MayCreateIn(const std::string& directory);
std::optional<std::uint64_t> FileSizeLimit();
std::optional<std::uint64_t> FreeBytes(const std::string& directory);

// The directory and the last part of a path: "a/b" is ("a", "b"), "b" is (".", "b").
std::pair<std::string, std::string> SplitPath(const std::string& path);
// Without the dividers at the end of a directory's path.
std::string WithoutSlashes(std::string path);
// An absolute path without symbolic links, divided by '/'; empty where there is no such file.
std::string ResolvedPath(const std::string& path);

// ------------------------------------------------------------------------ made of those

inline constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;  // of one call

[[noreturn]] void ThrowSystem(const std::string& path, const std::string& what, int error);
// The same of a file that is being written, with what can be done.
[[noreturn]] void ThrowWrite(const std::string& path, const std::string& what, int error);
// Refuses an output whose name is taken; `what` ends with what to name instead.
[[noreturn]] void ThrowTaken(const std::string& path, const std::string& what);
// Refuses a directory that stands where a file is to be.
[[noreturn]] void ThrowDirectory(core::ErrorKind kind, const std::string& path,
                                 const std::string& what);

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) Close(value_);
  }
  int get() const { return value_; }
  int Release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

std::string_view KindText(FileKind kind);  // "a directory"
void RefuseNul(const std::string& path);

// Both paths are resolved.
bool IsBelow(std::string_view path, std::string_view directory);
bool IsSameFile(const FileStatus& a, const FileStatus& b);
// Whether `path` is still the name of the open file.
bool IsStillNamed(const std::string& path, int descriptor);

// Fills `out` from `offset` of an open file that had `size` bytes.
void ReadFully(int descriptor, const std::string& path, std::uint64_t size, std::uint64_t offset,
               std::span<std::byte> out);

// Throws where the directory of an output at `path` is not there or lets nothing be made in it.
void CheckWritable(const std::string& path, const std::string& directory);
// Throws where no file may have so many `bytes`. `what` takes them: "the output".
void CheckSizeLimit(const std::string& path, const std::string& what, std::uint64_t bytes);
// Throws where the disk has no room for them. Nothing is said where the system does not say.
void CheckFreeSpace(const std::string& path, const std::string& directory, const std::string& what,
                    std::uint64_t bytes, const std::string& remedy);
inline constexpr std::string_view kRoomRemedy = "free some room, or write to another disk";

// Makes the names given in a directory last. Throws where that fails: `path` was written.
void SyncNames(const std::string& path, const std::string& directory);

// What a directory that is replaced is called for a moment, behind the name of the new one.
inline constexpr std::string_view kAsideEnding = ".old";

// What stands under a temporary name is called ".NAME.tensorcast-[8 digits].tmp" after the output
// that it becomes.
std::string TemporaryPrefix(const std::string& name);
std::string TemporaryName(const std::string& prefix);
bool IsTemporary(std::string_view entry, std::string_view prefix);
// What stands in a directory under names of that prefix, in their order; nothing where it cannot be
// read.
std::vector<std::string> TemporaryNames(const std::string& directory, const std::string& prefix);
// Removes what of that prefix runs that were killed have left in a directory, and adds a note of
// each: what a run that goes on makes is held under a lock.
void RemoveStale(const std::string& directory, const std::string& prefix,
                 std::vector<std::string>& notes);

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_SYSTEM_CALLS_H_
