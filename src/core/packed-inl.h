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

// Codes of eight windows of each lane, one after the other.
template <int kBits> HWY_INLINE hn::VFromD<D8> CodesOfLanes(__m512i lanes) {
  constexpr auto kShift = [](unsigned i) { return i % 8 * kBits; };
  return hn::VFromD<D8>{_mm512_multishift_epi64_epi8(ByteIndices<kShift>(), lanes)};
}
// 64 codes of six bits: kElement says which is the first of the four at a place.
template <auto kElement> HWY_INLINE hn::VFromD<D8> LoadSixBits(const std::byte* in) {
  constexpr auto kFrom = [](unsigned i) {
    return i % 8 < 6 ? kElement(i / 8 * 8 + i % 8 / 3 * 4) / 4 * 3 + i % 8 % 3 : 63;
  };
  // Two loads: Zen 5 does not fetch ahead of masked ones, which in memory is a third of the speed.
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
  const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 32));
  return CodesOfLanes<6>(_mm512_permutexvar_epi8(
      ByteIndices<kFrom>(), _mm512_inserti32x4(_mm512_castsi256_si512(first), last, 2)));
}

// 64 codes. What stands above a code's bits in its byte is not cleared.
template <int kBits> HWY_INLINE hn::VFromD<D8> LoadCodes(const std::byte* in) {
  if constexpr (kBits == 8) {
    return Load(D8(), in);
  } else if constexpr (kBits == 6) {
    return LoadSixBits<[](std::size_t i) { return i; }>(in);
  } else if constexpr (kBits == 4) {
    return CodesOfLanes<4>(
        _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in))));
  } else {
    static_assert(kBits == 2);
    return CodesOfLanes<2>(
        _mm512_cvtepu16_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in))));
  }
}

// Two codes of four bits, or four of two, joined in the lowest byte of as wide a lane.
template <int kBits> HWY_INLINE __m512i JoinInLanes(hn::VFromD<D8> codes) {
  static_assert(kBits == 4 || kBits == 2);
  if constexpr (kBits == 4) {
    return _mm512_maddubs_epi16(codes.raw, _mm512_set1_epi16(16 << 8 | 1));
  }
  // All processors of this target have AVX-512 VNNI, but Highway 1.0.3 names AVX-VNNI to the
  // compiler in its place, which then refuses the intrinsic.
  const __m512i units = _mm512_set1_epi32(64 << 24 | 16 << 16 | 4 << 8 | 1);
  __m512i fours = _mm512_setzero_si512();
  asm("vpdpbusd {%2, %1, %0|%0, %1, %2}" : "+v"(fours) : "v"(codes.raw), "v"(units));
  return fours;
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
    const __m512i pairs = JoinInLanes<4>(codes);
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(out),
        _mm512_castsi512_si256(_mm512_permutexvar_epi8(ByteIndices<kFrom>(), pairs)));
  } else {
    static_assert(kBits == 2);
    constexpr auto kFrom = [](unsigned i) { return 4 * i % 64; };
    const __m512i fours = JoinInLanes<2>(codes);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm512_castsi512_si128(_mm512_permutexvar_epi8(ByteIndices<kFrom>(), fours)));
  }
}

// 128 of them.
template <int kBits>
HWY_INLINE void StoreCodes(hn::VFromD<D8> low, hn::VFromD<D8> high, std::byte* out) {
  constexpr auto kFrom = [](unsigned i) { return i * (8 / kBits) % 128; };
  const __m512i bytes = _mm512_permutex2var_epi8(JoinInLanes<kBits>(low), ByteIndices<kFrom>(),
                                                 JoinInLanes<kBits>(high));
  if constexpr (kBits == 4) {
    _mm512_storeu_si512(out, bytes);
  } else {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(bytes));
  }
}

#else

// A lane with room for a code in each byte for all elements of one packed byte.
template <int kBits> using LaneOfByte = std::conditional_t<kBits == 4, D16, D32>;

// Codes, one a byte, of such lanes that have the packed byte in their lowest: copies of it are
// shifted so that each element reaches its own byte.
template <int kBits> HWY_INLINE hn::VFromD<D8> CodesOfBytes(hn::VFromD<LaneOfByte<kBits> > bytes) {
  const LaneOfByte<kBits> d;
  bytes = hn::Or(bytes, hn::ShiftLeft<8 - kBits>(bytes));
  if constexpr (kBits == 2) bytes = hn::Or(bytes, hn::ShiftLeft<12>(bytes));
  return hn::BitCast(D8(), hn::And(bytes, hn::Set(d, kBits == 4 ? 0x0F0F : 0x03030303)));
}

#if HWY_TARGET == HWY_AVX2
// 16 bytes in both blocks. g++ would take those that it has just stored, as the last elements are,
// to pieces, and a load of several stores' bytes waits for them.
HWY_INLINE __m256i LoadToBothBlocks(const std::byte* in) {
  __m256i both;
  asm("vbroadcasti128 %1, %0" : "=x"(both) : "m"(*reinterpret_cast<const __m128i_u*>(in)));
  return both;
}

