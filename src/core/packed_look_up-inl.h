// Packed codes looked up before they are brought to the lower ends of bytes. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_PACKED_LOOK_UP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_PACKED_LOOK_UP_INL_H_
#undef TENSORCAST_SRC_CORE_PACKED_LOOK_UP_INL_H_
#else
#define TENSORCAST_SRC_CORE_PACKED_LOOK_UP_INL_H_
#endif

#include "core/code_table.h"
#include "core/interleave-inl.h"
#include "core/look_up-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL
// To codes of four or two bits, 128 at once. Codes of four bits are looked up where they stand, of
// two bits in pairs; an index has six bits, and what a table has for the higher ones repeats.
template <int kInBits, int kOutBits> class PackedLookup {
 public:
  static constexpr std::size_t kElements = 128;

  explicit HWY_INLINE PackedLookup(const CodeTable& table) : codes_(table.bytes[0]) {
    const __m512i results = _mm512_load_si512(table.bytes[0]);
    if constexpr (kInBits == 4) {
      first_ = results;
      second_ = _mm512_slli_epi16(results, kOutBits);  // results are shorter than a byte
    } else if constexpr (kInBits == 2) {
      constexpr auto kSecond = [](unsigned i) { return i / 4 % 4; };
      const __m512i second = _mm512_permutexvar_epi8(ByteIndices<kSecond>(), results);
      first_ = _mm512_or_si512(results, _mm512_slli_epi16(second, kOutBits));
    } else if constexpr (kInBits == 6) {
      first_ = results;
      second_ = kOutBits == 2 ? _mm512_slli_epi16(results, 2 * kOutBits) : results;
    }
  }
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    if constexpr (kInBits == 2) {
      const __m512i bytes =
          _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in)));
      const __m512i pairs = _mm512_or_si512(bytes, _mm512_slli_epi16(bytes, 4));
      _mm512_storeu_si512(out, _mm512_permutexvar_epi8(pairs, first_));
    } else if constexpr (kInBits == 4) {
      const __m512i bytes = _mm512_loadu_si512(in);
      const __m512i pairs =
          _mm512_or_si512(_mm512_permutexvar_epi8(bytes, first_),
                          _mm512_permutexvar_epi8(_mm512_srli_epi16(bytes, 4), second_));
      if constexpr (kOutBits == 4) {
        _mm512_storeu_si512(out, pairs);
      } else {
        StoreCodes<4>(V8{pairs}, out);
      }
    } else if constexpr (kInBits == 6) {
      // A lane of 16 bits has two codes of each four.
      const __m512i low = _mm512_permutexvar_epi8(LoadHalfOfFours<0>(in), first_);
      const __m512i high = _mm512_permutexvar_epi8(LoadHalfOfFours<1>(in), second_);
      const __m512i unit = _mm512_set1_epi16(1 << (8 + kOutBits) | 1);
      if constexpr (kOutBits == 2) {
        const __m512i fours = _mm512_maddubs_epi16(_mm512_or_si512(low, high), unit);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi16_epi8(fours));
      } else {
        const __m512i upper =
            _mm512_mullo_epi16(_mm512_maddubs_epi16(high, unit), _mm512_set1_epi16(1 << 8));
        _mm512_storeu_si512(out, _mm512_or_si512(_mm512_maddubs_epi16(low, unit), upper));
      }
    } else {
      const std::byte* second = in + 64 * kInBits / 8;
      StoreCodes<kOutBits>(codes_(LoadCodes<kInBits>(in)), codes_(LoadCodes<kInBits>(second)), out);
    }
  }

 private:
  // Of 128 codes of six bits the first two of each four, or the last two, one a byte: two bytes of
  // each three have them. What stands above a code in its byte is not cleared.
  template <unsigned kHalf> static HWY_INLINE __m512i LoadHalfOfFours(const std::byte* in) {
    constexpr auto kFrom = [](unsigned i) {
      const unsigned byte = i / 2 * 3 + i % 2 + kHalf;
      return byte < 64 ? byte : byte + 32;  // the second load begins 32 bytes further
    };
    constexpr auto kShift = [](unsigned i) { return i % 8 / 2 * 16 + i % 2 * 6 + kHalf * 4; };
    const __m512i bytes = _mm512_permutex2var_epi8(_mm512_loadu_si512(in), ByteIndices<kFrom>(),
                                                   _mm512_loadu_si512(in + 32));
    return _mm512_multishift_epi64_epi8(ByteIndices<kShift>(), bytes);
  }

  Lookup<kInBits> codes_;
  __m512i first_, second_;
};
template <int kInBits, int kOutBits> inline constexpr bool kToPacked = kOutBits <= 4;

