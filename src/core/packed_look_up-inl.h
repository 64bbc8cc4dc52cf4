// Packed codes looked up where they stand, two or four in a byte. Included per target.
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
    } else {
      const std::byte* second = in + 64 * kInBits / 8;
      StoreCodes<kOutBits>(codes_(LoadCodes<kInBits>(in)), codes_(LoadCodes<kInBits>(second)), out);
    }
  }

 private:
  Lookup<kInBits> codes_;
  __m512i first_, second_;
};
template <int kInBits, int kOutBits> inline constexpr bool kToPacked = kOutBits <= 4;
#else
// Codes of four bits are looked up where they stand, of two bits in pairs.
template <int kInBits, int kOutBits> class PackedLookup {
 public:
  static constexpr std::size_t kElements = 2 * kCodes;

  explicit HWY_INLINE PackedLookup(const CodeTable& table) {
    const D8 d;
    const D16 d16;
    const V8 results = hn::LoadDup128(d, table.bytes[0]);
    V8 second = results;
    if constexpr (kInBits == 2) {
      alignas(16) static constexpr std::uint8_t kSecond[16] = {0, 0, 0, 0, 1, 1, 1, 1,
                                                               2, 2, 2, 2, 3, 3, 3, 3};
      second = hn::TableLookupBytes(results, hn::LoadDup128(d, kSecond));
    }
    second = hn::BitCast(d, hn::ShiftLeft<kOutBits>(hn::BitCast(d16, second)));
    first_ = kInBits == 2 ? hn::Or(results, second) : results;
    second_ = second;
  }
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    const D8 d;
    const D16 d16;
    const V8 nibble = hn::Set(d, std::uint8_t{0x0F});
    if constexpr (kInBits == 2) {
      const V16 bytes = hn::PromoteTo(d16, Load(Like<std::uint8_t, D16>(), in));
      const V8 pairs = hn::BitCast(d, hn::Or(bytes, hn::ShiftLeft<4>(bytes)));
      Store(hn::TableLookupBytes(first_, hn::And(pairs, nibble)), d, out);
    } else {
      const V8 bytes = Load(d, in);
      const V8 upper = hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(d16, bytes)));
      const V8 pairs = hn::Or(hn::TableLookupBytes(first_, hn::And(bytes, nibble)),
                              hn::TableLookupBytes(second_, hn::And(upper, nibble)));
      // Joined results of two bits are codes of four.
      StoreCodes<kOutBits == 4 ? 8 : 4>(pairs, out);
    }
  }

 private:
  V8 first_, second_;
};
template <int kInBits, int kOutBits>
inline constexpr bool kToPacked = kInBits <= 4 && kOutBits <= 4;
#endif

#if HWY_TARGET == HWY_AVX2
// Codes of four bits to bytes: looked up where they stand, then put side by side.
class NibblesToBytes {
 public:
  static constexpr std::size_t kElements = 64;

  explicit HWY_INLINE NibblesToBytes(const CodeTable& table)
      : results_(hn::LoadDup128(D8(), table.bytes[0])) {}
  HWY_INLINE void operator()(const std::byte* in, std::byte* out) const {
    const D8 d;
    const V8 nibble = hn::Set(d, std::uint8_t{0x0F});
    const V8 bytes{_mm256_permute4x64_epi64(Load(d, in).raw, 0xD8)};
    const V8 upper = hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(D16(), bytes)));
    const V8 even = hn::TableLookupBytes(results_, hn::And(bytes, nibble));
    const V8 odd = hn::TableLookupBytes(results_, hn::And(upper, nibble));
    Store(hn::InterleaveLower(d, even, odd), d, out);
    Store(hn::InterleaveUpper(d, even, odd), d, out + 32);
  }

 private:
  V8 results_;
};
#endif

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_PACKED_LOOK_UP_INL_H_
