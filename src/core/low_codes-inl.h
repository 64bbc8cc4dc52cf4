// What codes say before anybody takes them for numbers: how many are zero or below the normal ones.
// Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_LOW_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_LOW_CODES_INL_H_
#undef TENSORCAST_SRC_CORE_LOW_CODES_INL_H_
#else
#define TENSORCAST_SRC_CORE_LOW_CODES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

struct LowCodes {
  std::size_t zeros = 0;
  std::size_t low = 0;  // zeros among them
};

// How many magnitudes of n codes, whole vectors, are zero and below the least normal one's.
template <class D, class Code = hn::TFromD<D>>
LowCodes CountLow(D d, const std::byte* codes, std::size_t n, Code mask, Code least_normal) {
  const auto magnitude_bits = hn::Set(d, mask), limit = hn::Set(d, least_normal);
  LowCodes found;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto magnitude = hn::And(Load(d, codes + i * sizeof(Code)), magnitude_bits);
    found.zeros += hn::CountTrue(d, hn::Eq(magnitude, hn::Zero(d)));
    found.low += hn::CountTrue(d, hn::Lt(magnitude, limit));
  }
  return found;
}

// The codes of a type, one a carrier, and the lanes that look at them.
class CodesOf {
  template <class Of> auto InLanes(const Of& of) const {
    if (bits_ == 8) return of(D8());
    if (bits_ == 16) return of(D16());
    return bits_ == 32 ? of(D32()) : of(D64());
  }

 public:
  explicit CodesOf(const TypeInfo& row)
      : bits_(std::max(row.bits, 8)),
        sign_(row.is_float() && row.has_sign ? std::uint64_t{1} << (row.bits - 1) : 0),
        magnitude_(detail::LowMask(row.bits) & ~sign_),
        least_normal_(std::uint64_t{1} << row.mantissa_bits) {}

  LowCodes Low(const std::byte* codes, std::size_t n) const {
    return InLanes([&](auto d) { return Low(d, codes, n, magnitude_); });
  }
  std::size_t MinusZeros(const std::byte* codes, std::size_t n) const {
    if (sign_ == 0) return 0;
    return Low(codes, n).zeros -
           InLanes([&](auto d) { return Low(d, codes, n, magnitude_ | sign_).zeros; });
  }

 private:
  template <class D>
  LowCodes Low(D d, const std::byte* codes, std::size_t n, std::uint64_t mask) const {
    using Code = hn::TFromD<D>;
    return CountLow(d, codes, n, static_cast<Code>(mask), static_cast<Code>(least_normal_));
  }

  int bits_;
  std::uint64_t sign_, magnitude_, least_normal_;
};

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_LOW_CODES_INL_H_
