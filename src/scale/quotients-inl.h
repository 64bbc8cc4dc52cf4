// Products and quotients of the elements of cells in lanes. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_QUOTIENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_QUOTIENTS_INL_H_
#undef TENSORCAST_SRC_SCALE_QUOTIENTS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_QUOTIENTS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/cell_factors-inl.h"
#include "hwy/highway.h"
#include "scale/cell_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using DF32 = hn::ScalableTag<float>;
using DI32 = hn::ScalableTag<std::int32_t>;
using D32 = hn::ScalableTag<std::uint32_t>;
using VF32 = hn::VFromD<DF32>;
inline constexpr std::size_t kFloats = hn::MaxLanes(DF32());
inline constexpr std::size_t kAtOnce = 4;  // vectors

// Elements from the i-th on, of float32 or bfloat16.
template <std::size_t kBytes> HWY_INLINE VF32 LoadElements(const std::byte* x, std::size_t i) {
  if constexpr (kBytes == 4) {
    return hn::LoadU(DF32(), reinterpret_cast<const float*>(x + 4 * i));
  } else {
    const hn::Rebind<std::uint16_t, D32> d16;
    const auto bits = hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(x + 2 * i));
    return hn::BitCast(DF32(), hn::ShiftLeft<16>(hn::PromoteTo(D32(), bits)));
  }
}

// Calls vectors.Run<count>(x, cell, out) for whole vectors of kLanes elements, `count` of them at
// once; each is of one cell, and cell(v) is that of the v-th. What is left over is done in a
// buffer. kBytes, kResult: of an element and of a result.
template <std::size_t kBytes, std::size_t kResult, std::size_t kLanes = kFloats, class Vectors>
HWY_INLINE void ForEachVector(const std::byte* x, std::byte* out, std::size_t n,
                              const CellsInOrder& cells, const Vectors& vectors) {
  const std::size_t skipped = cells.skipped;
  const unsigned log2 = cells.log2_width;
  const auto from = [skipped, log2](std::size_t i) {
    return [first = skipped + i, log2](std::size_t v) { return (first + v * kLanes) >> log2; };
  };
  const auto few = [&](std::size_t i, std::size_t count) HWY_ATTR {
    alignas(64) std::byte some[kLanes * kBytes] = {};
    alignas(64) std::byte results[kLanes * kResult];
    std::memcpy(some, x + kBytes * i, kBytes * count);
    vectors.template Run<1>(some, from(i), results);
    std::memcpy(out + kResult * i, results, kResult * count);
  };
  std::size_t i = std::min(n, log2 < 40 ? (kLanes - skipped % kLanes) % kLanes : 0);
  if (i != 0) few(0, i);
  for (; i + kAtOnce * kLanes <= n; i += kAtOnce * kLanes) {
    vectors.template Run<kAtOnce>(x + kBytes * i, from(i), out + kResult * i);
  }
  for (; i + kLanes <= n; i += kLanes) {
    vectors.template Run<1>(x + kBytes * i, from(i), out + kResult * i);
  }
  if (i < n) few(i, n - i);
}

template <std::size_t kBytes> struct Products {
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* x, const Cell& cell, std::byte* out) const {
    for (std::size_t v = 0; v < kCount; ++v) {
      hn::StoreU(hn::Mul(LoadElements<kBytes>(x, v * kFloats), hn::Set(DF32(), factors[cell(v)])),
                 DF32(), reinterpret_cast<float*>(out) + v * kFloats);
    }
  }
  const float* factors;
};

template <std::size_t kBytes>
void Multiply(const std::byte* x, std::byte* out, std::size_t n, const float* factors,
              const CellsInOrder& cells) {
  ForEachVector<kBytes, 4>(x, out, n, cells, Products<kBytes>{factors});
}

