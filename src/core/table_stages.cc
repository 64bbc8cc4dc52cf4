// Casts from types of at most eight bits by table: a byte permutation looks up each byte of the
// results, and these are interleaved. Packed elements are read and written where they stand.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/table_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include <array>

#include "core/code_table.h"
#include "core/interleave-inl.h"
#include "core/lane_codes-inl.h"
#include "core/look_up-inl.h"
#include "core/packed_look_up-inl.h"
#include "core/powers-inl.h"
#include "core/products-inl.h"
#include "core/row_stages-inl.h"
#include "core/stages-inl.h"
#include "core/two_bits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

// Looks up the bytes of each result and gives the results' lanes in 16 or 32 bits: as many vectors
// as planes.
template <class Planes> class Results {
 public:
  explicit HWY_INLINE Results(const CodeTable& table) : planes_(table) {}

  HWY_INLINE V8 Bytes(V8 codes) const {
    V8 bytes;
    planes_.template LookUp<0, 1>(codes, &bytes);
    return bytes;
  }
  HWY_INLINE void Halves(V8 codes, V16* out) const {
    const D8 d;
    V8 b[2];
    planes_.template LookUp<0, 2>(codes, b);
    out[0] = Lower(d, b[0], b[1]);
    out[1] = Upper(d, b[0], b[1]);
  }
  template <std::size_t kFirst = 0> HWY_INLINE void Words(V8 codes, V32* out) const {
    const D8 d8;
    const D16 d;
    V8 b[4];
    planes_.template LookUp<kFirst, 4>(codes, b);
    const V16 low_even = Lower(d8, b[0], b[1]), low_odd = Upper(d8, b[0], b[1]);
    const V16 high_even = Lower(d8, b[2], b[3]), high_odd = Upper(d8, b[2], b[3]);
    out[0] = Lower(d, low_even, high_even);
    out[1] = Upper(d, low_even, high_even);
    out[2] = Lower(d, low_odd, high_odd);
    out[3] = Upper(d, low_odd, high_odd);
  }

 private:
  Planes planes_;
};

#if HWY_TARGET == HWY_AVX3
// The same where words are looked up.
template <int kInBits> class HalfResults {
 public:
  explicit HWY_INLINE HalfResults(const CodeTable& table)
      : lookup_(table.bytes[0], table.bytes[1]) {}
  HWY_INLINE void Halves(V8 codes, V16* out) const {
    out[0] = lookup_(Lower(D8(), codes, codes));
    out[1] = lookup_(Upper(D8(), codes, codes));
  }

 private:
  HalfLookup<kInBits> lookup_;
};
#endif

template <std::size_t kCount, class D, class V>
HWY_INLINE void StoreAll(D d, const V* vectors, std::byte* out) {
  for (std::size_t i = 0; i < kCount; ++i) Store(vectors[i], d, out + kCodes * i);
}

template <TableShape kShape, class Results>
HWY_INLINE void HalvesOf(const Results& results, V8 codes, V16* halves) {
  if constexpr (kShape == TableShape::kSigned8) {
    ExtendSign(D8(), results.Bytes(codes), halves);
  } else {
    results.Halves(codes, halves);
  }
}

// The words that a shape of at least two bytes has, or that its signs give.
template <TableShape kShape, class Results>
HWY_INLINE void WordsOf(const Results& results, V8 codes, V32* words) {
  const D16 d;
  if constexpr (kShape == TableShape::kSigned8 || kShape == TableShape::kSigned16) {
    V16 halves[2];
    HalvesOf<kShape>(results, codes, halves);
    for (std::size_t i = 0; i < 2; ++i) ExtendSign(d, halves[i], words + 2 * i);
  } else {
    results.Words(codes, words);
  }
}
// Those whose upper halves are looked up.
template <class Results>
HWY_INLINE void UpperWordsOf(const Results& results, V8 codes, V32* words) {
  const D16 d;
  V16 halves[2];
  results.Halves(codes, halves);
  for (std::size_t i = 0; i < 2; ++i) {
    words[2 * i] = Lower(d, hn::Zero(d), halves[i]);
    words[2 * i + 1] = Upper(d, hn::Zero(d), halves[i]);
  }
}

// What wider results than a byte are looked up by, in the order that interleaving asks for.
template <class Results> struct CodesFor {
  template <int kInBits, std::size_t kWidth> static HWY_INLINE V8 Load(const std::byte* in) {
    return LoadSpread<kInBits, kWidth>(in);
  }
};
#if HWY_TARGET == HWY_AVX2
template <std::size_t kPlanes, CodeRows::Sign kSign>
struct CodesFor<Results<SixBitPlanes<kPlanes, kSign>>> {
  template <int kInBits, std::size_t kWidth> static HWY_INLINE V8 Load(const std::byte* in) {
    return LoadSixBitsOnTop<kWidth>(in);
  }
};
#endif

