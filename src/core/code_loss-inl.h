// Counting codes of at most eight bits: how many there are of each, or, with AVX-512 VBMI, the
// totals of what each one adds, a byte of all codes' terms at a time. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_CODE_LOSS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_CODE_LOSS_INL_H_
#undef TENSORCAST_SRC_CORE_CODE_LOSS_INL_H_
#else
#define TENSORCAST_SRC_CORE_CODE_LOSS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "core/code_loss.h"
#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// Counts of n codes, a multiple of eight. Equal codes are often neighbours, and a count that has
// just been stored is slow to read: neighbours count in different tables.
inline void CountCodes(const std::uint8_t* codes, std::size_t n, std::uint32_t* counts) {
  constexpr std::size_t kTables = 4;
  std::uint32_t tables[kTables][256] = {};
  for (std::size_t i = 0; i < n; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, codes + i, 8);
    for (std::size_t k = 0; k < 8; ++k) ++tables[k % kTables][eight >> 8 * k & 0xFF];
  }
  for (std::size_t code = 0; code < 256; ++code) {
    counts[code] = tables[0][code] + tables[1][code] + tables[2][code] + tables[3][code];
  }
}

#if HWY_TARGET == HWY_AVX3_DL
// A byte for each of 64 codes.
template <bool kSignless> class CodeLookup {
 public:
  explicit HWY_INLINE CodeLookup(const CodeBytes& bytes) {
    for (std::size_t i = 0; i < kRows64; ++i) rows_[i] = _mm512_load_si512(bytes.of_code + 64 * i);
  }
  HWY_INLINE __m512i operator()(__m512i code) const {
    // The permutation reads the low seven bits.
    const __m512i low = _mm512_permutex2var_epi8(rows_[0], code, rows_[1]);
    if constexpr (kSignless) return low;
    const __m512i high = _mm512_permutex2var_epi8(rows_[kRows64 - 2], code, rows_[kRows64 - 1]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(code), low, high);
  }

 private:
  static constexpr std::size_t kRows64 = kSignless ? 2 : 4;
  __m512i rows_[kRows64];
};

// Codes that stay in the first cache while they are looked up again and again; sums of 16 bits hold
// what they have.
inline constexpr std::size_t kCodeRun = 4 * kBlock;
static_assert(kCodeRun / 64 * 2 * 0xFF <= 0x7FFF);

// The sum of what n codes have, at most kCodeRun: a multiple of 256.
template <bool kSignless>
std::uint64_t SumOf(const CodeBytes& bytes, const std::uint8_t* codes, std::size_t n) {
  const CodeLookup<kSignless> look_up(bytes);
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sums[4] = {};
  for (std::size_t i = 0; i < n; i += 256) {
    for (std::size_t k = 0; k < 4; ++k) {
      const __m512i code = _mm512_loadu_si512(codes + i + 64 * k);
      sums[k] = _mm512_add_epi16(sums[k], _mm512_maddubs_epi16(look_up(code), ones));
    }
  }
  const __m512i all =
      _mm512_add_epi16(_mm512_add_epi16(sums[0], sums[1]), _mm512_add_epi16(sums[2], sums[3]));
  return static_cast<std::uint32_t>(
      _mm512_reduce_add_epi32(_mm512_madd_epi16(all, _mm512_set1_epi16(1))));
}

inline std::uint64_t SumOf(const CodeTerms& terms, const std::uint8_t* codes, std::size_t n) {
  std::uint64_t sum = 0;
  for (std::size_t plane = 0; plane < terms.planes; ++plane) {
    const CodeBytes& bytes = terms.plane[plane];
    sum += (bytes.is_signless ? SumOf<true>(bytes, codes, n) : SumOf<false>(bytes, codes, n))
           << 8 * plane;
  }
  return sum;
}

template <bool kSignless>
bool GroupCodes(const CodeLoss& table, const CodeBytes& news, const std::uint8_t* codes,
                std::size_t n, CodeTotals* totals) {
  alignas(64) std::uint8_t groups[kCodeRun];
  const CodeLookup<kSignless> group_of(table.group_of), is_news(news);
  __m512i last = _mm512_setzero_si512(), any_news = last;
  for (std::size_t i = 0; i < n; i += 64) {
    const __m512i code = _mm512_loadu_si512(codes + i);
    const __m512i group = group_of(code);
    _mm512_store_si512(groups + i, group);
    last = _mm512_max_epu8(last, group);
    any_news = _mm512_or_si512(any_news, is_news(code));
  }
  if (_mm512_test_epi8_mask(any_news, any_news) != 0) return false;
  std::size_t others = 0;
  for (std::size_t place = 1; place < table.group_count; ++place) {
    const __m512i wanted = _mm512_set1_epi8(static_cast<char>(place));
    if (_mm512_cmpge_epu8_mask(last, wanted) == 0) break;
    std::size_t found = 0;
    for (std::size_t i = 0; i < n; i += 64) {
      found += static_cast<std::size_t>(
          __builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_load_si512(groups + i), wanted)));
    }
    totals->of_group[place] += found;
    others += found;
  }
  totals->of_group[0] += n - others;
  return true;
}
#endif

// What a run knows beside the meter.
class CodeMeter {
 public:
  CodeMeter(const CodeLoss& table, std::uint64_t index, LossState* loss)
      : table_(table), loss_(loss) {
    Learn(index);
  }

  // Adds n codes, whole blocks and at most a stretch, which are the tensor's from `index` on.
  void Add(const std::uint8_t* codes, std::size_t n, const LossView& view, std::uint64_t index) {
#if HWY_TARGET == HWY_AVX3_DL
    CodeTotals totals;
    std::size_t totalled = 0;
    for (std::size_t i = 0; i < n; i += kCodeRun) {
      const std::size_t some = std::min(n - i, kCodeRun);
      if (table_.group_of.is_signless && news_.is_signless
              ? GroupCodes<true>(table_, news_, codes + i, some, &totals)
              : GroupCodes<false>(table_, news_, codes + i, some, &totals)) {
        totals.squares += SumOf(table_.squares, codes + i, some);
        totals.errors += SumOf(table_.errors, codes + i, some);
        totalled += some;
        continue;
      }
      LossView run = view;
      run.source_first += i;
      run.result_first += i;
      Count(codes + i, some, run, index + i);
      Learn(index + i + some);
    }
    AddTotals(table_, totals, totalled, index + n - totalled, loss_);
#else
    Count(codes, n, view, index);
#endif
  }

 private:
  void Count(const std::uint8_t* codes, std::size_t n, const LossView& view, std::uint64_t index) {
    std::uint32_t counts[256];
    CountCodes(codes, n, counts);
    AddCounts(table_, counts, codes, n, view, index, loss_);
  }
  void Learn([[maybe_unused]] std::uint64_t index) {
#if HWY_TARGET == HWY_AVX3_DL
    FindNews(table_, index, *loss_, news_.of_code);
    news_.is_signless = std::equal(news_.of_code, news_.of_code + 128, news_.of_code + 128);
#endif
  }

  const CodeLoss& table_;
  LossState* loss_;
#if HWY_TARGET == HWY_AVX3_DL
  CodeBytes news_;
#endif
};

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_CODE_LOSS_INL_H_
