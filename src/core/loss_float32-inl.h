// Measuring loss in float32 lanes: elements whose sources and results are float32 values, finite
// and in the range. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_LOSS_FLOAT32_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_LOSS_FLOAT32_INL_H_
#undef TENSORCAST_SRC_CORE_LOSS_FLOAT32_INL_H_
#else
#define TENSORCAST_SRC_CORE_LOSS_FLOAT32_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/lanes-inl.h"
#include "core/route.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// Whether a pair is measured so. The difference of x and its result is then a float32: it is a
// multiple of the lower of their units and, as every destination here has a zero, no more than x.
// (The least numbers of bool and of float8e8m0 are more than what becomes them.) Squares of
// float32s are doubles.
constexpr bool IsFloat32Loss(const TypeInfo& from, const TypeInfo& to) {
  return FitsFloat32(from) && FitsFloat32(to) && to.type_class != TypeClass::kBool && to.has_zero;
}

// What an ordinary element is held against, as the bits of float32 magnitudes.
struct Float32Limits {
  Float32Limits(const TypeInfo& from, const TypeInfo& to, const LossParams& params, bool lossless)
      : digits(from.is_float() ? from.mantissa_bits + 1 : from.bits),
        least_unit(from.is_float() ? 1 - from.bias - from.mantissa_bits : 0),
        least_normal(std::bit_cast<std::uint32_t>(static_cast<float>(params.least_normal))),
        is_signed(to.has_sign || lossless),
        to_float(params.to_float) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    double end = kInfinity;  // the range's are NaN where it has none
    if (!lossless && params.beyond_high < end) end = params.beyond_high;
    if (!lossless && is_signed && -params.beyond_low < end) end = -params.beyond_low;
    auto nearest = static_cast<float>(end);
    if (static_cast<double>(nearest) > end) nearest = std::nextafterf(nearest, 0);
    beyond = std::bit_cast<std::uint32_t>(nearest);
  }

  // Whether sums of 128 squares of such magnitudes (bits, and neither zero) hold all their digits.
  bool SumsAreExact(std::uint32_t largest, std::uint32_t smallest) const {
    const auto exponent = [](std::uint32_t magnitude) {
      return static_cast<int>(magnitude >> 23) - 127;
    };
    const int unit = std::max(exponent(smallest) - digits + 1, least_unit);
    return 2 * (exponent(largest) + 1 - unit) + 7 <= 53;
  }

  int digits;                  // of the source's numbers
  int least_unit;              // the exponent of their least one's last digit
  std::uint32_t beyond;        // from here on, perhaps
  std::uint32_t least_normal;  // of the destination; 1 where it is an integer
  bool is_signed;              // no negative is ordinary elsewhere
  bool to_float;
};

// Elements that are ordinary together, or measured by other lanes.
inline constexpr std::size_t kOrdinaryRun32 = 256;

inline constexpr std::uint32_t kTiny = (127 - 90) << 23;  // 2^-90

// Elements that are added at once, and the vectors of their doubles.
inline constexpr std::size_t kFloatLanes = hn::MaxLanes(DF32());
inline constexpr std::size_t kDoubleLanes = hn::MaxLanes(DF64());
inline constexpr std::size_t kStep32 = std::max(kFloatLanes, kLossSums);
inline constexpr std::size_t kStepSums = kStep32 / kDoubleLanes;

// The eight sums of squares and of errors' squares, in order.
struct OrderedSums {
  static constexpr std::size_t kSteps = 1, kSums = kLossSums / kDoubleLanes;

