// Reads and writes safetensors files: dense data needs nothing but an offset.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/formats.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/little_endian.h"
#include "files/system.h"
#include "formats/reading_code.h"
#include "formats/safetensors_header.h"
#include "formats/safetensors_placement.h"

namespace tensorcast::formats {

namespace {

class SafetensorsReader final : public TensorReader {
 public:
  explicit SafetensorsReader(std::unique_ptr<files::ByteSource> source)
      : source_(std::move(source)), header_(ReadSafetensorsHeader(*source_)) {}

  const FileContents& contents() const override { return header_.contents; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    source_->Read(header_.offsets.at(tensor) + offset, out);
  }
  std::shared_ptr<std::byte> Map(std::size_t tensor) const override {
    return source_->Map(header_.offsets.at(tensor), header_.contents.tensors[tensor].bytes);
  }
  std::uint64_t file_bytes() const override { return source_->size(); }
  void CheckUnchanged() const override { source_->CheckUnchanged(); }

 private:
  std::unique_ptr<files::ByteSource> source_;
  SafetensorsHeader header_;
};

// ---------------------------------------------------------------------------------- writing

class SafetensorsWriter final : public TensorWriter {
 public:
  SafetensorsWriter(const std::string& path, const SafetensorsPlacer& placer,
                    SafetensorsPlacement placement, std::string reading_hint,
                    const files::CreateOptions& options)
      : file_(path, placement.file_bytes, options),
        file_bytes_(placement.file_bytes),
        reading_hint_(std::move(reading_hint)) {
    if (options.begun.empty()) WriteHeader(placer, placement);
    offsets_ = std::move(placement.offsets);
  }

  void Write(std::size_t tensor, std::uint64_t offset, std::span<const std::byte> data) override {
    file_.Write(offsets_.at(tensor) + offset, data);
  }
  std::string temporary() const override { return file_.temporary(); }
  void SyncPart() override { file_.SyncPart(); }
  std::uint64_t file_bytes() const override { return file_bytes_; }
  std::vector<std::string> notes() const override { return file_.notes(); }
  std::string reading_hint() const override { return reading_hint_; }

 private:
  void DoSync() override { file_.Sync(); }
  void DoCommit() override { file_.Commit(); }

  // Some of it at a time: that of a checkpoint of many tensors is long.
  void WriteHeader(const SafetensorsPlacer& placer, const SafetensorsPlacement& placement) {
    constexpr std::size_t kAtOnce = std::size_t{1} << 20;
    std::string text;
    std::uint64_t written = 0;
    const auto write = [&] {
      file_.Write(written, std::as_bytes(std::span(text)));
      written += text.size();
      text.clear();
    };
    placer.GiveHeader(placement, [&](std::string_view piece) {
      text += piece;
      if (text.size() >= kAtOnce) write();
    });
    write();
  }

  files::OutputFile file_;
  std::vector<std::uint64_t> offsets_;
  std::uint64_t file_bytes_;
  const std::string reading_hint_;
};

}  // namespace

bool LooksLikeSafetensors(std::span<const std::byte> head) {
  if (head.size() <= kHeaderLengthBytes) return false;
  return core::LoadLittle(head.data(), kHeaderLengthBytes) <= kMostHeaderBytes &&
         head[kHeaderLengthBytes] == std::byte{'{'};
}

OpenedTensors OpenSafetensors(std::unique_ptr<files::ByteSource> source, const OpenOptions&) {
  return {std::make_unique<SafetensorsReader>(std::move(source))};
}

std::unique_ptr<TensorWriter> CreateSafetensors(const std::string& path, FileContents contents,
                                                const files::CreateOptions& options) {
  SafetensorsPlacer placer(path, contents);
  SafetensorsPlacement placement = placer.Place();
  // A checkpoint may have many tensors: of the list only the offsets stay.
  return std::make_unique<SafetensorsWriter>(path, placer, std::move(placement),
                                             SafetensorsReadingHint(contents.tensors), options);
}

std::uint64_t MeasureSafetensors(const std::string& path, const FileContents& contents) {
  return SafetensorsPlacer(path, contents).Place().file_bytes;
}

}  // namespace tensorcast::formats
