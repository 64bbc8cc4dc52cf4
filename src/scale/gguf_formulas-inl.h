// The formula of each of GGUF's block types, in loops that compilers turn into lanes: of most types
// a block's integers, and what they are multiplied by and added to. Products of a float16 and the
// small integers that it scales have at most 24 significant bits, so they are exact in float32;
// sums of two are exact in double. Included once per target, by what decodes blocks and by the
// lanes.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_GGUF_FORMULAS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_GGUF_FORMULAS_INL_H_
#undef TENSORCAST_SRC_SCALE_GGUF_FORMULAS_INL_H_
#else
#define TENSORCAST_SRC_SCALE_GGUF_FORMULAS_INL_H_
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"
#include "scale/integer_cells.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {
namespace formulas {

using Byte = std::uint8_t;

inline unsigned TwoBytes(const Byte* b) { return b[0] | static_cast<unsigned>(b[1]) << 8; }

// A float16. By 2^112 its exponents are a float32's, of a subnormal one as well.
inline float Half(const Byte* b) {
#if HWY_TARGET == HWY_AVX2
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(TwoBytes(b)))));
#else
  const std::uint32_t code = TwoBytes(b), magnitude = code & 0x7FFF;
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t infinite = magnitude >= 0x7C00 ? 0x7F800000 : 0;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | infinite |
                              (code & 0x8000) << 16);
#endif
}

// Calls one(k) for each k below kCount, as a constant: shifts by such are those of whole vectors.
template <int kCount, class One> void ForEachConstant(const One& one) {
  [&]<int... k>(std::integer_sequence<int, k...>) { (one(std::integral_constant<int, k>()), ...); }
  (std::make_integer_sequence<int, kCount>());
}

// Where a block of integers goes. A type whose values are products leaves the offsets alone. Taken
// by value: what codes are written to might else be these pointers, for all a compiler knows, or
// the block.
struct Cells {
  std::int8_t* HWY_RESTRICT codes;
  float* factors;
  float* offsets;
};

// What the scales of kCount cells, which are small integers, are times a block's. Compilers make no
// lanes of conversions that may round.
template <int kCount> void ScaleScales(const std::int8_t* scales, float by, float* factors) {
#if HWY_TARGET == HWY_AVX2
  static_assert(kCount % 8 == 0);
  for (int k = 0; k < kCount; k += 8) {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales + k));
    const __m256 some = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight));
    _mm256_storeu_ps(factors + k, _mm256_mul_ps(some, _mm256_set1_ps(by)));
  }
#else
  for (int k = 0; k < kCount; ++k) factors[k] = by * static_cast<float>(scales[k]);
#endif
}

// ------------------------------------------------------------------------- blocks of 32 values

// Codes of four bits, the low halves of all bytes first; and a fifth bit of each, which stands in
// the 32 from `high` on.
template <int kSubtracted> void Nibbles32(const Byte* from, std::int8_t* codes) {
#if HWY_TARGET == HWY_AVX2
  const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m128i low_bits = _mm_set1_epi8(15), subtracted = _mm_set1_epi8(kSubtracted);
  const __m128i high = _mm_and_si128(_mm_srli_epi16(both, 4), low_bits);
  auto* const to = reinterpret_cast<__m128i*>(codes);
  _mm_storeu_si128(to, _mm_sub_epi8(_mm_and_si128(both, low_bits), subtracted));
  _mm_storeu_si128(to + 1, _mm_sub_epi8(high, subtracted));
#else
  Byte both[16];  // which no code that is written can change
  std::memcpy(both, from, sizeof(both));
  for (int i = 0; i < 16; ++i) codes[i] = static_cast<std::int8_t>((both[i] & 15) - kSubtracted);
  for (int i = 0; i < 16; ++i) {
    codes[16 + i] = static_cast<std::int8_t>((both[i] >> 4) - kSubtracted);
  }
#endif
}
template <int kSubtracted> void FiveBits32(const Byte* high, const Byte* from, std::int8_t* codes) {
  const std::uint32_t bits = TwoBytes(high) | TwoBytes(high + 2) << 16;
  for (int i = 0; i < 16; ++i) {
    const int low_top = static_cast<int>(bits >> i & 1) << 4;
    const int high_top = static_cast<int>(bits >> (16 + i) & 1) << 4;
    codes[i] = static_cast<std::int8_t>(((from[i] & 15) | low_top) - kSubtracted);
    codes[16 + i] = static_cast<std::int8_t>(((from[i] >> 4) | high_top) - kSubtracted);
  }
}