  explicit OrderedSums(const LossStretch& stretch) {
    for (std::size_t i = 0; i < kSums; ++i) {
      squares[i] = hn::LoadU(DF64(), stretch.squares + i * kDoubleLanes);
      errors[i] = hn::LoadU(DF64(), stretch.errors + i * kDoubleLanes);
    }
  }
  // What the next run adds to, and what it then leaves.
  HWY_INLINE OrderedSums Next() const { return *this; }
  HWY_INLINE void Take(const OrderedSums& run) { *this = run; }
  void StoreTo(LossStretch* stretch) const {
    for (std::size_t i = 0; i < kSums; ++i) {
      hn::StoreU(squares[i], DF64(), stretch->squares + i * kDoubleLanes);
      hn::StoreU(errors[i], DF64(), stretch->errors + i * kDoubleLanes);
    }
  }

  hn::Vec<DF64> squares[kSums], errors[kSums];
};

// The same where they hold all their digits, so that no order and no fused operation matters.
struct FreeSums {
  // Enough chains of additions to hide how long one takes.
  static constexpr std::size_t kSteps = 2, kAll = kSteps * kStepSums;

  FreeSums() {
    for (std::size_t i = 0; i < kAll; ++i) squares[i] = errors[i] = hn::Zero(DF64());
  }
  HWY_INLINE FreeSums Next() const { return {}; }
  HWY_INLINE void Take(const FreeSums& run) {
    for (std::size_t i = 0; i < kAll; ++i) {
      squares[i] = hn::Add(squares[i], run.squares[i]);
      errors[i] = hn::Add(errors[i], run.errors[i]);
    }
  }
  void StoreTo(LossStretch* stretch) const {
    constexpr std::size_t kSums = kLossSums / kDoubleLanes;
    for (std::size_t i = 0; i < kSums; ++i) {
      auto square = squares[i], error = errors[i];
      for (std::size_t j = i + kSums; j < kAll; j += kSums) {
        square = hn::Add(square, squares[j]);
        error = hn::Add(error, errors[j]);
      }
      hn::StoreU(square, DF64(), stretch->squares + i * kDoubleLanes);
      hn::StoreU(error, DF64(), stretch->errors + i * kDoubleLanes);
    }
  }

  hn::Vec<DF64> squares[kAll], errors[kAll];
};

