// Parts are short runs of blocks, kept as they stand in the file and decoded as they are read.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/gguf_weight.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scale/cell_lanes.h"
#include "scale/code_writer.h"
#include "scale/integer_cells.h"
#include "scale/stored_codes.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

// Elements of a part: a multiple of every type's block.
constexpr std::uint64_t kGgufPart = 1 << 16;
constexpr std::size_t kLargestBlock = 256;  // in elements
// Integers that are unpacked before any is scaled: whole blocks, in the first-level cache.
constexpr std::size_t kUnpacked = 2048;

// What the types are called as layouts, and how many bits a code has.
struct GgufForm {
  std::string_view type, name;
  int bits;
  bool is_integer = true;
};
constexpr GgufForm kGgufForms[] = {
    {"Q4_0", "q4_0", 4},          {"Q4_1", "q4_1", 4},     {"Q5_0", "q5_0", 5},
    {"Q5_1", "q5_1", 5},          {"Q8_0", "q8_0", 8},     {"Q2_K", "q2_k", 2},
    {"Q3_K", "q3_k", 3},          {"Q4_K", "q4_k", 4},     {"Q5_K", "q5_k", 5},
    {"Q6_K", "q6_k", 6},          {"IQ4_NL", "iq4_nl", 4}, {"IQ4_XS", "iq4_xs", 4},
    {"TQ1_0", "tq1_0", 2},        {"TQ2_0", "tq2_0", 2},   {"MXFP4", "mxfp4", 4, false},
    {"NVFP4", "nvfp4", 4, false}, {"Q1_0", "q1_0", 1},     {"Q2_0", "q2_0", 2},
};

// How codes and scales stand in a block of a type whose rows of codes can be taken out of it.
struct GgufCodes {
  std::string_view type;
  DataType scale;
  std::size_t scale_bytes;  // of a block
  std::uint64_t group;      // of a scale
  std::uint64_t run;        // of codes, the halves of which share bytes
  DataType element = DataType::kUndefined;
  int zero = 0;
  std::size_t bias_bytes = 0;
};
constexpr GgufCodes kGgufCodes[] = {
    {.type = "Q4_0",
     .scale = DataType::kFloat16,
     .scale_bytes = 2,
     .group = 32,
     .run = 32,
     .zero = 8},
    {.type = "Q4_1",
     .scale = DataType::kFloat16,
     .scale_bytes = 2,
     .group = 32,
     .run = 32,
     .bias_bytes = 2},
    {.type = "Q8_0",
     .scale = DataType::kFloat16,
     .scale_bytes = 2,
     .group = 32,
     .run = 1,
     .zero = 128},
    {.type = "MXFP4",
     .scale = DataType::kFloat8E8M0,
     .scale_bytes = 1,
     .group = 32,
     .run = 32,
     .element = DataType::kFloat4E2M1},
    {.type = "NVFP4",
     .scale = DataType::kFloat8E4M3FN,
     .scale_bytes = 4,
     .group = 16,
     .run = 16,
     .element = DataType::kFloat4E2M1},
};

// Some blocks of a weight, in memory.
class GgufPart final : public PackedWeight::Part {
 public:
  // `scales`: of the matrices from the one on that element `begin` lies in, each of `matrix`
  // elements; empty: they have none.
  GgufPart(const GgufBlocks& blocks, std::uint64_t begin, std::vector<std::byte> bytes,
           std::vector<float> scales, std::uint64_t matrix)
      : blocks_(blocks),
        begin_(begin),
        bytes_(std::move(bytes)),
        scales_(std::move(scales)),
        matrix_(matrix) {
    const std::size_t n = bytes_.size() / blocks_.bytes;
    is_float_ =
        scales_.empty() && blocks_.to_floats != nullptr && blocks_.are_floats(bytes_.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      has_odd_scales_ |= blocks_.odd_scale(bytes_.data() + i * blocks_.bytes) != OddScale::kNone;
    }
    has_odd_scales_ =
        has_odd_scales_ || !std::all_of(scales_.begin(), scales_.end(),
                                        [](float scale) { return std::isfinite(scale); });
  }

  bool IsFloat() const override { return is_float_; }
  bool HasOddScales() const override { return has_odd_scales_; }

