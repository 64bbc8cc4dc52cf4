// The products of a block's scale and all numbers of a short table are made first, cast if that is
// wanted, and looked up by the codes: 16 products for the 64 elements of a block. Where the table
// is long and the block is short, each element is a product of its own.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/block_codes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/fp_environment.h"
#include "scale/code_writer.h"
#include "scale/stored_codes.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

// Of a part; a part begins with a whole byte.
constexpr std::uint64_t kPartElements = std::uint64_t{1} << 20;
// Products that are made before any is looked up: they stay in the first-level cache.
constexpr std::size_t kProducts = 1024;
// A block that is as often as long as a table is done by it.
constexpr std::uint64_t kWorthOfTable = 2;
// Scales that are counted at once.
constexpr std::uint64_t kCounted = 1 << 16;

std::vector<float> ReadFloats(const formats::TensorReader& reader, std::size_t tensor,
                              DataType type, std::uint64_t first, std::uint64_t n) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(FindType(type)->bits) / 8;
  std::vector<std::byte> stored(static_cast<std::size_t>(n * bytes));
  reader.Read(tensor, first * bytes, stored);
  std::vector<float> values(static_cast<std::size_t>(n));
  Require(Cast(type, stored, DataType::kFloat32, std::as_writable_bytes(std::span(values)), n));
  return values;
}

// Scales [first, first + n).
std::vector<float> LoadScales(const formats::TensorReader& reader, const BlockScales& scales,
                              std::uint64_t first, std::uint64_t n) {
  if (!scales.nested || n == 0) return ReadFloats(reader, scales.tensor, scales.type, first, n);
  const BlockScales::Nested& nested = *scales.nested;
  const std::vector<float> values = ReadFloats(reader, nested.values, DataType::kFloat32, 0, 256);
  const std::uint64_t first_of_all = first / nested.block;
  const std::vector<float> of_scales =
      ReadFloats(reader, nested.scales, DataType::kFloat32, first_of_all,
                 (first + n - 1) / nested.block - first_of_all + 1);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
  reader.Read(scales.tensor, first, std::as_writable_bytes(std::span(bytes)));
  std::vector<float> result(bytes.size());
  const core::FpEnvironment environment;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    // Rounded after each step: that is what the scale is.
    const float product = values[bytes[i]] * of_scales[(first + i) / nested.block - first_of_all];
    result[i] = product + nested.offset;
  }
  return result;
}

// A scale that a quantiser writes: of a block of zeros it may be 0, and what is computed from a
// nested one of such a block a little less.
bool IsWritten(const BlockScales& scales, float scale) {
  return std::isfinite(scale) && (scale >= 0 || scales.nested);
}

struct LoadedBlocks {
  std::uint64_t first_element = 0;
  std::uint64_t block = 1, first_block = 0;
  int bits = 4;
  bool is_high_first = false;
  double divisor = 1;
  std::vector<std::uint8_t> codes;
  std::vector<float> values, scales;
  bool has_odd_scales = false;
};

class BlockPart final : public PackedWeight::Part {
 public:
  explicit BlockPart(LoadedBlocks blocks)
      : blocks_(std::move(blocks)),
        has_tables_(blocks_.block / kWorthOfTable >= blocks_.values.size()) {}

  bool HasOddScales() const override { return blocks_.has_odd_scales; }

  void Read(std::uint64_t first, Rounding, std::span<double> values) const override {
    // A product of two numbers of 24 bits is a double, and a quotient of such a one by 127 is never
    // so near to the middle between two narrower numbers that its last bit counted.
    if (has_tables_) {
      return ForEachBatch(first, values.size(), [&](const Batch& batch) {
        LookUp(batch, batch.products.data(), values.data());
      });
    }
    ForEachRun(first, values.size(), [&](const Run& run) {
      const double scale = ScaleOf(run.block);
      for (std::size_t i = run.at; i < run.at + run.n; ++i) {
        values[i] = Product(blocks_.values[CodeOf(first + i)], scale);
      }
    });
  }

  bool Cast(const CastPlan& plan, std::uint64_t first, std::span<std::byte> out) const override {
    if (!has_tables_) return false;
    switch (FindType(plan.to())->bits) {
      case 8: CastByTables<std::uint8_t>(plan, first, out); return true;
      case 16: CastByTables<std::uint16_t>(plan, first, out); return true;
      case 32: CastByTables<std::uint32_t>(plan, first, out); return true;
      case 64: CastByTables<std::uint64_t>(plan, first, out); return true;
      default: return false;
    }
  }

 private:
  // Elements of a block, n of them from the `at`-th of a call on.
  struct Run {
    std::uint64_t block;
    std::size_t at, n;
  };
  // Runs one after the other, and the table of each.
  struct Batch {
    std::uint64_t first;  // element of the weight at 0
    std::span<const Run> runs;
    std::span<const double> products;
  };

