// Casts in pieces of whole bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/optimise/folded_constant.h"

#include <algorithm>
#include <stdexcept>

#include "core/onnx_numbers.h"
#include "core/shape.h"
#include "onnx/added_nodes.h"

namespace tensorcast::onnx {
namespace {

// Eight elements of any type are whole bytes.
constexpr std::uint64_t kGroup = 8;
constexpr std::uint64_t kPieceElements = std::uint64_t{1} << 16;

std::uint64_t BytesOf(DataType type, std::uint64_t elements) {
  return StorageBytes(type, elements).value();
}

}  // namespace

FoldedConstant::FoldedConstant(const files::ByteSource& source,
                               const protobuf::TensorProtoMessage& message)
    : dims_(message.dims), elements_(core::CheckedProduct(message.dims).value()) {
  types_.push_back(core::TypeOfNumber(message.data_type));
  values_ =
      std::make_shared<protobuf::TensorProtoValues>(source, message, types_.front(), elements_);
}

FoldedConstant FoldedConstant::Cast(DataType to, const CastOptions& options) const {
  FoldedConstant result = *this;
  if (!CastPlan::Bind(type(), to, options, &result.casts_.emplace_back()).ok()) {
    throw std::logic_error("a cast that was read can be bound");
  }
  result.types_.push_back(to);
  return result;
}

std::uint64_t FoldedConstant::bytes() const { return BytesOf(type(), elements_); }

std::string FoldedConstant::Head(std::string_view name) const {
  return TensorHead(name, dims_, type(), bytes());
}

void FoldedConstant::Read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::uint64_t group_bytes = BytesOf(type(), kGroup);
  std::vector<std::byte> from;
  std::vector<std::byte> to;
  while (!out.empty()) {
    const std::uint64_t first = offset / group_bytes * kGroup;
    const std::uint64_t skipped = offset % group_bytes;
    const std::uint64_t wanted = (skipped + out.size() + group_bytes - 1) / group_bytes * kGroup;
    const std::uint64_t count = std::min({wanted, kPieceElements, elements_ - first});
    to.resize(static_cast<std::size_t>(BytesOf(types_.front(), count)));
    values_->Read(BytesOf(types_.front(), first), to);
    for (std::size_t i = 0; i < casts_.size(); ++i) {
      from.swap(to);
      to.assign(static_cast<std::size_t>(BytesOf(types_[i + 1], count)), std::byte{0});
      if (!casts_[i].Run(from, 0, to, 0, count).ok()) {
        throw std::logic_error("a bound cast of its own buffers runs");
      }
    }
    const std::size_t n = std::min(out.size(), to.size() - static_cast<std::size_t>(skipped));
    std::copy_n(to.begin() + static_cast<std::ptrdiff_t>(skipped), n, out.begin());
    out = out.subspan(n);
    offset += n;
  }
}

}  // namespace tensorcast::onnx
