// A row at a time: what its groups span, their numbers, the codes, and, where measured, what all of
// the rows lost. In lanes where a group's codes are multiples of its scale, else in double.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/group_quantiser.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/failure.h"
#include "core/fp_environment.h"
#include "core/loss.h"
#include "scale/code_writer.h"
#include "scale/scale_search.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

void AppendLines(const CodeLines& more, CodeLines& lines) {
  if (lines.bytes.empty()) {
    lines = more;
    return;
  }
  lines.bytes.resize(lines.bytes.size() - kLinePadding);
  lines.bytes.insert(lines.bytes.end(), more.bytes.begin(), more.bytes.end());
}

// The least magnitude whose code would be past one that is `far` from 0, ties being even.
double EndOf(int far, double scale) {
  const double end = (far + 0.5) * scale;  // a normal number
  return far % 2 == 0 ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(end) + 1) : end;
}

}  // namespace

void MadeGroups::Append(const MadeGroups& more) {
  AppendLines(more.codes, codes);
  AppendLines(more.zeros, zeros);
  scales.insert(scales.end(), more.scales.begin(), more.scales.end());
  biases.insert(biases.end(), more.biases.begin(), more.biases.end());
}

GroupQuantiser::GroupQuantiser(DataType source, const GroupRule& rule, std::uint64_t columns,
                               std::uint64_t group, Target target)
    : source_(source),
      rule_(rule),
      columns_(columns),
      group_(group),
      groups_(columns / group + (columns % group != 0)),
      is_bfloat16_(source == DataType::kBfloat16),
      element_bytes_(is_bfloat16_ ? 2 : sizeof(float)),
      target_(target),
      maker_(source, rule, target) {
  const TypeInfo* const row = FindType(source);
  if (row == nullptr || !row->is_float() || !row->has_zero) {
    throw core::Failure(StatusCode::kInvalidType, "integers in groups are made of floats, not of " +
                                                      std::string(TypeName(source)));
  }
  Require(CastPlan::Bind(source, DataType::kFloat64, {}, &value_of_source_, target));
  // Groups that lanes take begin at whole bytes.
  const bool is_whole = groups_ == 1 || (columns % group == 0 && group % kLeastCell == 0);
  if (source == DataType::kFloat64 || !rule.has_multiples() || !is_whole || columns < kLeastCell) {
    return;
  }
  Require(CastPlan::Bind(source, DataType::kFloat32, {}, &float_of_source_, target));
  lanes_ = FindCellLanes(target);
}

std::span<const double> GroupQuantiser::ValuesOf(SourceRow& row) const {
  if (!row.has_values) {
    row.values.resize(static_cast<std::size_t>(columns_));
    Require(value_of_source_.Run(row.source, row.first,
                                 std::as_writable_bytes(std::span(row.values)), 0, columns_));
    row.has_values = true;
  }
  return row.values;
}

void GroupQuantiser::FindElements(SourceRow& row) const {
  if (is_bfloat16_ || source_ == DataType::kFloat32) {
    RequireHeld(row.source.size() / element_bytes_, row.first, columns_);
    row.elements = row.source.data() + row.first * element_bytes_;
    return;
  }
  row.floats.resize(static_cast<std::size_t>(columns_));
  const auto room = std::as_writable_bytes(std::span(row.floats));
  Require(float_of_source_.Run(row.source, row.first, room, 0, columns_));
  row.elements = room.data();
}

template <class Visit> void GroupQuantiser::ForEachGroup(const Visit& visit) const {
  for (std::uint64_t g = 0, begin = 0; g < groups_; ++g, begin += group_) {
    visit(static_cast<std::size_t>(g), static_cast<std::size_t>(begin),
          static_cast<std::size_t>(std::min(group_, columns_ - begin)));
  }
}

void GroupQuantiser::FindRanges(SourceRow& row, std::span<GroupRange> ranges) const {
  if (lanes_ != nullptr) return FindRangesInLanes(row, ranges);
  const double* const x = ValuesOf(row).data();
  ForEachGroup([&](std::size_t g, std::size_t begin, std::size_t n) {
    ranges[g] = maker_.RangeOf(x + begin, n);
  });
}

