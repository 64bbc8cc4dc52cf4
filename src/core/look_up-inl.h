// Bytes looked up by codes of at most eight bits: one permutation of a vector where the target has
// it, rows of 16 entries elsewhere. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_LOOK_UP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_LOOK_UP_INL_H_
#undef TENSORCAST_SRC_CORE_LOOK_UP_INL_H_
#else
#define TENSORCAST_SRC_CORE_LOOK_UP_INL_H_
#endif

#include "core/code_table.h"
#include "core/halves-inl.h"
#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL
// AVX-512 VBMI permutes bytes over whole vectors: 64 entries at once, which repeat for codes of
// fewer than six bits.
template <int kBits> class Lookup {
 public:
  explicit HWY_INLINE Lookup(const std::uint8_t* table) {
    for (std::size_t i = 0; i < kRows64; ++i) rows_[i] = _mm512_load_si512(table + 64 * i);
  }
  HWY_INLINE V8 operator()(V8 code) const {
    if constexpr (kBits < 8) {
      return V8{_mm512_permutexvar_epi8(code.raw, rows_[0])};
    } else {
      // g++ would load codes once more for each permutation, as that overwrites them.
      asm("" : "+v"(code.raw));
      // The permutation reads the low seven bits; the eighth chooses between the halves.
      return V8{_mm512_mask_blend_epi8(_mm512_movepi8_mask(code.raw),
                                       _mm512_permutex2var_epi8(rows_[0], code.raw, rows_[1]),
                                       _mm512_permutex2var_epi8(rows_[2], code.raw, rows_[3]))};
    }
  }

 private:
  static constexpr std::size_t kRows64 = kBits < 8 ? 1 : 4;
  __m512i rows_[kRows64];
};
#else
// Whether a bit of each byte is set.
template <int kBit> HWY_INLINE hn::Mask<D8> BitSet(V8 v) {
#if HWY_TARGET == HWY_AVX2
  // A blend looks at the highest bit alone.
  return hn::MaskFromVec(hn::BitCast(D8(), hn::ShiftLeft<7 - kBit>(hn::BitCast(D16(), v))));
#else
  return hn::TestBit(v, hn::Set(D8(), std::uint8_t{1 << kBit}));
#endif
}

// Entries [16 * kFirst, 16 * (kFirst + kCount)) of the table looked up by the low four bits, then
// chosen among by the higher ones: the upper half where the highest of them is set.
template <std::size_t kFirst, std::size_t kCount, class M>
HWY_INLINE V8 LookUpRows(const V8* rows, V8 low_bits, const M* bit_set) {
  if constexpr (kCount == 1) {
    return hn::TableLookupBytes(rows[kFirst], low_bits);
  } else {
    constexpr std::size_t kHalf = kCount / 2;
    constexpr std::size_t kBit = kHalf == 1 ? 0 : kHalf == 2 ? 1 : kHalf == 4 ? 2 : 3;
    return hn::IfThenElse(bit_set[kBit], LookUpRows<kFirst + kHalf, kHalf>(rows, low_bits, bit_set),
                          LookUpRows<kFirst, kHalf>(rows, low_bits, bit_set));
  }
}

// Rows of 16 entries, by codes that have nothing above their bits.
template <std::size_t kRows> class RowsLookup {
 public:
  explicit HWY_INLINE RowsLookup(const std::uint8_t* table) {
    for (std::size_t i = 0; i < kRows; ++i) rows_[i] = hn::LoadDup128(D8(), table + 16 * i);
  }
  HWY_INLINE V8 operator()(V8 code) const {
    hn::Mask<D8> bit_set[4] = {};
#if HWY_TARGET == HWY_AVX2
    // A blend looks at the highest bit alone, to which additions bring the next one: where there
    // are many rows, shuffles keep the units busy that shift.
    constexpr int kHighest = kRows > 8 ? 7 : kRows > 4 ? 6 : kRows > 2 ? 5 : 4;
    V8 on_top = code;
    if constexpr (kHighest == 6) on_top = hn::Add(code, code);
    if constexpr (kHighest < 6) {
      on_top = hn::BitCast(D8(), hn::ShiftLeft<7 - kHighest>(hn::BitCast(D16(), code)));
    }
    for (std::size_t bit = kHighest - 3; bit-- > 0; on_top = hn::Add(on_top, on_top)) {
      bit_set[bit] = hn::MaskFromVec(on_top);
    }
#else
    if constexpr (kRows > 1) bit_set[0] = BitSet<4>(code);
    if constexpr (kRows > 2) bit_set[1] = BitSet<5>(code);
    if constexpr (kRows > 4) bit_set[2] = BitSet<6>(code);
    if constexpr (kRows > 8) bit_set[3] = BitSet<7>(code);
#endif
    if constexpr (kRows > 8 || (kRows > 1 && !kIgnoresBits)) {
      code = hn::And(code, hn::Set(D8(), std::uint8_t{0x0F}));
    }
    return LookUpRows<0, kRows>(rows_, code, bit_set);
  }

 private:
  // There a look-up looks at the low four bits and at the highest.
  static constexpr bool kIgnoresBits = HWY_TARGET == HWY_AVX2;
  V8 rows_[kRows];
};

