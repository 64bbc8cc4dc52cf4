// Integers and bool among each other in lanes: modulo 2^width. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_INTEGER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_INTEGER_INL_H_
#undef TENSORCAST_SRC_CORE_INTEGER_INL_H_
#else
#define TENSORCAST_SRC_CORE_INTEGER_INL_H_
#endif

#include <type_traits>

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// An integer as a kernel sees it: width and sign are all that matters. Sub-byte codes stand one a
// byte.
struct IntegerShape {
  int bits;
  bool has_sign;
  bool is_bool;
  constexpr int carrier_bits() const { return bits < 8 ? 8 : bits; }
};

template <int kBits>
using CarrierOf = std::conditional_t<
    kBits <= 8, std::uint8_t,
    std::conditional_t<kBits == 16, std::uint16_t,
                       std::conditional_t<kBits == 32, std::uint32_t, std::uint64_t>>>;

// Lanes of T widened to those of D, a step at a time where there is no single one.
template <bool kSigned, class D, class DFrom, class V>
HWY_INLINE hn::VFromD<D> Widen(D d, DFrom from, V v) {
  using T = hn::TFromD<D>;
  using TFrom = hn::TFromD<DFrom>;
  if constexpr (sizeof(T) == sizeof(TFrom)) {
    return v;
  } else if constexpr (sizeof(T) == 8 && sizeof(TFrom) < 4) {
    const Like<std::uint32_t, D> middle;
    return Widen<kSigned>(d, middle, Widen<kSigned>(middle, from, v));
  } else if constexpr (kSigned) {
    const hn::RebindToSigned<D> di;
    const hn::RebindToSigned<DFrom> from_signed;
    return hn::BitCast(d, hn::PromoteTo(di, hn::BitCast(from_signed, v)));
  } else {
    return hn::PromoteTo(d, v);
  }
}

// One vector of the wider side.
template <IntegerShape kFrom, IntegerShape kTo>
HWY_INLINE void ConvertIntegerStep(const std::byte* in, std::byte* out) {
  using From = CarrierOf<kFrom.carrier_bits()>;
  using To = CarrierOf<kTo.carrier_bits()>;
  using Wide = std::conditional_t<(sizeof(From) > sizeof(To)), From, To>;
  const hn::ScalableTag<Wide> d;
  const Like<From, decltype(d)> from;
  const Like<To, decltype(d)> to;
  auto code = Load(from, in);
  if constexpr (kFrom.is_bool) {
    code = hn::Min(code, hn::Set(from, From{1}));  // any byte but 0 is true
  } else if constexpr (kFrom.bits < 8 && kFrom.has_sign && !kTo.is_bool) {
    const auto sign = hn::Set(from, static_cast<From>(1 << (kFrom.bits - 1)));
    code = hn::Sub(hn::Xor(code, sign), sign);
  }
  if constexpr (kTo.is_bool) {
    const auto nonzero = hn::Ne(code, hn::Zero(from));
    const auto one = hn::IfThenElseZero(nonzero, hn::Set(from, From{1}));
    Store(Narrow<std::uint8_t>(from, one), to, out);
  } else {
    const auto wide = Widen<kFrom.has_sign>(d, from, code);
    auto result = Narrow<To>(d, wide);
    if constexpr (kTo.bits < 8) {
      result = hn::And(result, hn::Set(to, static_cast<To>((1 << kTo.bits) - 1)));
    }
    Store(result, to, out);
  }
}

template <IntegerShape kFrom, IntegerShape kTo> HWY_INLINE std::size_t ConvertIntegerLanes() {
  constexpr int kWide =
      kFrom.carrier_bits() > kTo.carrier_bits() ? kFrom.carrier_bits() : kTo.carrier_bits();
  return hn::Lanes(hn::ScalableTag<CarrierOf<kWide>>());
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_INTEGER_INL_H_
