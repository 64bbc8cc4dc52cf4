// A vector of codes, one a byte, from and to packed memory. Included per target.
//
// Element i stands in bits i*w to i*w + w - 1 from the least significant bit of byte 0.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_PACKED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_PACKED_INL_H_
#undef TENSORCAST_SRC_CORE_PACKED_INL_H_
#else
#define TENSORCAST_SRC_CORE_PACKED_INL_H_
#endif

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

// 64 codes. What stands above a code's bits in its byte is not cleared.
template <int kBits> HWY_INLINE hn::VFromD<D8> LoadCodes(const std::byte* in) {
  if constexpr (kBits == 8) {
    return Load(D8(), in);
  } else {
    // The bytes of each eight codes to a lane, then eight shifted windows of it.
    constexpr auto kShift = [](unsigned i) { return i % 8 * kBits; };
    __m512i lanes;
    if constexpr (kBits == 6) {
      constexpr auto kFrom = [](unsigned i) { return i % 8 < 6 ? i / 8 * 6 + i % 8 : 63; };
      // Two loads: Zen 5 does not fetch ahead of masked ones, which in memory is a third of the
      // speed.
      const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
      const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 32));
      lanes = _mm512_permutexvar_epi8(ByteIndices<kFrom>(),
                                      _mm512_inserti32x4(_mm512_castsi256_si512(first), last, 2));
    } else if constexpr (kBits == 4) {
      lanes = _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in)));
    } else {
      static_assert(kBits == 2);
      lanes = _mm512_cvtepu16_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
    }
    return hn::VFromD<D8>{_mm512_multishift_epi64_epi8(ByteIndices<kShift>(), lanes)};
  }
}

// 64 codes, which have nothing above their bits.
template <int kBits> HWY_INLINE void StoreCodes(hn::VFromD<D8> codes, std::byte* out) {
  if constexpr (kBits == 8) {
    Store(codes, D8(), out);
  } else if constexpr (kBits == 6) {
    // Two codes to 12 bits, two of those to 24 by multiply and add; then three bytes of each four.
    constexpr auto kFrom = [](unsigned i) { return i < 48 ? i / 3 * 4 + i % 3 : 0; };
    const __m512i pairs = _mm512_maddubs_epi16(codes.raw, _mm512_set1_epi16(64 << 8 | 1));
    const __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(4096 << 16 | 1));
    const __m512i packed = _mm512_permutexvar_epi8(ByteIndices<kFrom>(), fours);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(packed));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 32), _mm512_extracti32x4_epi32(packed, 2));
  } else if constexpr (kBits == 4) {
    constexpr auto kFrom = [](unsigned i) { return 2 * i % 64; };
    const __m512i pairs = _mm512_maddubs_epi16(codes.raw, _mm512_set1_epi16(16 << 8 | 1));
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(out),
        _mm512_castsi512_si256(_mm512_permutexvar_epi8(ByteIndices<kFrom>(), pairs)));
  } else {
    static_assert(kBits == 2);
    constexpr auto kFrom = [](unsigned i) { return 4 * i % 64; };
    const __m512i pairs = _mm512_maddubs_epi16(codes.raw, _mm512_set1_epi16(4 << 8 | 1));
    const __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(16 << 16 | 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm512_castsi512_si128(_mm512_permutexvar_epi8(ByteIndices<kFrom>(), fours)));
  }
}

#else

// A lane with room for a code in each byte for all elements of one packed byte.
template <int kBits> using LaneOfByte = std::conditional_t<kBits == 4, D16, D32>;

