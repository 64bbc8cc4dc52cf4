// Measuring the loss of whole blocks that are ordinary, finite and in the range: in float32 lanes
// where these hold sources, results and differences, else in float64 lanes. Included once per
// target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_LOSS_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_LOSS_BLOCKS_INL_H_
#undef TENSORCAST_SRC_CORE_LOSS_BLOCKS_INL_H_
#else
#define TENSORCAST_SRC_CORE_LOSS_BLOCKS_INL_H_
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/decode-inl.h"
#include "core/lanes-inl.h"
#include "core/loss-inl.h"
#include "core/low_codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// Whether sources are 64-bit integers that are subtracted as such (AsInt64). Results that are such,
// too, may have been rounded to become doubles.
constexpr bool SubtractsIntegers(const TypeInfo& from, const TypeInfo& to) {
  const auto is_wide = [](const TypeInfo& row) { return row.is_integer() && row.bits == 64; };
  return TENSORCAST_AVX512 && is_wide(from) && !is_wide(to);
}

// What magnitudes say of sources and results.
class OrdinaryPair {
 public:
  OrdinaryPair(const TypeInfo& from, const TypeInfo& to, const LossParams& params)
      : loses_nothing_(detail::Contains(to, from)),
        digits_(from.is_float() ? from.mantissa_bits + 1 : from.bits),
        has_sign_(to.has_sign && (from.has_sign || !SubtractsIntegers(from, to))),
        beyond_(std::numeric_limits<double>::infinity()),
        least_normal_(params.least_normal) {
    if (loses_nothing_) return;
    // The range's are NaN where it has none.
    if (params.beyond_high < beyond_) beyond_ = params.beyond_high;
    if (to.has_sign && -params.beyond_low < beyond_) beyond_ = -params.beyond_low;
    if (SubtractsIntegers(from, to)) {
      if (!from.has_sign) beyond_ = std::min(beyond_, 0x1p63);  // they are read as signed ones
    } else if (params.wide && !from.is_float()) {
      // Doubles do not hold integers from here on; what becomes of floats in the range they do.
      beyond_ = std::min(beyond_, 0x1p53);
    }
  }

  // Whether negative numbers may be ordinary; elsewhere none is.
  bool is_signed() const { return has_sign_ || loses_nothing_; }
  bool loses_nothing() const { return loses_nothing_; }
  // Of at most 11 digits.
  bool is_narrow() const { return digits_ <= 11; }
  // Of magnitudes up to this one, whether all are finite and in the range.
  bool IsOrdinary(double largest) const { return largest < beyond_; }
  bool MayBeLow(double least) const { return least < least_normal_; }

 private:
  bool loses_nothing_;
  int digits_;           // of the source's numbers
  bool has_sign_;        // the destination, and a source that is read as signed
  double beyond_;        // from here on, perhaps
  double least_normal_;  // of the destination; 1 where it is an integer
};

// Magnitudes below which the filter of relative errors may underflow.
template <class T> inline constexpr double kTiny = sizeof(T) == 4 ? 0x1p-90 : 0x1p-900;

inline constexpr std::size_t kFloatLanes = hn::MaxLanes(DF32());
inline constexpr std::size_t kDoubleLanes = hn::MaxLanes(DF64());
// Elements of which each of the eight sums has as many, and that come to whole vectors.
template <class D> inline constexpr std::size_t kStepOf = std::max(hn::MaxLanes(D()), kLossSums);
// Elements after which memory is asked for more.
inline constexpr std::size_t kAskedRun = 64;

// Of sources that lanes hold: whether results are the same numbers, and what they differ by.
struct ByValue {
  template <class V> static HWY_INLINE auto AreEqual(V x, V y, const std::byte*, std::size_t) {
    return hn::Eq(x, y);
  }
  template <class V> static HWY_INLINE V Difference(V x, V y, const std::byte*, std::size_t) {
    return hn::Sub(x, y);
  }
};

// Without an instruction for it Highway makes numbers of float16's Inf and NaN.
inline constexpr bool kConvertsHalves = !HWY_ARCH_X86 || TENSORCAST_AVX2;