template <int kInBits, int kOutBits, TableShape kShape, class Results>
HWY_INLINE void LookUpStep(const Results& results, const std::byte* in, std::byte* out) {
  const D32 d32;
  if constexpr (kOutBits <= 8) {
    StoreCodes<kOutBits>(results.Bytes(LoadCodes<kInBits>(in)), out);
  } else {
    // Where a byte has the whole number, one step widens it.
    constexpr bool kIsExtended =
        HWY_TARGET == HWY_AVX3_DL && kShape == TableShape::kSigned8 && kOutBits == 32;
    constexpr std::size_t kWidth = kIsExtended ? 1 : static_cast<std::size_t>(kOutBits) / 8;
    const V8 codes = CodesFor<Results>::template Load<kInBits, kWidth>(in);
    if constexpr (kOutBits == 16) {
      V16 halves[2];
      HalvesOf<kShape>(results, codes, halves);
      StoreAll<2>(D16(), halves, out);
    } else if constexpr (kIsExtended) {
#if HWY_TARGET == HWY_AVX3_DL
      const __m512i bytes = results.Bytes(codes).raw;
      const V32 words[4] = {{_mm512_cvtepi8_epi32(_mm512_castsi512_si128(bytes))},
                            {_mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(bytes, 1))},
                            {_mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(bytes, 2))},
                            {_mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(bytes, 3))}};
      StoreAll<4>(d32, words, out);
#endif
    } else if constexpr (kOutBits == 32) {
      V32 words[4];
      if constexpr (kShape == TableShape::kUpper) {
        UpperWordsOf(results, codes, words);
      } else {
        WordsOf<kShape>(results, codes, words);
      }
      StoreAll<4>(d32, words, out);
    } else {
      constexpr bool kZeroBelow = kShape == TableShape::kUpper || kShape == TableShape::kTop;
      V32 low[4], high[4];
      V64 wide[8];
      if constexpr (kShape == TableShape::kTop) {
        UpperWordsOf(results, codes, high);
      } else if constexpr (kShape == TableShape::kUpper) {
        results.Words(codes, high);
      } else {
        WordsOf<kShape>(results, codes, low);
        if constexpr (kShape == TableShape::kWhole) results.template Words<4>(codes, high);
      }
      for (std::size_t i = 0; i < 4; ++i) {
        if constexpr (kZeroBelow || kShape == TableShape::kWhole) {
          const V32 below = kZeroBelow ? hn::Zero(d32) : low[i];
          wide[2 * i] = Lower(d32, below, high[i]);
          wide[2 * i + 1] = Upper(d32, below, high[i]);
        } else {
          ExtendSign(d32, low[i], wide + 2 * i);
        }
      }
      StoreAll<8>(D64(), wide, out);
    }
  }
}

template <int kInBits, int kOutBits, TableShape kShape, class Results>
HWY_NOINLINE void LookUpBy(const std::byte* in, std::byte* out, std::size_t n,
                           const EncodeArgs& args) {
  const Results results(*args.table);
  const auto step = [&results](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
    LookUpStep<kInBits, kOutBits, kShape>(results, from, to);
  };
  ForEachStep<kInBits, kOutBits, kCodes>(in, out, n, step);
}

#if HWY_TARGET == HWY_AVX2
// Whether the rows of six bits served; else the table does.
template <int kOutBits, TableShape kShape>
bool LookUpWideSixBits(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  using Sign = CodeRows::Sign;
  constexpr std::size_t kPlanes = PlanesOf(kShape, kOutBits);
  const auto by = [&]<Sign kSign>() {
    LookUpBy<6, kOutBits, kShape, Results<SixBitPlanes<kPlanes, kSign>>>(in, out, n, args);
    return true;
  };
  const CodeRows& rows = args.table->rows;
  if (rows.count == 0) return false;
  if constexpr (kShape == TableShape::kSigned8) {
    if (rows.sign == Sign::kNegates) return by.template operator()<Sign::kNegates>();
    if (rows.sign == Sign::kReplaces) return by.template operator()<Sign::kReplaces>();
  } else if constexpr (kPlanes == 2 && kShape != TableShape::kSigned16) {
    if (rows.sign == Sign::kFlips) return by.template operator()<Sign::kFlips>();
  }
  return false;
}
#endif

