// Codes of four bits looked up in AVX2, by a table for each group of sixteen: two groups at once.
// Included once per target, after magnitude_rows-inl.h.
//
// A table is planes, of its values' lowest bytes, the next ones and so on.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_NIBBLE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_NIBBLE_ROWS_INL_H_
#undef TENSORCAST_SRC_SCALE_NIBBLE_ROWS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_NIBBLE_ROWS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "scale/cell_lanes.h"
#include "scale/magnitude_rows-inl.h"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {

// The codes of two groups, one in a byte. Where they have one table, those of interleaved results
// that stand next to each other are in one half and the other in turn, kRun of them; else each half
// has a group.
template <bool kPairs, int kRun> HWY_INLINE __m256i CodesOfTwo(const std::byte* packed) {
  constexpr auto kByte = [](int i) {
    constexpr int kBytes = kRun / 2;  // of a run
    const int half = i / 8, place = i % 8;
    return kPairs ? (2 * (place / kBytes) + half) * kBytes + place % kBytes : i;
  };
  // A byte for each word, of which the upper byte becomes the second code.
  constexpr auto kFour = [kByte](int i) {
    std::uint64_t words = 0x8000800080008000;
    for (int k = 0; k < 4; ++k) words |= static_cast<std::uint64_t>(kByte(4 * i + k)) << 16 * k;
    return static_cast<long long>(words);
  };
  const __m256i places = _mm256_setr_epi64x(kFour(0), kFour(1), kFour(2), kFour(3));
  const __m256i bytes = _mm256_shuffle_epi8(LoadRow(packed), places);
  return _mm256_and_si256(_mm256_or_si256(bytes, _mm256_slli_epi16(bytes, 4)), SetBytes(0xF));
}

// The results of two groups, of kBytes each: in order where they have one table; else each vector
// has a half of each group's.
template <bool kPairs, std::size_t kBytes>
HWY_INLINE void LookUpTwo(const std::byte* packed, const std::byte* first, const std::byte* second,
                          __m256i* results) {
  const __m256i codes = CodesOfTwo<kPairs, 16 / kBytes>(packed);
  const auto plane = [&](std::size_t i) HWY_ATTR {
    __m256i row = LoadRow(first + kNibbles * i);
    if constexpr (!kPairs) row = _mm256_blend_epi32(row, LoadRow(second + kNibbles * i), 0xF0);
    return _mm256_shuffle_epi8(row, codes);
  };
  const __m256i a = plane(0), b = plane(1);
  const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
  if constexpr (kBytes == 2) {
    results[0] = low;
    results[1] = high;
  } else {
    const __m256i c = plane(2), d = plane(3);
    const __m256i upper_low = _mm256_unpacklo_epi8(c, d), upper_high = _mm256_unpackhi_epi8(c, d);
    results[0] = _mm256_unpacklo_epi16(low, upper_low);
    results[1] = _mm256_unpackhi_epi16(low, upper_low);
    results[2] = _mm256_unpacklo_epi16(high, upper_high);
    results[3] = _mm256_unpackhi_epi16(high, upper_high);
  }
}

// One group, by the first of two that stand alike.
template <std::size_t kBytes>
HWY_INLINE void LookUpOne(const std::byte* packed, const std::byte* table, std::byte* out) {
  std::byte some[16] = {};
  std::memcpy(some, packed, 8);
  __m256i results[kBytes];
  LookUpTwo<false, kBytes>(some, table, table, results);
  for (std::size_t v = 0; v < kBytes; ++v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * v), _mm256_castsi256_si128(results[v]));
  }
}

// CellLanes' look_up_16 and look_up_32.
template <std::size_t kBytes>
void LookUpNibbles(const std::byte* packed, std::size_t groups, const std::byte* tables,
                   const std::byte* codes, const CellsInOrder& cells, std::byte* out) {
  constexpr std::size_t kGroup = kNibbles * kBytes;
  // What is stored may not change where these are.
  const std::size_t skipped = cells.skipped;
  const unsigned log2 = cells.log2_width;
  if (log2 == 0) codes += skipped;
  const auto table_of = [=](std::size_t cell) HWY_ATTR {
    return tables + kGroup * std::to_integer<std::size_t>(codes[cell]);
  };
  std::size_t g = 0;
  if (log2 == 0) {
    for (; g + 2 <= groups; g += 2) {
      std::byte* const to = out + kGroup * g;
      __m256i results[kBytes];
      LookUpTwo<false, kBytes>(packed + 8 * g, table_of(g), table_of(g + 1), results);
      for (std::size_t v = 0; v < kBytes; v += 2) {
        const __m256i a = results[v], b = results[v + 1];
        StoreWhole(to + 16 * v, _mm256_permute2x128_si256(a, b, 0x20));
        StoreWhole(to + kGroup + 16 * v, _mm256_permute2x128_si256(a, b, 0x31));
      }
    }
    if (g < groups) LookUpOne<kBytes>(packed + 8 * g, table_of(g), out + kGroup * g);
    return;
  }
  const auto one = [&]() HWY_ATTR {
    LookUpOne<kBytes>(packed + 8 * g, table_of((skipped + g) >> log2), out + kGroup * g);
    ++g;
  };
  if (skipped % 2 != 0 && groups != 0) one();
  for (; g + 2 <= groups; g += 2) {
    const std::byte* const table = table_of((skipped + g) >> log2);
    __m256i results[kBytes];
    LookUpTwo<true, kBytes>(packed + 8 * g, table, table, results);
    for (std::size_t v = 0; v < kBytes; ++v) StoreWhole(out + kGroup * g + 32 * v, results[v]);
  }
  if (g < groups) one();
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX2
#endif  // TENSORCAST_SRC_SCALE_NIBBLE_ROWS_INL_H_
