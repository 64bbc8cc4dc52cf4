// Measuring loss in float32 lanes: whole blocks whose sources and results are float32 values,
// finite and in the range. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_LOSS_FLOAT32_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_LOSS_FLOAT32_INL_H_
#undef TENSORCAST_SRC_CORE_LOSS_FLOAT32_INL_H_
#else
#define TENSORCAST_SRC_CORE_LOSS_FLOAT32_INL_H_
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/lanes-inl.h"
#include "core/loss-inl.h"
#include "core/low_codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

inline double ValueOfBits(std::uint32_t bits) {
  return static_cast<double>(std::bit_cast<float>(bits));
}

// What magnitudes, as bits of float32, say of sources and results.
class Float32Pair {
 public:
  Float32Pair(const TypeInfo& from, const TypeInfo& to, const LossParams& params)
      : loses_nothing_(detail::Contains(to, from)),
        digits_(from.is_float() ? from.mantissa_bits + 1 : from.bits),
        has_sign_(to.has_sign),
        least_normal_(std::bit_cast<std::uint32_t>(static_cast<float>(params.least_normal))) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    double end = kInfinity;  // the range's are NaN where it has none
    if (!loses_nothing_ && params.beyond_high < end) end = params.beyond_high;
    if (!loses_nothing_ && to.has_sign && -params.beyond_low < end) end = -params.beyond_low;
    auto nearest = static_cast<float>(end);
    if (static_cast<double>(nearest) > end) nearest = std::nextafterf(nearest, 0);
    beyond_ = std::bit_cast<std::uint32_t>(nearest);
  }

  // Whether a sign says nothing of what is ordinary: no negative is elsewhere.
  bool is_signed() const { return has_sign_ || loses_nothing_; }
  bool loses_nothing() const { return loses_nothing_; }
  // Of at most 11 digits.
  bool is_narrow() const { return digits_ <= 11; }
  // Of magnitudes up to this one, whether all are finite and in the range.
  bool IsOrdinary(std::uint32_t largest) const { return largest < beyond_; }
  bool MayBeLow(std::uint32_t least) const { return least < least_normal_; }

 private:
  bool loses_nothing_;
  int digits_;                  // of the source's numbers
  bool has_sign_;               // the destination
  std::uint32_t beyond_ = 0;    // from here on, perhaps
  std::uint32_t least_normal_;  // of the destination; 1 where it is an integer
};

inline constexpr std::uint32_t kTiny = (127 - 90) << 23;  // 2^-90

inline constexpr std::size_t kFloatLanes = hn::MaxLanes(DF32());
inline constexpr std::size_t kDoubleLanes = hn::MaxLanes(DF64());
// Elements of which each of the eight sums has as many, and that come to whole vectors.
inline constexpr std::size_t kStep32 = std::max(kFloatLanes, kLossSums);
// Elements after which memory is asked for more.
inline constexpr std::size_t kAskedRun = 64;

// How numbers stand in memory: vectors of them from element i on. None is NaN.
struct AsFloat32 {
  using Code = std::uint32_t;
  static HWY_INLINE hn::Vec<DF32> Load(const std::byte* codes, std::size_t i) {
    return hn::LoadU(DF32(), reinterpret_cast<const float*>(codes) + i);
  }
};
struct AsBfloat16 {
  using Code = std::uint16_t;
  static HWY_INLINE hn::Vec<DF32> Load(const std::byte* codes, std::size_t i) {
    const hn::Rebind<Code, DF32> narrow;
    const auto code = hn::LoadU(narrow, reinterpret_cast<const Code*>(codes) + i);
    return hn::BitCast(DF32(), hn::ShiftLeft<16>(hn::PromoteTo(D32(), code)));
  }
};
struct AsFloat16 {
  using Code = std::uint16_t;
  static HWY_INLINE hn::Vec<DF32> Load(const std::byte* codes, std::size_t i) {
    const hn::Rebind<hwy::float16_t, DF32> narrow;
    return hn::PromoteTo(DF32(),
                         hn::LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(codes) + i));
  }
};

// Calls with 0 ... kTimes - 1 as constants, without a loop: the compiler then keeps in registers
// what they are places of.
template <std::size_t kTimes, class Work> HWY_INLINE void Unrolled(const Work& work) {
  [&]<std::size_t... kAt>(std::index_sequence<kAt...>) HWY_ATTR __attribute__((always_inline)) {
    (work(std::integral_constant<std::size_t, kAt>()), ...);
  }
  (std::make_index_sequence<kTimes>());
}

