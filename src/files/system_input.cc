// Files that are read, and those of bytes that are made before they are read.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "files/error.h"
#include "files/mounted_files.h"
#include "files/private_mapping.h"
#include "files/system.h"
#include "files/system_calls.h"

namespace tensorcast::files {

// -------------------------------------------------------------------------------- InputFile

bool IsFile(const std::string& path) {
  const std::optional<FileStatus> status = StatusOf(path);
  return status && status->kind == FileKind::kFile;
}

std::uint64_t FileBytes(const std::string& path, const std::string& what) {
  FileStatus status;
  if (!ReadStatus(path, &status)) ThrowSystem(path, what, errno);
  return status.bytes;
}

std::optional<FileStatus> StatusOf(const std::string& path) {
  if (const auto mounted = MountedAt(path)) return mounted->StatusOf(path);
  FileStatus status;
  if (ReadStatus(path, &status)) return status;
  // A configuration that may not be looked at is not one that is missing.
  if (errno != ENOENT && errno != ENOTDIR) ThrowSystem(path, "cannot be accessed", errno);
  return std::nullopt;
}

bool MayBeRewritten(const FileStatus& before, const FileStatus& now) {
  return !IsSameFile(before, now) || before.bytes != now.bytes || before.version != now.version ||
         before.written_at != now.written_at ||
         (before.changed_at != now.changed_at && before.links == now.links);
}

void FailRewritten(const std::string& path) {
  throw Error(core::ErrorKind::kSystem,
              words::PathText(path) + ": was rewritten while it was read; do not " +
                  "change a file that is being read",
              path);
}

Enclosure EnclosureOfModel(const std::string& model_path, bool allow_hard_links) {
  if (MountedAt(model_path) != nullptr) return {};
  const std::string directory = ResolvedPath(SplitPath(model_path).first);
  if (directory.empty()) ThrowSystem(model_path, "its directory cannot be found", ENOENT);
  return {{directory, SplitPath(ResolvedPath(model_path)).first}, allow_hard_links};
}

Enclosure EnclosureOfCheckpoint(const std::string& directory) {
  if (MountedAt(directory) != nullptr) return {};
  constexpr std::string_view kSnapshots = "/snapshots/";
  const std::string resolved = ResolvedPath(directory);
  if (resolved.empty()) ThrowSystem(directory, "cannot be found", ENOENT);
  Enclosure enclosure{{resolved}, true};
  if (const std::size_t at = resolved.rfind(kSnapshots); at != std::string::npos) {
    enclosure.directories.push_back(resolved.substr(0, at) + "/blobs");
  }
  return enclosure;
}

InputFile::InputFile(const std::string& path) : path_(path) {
  RefuseNul(path);
  Descriptor descriptor(OpenInput(path));
  if (descriptor.get() < 0) ThrowSystem(path, "cannot be opened", errno);
  FileStatus status;
  if (!ReadStatus(descriptor.get(), &status)) ThrowSystem(path, "cannot be accessed", errno);
  if (status.kind == FileKind::kDirectory) {
    ThrowDirectory(core::ErrorKind::kUnsupported, path, "is a directory; name one of its files");
  }
  if (status.kind != FileKind::kFile) {
    throw Error(core::ErrorKind::kUnsupported,
                words::PathText(path) + ": is " + std::string(KindText(status.kind)) +
                    "; copy its data into a file first",
                path);
  }
  status_ = status;
  descriptor_ = descriptor.Release();
}

// A descriptor of the file as it is named stands for it from the first check to the reading: what
// the names lead to may change in between.
InputFile::InputFile(const std::string& path, const Enclosure& enclosure) : path_(path) {
  RefuseNul(path);
  const Descriptor named(OpenName(path));
  if (named.get() < 0) ThrowSystem(path, "cannot be opened", errno);
  FileStatus status;
  if (!ReadStatus(named.get(), &status)) ThrowSystem(path, "cannot be accessed", errno);
  if (status.kind == FileKind::kDirectory) {
    ThrowDirectory(core::ErrorKind::kContents, path, "is a directory");
  }
  if (status.kind != FileKind::kFile) {
    throw Error(core::ErrorKind::kContents,
                words::PathText(path) + ": is " + std::string(KindText(status.kind)), path);
  }
  if (status.links > 1 && !enclosure.allow_hard_links) {
    throw Error(core::ErrorKind::kContents,
                words::PathText(path) + ": has " + words::CountText(status.links, "hard link") +
                    ", so it may be a file from elsewhere: copy it, or allow hard links",
                Remedy::kAllowHardLinks, path);
  }
  const std::string place = PlaceOf(named.get(), path);
  const std::vector<std::string>& allowed = enclosure.directories;
  if (std::none_of(allowed.begin(), allowed.end(),
                   [&](const std::string& directory) { return IsBelow(place, directory); })) {
    throw Error(core::ErrorKind::kContents,
                words::PathText(path) + ": leads to " + words::PathText(place) +
                    ", outside the directory " + words::PathText(allowed.front()),
                path);
  }
  Descriptor descriptor(OpenNamed(named.get(), place));
  if (descriptor.get() < 0) ThrowSystem(path, "cannot be opened", errno);
  status_ = status;
  descriptor_ = descriptor.Release();
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) Close(descriptor_);
}