#if HWY_TARGET != HWY_AVX3_DL
void TruthStage(const std::byte* in, std::byte* out, std::size_t n, std::uint8_t mask) {
  const V8 bits = hn::Set(D8(), mask), one = hn::Set(D8(), std::uint8_t{1});
  const auto step = [bits, one](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
    Store(hn::Min(hn::And(Load(D8(), from), bits), one), D8(), to);
  };
  ForEachStep<8, 8, kCodes>(in, out, n, step);
}
#endif

// Where a byte is looked up in 16 rows, more than one byte to a code is slower than arithmetic;
// where words are looked up, more than two.
template <int kInBits>
inline constexpr std::size_t kMostPlanes = kInBits < 8 || HWY_TARGET == HWY_AVX3_DL ? 8
                                           : HWY_TARGET == HWY_AVX3                 ? 2
                                                                                    : 1;

// How many windows there may be where NaN stands in the place of negative zero and is put there.
template <int kOutBits, TableShape kShape>
inline constexpr int kWindowsBesideNan =
    HWY_TARGET != HWY_AVX2 || PlanesOf(kShape, kOutBits) != 2 || kShape == TableShape::kSigned16 ? 0
    : kOutBits == 64                                                                             ? 2
                     : 1;

template <int kInBits, int kOutBits, TableShape kShape>
void TableStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  constexpr std::size_t kPlanes = PlanesOf(kShape, kOutBits);
  if constexpr (kToPacked<kInBits, kOutBits>) {
    using Packed = PackedLookup<kInBits, kOutBits>;
    if constexpr (kInBits != 6) {
      ForEachStep<kInBits, kOutBits, Packed::kElements>(in, out, n, Packed(*args.table));
      return;
    }
    // Codes of six bits are read across lines, slowly in the copy of a rest: half as many there.
    ForWholeSteps<kInBits, kOutBits, Packed::kElements>(
        in, out, n, [&args]() HWY_ATTR { return Packed(*args.table); });
    if (n == 0) return;
  }
#if HWY_TARGET == HWY_AVX2
  if constexpr (kInBits == 4 && kOutBits == 8) {
    ForEachStep<4, 8, NibblesToBytes::kElements>(in, out, n, NibblesToBytes(*args.table));
    return;
  }
#endif
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3_DL
  if constexpr (kInBits == 2 && (kOutBits == 6 || (kOutBits == 8 && HWY_TARGET == HWY_AVX2))) {
    // A step has many; fewer are looked up one by one.
    using ByPairs = PairsToCodes<kOutBits>;
    ForWholeSteps<2, kOutBits, ByPairs::kElements>(
        in, out, n, [&args]() HWY_ATTR { return ByPairs(*args.table); });
    if (n == 0) return;
  }
#endif
#if HWY_TARGET == HWY_AVX2
  if constexpr (kInBits == 6 && kOutBits <= 8) {
    if (args.table->rows.count != 0) return LookUpSixBits<kOutBits>(in, out, n, args.table->rows);
  }
  if constexpr (kInBits == 6 && kOutBits > 8) {
    if (LookUpWideSixBits<kOutBits, kShape>(in, out, n, args)) return;
  }
#endif
#if HWY_TARGET != HWY_AVX3_DL
  if constexpr (kInBits == 8 && kOutBits == 8) {
    const std::uint8_t mask = args.table->truth_mask;
    if (mask != 0) return TruthStage(in, out, n, mask);
  }
  if constexpr (kInBits == 8 && kOutBits <= 8) {
    const std::size_t rows = args.table->rows.count;
    const CodeSums& sums = args.table->sums;
    const bool by_magnitude = HWY_TARGET == HWY_AVX2 && args.table->rows.sums.windows != 0;
    const bool by_sums = kHasSums && sums.usable && !(by_magnitude && sums.count > 2);
    if (rows != 0 && rows <= kMostRows && (rows <= 4 || !by_sums))
      return LookUpFewRows<kOutBits>(in, out, n, args.table->rows);
  }