// Codes of two bits to six: a byte of results follows from two neighbouring codes, by one of three
// tables of 16.
template <int kOutBits> class PairsToCodes {
  static_assert(kOutBits == 6);

 public:
  static constexpr std::size_t kElements = 256;

  explicit HWY_INLINE PairsToCodes(const CodeTable& table) {
    // The results of both codes in lanes of 16 bits, of which a byte has those from bit 0, 2 or 4
    // on.
    constexpr auto kCode = [](unsigned i) { return i / 2 % 4; };
    constexpr auto kSecond = [](unsigned i) { return i / 8 % 4; };
    const __m512i results = _mm512_load_si512(table.bytes[0]);
    const __m512i first = _mm512_permutexvar_epi8(ByteIndices<kCode>(), results);
    const __m512i second = _mm512_permutexvar_epi8(ByteIndices<kSecond>(), results);
    constexpr int kJoin = 0xF8;  // the first, or the second and the third
    const __m512i low = _mm512_set1_epi16(0xFF);
    const __m512i pairs = _mm512_ternarylogic_epi32(
        _mm512_slli_epi16(_mm512_and_si512(second, low), 6), first, low, kJoin);
    const __m512i later = _mm512_mask_srli_epi16(pairs, 0xFFFF0000, pairs, 2);
    table_ = Bytes<Order::kElements>(V16{later}, V16{_mm512_srli_epi16(pairs, 4)}).raw;
  }
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    const __m512i codes = _mm512_loadu_si512(in);
    Store<0>(codes, out);
    Store<1>(codes, out + 64);
    Store<2>(codes, out + 128);
  }

 private:
  template <unsigned kVector> HWY_INLINE void Store(__m512i codes, std::byte* out) const {
    // Three bytes of results to a byte of codes; those that eight need are brought to their lane.
    constexpr auto kFrom = [](unsigned i) { return (64 * kVector + i / 8 * 8) / 3 + i % 4; };
    constexpr auto kShift = [](unsigned i) {
      const unsigned at = 64 * kVector + i;
      return (at / 3 - (at - i % 8) / 3) * 8 + at % 3 * 2;
    };
    constexpr auto kRow = [](unsigned i) { return (64 * kVector + i) % 3 * 16; };
    const __m512i pairs = _mm512_multishift_epi64_epi8(
        ByteIndices<kShift>(), _mm512_permutexvar_epi8(ByteIndices<kFrom>(), codes));
    constexpr int kJoin = 0xF8;
    const __m512i at =
        _mm512_ternarylogic_epi32(ByteIndices<kRow>(), pairs, _mm512_set1_epi8(0x0F), kJoin);
    _mm512_storeu_si512(out, _mm512_permutexvar_epi8(at, table_));
  }

  __m512i table_;
};
#else
// Results by the second of two codes of two bits, which stand in the upper half of an index.
HWY_INLINE V8 BySecondOfPair(V8 results) {
  alignas(16) static constexpr std::uint8_t kSecond[16] = {0, 0, 0, 0, 1, 1, 1, 1,
                                                           2, 2, 2, 2, 3, 3, 3, 3};
  return hn::TableLookupBytes(results, hn::LoadDup128(D8(), kSecond));
}

#if HWY_TARGET == HWY_AVX2
// What is looked up by the lower four bits of each byte, with what is by the upper ones after it.
HWY_INLINE void StoreSideBySide(const std::byte* in, V8 results, std::byte* out) {
  const D8 d;
  const V8 nibble = hn::Set(d, std::uint8_t{0x0F});
  const V8 bytes = LoadSpread<8, 2>(in);
  const V8 upper = hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(D16(), bytes)));
  const V8 even = hn::TableLookupBytes(results, hn::And(bytes, nibble));
  const V8 odd = hn::TableLookupBytes(results, hn::And(upper, nibble));
  Store(hn::InterleaveLower(d, even, odd), d, out);
  Store(hn::InterleaveUpper(d, even, odd), d, out + 32);
}
#endif