// Types with kCodes, where their codes begin, are looked up in their blocks (block_tables-inl.h):
// Scales makes a block's factors and offsets, NumberOf what a nibble stands for, and where values
// are sums kMostOfSum and kMostScale are the largest code and the largest integer that a scale is
// times.
struct Q4_0 {
  static constexpr int kValues = 32, kBytes = 18, kCell = 32;
  static constexpr int kScales[] = {0};
  static constexpr CodeRange kRange = CodeRange::kInt4;
  static constexpr int kCodes = 2;
  static constexpr float NumberOf(int code) { return static_cast<float>(code - 8); }
  static void Scales(const Byte* b, float* factors, float*) { factors[0] = Half(b); }
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    Scales(b, to.factors, to.offsets);
    Nibbles32<8>(b + kCodes, to.codes);
  }
};

struct Q4_1 {
  static constexpr int kValues = 32, kBytes = 20, kCell = 32;
  static constexpr int kScales[] = {0, 2};
  static constexpr CodeRange kRange = CodeRange::kUint4;
  static constexpr int kMostOfSum = 15, kMostScale = 1, kCodes = 4;
  static constexpr float NumberOf(int code) { return static_cast<float>(code); }
  static void Scales(const Byte* b, float* factors, float* offsets) {
    factors[0] = Half(b);
    offsets[0] = Half(b + 2);
  }
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    Scales(b, to.factors, to.offsets);
    Nibbles32<0>(b + kCodes, to.codes);
  }
};

struct Q5_0 {
  static constexpr int kValues = 32, kBytes = 22, kCell = 32;
  static constexpr int kScales[] = {0};
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    to.factors[0] = Half(b);
    FiveBits32<16>(b + 2, b + 6, to.codes);
  }
};

struct Q5_1 {
  static constexpr int kValues = 32, kBytes = 24, kCell = 32;
  static constexpr int kScales[] = {0, 2};
  static constexpr int kMostOfSum = 31;
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    to.factors[0] = Half(b);
    to.offsets[0] = Half(b + 2);
    FiveBits32<0>(b + 4, b + 8, to.codes);
  }
};

struct Q8_0 {
  static constexpr int kValues = 32, kBytes = 34, kCell = 32;
  static constexpr int kScales[] = {0};
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    to.factors[0] = Half(b);
    std::memcpy(to.codes, b + 2, kValues);
  }
};

// ------------------------------------------------------------------------ blocks of 256 values

struct Q2_K {
  static constexpr int kValues = 256, kBytes = 84, kCell = 16;
  static constexpr int kScales[] = {80, 82};
  static constexpr CodeRange kRange = CodeRange::kUint4;
  static constexpr int kMostOfSum = 3, kMostScale = 15, kCodes = 16;
  static void Scales(const Byte* b, float* factors, float* offsets) {
    const float d = Half(b + 80), least = Half(b + 82);
    std::int8_t scales[16], minima[16];
    for (int k = 0; k < 16; ++k) scales[k] = static_cast<std::int8_t>(b[k] & 15);
    for (int k = 0; k < 16; ++k) minima[k] = static_cast<std::int8_t>(b[k] >> 4);
    ScaleScales<16>(scales, d, factors);
    ScaleScales<16>(minima, -least, offsets);
  }
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    Scales(b, to.factors, to.offsets);
    ForEachConstant<8>([&](auto k) HWY_ATTR {
      const Byte* const from = b + kCodes + 32 * (k / 4);
      for (int l = 0; l < 32; ++l) {
        to.codes[32 * k + l] = static_cast<std::int8_t>(from[l] >> 2 * (k % 4) & 3);
      }
    });
  }
};

