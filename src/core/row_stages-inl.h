// Stages from codes of eight and six bits that are looked up in few rows of sixteen results, where
// no permutation looks up all of them. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_ROW_STAGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_ROW_STAGES_INL_H_
#undef TENSORCAST_SRC_CORE_ROW_STAGES_INL_H_
#else
#define TENSORCAST_SRC_CORE_ROW_STAGES_INL_H_
#endif

#include <cstddef>

#include "core/code_table.h"
#include "core/look_up-inl.h"
#include "core/packed-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_AVX3_DL
// Eight bits by few rows.
template <int kOutBits, class Core, CodeRows::Index kIndex, CodeRows::Sign kSign>
HWY_NOINLINE void FewRowsStage(const std::byte* in, std::byte* out, std::size_t n,
                               const CodeRows& rows) {
  const FewRowsLookup<kOutBits, Core, kIndex, kSign> lookup(rows);
  constexpr std::size_t kVectors = 2;  // to a step
  constexpr std::size_t kJoined = HWY_TARGET == HWY_AVX2 ? 2 : 1;
  const auto step = [&lookup](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
    V8 codes[kVectors], results[kVectors];
#if HWY_TARGET == HWY_AVX2
    if constexpr (kOutBits == 4) {
      LoadBlocksApart(from, &codes[0].raw, &codes[1].raw);
    } else
#endif
    {
      for (std::size_t i = 0; i < kVectors; ++i) codes[i] = Load(D8(), from + i * kCodes);
    }
    lookup.template operator()<kVectors>(codes, results);
    for (std::size_t i = 0; i < kVectors; i += kJoined) {
      std::byte* const here = to + i * kCodes * kOutBits / 8;
      if constexpr (kJoined == 2) {
        StoreCodes<kOutBits>(results[i], results[i + 1], here);
      } else {
        StoreCodes<kOutBits>(results[i], here);
      }
    }
  };
  ForEachStep<8, kOutBits, kVectors * kCodes>(in, out, n, step);
}

// More are slower than words, where these are looked up.
inline constexpr std::size_t kMostRows = HWY_TARGET == HWY_AVX3 ? 2 : 8;

template <int kOutBits, CodeRows::Index kIndex, CodeRows::Sign kSign>
void FewRowsStageOf(const std::byte* in, std::byte* out, std::size_t n, const CodeRows& rows) {
#if HWY_TARGET == HWY_AVX2
  if constexpr (kIndex == CodeRows::Index::kMagnitude && kOutBits >= 6) {
    const auto sums = [&]<std::size_t kWindows>() {
      FewRowsStage<kOutBits, MagnitudeSums<kWindows>, kIndex, kSign>(in, out, n, rows);
    };
    if (rows.sums.windows == 1) return sums.template operator()<1>();
    if (rows.sums.windows == 2) return sums.template operator()<2>();
  }
  if constexpr (kOutBits == 6 && kSign == CodeRows::Sign::kFlips) {
    if (rows.line.usable) {
      return FewRowsStage<kOutBits, MagnitudeLine, kIndex, kSign>(in, out, n, rows);
    }
  }
#endif
  const auto stage = [&]<std::size_t kRows>() {
    if constexpr (kRows <= kMostRows) {
      FewRowsStage<kOutBits, MagnitudeRows<kRows>, kIndex, kSign>(in, out, n, rows);
    }
  };
  switch (rows.count) {
    case 1: return stage.template operator()<1>();
    case 2: return stage.template operator()<2>();
    case 4: return stage.template operator()<4>();
    default: return stage.template operator()<8>();
  }
}

template <int kOutBits>
void LookUpFewRows(const std::byte* in, std::byte* out, std::size_t n, const CodeRows& rows) {
  using Index = CodeRows::Index;
  using Sign = CodeRows::Sign;
  const auto stage = [&]<Index kIndex, Sign kSign>() {
    FewRowsStageOf<kOutBits, kIndex, kSign>(in, out, n, rows);
  };
  const auto of_magnitude = [&]<Sign kSign>() {
    stage.template operator()<Index::kMagnitude, kSign>();
  };
  switch (rows.index) {
    case Index::kCode: return stage.template operator()<Index::kCode, Sign::kIgnored>();
    case Index::kShiftedCode:
      return stage.template operator()<Index::kShiftedCode, Sign::kIgnored>();
    case Index::kAbsolute: return stage.template operator()<Index::kAbsolute, Sign::kFlips>();
    case Index::kMagnitude: break;
  }
  switch (rows.sign) {
    case Sign::kIgnored: return of_magnitude.template operator()<Sign::kIgnored>();
    case Sign::kFlips: return of_magnitude.template operator()<Sign::kFlips>();
    case Sign::kFlipsUnlessZero: return of_magnitude.template operator()<Sign::kFlipsUnlessZero>();
    case Sign::kNegates: return of_magnitude.template operator()<Sign::kNegates>();
    case Sign::kReplaces: return of_magnitude.template operator()<Sign::kReplaces>();
  }
}
#endif

#if HWY_TARGET == HWY_AVX2
template <int kOutBits, CodeRows::Sign kSign>
HWY_NOINLINE void SixBitsStage(const std::byte* in, std::byte* out, std::size_t n,
                               const CodeRows& rows) {
  const SixBitsLookup<kOutBits, kSign> results(rows.results, rows.negative);
  if constexpr (kOutBits == 8) {
    const auto step = [&results](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
      Store(results(LoadSixBitsOnTop<1>(from)), D8(), to);
    };
    ForEachStep<6, 8, kCodes>(in, out, n, step);
  } else {
    const auto step = [&results](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
      constexpr bool kApart = kOutBits == 4;  // the blocks, as StoreCodes asks for
      constexpr std::size_t kSecond = kApart ? 12 : 24, kLast = kApart ? 20 : 8;
      const auto look_up = [&results](const std::byte* codes) HWY_ATTR {
        return results(SixBitsOnTop(LoadSixBitPairs<1, kLast>(codes)));
      };
      StoreCodes<kOutBits>(look_up(from), look_up(from + kSecond), to);
    };
    ForEachStep<6, kOutBits, 2 * kCodes>(in, out, n, step);
  }
}

template <int kOutBits>
void LookUpSixBits(const std::byte* in, std::byte* out, std::size_t n, const CodeRows& rows) {
  using Sign = CodeRows::Sign;
  const auto by = [&]<Sign kSign>() { SixBitsStage<kOutBits, kSign>(in, out, n, rows); };
  switch (rows.sign) {
    case Sign::kIgnored: return by.template operator()<Sign::kIgnored>();
    case Sign::kFlips: return by.template operator()<Sign::kFlips>();
    case Sign::kFlipsUnlessZero:
      if constexpr (kOutBits == 8) return by.template operator()<Sign::kFlipsUnlessZero>();
      break;
    case Sign::kNegates: return by.template operator()<Sign::kNegates>();
    case Sign::kReplaces: return by.template operator()<Sign::kReplaces>();
  }
}
#endif

}  // namespace
}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_ROW_STAGES_INL_H_