// Codes of four bits are looked up where they stand, of two bits in pairs.
template <int kInBits, int kOutBits> class PackedLookup {
  static constexpr bool kWholeVectors = HWY_TARGET == HWY_AVX2 && kInBits != kOutBits;

 public:
  static constexpr std::size_t kElements = (kWholeVectors ? 4 : 2) * kCodes;

  explicit HWY_INLINE PackedLookup(const CodeTable& table) {
    const D8 d;
    const D16 d16;
    const V8 results = hn::LoadDup128(d, table.bytes[0]);
    V8 second = kInBits == 2 ? BySecondOfPair(results) : results;
    second = hn::BitCast(d, hn::ShiftLeft<kOutBits>(hn::BitCast(d16, second)));
    first_ = kInBits == 2 ? hn::Or(results, second) : results;
    second_ = second;
  }
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    const D8 d;
    const D16 d16;
    const V8 nibble = hn::Set(d, std::uint8_t{0x0F});
    const auto upper = [&](V8 bytes) HWY_ATTR {
      return hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(d16, bytes))), nibble);
    };
    if constexpr (kInBits == 4) {
      const auto pairs = [&](V8 bytes) HWY_ATTR {
        return hn::Or(hn::TableLookupBytes(first_, hn::And(bytes, nibble)),
                      hn::TableLookupBytes(second_, upper(bytes)));
      };
      // Joined results of two bits are codes of four.
      constexpr int kJoined = kOutBits == 4 ? 8 : 4;
#if HWY_TARGET == HWY_AVX2
      if constexpr (kWholeVectors) {
        V8 low, high;
        LoadBlocksApart(in, &low.raw, &high.raw);
        return StoreCodes<kJoined>(pairs(low), pairs(high), out);
      }
#endif
      StoreCodes<kJoined>(pairs(Load(d, in)), out);
#if HWY_TARGET == HWY_AVX2
    } else {
      StoreSideBySide(in, first_, out);
#else
    } else {
      const V16 bytes = hn::PromoteTo(d16, Load(Like<std::uint8_t, D16>(), in));
      const V8 pairs = hn::BitCast(d, hn::Or(bytes, hn::ShiftLeft<4>(bytes)));
      Store(hn::TableLookupBytes(first_, hn::And(pairs, nibble)), d, out);
#endif
    }
  }

 private:
  V8 first_, second_;
};
#if HWY_TARGET == HWY_AVX3
// Codes of six bits by words, of which the second ones' have their results where these are joined.
template <int kOutBits> class PackedLookup<6, kOutBits> {
 public:
  static constexpr std::size_t kElements = 64;

  explicit HWY_INLINE PackedLookup(const CodeTable& table) {
    alignas(64) std::uint8_t second[64];
    _mm512_store_si512(second, _mm512_slli_epi16(_mm512_load_si512(table.bytes[0]), kOutBits));
    first_.Set(table.bytes[0], table.bytes[0]);
    second_.Set(second, second);
  }
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    const __m512i codes = LoadSixBitPairs(in);
    const __m256i pairs =
        _mm512_cvtepi16_epi8(_mm512_or_si512(first_(codes), second_(_mm512_srli_epi16(codes, 6))));
    if constexpr (kOutBits == 4) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), pairs);
    } else {
      const __m256i fours = _mm256_maddubs_epi16(pairs, _mm256_set1_epi16(16 << 8 | 1));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_cvtepi16_epi8(fours));
    }
  }

 private:
  WordRows first_, second_;
};
#endif

template <int kInBits, int kOutBits>
inline constexpr bool kToPacked =
    (kInBits <= 4 || (kInBits == 6 && HWY_TARGET == HWY_AVX3)) && kOutBits <= 4;
#endif

#if HWY_TARGET == HWY_AVX2
// Codes of four bits to bytes: looked up where they stand, then put side by side.
class NibblesToBytes {
 public:
  static constexpr std::size_t kElements = 64;

  explicit HWY_INLINE NibblesToBytes(const CodeTable& table)
      : results_(hn::LoadDup128(D8(), table.bytes[0])) {}
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    StoreSideBySide(in, results_, out);
  }

 private:
  V8 results_;
};

// Codes of two bits to bytes, or to six bits: pairs of them look up the first results and the
// second.
template <int kOutBits> class PairsToCodes {
  static_assert(kOutBits == 8 || kOutBits == 6);

 public:
  static constexpr std::size_t kElements = 128;

  explicit HWY_INLINE PairsToCodes(const CodeTable& table)
      : first_(hn::LoadDup128(D8(), table.bytes[0])), second_(BySecondOfPair(first_)) {}
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    const D8 d;
    const V8 nibble = hn::Set(d, std::uint8_t{0x0F});
    // Interleaved twice, bytes become lanes of four codes.
    const V8 bytes = LoadSpread<8, 4>(in);
    const V8 low = hn::And(bytes, nibble);
    const V8 high = hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(D16(), bytes))), nibble);
    StorePairs(hn::InterleaveLower(d, low, high), out);
    StorePairs(hn::InterleaveUpper(d, low, high), out + kElements / 2 * kOutBits / 8);
  }

 private:
  HWY_INLINE void StorePairs(V8 pairs, std::byte* out) const {
    const D8 d;
    const V8 first = hn::TableLookupBytes(first_, pairs);
    const V8 second = hn::TableLookupBytes(second_, pairs);
    StoreCodes<kOutBits>(hn::InterleaveLower(d, first, second),
                         hn::InterleaveUpper(d, first, second), out);
  }

  V8 first_, second_;
};