// A vector of codes, one a byte.
template <int kBits> HWY_INLINE hn::VFromD<D8> LoadCodes(const std::byte* in) {
  const D8 d8;
  if constexpr (kBits == 8) {
    return Load(d8, in);
  } else if constexpr (kBits == 6) {
    // Three bytes to a lane of four codes. A block's twelve bytes are read in two halves, so that
    // nothing is read beyond them.
    const hn::FixedTag<std::uint8_t, 8> half;
    const hn::FixedTag<std::uint8_t, 16> block;
    const auto twelve = [&](std::size_t i) HWY_ATTR {
      return hn::Combine(block, Load(half, in + 12 * i + 4), Load(half, in + 12 * i));
    };
    alignas(16) static constexpr std::uint8_t kSpread[16] = {0, 1, 2,  0x80, 3,  4,  5,  0x80,
                                                             6, 7, 12, 0x80, 13, 14, 15, 0x80};
    hn::VFromD<D8> bytes;
    if constexpr (kLanesOf<std::uint8_t> == 16) {
      bytes = twelve(0);
    } else if constexpr (kLanesOf<std::uint8_t> == 32) {
      bytes = hn::Combine(d8, twelve(1), twelve(0));
    } else {
      const hn::Half<D8> two;
      bytes = hn::Combine(d8, hn::Combine(two, twelve(3), twelve(2)),
                          hn::Combine(two, twelve(1), twelve(0)));
    }
    const D32 d;
    const auto four = hn::BitCast(d, hn::TableLookupBytesOr0(bytes, hn::LoadDup128(d8, kSpread)));
    const auto first = hn::And(four, hn::Set(d, 0x3Fu));
    const auto second = hn::And(hn::ShiftLeft<2>(four), hn::Set(d, 0x3F00u));
    const auto third = hn::And(hn::ShiftLeft<4>(four), hn::Set(d, 0x3F0000u));
    const auto fourth = hn::And(hn::ShiftLeft<6>(four), hn::Set(d, 0x3F000000u));
    return hn::BitCast(d8, hn::Or(hn::Or(first, second), hn::Or(third, fourth)));
  } else {
    // The byte, and copies of it shifted so that each element reaches its own byte.
    const LaneOfByte<kBits> d;
    auto spread = hn::PromoteTo(d, Load(Like<std::uint8_t, LaneOfByte<kBits> >(), in));
    spread = hn::Or(spread, hn::ShiftLeft<8 - kBits>(spread));
    if constexpr (kBits == 2) spread = hn::Or(spread, hn::ShiftLeft<12>(spread));
    return hn::BitCast(d8, hn::And(spread, hn::Set(d, kBits == 4 ? 0x0F0F : 0x03030303)));
  }
}

// A vector of codes, which have nothing above their bits.
template <int kBits> HWY_INLINE void StoreCodes(hn::VFromD<D8> codes, std::byte* out) {
  const D8 d8;
  if constexpr (kBits == 8) {
    Store(codes, d8, out);
  } else if constexpr (kBits == 6) {
    const D32 d;
    const auto four = hn::BitCast(d, codes);
    const auto first = hn::And(four, hn::Set(d, 0x3Fu));
    const auto second = hn::And(hn::ShiftRight<2>(four), hn::Set(d, 0xFC0u));
    const auto third = hn::And(hn::ShiftRight<4>(four), hn::Set(d, 0x3F000u));
    const auto fourth = hn::And(hn::ShiftRight<6>(four), hn::Set(d, 0xFC0000u));
    const auto bits = hn::Or(hn::Or(first, second), hn::Or(third, fourth));
    alignas(16) static constexpr std::uint8_t kGather[16] = {
        0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0x80, 0x80, 0x80, 0x80};
    alignas(64) std::uint8_t blocks[kLanesOf<std::uint8_t>];
    hn::Store(hn::TableLookupBytesOr0(hn::BitCast(d8, bits), hn::LoadDup128(d8, kGather)), d8,
              blocks);
    for (std::size_t i = 0; i < kLanesOf<std::uint8_t> / 16; ++i) {
      std::memcpy(out + 12 * i, blocks + 16 * i, 12);
    }
  } else {
    const LaneOfByte<kBits> d;
    auto joined = hn::BitCast(d, codes);
    joined = hn::Or(joined, hn::ShiftRight<8 - kBits>(joined));
    if constexpr (kBits == 2) joined = hn::Or(joined, hn::ShiftRight<12>(joined));
    Store(Narrow<std::uint8_t>(d, joined), Like<std::uint8_t, LaneOfByte<kBits> >(), out);
  }
}

#endif

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_PACKED_INL_H_