void InputFile::Read(std::uint64_t offset, std::span<std::byte> out) const {
  ReadFully(descriptor_, path_, size(), offset, out);
}

void InputFile::CheckUnchanged() const {
  FileStatus status;
  if (!ReadStatus(descriptor_, &status)) ThrowSystem(path_, "cannot be accessed", errno);
  if (MayBeRewritten(status_, status)) FailRewritten(path_);
}

std::shared_ptr<std::byte> InputFile::Map(std::uint64_t offset, std::uint64_t bytes) const {
  FileStatus status;
  // Memory behind the end of a file that was cut cannot be accessed: reading says what is wrong.
  if (!ReadStatus(descriptor_, &status) || status.bytes < size()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (mapping_ == nullptr) mapping_ = PrivateMapping::Of(descriptor_, size());
  if (mapping_ == nullptr) return nullptr;
  if (auto memory = mapping_->Take(offset, bytes)) return memory;
  const auto another = PrivateMapping::Of(descriptor_, size());
  return another == nullptr ? nullptr : another->Take(offset, bytes);
}

// -------------------------------------------------------------------------------- SpoolFile

SpoolFile::SpoolFile(std::string label, const SpoolOptions& options)
    : label_(std::move(label)), options_(options) {
  if (options_.directory.empty()) return;
  descriptor_ = CreateUnnamed(options_.directory);
  if (descriptor_ >= 0) return;
  throw Error(core::ErrorKind::kSystem,
              words::PathText(label_) + ": needs a temporary file, which cannot be " +
                  "created in " + words::PathText(options_.directory) + ": " + ReasonText(errno) +
                  options_.advice,
              label_);
}

SpoolFile::~SpoolFile() {
  if (descriptor_ >= 0) Close(descriptor_);
}

void SpoolFile::CheckRoomFor(std::uint64_t bytes) const {
  if (options_.directory.empty()) return;
  const std::string what = "its temporary file in " + words::PathText(options_.directory);
  CheckSizeLimit(label_, what, size_ + bytes);
  CheckFreeSpace(label_, options_.directory, what, size_ + bytes,
                 "free some room" + options_.advice);
}

void SpoolFile::Append(std::span<const std::byte> data) {
  if (options_.directory.empty()) {
    memory_.insert(memory_.end(), data.begin(), data.end());
    size_ += data.size();
    return;
  }
  while (!data.empty()) {
    const std::int64_t put = WriteAt(descriptor_, size_, data);
    if (put < 0) {
      throw Error(core::ErrorKind::kSystem,
                  words::PathText(label_) + ": its temporary file in " +
                      words::PathText(options_.directory) + " cannot be written after " +
                      words::CountText(size_, "byte") + ": " + ReasonText(errno) + options_.advice,
                  label_);
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

}  // namespace tensorcast::files