HWY_INLINE V8 SixBitsOnTop(__m256i pairs) {
  return V8{JoinBytes(_mm256_srli_epi16(pairs, 2), pairs)};
}
// 32 codes of six bits, each at the upper end of its byte, where a sign is a byte's own, spread
// (interleave-inl.h) for results of kWidth bytes.
template <std::size_t kWidth> HWY_INLINE V8 LoadSixBitsOnTop(const std::byte* in) {
  const V8 codes = SixBitsOnTop(LoadSixBitPairs<(kWidth <= 4 ? kWidth : 1)>(in));
  if constexpr (kWidth <= 4) return codes;
  return Spread<kWidth>(codes);
}

// The results of such codes by their magnitudes (CodeRows), of which 32 stand at `results`.
template <int kOutBits, CodeRows::Sign kSign> class SixBitsLookup {
 public:
  HWY_INLINE SixBitsLookup(const std::uint8_t* results, std::uint8_t negative)
      : negative_(hn::Set(D8(), negative)) {
    for (std::size_t i = 0; i < 2; ++i) rows_[i] = hn::LoadDup128(D8(), results + 16 * i).raw;
  }
  HWY_INLINE V8 operator()(V8 on_top) const {
    const __m256i codes = on_top.raw;
    const __m256i low = _mm256_and_si256(_mm256_srli_epi16(codes, 2), _mm256_set1_epi8(0x0F));
    const __m256i magnitude =
        _mm256_blendv_epi8(_mm256_shuffle_epi8(rows_[0], low), _mm256_shuffle_epi8(rows_[1], low),
                           _mm256_add_epi8(codes, codes));
    return V8{WithSign(magnitude, codes)};
  }

 private:
  HWY_INLINE __m256i WithSign(__m256i magnitude, __m256i codes) const {
    const __m256i sign_bit = _mm256_set1_epi8(INT8_MIN);
    switch (kSign) {
      case CodeRows::Sign::kIgnored: break;
      case CodeRows::Sign::kFlips:
        return _mm256_xor_si256(magnitude,
                                _mm256_srli_epi16(_mm256_and_si256(codes, sign_bit), 8 - kOutBits));
      case CodeRows::Sign::kFlipsUnlessZero:
        return _mm256_xor_si256(magnitude,
                                _mm256_and_si256(codes, _mm256_sign_epi8(sign_bit, magnitude)));
      case CodeRows::Sign::kNegates:
        // A byte of nothing but zeros is code zero, whose result is zero, too.
        return _mm256_and_si256(_mm256_sign_epi8(magnitude, codes),
                                _mm256_set1_epi8(static_cast<char>((1 << kOutBits) - 1)));
      case CodeRows::Sign::kReplaces: return _mm256_blendv_epi8(magnitude, negative_.raw, codes);
    }
    return magnitude;
  }

  __m256i rows_[2];
  V8 negative_;
};

// The bytes of wider results, of which the last one has the sign.
template <std::size_t kPlanes, CodeRows::Sign kSign> class SixBitPlanes {
  static_assert(kPlanes == 1 || kPlanes == 2);

 public:
  explicit HWY_INLINE SixBitPlanes(const CodeTable& table)
      : first_(table.bytes[0], table.rows.negative),
        last_(table.bytes[kPlanes - 1], table.rows.negative) {}
  template <std::size_t kFirst, std::size_t kCount>
  HWY_INLINE void LookUp(V8 on_top, V8* planes) const {
    static_assert(kFirst == 0 && kCount == kPlanes);
    planes[0] = first_(on_top);
    planes[kPlanes - 1] = last_(on_top);
  }

 private:
  SixBitsLookup<8, CodeRows::Sign::kIgnored> first_;
  SixBitsLookup<8, kSign> last_;
};
#endif

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_PACKED_LOOK_UP_INL_H_