// How numbers stand in memory: vectors of them from element i on.
struct AsFloat32 : ByValue {
  using D = DF32;
  static HWY_INLINE hn::Vec<DF32> Load(const std::byte* codes, std::size_t i) {
    return hn::LoadU(DF32(), reinterpret_cast<const float*>(codes) + i);
  }
};
struct AsBfloat16 : ByValue {
  using D = DF32;
  using Code = std::uint16_t;
  static HWY_INLINE hn::Vec<DF32> Load(const std::byte* codes, std::size_t i) {
    const hn::Rebind<Code, DF32> narrow;
    const auto code = hn::LoadU(narrow, reinterpret_cast<const Code*>(codes) + i);
    return hn::BitCast(DF32(), hn::ShiftLeft<16>(hn::PromoteTo(D32(), code)));
  }
};
struct AsFloat16 : ByValue {
  using D = DF32;
  static HWY_INLINE hn::Vec<DF32> Load(const std::byte* codes, std::size_t i) {
    const hn::Rebind<hwy::float16_t, DF32> narrow;
    return hn::PromoteTo(DF32(),
                         hn::LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(codes) + i));
  }
};
struct AsFloat64 : ByValue {
  using D = DF64;
  static HWY_INLINE hn::Vec<DF64> Load(const std::byte* codes, std::size_t i) {
    return hn::LoadU(DF64(), reinterpret_cast<const double*>(codes) + i);
  }
};
#if TENSORCAST_AVX512
// Differences are of integers, exact before they become doubles. Ordinary results are integers,
// too, and what becomes of 2^63, its negative, is the same modulo 2^64.
struct AsInt64 {
  using D = DF64;
  static HWY_INLINE hn::Vec<DF64> Load(const std::byte* codes, std::size_t i) {
    return hn::ConvertTo(DF64(), Integers(codes, i));
  }
  static HWY_INLINE auto AreEqual(hn::Vec<DF64>, hn::Vec<DF64> y, const std::byte* codes,
                                  std::size_t i) {
    return hn::RebindMask(DF64(), hn::Eq(Integers(codes, i), Truncated(y)));
  }
  static HWY_INLINE hn::Vec<DF64> Difference(hn::Vec<DF64>, hn::Vec<DF64> y, const std::byte* codes,
                                             std::size_t i) {
    return hn::ConvertTo(DF64(), hn::Sub(Integers(codes, i), Truncated(y)));
  }

 private:
  using Whole = hn::RebindToSigned<DF64>;
  static HWY_INLINE hn::Vec<Whole> Integers(const std::byte* codes, std::size_t i) {
    return hn::LoadU(Whole(), reinterpret_cast<const std::int64_t*>(codes) + i);
  }
  // As Highway's conversion does not: what is beyond the type becomes its least number.
  static HWY_INLINE hn::Vec<Whole> Truncated(hn::Vec<DF64> y) {
    return hn::Vec<Whole>{_mm512_cvttpd_epi64(y.raw)};
  }
};
#endif
// Magnitudes of floats that scale to float16: a code that is moved to where float16 has its own is
// the number over `factor`.
struct NarrowMagnitudes {
  using D = DF32;
  static constexpr bool kTwoEnds = false;  // of cells (scaled_blocks-inl.h)
  explicit NarrowMagnitudes(const TypeInfo& row)
      : magnitude_bits(static_cast<std::uint8_t>(detail::MagnitudeMask(row))),
        shift(detail::Row(DataType::kFloat16).mantissa_bits - row.mantissa_bits),
        factor(PowerOfTwo32(Float16Scale(row))) {}
  HWY_INLINE hn::Vec<DF32> Load(const std::byte* codes, std::size_t i) const {
    const hn::Rebind<std::uint8_t, DF32> bytes;
    const hn::Rebind<std::uint16_t, DF32> words;
    const hn::Rebind<hwy::float16_t, DF32> halves;
    const auto code = hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(codes) + i);
    const auto magnitude = hn::PromoteTo(words, hn::And(code, hn::Set(bytes, magnitude_bits)));
    return hn::PromoteTo(DF32(), hn::BitCast(halves, hn::ShiftLeftSame(magnitude, shift)));
  }
  // Of a source's magnitude and a result's, which have the same sign; exact.
  HWY_INLINE auto AreEqual(hn::Vec<DF32> source, hn::Vec<DF32> loaded) const {
    return hn::Eq(source, hn::Mul(loaded, hn::Set(DF32(), factor)));
  }
  HWY_INLINE hn::Vec<DF32> Difference(hn::Vec<DF32> source, hn::Vec<DF32> loaded) const {
    return hn::NegMulAdd(loaded, hn::Set(DF32(), factor), source);
  }

  std::uint8_t magnitude_bits;  // those of a code but its sign
  int shift;
  float factor;
};
// In float64 lanes.
struct WidenedFloat32 {
  using D = DF64;
  static HWY_INLINE hn::Vec<DF64> Load(const std::byte* codes, std::size_t i) {
    const hn::Rebind<float, DF64> narrow;
    return hn::PromoteTo(DF64(), hn::LoadU(narrow, reinterpret_cast<const float*>(codes) + i));
  }
};