// What goes from one run to the next. Floats are compared as bits, and counts are of what is not:
// an addition's ports are short. kNarrow: of the sources' numbers, at most 11 digits.
template <bool kLossless, bool kNarrow> struct Float32Lanes {
  using Sums = std::conditional_t<kNarrow, FreeSums, OrderedSums>;

  explicit Float32Lanes(double known)
      : larger(hn::Zero(D32())),
        max_error(larger),
        inexact(larger),
        largest(larger),
        least(hn::Set(D32(), ~0u)) {
    SetRelative(known);
  }
  HWY_INLINE void SetRelative(double known) {
    max_relative = known;
    relative = hn::Set(DF32(), FilterOf(known));
  }
  // What, times a source, is below every error whose quotient is larger than the known one.
  static float FilterOf(double known) {
    if (known < 0) return -1.0f;
    if constexpr (kNarrow) {
      const auto nearest = static_cast<float>(known);
      // Quotients of 11 digits that differ do so by 2^-22 of themselves: a larger one is above the
      // next float, whose product with the divisor is above the dividend whatever its rounding.
      return static_cast<double>(nearest) < known ? std::nextafterf(nearest, HUGE_VALF) : nearest;
    } else {
      // A little less than known, so that no rounding hides a larger one; 1 is what zeros give, and
      // no quotient is larger.
      if (known >= 1) return 1;
      return known > 0x1p-30 ? static_cast<float>(known * (1 - 0x1p-22)) : 0;
    }
  }

  HWY_INLINE void Add(const float* x_values, const float* y_values, Sums& sums) {
    const DF32 d;
    const D32 bits;
    const DF64 wide;
    const hn::Half<DF32> half;
    for (std::size_t at = 0; at < Sums::kSteps * kStep32; at += kFloatLanes) {
      const auto x = hn::LoadU(d, x_values + at);
      const auto magnitude = hn::Abs(x);
      largest = hn::Max(largest, hn::BitCast(bits, magnitude));
      least = hn::Min(least, hn::BitCast(bits, magnitude));
      auto difference = hn::Zero(d);
      if constexpr (!kLossless) {
        difference = hn::Sub(x, hn::LoadU(d, y_values + at));
        const auto magnitude_of_error = hn::Abs(difference);
        const auto error = hn::BitCast(bits, magnitude_of_error);
        max_error = hn::Max(max_error, error);
        inexact = hn::Add(inexact, hn::Min(error, hn::Set(bits, 1u)));
        larger =
            hn::Or(larger, hn::BitCast(bits, hn::MulSub(relative, magnitude, magnitude_of_error)));
      }
      for (std::size_t upper = 0; upper < 2; ++upper) {
        const std::size_t place = at / kDoubleLanes + upper;
        const auto value =
            hn::PromoteTo(wide, hn::LoadU(half, x_values + at + upper * kDoubleLanes));
        [[maybe_unused]] auto error = hn::Zero(wide);
        if constexpr (!kLossless) {
          error = hn::PromoteTo(
              wide, upper == 0 ? hn::LowerHalf(half, difference) : hn::UpperHalf(half, difference));
        }
        if constexpr (kNarrow) {
          sums.squares[place] = hn::MulAdd(value, value, sums.squares[place]);
          if constexpr (!kLossless) {
            sums.errors[place] = hn::MulAdd(error, error, sums.errors[place]);
          }
        } else {
          const std::size_t sum = place % Sums::kSums;
          sums.squares[sum] = hn::Add(sums.squares[sum], hn::Mul(value, value));
          if constexpr (!kLossless) {
            sums.errors[sum] = hn::Add(sums.errors[sum], hn::Mul(error, error));
          }
        }
      }
    }
  }
  // Whether a relative error may be larger than the known one; forgets it.
  HWY_INLINE bool MayBeLarger() {
    if constexpr (kLossless) return false;
    const hn::RebindToSigned<D32> d;
    return !hn::AllFalse(
        d, hn::Lt(hn::BitCast(d, std::exchange(larger, hn::Zero(D32()))), hn::Zero(d)));
  }

  // Negative where a relative error may be larger than the known one.
  hn::Vec<D32> larger;
  hn::Vec<DF32> relative = hn::Zero(DF32());
  hn::Vec<D32> max_error, inexact, largest, least;
  double max_relative = 0;
};