struct Q3_K {
  static constexpr int kValues = 256, kBytes = 110, kCell = 16;
  static constexpr int kScales[] = {108};
  static constexpr CodeRange kRange = CodeRange::kInt4;
  static constexpr int kCodes = 32;
  // Eight scales at once: of four bits, and two that stand apart. x - 32 as a byte is x with its
  // sixth bit inverted, and the two above it like that bit.
  static void Scales(const Byte* b, float* factors, float*) {
    constexpr std::uint64_t kEach = 0x0101010101010101;
    std::uint64_t low, eight[2];
    std::uint32_t high;
    std::memcpy(&low, b + 96, sizeof(low));
    std::memcpy(&high, b + 104, sizeof(high));
    for (int k = 0; k < 2; ++k) {
      const std::uint64_t tops = high >> 4 * k | std::uint64_t{high >> (4 * k + 2)} << 32;
      const std::uint64_t six = (low >> 4 * k & 15 * kEach) | (tops & 3 * kEach) << 4;
      const std::uint64_t less = six ^ 32 * kEach;
      eight[k] = less | (less & 32 * kEach) * 6;
    }
    std::int8_t scales[16];
    std::memcpy(scales, eight, sizeof(scales));
    ScaleScales<16>(scales, Half(b + 108), factors);
  }
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    Scales(b, to.factors, to.offsets);
    ForEachConstant<8>([&](auto k) HWY_ATTR {
      const Byte* const from = b + kCodes + 32 * (k / 4);
      for (int l = 0; l < 32; ++l) {
        const int code = ((from[l] >> 2 * (k % 4) & 3) | (b[l] >> k & 1) << 2) - 4;
        to.codes[32 * k + l] = static_cast<std::int8_t>(code);
      }
    });
  }
};

// Scales and minima of six bits, of eight groups of 32, in twelve bytes: four at once.
inline void SixBits(const Byte* b, float d, float least, float* factors, float* offsets) {
  constexpr std::uint32_t kLowFour = 0x0F0F0F0F, kSix = 0x3F3F3F3F, kTopTwo = 0x30303030;
  std::uint32_t words[3];
  std::memcpy(words, b, sizeof(words));
  const std::uint32_t scales[2] = {words[0] & kSix,
                                   (words[2] & kLowFour) | (words[0] >> 2 & kTopTwo)};
  const std::uint32_t minima[2] = {words[1] & kSix,
                                   (words[2] >> 4 & kLowFour) | (words[1] >> 2 & kTopTwo)};
  std::int8_t scale[8], minimum[8];
  std::memcpy(scale, scales, sizeof(scale));
  std::memcpy(minimum, minima, sizeof(minimum));
  ScaleScales<8>(scale, d, factors);
  ScaleScales<8>(minimum, -least, offsets);
}

struct Q4_K {
  static constexpr int kValues = 256, kBytes = 144, kCell = 32;
  static constexpr int kScales[] = {0, 2};
  static constexpr CodeRange kRange = CodeRange::kUint4;
  static constexpr int kMostOfSum = 15, kMostScale = 63, kCodes = 16;
  static constexpr float NumberOf(int code) { return static_cast<float>(code); }
  static void Scales(const Byte* b, float* factors, float* offsets) {
    SixBits(b + 4, Half(b), Half(b + 2), factors, offsets);
  }
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    Scales(b, to.factors, to.offsets);
    for (int k = 0; k < 4; ++k) {
      const Byte* const from = b + kCodes + 32 * k;
      std::int8_t* const codes = to.codes + 64 * k;
      for (int l = 0; l < 32; ++l) codes[l] = static_cast<std::int8_t>(from[l] & 15);
      for (int l = 0; l < 32; ++l) codes[32 + l] = static_cast<std::int8_t>(from[l] >> 4);
    }
  }
};