template <class Numbers>
inline constexpr bool kIsHalf =
    std::is_same_v<Numbers, AsBfloat16> || std::is_same_v<Numbers, AsFloat16>;

template <class Numbers>
inline constexpr bool kIsMagnitudes = std::is_same_v<Numbers, NarrowMagnitudes>;

// Sources from `place` on and what was loaded of their results: numbers, or magnitudes.
template <class Source, class Result> struct Compared {
  template <class V> HWY_INLINE auto AreEqual(V x, V x_magnitude, V loaded) const {
    if constexpr (kIsMagnitudes<Result>) {
      return result.AreEqual(x_magnitude, loaded);
    } else {
      return Source::AreEqual(x, loaded, x_codes, place);
    }
  }
  template <class V> HWY_INLINE V Difference(V x, V x_magnitude, V loaded) const {
    if constexpr (kIsMagnitudes<Result>) {
      return result.Difference(x_magnitude, loaded);
    } else {
      return Source::Difference(x, loaded, x_codes, place);
    }
  }

  const Result& result;
  const std::byte* x_codes;
  std::size_t place;
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
  // Adds the squares of the kAt-th vector of a step. Those of floats are doubles, so that fused
  // operations give the same sums.
  template <std::size_t kAt> HWY_INLINE void Add(hn::Vec<DF32> values) {
    constexpr std::size_t kLower = 2 * kAt % kVectors, kUpper = (2 * kAt + 1) % kVectors;
    const hn::Half<DF32> half;
    const auto lower = hn::PromoteTo(DF64(), hn::LowerHalf(half, values));
    const auto upper = hn::PromoteTo(DF64(), hn::UpperHalf(half, values));
    sums[kLower] = hn::MulAdd(lower, lower, sums[kLower]);
    sums[kUpper] = hn::MulAdd(upper, upper, sums[kUpper]);
  }
  template <std::size_t kAt> HWY_INLINE void Add(hn::Vec<DF64> values) {
    sums[kAt] = hn::Add(sums[kAt], hn::Mul(values, values));
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

// Goes over n elements, whole blocks of a stretch, by steps, at_step(block, i, sums) for the
// elements from i of the block on; then puts what is in each of the sums where `out` says. Blocks
// are summed side by side where that takes few vectors of sums, so that an addition need not wait
// for the one before; narrower vectors have sums enough, and no registers, and of doubles there are
// half as many. One that is alone stands beside itself: gives how often an element was looked at.
template <class D, std::size_t kSums, class AtStep>
HWY_INLINE std::size_t SumBlocks(std::size_t n, Ahead* ahead, const AtStep& at_step,
                                 const std::array<StretchSums*, kSums>& out) {
  constexpr bool kWaits = std::is_same_v<D, DF32> && SquareSums::kVectors * kSums <= 2;
  constexpr std::size_t kSide = kWaits ? kStretchBlocks : 1;
  const std::size_t last = n / kBlock - 1;
  ahead->Divide(n / kSide / kAskedRun);
  for (std::size_t block = 0; block <= last; block += kSide) {
    const auto beside = [&](std::size_t side) { return std::min(block + side, last); };
    SquareSums sums[kSide][kSums];
    for (std::size_t begin = 0; begin < kBlock; begin += kAskedRun) {
      ahead->Ask<hn::TFromD<D>>();
#pragma GCC unroll 1
      for (std::size_t i = begin; i < begin + kAskedRun; i += kStepOf<D>) {
        Unrolled<kSide>([&](auto side) HWY_ATTR
                        __attribute__((always_inline)) { at_step(beside(side), i, sums[side]); });
      }
    }
    Unrolled<kSide>([&](auto side) HWY_ATTR __attribute__((always_inline)) {
      Unrolled<kSums>([&](auto which) HWY_ATTR __attribute__((always_inline)) {
        sums[side][which].StoreTo(out[which]->of[beside(side)]);
      });
    });
  }
  return last == 0 ? kSide : 1;
}

// Lanes in which magnitudes are in the order of the numbers: bits of floats, as an addition's ports
// are short; integers of 64 bits few targets compare.
template <class D> using Ordered = std::conditional_t<std::is_same_v<D, DF32>, D32, D>;
inline double Number(std::uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); }
inline double Number(double value) { return value; }

// Counts errors other than zero, of floats as bits as well.
template <class D> struct ErrorCount {
  HWY_INLINE ErrorCount() {}  // written out, so that it is compiled for the target
  HWY_INLINE void Add(hn::Vec<D> error) { count.Add(hn::Gt(error, hn::Zero(D()))); }
  HWY_INLINE std::uint64_t Total() const { return count.Total(); }

  LaneCount count;
};
template <> struct ErrorCount<DF32> {
  HWY_INLINE ErrorCount() : count(hn::Zero(D32())) {}
  HWY_INLINE void Add(hn::Vec<DF32> error) {
    count = hn::Add(count, hn::Min(hn::BitCast(D32(), error), hn::Set(D32(), 1u)));
  }
  HWY_INLINE std::uint64_t Total() const { return hn::GetLane(hn::SumOfLanes(D32(), count)); }

  hn::Vec<D32> count;
};

// What is found beside the sums.
struct FoundInBlocks {
  double largest = 0, least = 0;  // magnitudes of the sources
  std::uint64_t inexact = 0;
  double error = 0;                // the largest
  bool relative_may_grow = false;  // a relative error is larger than the known one, perhaps
  double smallest = 0;             // of the sources but zero; 0 where there is none
  std::uint64_t beyond = 0;        // of the sources, where one that is may be among them
};

// Sums the squares of n sources, whole blocks, whose results are the same numbers.
template <class Source>
FoundInBlocks SumSquares(const std::byte* x_codes, std::size_t n, Ahead* ahead,
                         StretchSums* squares) {
  using D = typename Source::D;
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  const Ordered<D> ordered;
  auto largest = hn::Zero(ordered);
  auto least = hn::BitCast(ordered, hn::Set(D(), hwy::HighestValue<hn::TFromD<D>>()));
  SumBlocks<D>(
      n, ahead,
      [&](std::size_t block, std::size_t i, auto& sums) HWY_ATTR __attribute__((always_inline)) {
        Unrolled<kStepOf<D> / kLanes>([&](auto at) HWY_ATTR __attribute__((always_inline)) {
          const auto x = Source::Load(x_codes, block * kBlock + i + at * kLanes);
          const auto magnitude = hn::BitCast(ordered, hn::Abs(x));
          largest = hn::Max(largest, magnitude);
          least = hn::Min(least, magnitude);
          sums[0].template Add<at>(x);
        });
      },
      std::array{squares});
  FoundInBlocks found;
  found.largest = Number(hn::GetLane(hn::MaxOfLanes(ordered, largest)));
  found.least = Number(hn::GetLane(hn::MinOfLanes(ordered, least)));
  return found;
}

// What, times a source, is below every error whose quotient is larger than the known one: no more
// than 1, which is what zeros give.
inline float RelativeFilter(DF32, double known, bool is_narrow) {
  if (known < 0) return -1;
  // That of what became the range's end may have more than 11 digits, and lie between 1 and all
  // others.
  if (is_narrow && known < 1 - 0x1p-9) {
    const auto nearest = static_cast<float>(known);
    // Quotients of 11 digits that differ do so by 2^-22 of themselves: a larger one is above the
    // next float, whose product with the divisor is above the dividend whatever its rounding.
    return static_cast<double>(nearest) < known ? std::nextafterf(nearest, HUGE_VALF) : nearest;
  }
  // A little less than known, so that no rounding hides a larger one.
  if (known >= 1) return 1;
  return known > 0x1p-30 ? static_cast<float>(known * (1 - 0x1p-22)) : 0;
}
inline double RelativeFilter(DF64, double known, bool is_narrow) {
  if (known >= 1) return 1;
  // Those of integers below 2^24 differ by 2^-49. Many elements have exactly the largest one, and
  // are not to be looked at again.
  if (is_narrow && known >= 0) return std::nextafter(known, 1.0);
  // A quotient that is larger when rounded is larger, and so is the error than the exact product.
  if (known < 0 || kFused) return known;
  return known > 0x1p-60 ? known * (1 - 0x1p-50) : 0;
}

// Sums the squares of n elements, whole blocks, and of their errors. Where few results differ from
// their sources, kFew, errors are looked at only where there are some.
template <bool kFew, class Source, class Result>
FoundInBlocks SumErrors(const Result& result, const std::byte* x_codes, const std::byte* y_codes,
                        std::size_t n, hn::TFromD<typename Source::D> filter, Ahead* ahead,
                        StretchSums* squares, StretchSums* errors) {
  using D = typename Source::D;
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  const D d;
  const Ordered<D> ordered;
  const hn::RebindToUnsigned<D> bits;
  const auto relative = hn::Set(d, filter);
  auto largest = hn::Zero(ordered);
  auto least = hn::BitCast(ordered, hn::Set(d, hwy::HighestValue<hn::TFromD<D>>()));
  auto max_error = largest;
  auto larger = hn::Zero(bits);
  ErrorCount<D> inexact;
  const std::size_t times = SumBlocks<D>(
      n, ahead,
      [&](std::size_t block, std::size_t i, auto& sums) HWY_ATTR __attribute__((always_inline)) {
        Unrolled<kStepOf<D> / kLanes>([&](auto at) HWY_ATTR __attribute__((always_inline)) {
          const std::size_t place = block * kBlock + i + at * kLanes;
          const auto x = Source::Load(x_codes, place), y = result.Load(y_codes, place);
          const auto magnitude = hn::Abs(x);
          largest = hn::Max(largest, hn::BitCast(ordered, magnitude));
          least = hn::Min(least, hn::BitCast(ordered, magnitude));
          sums[0].template Add<at>(x);
          const Compared<Source, Result> compared = {result, x_codes, place};
          if (kFew && HWY_LIKELY(hn::AllTrue(d, compared.AreEqual(x, magnitude, y)))) return;
          const auto difference = compared.Difference(x, magnitude, y);
          const auto error = hn::Abs(difference);
          max_error = hn::Max(max_error, hn::BitCast(ordered, error));
          inexact.Add(error);
          // Negative where the error is larger.
          larger = hn::Or(larger, hn::BitCast(bits, hn::MulSub(relative, magnitude, error)));
          sums[1].template Add<at>(difference);
        });
      },
      std::array{squares, errors});
  const hn::RebindToSigned<D> whole;
  FoundInBlocks found;
  found.largest = Number(hn::GetLane(hn::MaxOfLanes(ordered, largest)));
  found.least = Number(hn::GetLane(hn::MinOfLanes(ordered, least)));
  found.inexact = inexact.Total() / times;
  found.error = Number(hn::GetLane(hn::MaxOfLanes(ordered, max_error)));
  found.relative_may_grow =
      !hn::AllFalse(whole, hn::Lt(hn::BitCast(whole, larger), hn::Zero(whole)));
  return found;
}

// The least magnitude but zero of n elements; 0 where there is none.
template <class Source> double SmallestNonzero(const std::byte* codes, std::size_t n) {
  using D = typename Source::D;
  const D d;
  const auto infinity = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
  auto smallest = infinity;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto magnitude = hn::Abs(Source::Load(codes, i));
    smallest =
        hn::Min(smallest, hn::IfThenElse(hn::Gt(magnitude, hn::Zero(d)), magnitude, infinity));
  }
  const double found = hn::GetLane(hn::MinOfLanes(d, smallest));
  return found < std::numeric_limits<double>::infinity() ? found : 0;
}
template <class Source> bool HasNegative(const std::byte* codes, std::size_t n) {
  const typename Source::D d;
  const hn::RebindToSigned<typename Source::D> whole;
  auto signs = hn::Zero(d);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) signs = hn::Or(signs, Source::Load(codes, i));
  return !hn::AllFalse(whole, hn::Lt(hn::BitCast(whole, signs), hn::Zero(whole)));
}

