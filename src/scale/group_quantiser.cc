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
      row_(Partition::OfGroups(std::span(&columns_, 1), group)),
      target_(target),
      maker_(source, rule, target) {
  const TypeInfo* const row = FindType(source);
  if (row == nullptr || !row->is_float() || !row->has_zero) {
    throw core::Failure(StatusCode::kInvalidType, "integers in groups are made of floats, not of " +
                                                      std::string(TypeName(source)));
  }
  CastOptions nearest;
  nearest.saturate = false;
  Require(CastPlan::Bind(source, DataType::kFloat64, {}, &value_of_source_, target));
  Require(CastPlan::Bind(DataType::kFloat64, rule.scale, nearest, &store_, target));
  // Groups that lanes take begin at whole bytes.
  const bool is_whole = groups_ == 1 || (columns % group == 0 && group % kLeastCell == 0);
  if (source == DataType::kFloat64 || !rule.has_multiples() || !is_whole || columns < kLeastCell) {
    return;
  }
  Require(CastPlan::Bind(source, DataType::kFloat32, {}, &float_of_source_, target));
  lanes_ = FindCellLanes(target);
}

std::span<const double> GroupQuantiser::ValuesOf(Row& row) const {
  if (!row.has_values) {
    row.values.resize(static_cast<std::size_t>(columns_));
    Require(value_of_source_.Run(row.source, row.first,
                                 std::as_writable_bytes(std::span(row.values)), 0, columns_));
    row.has_values = true;
  }
  return row.values;
}