template <bool kHalves> struct DoubleProducts {
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* x, const Cell& cell, std::byte* out) const {
    const hn::RepartitionToWide<DF32> d;
    const hn::Half<DF32> half;
    for (std::size_t v = 0; v < kCount; ++v) {
      const VF32 codes = LoadElements<4>(x, v * kFloats);
      auto* const to = reinterpret_cast<double*>(out) + v * kFloats;
      const core::HWY_NAMESPACE::CellProducts<kHalves> products(factors[cell(v)]);
      hn::StoreU(products.Of(hn::PromoteTo(d, hn::LowerHalf(half, codes))), d, to);
      hn::StoreU(products.Of(hn::PromoteTo(d, hn::UpperHalf(half, codes))), d, to + kFloats / 2);
    }
  }
  const core::CellFactors* factors;
};

void MultiplyToDoubles(const float* codes, double* out, std::size_t n,
                       const core::CellFactors* factors, const CellsInOrder& cells) {
  const auto* const x = reinterpret_cast<const std::byte*>(codes);
  auto* const to = reinterpret_cast<std::byte*>(out);
  if (factors->of_three_halves != 0) {
    ForEachVector<4, 8>(x, to, n, cells, DoubleProducts<true>{factors});
  } else {
    ForEachVector<4, 8>(x, to, n, cells, DoubleProducts<false>{factors});
  }
}

// The factor is off by half a unit at most, and so is the product: together they are by two units
// of it. Twice that is asked, and zero is no tie.
constexpr std::int32_t kNear = 4;

inline bool MayBeWrong(VF32 quotient, const TieBits& ties) {
  const DI32 d;
  const auto bits = hn::BitCast(d, quotient);
  const auto beside =
      hn::And(hn::Add(bits, hn::Set(d, kNear - static_cast<std::int32_t>(ties.tie))),
              hn::Set(d, static_cast<std::int32_t>(ties.mask)));
  auto near = hn::Lt(beside, hn::Set(d, 2 * kNear + 1));
  const auto magnitude = hn::Abs(quotient);
  const auto small = hn::RebindMask(d, hn::Lt(magnitude, hn::Set(DF32(), ties.least_normal)));
  if (HWY_LIKELY(hn::AllFalse(d, hn::Or(near, small)))) return false;
  const auto counts = hn::AndNot(hn::Lt(hn::BitCast(d, magnitude), hn::Set(d, ties.least)), small);
  const auto low = hn::And(hn::Add(bits, hn::Set(d, kNear)), hn::Set(d, 0xFFFF));
  near = hn::Or(near, hn::And(counts, hn::Lt(low, hn::Set(d, 2 * kNear + 1))));
  return !hn::AllFalse(d, near);
}

// x * numerator / divisor in double, which is on the right side of every tie (see cell_codes.cc),
// cut to what a float32 holds with a last bit that says whether something was cut off.
inline VF32 OddQuotient(VF32 elements, double numerator, double divisor) {
  const hn::ScalableTag<double> d;
  const hn::ScalableTag<std::uint64_t> d64;
  const hn::Rebind<float, decltype(d)> half;
  const std::size_t lanes = hn::Lanes(d);
  const auto cut = hn::Set(d64, 0x1FFFFFFFu);
  alignas(64) float x[HWY_MAX_BYTES / 4], quotients[HWY_MAX_BYTES / 4];
  hn::Store(elements, DF32(), x);
  for (std::size_t i = 0; i < 2 * lanes; i += lanes) {
    const auto wide = hn::PromoteTo(d, hn::LoadU(half, x + i));
    const auto bits =
        hn::BitCast(d64, hn::Div(hn::Mul(wide, hn::Set(d, numerator)), hn::Set(d, divisor)));
    // Adding them carries into the last bit kept where one of those cut off is set.
    const auto carried = hn::And(hn::Add(hn::And(bits, cut), cut), hn::Set(d64, 0x20000000u));
    const auto odd = hn::Or(hn::AndNot(cut, bits), carried);
    hn::StoreU(hn::DemoteTo(half, hn::BitCast(d, odd)), half, quotients + i);
  }
  return hn::Load(DF32(), quotients);
}

