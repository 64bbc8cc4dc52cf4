// Measuring the loss of a block of codes with scales as sources and codes stand, without a double
// for each: what nearly all blocks are. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_SCALED_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_SCALED_BLOCKS_INL_H_
#undef TENSORCAST_SRC_CORE_SCALED_BLOCKS_INL_H_
#else
#define TENSORCAST_SRC_CORE_SCALED_BLOCKS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/cell_factors-inl.h"
#include "core/loss-inl.h"
#include "core/loss_blocks-inl.h"
#include "core/measured_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

namespace {

// Elements of which a cell has a multiple, and one vector at most.
constexpr std::size_t kCellGrain = 16;
static_assert(kCellGrain % kStepOf<DF32> == 0);

// Magnitudes of integers of eight bits.
struct ByteMagnitudes {
  static constexpr double factor = 1;
  static constexpr bool kTwoEnds = true;  // a range may end further from zero on one side
  HWY_INLINE hn::Vec<DF32> Load(const std::byte* codes, std::size_t i) const {
    const hn::Rebind<std::int8_t, DF32> bytes;
    const hn::Rebind<std::int32_t, DF32> whole;
    const auto code = hn::LoadU(bytes, reinterpret_cast<const std::int8_t*>(codes) + i);
    return hn::ConvertTo(DF32(), hn::Abs(hn::PromoteTo(whole, code)));
  }
};

// What relative errors are held against: quotients that are larger than the known one when rounded.
// Those that exceed it by half a unit are; a little less, so that no rounding hides one. A merged
// meter may know one of more than 1, of which it is enough that none is missed.
class RelativeLimit {
 public:
  explicit RelativeLimit(double known)
      : known_(hn::Set(DF64(), known)),
        half_unit_(hn::Set(DF64(),
                           known > 0 ? (std::nextafter(known, 2) - known) * (0.5 - 0x1p-20) : 0)) {}
  // Negative where the error's may be larger.
  HWY_INLINE hn::Vec<DF64> Less(hn::Vec<DF64> error, hn::Vec<DF64> magnitude) const {
    return hn::MulAdd(half_unit_, magnitude, hn::MulSub(known_, magnitude, error));
  }

 private:
  hn::Vec<DF64> known_, half_unit_;
};

// The least float32 that is no less than a positive double.
inline float RoundedUp(double value) {
  const auto nearest = static_cast<float>(value);
  const std::uint32_t is_less = double{nearest} < value ? 1 : 0;  // no branch: of each cell anew
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) + is_less);
}

template <class Source, class Result, bool kHalves>
FoundInBlocks SumCells(const Result& result, const std::byte* x_codes, const std::byte* y_codes,
                       const ScaledResults::Cell* cell, double known, double* squares,
                       double* errors) {
  constexpr std::size_t kLanes = hn::MaxLanes(DF32());
  const DF64 d;
  const D32 ordered;
  const D64 bits;
  const hn::Half<DF32> half;
  const RelativeLimit relative(known);
  auto largest = hn::Zero(ordered);
  auto least = hn::BitCast(ordered, hn::Set(DF32(), hwy::HighestValue<float>()));
  auto max_error = hn::Zero(d);
  auto larger = hn::Zero(bits);
  LaneCount exact;
  LaneCountOf<DF32> beyond;
  SquareSums square_sums, error_sums;
  for (std::size_t i = 0; i < kBlock; ++cell) {
    const CellProducts<kHalves> products(cell->factors, result.factor);
    const auto up = hn::Set(DF32(), RoundedUp(cell->limits.up));
    [[maybe_unused]] const auto down = hn::Set(DF32(), RoundedUp(cell->limits.down));
    const std::size_t end = std::min(cell->end, kBlock);
    for (; i < end; i += kStepOf<DF32>) {
      Unrolled<kStepOf<DF32> / kLanes>([&](auto at) HWY_ATTR __attribute__((always_inline)) {
        const std::size_t place = i + at * kLanes;
        const auto source = Source::Load(x_codes, place);
        const auto x = hn::Abs(source), y = result.Load(y_codes, place);
        largest = hn::Max(largest, hn::BitCast(ordered, x));
        least = hn::Min(least, hn::BitCast(ordered, x));
        if constexpr (Result::kTwoEnds) {
          beyond.Add(hn::Ge(x, hn::IfNegativeThenElse(source, down, up)));
        } else {
          beyond.Add(hn::Ge(x, up));
        }
        square_sums.template Add<at>(x);
        const auto add = [&](auto which, auto narrow_x, auto narrow_y) HWY_ATTR
            __attribute__((always_inline)) {
          const auto magnitude = hn::PromoteTo(d, narrow_x);
          const auto difference = products.LeftOf(hn::PromoteTo(d, narrow_y), magnitude);
          const auto error = hn::Abs(difference);
          error_sums.template Add<which>(difference);
          max_error = hn::Max(max_error, error);
          larger = hn::Or(larger, hn::BitCast(bits, relative.Less(error, magnitude)));
          exact.Add(hn::Eq(error, hn::Zero(d)));
        };
        constexpr std::size_t kVectors = SquareSums::kVectors;
        add(std::integral_constant<std::size_t, 2 * at % kVectors>(), hn::LowerHalf(half, x),
            hn::LowerHalf(half, y));
        add(std::integral_constant<std::size_t, (2 * at + 1) % kVectors>(), hn::UpperHalf(half, x),
            hn::UpperHalf(half, y));
      });
    }
  }
  square_sums.StoreTo(squares);
  error_sums.StoreTo(errors);
  const hn::RebindToSigned<DF64> whole;
  FoundInBlocks found;
  found.largest = Number(hn::GetLane(hn::MaxOfLanes(ordered, largest)));
  found.least = Number(hn::GetLane(hn::MinOfLanes(ordered, least)));
  found.inexact = kBlock - exact.Total();
  found.beyond = beyond.Total();
  found.error = hn::GetLane(hn::MaxOfLanes(d, max_error));
  found.relative_may_grow =
      !hn::AllFalse(whole, hn::Lt(hn::BitCast(whole, larger), hn::Zero(whole)));
  return found;
}