void GroupQuantiser::FindRangesInLanes(const SourceRow& row, std::span<GroupRange> ranges) const {
  if (rule_.is_asymmetric) {
    return ForEachGroup([&](std::size_t g, std::size_t begin, std::size_t n) {
      float least = 0, most = 0;
      lanes_->range_of(row.elements + begin * element_bytes_, is_bfloat16_, n, &least, &most);
      ranges[g] = {least, most};
    });
  }
  constexpr std::size_t kAtOnce = 64;
  std::array<std::uint32_t, kAtOnce> found;
  constexpr std::uint16_t kInfinity = 0x7F80;  // bfloat16's
  const auto width = static_cast<std::size_t>(std::min(group_, columns_));
  for (std::size_t g = 0; g < ranges.size(); g += kAtOnce) {
    const std::size_t some = std::min(kAtOnce, ranges.size() - g);
    const std::byte* const from = row.elements + g * width * element_bytes_;
    if (is_bfloat16_) {
      lanes_->largest_16(from, some, width, kInfinity, found.data());
    } else {
      lanes_->largest_32(from, some, width, found.data());
    }
    for (std::size_t i = 0; i < some; ++i) {
      ranges[g + i] = {0, std::bit_cast<float>(found[i] << (is_bfloat16_ ? 16 : 0))};
    }
  }
}

std::optional<std::uint64_t> GroupQuantiser::FindNumbers(SourceRow& row,
                                                         std::span<GroupRange> ranges,
                                                         std::span<GroupNumbersMade> numbers,
                                                         SearchedErrors* gained) const {
  std::optional<std::uint64_t> failed;
  if (rule_.is_fitted()) {
    const double* const x = ValuesOf(row).data();
    ForEachGroup([&](std::size_t g, std::size_t begin, std::size_t n) {
      const auto found = failed ? std::nullopt : maker_.FindFitted(x + begin, n);
      if (found) numbers[g] = *found;
      if (!found && !failed) failed = g;
    });
  } else {
    FindRanges(row, ranges);
    failed = maker_.FindPlain(ranges, numbers);
  }
  if (failed || !IsSearch(rule_.rule)) return failed;
  const double* const x = ValuesOf(row).data();
  ForEachGroup([&](std::size_t g, std::size_t begin, std::size_t n) {
    numbers[g] = maker_.Search(x + begin, n, numbers[g], gained);
  });
  return std::nullopt;
}

// In lanes codes of four bits are not kept within their range yet: ClampAndPack does that. False
// where a scale is negative, as a search finds some, or out of the ordinary.
bool GroupQuantiser::DivideInLanes(const SourceRow& row, std::span<const GroupNumbersMade> numbers,
                                   std::byte* codes) const {
  constexpr std::size_t kAtOnce = 64;  // groups
  const Partition of_row = {1, 1, columns_, 1, group_};
  std::array<double, kAtOnce> scales, divisors;
  std::array<float, kAtOnce> factors;
  for (std::size_t g = 0; g < numbers.size(); g += kAtOnce) {
    const std::size_t some = std::min(kAtOnce, numbers.size() - g);
    for (std::size_t i = 0; i < some; ++i) scales[i] = numbers[g + i].scale;
    // So that factors, and quotients near a tie, are normal float32s.
    if (!lanes_->factors_of(scales.data(), some, 1, 1, 0x1p-100, 0x1p100, factors.data(),
                            divisors.data())) {
      return false;
    }
    const std::uint64_t begin = g * group_, end = std::min(columns_, (g + some) * group_);
    ForEachRunOfCells(
        of_row, begin, end - begin,
        [&](std::uint64_t cell, std::uint64_t at, std::uint64_t n, const CellsInOrder& order) {
          const auto first = static_cast<std::size_t>(begin + at);
          const Divisors by = {factors.data() + (cell - g), divisors.data() + (cell - g), 1};
          lanes_->divide_to_integers(row.elements + first * element_bytes_, is_bfloat16_,
                                     codes + first, static_cast<std::size_t>(n), by, order, -128);
        });
  }
  return true;
}