#endif
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if constexpr (kInBits == 8) {
    using Terms = CodeSums::Terms;
    const auto by = [&]<class Planes>() {
      LookUpBy<8, kOutBits, kShape, Results<Planes>>(in, out, n, args);
    };
    const auto of_terms = [](Terms terms, const auto& look_up) {
      if constexpr (kOutBits == 16 && kPlanes == 2) {
        switch (terms) {
          case Terms::kFirstByLower: return look_up.template operator()<Terms::kFirstByLower>();
          case Terms::kApart: return look_up.template operator()<Terms::kApart>();
          case Terms::kSecondAlone: return look_up.template operator()<Terms::kSecondAlone>();
          case Terms::kAll: break;
        }
      }
      look_up.template operator()<Terms::kAll>();
    };
#if HWY_TARGET == HWY_AVX2
    if constexpr (kWindowsBesideNan<kOutBits, kShape> != 0) {
      const CodeSums& sums = args.table->sums_but_nan;
      const auto besides = [&]<std::size_t kWindows>() {
        of_terms(sums.terms, [&]<Terms kTerms>() {
          by.template operator()<SumsAndNan<kPlanes, kWindows, kTerms>>();
        });
      };
      if (sums.usable && sums.count <= 1) return besides.template operator()<1>();
      if constexpr (kWindowsBesideNan<kOutBits, kShape> == 2) {
        if (sums.usable && sums.count == 2) return besides.template operator()<2>();
      }
    }
#endif
    const auto sums = [&]<std::size_t kWindows>() {
      of_terms(args.table->sums.terms, [&]<Terms kTerms>() {
        by.template operator()<SumPlanes<kPlanes, kWindows, kTerms>>();
      });
    };
    // More windows than one are slower than words.
    constexpr bool kWords = HWY_TARGET == HWY_AVX3 && kPlanes <= kMostPlanes<8>;
    if (args.table->sums.usable && args.table->sums.count <= 1) {
      return sums.template operator()<1>();
    } else if (args.table->sums.usable && !kWords) {
      if (args.table->sums.count == 2) return sums.template operator()<2>();
      return sums.template operator()<3>();
    }
  }
#endif
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (kInBits == 8 && kOutBits > 8 && kPlanes == 2 && kShape != TableShape::kSigned16) {
    if (args.table->sign == CodeSign::kHighestBit) {
      return LookUpBy<8, kOutBits, kShape, Results<HighestBitPlanes>>(in, out, n, args);
    }
  }
  if constexpr (kInBits == 8 && kOutBits == 32 && kPlanes == 4) {
    if (args.table->sign == CodeSign::kLowerHalf) {
      return LookUpBy<8, kOutBits, kShape, Results<LowerHalfPlanes>>(in, out, n, args);
    }
  }
#endif
#if HWY_TARGET == HWY_AVX3
  if constexpr (kInBits >= 6 && kPlanes == 2) {
    return LookUpBy<kInBits, kOutBits, kShape, HalfResults<kInBits>>(in, out, n, args);
  }
#endif
  if constexpr (kPlanes <= kMostPlanes<kInBits>) {
    LookUpBy<kInBits, kOutBits, kShape, Results<TablePlanes<kInBits, kPlanes>>>(in, out, n, args);
  }
}

template <int kInBits, int kOutBits, TableShape kShape> Stage StageOf(const CodeTable& table) {
  constexpr std::size_t kPlanes = PlanesOf(kShape, kOutBits);
  if constexpr (kPlanes > kMostPlanes<kInBits> && !kHasSums) return nullptr;
  const bool pays = kPlanes <= kMostPlanes<kInBits>;
  constexpr int kWindows = kWindowsBesideNan<kOutBits, kShape>;
  const CodeSums& but_nan = table.sums_but_nan;
  const bool beside_nan = kWindows != 0 && but_nan.usable && but_nan.count <= kWindows;
  return pays || table.sums.usable || beside_nan ? &TableStage<kInBits, kOutBits, kShape> : nullptr;
}

#if TENSORCAST_AVX512
template <int kInBits, int kOutBits>
void LookUpInLanes(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  ForEachStep<kInBits, kOutBits, kCodes>(in, out, n, LaneLookup<kInBits, kOutBits>(*args.table));
}
#endif

#if HWY_TARGET == HWY_AVX2
template <int kOutBits>
void ProductsStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  ForEachStep<8, kOutBits, kCodes>(in, out, n, Products<kOutBits>(args.table->products));
}
#endif

#if TENSORCAST_AVX2
template <int kOutBits>
void PowersStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  ForEachStep<8, kOutBits, kCodes>(in, out, n, Powers<kOutBits>(*args.table));
}
#endif