struct Q5_K {
  static constexpr int kValues = 256, kBytes = 176, kCell = 32;
  static constexpr int kScales[] = {0, 2};
  static constexpr int kMostOfSum = 31;
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    SixBits(b + 4, Half(b), Half(b + 2), to.factors, to.offsets);
    ForEachConstant<8>([&](auto k) HWY_ATTR {
      const Byte *const from = b + 48 + 32 * (k / 2), *const tops = b + 16;
      for (int l = 0; l < 32; ++l) {
        const int code = (from[l] >> 4 * (k % 2) & 15) | (tops[l] >> k & 1) << 4;
        to.codes[32 * k + l] = static_cast<std::int8_t>(code);
      }
    });
  }
};

struct Q6_K {
  static constexpr int kValues = 256, kBytes = 210, kCell = 16;
  static constexpr int kScales[] = {208};
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    const float d = Half(b + 208);
    ScaleScales<16>(reinterpret_cast<const std::int8_t*>(b + 192), d, to.factors);
    ForEachConstant<8>([&](auto k) HWY_ATTR {
      constexpr int kHalf = k / 4, kQuarter = k % 4;
      const Byte* const from = b + 64 * kHalf + 32 * (kQuarter % 2);
      const Byte* const tops = b + 128 + 32 * kHalf;
      for (int l = 0; l < 32; ++l) {
        const int low = from[l] >> 4 * (kQuarter / 2) & 15, top = tops[l] >> 2 * kQuarter & 3;
        to.codes[32 * k + l] = static_cast<std::int8_t>((low | top << 4) - 32);
      }
    });
  }
};

// ------------------------------------------------------------------------ values from tables

constexpr std::int8_t kNonLinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};
constexpr float kE2M1[16] = {0.f,  0.5f,  1.f,  1.5f,  2.f,  3.f,  4.f,  6.f,
                             -0.f, -0.5f, -1.f, -1.5f, -2.f, -3.f, -4.f, -6.f};

// kHalf codes of low nibbles and as many of high ones, by a table of what each stands for.
template <int kHalf, class Value>
void LookUpNibbles(const Byte* codes, const Value* table, Value* values) {
  for (int i = 0; i < kHalf; ++i) values[i] = table[codes[i] & 15];
  for (int i = 0; i < kHalf; ++i) values[kHalf + i] = table[codes[i] >> 4];
}
#if HWY_TARGET == HWY_AVX2
template <>
inline void LookUpNibbles<16>(const Byte* codes, const std::int8_t* table, std::int8_t* values) {
  const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
  const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  const __m128i low_bits = _mm_set1_epi8(15);
  auto* const to = reinterpret_cast<__m128i*>(values);
  _mm_storeu_si128(to, _mm_shuffle_epi8(row, _mm_and_si128(both, low_bits)));
  _mm_storeu_si128(to + 1, _mm_shuffle_epi8(row, _mm_and_si128(_mm_srli_epi16(both, 4), low_bits)));
}
#endif
template <int kHalf, class T> void ScaleE2M1(const Byte* codes, T scale, T* values) {
  T scaled[16];
  for (int i = 0; i < 16; ++i) scaled[i] = scale * static_cast<T>(kE2M1[i]);
  LookUpNibbles<kHalf>(codes, scaled, values);
}

struct IQ4_NL {
  static constexpr int kValues = 32, kBytes = 18, kCell = 32;
  static constexpr int kScales[] = {0};
  static constexpr int kCodes = 2;
  static constexpr float NumberOf(int code) { return kNonLinear[code]; }
  static void Scales(const Byte* b, float* factors, float*) { factors[0] = Half(b); }
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    Scales(b, to.factors, to.offsets);
    LookUpNibbles<16>(b + kCodes, kNonLinear, to.codes);
  }
};