// The first element of an error.
template <class Source, class Result>
std::size_t FindError(const std::byte* x_codes, const std::byte* y_codes, std::size_t n,
                      double error) {
  const typename Source::D d;
  const auto wanted = hn::Set(d, static_cast<hn::TFromD<typename Source::D>>(error));
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto x = Source::Load(x_codes, i), y = Result::Load(y_codes, i);
    const auto lost = hn::Abs(Source::Difference(x, y, x_codes, i));
    const auto lane = static_cast<std::ptrdiff_t>(hn::FindFirstTrue(d, hn::Eq(lost, wanted)));
    if (lane >= 0) return i + static_cast<std::size_t>(lane);
  }
  return LossStretch::kNotLookedFor;
}

// Takes a relative error that is larger than the known one, and its first element; divides only
// where there may be one. With `is_tiny` the filter does not say where.
template <class Source, class Result>
void TakeRelative(const std::byte* x_codes, const std::byte* y_codes, std::size_t n, bool is_narrow,
                  bool is_tiny, LossStretch* stretch) {
  using D = typename Source::D;
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  const D d;
  const hn::RebindToSigned<D> whole;
  alignas(64) hn::TFromD<D> magnitudes[kLanes], errors[kLanes];
  double known = std::max(stretch->max_rel_error, 0.0);
  auto filter = hn::Set(d, RelativeFilter(d, stretch->max_rel_error, is_narrow));
  for (std::size_t i = 0; i < n; i += kLanes) {
    const auto x = Source::Load(x_codes, i), y = Result::Load(y_codes, i);
    const auto magnitude = hn::Abs(x), error = hn::Abs(Source::Difference(x, y, x_codes, i));
    const auto left = hn::BitCast(whole, hn::MulSub(filter, magnitude, error));
    if (HWY_LIKELY(!is_tiny && hn::AllFalse(whole, hn::Lt(left, hn::Zero(whole))))) continue;
    hn::Store(magnitude, d, magnitudes);
    hn::Store(error, d, errors);
    for (std::size_t k = 0; k < kLanes; ++k) {
      const double source = magnitudes[k], lost = errors[k];
      if (source == 0 || lost < known * (1 - 0x1p-40) * source) continue;
      const double relative = lost / source;
      if (relative <= stretch->max_rel_error) continue;
      stretch->max_rel_error = known = relative;
      stretch->max_rel_at = i + k;
      filter = hn::Set(d, RelativeFilter(d, known, is_narrow));
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

// Puts into a stretch what n elements, all finite, are; its sums and maxima are put there
// elsewhere.
inline void CountFound(const FoundInBlocks& found, const LowCounts& low, std::size_t n,
                       LossStretch* lost) {
  const auto counts = [lost](Loss loss) -> std::uint64_t& {
    return lost->counts[static_cast<std::size_t>(loss)];
  };
  lost->finite = lost->compared = n;
  lost->compared_nonzero = n - low.source_zeros;
  counts(Loss::kExact) = n - found.inexact;
  counts(Loss::kToLimit) = found.beyond;
  counts(Loss::kToZero) = low.zeros - low.source_zeros;
  counts(Loss::kRounded) = found.inexact - found.beyond - counts(Loss::kToZero);
  counts(Loss::kToSubnormal) = low.low - low.zeros;
  counts(Loss::kZeroSignLost) = low.lost_signs;
  lost->amax = found.largest;
  lost->smallest_nonzero = found.smallest;
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_LOSS_BLOCKS_INL_H_
