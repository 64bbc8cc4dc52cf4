// Floats of eight bits to integers of 8 to 32 bits by products: a power of two for the upper bits
// of a code times a significand for the lower four (CodeProducts). AVX2, which looks up 16 bytes at
// once. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_PRODUCTS_INL_H_
#undef TENSORCAST_SRC_CORE_PRODUCTS_INL_H_
#else
#define TENSORCAST_SRC_CORE_PRODUCTS_INL_H_
#endif

#include "core/code_table.h"
#include "core/interleave-inl.h"

#if HWY_TARGET == HWY_AVX2
HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// A vector of codes to results of 8, 16 or 32 bits.
template <int kOutBits> class Products {
  static_assert(kOutBits == 8 || kOutBits == 16 || kOutBits == 32);

 public:
  explicit HWY_INLINE Products(const CodeProducts& products)
      : lower_(hn::LoadDup128(D8(), products.lower)), offset_(hn::Set(D8(), products.offset)) {
    for (std::size_t i = 0; i < 2; ++i) upper_[i] = hn::LoadDup128(D8(), products.upper[i]);
  }
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    if constexpr (kOutBits == 8) {
      Store(LowBytes(Load(D8(), in)), D8(), out);
    } else {
      Wide(in, out);
    }
  }

 private:
  // The low bytes of the results. Interleaving and packing leave the order as it was.
  HWY_INLINE V8 LowBytes(V8 codes) const {
    V16 magnitudes[2];
    LookUp(codes, magnitudes);
    for (V16& magnitude : magnitudes) {
      magnitude = hn::And(magnitude, hn::Set(D16(), std::uint16_t{0xFF}));
    }
    const __m256i packed = _mm256_packus_epi16(magnitudes[0].raw, magnitudes[1].raw);
    return V8{_mm256_sign_epi8(packed, codes.raw)};
  }
  HWY_INLINE void Wide(const std::byte* in, std::byte* out) const {
    const V8 codes = LoadSpread<8, kOutBits / 8>(in);
    V16 magnitudes[2];
    LookUp(codes, magnitudes);
    StoreSigned(magnitudes[0], Lower(D8(), codes, codes), out);
    StoreSigned(magnitudes[1], Upper(D8(), codes, codes), out + kCodes * kOutBits / 16);
  }
  HWY_INLINE void LookUp(V8 codes, V16* magnitudes) const {
    const D8 d;
    codes = hn::Add(codes, offset_);
    const V8 low = hn::And(codes, hn::Set(d, std::uint8_t{0x0F}));
    const V8 high = hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(D16(), codes))),
                            hn::Set(d, std::uint8_t{7}));
    const V8 significand = hn::TableLookupBytes(lower_, low);
    const V8 power[2] = {hn::TableLookupBytes(upper_[0], high),
                         hn::TableLookupBytes(upper_[1], high)};
    const V8 one = hn::Set(d, std::uint8_t{1});
    magnitudes[0] = hn::MulHigh(Lower(d, one, significand), Lower(d, power[0], power[1]));
    magnitudes[1] = hn::MulHigh(Upper(d, one, significand), Upper(d, power[0], power[1]));
  }
  // The codes stand in the upper bytes of their lanes, with their signs.
  static HWY_INLINE void StoreSigned(V16 magnitude, V16 codes, std::byte* out) {
    const D16 d;
    const V16 low{_mm256_sign_epi16(magnitude.raw, codes.raw)};
    if constexpr (kOutBits == 16) {
      Store(low, d, out);
    } else {
      // All bits above a negative number's 16 are set; a magnitude may have all of the 16.
      const V16 unit = hn::Min(magnitude, hn::Set(d, std::uint16_t{1}));
      const V16 high{
          _mm256_cmpgt_epi16(_mm256_setzero_si256(), _mm256_sign_epi16(unit.raw, codes.raw))};
      Store(Lower(d, low, high), D32(), out);
      Store(Upper(d, low, high), D32(), out + HWY_MAX_BYTES);
    }
  }

  V8 lower_, upper_[2], offset_;
};

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_AVX2

#endif  // TENSORCAST_SRC_CORE_PRODUCTS_INL_H_
