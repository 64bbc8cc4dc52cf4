// Measuring loss in lanes: one stretch of a block, as float64 values. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_LOSS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_LOSS_INL_H_
#undef TENSORCAST_SRC_CORE_LOSS_INL_H_
#else
#define TENSORCAST_SRC_CORE_LOSS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/lanes-inl.h"
#include "core/loss_limits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// Lines of memory that a later block needs, of sources and of results. They are asked for while one
// is measured: what the processor asks for by itself stops meanwhile, and where results are written
// it does not begin before them.
struct Ahead {
  static constexpr std::size_t kLine = 64;
  struct Lines {
    const std::byte* first = nullptr;
    std::size_t bytes = 0;
    std::size_t done = 0;
    std::size_t part = 0;  // bytes that are asked for at a time
  };

  // Parts of which so many are all.
  void Divide(std::size_t parts) {
    for (Lines* side : {&sources, &results}) side->part = side->bytes / parts;
  }
  // A part. Values of 64 bits and their results leave the first-level cache no room.
  template <class Value> HWY_INLINE void Ask() {
    for (Lines* side : {&sources, &results}) {
      const std::size_t end = std::min(side->bytes, side->done + side->part);
      std::size_t done = side->done;
      for (; done < end; done += kLine) {
        __builtin_prefetch(side->first + done, 0, sizeof(Value) == 8 ? 2 : 3);
      }
      side->done = done;
    }
  }
  template <class Value> void AskForAll() {
    Divide(1);
    Ask<Value>();
  }

  Lines sources, results;
};

// Whether any value reaches 2^53 in magnitude, where a double may not hold an integer.
HWY_INLINE bool AnyWide(const double* x, std::size_t n) {
  const DF64 d;
  const auto limit = hn::Set(d, 0x1p53);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    if (!hn::AllFalse(d, hn::Ge(hn::Abs(hn::LoadU(d, x + i)), limit))) return true;
  }
  for (; i < n; ++i) {
    if (std::fabs(x[i]) >= 0x1p53) return true;
  }
  return false;
}

// Whether any value is beyond the range, or NaN.
HWY_INLINE bool AnyBeyond(const double* x, std::size_t n, const LossParams& params) {
  const DF64 d;
  const auto high = hn::Set(d, params.beyond_high), low = hn::Set(d, params.beyond_low);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto value = hn::LoadU(d, x + i);
    if (!hn::AllTrue(d, hn::And(hn::Lt(value, high), hn::Gt(value, low)))) return true;
  }
  for (; i < n; ++i) {
    if (!(x[i] < params.beyond_high && x[i] > params.beyond_low)) return true;
  }
  return false;
}

// The magnitudes of the differences of 64-bit integers and results that are doubles; exact before
// they become doubles. Those of results that are not finite are any. False where a result is beyond
// the integer's type.
template <class Integer>
bool WideErrors(const std::byte* integers, const double* y_values, std::size_t n, double* errors) {
  const DF64 d;
  const D64 bits;
  const hn::RebindToSigned<D64> whole;
  constexpr bool kSigned = std::is_signed_v<Integer>;
  const auto two63 = hn::Set(d, 0x1p63);
  const auto top = hn::Set(bits, std::uint64_t{1} << 63);
  const auto end = hn::Set(d, kSigned ? 0x1p63 : 0x1p64);
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto x = Load(bits, integers + i * sizeof(Integer));
    const auto y = hn::LoadU(d, y_values + i);
    const auto outside = hn::And(hn::Gt(hn::Abs(y), end), hn::Lt(hn::Abs(y), infinity));
    if (!hn::AllFalse(d, outside)) return false;
    hn::Vec<D64> result;
    if constexpr (kSigned) {
      result = hn::BitCast(bits, hn::ConvertTo(whole, y));
    } else {
      const auto upper = hn::Ge(y, two63);
      const auto lower = hn::IfThenElse(upper, hn::Sub(y, two63), y);
      result = hn::BitCast(bits, hn::ConvertTo(whole, lower));
      result = hn::Xor(result, hn::IfThenElseZero(hn::RebindMask(bits, upper), top));
    }
    // What is rounded up out of the type; differences are taken modulo 2^64.
    const auto at_end = hn::RebindMask(bits, hn::Eq(y, end));
    result = hn::IfThenElse(at_end, kSigned ? top : hn::Zero(bits), result);
    // Compared as signed integers, the unsigned ones moved down by half their range.
    const auto order = [&](auto v)
                           HWY_ATTR { return hn::BitCast(whole, kSigned ? v : hn::Xor(v, top)); };
    const auto is_less = hn::Or(at_end, hn::RebindMask(bits, hn::Lt(order(x), order(result))));
    const auto above = hn::Sub(x, result);
    auto magnitude = hn::IfThenElse(is_less, hn::Sub(result, x), above);
    if constexpr (!kSigned) {
      // Results below zero: their magnitudes are below 2^53 and come on top, perhaps of all 64
      // bits.
      const auto is_negative = hn::Lt(y, hn::Zero(d));
      magnitude = hn::IfThenElse(hn::RebindMask(bits, is_negative), above, magnitude);
      const auto carries = hn::And(is_negative, hn::RebindMask(d, hn::Lt(order(above), order(x))));
      const auto error = hn::ConvertTo(d, magnitude);
      hn::StoreU(hn::Add(error, hn::IfThenElseZero(carries, end)), d, errors + i);
    } else {
      hn::StoreU(hn::ConvertTo(d, magnitude), d, errors + i);
    }
  }
  return true;
}

