// Opens named files, and keeps those open that come first.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/named_file.h"

#include <utility>

#include "io/error_text.h"

namespace tensorcast::io {
namespace {

// Opened anew for each reading, and looked at before and after: what is read is of one content.
class SeldomReadFile final : public ByteSource {
 public:
  SeldomReadFile(const std::string& path, Enclosure enclosure)
      : path_(path), enclosure_(std::move(enclosure)) {
    const InputFile file(path_, enclosure_);
    size_ = file.size();
    written_at_ = file.written_at();
  }
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return size_; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    const InputFile file(path_, enclosure_);
    HoldAgainst(file);
    file.Read(offset, out);
    file.CheckUnchanged();
  }
  void CheckUnchanged() const override { HoldAgainst(InputFile(path_, enclosure_)); }

 private:
  void HoldAgainst(const InputFile& file) const {
    if (file.size() == size_ && file.written_at() == written_at_) return;
    throw Error(ErrorKind::kSystem, PathText(path_) + ": was rewritten while it was read; do not " +
                                        "change a file that is being read");
  }

  std::string path_;
  Enclosure enclosure_;
  std::uint64_t size_ = 0;
  std::int64_t written_at_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> OpenNamedFile(const std::string& path, const Enclosure& enclosure,
                                          std::size_t others) {
  if (others < MostOpenFiles()) return std::make_unique<InputFile>(path, enclosure);
  return std::make_unique<SeldomReadFile>(path, enclosure);
}

}  // namespace tensorcast::io