#if HWY_TARGET == HWY_AVX3
// AVX-512 without VBMI permutes words, among 64 of them by the low six bits of each lane.
HWY_INLINE __m512i LowBytesOfWords(const std::uint8_t* bytes) {
  return _mm512_cvtepu8_epi16(_mm256_load_si256(reinterpret_cast<const __m256i*>(bytes)));
}
// The bytes of two vectors of words: of the first where an even byte is, of the second where an
// odd.
HWY_INLINE __m512i EvenAndOddBytes(__m512i even, __m512i odd) {
  return _mm512_mask_mov_epi8(even, 0xAAAAAAAAAAAAAAAA, odd);
}

// 64 words, by codes of at least six bits or by words that end with such a code.
class WordRows {
 public:
  // The results of codes from `lower` are the words' low bytes, those from `upper` the high ones.
  HWY_INLINE void Set(const std::uint8_t* lower, const std::uint8_t* upper) {
    for (std::size_t i = 0; i < 2; ++i) {
      rows_[i] = _mm512_or_si512(LowBytesOfWords(lower + 32 * i),
                                 _mm512_slli_epi16(LowBytesOfWords(upper + 32 * i), 8));
    }
  }
  HWY_INLINE __m512i operator()(__m512i codes) const {
    return _mm512_permutex2var_epi16(rows_[0], codes, rows_[1]);
  }

 private:
  __m512i rows_[2];
};

// Even and odd codes are looked up one after the other.
template <int kBits> class ByteLookup {
 public:
  explicit HWY_INLINE ByteLookup(const std::uint8_t* table) {
    // Of eight bits a word has two results, the second of the code whose bit 6 is set.
    for (std::size_t i = 0; i < kSets; ++i) {
      rows_[i].Set(table + 128 * i, table + 128 * i + (kBits == 8 ? 64 : 0));
    }
  }
  HWY_INLINE V8 operator()(V8 code) const {
    const __m512i second = _mm512_srli_epi16(code.raw, 8);
    __m512i even = rows_[0](code.raw), odd = rows_[0](second);
    if constexpr (kBits == 8) {
      const __mmask32 upper = _mm512_test_epi16_mask(code.raw, _mm512_set1_epi16(0x80));
      even = _mm512_mask_mov_epi16(even, upper, rows_[1](code.raw));
      odd = _mm512_mask_mov_epi16(odd, _mm512_movepi16_mask(code.raw), rows_[1](second));
      const __mmask64 bit6 = _mm512_test_epi8_mask(code.raw, _mm512_set1_epi8(0x40));
      return V8{_mm512_mask_mov_epi8(EvenAndOddBytes(even, _mm512_slli_epi16(odd, 8)), bit6,
                                     EvenAndOddBytes(_mm512_srli_epi16(even, 8), odd))};
    }
    return V8{EvenAndOddBytes(even, odd)};
  }

 private:
  static constexpr std::size_t kSets = kBits == 8 ? 2 : 1;
  WordRows rows_[kSets];
};
template <int kBits>
using Lookup = std::conditional_t<kBits <= 4, RowsLookup<1>, ByteLookup<kBits> >;