// A product and a difference are rounded once together.
inline constexpr bool kFused = TENSORCAST_AVX2 || HWY_ARCH_ARM_A64;

// What goes from one element of a lane to the next.
struct LossLanes {
  hn::Vec<DF64> squares, errors, max_error, amax, smallest;
  double max_relative;
  hn::Vec<DF64> known;  // the same; where there is none, less than integers' least, 2^-64

  explicit LossLanes(double maximum)
      : squares(hn::Zero(DF64())),
        errors(squares),
        max_error(squares),
        amax(squares),
        smallest(hn::Set(DF64(), std::numeric_limits<double>::infinity())) {
    SetRelative(maximum);
  }
  HWY_INLINE void SetRelative(double maximum) {
    max_relative = maximum;
    known = hn::Set(DF64(), maximum > 0 ? maximum : 0x1p-70);
  }
  // Where the relative error may be larger. A quotient that is larger when rounded is larger: the
  // error is then above the exact product, and no less than the rounded one.
  template <class V> HWY_INLINE auto MayBeLarger(V error, V magnitude) const {
    const DF64 d;
    if constexpr (kFused) {
      const hn::RebindToSigned<DF64> di;
      const auto left = hn::BitCast(di, hn::MulSub(known, magnitude, error));
      return hn::RebindMask(d, hn::Lt(left, hn::Zero(di)));
    } else {
      return hn::Ge(error, hn::Mul(known, magnitude));
    }
  }
  // Divides only where the largest relative error may grow.
  template <class M, class V> HWY_INLINE void GrowRelative(M candidate, V error, V magnitude) {
    const DF64 d;
    if (HWY_LIKELY(hn::AllFalse(d, candidate))) return;
    const auto relative = hn::IfThenElseZero(candidate, hn::Div(error, magnitude));
    const double largest = hn::GetLane(hn::MaxOfLanes(d, relative));
    if (largest > max_relative) SetRelative(largest);
  }
};

// What stands for the magnitude of x - y.
struct Subtracted {
  template <class V> HWY_INLINE V Error(V x, V y, std::size_t) const {
    return hn::Abs(hn::Sub(x, y));
  }
  template <class V> HWY_INLINE auto IsExact(V x, V y, V, V) const { return hn::Eq(x, y); }
};
// Doubles that are not the values' difference: 64-bit integers are rounded to be x.
struct Given {
  template <class V> HWY_INLINE V Error(V, V, std::size_t i) const {
    return hn::LoadU(DF64(), errors + i);
  }
  template <class V> HWY_INLINE auto IsExact(V, V y, V error, V infinity) const {
    return hn::And(hn::Eq(error, hn::Zero(DF64())), hn::Lt(hn::Abs(y), infinity));
  }

  const double* errors;
};