#if TENSORCAST_AVX512
// Integers of four bits to their lower two.
void HalveStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  const auto step = [](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
    const D8 d;
    const V8 pairs = Load(d, from);
    const V8 second = hn::BitCast(d, hn::ShiftRight<2>(hn::BitCast(D16(), pairs)));
    const V8 first = hn::And(pairs, hn::Set(d, std::uint8_t{0x03}));
    StoreCodes<4>(hn::OrAnd(first, second, hn::Set(d, std::uint8_t{0x0C})), to);
  };
  ForEachStep<4, 2, 2 * kCodes>(in, out, n, step);
}
#endif

template <int kInBits, int kOutBits> Stage StageOfShape(const CodeTable& table) {
  // Codes of two bits are integers: to two bits they are copied.
  if constexpr (kInBits == 2 && kOutBits == 2) return nullptr;
#if TENSORCAST_AVX512
  if constexpr (kInBits == 4 && kOutBits == 2) {
    if (table.of_integers) return &HalveStage;
  }
  if constexpr (kInBits <= 4 && kOutBits >= 16) return &LookUpInLanes<kInBits, kOutBits>;
#elif HWY_TARGET == HWY_AVX2
  if constexpr (kInBits == 4 && kOutBits >= 16) {
    if (const Stage stage = ExtensionStage<kInBits, kOutBits>(table)) return stage;
  }
#endif
#if HWY_TARGET == HWY_AVX2
  if constexpr (kInBits == 8 && kOutBits >= 8 && kOutBits <= 32) {
    // Fewer rows than eight are faster.
    const bool pays = table.rows.count == 0 || table.rows.count == 8;
    if (pays && table.products.usable) return &ProductsStage<kOutBits>;
  }
#endif
#if TENSORCAST_AVX2
  if constexpr (kInBits == 8 && kOutBits >= 32) {
    if (table.powers_from != 0) return &PowersStage<kOutBits>;
  }
#endif
  // Integers of eight bits are converted faster.
  constexpr int kConverted = HWY_TARGET == HWY_AVX3_DL ? 32 : 16;
  if (kInBits == 8 && kOutBits >= kConverted && table.of_integers) return nullptr;
  if (HWY_TARGET == HWY_AVX2 && kInBits == 8 && kOutBits == 8 && table.of_integers &&
      table.rows.count == 0 && !table.sums.usable) {
    return nullptr;
  }
  switch (table.shape) {
    case TableShape::kWhole: return StageOf<kInBits, kOutBits, TableShape::kWhole>(table);
    case TableShape::kSigned8:
      if constexpr (kOutBits >= 16) return StageOf<kInBits, kOutBits, TableShape::kSigned8>(table);
      break;
    case TableShape::kUpper:
      if constexpr (kOutBits >= 32) return StageOf<kInBits, kOutBits, TableShape::kUpper>(table);
      break;
    case TableShape::kSigned16:
      if constexpr (kOutBits >= 32) return StageOf<kInBits, kOutBits, TableShape::kSigned16>(table);
      break;
    case TableShape::kTop:
      if constexpr (kOutBits == 64) return StageOf<kInBits, kOutBits, TableShape::kTop>(table);
      break;
    case TableShape::kSigned32:
      if constexpr (kOutBits == 64) return StageOf<kInBits, kOutBits, TableShape::kSigned32>(table);
      break;
  }
  return nullptr;
}

template <int kInBits, int kOutBits> Stage StageOfPair(const CodeTable& table) {
#if HWY_TARGET == HWY_AVX2
  if constexpr (kInBits == 2 && kOutBits >= 16) {
    return StageOfTwoBits<kOutBits>(table);
  } else
#endif
    return StageOfShape<kInBits, kOutBits>(table);
}

template <int kInBits> Stage StageOfWidth(int out_bits, const CodeTable& table) {
  switch (out_bits) {
    case 2: return StageOfPair<kInBits, 2>(table);
    case 4: return StageOfPair<kInBits, 4>(table);
    case 6: return StageOfPair<kInBits, 6>(table);
    case 8: return StageOfPair<kInBits, 8>(table);
    case 16: return StageOfPair<kInBits, 16>(table);
    case 32: return StageOfPair<kInBits, 32>(table);
    case 64: return StageOfPair<kInBits, 64>(table);
    default: return nullptr;
  }
}

Stage FindTableStage(int in_bits, int out_bits, const CodeTable& table) {
  switch (in_bits) {
    case 2: return StageOfWidth<2>(out_bits, table);
    case 4: return StageOfWidth<4>(out_bits, table);
    case 6: return StageOfWidth<6>(out_bits, table);
    case 8: return StageOfWidth<8>(out_bits, table);
    default: return nullptr;
  }
}

}  // namespace

void FillTableStages(Kernels* kernels) { kernels->table_stage = &FindTableStage; }

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