// Whether a target has this: fused operations and a conversion of float16.
inline constexpr bool kMeasuresCodes = kFused && kConvertsHalves;

// The types whose numbers are read as they stand. Zeros of results keep their signs, or have none
// to lose.
bool IsMeasuredByCodes(const TypeInfo& from, const TypeInfo& codes) {
  return (from.type == DataType::kFloat32 || from.type == DataType::kBfloat16 ||
          from.type == DataType::kFloat16) &&
         (codes.type == DataType::kInt8 || (ScalesToFloat16(codes) && !codes.is_fnuz()));
}
// Whether a cell has a factor, and nothing beyond its ends is zero: one end, or of integers two.
bool IsMeasuredByFactor(const ScaledResults::Cell& cell, bool is_integer) {
  const CellLimits& limits = cell.limits;
  const double nearest = std::min(limits.up, limits.down),
               farthest = std::max(limits.up, limits.down);
  return cell.factors.factor > 0 && nearest >= cell.factors.factor &&
         (is_integer || nearest == farthest);
}
template <class Work> auto WithFloats(DataType type, const Work& work) {
  if (type == DataType::kFloat32) return work(AsFloat32());
  if (type == DataType::kBfloat16) return work(AsBfloat16());
  return work(AsFloat16());
}
template <class Work> auto WithMagnitudes(const TypeInfo& row, const Work& work) {
  return row.type == DataType::kInt8 ? work(ByteMagnitudes()) : work(NarrowMagnitudes(row));
}

// A whole block, see loss.h. False, too, where an example has to be looked for or a maximum grows,
// and where a source is not finite: these are seldom.
[[maybe_unused]] bool MeasureScaledCodes(const LossView& view, std::uint64_t index,
                                         LossState* loss) {
  const std::byte* const multiples = view.scaled->multiples;
  const TypeInfo& codes = multiples != nullptr ? *view.scaled->multiples_type : *view.to;
  if (!IsMeasuredByCodes(*view.from, codes)) return false;
  const ScaledResults::Cell* const cells = view.scaled->cells;
  for (const ScaledResults::Cell* cell = cells;; ++cell) {
    if (!IsMeasuredByFactor(*cell, codes.is_integer())) return false;
    if (cell->end >= kBlock) break;
    if (cell->end % kCellGrain != 0) return false;
  }
  alignas(64) std::byte unpacked[kBlock];  // results; sources are not packed
  const std::byte* const x = CodesAt(*view.from, view.source, view.source_first, kBlock, unpacked);
  const std::byte* const y = multiples != nullptr
                                 ? multiples
                                 : CodesAt(codes, view.result, view.result_first, kBlock, unpacked);
  LossStretch lost = loss->StretchFrom(index);
  FoundInBlocks found = WithFloats(view.from->type, [&]<class Source>(Source) {
    return WithMagnitudes(codes, [&]<class Result>(const Result& result) {
      const auto sum = [&](auto halves) {
        return SumCells<Source, Result, halves>(result, x, y, cells, lost.max_rel_error,
                                                lost.squares, lost.errors);
      };
      if constexpr (std::is_same_v<Result, NarrowMagnitudes>) {
        if (cells->factors.of_three_halves != 0) return sum(std::true_type());
      }
      return sum(std::false_type());
    });
  });
  if (!(found.largest < std::numeric_limits<double>::infinity()) ||
      found.error > lost.max_abs_error || found.relative_may_grow) {
    return false;
  }
  LowCounts low;
  found.smallest = found.least;
  if (found.least == 0) {
    // Others may have taken the sign of a zero.
    if (codes.is_float() && !view.scaled->of_quotients) return false;
    low.source_zeros = CodesOf(*view.from).Low(x, kBlock).zeros;
    found.smallest = WithFloats(
        view.from->type, [&]<class Source>(Source) { return SmallestNonzero<Source>(x, kBlock); });
  }
  const LowCodes results = CodesOf(codes).Low(y, kBlock);
  low.zeros = results.zeros;
  low.low = results.low;
  CountFound(found, low, kBlock, &lost);
  if (loss->GivesKind(lost, index)) return false;
  lost.EndBlock();
  const double* const values = nullptr;  // nothing is looked at
  loss->AddStretch(lost, values, values, kBlock, view, 0, index);
  return true;
}

}  // namespace
}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_SCALED_BLOCKS_INL_H_