// Results of two bytes, by words that have a code in each of their bytes.
template <int kBits> class HalfLookup {
 public:
  HWY_INLINE HalfLookup(const std::uint8_t* lower, const std::uint8_t* upper) {
    for (std::size_t i = 0; i < kSets; ++i) rows_[i].Set(lower + 64 * i, upper + 64 * i);
  }
  HWY_INLINE V16 operator()(V16 codes) const {
    if constexpr (kBits < 8) return V16{rows_[0](codes.raw)};
    const __mmask32 bit6 = _mm512_test_epi16_mask(codes.raw, _mm512_set1_epi16(0x40));
    const auto of_half = [&](std::size_t first) HWY_ATTR {
      return _mm512_mask_mov_epi16(rows_[first](codes.raw), bit6, rows_[first + 1](codes.raw));
    };
    return V16{
        _mm512_mask_mov_epi16(of_half(0), _mm512_movepi16_mask(codes.raw), of_half(kSets / 2))};
  }

 private:
  static constexpr std::size_t kSets = kBits == 8 ? 4 : 1;
  WordRows rows_[kSets];
};
#else
template <int kBits> using Lookup = RowsLookup<kBits <= 4 ? 1 : (std::size_t{1} << kBits) / 16>;
#endif

// The results of magnitudes by CodeRows::Sums.
template <std::size_t kWindows> class MagnitudeSums {
 public:
  explicit HWY_INLINE MagnitudeSums(const CodeRows& rows)
      : upper_(hn::LoadDup128(D8(), rows.sums.upper)),
        lower_(hn::LoadDup128(D8(), rows.sums.lower)),
        most_(hn::Set(D8(), rows.sums.most)) {
    for (std::size_t i = 0; i < kWindows; ++i) {
      besides_[i] = hn::LoadDup128(D8(), rows.sums.besides[i]);
      // Beyond a window the highest bit is set, which looks up zero.
      to_place_[i] = hn::Set(D8(), static_cast<std::uint8_t>(0x70 - rows.sums.first - 16 * i));
    }
  }
  HWY_INLINE V8 operator()(V8 magnitude) const {
    const D8 d;
    const V8 upper = hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(D16(), magnitude))),
                             hn::Set(d, std::uint8_t{0x0F}));
    V8 result =
        hn::Add(hn::TableLookupBytes(upper_, upper), hn::TableLookupBytes(lower_, magnitude));
    for (std::size_t i = 0; i < kWindows; ++i) {
      const V8 place = hn::Add(magnitude, to_place_[i]);
      result = hn::Add(result, hn::TableLookupBytesOr0(besides_[i], place));
    }
    return hn::Min(result, most_);
  }

 private:
  V8 upper_, lower_, most_, besides_[kWindows], to_place_[kWindows];
};

// By CodeRows::Line: what is below a row looks up zero, and what is beyond it no more than its own
// result.
class MagnitudeLine {
 public:
  explicit HWY_INLINE MagnitudeLine(const CodeRows& rows)
      : offset_(hn::Set(D8(), rows.line.offset)), most_(hn::Set(D8(), rows.line.most)) {
    for (std::size_t i = 0; i < 2; ++i) {
      rows_[i] = hn::LoadDup128(D8(), rows.line.rows[i]);
      begins_[i] = hn::Set(D8(), static_cast<std::uint8_t>(rows.line.first + 16 * i));
    }
  }
  HWY_INLINE V8 operator()(V8 magnitude) const {
    V8 result = hn::SaturatedSub(magnitude, offset_);
    for (std::size_t i = 0; i < 2; ++i) {
      const V8 looked_up = hn::TableLookupBytesOr0(rows_[i], hn::Sub(magnitude, begins_[i]));
      result = hn::Max(result, looked_up);
    }
    return hn::Min(result, most_);
  }

 private:
  V8 rows_[2], begins_[2], offset_, most_;
};

// By its rows, a magnitude being an index as it is where there are eight of them.
template <std::size_t kRows> class MagnitudeRows : public RowsLookup<kRows> {
 public:
  explicit HWY_INLINE MagnitudeRows(const CodeRows& rows) : RowsLookup<kRows>(rows.results) {}
};

template <class Core> inline constexpr bool kIsSums = false;
template <std::size_t kWindows> inline constexpr bool kIsSums<MagnitudeSums<kWindows> > = true;

