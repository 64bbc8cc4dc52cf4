/* A library to be preloaded: makes calls of the system and of the allocator go wrong.
 *
 *   LD_PRELOAD=./inject_faults.so TENSORCAST_FAULTS="pwrite:3:ENOSPC unlink:1:EIO" tensorcast ...
 *
 * TENSORCAST_FAULTS holds up to eight faults, FUNCTION:K:ACTION: what happens at the K-th call
 * (from 1) of a function of the table below; K+ means at that call and at all later ones.
 *
 *   EIO, ENOSPC ...   the call does nothing and fails with this error
 *   late-EIO ...      the call is made, and then said to have failed
 *   short, empty      of read, pread, write, pwrite: half of the bytes, or none
 *   SIGKILL, SIGTERM  the process gets this signal, then the call is made
 *   power             what pwrite wrote and nobody synced becomes zeros, and the process is killed:
 *                     the names in directories stay as they are
 *   command           the shell runs TENSORCAST_FAULT_COMMAND to its end, then the call is made
 *
 * TENSORCAST_FAULT_FROM=start counts from the first call of the process, also before main; else
 * from main on. TENSORCAST_FAULT_RECORD names a file that gets the numbers of calls (struct
 * Record), also where the process is killed. A file that is given a name by a rename or a link
 * while something written to it is not synced is counted there as well: a power loss could take its
 * content. Of a directory so is everything in it, and the names that were given in it.
 *
 * Calls that the C library makes inside itself (stdio's writes) do not pass here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* Functions that differ in their spelling alone (open64, openat ...) are one. */
/* clang-format off */
#define FUNCTIONS(F) \
  F(open) F(close) F(read) F(pread) F(write) F(pwrite) F(fsync) F(syncfs) F(rename) F(renameat2) \
  F(link) \
  F(unlink) F(ftruncate) F(fallocate) F(stat) F(lstat) F(fstat) F(statvfs) F(access) \
  F(realpath) F(readlink) F(flock) F(opendir) F(readdir) F(mkdir) F(chmod) F(getrandom) \
  F(mmap) F(malloc) F(pthread_create)
/* clang-format on */

#define ENUMERATOR(name) k_##name,
enum Function { FUNCTIONS(ENUMERATOR) kFunctionCount };
#define NAME(name) #name,
static const char* const kNames[] = {FUNCTIONS(NAME)};

enum { kMostFaults = 8, kMostFiles = 1024, kMostWrites = 8192, kNameSize = 24, kPathSize = 256 };

enum Action { kNone, kFail, kFailLate, kShort, kEmpty, kSignal, kPower, kCommand };

struct Fault {
  enum Action action;
  int value; /* of the error or the signal */
};

struct Plan {
  enum Function function;
  uint64_t first;
  bool and_later;
  struct Fault fault;
};

/* What the driver reads; also injection.py has this layout. */
struct Record {
  _Atomic uint64_t faults;         /* that took place */
  _Atomic uint64_t unsynced_names; /* files that got a name before they were synced */
  _Atomic uint64_t bytes_read;     /* by read and pread */
  struct {
    char name[kNameSize];
    _Atomic uint64_t calls;
  } functions[kFunctionCount];
};

/* The files that were written to, and the directories in which names were given, since they were
 * synced. */
struct DirtyFiles {
  pthread_mutex_t mutex;
  int count;
  struct {
    dev_t device;
    ino_t inode;
    char path[kPathSize]; /* without links */
  } files[kMostFiles];
  int write_count;
  struct {
    dev_t device;
    ino_t inode;
    uint64_t offset, bytes;
  } writes[kMostWrites];
};

static struct Plan plans[kMostFaults];
static int plan_count;
static struct Record own_record;
static struct Record* record = &own_record;
static struct DirtyFiles dirty = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static atomic_bool is_configured;
static atomic_bool is_counting;
static atomic_bool is_losing; /* power: what is written then is not noted */
/* Of calls made from here nothing is counted. */
static _Thread_local bool is_inside __attribute__((tls_model("initial-exec")));