struct IQ4_XS {
  static constexpr int kValues = 256, kBytes = 136, kCell = 32;
  static constexpr int kScales[] = {0};
  static constexpr int kCodes = 8;
  static constexpr float NumberOf(int code) { return kNonLinear[code]; }
  static void Scales(const Byte* b, float* factors, float*) {
    const unsigned high = TwoBytes(b + 2);
    std::int8_t scales[8];
    ForEachConstant<8>([&](auto k) HWY_ATTR {
      const int low = b[4 + k / 2] >> 4 * (k % 2) & 15;
      scales[k] = static_cast<std::int8_t>((low | static_cast<int>(high >> 2 * k & 3) << 4) - 32);
    });
    ScaleScales<8>(scales, Half(b), factors);
  }
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    Scales(b, to.factors, to.offsets);
    for (int k = 0; k < 8; ++k) {
      LookUpNibbles<16>(b + kCodes + 16 * k, kNonLinear, to.codes + 32 * k);
    }
  }
};

struct MXFP4 {
  static constexpr int kValues = 32, kBytes = 17;
  template <class T> static void Decode(const Byte* b, T* values) {
    // As OCP has it: 255 is NaN, and 0 no less than the others.
    const T scale =
        b[0] == 0xFF
            ? std::numeric_limits<T>::quiet_NaN()
            : static_cast<T>(std::bit_cast<double>((b[0] + std::uint64_t{1023 - 127}) << 52));
    ScaleE2M1<16>(b + 1, scale, values);
  }
  // The largest values of the largest scales are beyond float32.
  static bool IsFloat(const Byte* b) { return b[0] < 0xFD || b[0] == 0xFF; }
  static bool HasNan(const Byte* b) { return b[0] == 0xFF; }
};

// Unsigned E4M3 as ggml means it: the top bit says nothing, but 0x7F is 0.
constexpr float UnsignedE4M3(unsigned code) {
  if (code == 0x7F) return 0;
  const unsigned exponent = code >> 3 & 15, digits = code & 7;
  float value = static_cast<float>(exponent == 0 ? digits : digits + 8) * 0x1p-9f;
  for (unsigned i = 1; i < exponent; ++i) value *= 2;
  return value;
}
struct E4M3Table {
  float values[256];
  constexpr E4M3Table() : values() {
    for (unsigned i = 0; i < 256; ++i) values[i] = UnsignedE4M3(i);
  }
};
constexpr E4M3Table kUnsignedE4M3;

struct NVFP4 {
  static constexpr int kValues = 64, kBytes = 36;
  template <class T> static void Decode(const Byte* b, T* values) {
    for (int k = 0; k < 4; ++k) {
      ScaleE2M1<8>(b + 4 + 8 * k, static_cast<T>(kUnsignedE4M3.values[b[k]]), values + 16 * k);
    }
  }
  static bool HasNan(const Byte*) { return false; }
};

// --------------------------------------------------------------------------- trits and bits

// Five trits in a byte, the first most significant: t = (code * 3^e mod 256) * 3 / 256.
template <int kBytesOfCodes, int kTrits> void Trits(const Byte* from, std::int8_t* codes) {
  int power = 1;
  for (int e = 0; e < kTrits; ++e) {
    for (int i = 0; i < kBytesOfCodes; ++i) {
      const int trit = (from[i] * power & 0xFF) * 3 >> 8;
      codes[e * kBytesOfCodes + i] = static_cast<std::int8_t>(trit - 1);
    }
    power = power * 3 & 0xFF;
  }
}

