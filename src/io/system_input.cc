// Files that are read, and those of bytes that are made before they are read.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "io/error_text.h"
#include "io/system.h"
#include "io/system_calls.h"

namespace tensorcast::io {

// -------------------------------------------------------------------------------- InputFile

bool IsFile(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

Enclosure EnclosureOfModel(const std::string& model_path, bool allow_hard_links) {
  const std::string directory = ResolvedPath(SplitPath(model_path).first);
  if (directory.empty()) ThrowSystem(model_path, "its directory cannot be found", ENOENT);
  return {{directory, SplitPath(ResolvedPath(model_path)).first}, allow_hard_links};
}

Enclosure EnclosureOfCheckpoint(const std::string& directory) {
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
  // Without O_NONBLOCK opening a pipe would wait for its writer.
  Descriptor descriptor(OpenRetrying(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (descriptor.get() < 0) ThrowSystem(path, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) ThrowSystem(path, "cannot be looked at", errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kUnsupported,
                PathText(path) + ": is " + std::string(KindOfFile(status.st_mode)) +
                    (S_ISDIR(status.st_mode) ? "; name one of its files"
                                             : "; copy its data into a file first"));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  written_at_ = WrittenAt(status);
  ::posix_fadvise(descriptor.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  descriptor_ = descriptor.Release();
}

// A descriptor of the file as it is named stands for it from the first check to the reading: what
// the names lead to may change in between.
InputFile::InputFile(const std::string& path, const Enclosure& enclosure) : path_(path) {
  RefuseNul(path);
  const Descriptor named(OpenRetrying(path, O_PATH));
  if (named.get() < 0) ThrowSystem(path, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(named.get(), &status) != 0) ThrowSystem(path, "cannot be looked at", errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kContents,
                PathText(path) + ": is " + std::string(KindOfFile(status.st_mode)));
  }
  if (status.st_nlink > 1 && !enclosure.allow_hard_links) {
    throw Error(ErrorKind::kContents,
                PathText(path) + ": has " + CountText(status.st_nlink, "hard link") +
                    ", so it may be a file from elsewhere: " + std::string(kHardLinkRemedy));
  }
  const std::string link = "/proc/self/fd/" + std::to_string(named.get());
  std::string resolved(PATH_MAX, '\0');
  const ssize_t length = ::readlink(link.c_str(), resolved.data(), resolved.size());
  if (length <= 0) ThrowSystem(path, "cannot be found under /proc, which says where it is", errno);
  resolved.resize(static_cast<std::size_t>(length));
  const std::vector<std::string>& allowed = enclosure.directories;
  if (std::none_of(allowed.begin(), allowed.end(),
                   [&](const std::string& directory) { return IsBelow(resolved, directory); })) {
    throw Error(ErrorKind::kContents, PathText(path) + ": leads to " + PathText(resolved) +
                                          ", out of the directory " + PathText(allowed.front()));
  }
  Descriptor descriptor(OpenRetrying(link, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (descriptor.get() < 0) ThrowSystem(path, "cannot be opened", errno);
  size_ = static_cast<std::uint64_t>(status.st_size);
  written_at_ = WrittenAt(status);
  ::posix_fadvise(descriptor.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  descriptor_ = descriptor.Release();
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::Read(std::uint64_t offset, std::span<std::byte> out) const {
  ReadFully(descriptor_, path_, size_, offset, out);
}

void InputFile::CheckUnchanged() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) ThrowSystem(path_, "cannot be looked at", errno);
  if (static_cast<std::uint64_t>(status.st_size) != size_ || WrittenAt(status) != written_at_) {
    throw Error(ErrorKind::kSystem, PathText(path_) + ": was rewritten while it was read; do not " +
                                        "change a file that is being read");
  }
}

// -------------------------------------------------------------------------------- SpoolFile

SpoolFile::SpoolFile(std::string label, const SpoolOptions& options)
    : label_(std::move(label)), options_(options) {
  const std::string& directory = options_.directory;
  if (directory.empty()) return;
  descriptor_ = OpenRetrying(directory, O_RDWR | O_TMPFILE | O_EXCL, 0600);
  if (descriptor_ >= 0) return;
  int error = errno;
  // EISDIR: a kernel, and EOPNOTSUPP: a file system, without such files.
  if (error == EISDIR || error == EOPNOTSUPP) {
    std::string name = directory + "/tensorcast-XXXXXX";
    const int created = ::mkostemp(name.data(), O_CLOEXEC);
    error = errno;
    if (created >= 0) {
      ::unlink(name.c_str());
      descriptor_ = AboveStandardStreams(created);
      error = errno;
    }
    if (descriptor_ >= 0) return;
  }
  throw Error(ErrorKind::kSystem, PathText(label_) + ": needs a temporary file, which cannot be " +
                                      "created in " + PathText(directory) + ": " +
                                      ReasonText(error) + options_.advice);
}

SpoolFile::~SpoolFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SpoolFile::CheckRoomFor(std::uint64_t bytes) const {
  if (options_.directory.empty()) return;
  const std::string what = "its temporary file in " + PathText(options_.directory);
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
    const ssize_t put = ::pwrite(descriptor_, data.data(), std::min(data.size(), kLargestTransfer),
                                 static_cast<off_t>(size_));
    if (put < 0) {
      if (errno == EINTR) continue;
      throw Error(ErrorKind::kSystem, PathText(label_) + ": its temporary file in " +
                                          PathText(options_.directory) +
                                          " cannot be written after " + CountText(size_, "byte") +
                                          ": " + ReasonText(errno) + options_.advice);
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

}  // namespace tensorcast::io