// The eight sums of a block's squares, in their order.
struct SquareSums {
  static constexpr std::size_t kVectors = kLossSums / kDoubleLanes;

  HWY_INLINE SquareSums() {
    Unrolled<kVectors>([&](auto at) HWY_ATTR
                       __attribute__((always_inline)) { sums[at] = hn::Zero(DF64()); });
  }
  // Adds the squares of the kAt-th vector of floats of a step. They are doubles, so that fused
  // operations give the same sums; of one vector they would take longer to wait for.
  template <std::size_t kAt> HWY_INLINE void Add(hn::Vec<DF32> values) {
    constexpr std::size_t kLower = 2 * kAt % kVectors, kUpper = (2 * kAt + 1) % kVectors;
    const hn::Half<DF32> half;
    const auto lower = hn::PromoteTo(DF64(), hn::LowerHalf(half, values));
    const auto upper = hn::PromoteTo(DF64(), hn::UpperHalf(half, values));
    AddSquares(lower, &sums[kLower]);
    AddSquares(upper, &sums[kUpper]);
  }
  static HWY_INLINE void AddSquares(hn::Vec<DF64> values, hn::Vec<DF64>* sum) {
    if constexpr (kVectors == 1) {
      *sum = hn::Add(*sum, hn::Mul(values, values));
    } else {
      *sum = hn::MulAdd(values, values, *sum);
    }
  }
  HWY_INLINE void StoreTo(double* eight) const {
    Unrolled<kVectors>([&](auto at) HWY_ATTR __attribute__((always_inline)) {
      hn::StoreU(sums[at], DF64(), eight + at * kDoubleLanes);
    });
  }

  hn::Vec<DF64> sums[kVectors];
};

// The eight sums of each block of a stretch.
struct StretchSums {
  double of[kStretchBlocks][kLossSums] = {};
};

// Goes over n elements, whole blocks, by steps, at_step(block, i, sums) for the elements from i of
// the block on; then puts what is in each of the sums where `out` says. Blocks are summed side by
// side where that takes few vectors of sums, so that an addition need not wait for the one before;
// narrower vectors have sums enough, and no registers.
template <std::size_t kSums, class AtStep>
HWY_INLINE void SumBlocks(std::size_t n, Ahead* ahead, const AtStep& at_step,
                          const std::array<StretchSums*, kSums>& out) {
  constexpr std::size_t kBeside = SquareSums::kVectors * kSums <= 2 ? 2 : 1;
  const auto sum = [&](auto side_by_side, std::size_t block) HWY_ATTR
      __attribute__((always_inline)) {
    constexpr std::size_t kSide = side_by_side;
    SquareSums sums[kSide][kSums];
    for (std::size_t begin = 0; begin < kBlock; begin += kAskedRun) {
      ahead->Ask(kStretchBlocks / kSide * kBlock / kAskedRun);
#pragma GCC unroll 1
      for (std::size_t i = begin; i < begin + kAskedRun; i += kStep32) {
        Unrolled<kSide>([&](auto side) HWY_ATTR
                        __attribute__((always_inline)) { at_step(block + side, i, sums[side]); });
      }
    }
    Unrolled<kSide>([&](auto side) HWY_ATTR __attribute__((always_inline)) {
      Unrolled<kSums>([&](auto which) HWY_ATTR __attribute__((always_inline)) {
        sums[side][which].StoreTo(out[which]->of[block + side]);
      });
    });
  };
  std::size_t block = 0;
  for (; block + kBeside <= n / kBlock; block += kBeside) {
    sum(std::integral_constant<std::size_t, kBeside>(), block);
  }
  if constexpr (kBeside != 1) {
    if (block != n / kBlock) sum(std::integral_constant<std::size_t, 1>(), block);
  }
}

// What is found beside the sums. Magnitudes are bits of float32, which are in the order of the
// numbers.
struct Found32 {
  std::uint32_t largest = 0, least = 0;  // of the sources
  std::uint64_t inexact = 0;
  double error = 0;                // the largest
  bool relative_may_grow = false;  // a relative error is larger than the known one, perhaps
  std::uint32_t smallest = 0;      // of the sources but zero; 0 where there is none
};