struct TQ1_0 {
  static constexpr int kValues = 256, kBytes = 54, kCell = 256;
  static constexpr int kScales[] = {52};
  static constexpr CodeRange kRange = CodeRange::kInt4;
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    to.factors[0] = Half(b + 52);
    Trits<32, 5>(b, to.codes);
    Trits<16, 5>(b + 32, to.codes + 160);
    Trits<4, 4>(b + 48, to.codes + 240);
  }
};

struct TQ2_0 {
  static constexpr int kValues = 256, kBytes = 66, kCell = 256;
  static constexpr int kScales[] = {64};
  static constexpr CodeRange kRange = CodeRange::kInt4;
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    to.factors[0] = Half(b + 64);
    ForEachConstant<8>([&](auto k) HWY_ATTR {
      const Byte* const from = b + 32 * (k / 4);
      for (int l = 0; l < 32; ++l) {
        to.codes[32 * k + l] = static_cast<std::int8_t>((from[l] >> 2 * (k % 4) & 3) - 1);
      }
    });
  }
};

struct Q1_0 {
  static constexpr int kValues = 128, kBytes = 18, kCell = 128;
  static constexpr int kScales[] = {0};
  static constexpr CodeRange kRange = CodeRange::kInt4;
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    to.factors[0] = Half(b);
    for (int i = 0; i < kValues; ++i) {
      to.codes[i] = static_cast<std::int8_t>((b[2 + i / 8] >> i % 8 & 1) * 2 - 1);
    }
  }
};

struct Q2_0 {
  static constexpr int kValues = 64, kBytes = 18, kCell = 64;
  static constexpr int kScales[] = {0};
  static constexpr CodeRange kRange = CodeRange::kInt4;
  static void Unpack(const Byte* HWY_RESTRICT b, Cells to) {
    to.factors[0] = Half(b);
    for (int i = 0; i < kValues; ++i) {
      to.codes[i] = static_cast<std::int8_t>((b[2 + i / 4] >> 2 * (i % 4) & 3) - 1);
    }
  }
};

// --------------------------------------------------------------------------------- all of them

// What row.operator()<Type>(name) gives of each.
template <class Row> constexpr auto RowsOf(const Row& row) {
  return std::array{
      row.template operator()<Q4_0>("Q4_0"),     row.template operator()<Q4_1>("Q4_1"),
      row.template operator()<Q5_0>("Q5_0"),     row.template operator()<Q5_1>("Q5_1"),
      row.template operator()<Q8_0>("Q8_0"),     row.template operator()<Q2_K>("Q2_K"),
      row.template operator()<Q3_K>("Q3_K"),     row.template operator()<Q4_K>("Q4_K"),
      row.template operator()<Q5_K>("Q5_K"),     row.template operator()<Q6_K>("Q6_K"),
      row.template operator()<IQ4_NL>("IQ4_NL"), row.template operator()<IQ4_XS>("IQ4_XS"),
      row.template operator()<TQ1_0>("TQ1_0"),   row.template operator()<TQ2_0>("TQ2_0"),
      row.template operator()<MXFP4>("MXFP4"),   row.template operator()<NVFP4>("NVFP4"),
      row.template operator()<Q1_0>("Q1_0"),     row.template operator()<Q2_0>("Q2_0")};
}

template <class Type> constexpr bool kIsSum = requires { Type::kMostOfSum; };

template <class Type>
void Unpack(const std::byte* blocks, std::size_t n, std::int8_t* codes, float* factors,
            float* offsets) {
  constexpr std::size_t kCells = Type::kValues / Type::kCell;
  if constexpr (!kIsSum<Type>) std::fill_n(offsets, n * kCells, kNoOffset);
  const auto* b = reinterpret_cast<const Byte*>(blocks);
  for (std::size_t i = 0; i < n; ++i) {
    Type::Unpack(b + i * Type::kBytes,
                 {codes + i * Type::kValues, factors + i * kCells, offsets + i * kCells});
  }
}

}  // namespace formulas
}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_SCALE_GGUF_FORMULAS_INL_H_