// The sums of elements whose free sums did not hold all their digits.
template <bool kLossless>
void SumInOrder(const float* x_values, const float* y_values, std::size_t n, LossStretch* stretch) {
  const DF64 d;
  const hn::Rebind<float, DF64> narrow;
  OrderedSums sums(*stretch);
#pragma GCC unroll 1
  for (std::size_t i = 0; i < n; i += kLossSums) {
    for (std::size_t k = 0; k < OrderedSums::kSums; ++k) {
      const std::size_t at = i + k * kDoubleLanes;
      const auto x = hn::PromoteTo(d, hn::LoadU(narrow, x_values + at));
      sums.squares[k] = hn::Add(sums.squares[k], hn::Mul(x, x));
      if constexpr (!kLossless) {
        const auto error = hn::Sub(x, hn::PromoteTo(d, hn::LoadU(narrow, y_values + at)));
        sums.errors[k] = hn::Add(sums.errors[k], hn::Mul(error, error));
      }
    }
  }
  sums.StoreTo(stretch);
}
// The largest relative error of a run, or what is known where that is as large.
HWY_INLINE double LargestRelative(const float* x_values, const float* y_values, std::size_t n,
                                  double known) {
  const DF64 d;
  const hn::Rebind<float, DF64> narrow;
  const auto nearly = hn::Set(d, known * (1 - 0x1p-40));
  auto largest = hn::Set(d, known);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto x = hn::PromoteTo(d, hn::LoadU(narrow, x_values + i));
    const auto y = hn::PromoteTo(d, hn::LoadU(narrow, y_values + i));
    const auto error = hn::Abs(hn::Sub(x, y)), magnitude = hn::Abs(x);
    if (HWY_LIKELY(hn::AllTrue(d, hn::Le(error, hn::Mul(nearly, magnitude))))) continue;
    const auto nonzero = hn::Gt(magnitude, hn::Zero(d));
    largest = hn::Max(largest, hn::IfThenElse(nonzero, hn::Div(error, magnitude), largest));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// The first element of an error.
HWY_INLINE std::size_t FindError(const float* x_values, const float* y_values, std::size_t n,
                                 double error) {
  const DF32 d;
  const auto wanted = hn::Set(d, static_cast<float>(error));
  for (std::size_t i = 0; i < n; i += kFloatLanes) {
    const auto x = hn::LoadU(d, x_values + i);
    const auto found = hn::Eq(hn::Abs(hn::Sub(x, hn::LoadU(d, y_values + i))), wanted);
    const auto lane = static_cast<std::ptrdiff_t>(hn::FindFirstTrue(d, found));
    if (lane >= 0) return i + static_cast<std::size_t>(lane);
  }
  return LossStretch::kNotLookedFor;
}

// The first element of a relative error; divides only where it may be.
HWY_INLINE std::size_t FindRelative(const float* x_values, const float* y_values, std::size_t n,
                                    double relative) {
  const DF64 d;
  const hn::Rebind<float, DF64> narrow;
  const auto wanted = hn::Set(d, relative);
  const auto nearly = hn::Set(d, relative * (1 - 0x1p-40));
  for (std::size_t i = 0; i < n; i += kDoubleLanes) {
    const auto x = hn::PromoteTo(d, hn::LoadU(narrow, x_values + i));
    const auto y = hn::PromoteTo(d, hn::LoadU(narrow, y_values + i));
    const auto error = hn::Abs(hn::Sub(x, y)), magnitude = hn::Abs(x);
    if (HWY_LIKELY(hn::AllTrue(d, hn::Lt(error, hn::Mul(nearly, magnitude))))) continue;
    const auto found = hn::Eq(hn::Div(error, magnitude), wanted);
    const auto lane = static_cast<std::ptrdiff_t>(hn::FindFirstTrue(d, found));
    if (lane >= 0) return i + static_cast<std::size_t>(lane);
  }
  return LossStretch::kNotLookedFor;
}

// What runs have whose least magnitude is below the destination's normal ones: counts, a lane each,
// of what is not, as an addition's ports are short.
struct LowRuns {
  // Written out, so that it is compiled for the target.
  HWY_INLINE LowRuns() : nonzero(hn::Zero(D32())), low(nonzero), source_nonzero(low), kept(low) {}

  // `has_zeros`: sources. `smallest` is one less, so that zero is above all others.
  template <bool kLossless>
  HWY_INLINE void Add(const float* x_values, const float* y_values, const Float32Limits& limits,
                      bool has_zeros, hn::Vec<D32>* smallest) {
    const D32 bits;
    const auto one = hn::Set(bits, 1u), sign = hn::Set(bits, 0x80000000u);
    const auto limit = hn::Set(bits, limits.least_normal);
    const auto load = [&](const float* values)
                          HWY_ATTR { return hn::BitCast(bits, hn::LoadU(DF32(), values)); };
    elements += kOrdinaryRun32;
#pragma GCC unroll 2
    for (std::size_t i = 0; i < kOrdinaryRun32; i += kFloatLanes) {
      const auto y = hn::AndNot(sign, load(y_values + i));
      nonzero = hn::Add(nonzero, hn::Min(y, one));
      low = hn::Add(low, hn::ShiftRight<31>(hn::Sub(y, limit)));
    }
    if (!has_zeros) return;
    elements_with_zeros += kOrdinaryRun32;
#pragma GCC unroll 2
    for (std::size_t i = 0; i < kOrdinaryRun32; i += kFloatLanes) {
      const auto x = load(x_values + i);
      const auto magnitude = hn::AndNot(sign, x);
      *smallest = hn::Min(*smallest, hn::Sub(magnitude, one));
      source_nonzero = hn::Add(source_nonzero, hn::Min(magnitude, one));
      // Not both -0 and +0.
      if constexpr (!kLossless) {
        kept = hn::Add(kept, hn::Min(hn::Or(hn::Xor(x, sign), load(y_values + i)), one));
      }
    }
  }
  template <bool kLossless> void StoreTo(const Float32Limits& limits, LossStretch* stretch) const {
    const auto total = [](hn::Vec<D32> counts) HWY_ATTR {
      return std::uint64_t{hn::GetLane(hn::SumOfLanes(D32(), counts))};
    };
    const auto add = [&](Loss loss, std::uint64_t found) {
      stretch->counts[static_cast<std::size_t>(loss)] += found;
    };
    if (elements == 0) return;
    const std::uint64_t zeros = elements - total(nonzero);
    const std::uint64_t source_zeros = elements_with_zeros - total(source_nonzero);
    add(Loss::kToSubnormal, total(low) - zeros);
    add(Loss::kToZero, zeros - source_zeros);
    if (!kLossless && limits.to_float) add(Loss::kZeroSignLost, elements_with_zeros - total(kept));
    stretch->compared_nonzero -= source_zeros;
  }

  std::uint64_t elements = 0, elements_with_zeros = 0;
  hn::Vec<D32> nonzero, low, source_nonzero, kept;
};

inline bool HasNegative(const float* values, std::size_t n) {
  const D32 bits;
  auto signs = hn::Zero(bits);
  for (std::size_t i = 0; i < n; i += kFloatLanes) {
    signs = hn::Or(signs, hn::BitCast(bits, hn::LoadU(DF32(), values + i)));
  }
  return !hn::AllTrue(bits, hn::Eq(hn::ShiftRight<31>(signs), hn::Zero(bits)));
}

// Measures elements from the first on, in runs, up to a run that is not ordinary; gives how many.
// The first, the tensor's at `index`, is a multiple of eight; of a run, where n crosses a block's
// end. stretch->max_* hold what was known before.
template <bool kLossless, bool kNarrow>
std::size_t MeasureOrdinary32(const float* x_values, const float* y_values, std::size_t n,
                              std::uint64_t index, const Float32Limits& limits, Ahead* ahead,
                              LossStretch* stretch) {
  using Lanes = Float32Lanes<kLossless, kNarrow>;
  using Sums = typename Lanes::Sums;
  const D32 bits;
  const auto none = hn::Set(bits, ~0u);
  const auto beyond = hn::Set(bits, limits.beyond);
  const auto least_normal = hn::Set(bits, limits.least_normal);
  const auto first_sums = [&]() HWY_ATTR {
    if constexpr (kNarrow) return Sums();
    if constexpr (!kNarrow) return Sums(*stretch);
  };
  Lanes lanes(stretch->max_rel_error);
  Sums sums = first_sums();
  // Of the block: the least one less, so that zero is above all others.
  auto block_largest = hn::Zero(bits), block_smallest = none;
  LowRuns low;
  std::uint32_t largest = 0, smallest = ~0u;
  std::size_t done = 0, block = 0, ordered = 0;  // elements up to the block; of blocks summed again
  // The sums of what is done of the block, which go on from those of the stretch.
  const auto end_sums = [&]() HWY_ATTR {
    const std::uint32_t most = hn::GetLane(hn::MaxOfLanes(bits, block_largest));
    const std::uint32_t least = hn::GetLane(hn::MinOfLanes(bits, block_smallest));
    largest = std::max(largest, most);
    smallest = std::min(smallest, least);
    block_largest = hn::Zero(bits);
    block_smallest = none;
    const bool none_before = !kNarrow || std::all_of(stretch->squares, stretch->squares + kLossSums,
                                                     [](double sum) { return sum == 0; });
    if (!kNarrow || (none_before && limits.SumsAreExact(most, least + 1 == 0 ? most : least + 1))) {
      sums.StoreTo(stretch);
    } else {
      SumInOrder<kLossless>(x_values + block, y_values + block, done - block, stretch);
      ordered += done - block;
    }
    block = done;
  };
  while (done + kOrdinaryRun32 <= n) {
    const float* const x = x_values + done;
    const float* const y = y_values + done;
    Lanes run = lanes;
    Sums run_sums = sums.Next();
    ahead->Ask(kStretchBlocks * kBlock / kOrdinaryRun32);
#pragma GCC unroll 1
    for (std::size_t i = 0; i < kOrdinaryRun32; i += Sums::kSteps * kStep32)
      run.Add(x + i, y + i, run_sums);
    if (!hn::AllTrue(bits, hn::Lt(run.largest, beyond)) ||
        (!limits.is_signed && HasNegative(x, kOrdinaryRun32))) {
      break;
    }
    stretch->compared_nonzero += kOrdinaryRun32;
    bool has_zeros = false;
    if (!hn::AllFalse(bits, hn::Lt(run.least, least_normal))) {
      has_zeros = !hn::AllFalse(bits, hn::Eq(run.least, hn::Zero(bits)));
      low.Add<kLossless>(x, y, limits, has_zeros, &block_smallest);
    }
    if (!has_zeros) block_smallest = hn::Min(block_smallest, hn::Sub(run.least, hn::Set(bits, 1u)));
    // The filter may underflow where the numbers are very small.
    const bool is_tiny =
        (kNarrow || !kFused) && !kLossless &&
        !hn::AllFalse(bits, hn::Lt(has_zeros ? block_smallest : run.least, hn::Set(bits, kTiny)));
    if (run.MayBeLarger() || is_tiny) {
      run.SetRelative(LargestRelative(x, y, kOrdinaryRun32, run.max_relative));
    }
    block_largest = hn::Max(block_largest, run.largest);
    run.largest = hn::Zero(bits);
    run.least = none;
    lanes = run;
    sums.Take(run_sums);
    done += kOrdinaryRun32;
    if ((index + done) % kBlock == 0) {
      end_sums();
      stretch->EndBlock();
      sums = first_sums();
    }
  }
  if (done == 0) return 0;
  const auto lane = [](std::uint32_t code) {
    return static_cast<double>(std::bit_cast<float>(code));
  };
  if (block != done) end_sums();
  stretch->summed_again = ordered == done;
  low.StoreTo<kLossless>(limits, stretch);
  const std::uint64_t inexact = hn::GetLane(hn::SumOfLanes(bits, lanes.inexact));
  const auto counts = [stretch](Loss loss) -> std::uint64_t& {
    return stretch->counts[static_cast<std::size_t>(loss)];
  };
  stretch->finite += done;
  stretch->compared += done;
  counts(Loss::kExact) += done - inexact;
  counts(Loss::kRounded) += inexact - counts(Loss::kToZero);
  const double max_error = lane(hn::GetLane(hn::MaxOfLanes(bits, lanes.max_error)));
  if (max_error > stretch->max_abs_error) {
    stretch->max_abs_error = max_error;
    stretch->max_abs_at = FindError(x_values, y_values, done, max_error);
  }
  const double max_relative =
      std::max(lanes.max_relative, stretch->compared_nonzero != 0 ? 0.0 : -1.0);
  if (max_relative > stretch->max_rel_error) {
    stretch->max_rel_error = max_relative;
    stretch->max_rel_at = FindRelative(x_values, y_values, done, max_relative);
  }
  stretch->amax = lane(largest);
  stretch->smallest_nonzero = lane(smallest + 1);  // none: 0
  return done;
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_LOSS_FLOAT32_INL_H_