extern char** environ;
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static _Noreturn void GiveUp(const char* what) {
  static const char kPrefix[] = "inject_faults: cannot understand ";
  if (write(STDERR_FILENO, kPrefix, sizeof kPrefix - 1) < 0 ||
      write(STDERR_FILENO, what, strlen(what)) < 0 || write(STDERR_FILENO, "\n", 1) < 0) {
    _exit(98);
  }
  _exit(99);
}

/* ------------------------------------------------------------------ what is asked for ---- */

static int ErrorOfName(const char* name) {
  for (int i = 1; i < 256; ++i) {
    const char* candidate = strerrorname_np(i);
    if (candidate != NULL && strcmp(candidate, name) == 0) return i;
  }
  return 0;
}

static int SignalOfName(const char* name) {
  for (int i = 1; i < NSIG; ++i) {
    const char* candidate = sigabbrev_np(i);
    if (candidate != NULL && strcmp(candidate, name) == 0) return i;
  }
  return 0;
}

static struct Fault FaultOfText(const char* text) {
  struct Fault fault = {kNone, 0};
  if (strcmp(text, "short") == 0) {
    fault.action = kShort;
  } else if (strcmp(text, "empty") == 0) {
    fault.action = kEmpty;
  } else if (strcmp(text, "command") == 0) {
    fault.action = kCommand;
  } else if (strcmp(text, "power") == 0) {
    fault.action = kPower;
  } else if (strncmp(text, "SIG", 3) == 0) {
    fault.action = kSignal;
    fault.value = SignalOfName(text + 3);
  } else if (strncmp(text, "late-", 5) == 0) {
    fault.action = kFailLate;
    fault.value = ErrorOfName(text + 5);
  } else {
    fault.action = kFail;
    fault.value = ErrorOfName(text);
  }
  const bool has_value =
      fault.action == kSignal || fault.action == kFail || fault.action == kFailLate;
  if (has_value && fault.value == 0) GiveUp(text);
  return fault;
}

static void ReadPlans(const char* text) {
  static char copy[512];
  if (strlen(text) >= sizeof copy) GiveUp(text);
  strcpy(copy, text);
  char* rest = NULL;
  for (char* word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
    char* k = strchr(word, ':');
    char* action = k != NULL ? strchr(k + 1, ':') : NULL;
    if (action == NULL || plan_count == kMostFaults) GiveUp(text);
    *k++ = '\0';
    *action++ = '\0';
    struct Plan* const plan = &plans[plan_count++];
    plan->function = kFunctionCount;
    for (int i = 0; i < kFunctionCount; ++i) {
      if (strcmp(word, kNames[i]) == 0) plan->function = (enum Function)i;
    }
    if (plan->function == kFunctionCount) GiveUp(word);
    char* end = NULL;
    plan->first = strtoull(k, &end, 10);
    plan->and_later = *end == '+';
    if (plan->first == 0 || end[plan->and_later] != '\0') GiveUp(k);
    plan->fault = FaultOfText(action);
  }
}

static void OpenRecord(const char* path) {
  const int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0 || ftruncate(descriptor, sizeof own_record) != 0) GiveUp(path);
  void* const mapped =
      mmap(NULL, sizeof own_record, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) GiveUp(path);
  close(descriptor);
  record = mapped;
  for (int i = 0; i < kFunctionCount; ++i)
    strncpy(record->functions[i].name, kNames[i], kNameSize - 1);
}

static void Configure(void) {
  is_configured = true;
  is_inside = true;
  const char* const faults = getenv("TENSORCAST_FAULTS");
  if (faults != NULL) ReadPlans(faults);
  const char* const path = getenv("TENSORCAST_FAULT_RECORD");
  if (path != NULL) OpenRecord(path);
  const char* const from = getenv("TENSORCAST_FAULT_FROM");
  if (from != NULL && strcmp(from, "start") == 0) is_counting = true;
  is_inside = false;
}

/* ------------------------------------------------------------------------- one call ------ */

/* In a process of its own, which is not meant to meet the faults. */
static void RunCommand(void) {
  char* command = getenv("TENSORCAST_FAULT_COMMAND");
  if (command == NULL) GiveUp("command without TENSORCAST_FAULT_COMMAND");
  char* arguments[] = {"sh", "-c", command, NULL};
  char* environment[256];
  int count = 0;
  for (char** entry = environ; *entry != NULL && count < 255; ++entry) {
    if (strncmp(*entry, "LD_PRELOAD=", 11) != 0) environment[count++] = *entry;
  }
  environment[count] = NULL;
  pid_t child = 0;
  if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environment) != 0) GiveUp(command);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
  }
}