// The lower half of a tie, as a float32 of a few bits, is zero: of many elements this is asked at
// once, and of few it is nearly so.
template <std::size_t kBytes> struct FloatQuotients {
  FloatQuotients(const Divisors& divisors, const TieBits& tie_bits)
      : by(divisors),
        ties(tie_bits),
        near(hn::Set(D32(), static_cast<std::uint32_t>(kNear))),
        low(hn::Set(D32(), 0xFFFFu)),
        end(hn::Set(D32(), static_cast<std::uint32_t>(2 * kNear + 1))) {}

  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* x, const Cell& cell, std::byte* out) const {
    VF32 quotients[kCount];
    auto least = low;
    for (std::size_t v = 0; v < kCount; ++v) {
      quotients[v] =
          hn::Mul(LoadElements<kBytes>(x, v * kFloats), hn::Set(DF32(), by.factors[cell(v)]));
      const auto bits = hn::BitCast(D32(), quotients[v]);
      least = hn::Min(least, hn::And(hn::Add(bits, near), low));
    }
    auto* const to = reinterpret_cast<float*>(out);
    for (std::size_t v = 0; v < kCount; ++v) hn::StoreU(quotients[v], DF32(), to + v * kFloats);
    if (HWY_LIKELY(hn::AllFalse(D32(), hn::Lt(least, end)))) return;
    for (std::size_t v = 0; v < kCount; ++v) {
      if (!MayBeWrong(hn::LoadU(DF32(), to + v * kFloats), ties)) continue;
      hn::StoreU(
          OddQuotient(LoadElements<kBytes>(x, v * kFloats), by.numerator, by.divisors[cell(v)]),
          DF32(), to + v * kFloats);
    }
  }

  const Divisors by;
  const TieBits ties;
  const hn::VFromD<D32> near, low, end;
};

void Divide(const std::byte* x, bool is_bfloat16, float* quotients, std::size_t n,
            const Divisors& by, const CellsInOrder& cells, const TieBits& ties) {
  auto* const out = reinterpret_cast<std::byte*>(quotients);
  if (is_bfloat16) return ForEachVector<2, 4>(x, out, n, cells, FloatQuotients<2>(by, ties));
  ForEachVector<4, 4>(x, out, n, cells, FloatQuotients<4>(by, ties));
}

// The float32 at which codes may change, where the exact quotient is that, else one of its
// neighbours: that on the quotient's side. A tie has at most nine bits and a divisor 28, so that
// both products are doubles.
inline VF32 Beside(VF32 tie, VF32 elements, double numerator, double divisor) {
  const DF32 d;
  const hn::Half<DF32> half;
  const hn::RepartitionToWide<DF32> wide;
  const auto side = [&](hn::VFromD<decltype(half)> x, hn::VFromD<decltype(half)> at) HWY_ATTR {
    const auto one = hn::Set(wide, 1.0);
    const auto wanted = hn::Abs(hn::Mul(hn::PromoteTo(wide, x), hn::Set(wide, numerator)));
    const auto found = hn::Abs(hn::Mul(hn::PromoteTo(wide, at), hn::Set(wide, divisor)));
    const auto above = hn::IfThenElseZero(hn::Gt(wanted, found), one);
    return hn::DemoteTo(half, hn::Sub(above, hn::IfThenElseZero(hn::Lt(wanted, found), one)));
  };
  const auto sides = hn::Combine(d, side(hn::UpperHalf(half, elements), hn::UpperHalf(half, tie)),
                                 side(hn::LowerHalf(half, elements), hn::LowerHalf(half, tie)));
  return hn::BitCast(d, hn::Add(hn::BitCast(DI32(), tie), hn::ConvertTo(DI32(), sides)));
}

