// Three ways, each of which gives the same bytes. Exactly: as doubles rounded to odd, then cast.
// In float32, where that rounds once: cells whose scale is such are known by it. By tables, where
// many elements have one scale, or scales are few: an entry for each code, made one of these ways.
//
// Why a float32 serves: the product of a code and a scale is rounded to float32 and then to a
// narrower type. The second rounding is that of the exact product, unless the first one moved it
// onto a value halfway between two of the narrower type: there the significand ends in a one and
// zeros. A power of two changes no significand, so that the odd significands that codes have stand
// for them all; they are few, and all are tried with the scale.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/applier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/fp_environment.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

constexpr std::uint64_t kAppliedAtOnce = 2048;  // elements done at once
constexpr double kLargestFloat = std::numeric_limits<float>::max();
constexpr float kNotInFloat = std::numeric_limits<float>::quiet_NaN();
constexpr int kBiasOfPowers = 127;  // the code of the scale 1 of float8e8m0
// What is cut off products of at least this is a float32 and no subnormal one.
constexpr double kLeastProduct = 0x1p-100;
// Elements of a cell for which its table of all codes is worth making.
constexpr std::uint64_t kLeastForTable = 1024;

bool IsWide(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kBfloat16 || type == DataType::kFloat16;
}

// Whether a float32 of these bits, of a product that it does not hold, may have become a tie.
template <DataType kTo> bool MayBeTie(std::uint32_t bits) {
  if constexpr (kTo == DataType::kBfloat16) return (bits & 0xFFFF) == 0x8000;
  return (bits & 0xFFF) == 0;  // float16 has subnormals here, which are shorter
}

// Whether a product of `factor` and an odd integer below `end` may round twice.
template <DataType kTo> bool MayRoundTwice(float factor, int end) {
  bool found = false;
  for (int odd = 1; odd < end; odd += 2) {
    found |= MayBeTie<kTo>(std::bit_cast<std::uint32_t>(static_cast<float>(odd) * factor));
  }
  if (!found) return false;
  for (int odd = 1; odd < end; odd += 2) {
    const float product = static_cast<float>(odd) * factor;
    if (MayBeTie<kTo>(std::bit_cast<std::uint32_t>(product)) &&
        double{product} != odd * double{factor}) {
      return true;
    }
  }
  return false;
}

constexpr std::size_t kMostTableBytes = 2 * kByteCodes;

// The values of all codes of six and eight bits, over and over.
template <class Value>
std::vector<Value> ValuesOfCodes(DataType type, DataType as, const CastOptions& options,
                                 Target target) {
  std::byte codes[kByteCodes] = {};
  for (std::size_t i = 0; i < kByteCodes; ++i) {
    StoreCode(type, codes, i, i & detail::LowMask(FindType(type)->bits));
  }
  CastPlan plan;
  Require(CastPlan::Bind(type, as, options, &plan, target));
  std::vector<Value> values(kByteCodes);
  Require(plan.Run(codes, 0, std::as_writable_bytes(std::span(values)), 0, kByteCodes));
  return values;
}

// In integers, which compilers do in lanes.
bool HasNan(const float* values, std::size_t n) {
  std::int32_t most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    most = std::max(most, std::bit_cast<std::int32_t>(values[i]) & 0x7FFFFFFF);
  }
  return most > 0x7F800000;
}

// Whether codes that differ in their highest bit have values that differ in their signs.
bool AreMagnitudes(std::span<const float> values) {
  for (std::size_t i = 0; i < kByteCodes / 2; ++i) {
    const auto differing = std::bit_cast<std::uint32_t>(values[i]) ^
                           std::bit_cast<std::uint32_t>(values[i + kByteCodes / 2]);
    if (differing != 0x80000000) return false;
  }
  return true;
}

bool HasCodes(const CellScales& scales) { return scales.codes.size() >= scales.scales.size(); }

}  // namespace