  // Doubles hold them all, whatever the rounding.
  void Read(std::uint64_t first, Rounding, std::span<double> values) const override {
    Decode(first, blocks_.to_doubles, values);
    if (!scales_.empty()) Multiply(first, values);
  }
  void Read(std::uint64_t first, std::span<float> values) const override {
    if (is_float_) return Decode(first, blocks_.to_floats, values);
    Part::Read(first, values);
  }

  bool Cast(const CastPlan& plan, std::uint64_t first, std::span<std::byte> out) const override {
    if (blocks_.cell == 0 || !scales_.empty() || has_odd_scales_) return false;
    const CellLanes* const lanes = LanesOfIntegers(plan);
    if (lanes == nullptr) return false;
    const auto row = &blocks_ - AllGgufBlocks().data();
    const UnpackBlocks unpack = lanes->unpack[row];
    const auto bytes = static_cast<std::size_t>(FindType(plan.to())->bits) / 8;
    const auto look_up = bytes == 2 ? lanes->look_up_blocks[row] : nullptr;
    const auto log2_cell = static_cast<unsigned>(std::countr_zero(blocks_.cell));
    alignas(64) std::array<std::int8_t, kUnpacked> codes;
    std::array<float, kUnpacked / kLeastCell> factors, offsets;
    for (std::uint64_t at = first - begin_; !out.empty();) {
      const std::byte* const block = bytes_.data() + at / blocks_.values * blocks_.bytes;
      const auto skipped = static_cast<std::size_t>(at % blocks_.values);
      if (look_up != nullptr && skipped == 0) {
        const std::size_t n =
            blocks_.values * look_up(block, out.size() / bytes / blocks_.values,
                                     plan.to() == DataType::kBfloat16, out.data());
        at += n;
        out = out.subspan(n * bytes);
        if (n != 0) continue;
      }
      const std::size_t n = std::min(kUnpacked - skipped, out.size() / bytes);
      const std::size_t count = (skipped + n + blocks_.values - 1) / blocks_.values;
      unpack(block, count, codes.data(), factors.data(), offsets.data());
      const auto some = out.first(n * bytes);
      if (blocks_.most_of_sum == 0 ||
          lanes->are_float_sums(factors.data(), offsets.data(),
                                count * blocks_.values / blocks_.cell,
                                static_cast<float>(blocks_.most_of_sum))) {
        lanes->scale_integers(std::as_bytes(std::span(codes)).data() + skipped, n, blocks_.range,
                              factors.data(), offsets.data(), {log2_cell, skipped}, plan.to(),
                              some.data());
      } else {
        alignas(64) std::array<double, kUnpacked> values;
        Decode(begin_ + at, blocks_.to_doubles, std::span(values).first(n));
        Require(plan.Run(std::as_bytes(std::span(values)), 0, some, 0, n));
      }
      out = out.subspan(some.size());
      at += n;
    }
    return true;
  }

 private:
  template <class T>
  void Decode(std::uint64_t first, void (*decode)(const std::byte*, std::size_t, T*),
              std::span<T> values) const {
    const std::uint64_t at = first - begin_;
    const std::byte* block = bytes_.data() + at / blocks_.values * blocks_.bytes;
    const auto skipped = static_cast<std::size_t>(at % blocks_.values);
    // The end of a block, whole blocks, the beginning of one.
    const auto part_of_one = [&](std::size_t from, std::size_t n) {
      std::array<T, kLargestBlock> whole;
      decode(block, 1, whole.data());
      std::copy_n(whole.data() + from, n, values.data());
      values = values.subspan(n);
      block += blocks_.bytes;
    };
    if (skipped != 0) {
      part_of_one(skipped, std::min<std::size_t>(blocks_.values - skipped, values.size()));
    }
    const std::size_t n = values.size() / blocks_.values;
    decode(block, n, values.data());
    values = values.subspan(n * blocks_.values);
    block += n * blocks_.bytes;
    if (!values.empty()) part_of_one(0, values.size());
  }