void GroupQuantiser::FindElements(Row& row) const {
  const std::uint64_t bytes = source_ == DataType::kBfloat16 ? 2 : sizeof(float);
  if (source_ == DataType::kBfloat16 || source_ == DataType::kFloat32) {
    RequireHeld(row.source.size() / bytes, row.first, columns_);
    row.elements = row.source.data() + row.first * bytes;
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

void GroupQuantiser::FindRanges(Row& row, std::span<GroupRange> ranges) const {
  if (lanes_ != nullptr) return FindRangesInLanes(row, ranges);
  const double* const x = ValuesOf(row).data();
  ForEachGroup([&](std::size_t g, std::size_t begin, std::size_t n) {
    ranges[g] = maker_.RangeOf(x + begin, n);
  });
}

void GroupQuantiser::FindRangesInLanes(const Row& row, std::span<GroupRange> ranges) const {
  const bool is_half = source_ == DataType::kBfloat16;
  const std::size_t bytes = is_half ? 2 : sizeof(float);
  if (rule_.is_asymmetric) {
    return ForEachGroup([&](std::size_t g, std::size_t begin, std::size_t n) {
      float least = 0, most = 0;
      lanes_->range_of(row.elements + begin * bytes, is_half, n, &least, &most);
      ranges[g] = {least, most};
    });
  }
  constexpr std::size_t kAtOnce = 64;
  std::array<std::uint32_t, kAtOnce> found;
  constexpr std::uint16_t kInfinity = 0x7F80;  // a bfloat16
  const auto width = static_cast<std::size_t>(std::min(group_, columns_));
  for (std::size_t g = 0; g < ranges.size(); g += kAtOnce) {
    const std::size_t some = std::min(kAtOnce, ranges.size() - g);
    const std::byte* const from = row.elements + g * width * bytes;
    if (is_half) {
      lanes_->largest_16(from, some, width, kInfinity, found.data());
    } else {
      lanes_->largest_32(from, some, width, found.data());
    }
    for (std::size_t i = 0; i < some; ++i) {
      ranges[g + i] = {0, std::bit_cast<float>(found[i] << (is_half ? 16 : 0))};
    }
  }
}

std::optional<std::uint64_t> GroupQuantiser::FindNumbers(Row& row, std::span<GroupRange> ranges,
                                                         std::span<GroupNumbersMade> numbers,
                                                         SearchedErrors* gained) const {
  std::optional<std::uint64_t> failed;
  if (rule_.is_fitted()) {
    const double* const x = ValuesOf(row).data();
    ForEachGroup([&](std::size_t g, std::size_t begin, std::size_t n) {
      const auto found = maker_.FindFitted(x + begin, n);
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

// In lanes codes of four bits are not kept within their range yet: Pack does it. False where a
// scale is out of the ordinary.
bool GroupQuantiser::DivideInLanes(const Row& row, std::span<const GroupNumbersMade> numbers,
                                   std::byte* codes) const {
  constexpr std::size_t kAtOnce = 64;  // groups
  const bool is_half = source_ == DataType::kBfloat16;
  const std::size_t bytes = is_half ? 2 : sizeof(float);
  std::array<double, kAtOnce> scales, divisors;
  std::array<float, kAtOnce> factors;
  for (std::size_t g = 0; g < numbers.size(); g += kAtOnce) {
    const std::size_t some = std::min(kAtOnce, numbers.size() - g);
    for (std::size_t i = 0; i < some; ++i) scales[i] = numbers[g + i].scale;
    // What a quotient of is a normal float32 that is twice off by half a unit.
    if (!lanes_->factors_of(scales.data(), some, 1, 1, 0x1p-100, 0x1p100, factors.data(),
                            divisors.data())) {
      return false;
    }
    const std::uint64_t begin = g * group_, end = std::min(columns_, (g + some) * group_);
    ForEachRunOfCells(
        row_, begin, end - begin,
        [&](std::uint64_t cell, std::uint64_t at, std::uint64_t n, const CellsInOrder& order) {
          const auto first = static_cast<std::size_t>(begin + at);
          const Divisors by = {factors.data() + (cell - g), divisors.data() + (cell - g), 1};
          lanes_->divide_to_integers(row.elements + first * bytes, is_half, codes + first,
                                     static_cast<std::size_t>(n), by, order, -128);
        });
  }
  return true;
}

void GroupQuantiser::MakeCodes(Row& row, std::span<const GroupNumbersMade> numbers,
                               std::byte* codes) const {
  if (lanes_ != nullptr && DivideInLanes(row, numbers, codes)) return;
  const double* const x = ValuesOf(row).data();
  ForEachGroup([&](std::size_t g, std::size_t begin, std::size_t n) {
    maker_.CodesOf(x + begin, n, numbers[g], codes + begin);
  });
}

void GroupQuantiser::Pack(std::span<const GroupNumbersMade> numbers, std::byte* codes,
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
  Require(store_.Run(std::as_bytes(std::span(column)), 0, to, 0, column.size()));
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
  Rows all;
  all.numbers.resize(static_cast<std::size_t>(rows) * groups);
  all.codes.resize(loss != nullptr ? static_cast<std::size_t>(rows) * columns : columns);
  std::vector<GroupRange> ranges(groups);
  std::vector<std::uint8_t> zeros(groups);
  Row row = {x, x_first};
  for (std::size_t r = 0; r < rows; ++r, row.first += columns_) {
    row.has_values = false;
    if (lanes_ != nullptr) FindElements(row);
    const auto numbers = std::span(all.numbers).subspan(r * groups, groups);
    if (const auto failed = FindNumbers(row, ranges, numbers, gained)) return r * groups + *failed;
    std::byte* const codes = all.codes.data() + (loss != nullptr ? r * columns : 0);
    MakeCodes(row, numbers, codes);
    Pack(numbers, codes, made.codes.bytes.data() + r * made.codes.stride);
    std::ranges::transform(numbers, zeros.begin(), [](const GroupNumbersMade& of) {
      return static_cast<std::uint8_t>(of.zero);
    });
    PackCodes(zeros, rule_.bits, made.zeros.bytes.data() + r * made.zeros.stride);
  }
  Store(all.numbers, &GroupNumbersMade::scale, made.scales);
  if (rule_.has_biases) Store(all.numbers, &GroupNumbersMade::bias, made.biases);
  if (loss != nullptr) Measure(x, x_first, first, all, loss);
  return std::nullopt;
}

void GroupQuantiser::Measure(std::span<const std::byte> x, std::uint64_t x_first,
                             std::uint64_t first, const Rows& made, LossMeter* loss) const {
  alignas(64) double values[kBlock], results[kBlock];
  core::ScaledResults::Cell cells[kBlock];
  std::array<std::byte, kBlock> stored;
  const DataType element = rule_.bits == 4 ? DataType::kInt4 : DataType::kInt8;
  core::ScaledResults scaled = {results, cells};
  if (rule_.has_multiples()) scaled.multiples_type = FindType(DataType::kInt8);
  std::size_t group = 0;                                               // of all rows'
  std::uint64_t left = std::min(group_, columns_), in_row = columns_;  // of it, and of its row
  ForEachBlock(first, made.codes.size(), [&](std::uint64_t done, std::uint64_t some) {
    const std::size_t first_group = group;
    core::ScaledResults::Cell* next = cells;
    for (std::size_t i = 0; i < some; ++next) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(some - i, left));
      const GroupNumbersMade& of = made.numbers[group];
      const double size = std::fabs(of.scale);
      const int zero = rule_.ZeroCodeOf(of);
      double up = std::numeric_limits<double>::infinity(), down = up;
      if (!rule_.is_fitted()) {
        up = EndOf(rule_.codes() - 1 - zero, size);
        down = EndOf(zero, size);
        if (of.scale < 0) std::swap(up, down);
      }
      i += n;
      *next = {i, {up, down, size}, {rule_.has_multiples() ? size : 0, 0}};
      left -= n;
      in_row -= n;
      if (left != 0) continue;
      ++group;
      if (in_row == 0) in_row = columns_;
      left = std::min(group_, in_row);
    }
    const std::byte* const codes = made.codes.data() + done;
    if (rule_.has_multiples()) scaled.multiples = codes;
    const core::LossView view = {
        FindType(source_), FindType(element), x.data(), x_first + done, stored.data(), 0, &scaled};
    if (core::MeasureScaledCodes(*loss, view, static_cast<std::size_t>(some), first + done,
                                 target_)) {
      return;
    }
    Require(value_of_source_.Run(x, x_first + done, std::as_writable_bytes(std::span(values)), 0,
                                 some));
    stored.fill(std::byte{0});
    const GroupNumbersMade* of = &made.numbers[first_group];
    const core::ScaledResults::Cell* cell = cells;
    for (std::size_t k = 0; k < some; ++k) {
      if (k == cell->end) ++cell, ++of;
      results[k] = maker_.ValueOf(codes[k], *of);
      // Of a multiple the code of 0 is added.
      const int more =
          rule_.has_multiples() ? rule_.ZeroCodeOf(*of) - rule_.middle() : -rule_.middle();
      const unsigned as_signed = static_cast<unsigned>(std::to_integer<int>(codes[k]) + more);
      if (rule_.bits == 8) {
        stored[k] = static_cast<std::byte>(as_signed & 0xFF);
      } else {
        stored[k / 2] |= static_cast<std::byte>((as_signed & 15) << k % 2 * 4);
      }
    }
    Require(core::MeasureScaled(*loss, view, values, static_cast<std::size_t>(some), first + done,
                                target_));
  });
}

LossMeter GroupQuantiser::Meter() const {
  CastOptions options;
  options.integer_overflow = IntegerOverflow::kSaturate;
  return LossMeter(source_, rule_.bits == 4 ? DataType::kInt4 : DataType::kInt8, options);
}

}  // namespace tensorcast::scale