Applier::Applier(const Scaling& scaling, const Partition& partition, double global, DataType to,
                 const CastOptions& options, Target target)
    : partition_(partition),
      dequantiser_(scaling, partition,
                   to == DataType::kFloat64 ? Rounding::kNearest : Rounding::kOdd, target),
      global_(global),
      to_(to),
      in_order_(IsInOrder(partition)) {
  Require(CastPlan::Bind(DataType::kFloat64, to, options, &of_double_, target));
  to_bytes_ = static_cast<std::uint64_t>(FindType(to)->bits) / 8;
  const TypeInfo& row = *FindType(scaling.element);
  bits_ = row.bits;
  digits_ = detail::NumbersOf(row).digits;
  if (in_order_) {
    log2_width_ = static_cast<unsigned>(std::countr_zero(partition.block_columns));
  }
  if (!IsWide(to) || scaling.zero_point || scaling.scale_use == Factor::kDivides) return;
  Require(CastPlan::Bind(scaling.element, DataType::kFloat32, options, &to_float_, target));
  Require(CastPlan::Bind(DataType::kFloat32, to, options, &of_float_, target));
  least_ = row.is_float() ? detail::LimitsOf(row).least_positive : 1;
  if (partition.block_columns >= kLeastCell) lanes_ = FindCellLanes(target);
  if (lanes_ == nullptr) return;
  multiplies_integers_ = scaling.element == DataType::kInt8 && lanes_->multiply_integers != nullptr;
  if (bits_ >= 6) {
    decoded_ = ValuesOfCodes<float>(scaling.element, DataType::kFloat32, options, target);
    code_lanes_ = bits_ == 6                ? lanes_->of_6_bits
                  : AreMagnitudes(decoded_) ? lanes_->of_magnitudes
                                            : lanes_->of_8_bits;
    if (to != DataType::kFloat16 && code_lanes_.multiply != nullptr) {
      // Eight significant bits are no more than bfloat16 has.
      const auto halves =
          ValuesOfCodes<std::uint16_t>(scaling.element, DataType::kBfloat16, options, target);
      values_.resize(TableBytes() / sizeof(TableLine));
      code_lanes_.fill(std::as_bytes(std::span(halves)).data(), values_.front().bytes);
    }
  }
  multiplies_halves_ = bits_ == 6 && to == DataType::kBfloat16 &&
                       scaling.scale == DataType::kFloat8E8M0 &&
                       lanes_->multiply_by_powers != nullptr;
  if (multiplies_halves_) {
    Require(CastPlan::Bind(scaling.element, to, options, &to_half_, target));
  }
  const bool few_scales = FindType(scaling.scale)->bits == 8;
  if (bits_ == 4 && few_scales && in_order_) {
    MakeNibbleTables(scaling, target);
  } else if (scaling.global_use != Factor::kNone) {
    lanes_ = nullptr;
  } else if (few_scales) {
    MakeFactors(scaling, target);
  }
}

void Applier::MakeFactors(const Scaling& scaling, Target target) {
  const auto scales = ValuesOfCodes<double>(scaling.scale, DataType::kFloat64, {}, target);
  const core::FpEnvironment environment;
  for (const double scale : scales) factors_.push_back(FactorOf(scale));
  if (code_lanes_.look_up_cells == nullptr || to_bytes_ != 2 || !in_order_ || log2_width_ < 5)
    return;
  MakeCellTables(scales);
  if (to_ == DataType::kBfloat16 && scaling.scale == DataType::kFloat8E8M0 &&
      code_lanes_.look_up_powers != nullptr) {
    MakePowers(scales);
  }
}

// Codes of eight bits that differ in their signs have results that do: those of NaN's scale have
// not, and are done another way. Where that is so of other scales, too, there are no tables.
void Applier::MakeCellTables(std::span<const double> scales) {
  const std::size_t values = code_lanes_.values;
  std::vector<TableLine> tables(kByteCodes * TableBytes() / sizeof(TableLine));
  for (std::size_t i = 0; i < kByteCodes; ++i) {
    std::uint16_t results[kByteCodes];
    ResultsUnder(scales[i], std::as_writable_bytes(std::span(results)).data());
    for (std::size_t code = 0; bits_ == 8 && code < values; ++code) {
      if ((results[code] ^ results[code + values]) == 0x8000) continue;
      if (untabled_) return;
      untabled_ = static_cast<std::byte>(i);
      break;
    }
    code_lanes_.fill(std::as_bytes(std::span(results)).data(),
                     tables.front().bytes + TableBytes() * i);
  }
  tables_ = std::move(tables);
}

