// Integers and bool among each other in lanes, modulo 2^width: kernels by width and sign.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/integer_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include <algorithm>
#include <type_traits>

#include "core/lanes-inl.h"
#include "core/route.h"
#include "core/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

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

// What of a row the kernel of a pair depends on; equal shapes share one instantiation. The source's
// sign matters only where it widens, the destination's never.
constexpr IntegerShape SourceShape(const TypeInfo& from, const TypeInfo& to) {
  const bool to_bool = to.type_class == TypeClass::kBool;
  return {from.bits, from.has_sign && from.bits < to.bits && !to_bool,
          from.type_class == TypeClass::kBool};
}
constexpr IntegerShape DestinationShape(const TypeInfo& to) {
  return {to.bits, false, to.type_class == TypeClass::kBool};
}

template <IntegerShape kFrom, IntegerShape kTo>
void ConvertIntegerStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  using Wide = CarrierOf<std::max(kFrom.carrier_bits(), kTo.carrier_bits())>;
  ForEachVector<kFrom.carrier_bits() / 8, kTo.carrier_bits() / 8, kLanesOf<Wide>>(
      in, out, n, ConvertIntegerStep<kFrom, kTo>);
}

}  // namespace

void FillIntegerStages(Kernels* kernels) {
  ForEachPair([kernels](auto from, auto to) {
    constexpr const TypeInfo& from_row = detail::kTypeTable[decltype(from)::value];
    constexpr const TypeInfo& to_row = detail::kTypeTable[decltype(to)::value];
    if constexpr (IsInteger(from_row) && IsInteger(to_row) && from_row.type != to_row.type) {
      constexpr IntegerShape kFrom = SourceShape(from_row, to_row);
      constexpr IntegerShape kTo = DestinationShape(to_row);
      if constexpr (kFrom.bits != kTo.bits || kFrom.is_bool || kTo.is_bool) {
        kernels->integer[from][to] = &ConvertIntegerStage<kFrom, kTo>;
      }
    }
  });
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
