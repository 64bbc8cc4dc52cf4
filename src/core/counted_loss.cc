// Counting, and what a tensor's codes add to its figures.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/counted_loss.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/fp_environment.h"
#include "core/route.h"

namespace tensorcast::core {
namespace {

constexpr std::uint32_t kSign = 0x8000;
constexpr std::size_t kBlockBytes = kLossBlock * sizeof(std::uint16_t);

std::uint32_t CodeAt(const std::byte* codes, std::size_t i) {
  std::uint16_t code;
  std::memcpy(&code, codes + i * sizeof(code), sizeof(code));
  return code;
}

}  // namespace

bool CountedLoss::Serves(DataType from, DataType to) {
  const TypeInfo& row = detail::Row(from);
  return row.is_float() && row.bits == 16 && IsFloat32Loss(row, detail::Row(to));
}

bool CountedLoss::Pays(std::span<const DataType> to, Target target) {
  const Kernels* const kernels = FindKernels(target);
  if (kernels == nullptr || kernels->range_of_halves == nullptr || to.empty()) return false;
  // Lanes of AVX-512 measure one type as fast as codes are counted; others take longer to decode
  // its results where these have eight bits or fewer.
  const bool is_slow_in_lanes = kernels->target != Target::kAvx3 &&
                                kernels->target != Target::kAvx3Dl &&
                                detail::Row(to.front()).bits <= 8;
  return to.size() >= 2 || is_slow_in_lanes;
}

CountedLoss::CountedLoss(DataType from, std::span<const DataType> to, const CastOptions& options,
                         Target target)
    : from_(detail::Row(from)),
      options_(options),
      range_of_(FindKernels(target)->range_of_halves),
      end_(std::numeric_limits<double>::infinity()),
      place_(kCodes),
      counts_(kCodes),
      is_seen_(kCodes),
      is_wanted_(kCodes) {
  const FpEnvironment environment;
  for (const DataType type : to) {
    const TypeInfo& row = detail::Row(type);
    const LossParams params = MakeLossParams(from_, row, options);
    for (const double beyond : {params.beyond_high, -params.beyond_low}) {  // NaN: none
      if (beyond < end_) end_ = beyond;
    }
    casts_.push_back({&row, params, {}, LossState(from, type, options)});
  }
}

bool CountedLoss::IsOf(DataType from, std::span<const DataType> to) const {
  return from_.type == from &&
         std::ranges::equal(to, casts_, {}, {}, [](const Cast& cast) { return cast.to->type; });
}

// Every square is a multiple of that of the least element's unit, and so is every squared error: it
// is no larger, as what is in the range becomes zero or something nearer. Where the sum has at most
// 53 bits of these, so have all sums on the way. The range's sum of squares is one of float32s, of
// 1,024, and is off by less than 2^-12 of itself; far smaller numbers would not be in it.
bool CountedLoss::IsExact(const HalfRange& range) const {
  constexpr float kLeast = 0x1p-40f;
  const auto largest = static_cast<double>(std::bit_cast<float>(range.largest));
  if (!(largest <= detail::LimitsOf(from_).greatest && largest < end_)) return false;
  if (range.least == 0) return true;
  if (std::bit_cast<float>(range.least) < kLeast) return false;
  const int exponent = static_cast<int>(range.least >> 23) - 127;
  const int unit = std::max(exponent, 1 - from_.bias) - from_.mantissa_bits;
  return static_cast<double>(range.squares) * (1 + 0x1p-9) <= std::ldexp(1.0, 53 + 2 * unit);
}

void CountedLoss::Add(const std::byte* codes, std::uint64_t blocks, std::uint64_t index,
                      const std::function<void(std::uint64_t first, std::uint64_t n)>& rest) {
  for (std::uint64_t done = 0; done < blocks; done += kSlice) {
    const std::uint64_t some = std::min(blocks - done, kSlice);
    Count(codes + done * kBlockBytes, some, index + done * kLossBlock,
          [&](std::uint64_t first, std::uint64_t n) { rest(done + first, n); });
  }
}

void CountedLoss::Count(const std::byte* codes, std::uint64_t blocks, std::uint64_t index,
                        const std::function<void(std::uint64_t first, std::uint64_t n)>& rest) {
  if (counted_ + blocks * kLossBlock > kMostCounted) Fold();
  taken_.clear();
  std::uint32_t largest = 0, below = UINT32_MAX;  // less one, so that zero is above all others
  {
    const FpEnvironment environment;
    std::uint32_t* const counts = counts_.data();
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const std::byte* const of_block = codes + block * kBlockBytes;
      const HalfRange range = range_of_(from_.type, of_block);
      if (!IsExact(range)) continue;
      taken_.push_back(block);
      largest = std::max(largest, range.largest);
      below = std::min(below, range.least - 1);
      for (std::size_t i = 0; i < kLossBlock; ++i) ++counts[CodeAt(of_block, i)];
    }
    counted_ += taken_.size() * kLossBlock;
    FindFresh(below + 1, largest);
    FindExamples(codes, index);
  }
  std::uint64_t end = 0;  // of what was counted or handed on
  for (const std::uint64_t block : taken_) {
    if (block != end) rest(end, block - end);
    end = block + 1;
  }
  if (blocks != end) rest(end, blocks - end);
}