// The results of codes of eight bits by CodeRows, looked up by Core.
template <int kOutBits, class Core, CodeRows::Index kIndex, CodeRows::Sign kSign>
class FewRowsLookup {
 public:
  explicit HWY_INLINE FewRowsLookup(const CodeRows& rows)
      : lookup_(rows),
        first_(Set(kIsSums<Core> ? rows.sums.first : rows.first)),
        last_(Set(kIsSums<Core> ? rows.sums.last : rows.last)),
        negative_(Set(rows.negative)),
        below_above_(Set(rows.above_from - 1u)),
        above_(Set(rows.above)),
        negative_zero_(Set(rows.negative_zero)),
        same_ends_(rows.same_ends),
        has_above_(rows.above_from < 256),
        above_has_sign_(kSigned && rows.above_has_sign),
        has_negative_zero_(kSigned && rows.has_negative_zero) {}
  // What does not change is asked once for several vectors.
  template <std::size_t kVectors> HWY_INLINE void operator()(const V8* codes, V8* results) const {
    for (std::size_t i = 0; i < kVectors; ++i) results[i] = IndexOf(codes[i]);
    if constexpr (kIsSums<Core>) {
      for (std::size_t i = 0; i < kVectors; ++i) {
        results[i] = hn::Min(hn::Max(results[i], first_), last_);
      }
    } else if constexpr (!kTakesAll) {
      if (kSign == CodeRows::Sign::kNegates &&
          same_ends_) {  // below the first it wraps, beyond the last
        for (std::size_t i = 0; i < kVectors; ++i) results[i] = hn::Sub(results[i], first_);
      } else {
        for (std::size_t i = 0; i < kVectors; ++i)
          results[i] = hn::SaturatedSub(results[i], first_);
      }
      for (std::size_t i = 0; i < kVectors; ++i) results[i] = hn::Min(results[i], last_);
    }
    for (std::size_t i = 0; i < kVectors; ++i) results[i] = lookup_(results[i]);
    if (has_above_ && above_has_sign_) PutAbove<kVectors>(codes, results);
    if constexpr (kSign == CodeRows::Sign::kFlips) {
      for (std::size_t i = 0; i < kVectors; ++i) {
        results[i] = hn::Xor(results[i], SignOf(codes[i]));
      }
    } else if constexpr (kSign == CodeRows::Sign::kFlipsUnlessZero) {
      for (std::size_t i = 0; i < kVectors; ++i) {
        const auto is_zero = hn::Eq(results[i], hn::Zero(D8()));
        results[i] = hn::Xor(results[i], hn::IfThenZeroElse(is_zero, SignOf(codes[i])));
      }
    } else if constexpr (kSign == CodeRows::Sign::kNegates) {
      for (std::size_t i = 0; i < kVectors; ++i) {
        results[i] = hn::And(Negate(results[i], codes[i]), Set((1u << kOutBits) - 1));
      }
    } else if constexpr (kSign == CodeRows::Sign::kReplaces) {
      for (std::size_t i = 0; i < kVectors; ++i) {
        results[i] = hn::IfThenElse(BitSet<7>(codes[i]), negative_, results[i]);
      }
    }
    if (has_above_ && !above_has_sign_) PutAbove<kVectors>(codes, results);
    if (has_negative_zero_) {
      for (std::size_t i = 0; i < kVectors; ++i) {
        results[i] = hn::IfThenElse(hn::Eq(codes[i], Set(0x80)), negative_zero_, results[i]);
      }
    }
  }