/* Of a disk that had not been asked for it nothing is sure to stay. */
static _Noreturn void LosePower(void) {
  static const char kZeros[1 << 16];
  pthread_mutex_lock(&dirty.mutex);
  is_losing = true;
  for (int w = 0; w < dirty.write_count; ++w) {
    int i = 0;
    while (i < dirty.count && (dirty.files[i].device != dirty.writes[w].device ||
                               dirty.files[i].inode != dirty.writes[w].inode))
      ++i;
    const int descriptor = i < dirty.count ? open(dirty.files[i].path, O_WRONLY) : -1;
    uint64_t offset = dirty.writes[w].offset;
    const uint64_t end = offset + dirty.writes[w].bytes;
    while (descriptor >= 0 && offset < end) {
      const size_t some = end - offset < sizeof kZeros ? end - offset : sizeof kZeros;
      if (pwrite(descriptor, kZeros, some, (off_t)offset) <= 0) break;
      offset += some;
    }
    if (descriptor >= 0) close(descriptor);
  }
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/* Counts a call, and says what it is to meet with. */
static struct Fault Meet(enum Function function) {
  const struct Fault none = {kNone, 0};
  if (is_inside) return none;
  if (!is_configured) {
    if (environ == NULL) return none;
    Configure();
  }
  if (!is_counting) return none;
  const uint64_t k = ++record->functions[function].calls;
  struct Fault fault = none;
  for (int i = 0; i < plan_count; ++i) {
    if (plans[i].function != function) continue;
    if (k == plans[i].first || (k > plans[i].first && plans[i].and_later)) fault = plans[i].fault;
  }
  if (fault.action == kNone) return none;
  ++record->faults;
  is_inside = true;
  const int error = errno;
  if (fault.action == kSignal) kill(getpid(), fault.value);
  if (fault.action == kPower) LosePower();
  if (fault.action == kCommand) RunCommand();
  errno = error;
  is_inside = false;
  return fault;
}

/* Notes that what has this status and path was changed, or synced. */
static void Note(const struct stat* status, const char* path, bool is_synced) {
  pthread_mutex_lock(&dirty.mutex);
  int i = 0;
  while (i < dirty.count &&
         (dirty.files[i].device != status->st_dev || dirty.files[i].inode != status->st_ino))
    ++i;
  if (is_synced && i < dirty.count) {
    dirty.files[i] = dirty.files[--dirty.count];
    int kept = 0;
    for (int w = 0; w < dirty.write_count; ++w) {
      const bool is_its =
          dirty.writes[w].device == status->st_dev && dirty.writes[w].inode == status->st_ino;
      if (!is_its) dirty.writes[kept++] = dirty.writes[w];
    }
    dirty.write_count = kept;
  } else if (!is_synced && i == dirty.count && i < kMostFiles) {
    dirty.files[i].device = status->st_dev;
    dirty.files[i].inode = status->st_ino;
    snprintf(dirty.files[i].path, kPathSize, "%s", path);
    ++dirty.count;
  }
  pthread_mutex_unlock(&dirty.mutex);
}

/* The same of the file with this descriptor. */
static void NoteWrite(int descriptor, bool is_synced) {
  const int error = errno;
  is_inside = true;
  struct stat status;
  if (fstat(descriptor, &status) == 0 &&
      (S_ISREG(status.st_mode) || (is_synced && S_ISDIR(status.st_mode)))) {
    char link[64], path[kPathSize] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    if (readlink(link, path, sizeof path - 1) < 0) path[0] = '\0';
    Note(&status, path, is_synced);
  }
  is_inside = false;
  errno = error;
}

/* Notes what a call that wrote at an offset has written. */
static void NoteWriteAt(int descriptor, uint64_t offset, ssize_t bytes) {
  if (is_losing) return;
  NoteWrite(descriptor, false);
  const int error = errno;
  is_inside = true;
  struct stat status;
  if (bytes > 0 && fstat(descriptor, &status) == 0) {
    pthread_mutex_lock(&dirty.mutex);
    if (dirty.write_count < kMostWrites) { /* of more the last are not lost */
      dirty.writes[dirty.write_count].device = status.st_dev;
      dirty.writes[dirty.write_count].inode = status.st_ino;
      dirty.writes[dirty.write_count].offset = offset;
      dirty.writes[dirty.write_count++].bytes = (uint64_t)bytes;
    }
    pthread_mutex_unlock(&dirty.mutex);
  }
  is_inside = false;
  errno = error;
}

/* Notes that a name was given in the directory of `path`. */
static void NoteName(const char* path) {
  const int error = errno;
  is_inside = true;
  char folder[kPathSize], resolved[4096];
  snprintf(folder, sizeof folder, "%s", path);
  char* const slash = strrchr(folder, '/');
  if (slash != NULL) *slash = '\0';
  struct stat status;
  const char* const place = slash != NULL ? folder : ".";
  if (stat(place, &status) == 0 && realpath(place, resolved) != NULL) {
    Note(&status, resolved, false);
  }
  is_inside = false;
  errno = error;
}

/* Everything is on its disk. */
static void NoteAllSynced(void) {
  pthread_mutex_lock(&dirty.mutex);
  dirty.count = dirty.write_count = 0;
  pthread_mutex_unlock(&dirty.mutex);
}

/* Looks whether what is about to get a name was synced. */
static void NoteNaming(const char* path, const char* name) {
  static const char kTemporary[] = ".tmp"; /* of what is yet to be named, or to be removed */
  const size_t end = strlen(name), ending = sizeof kTemporary - 1;
  if (end > ending && strcmp(name + end - ending, kTemporary) == 0) return;
  const int error = errno;
  is_inside = true;
  struct stat status;
  char resolved[4096] = "";
  if (lstat(path, &status) == 0) {
    const bool has_path = S_ISDIR(status.st_mode) && realpath(path, resolved) != NULL;
    const size_t length = strlen(resolved);
    pthread_mutex_lock(&dirty.mutex);
    for (int i = 0; i < dirty.count; ++i) {
      const bool is_in =
          has_path && strncmp(dirty.files[i].path, resolved, length) == 0 &&
          (dirty.files[i].path[length] == '/' || dirty.files[i].path[length] == '\0');
      if (is_in ||
          (dirty.files[i].device == status.st_dev && dirty.files[i].inode == status.st_ino)) {
        ++record->unsynced_names;
      }
    }
    pthread_mutex_unlock(&dirty.mutex);
  }
  is_inside = false;
  errno = error;
}

/* --------------------------------------------------------------------- the functions ----- */

/* A function that stands before the next one of its name. What it returns where it fails is
 * `failure`, which may use `fault`. */
#define WRAP_WITH(function, result, name, parameters, arguments, failure, before, after) \
  result name parameters {                                                               \
    static result(*next) parameters;                                                     \
    if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name);                          \
    const struct Fault fault = Meet(k_##function);                                       \
    if (fault.action == kFail) {                                                         \
      errno = fault.value;                                                               \
      return failure;                                                                    \
    }                                                                                    \
    before;                                                                              \
    result value = next arguments;                                                       \
    after;                                                                               \
    if (fault.action == kFailLate) {                                                     \
      errno = fault.value;                                                               \
      return failure;                                                                    \
    }                                                                                    \
    return value;                                                                        \
  }
#define WRAP(function, result, name, parameters, arguments, failure) \
  WRAP_WITH(function, result, name, parameters, arguments, failure, (void)0, (void)0)

/* What bytes a call is to transfer. */
static size_t Cut(struct Fault fault, size_t count) {
  if (fault.action == kShort) return count - count / 2;
  if (fault.action == kEmpty) return 0;
  return count;
}

WRAP(close, int, close, (int descriptor), (descriptor), -1)
static void NoteRead(ssize_t bytes) {
  if (is_counting && bytes > 0) record->bytes_read += (uint64_t)bytes;
}

WRAP_WITH(read, ssize_t, read, (int descriptor, void* data, size_t count),
          (descriptor, data, Cut(fault, count)), -1, (void)0, NoteRead(value))
WRAP_WITH(pread, ssize_t, pread, (int descriptor, void* data, size_t count, off_t offset),
          (descriptor, data, Cut(fault, count), offset), -1, (void)0, NoteRead(value))
WRAP_WITH(pread, ssize_t, pread64, (int descriptor, void* data, size_t count, off64_t offset),
          (descriptor, data, Cut(fault, count), offset), -1, (void)0, NoteRead(value))
WRAP_WITH(write, ssize_t, write, (int descriptor, const void* data, size_t count),
          (descriptor, data, Cut(fault, count)), -1, (void)0, NoteWrite(descriptor, false))
WRAP_WITH(pwrite, ssize_t, pwrite, (int descriptor, const void* data, size_t count, off_t offset),
          (descriptor, data, Cut(fault, count), offset), -1, (void)0,
          NoteWriteAt(descriptor, (uint64_t)offset, value))
WRAP_WITH(pwrite, ssize_t, pwrite64,
          (int descriptor, const void* data, size_t count, off64_t offset),
          (descriptor, data, Cut(fault, count), offset), -1, (void)0,
          NoteWriteAt(descriptor, (uint64_t)offset, value))
WRAP_WITH(fsync, int, fsync, (int descriptor), (descriptor), -1, (void)0,
          if (value == 0) NoteWrite(descriptor, true))
WRAP_WITH(fsync, int, fdatasync, (int descriptor), (descriptor), -1, (void)0,
          if (value == 0) NoteWrite(descriptor, true))
WRAP_WITH(syncfs, int, syncfs, (int descriptor), (descriptor), -1, (void)0,
          if (value == 0) NoteAllSynced())
WRAP_WITH(ftruncate, int, ftruncate, (int descriptor, off_t size), (descriptor, size), -1, (void)0,
          NoteWrite(descriptor, false))
WRAP_WITH(ftruncate, int, ftruncate64, (int descriptor, off64_t size), (descriptor, size), -1,
          (void)0, NoteWrite(descriptor, false))
WRAP_WITH(fallocate, int, fallocate, (int descriptor, int mode, off_t offset, off_t size),
          (descriptor, mode, offset, size), -1, (void)0, NoteWrite(descriptor, false))
WRAP_WITH(fallocate, int, fallocate64, (int descriptor, int mode, off64_t offset, off64_t size),
          (descriptor, mode, offset, size), -1, (void)0, NoteWrite(descriptor, false))
WRAP_WITH(rename, int, rename, (const char* from, const char* to), (from, to), -1,
          NoteNaming(from, to), (void)0)
WRAP_WITH(renameat2, int, renameat2,
          (int from_folder, const char* from, int to_folder, const char* to, unsigned flags),
          (from_folder, from, to_folder, to, flags), -1,
          if (from_folder == AT_FDCWD) NoteNaming(from, to), (void)0)
WRAP_WITH(link, int, link, (const char* from, const char* to), (from, to), -1, NoteNaming(from, to),
          (void)0)
WRAP(unlink, int, unlink, (const char* path), (path), -1)
WRAP(unlink, int, unlinkat, (int folder, const char* path, int flags), (folder, path, flags), -1)
WRAP(stat, int, stat, (const char* path, struct stat* status), (path, status), -1)
WRAP(stat, int, stat64, (const char* path, struct stat64* status), (path, status), -1)
WRAP(lstat, int, lstat, (const char* path, struct stat* status), (path, status), -1)
WRAP(lstat, int, lstat64, (const char* path, struct stat64* status), (path, status), -1)
WRAP(fstat, int, fstat, (int descriptor, struct stat* status), (descriptor, status), -1)
WRAP(fstat, int, fstat64, (int descriptor, struct stat64* status), (descriptor, status), -1)
WRAP(statvfs, int, statvfs, (const char* path, struct statvfs* status), (path, status), -1)
WRAP(statvfs, int, statvfs64, (const char* path, struct statvfs64* status), (path, status), -1)
WRAP(access, int, access, (const char* path, int mode), (path, mode), -1)
WRAP(realpath, char*, realpath, (const char* path, char* resolved), (path, resolved), NULL)
WRAP(readlink, ssize_t, readlink, (const char* path, char* text, size_t size), (path, text, size),
     -1)
WRAP(flock, int, flock, (int descriptor, int operation), (descriptor, operation), -1)
WRAP(opendir, DIR*, opendir, (const char* path), (path), NULL)
WRAP(readdir, struct dirent*, readdir, (DIR * entries), (entries), NULL)
WRAP(readdir, struct dirent64*, readdir64, (DIR * entries), (entries), NULL)
WRAP_WITH(mkdir, int, mkdir, (const char* path, mode_t mode), (path, mode), -1, (void)0,
          if (value == 0) NoteName(path))
WRAP(chmod, int, fchmod, (int descriptor, mode_t mode), (descriptor, mode), -1)
WRAP(chmod, int, fchown, (int descriptor, uid_t owner, gid_t group), (descriptor, owner, group), -1)
WRAP(getrandom, ssize_t, getrandom, (void* data, size_t count, unsigned flags),
     (data, count, flags), -1)
WRAP(mmap, void*, mmap,
     (void* address, size_t size, int protection, int flags, int descriptor, off_t offset),
     (address, size, protection, flags, descriptor, offset), MAP_FAILED)
WRAP(mmap, void*, mmap64,
     (void* address, size_t size, int protection, int flags, int descriptor, off64_t offset),
     (address, size, protection, flags, descriptor, offset), MAP_FAILED)
WRAP(open, int, mkostemp, (char* pattern, int flags), (pattern, flags), -1)
WRAP(open, FILE*, fopen, (const char* path, const char* mode), (path, mode), NULL)
WRAP(open, FILE*, fopen64, (const char* path, const char* mode), (path, mode), NULL)
WRAP(open, int, creat, (const char* path, mode_t mode), (path, mode), -1)
WRAP(pthread_create, int, pthread_create,
     (pthread_t * thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument),
     (thread, attributes, start, argument), fault.value)

void sync(void) {
  static void (*next)(void);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "sync");
  next();
  NoteAllSynced();
}