  void Multiply(std::uint64_t first, std::span<double> values) const {
    for (std::size_t i = 0; i < values.size();) {
      const std::uint64_t of = (first + i) / matrix_, end = (of + 1) * matrix_ - first;
      const double scale = scales_[static_cast<std::size_t>(of - begin_ / matrix_)];
      for (; i < values.size() && i < end; ++i) {
        values[i] *= scale;
        if (std::isnan(values[i])) values[i] = std::numeric_limits<double>::quiet_NaN();
      }
    }
  }

  const GgufBlocks& blocks_;
  std::uint64_t begin_;  // the first element
  std::vector<std::byte> bytes_;
  std::vector<float> scales_;
  std::uint64_t matrix_;
  bool is_float_ = false;
  bool has_odd_scales_ = false;
};

class GgufWeight final : public PackedWeight, public StoredCodes {
 public:
  GgufWeight(const GgufBlocks& blocks, const GgufTensors& tensors)
      : blocks_(blocks), tensors_(tensors) {
    const auto* const form = std::ranges::find(kGgufForms, blocks.type, &GgufForm::type);
    form_ = {form->name,    "blocks of " + std::to_string(blocks.values),
             form->bits,    form->is_integer,
             blocks.values, tensors.elements / blocks.values};
    if (tensors.scale) {
      form_.cells +=
          tensors.scales == 1 ? " and one scale for the tensor" : " and one scale for each matrix";
    }
    const auto* const codes = std::ranges::find(kGgufCodes, blocks.type, &GgufCodes::type);
    if (codes == std::end(kGgufCodes) || tensors.rows == 0 ||
        tensors.columns % blocks.values != 0) {
      return;
    }
    codes_ = codes;
    stored_.rows = tensors.rows;
    stored_.columns = tensors.columns;
    stored_.batches = tensors.elements / (tensors.rows * tensors.columns);
    stored_.group = codes->group;
    stored_.bits = form->bits;
    stored_.element = codes->element;
    stored_.scale = codes->scale;
    stored_.zero = codes->zero;
    if (codes->bias_bytes != 0) stored_.bias = DataType::kFloat16;
    if (tensors.scale) {
      stored_.global_use = Factor::kMultiplies;
      stored_.globals = tensors.scales;
    }
  }

  const StoredCodes* stored_codes() const override { return codes_ != nullptr ? this : nullptr; }
  const StoredForm& stored() const override { return stored_; }
  CodeLines ReadCodes(const formats::TensorReader& reader, std::uint64_t batch, std::uint64_t first,
                      std::uint64_t count) const override {
    CodeLines lines = MakeLines(count, stored_.columns, stored_.bits);
    const std::vector<std::byte> bytes = ReadRows(reader, batch, first, count);
    const std::size_t skipped = codes_->scale_bytes + codes_->bias_bytes;
    const std::size_t size = blocks_.bytes - skipped;  // of a block's codes
    const std::uint64_t of_row = stored_.columns / blocks_.values;
    for (std::uint64_t block = 0; block < count * of_row; ++block) {
      const std::byte* const from = bytes.data() + block * blocks_.bytes + skipped;
      std::byte* const to =
          lines.bytes.data() + block / of_row * lines.stride + block % of_row * size;
      if (stored_.bits == 8) {
        for (std::size_t i = 0; i < size; ++i) to[i] = from[i] ^ std::byte{0x80};
        continue;
      }
      constexpr std::byte kLow{0x0F};
      const auto half = static_cast<std::size_t>(codes_->run / 2);
      for (std::size_t run = 0; run < size; run += half) {
        for (std::size_t i = 0; i < half; i += 2) {
          const std::byte one = from[run + i], other = from[run + i + 1];
          to[run + i / 2] = (one & kLow) | other << 4;
          to[run + half / 2 + i / 2] = one >> 4 | (other & ~kLow);
        }
      }
    }
    return lines;
  }
  std::vector<std::byte> ReadScales(const formats::TensorReader& reader, std::uint64_t batch,
                                    std::uint64_t first, std::uint64_t count) const override {
    return ReadOfBlocks(reader, batch, first, count, 0, codes_->scale_bytes);
  }
  std::vector<std::byte> ReadBiases(const formats::TensorReader& reader, std::uint64_t batch,
                                    std::uint64_t first, std::uint64_t count) const override {
    return ReadOfBlocks(reader, batch, first, count, codes_->scale_bytes, codes_->bias_bytes);
  }
  std::vector<float> ReadGlobals(const formats::TensorReader& reader) const override {
    std::vector<float> all(static_cast<std::size_t>(stored_.globals));
    if (tensors_.scale) reader.Read(*tensors_.scale, 0, std::as_writable_bytes(std::span(all)));
    return all;
  }

