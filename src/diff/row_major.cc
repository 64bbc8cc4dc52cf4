// Fortran order is one of strides, the first dimension having the least.
//
// SPDX-License-Identifier: Apache-2.0
#include "diff/row_major.h"

#include <utility>

#include "files/byte_source.h"

namespace tensorcast::diff {
namespace {

// A tensor's bytes as they stand in its file.
class BytesOfTensor final : public files::ByteSource {
 public:
  BytesOfTensor(const formats::TensorReader& reader, std::size_t tensor)
      : reader_(reader), tensor_(tensor) {}

  const std::string& path() const override { return info().name; }
  std::uint64_t size() const override { return info().bytes; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override {
    reader_.Read(tensor_, offset, out);
  }

 private:
  const formats::TensorInfo& info() const { return reader_.contents().tensors[tensor_]; }

  const formats::TensorReader& reader_;
  const std::size_t tensor_;
};

std::vector<formats::StridedDim> DimsOf(const formats::TensorInfo& info) {
  if (!info.IsColumnMajor() || info.elements == 0) return {};
  std::vector<std::uint64_t> strides;
  std::uint64_t before = 1;
  for (const std::uint64_t n : info.shape) {
    strides.push_back(before);
    before *= n;
  }
  return formats::JoinedDims(info.shape, strides);
}

}  // namespace

RowMajorReader::RowMajorReader(std::shared_ptr<const formats::TensorReader> base)
    : base_(std::move(base)), contents_(base_->contents()) {
  for (formats::TensorInfo& info : contents_.tensors) {
    dims_.push_back(DimsOf(info));
    info.fortran_order = false;
  }
}

void RowMajorReader::Read(std::size_t tensor, std::uint64_t offset,
                          std::span<std::byte> out) const {
  const std::vector<formats::StridedDim>& dims = dims_[tensor];
  if (dims.empty()) return base_->Read(tensor, offset, out);
  const formats::TensorInfo& info = contents_.tensors[tensor];
  const auto width = static_cast<std::size_t>(info.bytes / info.elements);
  const BytesOfTensor bytes(*base_, tensor);
  if (formats::IsTurned(dims)) {
    tiles_.Read(bytes, 0, dims, width, info.bytes, offset, out);
  } else {
    formats::ReadStrided(bytes, 0, dims, width, offset / width, out);
  }
}

}  // namespace tensorcast::diff