// The largest relative error of a lane's elements.
template <class Errors>
double LargestRelative(const double* x_values, const double* y_values, std::size_t first,
                       std::size_t end, const Errors& errors) {
  const DF64 d;
  auto largest = hn::Set(d, -1.0);
  for (std::size_t i = first; i < end; i += kLossSums) {
    const auto x = hn::LoadU(d, x_values + i);
    const auto error = errors.Error(x, hn::LoadU(d, y_values + i), i);
    const auto nonzero = hn::Gt(hn::Abs(x), hn::Zero(d));
    largest =
        hn::Max(largest, hn::IfThenElse(nonzero, hn::Div(error, hn::Abs(x)), hn::Set(d, -1.0)));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// Counts: of masks that are bits, else a lane each.
template <class Lanes> class LaneCountOf {
 public:
#if TENSORCAST_AVX512
  template <class M> HWY_INLINE void Add(M mask) { total_ += hn::CountTrue(Lanes(), mask); }
  HWY_INLINE std::uint64_t Total() const { return total_; }

 private:
  std::uint64_t total_ = 0;
#else
  HWY_INLINE LaneCountOf() : less_(hn::Zero(D())) {}
  template <class M> HWY_INLINE void Add(M mask) {
    less_ = hn::Add(less_, hn::VecFromMask(D(), hn::RebindMask(D(), mask)));
  }
  HWY_INLINE std::uint64_t Total() const {
    return static_cast<std::uint64_t>(-std::int64_t{hn::GetLane(hn::SumOfLanes(D(), less_))});
  }

 private:
  using D = hn::RebindToSigned<Lanes>;
  hn::Vec<D> less_;  // one for each element
#endif
};
using LaneCount = LaneCountOf<DF64>;

// What a lane has where a magnitude may be below the destination's normal ones.
struct LowLanes {
  // Written out, so that it is compiled for the target.
  HWY_INLINE LowLanes() : smallest(hn::Set(DF64(), std::numeric_limits<double>::infinity())) {}
  std::size_t source_zeros = 0, zeros = 0, low = 0;
  std::size_t to_zero = 0;  // of other sources: a code with a bias may make something of a zero
  hn::Vec<DF64> smallest;   // of the sources other than zero
  bool loses_zero_sign = false;
};
// kZeros: whether a source may be zero; else `smallest` is left to the caller.
template <bool kZeros, class Limits>
LowLanes FindLow(const double* x_values, const double* y_values, std::size_t first, std::size_t end,
                 Limits& limits) {
  const DF64 d;
  const hn::RebindToSigned<DF64> di;
  const auto zero = hn::Zero(d);
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  LowLanes found;
  auto lost = zero;
  LaneCount source_zeros, zeros, to_zero, low;
  const auto part = [&](std::size_t i, std::size_t part_end,
                        const auto& of_part) TENSORCAST_INLINED {
    for (; i < part_end; i += kLossSums) {
      const auto y = hn::LoadU(d, y_values + i);
      const auto y_zero = hn::Eq(y, zero);
      zeros.Add(y_zero);
      low.Add(hn::Lt(hn::Abs(y), of_part.LeastNormal(i)));
      if constexpr (kZeros) {
        const auto x = hn::LoadU(d, x_values + i);
        const auto x_zero = hn::Eq(x, zero);
        source_zeros.Add(x_zero);
        to_zero.Add(hn::AndNot(x_zero, y_zero));
        found.smallest = hn::Min(found.smallest, hn::IfThenElse(x_zero, infinity, hn::Abs(x)));
        lost = hn::Or(lost, hn::IfThenElseZero(hn::And(x_zero, y_zero), hn::AndNot(y, x)));
      }
    }
  };
  limits.ForEachPart(first, end, part);
  found.zeros = zeros.Total();
  found.low = low.Total();
  found.source_zeros = source_zeros.Total();
  found.to_zero = kZeros ? to_zero.Total() : found.zeros;
  found.loses_zero_sign = !hn::AllFalse(di, hn::Lt(hn::BitCast(di, lost), hn::Zero(di)));
  return found;
}

// A lane's elements from `first` on, each kLossSums after the last. What nearly all values of
// weights are: finite, within the range. Gives false, and is to be as if it had not been called,
// where an element is not, or loses the sign of a zero.
template <class Limits, class Errors>
HWY_INLINE bool MeasureOrdinary(const double* x_values, const double* y_values, std::size_t first,
                                std::size_t end, const LossParams& params, Limits& limits,
                                const Errors& errors, LossLanes* out, LossStretch* stretch) {
  const DF64 d;
  const hn::RebindToSigned<DF64> di;
  const auto zero = hn::Zero(d);
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  LossLanes lanes = *out;
  auto largest = hn::Neg(infinity), least = infinity, smallest = infinity;
  auto larger = zero;  // negative where a relative error may be larger than the known one
  const auto known = hn::Set(d, lanes.max_relative * (kFused ? 1 : 1 - 0x1p-50));
  LaneCount exact;
#pragma GCC unroll 1
  for (std::size_t i = first; i < end; i += kLossSums) {
    const auto x = hn::LoadU(d, x_values + i);
    const auto y = hn::LoadU(d, y_values + i);
    const auto error = errors.Error(x, y, i);
    const auto magnitude = hn::Abs(x);
    lanes.squares = hn::Add(lanes.squares, hn::Mul(x, x));
    lanes.errors = hn::Add(lanes.errors, hn::Mul(error, error));
    lanes.max_error = hn::Max(lanes.max_error, error);
    largest = hn::Max(largest, x);
    least = hn::Min(least, x);
    smallest = hn::Min(smallest, magnitude);
    larger = hn::Or(larger, hn::MulSub(known, magnitude, error));
    exact.Add(errors.IsExact(x, y, error, infinity));
  }
  // An element that is not finite leaves no finite sum.
  if (!hn::AllTrue(d, hn::Lt(hn::Add(lanes.squares, lanes.errors), infinity)) ||
      limits.AnyBeyond(largest, least, x_values, first, end)) {
    return false;
  }
  LowLanes low;
  low.smallest = smallest;
  if (limits.MayBeLow(smallest, first)) {
    if (hn::AllTrue(d, hn::Gt(smallest, zero))) {
      low = FindLow<false>(x_values, y_values, first, end, limits);
      low.smallest = smallest;
    } else {
      low = FindLow<true>(x_values, y_values, first, end, limits);
      if (params.to_float && low.loses_zero_sign) return false;
    }
  }
  const bool is_tiny =  // products may have been rounded up to their errors
      !kFused && !hn::AllTrue(d, hn::Ge(low.smallest, hn::Set(d, 0x1p-900)));
  if (is_tiny || !hn::AllFalse(di, hn::Lt(hn::BitCast(di, larger), hn::Zero(di)))) {
    const double found = LargestRelative(x_values, y_values, first, end, errors);
    if (found > lanes.max_relative) lanes.SetRelative(found);
  }
  lanes.smallest = hn::Min(lanes.smallest, low.smallest);
  lanes.amax = hn::Max(lanes.amax, hn::Max(hn::Abs(largest), hn::Abs(least)));
  *out = lanes;
  const std::size_t n = (end - first + kLossSums - 1) / kLossSums * hn::Lanes(d);
  const std::uint64_t exact_count = exact.Total();
  const auto count = [&](Loss loss, std::size_t found) {
    stretch->counts[static_cast<std::size_t>(loss)] += found;
  };
  stretch->finite += n;
  stretch->compared += n;
  stretch->compared_nonzero += n - low.source_zeros;
  count(Loss::kExact, exact_count);
  count(Loss::kToZero, low.to_zero);
  count(Loss::kRounded, n - exact_count - low.to_zero);
  count(Loss::kToSubnormal, low.low - low.zeros);
  return true;
}

// The same elements, whatever they are.
template <class Limits, class Errors>
void MeasureAny(const double* x_values, const double* y_values, std::size_t first, std::size_t end,
                const LossParams& params, Limits& limits, const Errors& errors, LossLanes* out,
                LossStretch* stretch) {
  const DF64 d;
  limits.Prepare(first, end);
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto zero = hn::Zero(d);
  LaneCount counts[kLossKinds], finite, compared, compared_nonzero;
  LaneCount out_of_range;  // what wrapped or became a limit
  const auto count = [&](Loss loss, auto mask)
                         HWY_ATTR { counts[static_cast<std::size_t>(loss)].Add(mask); };
  LossLanes lanes = *out;
  std::size_t ordinary = 0;
  for (std::size_t i = first; i < end; i += kLossSums) {
    const auto x = hn::LoadU(d, x_values + i);
    const auto y = hn::LoadU(d, y_values + i);
    const auto x_magnitude = hn::Abs(x);
    const auto y_magnitude = hn::Abs(y);
    const auto x_finite = hn::Lt(x_magnitude, infinity);
    const auto both = hn::And(x_finite, hn::Lt(y_magnitude, infinity));
    const auto any_error = errors.Error(x, y, i);
    const auto exact = errors.IsExact(x, y, any_error, infinity);
    const auto y_zero = hn::Eq(y, zero);
    const auto beyond = limits.Beyond(x, i);
    const auto inexact = hn::Not(exact);
    const auto no_zero = hn::And(hn::Gt(x_magnitude, zero), hn::Gt(y_magnitude, zero));
    if (HWY_LIKELY(hn::AllTrue(d, hn::And(both, no_zero)))) {
      // A vector of numbers other than zero: of these little else is to be asked.
      const auto error = any_error;
      lanes.squares = hn::Add(lanes.squares, hn::Mul(x, x));
      lanes.errors = hn::Add(lanes.errors, hn::Mul(error, error));
      lanes.max_error = hn::Max(lanes.max_error, error);
      lanes.amax = hn::Max(lanes.amax, x_magnitude);
      lanes.smallest = hn::Min(lanes.smallest, x_magnitude);
      lanes.GrowRelative(lanes.MayBeLarger(error, x_magnitude), error, x_magnitude);
      ordinary += hn::Lanes(d);
      count(Loss::kExact, exact);
      count(Loss::kToSubnormal, hn::Lt(y_magnitude, limits.LeastNormal(i)));
      if (params.no_zero_undefined) count(Loss::kUndefined, hn::Le(x, zero));
      if (!hn::AllFalse(d, beyond)) {
        out_of_range.Add(hn::And(inexact, beyond));
        if (params.beyond_undefined) count(Loss::kUndefined, beyond);
      }
      count(Loss::kRounded, hn::AndNot(beyond, inexact));
      continue;
    }
    const auto value = hn::IfThenElseZero(both, x);
    const auto error = hn::IfThenElseZero(both, any_error);
    lanes.squares = hn::Add(lanes.squares, hn::Mul(value, value));
    lanes.errors = hn::Add(lanes.errors, hn::Mul(error, error));
    lanes.max_error = hn::Max(lanes.max_error, error);
    const auto magnitude = hn::IfThenElseZero(x_finite, x_magnitude);
    lanes.amax = hn::Max(lanes.amax, magnitude);
    const auto nonzero = hn::Gt(magnitude, zero);
    lanes.smallest = hn::Min(lanes.smallest, hn::IfThenElse(nonzero, magnitude, infinity));
    finite.Add(x_finite);
    compared.Add(both);
    compared_nonzero.Add(hn::And(both, nonzero));
    lanes.GrowRelative(
        hn::And(hn::And(hn::Gt(error, zero), nonzero), lanes.MayBeLarger(error, magnitude)), error,
        magnitude);

    count(Loss::kExact, exact);
    count(Loss::kToSubnormal, hn::And(hn::Lt(y_magnitude, limits.LeastNormal(i)), hn::Not(y_zero)));
    if (params.no_zero_undefined) count(Loss::kUndefined, hn::Le(x, zero));
    if (params.to_float) {
      const auto x_zero = hn::Eq(x, zero);
      if (!hn::AllFalse(d, x_zero)) {
        const auto one = hn::Set(d, 1.0);
        const auto x_negative = hn::Lt(hn::CopySign(one, x), zero);
        const auto y_positive = hn::Gt(hn::CopySign(one, y), zero);
        count(Loss::kZeroSignLost,
              hn::And(hn::And(x_zero, y_zero), hn::And(x_negative, y_positive)));
      }
    }
    if (HWY_LIKELY(hn::AllTrue(d, hn::AndNot(beyond, both)))) {
      count(Loss::kToZero, hn::And(inexact, y_zero));
      count(Loss::kRounded, hn::AndNot(y_zero, inexact));
      continue;
    }
    // Something beyond the range, infinite or NaN: the whole partition, in its order.
    auto rest = inexact;
    const auto x_number = hn::Eq(x, x), y_number = hn::Eq(y, y);
    const auto no_nan = hn::And(x_number, y_number);
    if (HWY_UNLIKELY(!hn::AllTrue(d, no_nan))) {
      const auto x_nan = hn::Not(x_number);  // Highway leaves open what Ne says of NaN
      const auto y_nan = hn::Not(y_number);
      count(Loss::kNan, hn::And(x_nan, y_nan));
      count(Loss::kNanLost, hn::AndNot(y_nan, x_nan));
      count(Loss::kToNan, hn::AndNot(x_nan, y_nan));
      if (params.nan_undefined) count(Loss::kUndefined, x_nan);
      rest = hn::And(no_nan, inexact);
    }
    if (params.wraps) {
      const auto wrapped = hn::And(rest, hn::And(beyond, x_finite));
      out_of_range.Add(wrapped);
      rest = hn::AndNot(wrapped, rest);
    }
    const auto to_infinity = hn::And(rest, hn::Eq(y_magnitude, infinity));
    count(Loss::kToInfinity, to_infinity);
    rest = hn::AndNot(to_infinity, rest);
    if (!params.wraps) {
      const auto to_limit = hn::And(rest, beyond);
      out_of_range.Add(to_limit);
      rest = hn::AndNot(to_limit, rest);
    }
    count(Loss::kToZero, hn::And(rest, y_zero));
    count(Loss::kRounded, hn::AndNot(y_zero, rest));
    if (params.beyond_undefined) count(Loss::kUndefined, beyond);
  }
  *out = lanes;
  for (std::size_t kind = 0; kind < kLossKinds; ++kind)
    stretch->counts[kind] += counts[kind].Total();
  stretch->counts[static_cast<std::size_t>(params.wraps ? Loss::kWrapped : Loss::kToLimit)] +=
      out_of_range.Total();
  stretch->finite += ordinary + finite.Total();
  stretch->compared += ordinary + compared.Total();
  stretch->compared_nonzero += ordinary + compared_nonzero.Total();
}

// Counts n elements, a multiple of eight, the first of which is a multiple of eight in its block:
// element i adds into sum i mod 8 whatever the lanes. stretch->max_* hold what was known before.
template <class Limits, class Errors>
void MeasureStretch(const double* x_values, const double* y_values, std::size_t n,
                    const LossParams& params, Limits& limits, const Errors& errors,
                    LossStretch* stretch) {
  const DF64 d;
  const std::size_t width = hn::Lanes(d);
  LossLanes lanes(stretch->max_rel_error);
  for (std::size_t first = 0; first < kLossSums; first += width) {
    lanes.squares = hn::LoadU(d, stretch->squares + first);
    lanes.errors = hn::LoadU(d, stretch->errors + first);
    std::size_t i = 0;
    // With AVX-512 ordinary integers of 64 bits have other lanes (AsInt64).
    if constexpr (Limits::kOfCasts && !(TENSORCAST_AVX512 && std::is_same_v<Errors, Given>)) {
      for (std::size_t end; i < n; i = end) {
        end = std::min(n, i + kOrdinaryRun);
        if (!MeasureOrdinary(x_values, y_values, first + i, end, params, limits, errors, &lanes,
                             stretch)) {
          break;
        }
      }
    }
    // One that is not ordinary is seldom alone.
    if (i < n) {
      MeasureAny(x_values, y_values, first + i, n, params, limits, errors, &lanes, stretch);
    }
    hn::StoreU(lanes.squares, d, stretch->squares + first);
    hn::StoreU(lanes.errors, d, stretch->errors + first);
  }
  stretch->max_abs_error =
      std::fmax(stretch->max_abs_error, hn::GetLane(hn::MaxOfLanes(d, lanes.max_error)));
  stretch->max_rel_error =
      std::fmax(lanes.max_relative, stretch->compared_nonzero != 0 ? 0.0 : -1.0);
  stretch->amax = hn::GetLane(hn::MaxOfLanes(d, lanes.amax));
  const double least = hn::GetLane(hn::MinOfLanes(d, lanes.smallest));
  stretch->smallest_nonzero = least < std::numeric_limits<double>::infinity() ? least : 0.0;
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_LOSS_INL_H_