  const Form& form() const override { return form_; }
  Place PlaceOf(std::uint64_t element) const override {
    const std::uint64_t part = element / kGgufPart;
    return {part, part * kGgufPart, std::min((part + 1) * kGgufPart, tensors_.elements)};
  }
  std::unique_ptr<const Part> Load(const formats::TensorReader& reader,
                                   std::uint64_t part) const override {
    const Place place = PlaceOf(part * kGgufPart);
    std::vector<std::byte> bytes = ReadBlocks(reader, place);
    const std::uint64_t matrix = tensors_.elements / tensors_.scales;
    std::vector<float> scales;
    if (tensors_.scale) {
      const std::uint64_t first = place.begin / matrix;
      scales.resize(static_cast<std::size_t>((place.end - 1) / matrix - first + 1));
      reader.Read(*tensors_.scale, first * sizeof(float),
                  std::as_writable_bytes(std::span(scales)));
    }
    return std::make_unique<GgufPart>(blocks_, place.begin, std::move(bytes), std::move(scales),
                                      matrix);
  }
  ScaleFindings FindOddBlocks(const formats::TensorReader& reader) const override {
    ScaleFindings found;
    for (std::uint64_t begin = 0; begin < tensors_.elements; begin += kGgufPart) {
      const std::vector<std::byte> bytes = ReadBlocks(reader, PlaceOf(begin));
      for (std::size_t at = 0; at < bytes.size(); at += blocks_.bytes) {
        const OddScale odd = blocks_.odd_scale(bytes.data() + at);
        if (odd == OddScale::kNone) continue;
        if (found.count() == 0) found.first = begin / blocks_.values + at / blocks_.bytes;
        ++(odd == OddScale::kNan ? found.nan : found.infinite);
      }
    }
    return found;
  }
  // Where the value of largest magnitude is positive, as it becomes -8 or -16.
  bool HasNegativeScales() const override { return true; }

 private:
  // The blocks of some rows of a matrix.
  std::vector<std::byte> ReadRows(const formats::TensorReader& reader, std::uint64_t batch,
                                  std::uint64_t first, std::uint64_t count) const {
    const std::uint64_t begin = (batch * stored_.rows + first) * stored_.columns;
    return ReadBlocks(reader, {0, begin, begin + count * stored_.columns});
  }
  // Bytes [at, at + n) of each of them.
  std::vector<std::byte> ReadOfBlocks(const formats::TensorReader& reader, std::uint64_t batch,
                                      std::uint64_t first, std::uint64_t count, std::size_t at,
                                      std::size_t n) const {
    const std::vector<std::byte> bytes = ReadRows(reader, batch, first, count);
    std::vector<std::byte> found(bytes.size() / blocks_.bytes * n);
    for (std::size_t i = 0; i * n < found.size(); ++i) {
      std::memcpy(found.data() + i * n, bytes.data() + i * blocks_.bytes + at, n);
    }
    return found;
  }
  std::vector<std::byte> ReadBlocks(const formats::TensorReader& reader, const Place& place) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(BytesOf(place.end - place.begin)));
    reader.Read(tensors_.codes, BytesOf(place.begin), bytes);
    return bytes;
  }
  std::uint64_t BytesOf(std::uint64_t elements) const {
    return elements / blocks_.values * blocks_.bytes;
  }

  const GgufBlocks& blocks_;
  GgufTensors tensors_;
  Form form_;
  const GgufCodes* codes_ = nullptr;
  StoredForm stored_;
};

}  // namespace

std::shared_ptr<const PackedWeight> MakeGgufWeight(const GgufBlocks& blocks,
                                                   const GgufTensors& tensors) {
  return std::make_shared<GgufWeight>(blocks, tensors);
}

}  // namespace tensorcast::scale