void GroupQuantiser::MakeCodes(SourceRow& row, std::span<const GroupNumbersMade> numbers,
                               std::byte* codes) const {
  if (lanes_ != nullptr && DivideInLanes(row, numbers, codes)) return;
  const double* const x = ValuesOf(row).data();
  ForEachGroup([&](std::size_t g, std::size_t begin, std::size_t n) {
    maker_.CodesOf(x + begin, n, numbers[g], codes + begin);
  });
}

void GroupQuantiser::ClampAndPack(std::span<const GroupNumbersMade> numbers, std::byte* codes,
                                  std::byte* line) const {
  if (lanes_ != nullptr && rule_.bits == 4) {
    return ForEachGroup([&](std::size_t g, std::size_t begin, std::size_t n) {
      lanes_->pack_nibbles(codes + begin, n, rule_.ZeroCodeOf(numbers[g]), line + begin / 2);
    });
  }
  const auto columns = static_cast<std::size_t>(columns_);
  std::vector<std::uint8_t> stored(columns);
  ForEachGroup([&](std::size_t g, std::size_t begin, std::size_t n) {
    const int zero = rule_.has_multiples() ? rule_.ZeroCodeOf(numbers[g]) : 0;
    for (std::size_t i = begin; i < begin + n; ++i) {
      stored[i] = static_cast<std::uint8_t>(std::to_integer<int>(codes[i]) + zero);
    }
  });
  PackCodes(stored, rule_.bits, line);
}

void GroupQuantiser::Store(const std::vector<GroupNumbersMade>& made,
                           double GroupNumbersMade::*number, std::vector<std::byte>& to) const {
  std::vector<double> column(made.size());
  std::ranges::transform(made, column.begin(), number);
  to.resize(made.size() * static_cast<std::size_t>(FindType(rule_.scale)->bits) / 8);
  maker_.Store(column, to);
}

std::optional<std::uint64_t> GroupQuantiser::Encode(std::span<const std::byte> x,
                                                    std::uint64_t x_first, std::uint64_t first,
                                                    std::uint64_t rows, MadeGroups& made,
                                                    LossMeter* loss, SearchedErrors* gained) const {
  const core::FpEnvironment environment;
  const auto columns = static_cast<std::size_t>(columns_);
  const auto groups = static_cast<std::size_t>(groups_);
  made.codes = MakeLines(rows, columns_, rule_.bits);
  made.zeros = MakeLines(rows, groups_, rule_.bits);
  MadeRows all;
  all.numbers.resize(static_cast<std::size_t>(rows) * groups);
  all.codes.resize(loss != nullptr ? static_cast<std::size_t>(rows) * columns : columns);
  std::vector<GroupRange> ranges(groups);
  std::vector<std::uint8_t> zeros(groups);
  SourceRow row = {x, x_first};
  for (std::size_t r = 0; r < rows; ++r, row.first += columns_) {
    row.has_values = false;
    if (lanes_ != nullptr) FindElements(row);
    const auto numbers = std::span(all.numbers).subspan(r * groups, groups);
    if (const auto failed = FindNumbers(row, ranges, numbers, gained)) return r * groups + *failed;
    std::byte* const codes = all.codes.data() + (loss != nullptr ? r * columns : 0);
    MakeCodes(row, numbers, codes);
    ClampAndPack(numbers, codes, made.codes.bytes.data() + r * made.codes.stride);
    std::ranges::transform(numbers, zeros.begin(), [](const GroupNumbersMade& of) {
      return static_cast<std::uint8_t>(of.zero);
    });
    PackCodes(zeros, rule_.bits, made.zeros.bytes.data() + r * made.zeros.stride);
  }
  made.biases.clear();
  Store(all.numbers, &GroupNumbersMade::scale, made.scales);
  if (rule_.has_biases) Store(all.numbers, &GroupNumbersMade::bias, made.biases);
  if (loss != nullptr) Measure(x, x_first, first, all, loss);
  return std::nullopt;
}

