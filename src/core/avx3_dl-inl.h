// AVX3_DL's own lanes: AVX-512 VBMI has byte permutations over whole vectors, for tables of 64 and
// 256 entries and for 6-bit packing. override_stages.cc puts them into the target's table. Included
// per target, as its guard wants; empty for all others.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_AVX3_DL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_AVX3_DL_INL_H_
#undef TENSORCAST_SRC_CORE_AVX3_DL_INL_H_
#else
#define TENSORCAST_SRC_CORE_AVX3_DL_INL_H_
#endif

#include "core/lanes-inl.h"
#include "core/packing-inl.h"

#if HWY_TARGET == HWY_AVX3_DL
HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// table[code] for 64 codes below 2^kBits, kBits 6 or 8.
template <int kBits> class VbmiTable {
 public:
  explicit VbmiTable(const std::uint8_t* table) {
    for (int i = 0; i < kRows; ++i) rows_[i] = _mm512_loadu_si512(table + 64 * i);
  }
  HWY_INLINE __m512i operator()(__m512i code) const {
    if constexpr (kBits == 6) {
      return _mm512_permutexvar_epi8(code, rows_[0]);
    } else {
      // The permutation reads the low seven bits; the eighth chooses between the halves.
      return _mm512_mask_blend_epi8(_mm512_movepi8_mask(code),
                                    _mm512_permutex2var_epi8(rows_[0], code, rows_[1]),
                                    _mm512_permutex2var_epi8(rows_[2], code, rows_[3]));
    }
  }

 private:
  static constexpr int kRows = 1 << (kBits - 6);
  __m512i rows_[kRows];
};

// out[i] = table[in[i]] for codes below 2^kBits.
template <int kBits>
void VbmiLookUpStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  const VbmiTable<kBits> table(args.table);
  const auto look_up = [&](const std::byte* from, std::byte* to)
                           HWY_ATTR { _mm512_storeu_si512(to, table(_mm512_loadu_si512(from))); };
  ForEachVector<1, 1>(in, out, n, hn::Lanes(D8()), look_up);
}

inline constexpr std::size_t kVbmiCodes = 64;       // packed or unpacked at once
inline constexpr std::uint64_t kVbmiSixBytes = 48;  // of 64 6-bit codes
inline constexpr __mmask64 kVbmiSixMask = 0xFFFFFFFFFFFF;

// The vector whose byte i is at(i).
template <class At> HWY_INLINE __m512i VbmiBytes(const At& at) {
  alignas(64) std::uint8_t bytes[64];
  for (unsigned i = 0; i < 64; ++i) bytes[i] = static_cast<std::uint8_t>(at(i));
  return _mm512_load_si512(bytes);
}

// Six packed bytes to a lane of eight codes: six bytes moved to each, then eight shifted windows.
inline std::size_t VbmiUnpackSix(const std::byte* packed, std::size_t n, std::byte* codes) {
  const __m512i spread = VbmiBytes([](unsigned i) { return i % 8 < 6 ? i / 8 * 6 + i % 8 : 63; });
  const __m512i shifts = VbmiBytes([](unsigned i) { return i % 8 * 6; });
  const __m512i mask = _mm512_set1_epi8(0x3F);
  std::size_t i = 0;
  for (; i + kVbmiCodes <= n; i += kVbmiCodes) {
    const __m512i bytes = _mm512_maskz_loadu_epi8(kVbmiSixMask, packed + i / 4 * 3);
    const __m512i windows =
        _mm512_multishift_epi64_epi8(shifts, _mm512_permutexvar_epi8(spread, bytes));
    _mm512_storeu_si512(codes + i, _mm512_and_si512(windows, mask));
  }
  return i + UnpackWhole<6>(packed + i / 4 * 3, n - i, codes + i);
}

// Two codes to 12 bits, two of those to 24 by multiply and add; then three bytes of each four.
inline std::size_t VbmiPackSix(const std::byte* codes, std::size_t n, std::byte* packed) {
  const __m512i gather = VbmiBytes([](unsigned i) { return i < 48 ? i / 3 * 4 + i % 3 : 0; });
  const __m512i mask = _mm512_set1_epi8(0x3F);
  const __m512i pairs = _mm512_set1_epi16(64 << 8 | 1);
  const __m512i fours = _mm512_set1_epi32(4096 << 16 | 1);
  std::size_t i = 0;
  for (; i + kVbmiCodes <= n; i += kVbmiCodes) {
    const __m512i code = _mm512_and_si512(_mm512_loadu_si512(codes + i), mask);
    const __m512i four = _mm512_madd_epi16(_mm512_maddubs_epi16(code, pairs), fours);
    _mm512_mask_storeu_epi8(packed + i / 4 * 3, kVbmiSixMask,
                            _mm512_permutexvar_epi8(gather, four));
  }
  return i + PackWhole<6>(codes + i, n - i, packed + i / 4 * 3);
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_AVX3_DL

#endif  // TENSORCAST_SRC_CORE_AVX3_DL_INL_H_