// Sums the squares of n sources, whole blocks, whose results are the same numbers.
template <class Source>
Found32 SumSquares(const std::byte* x_codes, std::size_t n, Ahead* ahead, StretchSums* squares) {
  const D32 bits;
  auto largest = hn::Zero(bits), least = hn::Set(bits, ~0u);
  SumBlocks(
      n, ahead,
      [&](std::size_t block, std::size_t i, auto& sums) HWY_ATTR __attribute__((always_inline)) {
        Unrolled<kStep32 / kFloatLanes>([&](auto at) HWY_ATTR __attribute__((always_inline)) {
          const auto x = Source::Load(x_codes, block * kBlock + i + at * kFloatLanes);
          const auto magnitude = hn::BitCast(bits, hn::Abs(x));
          largest = hn::Max(largest, magnitude);
          least = hn::Min(least, magnitude);
          sums[0].template Add<at>(x);
        });
      },
      std::array{squares});
  Found32 found;
  found.largest = hn::GetLane(hn::MaxOfLanes(bits, largest));
  found.least = hn::GetLane(hn::MinOfLanes(bits, least));
  return found;
}

// What, times a source, is below every error whose quotient is larger than the known one.
inline float RelativeFilter(double known, bool is_narrow) {
  if (known < 0) return -1.0f;
  if (is_narrow) {
    const auto nearest = static_cast<float>(known);
    // Quotients of 11 digits that differ do so by 2^-22 of themselves: a larger one is above the
    // next float, whose product with the divisor is above the dividend whatever its rounding.
    return static_cast<double>(nearest) < known ? std::nextafterf(nearest, HUGE_VALF) : nearest;
  }
  // A little less than known, so that no rounding hides a larger one; 1 is what zeros give, and
  // no quotient is larger.
  if (known >= 1) return 1;
  return known > 0x1p-30 ? static_cast<float>(known * (1 - 0x1p-22)) : 0;
}

// Sums the squares of n elements, whole blocks, and of their errors. Floats are compared as bits,
// and counts are of what is not: an addition's ports are short. Where few results differ from their
// sources, kFew, errors are looked at only where there are some.
template <bool kFew, class Source, class Result>
Found32 SumErrors(const std::byte* x_codes, const std::byte* y_codes, std::size_t n, float filter,
                  Ahead* ahead, StretchSums* squares, StretchSums* errors) {
  const DF32 d;
  const D32 bits;
  const auto relative = hn::Set(d, filter);
  const auto one = hn::Set(bits, 1u);
  auto largest = hn::Zero(bits), least = hn::Set(bits, ~0u);
  auto inexact = largest, max_error = largest, larger = largest;
  SumBlocks(
      n, ahead,
      [&](std::size_t block, std::size_t i, auto& sums) HWY_ATTR __attribute__((always_inline)) {
        Unrolled<kStep32 / kFloatLanes>([&](auto at) HWY_ATTR __attribute__((always_inline)) {
          const std::size_t place = block * kBlock + i + at * kFloatLanes;
          const auto x = Source::Load(x_codes, place), y = Result::Load(y_codes, place);
          const auto magnitude = hn::Abs(x);
          largest = hn::Max(largest, hn::BitCast(bits, magnitude));
          least = hn::Min(least, hn::BitCast(bits, magnitude));
          sums[0].template Add<at>(x);
          if (kFew && HWY_LIKELY(hn::AllTrue(d, hn::Eq(x, y)))) return;
          const auto difference = hn::Sub(x, y);
          const auto error = hn::Abs(difference);
          max_error = hn::Max(max_error, hn::BitCast(bits, error));
          inexact = hn::Add(inexact, hn::Min(hn::BitCast(bits, error), one));
          // Negative where the error is larger.
          larger = hn::Or(larger, hn::BitCast(bits, hn::MulSub(relative, magnitude, error)));
          sums[1].template Add<at>(difference);
        });
      },
      std::array{squares, errors});
  const hn::RebindToSigned<D32> whole;
  return {hn::GetLane(hn::MaxOfLanes(bits, largest)), hn::GetLane(hn::MinOfLanes(bits, least)),
          hn::GetLane(hn::SumOfLanes(bits, inexact)),
          ValueOfBits(hn::GetLane(hn::MaxOfLanes(bits, max_error))),
          !hn::AllFalse(whole, hn::Lt(hn::BitCast(whole, larger), hn::Zero(whole)))};
}

