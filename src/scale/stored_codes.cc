// What is like in all that have no parts of a kind; and weights of codes beside scales over cells.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/stored_codes.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "core/shape.h"
#include "scale/code_writer.h"
#include "scale/scaled_weights.h"

namespace tensorcast::scale {

std::vector<std::byte> StoredCodes::ReadBiases(const formats::TensorReader&, std::uint64_t,
                                               std::uint64_t, std::uint64_t) const {
  return {};
}
std::vector<std::int16_t> StoredCodes::ReadZeros(const formats::TensorReader&, std::uint64_t,
                                                 std::uint64_t, std::uint64_t) const {
  return {};
}
std::vector<std::uint32_t> StoredCodes::ReadOrder(const formats::TensorReader&) const { return {}; }
std::vector<float> StoredCodes::ReadGlobals(const formats::TensorReader&) const { return {}; }

namespace {

constexpr int kInt8Zero = 128;

class StoredCells final : public StoredCodes {
 public:
  StoredCells(const ScaledWeight& weight, const StoredForm& form)
      : form_(form),
        codes_(weight.codes),
        scale_(weight.scale),
        global_(weight.global),
        has_one_scale_(weight.reading.partition.cells() == 1) {}

  const StoredForm& stored() const override { return form_; }

  CodeLines ReadCodes(const formats::TensorReader& reader, std::uint64_t batch, std::uint64_t first,
                      std::uint64_t count) const override {
    CodeLines lines = MakeLines(count, form_.columns, form_.bits);
    const auto bits = static_cast<std::uint64_t>(form_.bits);
    const std::uint64_t width = form_.columns * bits / 8;
    std::vector<std::byte> bytes(static_cast<std::size_t>(count * width));
    reader.Read(codes_, (batch * form_.rows + first) * width, bytes);
    for (std::uint64_t r = 0; r < count; ++r) {
      std::memcpy(lines.bytes.data() + r * lines.stride, bytes.data() + r * width,
                  static_cast<std::size_t>(width));
    }
    if (form_.IsInteger()) {
      for (std::byte& code : lines.bytes) code ^= std::byte{kInt8Zero};
    }
    return lines;
  }

  std::vector<std::byte> ReadScales(const formats::TensorReader& reader, std::uint64_t batch,
                                    std::uint64_t first, std::uint64_t count) const override {
    const auto size = static_cast<std::uint64_t>(FindType(form_.scale)->bits) / 8;
    const std::uint64_t groups = form_.groups();
    std::vector<std::byte> scales(static_cast<std::size_t>(count * groups * size));
    if (!has_one_scale_) {
      reader.Read(scale_, (batch * form_.rows + first) * groups * size, scales);
      return scales;
    }
    std::vector<std::byte> one(static_cast<std::size_t>(size));
    reader.Read(scale_, 0, one);
    for (std::size_t at = 0; at < scales.size(); at += one.size()) {
      std::memcpy(scales.data() + at, one.data(), one.size());
    }
    return scales;
  }

  std::vector<float> ReadGlobals(const formats::TensorReader& reader) const override {
    if (!global_) return {};
    std::vector<float> all(1);
    reader.Read(*global_, 0, std::as_writable_bytes(std::span(all)));
    return all;
  }

 private:
  const StoredForm form_;
  const std::size_t codes_, scale_;
  const std::optional<std::size_t> global_;
  const bool has_one_scale_;
};

}  // namespace

std::shared_ptr<const StoredCodes> MakeStoredCells(const ScaledWeight& weight) {
  const Reading& reading = weight.reading;
  const Partition& cells = reading.partition;
  const bool is_one = cells.cells() == 1;
  if (reading.layout == nullptr || weight.zero_point || reading.shape.empty()) return nullptr;
  StoredForm form;
  // As the codes stand: of a weight that is transposed its rows are columns.
  form.columns = reading.shape.back();
  form.rows = reading.shape.size() > 1 ? reading.shape.end()[-2] : 1;
  if (form.columns == 0 || form.rows == 0) return nullptr;
  form.batches = *core::CheckedProduct(reading.shape) / (form.rows * form.columns);
  // Rows of a tensor of more dimensions may be of several.
  const bool is_of_rows =
      !cells.shares_cells && cells.block_rows == 1 && cells.columns == form.columns;
  form.group = is_one       ? form.columns
               : is_of_rows ? std::min(cells.block_columns, cells.columns)
                            : 0;
  const TypeInfo& element = *FindType(reading.scaling.element);
  form.bits = element.bits;
  if (element.is_integer()) {
    if (form.bits != 8) return nullptr;
    form.zero = kInt8Zero;
  } else {
    form.element = reading.scaling.element;
  }
  form.scale = reading.scaling.scale;
  form.global_use = weight.global ? reading.scaling.global_use : Factor::kNone;
  form.globals = weight.global ? 1 : 0;
  if (form.columns * static_cast<std::uint64_t>(form.bits) % 8 != 0) return nullptr;
  return std::make_shared<const StoredCells>(weight, form);
}

}  // namespace tensorcast::scale