// A bfloat16 has as many exponents as a float32.
void Applier::MakePowers(std::span<const double> scales) {
  const auto is_finite = [](float value) { return std::isfinite(value); };
  const auto magnitudes = std::span(decoded_).first(bits_ == 8 ? kByteCodes / 2 : kByteCodes / 8);
  const auto special = std::ranges::find_if_not(magnitudes, is_finite);
  least_special_ = static_cast<unsigned>(special - magnitudes.begin());
  const double largest = magnitudes[least_special_ - 1];
  const auto fits = [&](double scale) {
    return scale * least_ >= 0x1p-126 && scale * largest < 0x1p128;
  };
  const auto first = std::ranges::find_if(scales, fits);
  powers_.first = static_cast<int>(first - scales.begin());
  powers_.second = static_cast<int>(std::find_if_not(first, scales.end(), fits) - scales.begin());
}

// A row of all codes for each scale.
void Applier::MakeNibbleTables(const Scaling& scaling, Target target) {
  const Partition rows = {1, kByteCodes, kNibbles, 1, kNibbles};
  std::byte codes[kByteCodes * kNibbles / 2];
  for (std::size_t i = 0; i < sizeof(codes); ++i) {
    codes[i] = static_cast<std::byte>((2 * i + 1) % kNibbles << 4 | 2 * i % kNibbles);
  }
  const auto scales = ValuesOfCodes<double>(scaling.scale, DataType::kFloat64, {}, target);
  std::vector<double> values(kByteCodes * kNibbles);
  Dequantiser(scaling, rows, Rounding::kOdd, target)
      .Run(codes, 0, 0, values.size(), {0, scales, {}, global_}, values);
  std::vector<std::byte> results(values.size() * to_bytes_);
  Require(of_double_.Run(std::as_bytes(std::span(values)), 0, results, 0, values.size()));
  nibbles_.resize(results.size() / sizeof(TableLine));
  std::byte* const tables = nibbles_.front().bytes;
  for (std::size_t i = 0; i < results.size(); i += kNibbles * to_bytes_) {
    (to_bytes_ == 2 ? lanes_->fill_16 : lanes_->fill_32)(results.data() + i, tables + i);
  }
}

float Applier::FactorOf(double scale) const {
  const auto factor = static_cast<float>(scale);  // scales are float32s at most
  const double magnitude = std::fabs(scale);
  if (!(magnitude > 0 && magnitude <= kLargestFloat)) return kNotInFloat;
  if (to_ == DataType::kFloat32) return factor;
  if (multiplies_integers_) return magnitude >= kLeastProduct ? factor : kNotInFloat;
  if (magnitude * least_ < 0x1p-126) return kNotInFloat;
  const auto bits = std::bit_cast<std::uint32_t>(factor);
  if (digits_ <= std::countr_zero(bits | 0x800000)) return factor;  // products are exact
  const bool twice = to_ == DataType::kBfloat16
                         ? MayRoundTwice<DataType::kBfloat16>(factor, 1 << digits_)
                         : MayRoundTwice<DataType::kFloat16>(factor, 1 << digits_);
  return twice ? kNotInFloat : factor;
}

void Applier::Run(std::span<const std::byte> codes, std::uint64_t codes_first, std::uint64_t first,
                  std::uint64_t n, const CellScales& scales, std::span<std::byte> out) const {
  RequireStretch(partition_, first, n, scales.first, scales.scales.size());
  const std::uint64_t held = codes.size() * 8 / static_cast<unsigned>(bits_);
  if (codes_first > held || n > held - codes_first || !StorageBytes(to_, n) ||
      *StorageBytes(to_, n) > out.size()) {
    Require(Status(StatusCode::kBufferTooSmall));
  }
  if (n == 0) return;
  const core::FpEnvironment environment;
  const Call call = {codes, codes_first, first, scales, out};
  if (lanes_ == nullptr) return RunExactly(call, 0, n);
  if (!nibbles_.empty() && !HasCodes(scales)) return RunExactly(call, 0, n);
  const CellRange cells = partition_.CellsOf(first, n);
  if (!nibbles_.empty() || HasTables(scales, cells)) {
    // Whole groups that begin with a byte; what stands before and behind them is little.
    const std::uint64_t group = nibbles_.empty() ? 32 : kNibbles;
    const std::uint64_t head = std::min(n, (group - first % group) % group);
    std::uint64_t body = (n - head) / group * group;
    if ((codes_first + head) * static_cast<unsigned>(bits_) % 8 != 0) body = 0;
    RunExactly(call, 0, head);
    if (nibbles_.empty()) {
      RunByPowers(call, head, body);
    } else {
      RunByNibbles(call, head, body);
    }
    return RunExactly(call, head + body, n - head - body);
  }
  if (code_lanes_.look_up != nullptr && bits_ == 8 && to_bytes_ == 2 &&
      n / cells.count >= kLeastForTable) {
    return RunByTables(call, n, cells);
  }
  RunInFloat(call, n, cells);
}