// The least magnitude but zero of n elements; 0 where there is none.
template <class Source> std::uint32_t SmallestNonzero(const std::byte* codes, std::size_t n) {
  const D32 bits;
  auto below = hn::Set(bits, ~0u);  // less one, so that zero is above all others
  for (std::size_t i = 0; i < n; i += kFloatLanes) {
    const auto magnitude = hn::BitCast(bits, hn::Abs(Source::Load(codes, i)));
    below = hn::Min(below, hn::Sub(magnitude, hn::Set(bits, 1u)));
  }
  return hn::GetLane(hn::MinOfLanes(bits, below)) + 1;
}
template <class Source> Found32 WithSmallest(Found32 found, const std::byte* codes, std::size_t n) {
  found.smallest = found.least != 0 ? found.least : SmallestNonzero<Source>(codes, n);
  return found;
}
template <class Source> bool HasNegative(const std::byte* codes, std::size_t n) {
  const D32 bits;
  auto signs = hn::Zero(bits);
  for (std::size_t i = 0; i < n; i += kFloatLanes) {
    signs = hn::Or(signs, hn::BitCast(bits, Source::Load(codes, i)));
  }
  return !hn::AllTrue(bits, hn::Eq(hn::ShiftRight<31>(signs), hn::Zero(bits)));
}

// The first element of an error.
template <class Source, class Result>
std::size_t FindError(const std::byte* x_codes, const std::byte* y_codes, std::size_t n,
                      double error) {
  const DF32 d;
  const auto wanted = hn::Set(d, static_cast<float>(error));
  for (std::size_t i = 0; i < n; i += kFloatLanes) {
    const auto lost = hn::Abs(hn::Sub(Source::Load(x_codes, i), Result::Load(y_codes, i)));
    const auto lane = static_cast<std::ptrdiff_t>(hn::FindFirstTrue(d, hn::Eq(lost, wanted)));
    if (lane >= 0) return i + static_cast<std::size_t>(lane);
  }
  return LossStretch::kNotLookedFor;
}

// Takes a relative error that is larger than the known one, and its first element; divides only
// where there may be one. With `is_tiny` floats do not say where.
template <class Source, class Result>
void TakeRelative(const std::byte* x_codes, const std::byte* y_codes, std::size_t n, bool is_narrow,
                  bool is_tiny, LossStretch* stretch) {
  const DF32 d;
  const hn::RebindToSigned<DF32> whole;
  alignas(64) float magnitudes[kFloatLanes], errors[kFloatLanes];
  double known = std::max(stretch->max_rel_error, 0.0);
  auto filter = hn::Set(d, RelativeFilter(stretch->max_rel_error, is_narrow));
  for (std::size_t i = 0; i < n; i += kFloatLanes) {
    const auto x = Source::Load(x_codes, i);
    const auto magnitude = hn::Abs(x), error = hn::Abs(hn::Sub(x, Result::Load(y_codes, i)));
    const auto left = hn::BitCast(whole, hn::MulSub(filter, magnitude, error));
    if (HWY_LIKELY(!is_tiny && hn::AllFalse(whole, hn::Lt(left, hn::Zero(whole))))) continue;
    hn::Store(magnitude, d, magnitudes);
    hn::Store(error, d, errors);
    for (std::size_t k = 0; k < kFloatLanes; ++k) {
      const double source = magnitudes[k], lost = errors[k];
      if (source == 0 || lost < known * (1 - 0x1p-40) * source) continue;
      const double relative = lost / source;
      if (relative <= stretch->max_rel_error) continue;
      stretch->max_rel_error = known = relative;
      stretch->max_rel_at = i + k;
      filter = hn::Set(d, RelativeFilter(known, is_narrow));
    }
  }
}

// Takes what may have grown of the maxima of n elements, whose largest error is known.
template <class Source, class Result>
void TakeMaxima(const std::byte* x_codes, const std::byte* y_codes, std::size_t n, double error,
                bool is_narrow, bool is_tiny, LossStretch* stretch) {
  if (error > stretch->max_abs_error) {
    stretch->max_abs_error = error;
    stretch->max_abs_at = FindError<Source, Result>(x_codes, y_codes, n, error);
  }
  if (stretch->compared_nonzero != 0) {
    TakeRelative<Source, Result>(x_codes, y_codes, n, is_narrow, is_tiny, stretch);
  }
}

// What is counted where the range says that there may be such.
struct LowCounts {
  std::size_t source_zeros = 0, lost_signs = 0;  // of sources; of zeros that have none any more
  std::size_t zeros = 0, low = 0;                // of results: zero, and below the normal ones
};

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_LOSS_FLOAT32_INL_H_
