// A lock's file first, then the output and its journals, the head last: a directory without a head
// is one in which nothing was prepared.
//
// SPDX-License-Identifier: Apache-2.0
#include "files/system_work_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "core/little_endian.h"
#include "files/digest.h"
#include "files/error.h"
#include "files/system.h"
#include "files/system_calls.h"
#include "files/system_directory.h"
#include "files/text_output.h"

namespace tensorcast::files {
namespace {

constexpr std::string_view kWorkEnding = ".partial";
constexpr std::string_view kWorkLock = "lock";
constexpr std::string_view kHead = "work.json";
constexpr std::string_view kOutput = "output";
constexpr std::string_view kJournalEnding = ".journal";
constexpr std::uint64_t kMostHeadBytes = std::uint64_t{1} << 28;
constexpr std::uint64_t kMostEntryBytes = std::uint64_t{1} << 30;

// In front of an entry: its length and its digest, the lowest byte first.
constexpr std::size_t kEntryHead = 16;

bool IsOwn(std::string_view name) {
  return name == kWorkLock || name == kHead || name == kOutput || name.ends_with(kJournalEnding) ||
         IsTemporary(name, TemporaryPrefix(std::string(kHead)));
}

std::uint64_t DigestOfEntry(std::span<const std::byte> entry) {
  return XXH3_64bits(entry.data(), entry.size());
}

// Calls use(entry, end) of each, up to the first that is not whole; returns where that begins.
template <class Use>
std::uint64_t ReadEntries(int descriptor, const std::string& path, std::uint64_t size, Use use) {
  std::vector<std::byte> entry;
  std::uint64_t at = 0;
  while (size - at >= kEntryHead) {
    std::array<std::byte, kEntryHead> head{};
    ReadFully(descriptor, path, size, at, head);
    const std::uint64_t length = core::LoadLittle(head.data(), 8);
    if (length > kMostEntryBytes || length > size - at - kEntryHead) break;
    entry.resize(static_cast<std::size_t>(length));
    ReadFully(descriptor, path, size, at + kEntryHead, entry);
    if (DigestOfEntry(entry) != core::LoadLittle(head.data() + 8, 8)) break;
    use(std::span<const std::byte>(entry));
    at += kEntryHead + length;
  }
  return at;
}

[[noreturn]] void FailForeign(const std::string& path, const std::string& why) {
  throw Error(
      core::ErrorKind::kArguments,
      words::PathText(path) + ": " + why + ", so the run cannot be kept there; move it away", path);
}

[[noreturn]] void FailNothingBegun(const std::string& path) {
  throw Error(
      core::ErrorKind::kArguments,
      words::PathText(path) + ": no part of this output has been begun there; run the parts first",
      path);
}

}  // namespace

std::string WorkDirectory::PathOf(const std::string& output) {
  return WithoutSlashes(output) + std::string(kWorkEnding);
}

WorkDirectory::WorkDirectory(const std::string& output, Use use, const std::function<void()>& wait)
    : output_(WithoutSlashes(output)), path_(PathOf(output)) {
  constexpr std::chrono::milliseconds kBetweenTries(100);
  constexpr int kMostTries = 24 * 36'000;  // a day: to prepare may be to read all inputs
  for (int i = 0; !TryOpen(use); ++i) {
    if (use != Use::kShared || i == kMostTries) {
      throw Error(
          core::ErrorKind::kArguments,
          words::PathText(path_) + ": another run is at work there; wait until it has ended",
          path_);
    }
    wait();
    std::this_thread::sleep_for(kBetweenTries);
  }
}

// False where another has it.
bool WorkDirectory::TryOpen(Use use) {
  constexpr int kMostLost = 20;
  const bool is_shared = use == Use::kShared;
  if (use != Use::kStanding && !MakeDirectory(path_, kOwnersAlone) && errno != EEXIST) {
    ThrowWrite(path_, "cannot be created", errno);
  }
  FileStatus status;
  if (!OwnStatus(path_, &status)) {
    if (use == Use::kStanding && errno == ENOENT) FailNothingBegun(path_);
    ThrowSystem(path_, "cannot be accessed", errno);
  }
  if (status.kind != FileKind::kDirectory || status.is_link) {
    FailForeign(path_,
                "is " + (status.is_link ? "a symbolic link" : std::string(KindText(status.kind))));
  }
  std::string first, foreign;
  ForEachName(path_, [&](std::string_view name) {
    first = name;
    if (!IsOwn(name)) foreign = name;
    return foreign.empty();
  });
  if (!foreign.empty()) FailForeign(path_, "holds " + words::PathText(foreign));
  // Ours it is where a lock is, which comes first. Who removes it moves the directory away before.
  const std::string file = Joined(path_, kWorkLock);
  if (FileStatus of_lock; !OwnStatus(file, &of_lock)) {
    if (errno != ENOENT) ThrowSystem(file, "cannot be accessed", errno);
    if (FileStatus now; !OwnStatus(path_, &now) || now.number != status.number) return false;
    if (!first.empty()) FailForeign(path_, "holds " + words::PathText(first));
    if (use == Use::kStanding) FailNothingBegun(path_);
  }
  Descriptor lock(OpenLockFile(file));
  if (lock.get() < 0) {
    // Who had it has removed the directory; again and again it is the file system.
    if (errno == ENOENT && ++lost_ != kMostLost) return false;
    ThrowWrite(file, "cannot be opened", errno);
  }
  // A file system may have no locks: then nobody is kept out.
  is_alone_ = Lock(lock.get()) || errno != EWOULDBLOCK;
  if (!is_alone_ && (!is_shared || !LockShared(lock.get()))) return false;
  if (!IsStillNamed(file, lock.get())) {
    if (++lost_ == kMostLost) ThrowSystem(file, "cannot be accessed", errno);
    return false;
  }
  if (!is_alone_ && !Head()) return false;  // who prepares it was killed: the next try is alone
  if (use == Use::kStanding && !Head()) FailNothingBegun(path_);
  lock_ = lock.Release();
  return true;
}

WorkDirectory::~WorkDirectory() {
  if (lock_ >= 0) Close(lock_);
}

std::string WorkDirectory::staging() const { return Joined(path_, kOutput); }

std::string WorkDirectory::staged() const { return Joined(staging(), SplitPath(output_).second); }

std::string WorkDirectory::PutAside() const {
  std::string aside = staged() + std::string(kAsideEnding);
  FileStatus status;
  return OwnStatus(aside, &status) ? aside : "";
}

WorkDirectory::Place WorkDirectory::FindOutput(std::uint64_t number) {
  const auto is_there = [&](const std::string& place) {
    FileStatus status;
    return OwnStatus(place, &status) && status.number == number;
  };
  if (is_there(staged())) return Place::kStaged;
  if (const std::string aside = PutAside(); !aside.empty() && is_there(aside)) {
    if (!Rename(aside, staged())) ThrowSystem(aside, "could not be moved back", errno);
    return Place::kStaged;
  }
  return is_there(output_) ? Place::kNamed : Place::kNowhere;
}

std::optional<std::string> WorkDirectory::Head() const {
  const std::string file = Joined(path_, kHead);
  FileStatus status;
  if (!OwnStatus(file, &status)) {
    if (errno == ENOENT) return std::nullopt;
    ThrowSystem(file, "cannot be accessed", errno);
  }
  const InputFile input(file);
  if (input.size() > kMostHeadBytes) FailForeign(path_, "holds a work.json of another program");
  std::string text(static_cast<std::size_t>(input.size()), '\0');
  input.Read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void WorkDirectory::SetHead(std::string_view text) {
  CreateOptions options;
  options.overwrite = true;
  WriteText(Joined(path_, kHead), text, options);
  SyncNames(path_, SplitPath(path_).first);
}

void WorkDirectory::Clear() {
  for (const DirectoryEntry& entry : ListDirectory(path_)) {
    const std::string place = Joined(path_, entry.name);
    if (entry.name == kWorkLock) continue;
    const bool is_directory = entry.kind == DirectoryEntry::Kind::kDirectory && !entry.is_link;
    if (!(is_directory ? RemoveTree(place) : files::Remove(place))) {
      ThrowSystem(place, "cannot be removed", errno);
    }
  }
  SyncNames(path_, path_);  // the lock, by which the directory is known as ours
  if (!MakeDirectory(staging(), kOwnersAlone)) ThrowWrite(staging(), "cannot be created", errno);
}

void WorkDirectory::Share() {
  if (!std::exchange(is_alone_, false)) return;
  LockShared(lock_);
}

std::vector<std::string> WorkDirectory::Journals() const {
  std::vector<std::string> paths;
  const bool is_read = ForEachName(path_, [&](std::string_view name) {
    if (name.ends_with(kJournalEnding)) paths.push_back(Joined(path_, name));
    return true;
  });
  if (!is_read) ThrowSystem(path_, "cannot be read", errno);
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string WorkDirectory::JournalPath(std::string_view name) const {
  return Joined(path_, std::string(name) + std::string(kJournalEnding));
}

std::string WorkDirectory::Remove() {
  // Under a name that the next run of the output removes, where this one is killed.
  const auto [parent, name] = SplitPath(output_);
  const std::string doomed = Joined(parent, TemporaryName(TemporaryPrefix(name)));
  bool is_moved = Rename(path_, doomed);
  if (!is_moved && lock_ >= 0) {  // an open file may stand in the way
    Close(std::exchange(lock_, -1));
    is_moved = Rename(path_, doomed);
  }
  // A server may say that it failed in what it has done.
  if (FileStatus status; is_moved || OwnStatus(doomed, &status)) path_ = doomed;
  return RemoveTree(path_) ? "" : path_;
}

// -------------------------------------------------------------------------------- JournalFile

JournalFile::JournalFile(const std::string& path) : path_(path) {
  Descriptor opened(OpenLockFile(path));
  if (opened.get() < 0) ThrowWrite(path, "cannot be opened", errno);
  if (!Lock(opened.get()) && errno == EWOULDBLOCK) {
    throw Error(core::ErrorKind::kArguments,
                words::PathText(path) + ": another run adds to it; wait until it has ended", path);
  }
  FileStatus status;
  if (!ReadStatus(opened.get(), &status)) ThrowSystem(path, "cannot be accessed", errno);
  end_ = ReadEntries(opened.get(), path, status.bytes, [](std::span<const std::byte>) {});
  if (!Cut(opened.get(), end_)) ThrowWrite(path, "cannot be cut", errno);
  descriptor_ = opened.Release();
  SyncNames(path, SplitPath(path).first);
}

JournalFile::~JournalFile() { Close(descriptor_); }

void JournalFile::Add(std::span<const std::byte> entry) {
  std::vector<std::byte> bytes(kEntryHead + entry.size());
  core::StoreLittle(bytes.data(), entry.size(), 8);
  core::StoreLittle(bytes.data() + 8, DigestOfEntry(entry), 8);
  std::copy(entry.begin(), entry.end(), bytes.begin() + kEntryHead);
  std::span<const std::byte> left = bytes;
  for (std::uint64_t at = end_; !left.empty();) {
    const std::int64_t put = WriteAt(descriptor_, at, left);
    if (put < 0) ThrowWrite(path_, "cannot be written", errno);
    at += static_cast<std::uint64_t>(put);
    left = left.subspan(static_cast<std::size_t>(put));
  }
  if (!SyncFile(descriptor_)) ThrowWrite(path_, "could not be synced to its disk", errno);
  end_ += bytes.size();
}

void JournalFile::ForEach(const std::string& path,
                          const std::function<void(std::span<const std::byte>)>& use) {
  const Descriptor opened(OpenInput(path));
  FileStatus status;
  if (opened.get() < 0 || !ReadStatus(opened.get(), &status)) {
    ThrowSystem(path, "cannot be opened", errno);
  }
  ReadEntries(opened.get(), path, status.bytes, use);
}

}  // namespace tensorcast::files
