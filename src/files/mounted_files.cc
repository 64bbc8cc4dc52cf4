// The table of what is lent, and files of it.
//
// SPDX-License-Identifier: Apache-2.0
#include "files/mounted_files.h"

#include <cerrno>
#include <mutex>
#include <utility>

#include "files/error.h"
#include "files/system.h"
#include "files/system_calls.h"

namespace tensorcast::files {
namespace {

// Every path that is lent has it in it; a path without is one of the machine's at a glance.
constexpr std::string_view kMark = "://";

struct MountTable {
  std::mutex mutex;
  std::vector<std::shared_ptr<MountedFiles>> mounted;
};

// Never destroyed: files may be open until the process has ended.
MountTable& TheMountTable() {
  static auto* const table = new MountTable;
  return *table;
}

// Whether a name that a file system gives can be that of a file in a directory, here too.
bool IsNameHere(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos &&
         WhyNoName(name).empty();
}

}  // namespace

class MountedFile final : public ByteSource {
 public:
  MountedFile(std::shared_ptr<MountedFiles> files, const std::string& path, FileEntry entry)
      : files_(std::move(files)), entry_(std::move(entry)) {
    const auto fetch = [system = files_->system_, path, entry = entry_](std::uint64_t offset,
                                                                        std::span<std::byte> out) {
      system->Read(path, entry, offset, out);
    };
    file_ = std::make_shared<FarFile>(FarFile{path, entry_.bytes, fetch});
  }
  MountedFile(const MountedFile&) = delete;
  MountedFile& operator=(const MountedFile&) = delete;
  ~MountedFile() override { files_->ranges_.Forget(*file_); }

  const std::string& path() const override { return file_->path; }
  std::uint64_t size() const override { return file_->bytes; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    files_->ranges_.Read(file_, offset, out);
  }
  void CheckUnchanged() const override {
    const std::optional<FileEntry> now = files_->Find(path(), true);
    if (!now) ThrowSystem(path(), "is gone since it was opened", ENOENT);
    if (now->is_directory || now->bytes != entry_.bytes || now->version != entry_.version) {
      FailRewritten(path());
    }
  }

 private:
  std::shared_ptr<MountedFiles> files_;
  FileEntry entry_;  // as it was when it was opened
  std::shared_ptr<FarFile> file_;
};

std::optional<FileEntry> MountedFiles::Find(const std::string& path, bool anew) {
  std::optional<FileEntry> found;
  ranges_.Try(path, "cannot be accessed", [&] { found = system_->Find(path, anew); });
  return found;
}

std::optional<FileStatus> MountedFiles::StatusOf(const std::string& path) {
  const std::optional<FileEntry> found = Find(path, true);
  if (!found) return std::nullopt;
  FileStatus status;
  status.kind = found->is_directory ? FileKind::kDirectory : FileKind::kFile;
  status.bytes = found->bytes;
  status.version = found->version;
  return status;
}

std::vector<DirectoryEntry> MountedFiles::ListDirectory(const std::string& path) {
  std::vector<FileEntry> found;
  ranges_.Try(path, "cannot be read", [&] { found = system_->List(path); });
  std::vector<DirectoryEntry> entries;
  entries.reserve(found.size());
  for (FileEntry& one : found) {
    DirectoryEntry& entry = entries.emplace_back();
    if (IsNameHere(one.name)) {
      entry.kind =
          one.is_directory ? DirectoryEntry::Kind::kDirectory : DirectoryEntry::Kind::kFile;
    }
    entry.name = std::move(one.name);
    entry.bytes = one.bytes;
  }
  return entries;
}

std::unique_ptr<ByteSource> MountedFiles::Open(const std::string& path) {
  // What a model or an index names lies below it: nobody can look where ".." leads there.
  if (path.find("/../") != std::string::npos || path.ends_with("/..")) {
    throw Error(core::ErrorKind::kContents, words::PathText(path) + ": has a \"..\"", path);
  }
  std::optional<FileEntry> found = Find(path, false);
  if (!found) ThrowSystem(path, "cannot be opened", ENOENT);
  if (found->is_directory) {
    ThrowDirectory(core::ErrorKind::kUnsupported, path, "is a directory; name one of its files");
  }
  return std::make_unique<MountedFile>(shared_from_this(), path, *std::move(found));
}

std::shared_ptr<MountedFiles> MountedAt(std::string_view path) {
  if (path.find(kMark) == std::string_view::npos) return nullptr;
  MountTable& table = TheMountTable();
  const std::lock_guard lock(table.mutex);
  std::shared_ptr<MountedFiles> longest;
  for (const auto& one : table.mounted) {
    if (path.starts_with(one->prefix()) &&
        (longest == nullptr || one->prefix().size() >= longest->prefix().size())) {
      longest = one;
    }
  }
  return longest;
}

}  // namespace tensorcast::files

namespace tensorcast {
inline namespace TENSORCAST_ABI {

FileRefused::FileRefused(const std::string& reason, int system_error)
    : std::runtime_error(reason), system_error_(system_error) {}
FileRefused::~FileRefused() = default;
FileSystem::~FileSystem() = default;

Mount::Mount() = default;
Mount::Mount(Mount&&) noexcept = default;
Mount& Mount::operator=(Mount&& other) noexcept {
  std::swap(files_, other.files_);  // whose destructor ends what this one was
  return *this;
}

Mount::~Mount() {
  if (files_ == nullptr) return;
  files::MountTable& table = files::TheMountTable();
  {
    const std::lock_guard lock(table.mutex);
    std::erase(table.mounted, files_);
  }
  files_->Stop();
}

Status Mount::Make(const std::string& prefix, std::shared_ptr<FileSystem> files,
                   const MountOptions& options, Mount* mount, std::string* error) {
  return core::Guarded(error, [&] {
    const auto refuse = [&](const std::string& why) {
      throw files::Error(core::ErrorKind::kArguments, words::PathText(prefix) + ": " + why, prefix);
    };
    if (prefix.find(files::kMark) == std::string::npos) {
      refuse("the prefix of a file system has to have \"://\" in it");
    }
    if (files == nullptr) refuse("there is no file system");
    if (options.range_bytes == 0 || options.tries == 0) {
      refuse("a range has at least one byte, and is tried at least once");
    }
    Mount made;
    made.files_ = std::make_shared<files::MountedFiles>(prefix, std::move(files), options);
    files::MountTable& table = files::TheMountTable();
    {
      const std::lock_guard lock(table.mutex);
      table.mounted.push_back(made.files_);
    }
    *mount = std::move(made);
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