  template <class Visit>
  void ForEachRun(std::uint64_t first, std::size_t n, const Visit& visit) const {
    for (std::size_t at = 0; at < n;) {
      const std::uint64_t element = first + at;
      const auto some = static_cast<std::size_t>(
          std::min<std::uint64_t>(n - at, blocks_.block - element % blocks_.block));
      visit(Run{element / blocks_.block, at, some});
      at += some;
    }
  }

  template <class Visit>
  void ForEachBatch(std::uint64_t first, std::size_t n, const Visit& visit) const {
    const std::size_t size = blocks_.values.size(), most = kProducts / size;
    alignas(64) std::array<double, kProducts> products;
    std::array<Run, kProducts / 16> runs;
    std::size_t count = 0;
    const auto finish = [&] {
      visit(Batch{first, std::span(runs).first(count), std::span(products).first(count * size)});
      count = 0;
    };
    ForEachRun(first, n, [&](const Run& run) {
      const double scale = ScaleOf(run.block);
      for (std::size_t i = 0; i < size; ++i) {
        products[count * size + i] = Product(blocks_.values[i], scale);
      }
      runs[count++] = run;
      if (count == most) finish();
    });
    if (count != 0) finish();
  }

  template <class Value>
  void CastByTables(const CastPlan& plan, std::uint64_t first, std::span<std::byte> out) const {
    alignas(64) std::array<Value, kProducts> cast;
    ForEachBatch(first, out.size() / sizeof(Value), [&](const Batch& batch) {
      const std::size_t n = batch.products.size();
      Require(plan.Run(std::as_bytes(batch.products), 0,
                       std::as_writable_bytes(std::span(cast).first(n)), 0, n));
      LookUp(batch, cast.data(), out.data());
    });
  }

  // `out` is of values, or of bytes that may stand anywhere.
  template <class Value, class Out>
  void LookUp(const Batch& batch, const Value* table, Out* out) const {
    auto* const bytes = reinterpret_cast<std::byte*>(out);
    const std::size_t size = blocks_.values.size();
    for (const Run& run : batch.runs) {
      const std::uint64_t place = batch.first + run.at - blocks_.first_element;
      std::byte* const to = bytes + run.at * sizeof(Value);
      if (blocks_.bits == 8) {
        LookUpBytes(blocks_.codes.data() + place, run.n, table, to);
      } else if (blocks_.is_high_first) {
        LookUpNibbles<true>(place, run.n, table, to);
      } else {
        LookUpNibbles<false>(place, run.n, table, to);
      }
      table += size;
    }
  }

  template <class Value>
  static void LookUpBytes(const std::uint8_t* codes, std::size_t n, const Value* table,
                          std::byte* out) {
    for (std::size_t i = 0; i < n; ++i) {
      std::memcpy(out + i * sizeof(Value), table + codes[i], sizeof(Value));
    }
  }

  template <bool kHighFirst, class Value>
  void LookUpNibbles(std::uint64_t place, std::size_t n, const Value* table, std::byte* out) const {
    const std::uint8_t* codes = blocks_.codes.data() + place / 2;
    const auto put = [&](std::size_t i, unsigned code) {
      std::memcpy(out + i * sizeof(Value), table + code, sizeof(Value));
    };
    if (place % 2 != 0 && n != 0) {
      put(0, kHighFirst ? *codes & 15u : *codes >> 4u);
      out += sizeof(Value);
      ++codes;
      --n;
    }
    for (std::size_t i = 0; i < n / 2; ++i) {
      const unsigned high = codes[i] >> 4u, low = codes[i] & 15u;
      const std::array<Value, 2> both = {table[kHighFirst ? high : low],
                                         table[kHighFirst ? low : high]};
      std::memcpy(out + 2 * i * sizeof(Value), both.data(), sizeof both);
    }
    if (n % 2 != 0) put(n - 1, kHighFirst ? codes[n / 2] >> 4u : codes[n / 2] & 15u);
  }

  unsigned CodeOf(std::uint64_t element) const {
    const std::uint64_t place = element - blocks_.first_element;
    if (blocks_.bits == 8) return blocks_.codes[place];
    const unsigned byte = blocks_.codes[place / 2];
    return (place % 2 != 0) == blocks_.is_high_first ? byte & 15u : byte >> 4u;
  }

  double ScaleOf(std::uint64_t block) const { return blocks_.scales[block - blocks_.first_block]; }

  // A NaN has whatever sign a processor gives it.
  double Product(double value, double scale) const {
    const double product = value * scale / blocks_.divisor;
    return product == product ? product : std::numeric_limits<double>::quiet_NaN();
  }

  const LoadedBlocks blocks_;
  const bool has_tables_;
};

class BlockCodesWeight final : public PackedWeight, public StoredCodes {
 public:
  explicit BlockCodesWeight(BlockCodes codes) : codes_(std::move(codes)) {
    stored_.rows = codes_.rows;
    stored_.columns = codes_.columns;
    if (codes_.rows != 0) stored_.batches = codes_.elements / (codes_.rows * codes_.columns);
    stored_.group = codes_.block;
    stored_.bits = codes_.form.bits;
    stored_.element = codes_.element;
    stored_.scale = codes_.scales.type;
  }

