// Builds directories under hidden names, and exchanges them with those that they replace.
//
// SPDX-License-Identifier: Apache-2.0
#include "files/system_output_directory.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "files/error.h"
#include "files/system.h"
#include "files/system_calls.h"
#include "files/system_directory.h"

namespace tensorcast::files {
namespace {

constexpr std::string_view kKeptEnding = ".kept";
// Each takes some milliseconds to be synced by itself; all together wait for what others write.
constexpr std::size_t kMostSyncedOneByOne = 64;

// The path that a name has, or would have, once links are followed up to its last part.
std::string ResolvedName(const std::string& path) {
  const auto [directory, name] = SplitPath(path);
  const std::string resolved = ResolvedPath(directory);
  return resolved.empty() ? resolved : Joined(resolved, name);
}

// What stands at the output's name: nothing, or a directory that is to be replaced.
void CheckDirectoryName(const std::string& path, const CreateOptions& options) {
  FileStatus status;
  if (!OwnStatus(path, &status)) {
    if (errno == ENOENT) return;
    ThrowSystem(path, "cannot be accessed", errno);
  }
  if (status.kind != FileKind::kDirectory && !status.is_link) {
    throw Error(core::ErrorKind::kArguments,
                words::PathText(path) + ": the output, which is to be a directory, is " +
                    std::string(KindText(status.kind)) + "; name a directory that is not there yet",
                path);
  }
  if (!options.overwrite) {
    ThrowTaken(path, "the output exists; name another directory");
  }
}

[[noreturn]] void FailAppeared(const std::string& path) {
  ThrowTaken(path, "the output appeared while it was written; name another directory");
}

using FileNumber = std::optional<std::pair<std::uint64_t, std::uint64_t>>;
FileNumber NumberOf(const std::string& path, bool (*look)(const std::string&, FileStatus*)) {
  FileStatus status;
  if (!look(path, &status)) return {};
  return std::pair(status.device, status.number);
}

// The names in a directory that `is_one` says it of, in their order. Where the directory is not
// readable nothing can be seen.
template <class IsOne>
std::vector<std::string> NamesIn(const std::string& directory, IsOne is_one) {
  std::vector<std::string> found;
  ForEachName(directory, [&](std::string_view name) {
    if (is_one(name)) found.emplace_back(name);
    return true;
  });
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

// ------------------------------------------------------------------------- StagingDirectory

StagingDirectory::StagingDirectory(const std::string& output, std::size_t files,
                                   unsigned permissions)
    : output_(output), parent_(SplitPath(output).first) {
  const std::string prefix = TemporaryPrefix(SplitPath(output).second);
  RemoveStale(parent_, prefix, notes_);
  Create(prefix, permissions);
  syncs_files_ = files > kMostSyncedOneByOne && CanSyncTogether(lock_);
}

StagingDirectory::StagingDirectory(const std::string& output, const std::string& path, Lasting as,
                                   unsigned permissions)
    : output_(output),
      parent_(SplitPath(output).first),
      path_(path),
      stays_(true),
      is_begun_(as != Lasting::kNew) {
  if (as == Lasting::kNew && !MakeDirectory(path, permissions)) {
    ThrowWrite(output, "cannot be created in " + words::PathText(SplitPath(path).first), errno);
  }
  lock_ = OpenLockOfBuilt(path);
  if (lock_ < 0) ThrowSystem(path, "cannot be opened", errno);
}

StagingDirectory::~StagingDirectory() {
  if (!path_.empty() && !stays_) {
    RemoveBuilt(path_, lock_);
  } else if (lock_ >= 0) {
    Close(lock_);
  }
}

void StagingDirectory::Create(const std::string& prefix, unsigned permissions) {
  constexpr int kMostTries = 16;
  int error = EEXIST;
  for (int i = 0; i < kMostTries; ++i) {
    std::string path = Joined(parent_, TemporaryName(prefix));
    if (!MakeDirectory(path, permissions)) {
      error = errno;
      if (error == EEXIST) continue;
      break;
    }
    Descriptor lock(OpenLockOfBuilt(path));
    error = errno;
    if (lock.get() < 0) {
      if (error == ENOENT) continue;  // another run took it for a stale one
      RemoveTree(path);
      break;
    }
    const bool lockable = Lock(lock.get()) || errno != EWOULDBLOCK;
    // The same before it was locked.
    if (lockable && IsStillLocked(path, lock.get())) {
      path_ = std::move(path);  // a copy might find no memory, and leave the directory
      lock_ = lock.Release();
      return;
    }
    RemoveTree(path);
    error = EAGAIN;
  }
  ThrowWrite(output_, "cannot be created in " + words::PathText(parent_), error);
}

Staging StagingDirectory::ForFiles(const std::string& below) const {
  Staging staging;
  staging.directory = below.empty() ? path_ : Joined(path_, below);
  staging.stays = stays_;
  staging.syncs_files = syncs_files_;
  staging.closes_files = true;
  return staging;
}

void StagingDirectory::Add(const std::string& relative, unsigned permissions,
                           const std::string& like) {
  const std::string path = Joined(path_, relative);
  FileStatus replaced;
  const bool is_like = OwnStatus(like, &replaced) && replaced.kind == FileKind::kDirectory;
  if (!is_begun_ && !MakeDirectory(path, is_like ? kOwnersAlone : permissions)) {
    ThrowWrite(Joined(output_, relative), "cannot be created", errno);
  }
  std::optional<unsigned> taken;
  if (is_like && (!stays_ || is_begun_)) {
    const Descriptor made(OpenDirectory(path));
    if (made.get() < 0) ThrowWrite(Joined(output_, relative), "cannot be opened", errno);
    taken = TakeAccess(made.get(), replaced);
  }
  added_.emplace_back(relative, taken);
}

void StagingDirectory::TakeAccessOf(const std::string& replaced) {
  FileStatus status;
  if (ReadStatus(replaced, &status) && status.kind == FileKind::kDirectory) {
    permissions_ = TakeAccess(lock_, status);
  }
}

void StagingDirectory::Sync() {
  const auto fail = [&](const std::string& relative) {
    ThrowWrite(relative.empty() ? output_ : Joined(output_, relative),
               "could not be synced to its disk", errno);
  };
  const auto sync = [&](const std::string& relative, const std::optional<unsigned>& permissions) {
    if (syncs_files_ && !permissions) return;
    const Descriptor descriptor(OpenDirectory(relative.empty() ? path_ : Joined(path_, relative)));
    if (descriptor.get() < 0) fail(relative);
    if (permissions) SetPermissions(descriptor.get(), *permissions);
    if (!syncs_files_ && !SyncDirectory(descriptor.get())) fail(relative);
  };
  // The directories below come first: they may be closed to us later.
  for (std::size_t i = added_.size(); i-- > 0;) sync(added_[i].first, added_[i].second);
  sync("", permissions_);
  if (syncs_files_ && !SyncTogether(lock_)) fail("");
}

void StagingDirectory::SyncNames(const std::string& named) const {
  files::SyncNames(named, parent_);
}

bool StagingDirectory::MoveTo(const std::string& path) {
  std::string moved = path;
  if (!RenameNewDirectory(path_, path, lock_)) return false;
  path_ = std::move(moved);
  return true;
}

// -------------------------------------------------------------------------- OutputDirectory

void CheckOutputDirectory(const std::string& given, const std::string& input, std::uint64_t bytes,
                          const CreateOptions& options, const WhyKept& why_kept) {
  RefuseNul(given);
  const std::string path = WithoutSlashes(given);
  const auto [parent, name] = SplitPath(path);
  if (name.empty() || name == "." || name == "..") {
    throw Error(core::ErrorKind::kArguments,
                words::PathText(path) + ": name the directory that is to be made, not its place",
                path);
  }
  // They are compared by where they lead, so that no link makes one a part of the other.
  const std::string from = ResolvedPath(input);
  for (const std::string& to : {ResolvedName(path), ResolvedPath(path)}) {
    if (to.empty() || from.empty()) continue;
    const std::string_view relation = to == from          ? "is"
                                      : IsBelow(to, from) ? "is in"
                                      : IsBelow(from, to) ? "holds"
                                                          : "";
    if (relation.empty()) continue;
    throw Error(core::ErrorKind::kArguments,
                words::PathText(path) + ": the output " + std::string(relation) + " the input " +
                    words::PathText(input) + "; name a directory elsewhere",
                path);
  }
  CheckDirectoryName(path, options);
  // What is read may lie elsewhere: a cache's files do.
  if (const std::string to = ResolvedPath(path); !to.empty()) {
    for (const std::string& file : options.inputs) {
      if (!IsBelow(ResolvedPath(file), to)) continue;
      throw Error(core::ErrorKind::kArguments,
                  words::PathText(path) + ": the output holds the input " + words::PathText(file) +
                      "; name a directory elsewhere",
                  path);
    }
  }
  CheckWritable(path, parent);
  if (options.begun.empty()) {
    CheckFreeSpace(path, parent, "the output", bytes, std::string(kRoomRemedy));
  }
  if (const std::string why = IsDirectory(path) ? why_kept(path) : std::string(); !why.empty()) {
    throw Error(core::ErrorKind::kArguments,
                words::PathText(path) + ": " + why +
                    ", so it is not replaced; name another directory, or " + "remove it",
                path);
  }
}

void CheckBegunDirectory(const std::string& path, const CreateOptions& options) {
  const std::string& begun = options.begun;
  const auto [parent, name] = SplitPath(WithoutSlashes(path));
  const auto [directory, hidden] = SplitPath(begun);
  const auto refuse = [&](const std::string& why) {
    throw Error(core::ErrorKind::kContents,
                words::PathText(begun) + ": " + why + "; expected an output begun for " +
                    words::PathText(path),
                begun);
  };
  const std::string& staging = options.staging.directory;
  if (staging.empty() ? directory != parent || !IsTemporary(hidden, TemporaryPrefix(name))
                      : directory != staging || hidden != name) {
    refuse("does not have the name of a temporary directory");
  }
  FileStatus status;
  if (!OwnStatus(begun, &status)) {
    throw Error(core::ErrorKind::kSystem,
                words::PathText(begun) + ": cannot be opened: " + ReasonText(errno) +
                    "; the process that began it may have ended",
                begun);
  }
  if (status.is_link || status.kind != FileKind::kDirectory) refuse("is not a directory");
}

namespace {

StagingDirectory StagingOf(const std::string& path, const std::string& input, std::size_t files,
                           const CreateOptions& options) {
  if (!options.begun.empty()) {
    CheckBegunDirectory(path, options);
    return StagingDirectory(path, options.begun, StagingDirectory::Lasting::kTaken);
  }
  const unsigned permissions =
      IsDirectory(path) ? kOwnersAlone : PermissionsOfOutput(path, {&input, 1});
  if (!options.staging.stays) return StagingDirectory(path, files, permissions);
  return StagingDirectory(path, Joined(options.staging.directory, SplitPath(path).second),
                          StagingDirectory::Lasting::kNew, permissions);
}

}  // namespace

OutputDirectory::OutputDirectory(const std::string& path, const std::string& input,
                                 std::uint64_t bytes, std::size_t files,
                                 const CreateOptions& options, WhyKept why_kept,
                                 std::function<void()> wait)
    : input_number_(NumberOf(input, ReadStatus)),
      checked_(options.overwrite ? NumberOf(WithoutSlashes(path), OwnStatus) : std::nullopt),
      path_((CheckOutputDirectory(path, input, bytes, options, why_kept), WithoutSlashes(path))),
      parent_(SplitPath(path_).first),
      input_(input),
      overwrite_(options.overwrite),
      why_kept_(std::move(why_kept)),
      wait_(std::move(wait)),
      staging_(StagingOf(path_, input, files, options)),
      doomed_(staging_.path()),
      aside_(doomed_ + std::string(kAsideEnding)) {
  RemoveReplaced();
  if (!checked_) return;
  if (!options.staging.stays || options.takes_begun) staging_.TakeAccessOf(path_);
  if (FileStatus status; OwnStatus(path_, &status) && !status.is_link) held_ = OpenName(path_);
}

OutputDirectory::~OutputDirectory() {
  if (held_ >= 0) Close(held_);
}

void OutputDirectory::Add(const std::string& relative) {
  const std::string from = Joined(input_, relative);
  staging_.Add(relative, PermissionsOfOutput(Joined(staging_.path(), relative), {&from, 1}),
               Joined(path_, relative));
}

std::vector<std::string> OutputDirectory::notes() const {
  std::vector<std::string> notes = staging_.notes();
  notes.insert(notes.end(), notes_.begin(), notes_.end());
  return notes;
}

// What runs left that were killed while a directory that they replaced had its hidden name: gone
// for good only where it may be, and where something has taken its place.
void OutputDirectory::RemoveReplaced() {
  const std::string prefix = TemporaryPrefix(SplitPath(path_).second);
  const auto is_aside = [&](std::string_view name) {
    return name.ends_with(kAsideEnding) &&
           IsTemporary(name.substr(0, name.size() - kAsideEnding.size()), prefix);
  };
  if (NamesIn(parent_, is_aside).empty()) return;
  const DirectoryLock lock(path_, wait_);  // who has one there is at work
  for (const std::string& name : NamesIn(parent_, is_aside)) {
    const std::string place = Joined(parent_, name);
    FileStatus there;
    FileStatus aside;
    std::string why = "nothing stands there now";
    if (OwnStatus(path_, &there)) {
      try {
        why = !OwnStatus(place, &aside)            ? "it cannot be accessed"
              : aside.is_link                      ? ""
              : aside.kind != FileKind::kDirectory ? "is " + std::string(KindText(aside.kind))
                                                   : why_kept_(place);
      } catch (const Error& error) {
        why = error.what();
      }
    }
    if (why.empty() && RemoveTree(place)) {
      notes_.push_back("removed " + words::PathText(place) + ", left by a run that was killed");
    } else {
      notes_.push_back(words::PathText(place) + " stood at " + words::PathText(path_) +
                       " when a run was killed, and is not removed" +
                       (why.empty() ? "" : ": " + why));
    }
  }
}

// Why what stands at the output's name now, or at the hidden one, is not replaced.
std::string OutputDirectory::WhyNow(const std::string& place) const {
  FileStatus there;
  if (!OwnStatus(place, &there)) ThrowSystem(place, "cannot be accessed", errno);
  const std::pair number(there.device, there.number);
  if (input_number_ == number) return "the input has taken this name since the run began";
  if (checked_ ? *checked_ != number : there.is_link) {
    return "another " + std::string(there.kind == FileKind::kDirectory ? "directory" : "file") +
           " has taken this name since the run began";
  }
  if (there.is_link) return {};
  if (there.kind != FileKind::kDirectory) return "is " + std::string(KindText(there.kind));
  return why_kept_(place);
}

void OutputDirectory::FailKept(const std::string& why) const {
  throw Error(core::ErrorKind::kArguments,
              words::PathText(path_) + ": " + why + ", so it is not replaced; nothing was written",
              path_);
}

// What had taken the name could not be given it back; nobody is to remove it.
void OutputDirectory::FailStranded(int error) const {
  const std::string kept = doomed_ + std::string(kKeptEnding);
  const bool is_renamed = RenameNewDirectory(aside_, kept, staging_.lock());
  ThrowSystem(path_,
              "what had taken this name is now " + words::PathText(is_renamed ? kept : aside_) +
                  ", and could not be put back",
              error);
}

void OutputDirectory::Commit() {
  constexpr int kMostTries = 16;
  {
    const DirectoryLock lock(path_, wait_);
    // Other programs may take the name, or give it up, between a look and a step.
    for (int i = 0;; ++i) {
      FileStatus there;
      const bool is_there = overwrite_ && OwnStatus(path_, &there);
      if (overwrite_ && !is_there && errno != ENOENT) {
        ThrowSystem(path_, "cannot be accessed", errno);
      }
      if (is_there) {
        if (const std::string why = WhyNow(path_); !why.empty()) FailKept(why);
        if (TryExchange()) break;
      } else {
        if (RenameNewDirectory(staging_.path(), path_, staging_.lock())) break;
        const int error = errno;
        const bool is_taken = error == EEXIST || error == ENOTEMPTY || error == ENOTDIR;
        if (!is_taken) {
          ThrowWrite(path_, "the finished directory could not be given its name", error);
        }
        if (!overwrite_) FailAppeared(path_);
      }
      if (i == kMostTries) FailAppeared(path_);
    }
    staging_.Leave();
  }
  Finish();
}

// The two change their names. False where nothing stood there any more.
bool OutputDirectory::TryExchange() {
  // First a name which nobody removes who has not looked at what stands there.
  if (!staging_.MoveTo(aside_)) {
    ThrowWrite(path_, "the finished directory could not be given its name", errno);
  }
  const bool is_done = Exchange(aside_, path_);
  const int error = errno;
  // A server that was asked twice for what it has done already says that it failed.
  if (!is_done && !IsStillNamed(path_, staging_.lock())) {
    if (!staging_.MoveTo(doomed_)) {
      ThrowWrite(path_, "the finished directory could not be given its name", errno);
    }
    if (error == ENOENT) return false;
    if (error == ENOSYS) return TryMoveAside();
    ThrowWrite(path_, "could not be exchanged with the finished directory", error);
  }
  try {
    if (const std::string why = WhyNow(aside_); !why.empty()) FailKept(why);
  } catch (...) {
    if (!Exchange(aside_, path_)) {
      const int why = errno;
      if (!IsStillNamed(aside_, staging_.lock())) {
        staging_.Leave();
        FailStranded(why);
      }
    }
    staging_.MoveTo(doomed_);
    throw;
  }
  has_replaced_ = true;
  return true;
}

// The same where the file system has no exchange: what stands there is moved first.
bool OutputDirectory::TryMoveAside() {
  if (held_ >= 0) Close(std::exchange(held_, -1));  // which may stand in the way
  FileStatus there;
  if (!Rename(path_, aside_)) {
    const int error = errno;
    if (!OwnStatus(aside_, &there)) {  // else it was moved all the same
      if (error == ENOENT) return false;
      ThrowWrite(path_, "could not be moved aside", error);
    }
  }
  try {
    if (const std::string why = WhyNow(aside_); !why.empty()) FailKept(why);
    if (!RenameNewDirectory(staging_.path(), path_, staging_.lock())) {
      ThrowWrite(path_, "the finished directory could not be given its name", errno);
    }
  } catch (...) {
    if (!RenameNewDirectory(aside_, path_, staging_.lock())) {
      const int error = errno;
      if (OwnStatus(aside_, &there)) FailStranded(error);
    }
    throw;
  }
  has_replaced_ = true;
  return true;
}

// The new directory stands.
void OutputDirectory::Finish() {
  const Descriptor parent(OpenDirectory(parent_));
  if (parent.get() >= 0 && !SyncDirectory(parent.get())) {
    const int error = errno;
    ThrowWrite(
        path_,
        "was written, but its directory could not be synced" +
            (has_replaced_ ? "; what it replaced is kept in " + words::PathText(aside_) : ""),
        error);
  }
  if (!has_replaced_) return;
  if (held_ >= 0) Close(std::exchange(held_, -1));
  // Under this name whoever comes may go on removing it.
  FileStatus still;
  const bool is_moved = Rename(aside_, doomed_) || !OwnStatus(aside_, &still);
  const std::string& place = is_moved ? doomed_ : aside_;
  if (!RemoveTree(place)) {
    notes_.push_back("the directory that was replaced could not be removed: " +
                     words::PathText(place) + ": " + ReasonText(errno));
  }
}

}  // namespace tensorcast::files