/* These take their mode only where they create. */
#define WRAP_OPEN(name, parameters, arguments)                             \
  int name parameters {                                                    \
    mode_t mode = 0;                                                       \
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {      \
      va_list more;                                                        \
      va_start(more, flags);                                               \
      mode = va_arg(more, mode_t);                                         \
      va_end(more);                                                        \
    }                                                                      \
    static int(*next) parameters;                                          \
    if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name);            \
    const struct Fault fault = Meet(k_open);                               \
    if (fault.action == kFail) {                                           \
      errno = fault.value;                                                 \
      return -1;                                                           \
    }                                                                      \
    const int descriptor = next arguments;                                 \
    const int is_new = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL); \
    if (descriptor >= 0 && is_new) NoteName(path);                         \
    return descriptor;                                                     \
  }
WRAP_OPEN(open, (const char* path, int flags, ...), (path, flags, mode))
WRAP_OPEN(open64, (const char* path, int flags, ...), (path, flags, mode))
WRAP_OPEN(openat, (int folder, const char* path, int flags, ...), (folder, path, flags, mode))
WRAP_OPEN(openat64, (int folder, const char* path, int flags, ...), (folder, path, flags, mode))

/* dlsym may allocate: the allocator is called by its own names. */
static bool IsRefused(void) {
  const struct Fault fault = Meet(k_malloc);
  if (fault.action != kFail) return false;
  errno = fault.value;
  return true;
}

void* malloc(size_t size) { return IsRefused() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return IsRefused() ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return IsRefused() ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) {
  return IsRefused() ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** result, size_t alignment, size_t size) {
  void* const memory = IsRefused() ? NULL : __libc_memalign(alignment, size);
  if (memory == NULL) return ENOMEM;
  *result = memory;
  return 0;
}

static int (*real_main)(int, char**, char**);

static int CountFromHere(int count, char** arguments, char** environment) {
  if (!is_configured) Configure();
  is_counting = true;
  return real_main(count, arguments, environment);
}

int __libc_start_main(int (*main)(int, char**, char**), int count, char** arguments,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                      void* stack) {
  int (*next)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void),
              void (*)(void), void*);
  *(void**)&next = dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return next(CountFromHere, count, arguments, init, fini, rtld_fini, stack);
}