  const Form& form() const override { return codes_.form; }

  const StoredCodes* stored_codes() const override { return codes_.rows != 0 ? this : nullptr; }
  const StoredForm& stored() const override { return stored_; }
  CodeLines ReadCodes(const formats::TensorReader& reader, std::uint64_t batch, std::uint64_t first,
                      std::uint64_t count) const override {
    CodeLines lines = MakeLines(count, stored_.columns, stored_.bits);
    const std::uint64_t width = stored_.columns * static_cast<std::uint64_t>(stored_.bits) / 8;
    std::vector<std::byte> bytes(static_cast<std::size_t>(count * width));
    reader.Read(codes_.tensor, (batch * stored_.rows + first) * width, bytes);
    for (std::uint64_t r = 0; r < count; ++r) {
      std::memcpy(lines.bytes.data() + r * lines.stride, bytes.data() + r * width,
                  static_cast<std::size_t>(width));
    }
    return lines;
  }
  std::vector<std::byte> ReadScales(const formats::TensorReader& reader, std::uint64_t batch,
                                    std::uint64_t first, std::uint64_t count) const override {
    const std::uint64_t groups = stored_.groups();  // of a byte each
    std::vector<std::byte> scales(static_cast<std::size_t>(count * groups));
    reader.Read(codes_.scales.tensor, (batch * stored_.rows + first) * groups, scales);
    return scales;
  }

  Place PlaceOf(std::uint64_t element) const override {
    const std::uint64_t part = element / kPartElements, first = part * kPartElements;
    return {part, first, first + std::min(kPartElements, codes_.elements - first)};
  }

  std::unique_ptr<const Part> Load(const formats::TensorReader& reader,
                                   std::uint64_t part) const override {
    const Place place = PlaceOf(part * kPartElements);
    const auto bits = static_cast<std::uint64_t>(codes_.form.bits);
    LoadedBlocks loaded;
    loaded.first_element = place.begin;
    loaded.block = codes_.block;
    loaded.first_block = place.begin / codes_.block;
    loaded.bits = codes_.form.bits;
    loaded.is_high_first = codes_.is_high_first;
    loaded.divisor = codes_.divisor;
    loaded.codes.resize(static_cast<std::size_t>(((place.end - place.begin) * bits + 7) / 8));
    reader.Read(codes_.tensor, place.begin * bits / 8,
                std::as_writable_bytes(std::span(loaded.codes)));
    loaded.values = LoadValues(reader);
    loaded.scales = LoadScales(reader, codes_.scales, loaded.first_block,
                               (place.end - 1) / codes_.block - loaded.first_block + 1);
    loaded.has_odd_scales = !std::ranges::all_of(
        loaded.scales, [&](float scale) { return IsWritten(codes_.scales, scale); });
    return std::make_unique<BlockPart>(std::move(loaded));
  }

  std::optional<ScaleFindings> CountScales(const formats::TensorReader& reader) const override {
    ScaleFindings found;
    const std::uint64_t blocks = (codes_.elements - 1) / codes_.block + 1;
    for (std::uint64_t first = 0; first < blocks; first += kCounted) {
      const std::vector<float> scales =
          LoadScales(reader, codes_.scales, first, std::min(kCounted, blocks - first));
      std::vector<double> odd(scales.size());
      std::ranges::transform(scales, odd.begin(), [&](float scale) {
        return IsWritten(codes_.scales, scale) ? 1.0 : double{scale};
      });
      found.Add(first, odd);
    }
    return found;
  }

 private:
  std::vector<float> LoadValues(const formats::TensorReader& reader) const {
    const std::uint64_t count = std::uint64_t{1} << codes_.form.bits;
    if (codes_.values) return ReadFloats(reader, *codes_.values, DataType::kFloat32, 0, count);
    std::vector<std::uint8_t> codes;
    for (unsigned i = 0; i < count; ++i) {
      if (codes_.form.bits == 8) {
        codes.push_back(static_cast<std::uint8_t>(i));
      } else if (i % 2 == 0) {
        codes.push_back(static_cast<std::uint8_t>(i | (i + 1) << 4u));
      }
    }
    std::vector<float> values(static_cast<std::size_t>(count));
    Require(tensorcast::Cast(codes_.element, std::as_bytes(std::span(codes)), DataType::kFloat32,
                             std::as_writable_bytes(std::span(values)), count));
    return values;
  }

  const BlockCodes codes_;
  StoredForm stored_;
};

}  // namespace

std::shared_ptr<const PackedWeight> MakeBlockCodes(BlockCodes codes) {
  return std::make_shared<const BlockCodesWeight>(std::move(codes));
}

}  // namespace tensorcast::scale
