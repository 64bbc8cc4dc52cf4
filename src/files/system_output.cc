// Files that are written beside their final name.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "files/error.h"
#include "files/system.h"
#include "files/system_calls.h"
#include "files/system_directory.h"

namespace tensorcast::files {
namespace {

constexpr std::uint64_t kLargestSmall = std::uint64_t{1} << 20;

// Bytes of a file that begin to go to its disk together.
constexpr std::uint64_t kSyncedAtOnce = std::uint64_t{4} << 20;

// What stands under the output's name must not be an input, by any name, and nothing that is not a
// file; that it exists is said last.
void CheckName(const std::string& path, const CreateOptions& options) {
  const auto [directory, name] = SplitPath(path);
  if (name.empty() || name == "." || name == "..") {
    ThrowDirectory(core::ErrorKind::kArguments, path, "the output is a directory; name a file");
  }
  FileStatus link;
  if (!OwnStatus(path, &link)) {
    if (errno == ENOENT) return;
    ThrowSystem(path, "cannot be accessed", errno);
  }
  FileStatus target;
  const bool has_target = ReadStatus(path, &target);
  if (has_target) {
    for (const std::string& input : options.inputs) {
      FileStatus other;
      if (ReadStatus(input, &other) && IsSameFile(target, other)) {
        throw Error(core::ErrorKind::kArguments,
                    words::PathText(path) + ": the output is the input " + words::PathText(input) +
                        "; name another file",
                    path);
      }
    }
    if (target.kind == FileKind::kDirectory) {
      ThrowDirectory(core::ErrorKind::kArguments, path, "the output is a directory; name a file");
    }
    if (target.kind != FileKind::kFile) {
      throw Error(core::ErrorKind::kArguments,
                  words::PathText(path) + ": the output is " + std::string(KindText(target.kind)) +
                      "; name a file",
                  path);
    }
  } else if (!link.is_link) {
    ThrowSystem(path, "cannot be accessed", errno);
  }
  if (!options.overwrite) {
    ThrowTaken(path, std::string("the output exists") +
                         (has_target ? "" : " (a symbolic link to nothing)") +
                         "; name another file");
  }
}

}  // namespace

// A temporary file is held under a lock as long as its process lives: one whose lock is free was
// left by a process that was killed.
void ForEachStale(const std::string& path, const std::function<void(const std::string&)>& use) {
  const auto [directory, file] = SplitPath(path);
  for (const std::string& name : TemporaryNames(directory, TemporaryPrefix(file))) {
    const std::string temporary = Joined(directory, name);
    const Descriptor descriptor(OpenTemporary(temporary));
    FileStatus status;
    if (descriptor.get() >= 0 && ReadStatus(descriptor.get(), &status) &&
        status.kind == FileKind::kFile && Lock(descriptor.get()) &&
        IsStillNamed(temporary, descriptor.get())) {
      use(temporary);
    }
  }
}

void CheckOutput(const std::string& path, std::uint64_t bytes, const CreateOptions& options) {
  RefuseNul(path);
  CheckName(path, options);
  if (bytes > static_cast<std::uint64_t>(INT64_MAX)) {
    throw Error(core::ErrorKind::kSystem,
                words::PathText(path) + ": the output takes " + words::CountText(bytes, "byte") +
                    ", more than any file holds",
                path);
  }
  const std::string directory = SplitPath(path).first;
  CheckWritable(path, directory);
  CheckSizeLimit(path, "the output", bytes);
  if (!options.begun.empty()) return;  // it has its room
  CheckFreeSpace(path, directory, "the output", bytes, std::string(kRoomRemedy));
}

OutputFile::OutputFile(const std::string& path, std::uint64_t bytes, const CreateOptions& options,
                       const std::string& owner)
    : path_(path),
      staging_(options.staging),
      directory_(staging_.directory.empty() ? SplitPath(path).first : staging_.directory),
      overwrite_(options.overwrite) {
  if (!options.begun.empty()) {
    OpenBegun(options.begun, bytes, options.takes_begun);
    if (options.takes_begun) {
      NoteInputs(options);
      if (overwrite_ || staging_.holds_parts) TakeAccessOf(path);
      temporary_ = std::exchange(begun_, {});
    }
    if (staging_.closes_files) CloseUntilUsed();
    return;
  }
  NoteInputs(options);
  if (staging_.holds_parts) {
    CheckSizeLimit(path, "the output", bytes);
  } else {
    CheckOutput(path, bytes, options);
  }
  const std::string& model = owner.empty() ? path : owner;
  const bool is_like_another =
      (overwrite_ || staging_.holds_parts || !owner.empty()) && IsFile(model);
  unsigned permissions = kOwnersAlone;
  if (!is_like_another) {
    permissions =
        options.permissions
            ? *options.permissions
            : PermissionsOfOutput(Joined(directory_, SplitPath(path).second), options.inputs);
  }
  if (staging_.directory.empty()) {
    const std::string prefix = TemporaryPrefix(SplitPath(model).second);
    if (owner.empty()) RemoveStale(directory_, prefix, notes_);
    CreateTemporary(prefix, permissions);
  } else {
    CreateStaged(permissions);
  }
  try {
    // One that stays must be opened again: it gets them when it is complete.
    if (is_like_another && !staging_.stays) TakeAccessOf(model);
    Reserve(bytes);
    if (staging_.closes_files) CloseUntilUsed();
  } catch (...) {
    Discard();
    throw;
  }
}

void OutputFile::NoteInputs(const CreateOptions& options) {
  if (!overwrite_) return;
  for (const std::string& input : options.inputs) {
    if (FileStatus status; ReadStatus(input, &status)) {
      inputs_.emplace_back(status.device, status.number);
    }
  }
}

void OutputFile::TakeAccessOf(const std::string& replaced) {
  FileStatus status;
  if (ReadStatus(replaced, &status) && status.kind == FileKind::kFile) {
    permissions_ = TakeAccess(descriptor_, status);
  }
}

void OutputFile::CloseUntilUsed() {
  FileStatus own;
  if (!ReadStatus(descriptor_, &own)) ThrowWrite(path_, "cannot be accessed", errno);
  number_ = {own.device, own.number};
  Close(std::exchange(descriptor_, -1));
}

OutputFile::~OutputFile() { Discard(); }

void OutputFile::Leave() noexcept { temporary_.clear(); }

void OutputFile::Discard() noexcept {
  if (!temporary_.empty() && !staging_.stays) files::Remove(temporary_);
  temporary_.clear();
  if (descriptor_ >= 0) Close(std::exchange(descriptor_, -1));
}

void OutputFile::CreateTemporary(const std::string& prefix, unsigned permissions) {
  constexpr int kMostTries = 16;
  int error = EEXIST;
  for (int i = 0; i < kMostTries; ++i) {
    std::string path = directory_ + '/' + TemporaryName(prefix);
    Descriptor descriptor(files::CreateTemporary(path, permissions));
    if (descriptor.get() < 0) {
      error = errno;
      if (error == EEXIST) continue;
      break;
    }
    const bool lockable = Lock(descriptor.get()) || errno != EWOULDBLOCK;
    // Another run may have taken the file for a stale one before it was locked.
    if (lockable && IsStillNamed(path, descriptor.get())) {
      temporary_ = std::move(path);  // a copy might find no memory, and leave the file
      descriptor_ = descriptor.Release();
      return;
    }
    files::Remove(path);
    error = EAGAIN;
  }
  ThrowWrite(path_, "cannot be created in " + words::PathText(directory_), error);
}

bool OutputFile::IsContested() const {
  const std::string prefix = TemporaryPrefix(SplitPath(path_).second);
  const std::string own = SplitPath(temporary_).second;
  bool is_found = false;
  ForEachName(directory_, [&](std::string_view name) {
    is_found = IsTemporary(name, prefix) && name != own;
    return !is_found;
  });
  return is_found;
}

// The directory is held under a lock: its files need none.
void OutputFile::CreateStaged(unsigned permissions) {
  std::string path = Joined(directory_, SplitPath(path_).second);
  descriptor_ = files::CreateTemporary(path, permissions);
  if (descriptor_ < 0) ThrowWrite(path_, "cannot be created", errno);
  temporary_ = std::move(path);
}

template <class Use> void OutputFile::WithDescriptor(Use use) const {
  if (descriptor_ >= 0) return use(descriptor_);
  const Descriptor opened(begun_.empty() ? OpenTemporary(temporary_) : OpenShared(begun_));
  if (opened.get() < 0) ThrowWrite(path_, "cannot be opened again", errno);
  use(opened.get());
}

// Only what a run left unnamed beside this output, or in the directory of the staging: the name may
// come from anybody.
void OutputFile::OpenBegun(const std::string& begun, std::uint64_t bytes, bool takes) {
  const auto [directory, name] = SplitPath(begun);
  const auto refuse = [&](const std::string& why) {
    throw Error(core::ErrorKind::kContents,
                words::PathText(begun) + ": " + why + "; expected an output of " +
                    words::CountText(bytes, "byte") + " begun for " + words::PathText(path_),
                begun);
  };
  const std::string final_name = SplitPath(path_).second;
  const bool is_named = staging_.directory.empty() ? IsTemporary(name, TemporaryPrefix(final_name))
                                                   : name == final_name;
  if (directory != directory_ || !is_named) refuse("does not have the name of a temporary file");
  Descriptor descriptor(takes ? OpenTemporary(begun) : OpenShared(begun));
  FileStatus status;
  if (descriptor.get() < 0 || !ReadStatus(descriptor.get(), &status)) {
    throw Error(core::ErrorKind::kSystem,
                words::PathText(begun) + ": cannot be opened: " + ReasonText(errno) +
                    "; the process that began it may have ended",
                begun);
  }
  if (status.kind != FileKind::kFile) refuse("is not a regular file");
  if (status.bytes != bytes) refuse("has " + words::CountText(status.bytes, "byte"));
  begun_ = begun;
  descriptor_ = descriptor.Release();
}

// What goes on where the process that began the file has ended, or has taken another for dead,
// writes nothing more to it: it may have its name, and the inputs may be others by now.
void OutputFile::CheckBegun(int descriptor) const {
  if (IsStillNamed(begun_, descriptor)) return;
  throw Error(core::ErrorKind::kSystem,
              words::PathText(begun_) +
                  ": is not there any more: the process that began it has ended, or has given it "
                  "its name; nothing more is written to it",
              begun_);
}

void OutputFile::Reserve(std::uint64_t bytes) {
  // The blocks of many small files are found together, when they are synced.
  if (staging_.syncs_files && bytes <= kLargestSmall) return Truncate(bytes);
  if (bytes != 0 && !files::Reserve(descriptor_, bytes)) {
    ThrowWrite(path_,
               "the room for its " + words::CountText(bytes, "byte") + " could not be reserved",
               errno);
  }
}

void OutputFile::Write(std::uint64_t offset, std::span<const std::byte> data) {
  if (data.empty()) return;
  WithDescriptor([&](int descriptor) {
    if (!begun_.empty()) CheckBegun(descriptor);
    has_unsynced_ = true;
    while (!data.empty()) {
      const std::int64_t put = WriteAt(descriptor, offset, data);
      if (put < 0) {
        ThrowWrite(path_, "cannot be written at offset " + std::to_string(offset), errno);
      }
      const std::uint64_t begun = offset / kSyncedAtOnce;
      offset += static_cast<std::uint64_t>(put);
      data = data.subspan(static_cast<std::size_t>(put));
      // The disk works while the rest is made; what another thread is late with goes in Sync.
      const std::uint64_t ended = offset / kSyncedAtOnce - begun;
      if (ended != 0) StartSyncing(descriptor, begun * kSyncedAtOnce, ended * kSyncedAtOnce);
    }
  });
}

void OutputFile::Truncate(std::uint64_t bytes) {
  WithDescriptor([&](int descriptor) {
    if (!Cut(descriptor, bytes)) {
      ThrowWrite(path_, "cannot be cut to " + words::CountText(bytes, "byte"), errno);
    }
  });
}

void OutputFile::Read(std::uint64_t offset, std::span<std::byte> out) const {
  WithDescriptor(
      [&](int descriptor) { ReadFully(descriptor, path_, offset + out.size(), offset, out); });
}

void OutputFile::Commit() {
  Sync();
  if (!Name()) FailTaken();
  SyncDirectory();
}

void OutputFile::Sync() {
  if (synced_) return;
  WithDescriptor([&](int descriptor) {
    if (permissions_) SetPermissions(descriptor, *permissions_);
    if (!staging_.syncs_files && !SyncFile(descriptor)) {
      ThrowWrite(path_, "could not be synced to its disk", errno);
    }
  });
  synced_ = true;
}

void OutputFile::SyncPart() {
  if (!has_unsynced_.exchange(false)) return;
  WithDescriptor([&](int descriptor) {
    if (!SyncFile(descriptor)) ThrowWrite(path_, "could not be synced to its disk", errno);
    // What was read here around it would go back with it on NFS, were more written by this machine.
    if (begun_.empty() && !staging_.stays) DropCached(descriptor);
  });
}

// Whether the name is that of this file.
bool OutputFile::HasName() const {
  if (descriptor_ >= 0) return IsStillNamed(path_, descriptor_);
  FileStatus named;
  return OwnStatus(path_, &named) && std::pair(named.device, named.number) == number_;
}

bool OutputFile::Name() {
  if (staging_.holds_parts) {  // it has it in the directory
    if (descriptor_ >= 0) Close(std::exchange(descriptor_, -1));
    temporary_.clear();
    return true;
  }
  FileStatus there;
  if (!inputs_.empty() && ReadStatus(path_, &there) &&
      std::find(inputs_.begin(), inputs_.end(), std::pair(there.device, there.number)) !=
          inputs_.end()) {
    throw Error(core::ErrorKind::kArguments,
                words::PathText(path_) +
                    ": an input has taken this name since the run began, so it is " +
                    "not replaced; name another file",
                path_);
  }
  // If two runs write one output, the second must fail here and not replace the first one's.
  const bool named = overwrite_ ? Rename(temporary_, path_) : RenameNew(temporary_, path_);
  int error = named ? 0 : errno;
  // A server that was asked twice for what it has done already says that it failed.
  if (error != 0 && HasName()) {
    files::Remove(temporary_);  // a second name; where that fails the next run removes it
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

bool OutputFile::Unname() noexcept { return !HasName() || files::Remove(path_); }

void OutputFile::SyncDirectory() const {
  if (staging_.directory.empty()) SyncNames(path_, directory_);
}

void OutputFile::FailTaken() const {
  ThrowTaken(path_, "the output appeared while it was written; name another file");
}

}  // namespace tensorcast::files