// Integers: quotients rounded to the nearest between `least_integer`, -127 or -128, and 127; that
// of NaN is 0.
template <std::size_t kBytes> struct IntegerQuotients {
  IntegerQuotients(const Divisors& divisors, int least_integer)
      : by(divisors),
        most(hn::Set(DF32(), 127.0f)),
        least(hn::Set(DF32(), static_cast<float>(least_integer))),
        // A float32 from here on is an integer, whose last bits are the sum's.
        whole(hn::Set(DF32(), 0x1.8p23f)),
        // Two units of a quotient below 128 are 2^-16.
        far(hn::Set(DF32(), 0.5f - 0x1p-15f)) {}

  HWY_INLINE VF32 Within(VF32 quotient) const {
    const VF32 number = hn::IfThenElseZero(hn::Eq(quotient, quotient), quotient);
    return hn::Max(hn::Min(number, most), least);
  }
  HWY_INLINE void Store(VF32 sum, std::byte* to) const {
    const auto bits = hn::BitCast(D32(), sum);
#if HWY_TARGET == HWY_AVX3_DL
    // Highway 1.0.3 moves 32-bit lanes by the indices of bytes.
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(bits.raw));
#else
    const hn::Rebind<std::uint8_t, D32> d8;
    hn::StoreU(hn::TruncateTo(d8, bits), d8, reinterpret_cast<std::uint8_t*>(to));
#endif
  }
  template <std::size_t kCount, class Cell>
  HWY_INLINE void Run(const std::byte* x, const Cell& cell, std::byte* out) const {
    const DF32 d;
    VF32 distance = hn::Zero(d);
    for (std::size_t v = 0; v < kCount; ++v) {
      const VF32 value =
          Within(hn::Mul(LoadElements<kBytes>(x, v * kFloats), hn::Set(d, by.factors[cell(v)])));
      const VF32 sum = hn::Add(value, whole);
      distance = hn::Max(distance, hn::Abs(hn::Sub(value, hn::Sub(sum, whole))));
      Store(sum, out + v * kFloats);
    }
    if (HWY_LIKELY(hn::AllFalse(d, hn::Lt(far, distance)))) return;
    for (std::size_t v = 0; v < kCount; ++v) {
      const VF32 element = LoadElements<kBytes>(x, v * kFloats);
      const VF32 value = Within(hn::Mul(element, hn::Set(d, by.factors[cell(v)])));
      const VF32 nearest = hn::Sub(hn::Add(value, whole), whole), rest = hn::Sub(value, nearest);
      const auto is_near = hn::Lt(far, hn::Abs(rest));
      if (hn::AllFalse(d, is_near)) continue;
      const VF32 tie = hn::Add(nearest, hn::CopySign(hn::Set(d, 0.5f), rest));
      const VF32 beside = Beside(tie, element, by.numerator, by.divisors[cell(v)]);
      Store(hn::Add(hn::IfThenElse(is_near, beside, value), whole), out + v * kFloats);
    }
  }

  const Divisors by;
  const VF32 most, least, whole, far;
};

void DivideToIntegers(const std::byte* x, bool is_bfloat16, std::byte* codes, std::size_t n,
                      const Divisors& by, const CellsInOrder& cells, int least) {
  if (is_bfloat16) return ForEachVector<2, 1>(x, codes, n, cells, IntegerQuotients<2>(by, least));
  ForEachVector<4, 1>(x, codes, n, cells, IntegerQuotients<4>(by, least));
}

bool FactorsOf(const double* scales, std::size_t n, double global, double numerator, double least,
               double most, float* factors, double* divisors) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  const std::size_t lanes = hn::Lanes(d);
  const auto none = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  auto all = hn::FirstN(d, lanes);
  const auto some = [&](const double* from, float* factor, double* divisor) HWY_ATTR {
    const auto by = hn::Mul(hn::LoadU(d, from), hn::Set(d, global));
    const auto value = hn::Div(hn::Set(d, numerator), by);
    const auto fits = hn::And(hn::Ge(value, hn::Set(d, least)), hn::Le(value, hn::Set(d, most)));
    all = hn::And(all, fits);
    hn::StoreU(by, d, divisor);
    hn::StoreU(hn::DemoteTo(half, hn::IfThenElse(fits, value, none)), half, factor);
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) some(scales + i, factors + i, divisors + i);
  if (i < n) {
    double from[HWY_MAX_BYTES / 8], divisor[HWY_MAX_BYTES / 8];
    std::fill_n(from, lanes, scales[i]);
    float factor[HWY_MAX_BYTES / 8];
    std::copy(scales + i, scales + n, from);
    some(from, factor, divisor);
    std::copy_n(factor, n - i, factors + i);
    std::copy_n(divisor, n - i, divisors + i);
  }
  return hn::AllTrue(d, all);
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_SCALE_QUOTIENTS_INL_H_