void CountedLoss::FindFresh(std::uint32_t least, std::uint32_t largest) {
  const auto look_at = [this](std::uint32_t code) {
    if (counts_[code] == 0 || is_seen_[code] != 0) return;
    is_seen_[code] = 1;
    seen_.push_back(code);
  };
  const auto code_of = [this](std::uint32_t bits) {
    const TypeInfo& float32 = detail::Row(DataType::kFloat32);
    return static_cast<std::uint32_t>(detail::CastCode(float32, from_, bits, CastOptions()));
  };
  fresh_ = seen_.size();
  look_at(0);
  look_at(kSign);
  if (largest == 0) return;
  for (std::uint32_t code = code_of(least), end = code_of(largest); code <= end; ++code) {
    look_at(code);
    look_at(code | kSign);
  }
}

void CountedLoss::Learn(std::uint32_t code) {
  if (place_[code] != 0) return;
  for (Cast& cast : casts_) {
    const LossExample codes = {0, code, detail::CastCode(from_, *cast.to, code, options_)};
    cast.losses.push_back(MeasureElement(codes, from_, *cast.to, cast.params, nullptr));
  }
  place_[code] = static_cast<std::uint32_t>(casts_.front().losses.size());
}

bool CountedLoss::HasNews(std::uint32_t code) const {
  return std::ranges::any_of(casts_, [&](const Cast& cast) {
    const ElementLoss& element = cast.losses[place_[code] - 1];
    return (element.kinds & ~cast.kinds) != 0 || element.error > cast.state.max_abs_error ||
           (element.magnitude != 0 && element.Relative() > cast.state.max_rel_error);
  });
}

void CountedLoss::TakeNews(std::uint32_t code, std::uint64_t index) {
  for (Cast& cast : casts_) {
    const ElementLoss& element = cast.losses[place_[code] - 1];
    const auto example = [&] {
      return LossExample{index, code, detail::CastCode(from_, *cast.to, code, options_)};
    };
    for (unsigned left = element.kinds & ~cast.kinds; left != 0; left &= left - 1) {
      cast.state.first[std::countr_zero(left)] = example();
    }
    cast.kinds |= element.kinds;
    const auto take = [&example](double found, double* known, LossExample* known_example) {
      if (!(found > *known)) return;
      *known = found;
      *known_example = example();
    };
    take(element.error, &cast.state.max_abs_error, &cast.state.max_abs_example);
    if (element.magnitude == 0) continue;
    take(element.Relative(), &cast.state.max_rel_error, &cast.state.max_rel_example);
  }
}

void CountedLoss::FindExamples(const std::byte* codes, std::uint64_t index) {
  std::size_t wanted = 0;
  for (std::size_t i = fresh_; i < seen_.size(); ++i) {
    Learn(seen_[i]);
    if (!HasNews(seen_[i])) continue;
    is_wanted_[seen_[i]] = 1;
    ++wanted;
  }
  for (const std::uint64_t block : taken_) {
    for (std::size_t i = 0; i < kLossBlock; ++i) {
      if (wanted == 0) return;
      const std::uint32_t code = CodeAt(codes + block * kBlockBytes, i);
      if (is_wanted_[code] == 0) continue;
      is_wanted_[code] = 0;
      --wanted;
      TakeNews(code, index + block * kLossBlock + i);
    }
  }
}

void CountedLoss::Fold() {
  const FpEnvironment environment;
  LossReport all;  // what the source alone says
  SumOfMagnitudes squares;
  for (const std::uint32_t code : seen_) {
    const std::uint64_t n = counts_[code];
    if (n == 0) continue;
    const auto times = static_cast<double>(n);
    const ElementLoss& source = casts_.front().losses[place_[code] - 1];
    squares.Add(times * source.Square());
    if (source.magnitude != 0) {
      all.compared_nonzero += n;
      all.amax = std::max(all.amax, source.magnitude);
      const bool is_least = all.smallest_nonzero == 0 || source.magnitude < all.smallest_nonzero;
      if (is_least) all.smallest_nonzero = source.magnitude;
    }
    for (Cast& cast : casts_) {
      const ElementLoss& element = cast.losses[place_[code] - 1];
      for (unsigned left = element.kinds; left != 0; left &= left - 1) {
        cast.state.counts[std::countr_zero(left)] += n;
      }
      cast.state.errors.Add(times * element.SquaredError());
    }
    counts_[code] = 0;
  }
  for (Cast& cast : casts_) {
    LossState& state = cast.state;
    state.squares.Add(squares);
    state.elements += counted_;
    state.finite += counted_;
    state.compared += counted_;
    state.compared_nonzero += all.compared_nonzero;
    state.GrowRange(all.amax, all.smallest_nonzero);
  }
  counted_ = 0;
}

void CountedLoss::MoveTo(std::span<LossMeter* const> meters) {
  Fold();
  for (std::size_t i = 0; i < casts_.size(); ++i) {
    Cast& cast = casts_[i];
    MeterAccess::StateOf(*meters[i]).Merge(cast.state);
    cast.state = LossState(from_.type, cast.to->type, options_);
    cast.kinds = 0;
  }
  for (const std::uint32_t code : seen_) is_seen_[code] = 0;
  seen_.clear();
}

}  // namespace tensorcast::core