core::ScaledResults::Cell GroupQuantiser::CellOf(const GroupNumbersMade& numbers,
                                                 std::size_t end) const {
  const double size = std::fabs(numbers.scale);
  const int zero = rule_.ZeroCodeOf(numbers);
  double up = std::numeric_limits<double>::infinity(), down = up;
  if (!rule_.is_fitted()) {
    up = EndOf(rule_.codes() - 1 - zero, size);
    down = EndOf(zero, size);
    if (numbers.scale < 0) std::swap(up, down);
  }
  return {end, {up, down, size}, {rule_.has_multiples() ? size : 0, 0}};
}

void GroupQuantiser::FindResults(const Partition& partition, const MadeBlock& block,
                                 const std::vector<GroupNumbersMade>& numbers, double* results,
                                 std::span<std::byte> stored) const {
  std::ranges::fill(stored, std::byte{0});
  ForEachRun(
      partition, block.first, block.n, [&](std::uint64_t group, std::uint64_t at, std::uint64_t n) {
        const GroupNumbersMade& of = numbers[group];
        // The least code is that of -middle, and a multiple lacks the code of 0.
        const int more = (rule_.has_multiples() ? rule_.ZeroCodeOf(of) : 0) - rule_.middle();
        for (auto k = static_cast<std::size_t>(at); k < at + n; ++k) {
          results[k] = maker_.ValueOf(block.codes[k], of);
          const auto code = static_cast<unsigned>(std::to_integer<int>(block.codes[k]) + more);
          if (rule_.bits == 8) {
            stored[k] = static_cast<std::byte>(code & 0xFF);
          } else {
            stored[k / 2] |= static_cast<std::byte>((code & 15) << k % 2 * 4);
          }
        }
      });
}

void GroupQuantiser::Measure(std::span<const std::byte> x, std::uint64_t x_first,
                             std::uint64_t first, const MadeRows& made, LossMeter* loss) const {
  alignas(64) double values[kBlock], results[kBlock];
  core::ScaledResults::Cell cells[kBlock];
  std::array<std::byte, kBlock> stored;  // for examples, which only MeasureScaled asks for
  const TypeInfo* const element = FindType(rule_.bits == 4 ? DataType::kInt4 : DataType::kInt8);
  core::ScaledResults scaled = {results, cells};
  if (rule_.has_multiples()) scaled.multiples_type = FindType(DataType::kInt8);
  const Partition partition = {1, made.numbers.size() / groups_, columns_, 1, group_};
  ForEachBlock(first, made.codes.size(), [&](std::uint64_t done, std::uint64_t some) {
    const MadeBlock block = {done, static_cast<std::size_t>(some), made.codes.data() + done};
    core::ScaledResults::Cell* next = cells;
    ForEachRun(partition, done, some, [&](std::uint64_t group, std::uint64_t at, std::uint64_t n) {
      *next++ = CellOf(made.numbers[group], static_cast<std::size_t>(at + n));
    });
    if (rule_.has_multiples()) scaled.multiples = block.codes;
    const core::LossView view = {FindType(source_), element, x.data(), x_first + done,
                                 stored.data(),     0,       &scaled};
    if (core::MeasureScaledCodes(*loss, view, block.n, first + done, target_)) return;
    Require(value_of_source_.Run(x, x_first + done, std::as_writable_bytes(std::span(values)), 0,
                                 some));
    FindResults(partition, block, made.numbers, results, stored);
    Require(core::MeasureScaled(*loss, view, values, block.n, first + done, target_));
  });
}

LossMeter GroupQuantiser::Meter() const {
  CastOptions options;
  options.integer_overflow = IntegerOverflow::kSaturate;
  return LossMeter(source_, rule_.bits == 4 ? DataType::kInt4 : DataType::kInt8, options);
}

}  // namespace tensorcast::scale