const std::byte* Applier::CodesAt(const Call& call, std::uint64_t done) const {
  return call.codes.data() + (call.codes_first + done) * static_cast<unsigned>(bits_) / 8;
}

// Whether each of the cells' scales has a table.
bool Applier::HasTables(const CellScales& scales, CellRange cells) const {
  if (tables_.empty() || !HasCodes(scales)) return false;
  const auto* const codes = scales.codes.data() + (cells.first - scales.first);
  return !untabled_ || std::memchr(codes, std::to_integer<int>(*untabled_),
                                   static_cast<std::size_t>(cells.count)) == nullptr;
}

void Applier::RunExactly(const Call& call, std::uint64_t done, std::uint64_t n) const {
  alignas(64) double values[kBlock];
  for (const std::uint64_t end = done + n; done < end;) {
    const std::uint64_t some = std::min(end - done, kBlock);
    CellScales scales = call.scales;
    scales.global = global_;
    dequantiser_.Run(call.codes, call.codes_first + done, call.first + done, some, scales, values);
    Require(of_double_.Run(std::as_bytes(std::span(values)), 0, call.out, done, some));
    done += some;
  }
}

void Applier::RunByNibbles(const Call& call, std::uint64_t done, std::uint64_t n) const {
  // Groups of nibbles, not elements, are counted.
  const std::uint64_t group = (call.first + done) / kNibbles;
  const unsigned log2_groups = log2_width_ - static_cast<unsigned>(std::countr_zero(kNibbles));
  const std::uint64_t cell = group >> log2_groups;
  const CellsInOrder cells = {log2_groups, static_cast<std::size_t>(group - (cell << log2_groups))};
  (to_bytes_ == 2 ? lanes_->look_up_16 : lanes_->look_up_32)(
      CodesAt(call, done), static_cast<std::size_t>(n / kNibbles), nibbles_.front().bytes,
      call.scales.codes.data() + (cell - call.scales.first), cells,
      call.out.data() + done * to_bytes_);
}

void Applier::RunTransposed(const std::byte* codes, std::uint64_t code_stride,
                            const Rectangle& rectangle, const std::byte* scales,
                            std::uint64_t scale_stride, std::byte* out,
                            std::uint64_t out_stride) const {
  constexpr std::uint64_t kMostColumns = 128;
  constexpr std::uint64_t kTileRows = 32;  // a line of the cache of each column
  alignas(64) std::byte tile[kTileRows * kMostColumns * sizeof(float)];
  const unsigned log2_groups = log2_width_ - static_cast<unsigned>(std::countr_zero(kNibbles));
  const auto look_up = to_bytes_ == 2 ? lanes_->look_up_16 : lanes_->look_up_32;
  const auto transpose = to_bytes_ == 2 ? lanes_->transpose_16 : lanes_->transpose_32;
  const std::uint64_t first_group = rectangle.column / kNibbles;
  const std::uint64_t first_cell = first_group >> log2_groups;
  for (std::uint64_t c = 0; c < rectangle.columns; c += kMostColumns) {
    const std::uint64_t columns = std::min(kMostColumns, rectangle.columns - c);
    const std::uint64_t group = first_group + c / kNibbles, cell = group >> log2_groups;
    const CellsInOrder cells = {log2_groups,
                                static_cast<std::size_t>(group - (cell << log2_groups))};
    for (std::uint64_t r = 0; r < rectangle.rows; r += kTileRows) {
      const std::uint64_t rows = std::min(kTileRows, rectangle.rows - r);
      for (std::uint64_t i = 0; i < rows; ++i) {
        look_up(codes + (r + i) * code_stride + c / 2, columns / kNibbles, nibbles_.front().bytes,
                scales + (r + i) * scale_stride + (cell - first_cell), cells,
                tile + i * columns * to_bytes_);
      }
      transpose(tile, columns, rows, columns, out + (c * out_stride + r) * to_bytes_, out_stride);
    }
  }
}