 private:
  using Index = CodeRows::Index;
  static constexpr bool kSigned = kIndex == Index::kMagnitude || kIndex == Index::kAbsolute;
  static constexpr bool kTakesAll =  // magnitudes
      (std::is_same_v<Core, MagnitudeRows<8> > && kSigned) || std::is_same_v<Core, MagnitudeLine>;
  static HWY_INLINE V8 Set(unsigned byte) { return hn::Set(D8(), static_cast<std::uint8_t>(byte)); }
  static HWY_INLINE V8 Negative(V8 code) {
    const hn::RebindToSigned<D8> di;
    return hn::BitCast(D8(), hn::BroadcastSignBit(hn::BitCast(di, code)));
  }
  // The bit that a negative code inverts.
  HWY_INLINE V8 SignOf(V8 code) const {
    return hn::And(kOutBits == 8 ? code : Negative(code), negative_);
  }
  static HWY_INLINE V8 Negate(V8 result, V8 code) {
#if HWY_TARGET == HWY_AVX2
    return V8{_mm256_sign_epi8(result.raw, code.raw)};  // zero where the code is
#else
    const V8 negative = Negative(code);
    return hn::Sub(hn::Xor(result, negative), negative);
#endif
  }
  static HWY_INLINE V8 IndexOf(V8 code) {
    const hn::RebindToSigned<D8> di;
    if constexpr (kIndex == Index::kShiftedCode) return hn::Xor(code, Set(0x80));
    if constexpr (kIndex == Index::kMagnitude) return hn::And(code, Set(0x7F));
    if constexpr (kIndex == Index::kAbsolute) {
      return hn::BitCast(D8(), hn::Abs(hn::BitCast(di, code)));
    }
    return code;
  }
  template <std::size_t kVectors> HWY_INLINE void PutAbove(const V8* codes, V8* results) const {
    for (std::size_t i = 0; i < kVectors; ++i) {
      results[i] = hn::IfThenElse(IsAbove(IndexOf(codes[i])), above_, results[i]);
    }
  }
  HWY_INLINE hn::Mask<D8> IsAbove(V8 index) const {
    const hn::RebindToSigned<D8> di;
    if constexpr (!kSigned) return hn::Gt(index, below_above_);
    return hn::RebindMask(D8(), hn::Gt(hn::BitCast(di, index), hn::BitCast(di, below_above_)));
  }

  Core lookup_;
  V8 first_, last_, negative_, below_above_, above_, negative_zero_;
  bool same_ends_, has_above_, above_has_sign_, has_negative_zero_;
};
#endif

// The bytes of results, a vector for each plane.
template <int kInBits, std::size_t kPlanes> class TablePlanes {
 public:
  explicit HWY_INLINE TablePlanes(const CodeTable& table)
      : TablePlanes(table, std::make_index_sequence<kPlanes>()) {}
  template <std::size_t kFirst, std::size_t kCount>
  HWY_INLINE void LookUp(V8 codes, V8* planes) const {
    for (std::size_t i = 0; i < kCount; ++i) planes[i] = planes_[kFirst + i](codes);
  }

 private:
  template <std::size_t... kPlane>
  HWY_INLINE TablePlanes(const CodeTable& table, std::index_sequence<kPlane...>)
      : planes_{Lookup<kInBits>(table.bytes[kPlane])...} {}
  Lookup<kInBits> planes_[kPlanes];
};

#if HWY_TARGET == HWY_AVX3_DL
// Two bytes of codes with CodeSign::kHighestBit: half as many permutations.
class HighestBitPlanes {
 public:
  explicit HWY_INLINE HighestBitPlanes(const CodeTable& table) {
    for (std::size_t i = 0; i < 4; ++i) {
      rows_[i] = _mm512_load_si512(table.bytes[i / 2] + 64 * (i % 2));
    }
  }
  template <std::size_t kFirst, std::size_t kCount>
  HWY_INLINE void LookUp(V8 codes, V8* planes) const {
    static_assert(kFirst == 0 && kCount == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      planes[i].raw = _mm512_permutex2var_epi8(rows_[2 * i], codes.raw, rows_[2 * i + 1]);
    }
    planes[1] = hn::OrAnd(planes[1], codes, hn::Set(D8(), std::uint8_t{0x80}));
  }

 private:
  __m512i rows_[4];
};

// Four bytes of codes with CodeSign::kLowerHalf, the upper ones alike.
class LowerHalfPlanes {
 public:
  explicit HWY_INLINE LowerHalfPlanes(const CodeTable& table)
      : lower_(table),
        first_(_mm512_load_si512(table.bytes[2] + 128)),
        second_(_mm512_load_si512(table.bytes[2] + 192)) {}
  template <std::size_t kFirst, std::size_t kCount>
  HWY_INLINE void LookUp(V8 codes, V8* planes) const {
    static_assert(kFirst == 0 && kCount == 4);
    lower_.template LookUp<0, 2>(codes, planes);
    planes[2].raw =
        _mm512_maskz_permutex2var_epi8(_mm512_movepi8_mask(codes.raw), first_, codes.raw, second_);
    planes[3] = planes[2];
  }