// Two vectors with their blocks apart, which packing within blocks brings in order: one has the
// first 16 bytes and the third, the other the second and the fourth. Each is loaded into the block
// that it goes to, as lanes cross blocks at half the speed of other shuffles.
HWY_INLINE void LoadBlocksApart(const std::byte* in, __m256i* a, __m256i* b) {
  *a = _mm256_blend_epi32(Load(D8(), in).raw, LoadToBothBlocks(in + 32), 0xF0);
  *b = _mm256_blend_epi32(LoadToBothBlocks(in + 16), Load(D8(), in + 32).raw, 0xF0);
}

// 32 codes of six bits, two in the upper twelve bits of each lane of 16, so placed that results of
// kWidth bytes, which interleave within blocks, come out in order (Spread in interleave-inl.h). The
// last 16 bytes begin at kLast: one code to a byte, the second block's need not follow the first's.
template <std::size_t kWidth = 1, std::size_t kLast = 8>
HWY_INLINE __m256i LoadSixBitPairs(const std::byte* in) {
  static_assert(kWidth == 1 || kLast == 8);
  // The first eight bytes and the last stand in one of these, those between in both, so that each
  // block takes its twelve without a permutation; then two to a lane so that neighbours share one.
  const __m256i first = LoadToBothBlocks(in), last = LoadToBothBlocks(in + kLast);
  __m256i shared;
  if constexpr (kWidth == 1) {
    shared = _mm256_shuffle_epi8(
        _mm256_blend_epi32(first, last, 0xF0),
        _mm256_setr_epi8(0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11,  //
                         4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11, 12, 13, 14, 14, 15));
  } else if constexpr (kWidth == 2) {
    shared = _mm256_shuffle_epi8(
        _mm256_blend_epi32(first, last, 0xD4),
        _mm256_setr_epi8(0, 1, 1, 2, 3, 4, 4, 5, 12, 13, 13, 14, 15, 8, 8, 9,  //
                         6, 7, 7, 0, 1, 2, 2, 3, 10, 11, 11, 12, 13, 14, 14, 15));
  } else {
    static_assert(kWidth == 4);
    const __m256i is_last =
        _mm256_setr_epi16(0, 0, -1, 0, 0, -1, -1, 0, -1, 0, 0, -1, -1, 0, -1, -1);
    shared = _mm256_shuffle_epi8(
        _mm256_blendv_epi8(first, last, is_last),
        _mm256_setr_epi8(0, 1, 1, 2, 6, 7, 7, 8, 4, 5, 5, 14, 10, 11, 11, 12,  //
                         3, 4, 4, 5, 1, 10, 10, 11, 7, 8, 8, 9, 13, 14, 14, 15));
  }
  return _mm256_mullo_epi16(shared, _mm256_set1_epi32(1 << 16 | 16));
}
// Of lanes of 16 bits, the lower bytes of one vector and the upper ones of another.
HWY_INLINE __m256i JoinBytes(__m256i lower, __m256i upper) {
  return _mm256_blendv_epi8(lower, upper, _mm256_set1_epi16(static_cast<short>(0xFF00)));
}
#endif

#if HWY_TARGET == HWY_AVX3
// 64 codes of six bits, two in the lower twelve bits of each lane of 16.
HWY_INLINE __m512i LoadSixBitPairs(const std::byte* in) {
  // Twelve bytes to a block, two to a lane so that neighbours share one; then 12 bits to a lane.
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in));
  const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 32));
  const __m512i blocks =
      _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9, 10, 11, 0),
                               _mm512_inserti32x4(_mm512_castsi256_si512(first), last, 2));
  constexpr auto kShared = [](unsigned i) { return i % 16 / 4 * 3 + (i % 4 + 1) / 2; };
  const __m512i shared = _mm512_shuffle_epi8(blocks, ConstantLanes<std::uint8_t, kShared>());
  return _mm512_srlv_epi16(shared, _mm512_set1_epi32(4 << 16));
}
#endif

// A vector of codes, one a byte.
template <int kBits> HWY_INLINE hn::VFromD<D8> LoadCodes(const std::byte* in) {
  const D8 d8;
  if constexpr (kBits == 8) {
    return Load(d8, in);
#if HWY_TARGET == HWY_AVX2
  } else if constexpr (kBits == 6) {
    const __m256i pairs = LoadSixBitPairs(in);
    const __m256i codes = JoinBytes(_mm256_srli_epi16(pairs, 4), _mm256_srli_epi16(pairs, 2));
    return hn::VFromD<D8>{_mm256_and_si256(codes, _mm256_set1_epi8(0x3F))};
#elif HWY_TARGET == HWY_AVX3
  } else if constexpr (kBits == 6) {
    // What stands above a code is cleared at the end.
    const __m512i pairs = LoadSixBitPairs(in);
    constexpr int kChoose = 0xCA;  // the second where the first is set, else the third
    const __m512i codes = _mm512_ternarylogic_epi32(_mm512_set1_epi16(0xFF), pairs,
                                                    _mm512_slli_epi16(pairs, 2), kChoose);
    return hn::VFromD<D8>{_mm512_and_si512(codes, _mm512_set1_epi8(0x3F))};
#endif
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
    const LaneOfByte<kBits> d;
    return CodesOfBytes<kBits>(
        hn::PromoteTo(d, Load(Like<std::uint8_t, LaneOfByte<kBits> >(), in)));
  }
}