void Applier::RunInFloat(const Call& call, std::uint64_t n, CellRange cells) const {
  std::vector<float> factors(static_cast<std::size_t>(cells.count));
  const std::uint64_t skipped = cells.first - call.scales.first;
  if (!factors_.empty() && HasCodes(call.scales)) {
    const std::byte* const codes = call.scales.codes.data() + skipped;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      factors[i] = factors_[std::to_integer<std::size_t>(codes[i])];
    }
  } else {
    const double* const scales = call.scales.scales.data() + skipped;
    for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = FactorOf(scales[i]);
  }
  alignas(64) float decoded[kAppliedAtOnce];
  const bool at_once = to_ == DataType::kFloat32 && !values_.empty() &&
                       (bits_ == 8 || (in_order_ && call.codes_first % kLeastCell == 0 &&
                                       call.first % kLeastCell == 0));
  // No product of a code of six bits with such a factor is subnormal or infinite.
  const bool of_halves = multiplies_halves_ && AreNearOne(factors);
  std::byte* const halves = reinterpret_cast<std::byte*>(decoded);
  for (std::uint64_t done = 0; done < n; done += kAppliedAtOnce) {
    const std::uint64_t some = std::min(n - done, kAppliedAtOnce), first = call.first + done;
    // float32 is decoded where it is wanted, or with its factors at once.
    std::byte* const values = to_ == DataType::kFloat32 ? call.out.data() + done * to_bytes_
                                                        : reinterpret_cast<std::byte*>(decoded);
    if (of_halves) {
      Require(to_half_.Run(call.codes, call.codes_first + done, {halves, some * 2}, 0, some));
    } else if (!at_once && !multiplies_integers_) {
      Require(to_float_.Run(call.codes, call.codes_first + done, {values, some * sizeof(float)}, 0,
                            some));
    }
    bool is_exact = true;
    ForEachRunOfCells(
        partition_, first, some,
        [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length, const CellsInOrder& order) {
          const float* const run = factors.data() + (cell - cells.first);
          const std::uint64_t count = ((order.skipped + length - 1) >> order.log2_width) + 1;
          is_exact = is_exact && !HasNan(run, static_cast<std::size_t>(count));
          if (!is_exact) return;
          if (of_halves) {
            return lanes_->multiply_by_powers(halves + 2 * at, call.out.data() + (done + at) * 2,
                                              length, run, order);
          }
          if (multiplies_integers_) {
            return lanes_->multiply_integers(CodesAt(call, done + at), length, run, order, to_,
                                             call.out.data() + (done + at) * to_bytes_);
          }
          std::byte* const at_run = values + at * sizeof(float);
          if (!at_once) return lanes_->multiply(at_run, at_run, length, run, order);
          code_lanes_.multiply(CodesAt(call, done + at), length, values_.front().bytes, run, order,
                               at_run);
        });
    if (!is_exact) {
      RunExactly(call, done, some);
    } else if (to_ != DataType::kFloat32 && !multiplies_integers_ && !of_halves) {
      Require(of_float_.Run(std::as_bytes(std::span(decoded)), 0, call.out, done, some));
    }
  }
}

