// Opens named files, and keeps those open that come first.
//
// SPDX-License-Identifier: Apache-2.0
#include "files/named_file.h"

#include <utility>

#include "files/file_status.h"
#include "files/mounted_files.h"

namespace tensorcast::files {
namespace {

// Opened anew for each reading, and looked at before and after: what is read is of one content.
class SeldomReadFile final : public ByteSource {
 public:
  SeldomReadFile(const std::string& path, Enclosure enclosure)
      : path_(path),
        enclosure_(std::move(enclosure)),
        status_(InputFile(path_, enclosure_).status()) {}
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return status_.bytes; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    const InputFile file(path_, enclosure_);
    HoldAgainst(file);
    file.Read(offset, out);
    file.CheckUnchanged();
  }
  void CheckUnchanged() const override { HoldAgainst(InputFile(path_, enclosure_)); }
  std::shared_ptr<std::byte> Map(std::uint64_t offset, std::uint64_t bytes) const override {
    const InputFile file(path_, enclosure_);
    HoldAgainst(file);
    return file.Map(offset, bytes);
  }

 private:
  void HoldAgainst(const InputFile& file) const {
    if (MayBeRewritten(status_, file.status())) FailRewritten(path_);
  }

  std::string path_;
  Enclosure enclosure_;
  FileStatus status_;
};

}  // namespace

std::unique_ptr<ByteSource> OpenFile(const std::string& path) {
  if (const auto mounted = MountedAt(path)) return mounted->Open(path);
  return std::make_unique<InputFile>(path);
}

std::unique_ptr<ByteSource> OpenNamedFile(const std::string& path, const Enclosure& enclosure,
                                          std::size_t others) {
  if (const auto mounted = MountedAt(path)) return mounted->Open(path);
  if (others < MostOpenFiles()) return std::make_unique<InputFile>(path, enclosure);
  return std::make_unique<SeldomReadFile>(path, enclosure);
}

}  // namespace tensorcast::files
