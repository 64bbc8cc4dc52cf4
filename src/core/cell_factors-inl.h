// Codes times the factors of their cell, in lanes of doubles. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_CELL_FACTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_CELL_FACTORS_INL_H_
#undef TENSORCAST_SRC_CORE_CELL_FACTORS_INL_H_
#else
#define TENSORCAST_SRC_CORE_CELL_FACTORS_INL_H_
#endif

#include <cstdint>

#include "core/loss.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kHalves: codes of 3/2 times a power of two have a factor of their own (CellFactors). Codes are a
// cell's over `unit`, a power of two.
template <bool kHalves> class CellProducts {
  using D = hn::ScalableTag<double>;
  using V = hn::VFromD<D>;

 public:
  HWY_INLINE explicit CellProducts(const CellFactors& factors, double unit = 1)
      : factor_(hn::Set(D(), factors.factor * unit)),
        of_halves_(hn::Set(D(), factors.of_three_halves * unit)) {}
  HWY_INLINE V Of(V code) const {
    const Terms terms = TermsOf(code);
    return hn::Mul(terms.number, terms.factor);
  }
  // `from` less the product, which a double holds, so that the difference alone is rounded.
  HWY_INLINE V LeftOf(V code, V from) const {
    const Terms terms = TermsOf(code);
    return hn::NegMulAdd(terms.number, terms.factor, from);
  }

 private:
  struct Terms {
    V number, factor;
  };
  HWY_INLINE Terms TermsOf(V code) const {
    if constexpr (!kHalves) return {code, factor_};
    const hn::RebindToUnsigned<D> bits;
    const auto half = hn::And(hn::BitCast(bits, code), hn::Set(bits, std::uint64_t{1} << 51));
    const auto is_power = hn::RebindMask(D(), hn::Eq(half, hn::Zero(bits)));
    return {hn::BitCast(D(), hn::Xor(hn::BitCast(bits, code), half)),
            hn::IfThenElse(is_power, factor_, of_halves_)};
  }

  V factor_, of_halves_;
};

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_CELL_FACTORS_INL_H_