void Applier::RunByTables(const Call& call, std::uint64_t n, CellRange cells) const {
  const double* const scales = call.scales.scales.data() + (cells.first - call.scales.first);
  const auto look_up = [&](std::uint64_t at, std::uint64_t length, const std::byte* tables,
                           const CellsInOrder& order) {
    code_lanes_.look_up(CodesAt(call, at), length, tables, order, call.out.data() + at * to_bytes_);
  };
  // A row is a cell: one table after the other, and no division.
  if (partition_.block_columns >= partition_.columns && partition_.block_rows == 1 &&
      !partition_.shares_cells) {
    alignas(64) std::byte table[kMostTableBytes];
    std::uint64_t at = 0, column = call.first % partition_.columns;
    for (std::size_t i = 0; at < n; ++i) {
      const std::uint64_t length = std::min(n - at, partition_.columns - column);
      if (MakeTable(scales[i], table)) {
        look_up(at, length, table, {});
      } else {
        RunExactly(call, at, length);
      }
      at += length;
      column = 0;
    }
    return;
  }
  std::vector<TableLine> tables(static_cast<std::size_t>(cells.count) * TableBytes() /
                                sizeof(TableLine));
  for (std::size_t i = 0; i < cells.count; ++i) {
    if (!MakeTable(scales[i], tables.front().bytes + i * TableBytes())) {
      return RunInFloat(call, n, cells);
    }
  }
  ForEachRunOfCells(
      partition_, call.first, n,
      [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length, const CellsInOrder& order) {
        look_up(at, length, tables.front().bytes + (cell - cells.first) * TableBytes(), order);
      });
}

// False where the scale has none.
bool Applier::MakeTable(double scale, std::byte* table) const {
  const double magnitude = std::fabs(scale);
  if (!(magnitude * least_ >= kLeastProduct && magnitude <= kLargestFloat)) return false;
  code_lanes_.fill_with_products(decoded_.data(), static_cast<float>(scale),
                                 to_ == DataType::kBfloat16, table);
  return true;
}

void Applier::RunByPowers(const Call& call, std::uint64_t done, std::uint64_t n) const {
  if (n == 0) return;
  const CellRange cells = partition_.CellsOf(call.first + done, n);
  const auto* const scales = reinterpret_cast<const std::uint8_t*>(call.scales.codes.data()) +
                             (cells.first - call.scales.first);
  std::uint8_t least = 0xFF, most = 0;
  for (std::uint64_t i = 0; i < cells.count; ++i) {
    least = std::min(least, scales[i]);
    most = std::max(most, scales[i]);
  }
  if (least < powers_.first || most >= powers_.second) return RunByCells(call, done, n);
  for (const std::uint64_t end = done + n; done < end;) {
    const std::uint64_t first = call.first + done, cell = first >> log2_width_;
    done += code_lanes_.look_up_powers(
        CodesAt(call, done), static_cast<std::size_t>(end - done), values_.front().bytes,
        least_special_, kBiasOfPowers, call.scales.codes.data() + (cell - call.scales.first),
        {log2_width_, static_cast<std::size_t>(first - (cell << log2_width_))},
        call.out.data() + done * to_bytes_);
    if (done == end) return;
    const std::uint64_t some = std::min<std::uint64_t>(end - done, 64);
    RunByCells(call, done, some);
    done += some;
  }
}

void Applier::RunByCells(const Call& call, std::uint64_t done, std::uint64_t n) const {
  const std::uint64_t first = call.first + done, cell = first >> log2_width_;
  code_lanes_.look_up_cells(CodesAt(call, done), static_cast<std::size_t>(n), tables_.front().bytes,
                            call.scales.codes.data() + (cell - call.scales.first),
                            {log2_width_, static_cast<std::size_t>(first - (cell << log2_width_))},
                            call.out.data() + done * to_bytes_);
}

void Applier::ResultsUnder(double scale, std::byte* results) const {
  alignas(64) float products[kByteCodes];
  const std::span<std::byte> room(results, kMostTableBytes);
  const float factor = FactorOf(scale);
  if (factor == factor) {
    lanes_->multiply(reinterpret_cast<const std::byte*>(decoded_.data()),
                     reinterpret_cast<std::byte*>(products), kByteCodes, &factor, {});
    Require(of_float_.Run(std::as_bytes(std::span(products)), 0, room, 0, kByteCodes));
  } else {
    alignas(64) double values[kByteCodes];
    dequantiser_.RunCell(decoded_.data(), values, kByteCodes, scale, global_);
    Require(of_double_.Run(std::as_bytes(std::span(values)), 0, room, 0, kByteCodes));
  }
}

}  // namespace tensorcast::scale