// A vector of codes, which have nothing above their bits.
#if HWY_TARGET == HWY_AVX2
// Two codes of four bits, or four of six or two, joined in the lower bytes of as wide a lane.
template <int kBits> HWY_INLINE __m256i JoinInLanes(hn::VFromD<D8> codes) {
  constexpr int kUnit = 1 << kBits;
  const __m256i pairs = _mm256_maddubs_epi16(codes.raw, _mm256_set1_epi16(kUnit << 8 | 1));
  if constexpr (kBits == 4) return pairs;
  return _mm256_madd_epi16(pairs, _mm256_set1_epi32((kUnit * kUnit) << 16 | 1));
}
// Codes of six bits, joined in fours, as the first twelve bytes of their blocks, of which the last
// four stand there once more.
HWY_INLINE __m256i BlocksOfTwelve(__m256i fours) {
  return _mm256_shuffle_epi8(fours, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                        0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 10, 12, 13, 14)));
}
// Two such blocks: the second store writes the end of what the first one has written again, so that
// no lane crosses blocks.
HWY_INLINE void StoreTwelves(__m256i blocks, std::byte* out) {
  const __m128i first = _mm256_castsi256_si128(blocks);
  const __m128i second = _mm_alignr_epi8(_mm256_extracti128_si256(blocks, 1), first, 12);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), first);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 8), second);
}

template <int kBits> HWY_INLINE void StoreCodes(hn::VFromD<D8> codes, std::byte* out) {
  if constexpr (kBits == 8) {
    Store(codes, D8(), out);
  } else {
    const auto to = reinterpret_cast<__m128i*>(out);
    const __m256i joined = JoinInLanes<kBits>(codes);
    if constexpr (kBits == 4) {
      const __m256i bytes = _mm256_packus_epi16(joined, joined);
      _mm_storeu_si128(to, _mm256_castsi256_si128(_mm256_permute4x64_epi64(bytes, 0x08)));
    } else if constexpr (kBits == 6) {
      StoreTwelves(BlocksOfTwelve(joined), out);
    } else {
      static_assert(kBits == 2);
      const __m256i bytes =
          _mm256_shuffle_epi8(joined, _mm256_set1_epi32(12 << 24 | 8 << 16 | 4 << 8));
      _mm_storel_epi64(to, _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes),
                                              _mm256_extracti128_si256(bytes, 1)));
    }
  }
}

// Two vectors; of four bits with their blocks apart.
template <int kBits>
HWY_INLINE void StoreCodes(hn::VFromD<D8> low, hn::VFromD<D8> high, std::byte* out) {
  if constexpr (kBits == 8) {
    Store(low, D8(), out);
    Store(high, D8(), out + sizeof(low));
  } else {
    const __m256i a = JoinInLanes<kBits>(low), b = JoinInLanes<kBits>(high);
    if constexpr (kBits == 4) {
      Store(hn::VFromD<D8>{_mm256_packus_epi16(a, b)}, D8(), out);
    } else if constexpr (kBits == 2) {
      const __m256i halves = _mm256_packus_epi32(a, b);
      const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(halves, halves),
                                                        _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(bytes));
    } else {
      // What a block's store writes beyond it is overwritten by the next one.
      const __m256i first = BlocksOfTwelve(a);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(first));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 12), _mm256_extracti128_si256(first, 1));
      StoreTwelves(BlocksOfTwelve(b), out + 24);
    }
  }
}
#elif HWY_TARGET == HWY_AVX3
template <int kBits> HWY_INLINE void StoreCodes(hn::VFromD<D8> codes, std::byte* out) {
  if constexpr (kBits == 8) {
    Store(codes, D8(), out);
  } else {
    constexpr int kUnit = 1 << kBits;
    const __m512i pairs = _mm512_maddubs_epi16(codes.raw, _mm512_set1_epi16(kUnit << 8 | 1));
    if constexpr (kBits == 4) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi16_epi8(pairs));
    } else {
      const auto to = reinterpret_cast<__m128i*>(out);
      const __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32((kUnit * kUnit) << 16 | 1));
      if constexpr (kBits == 2) {
        _mm_storeu_si128(to, _mm512_cvtepi32_epi8(fours));
      } else {
        static_assert(kBits == 6);
        // Twelve bytes of each block, which then stand side by side.
        constexpr auto kThree = [](unsigned i) {
          return i % 16 < 12 ? i % 16 / 3 * 4 + i % 16 % 3 : 0x80;
        };
        const __m512i bytes = _mm512_permutexvar_epi32(
            _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15),
            _mm512_shuffle_epi8(fours, ConstantLanes<std::uint8_t, kThree>()));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(bytes));
        _mm_storeu_si128(to + 2, _mm512_extracti32x4_epi32(bytes, 2));
      }
    }
  }
}
#else
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

#endif

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_PACKED_INL_H_