 private:
  TablePlanes<8, 2> lower_;
  __m512i first_, second_;
};
#endif

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// The same of codes of eight bits by CodeSums.
inline constexpr bool kHasSums = true;
template <std::size_t kPlanes, std::size_t kWindows, CodeSums::Terms kTerms> class SumPlanes {
 public:
  explicit HWY_INLINE SumPlanes(const CodeTable& table) : SumPlanes(table.sums) {}
  explicit HWY_INLINE SumPlanes(const CodeSums& sums) {
    const auto load = [](const std::uint8_t* entries)
                          HWY_ATTR { return hn::LoadDup128(D8(), entries); };
    for (std::size_t plane = 0; plane < kPlanes; ++plane) {
      upper_[plane] = load(sums.upper[plane]);
      lower_[plane] = load(sums.lower[plane]);
      for (std::size_t i = 0; i < kWindows; ++i) {
        besides_[i][plane] = load(sums.windows[i].besides[plane]);
      }
    }
    for (std::size_t i = 0; i < kWindows; ++i) {
      first_[i] = hn::Set(D8(), sums.windows[i].first);
      mask_[i] = hn::Set(D8(), sums.windows[i].mask);
    }
  }
  template <std::size_t kFirst, std::size_t kCount>
  HWY_INLINE void LookUp(V8 codes, V8* planes) const {
    const D8 d;
    const V8 nibble = hn::Set(d, std::uint8_t{0x0F});
    const V8 low = hn::And(codes, nibble);
    const V8 high = hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(D16(), codes))), nibble);
    using Terms = CodeSums::Terms;
    for (std::size_t i = 0; i < kCount; ++i) {
      const V8 by_lower = hn::TableLookupBytes(lower_[kFirst + i], low);
      const V8 by_upper = hn::TableLookupBytes(upper_[kFirst + i], high);
      planes[i] = kTerms != Terms::kAll && i == 0     ? by_lower
                  : kTerms == Terms::kApart && i == 1 ? by_upper
                                                      : hn::Add(by_upper, by_lower);
    }
    if constexpr (kTerms == Terms::kSecondAlone) planes[0] = hn::Zero(d);
    constexpr std::size_t kBeside = kTerms == Terms::kSecondAlone ? 1 : 0;
    for (std::size_t w = 0; w < kWindows; ++w) {
      // Outside the window the highest bit is set, which looks up zero.
      const V8 place = hn::SaturatedAdd(hn::And(hn::Sub(codes, first_[w]), mask_[w]),
                                        hn::Set(d, std::uint8_t{0x70}));
      for (std::size_t i = kBeside; i < kCount; ++i) {
        planes[i] = hn::Add(planes[i], hn::TableLookupBytesOr0(besides_[w][kFirst + i], place));
      }
    }
  }

 private:
  V8 upper_[kPlanes], lower_[kPlanes], besides_[kWindows][kPlanes], first_[kWindows],
      mask_[kWindows];
};

#if HWY_TARGET == HWY_AVX2
// The same of floats that have NaN in the place of negative zero.
template <std::size_t kPlanes, std::size_t kWindows, CodeSums::Terms kTerms> class SumsAndNan {
 public:
  explicit HWY_INLINE SumsAndNan(const CodeTable& table) : sums_(table.sums_but_nan) {
    for (std::size_t i = 0; i < kPlanes; ++i) nan_[i] = hn::Set(D8(), table.bytes[i][0x80]);
  }
  template <std::size_t kFirst, std::size_t kCount>
  HWY_INLINE void LookUp(V8 codes, V8* planes) const {
    sums_.template LookUp<kFirst, kCount>(codes, planes);
    const auto is_nan = hn::Eq(codes, hn::Set(D8(), std::uint8_t{0x80}));
    for (std::size_t i = 0; i < kCount; ++i) {
      planes[i] = hn::IfThenElse(is_nan, nan_[kFirst + i], planes[i]);
    }
  }

 private:
  SumPlanes<kPlanes, kWindows, kTerms> sums_;
  V8 nan_[kPlanes];
};
#endif
#else
inline constexpr bool kHasSums = false;
#endif

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_SRC_CORE_LOOK_UP_INL_H_
