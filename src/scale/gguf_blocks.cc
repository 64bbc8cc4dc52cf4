// Each type's formula over one block, in loops that compilers turn into lanes. Products of a
// float16 and the small integers that it scales have at most 24 significant bits, so they are exact
// in float32; sums of two are exact in double.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/gguf_blocks.h"

#include <bit>
#include <cmath>
#include <limits>

namespace tensorcast::scale {
namespace {
namespace gguf {

using Byte = std::uint8_t;

inline unsigned Word(const Byte* b) { return b[0] | static_cast<unsigned>(b[1]) << 8; }

// A float16, which every T holds.
template <class T> T Half(const Byte* b) {
  const std::uint32_t code = Word(b), exponent = code >> 10 & 0x1F, digits = code & 0x3FF;
  float value;
  if (exponent == 0) {
    value = static_cast<float>(digits) * 0x1p-24f;
  } else {
    const std::uint32_t biased = exponent == 0x1F ? 0xFF : exponent + (127 - 15);
    value = std::bit_cast<float>(biased << 23 | digits << 13);
  }
  return static_cast<T>((code & 0x8000) != 0 ? -value : value);
}

template <class T> T Number(int n) { return static_cast<T>(n); }

// ------------------------------------------------------------------------- blocks of 32 values

// Codes of four bits, the low halves of all bytes first; and a fifth bit of each, which stands in
// the 32 from `high` on.
template <int kSubtracted, class T> void Nibbles32(const Byte* codes, T d, T* values) {
  for (int i = 0; i < 16; ++i) values[i] = d * Number<T>((codes[i] & 15) - kSubtracted);
  for (int i = 0; i < 16; ++i) values[16 + i] = d * Number<T>((codes[i] >> 4) - kSubtracted);
}
template <int kSubtracted, class T>
void FiveBits32(const Byte* high, const Byte* codes, T d, T* values) {
  const std::uint32_t bits = Word(high) | Word(high + 2) << 16;
  for (int i = 0; i < 16; ++i) {
    const int top = static_cast<int>(bits >> i & 1) << 4;
    values[i] = d * Number<T>(((codes[i] & 15) | top) - kSubtracted);
  }
  for (int i = 0; i < 16; ++i) {
    const int top = static_cast<int>(bits >> (16 + i) & 1) << 4;
    values[16 + i] = d * Number<T>(((codes[i] >> 4) | top) - kSubtracted);
  }
}

struct Q4_0 {
  static constexpr int kValues = 32, kBytes = 18;
  static constexpr int kScales[] = {0};
  template <class T> static void Decode(const Byte* b, T* values) {
    Nibbles32<8>(b + 2, Half<T>(b), values);
  }
};

struct Q4_1 {
  static constexpr int kValues = 32, kBytes = 20;
  static constexpr int kScales[] = {0, 2};
  static constexpr bool kIsSum = true;
  template <class T> static void Decode(const Byte* b, T* values) {
    Nibbles32<0>(b + 4, Half<T>(b), values);
    const T least = Half<T>(b + 2);
    for (int i = 0; i < kValues; ++i) values[i] += least;
  }
};

struct Q5_0 {
  static constexpr int kValues = 32, kBytes = 22;
  static constexpr int kScales[] = {0};
  template <class T> static void Decode(const Byte* b, T* values) {
    FiveBits32<16>(b + 2, b + 6, Half<T>(b), values);
  }
};

struct Q5_1 {
  static constexpr int kValues = 32, kBytes = 24;
  static constexpr int kScales[] = {0, 2};
  static constexpr bool kIsSum = true;
  template <class T> static void Decode(const Byte* b, T* values) {
    FiveBits32<0>(b + 4, b + 8, Half<T>(b), values);
    const T least = Half<T>(b + 2);
    for (int i = 0; i < kValues; ++i) values[i] += least;
  }
};

struct Q8_0 {
  static constexpr int kValues = 32, kBytes = 34;
  static constexpr int kScales[] = {0};
  template <class T> static void Decode(const Byte* b, T* values) {
    const T d = Half<T>(b);
    for (int i = 0; i < kValues; ++i) values[i] = d * Number<T>(static_cast<std::int8_t>(b[2 + i]));
  }
};

// ------------------------------------------------------------------------ blocks of 256 values

struct Q2_K {
  static constexpr int kValues = 256, kBytes = 84;
  static constexpr int kScales[] = {80, 82};
  static constexpr bool kIsSum = true;
  template <class T> static void Decode(const Byte* b, T* values) {
    const T d = Half<T>(b + 80), least = Half<T>(b + 82);
    for (int k = 0; k < 16; ++k) {
      const T scale = d * Number<T>(b[k] & 15), minimum = least * Number<T>(b[k] >> 4);
      const Byte* const codes = b + 16 + 32 * (k / 8) + 16 * (k % 2);
      const int shift = 2 * (k / 2 % 4);
      for (int l = 0; l < 16; ++l) {
        values[16 * k + l] = scale * Number<T>(codes[l] >> shift & 3) - minimum;
      }
    }
  }
};

struct Q3_K {
  static constexpr int kValues = 256, kBytes = 110;
  static constexpr int kScales[] = {108};
  template <class T> static void Decode(const Byte* b, T* values) {
    const T d = Half<T>(b + 108);
    const Byte* const scales = b + 96;
    for (int k = 0; k < 16; ++k) {
      const int low = k < 8 ? scales[k] & 15 : scales[k - 8] >> 4;
      const int high = scales[8 + k % 4] >> 2 * (k / 4) & 3;
      const T scale = d * Number<T>((low | high << 4) - 32);
      const Byte* const codes = b + 32 + 32 * (k / 8) + 16 * (k % 2);
      const Byte* const tops = b + 16 * (k % 2);
      const int shift = 2 * (k / 2 % 4), bit = k / 2;
      for (int l = 0; l < 16; ++l) {
        const int code = (codes[l] >> shift & 3) + 4 * (tops[l] >> bit & 1) - 4;
        values[16 * k + l] = scale * Number<T>(code);
      }
    }
  }
};

// Scales and minima of six bits, of eight groups of 32, in twelve bytes.
struct SixBits {
  int scale, minimum;
};
inline SixBits SixBitsOf(const Byte* b, int k) {
  if (k < 4) return {b[k] & 63, b[k + 4] & 63};
  return {(b[k + 4] & 15) | (b[k - 4] >> 6) << 4, (b[k + 4] >> 4) | (b[k] >> 6) << 4};
}

struct Q4_K {
  static constexpr int kValues = 256, kBytes = 144;
  static constexpr int kScales[] = {0, 2};
  static constexpr bool kIsSum = true;
  template <class T> static void Decode(const Byte* b, T* values) {
    const T d = Half<T>(b), least = Half<T>(b + 2);
    for (int k = 0; k < 8; ++k) {
      const SixBits six = SixBitsOf(b + 4, k);
      const T scale = d * Number<T>(six.scale), minimum = least * Number<T>(six.minimum);
      const Byte* const codes = b + 16 + 32 * (k / 2);
      const int shift = 4 * (k % 2);
      for (int l = 0; l < 32; ++l) {
        values[32 * k + l] = scale * Number<T>(codes[l] >> shift & 15) - minimum;
      }
    }
  }
};

struct Q5_K {
  static constexpr int kValues = 256, kBytes = 176;
  static constexpr int kScales[] = {0, 2};
  static constexpr bool kIsSum = true;
  template <class T> static void Decode(const Byte* b, T* values) {
    const T d = Half<T>(b), least = Half<T>(b + 2);
    for (int k = 0; k < 8; ++k) {
      const SixBits six = SixBitsOf(b + 4, k);
      const T scale = d * Number<T>(six.scale), minimum = least * Number<T>(six.minimum);
      const Byte *const codes = b + 48 + 32 * (k / 2), *const tops = b + 16;
      const int shift = 4 * (k % 2);
      for (int l = 0; l < 32; ++l) {
        const int code = (codes[l] >> shift & 15) | (tops[l] >> k & 1) << 4;
        values[32 * k + l] = scale * Number<T>(code) - minimum;
      }
    }
  }
};

struct Q6_K {
  static constexpr int kValues = 256, kBytes = 210;
  static constexpr int kScales[] = {208};
  template <class T> static void Decode(const Byte* b, T* values) {
    const T d = Half<T>(b + 208);
    for (int k = 0; k < 16; ++k) {
      const int half = k / 8, quarter = k / 2 % 4, side = k % 2;
      const T scale = d * Number<T>(static_cast<std::int8_t>(b[192 + k]));
      const Byte* const codes = b + 64 * half + 32 * (quarter % 2) + 16 * side;
      const Byte* const tops = b + 128 + 32 * half + 16 * side;
      const int shift = 4 * (quarter / 2), top_shift = 2 * quarter;
      for (int l = 0; l < 16; ++l) {
        const int code = (codes[l] >> shift & 15) | (tops[l] >> top_shift & 3) << 4;
        values[16 * k + l] = scale * Number<T>(code - 32);
      }
    }
  }
};

// ------------------------------------------------------------------------ values from tables

constexpr std::int8_t kNonLinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                        1,    13,   25,  38,  53,  69,  89,  113};
constexpr float kE2M1[16] = {0.f,  0.5f,  1.f,  1.5f,  2.f,  3.f,  4.f,  6.f,
                             -0.f, -0.5f, -1.f, -1.5f, -2.f, -3.f, -4.f, -6.f};

// kHalf codes of low nibbles and as many of high ones, by a table of what each stands for.
template <int kHalf, class T, class Table>
void LookUpNibbles(const Byte* codes, T scale, const Table& table, T* values) {
  T scaled[16];
  for (int i = 0; i < 16; ++i) scaled[i] = scale * static_cast<T>(table[i]);
  for (int i = 0; i < kHalf; ++i) values[i] = scaled[codes[i] & 15];
  for (int i = 0; i < kHalf; ++i) values[kHalf + i] = scaled[codes[i] >> 4];
}

struct IQ4_NL {
  static constexpr int kValues = 32, kBytes = 18;
  static constexpr int kScales[] = {0};
  template <class T> static void Decode(const Byte* b, T* values) {
    LookUpNibbles<16>(b + 2, Half<T>(b), kNonLinear, values);
  }
};

struct IQ4_XS {
  static constexpr int kValues = 256, kBytes = 136;
  static constexpr int kScales[] = {0};
  template <class T> static void Decode(const Byte* b, T* values) {
    const T d = Half<T>(b);
    const unsigned high = Word(b + 2);
    for (int k = 0; k < 8; ++k) {
      const int low = b[4 + k / 2] >> 4 * (k % 2) & 15;
      const int scale = (low | static_cast<int>(high >> 2 * k & 3) << 4) - 32;
      LookUpNibbles<16>(b + 8 + 16 * k, d * Number<T>(scale), kNonLinear, values + 32 * k);
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
    LookUpNibbles<16>(b + 1, scale, kE2M1, values);
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
      LookUpNibbles<8>(b + 4 + 8 * k, static_cast<T>(kUnsignedE4M3.values[b[k]]), kE2M1,
                       values + 16 * k);
    }
  }
  static bool HasNan(const Byte*) { return false; }
};

// --------------------------------------------------------------------------- trits and bits

// Five trits in a byte, the first most significant: t = (code * 3^e mod 256) * 3 / 256.
template <int kBytesOfCodes, int kTrits, class T> void Trits(const Byte* codes, T d, T* values) {
  int power = 1;
  for (int e = 0; e < kTrits; ++e) {
    for (int i = 0; i < kBytesOfCodes; ++i) {
      const int trit = (codes[i] * power & 0xFF) * 3 >> 8;
      values[e * kBytesOfCodes + i] = Number<T>(trit - 1) * d;
    }
    power = power * 3 & 0xFF;
  }
}

struct TQ1_0 {
  static constexpr int kValues = 256, kBytes = 54;
  static constexpr int kScales[] = {52};
  template <class T> static void Decode(const Byte* b, T* values) {
    const T d = Half<T>(b + 52);
    Trits<32, 5>(b, d, values);
    Trits<16, 5>(b + 32, d, values + 160);
    Trits<4, 4>(b + 48, d, values + 240);
  }
};

struct TQ2_0 {
  static constexpr int kValues = 256, kBytes = 66;
  static constexpr int kScales[] = {64};
  template <class T> static void Decode(const Byte* b, T* values) {
    const T d = Half<T>(b + 64);
    for (int k = 0; k < 8; ++k) {
      const Byte* const codes = b + 32 * (k / 4);
      const int shift = 2 * (k % 4);
      for (int l = 0; l < 32; ++l) {
        values[32 * k + l] = Number<T>((codes[l] >> shift & 3) - 1) * d;
      }
    }
  }
};

struct Q1_0 {
  static constexpr int kValues = 128, kBytes = 18;
  static constexpr int kScales[] = {0};
  template <class T> static void Decode(const Byte* b, T* values) {
    const T d = Half<T>(b);
    for (int i = 0; i < kValues; ++i) {
      values[i] = d * Number<T>((b[2 + i / 8] >> i % 8 & 1) * 2 - 1);
    }
  }
};

struct Q2_0 {
  static constexpr int kValues = 64, kBytes = 18;
  static constexpr int kScales[] = {0};
  template <class T> static void Decode(const Byte* b, T* values) {
    const T d = Half<T>(b);
    for (int i = 0; i < kValues; ++i) {
      values[i] = Number<T>((b[2 + i / 4] >> 2 * (i % 4) & 3) - 1) * d;
    }
  }
};

// ------------------------------------------------------------------------------- the table

template <class Type> OddScale OddScaleOf(const Byte* b) {
  OddScale odd = OddScale::kNone;
  if constexpr (requires { Type::kScales; }) {
    for (const int at : Type::kScales) {
      const unsigned magnitude = Word(b + at) & 0x7FFF;
      if (magnitude >= 0x7C00 && odd != OddScale::kNan) {
        odd = magnitude == 0x7C00 ? OddScale::kInfinite : OddScale::kNan;
      }
    }
  } else if (Type::HasNan(b)) {
    odd = OddScale::kNan;
  }
  return odd;
}

template <class Type> OddScale OddScaleOfBytes(const std::byte* block) {
  return OddScaleOf<Type>(reinterpret_cast<const Byte*>(block));
}

template <class Type> bool AreFloats(const std::byte* blocks, std::size_t n) {
  bool are_all = true;
  if constexpr (requires { &Type::IsFloat; }) {
    const auto* b = reinterpret_cast<const Byte*>(blocks);
    for (std::size_t i = 0; i < n; ++i) are_all &= Type::IsFloat(b + i * Type::kBytes);
  }
  return are_all;
}

template <class Type, class T> void Decode(const std::byte* blocks, std::size_t n, T* values) {
  const auto* b = reinterpret_cast<const Byte*>(blocks);
  for (std::size_t i = 0; i < n; ++i, b += Type::kBytes, values += Type::kValues) {
    Type::Decode(b, values);
    if (OddScaleOf<Type>(b) != OddScale::kNone) {
      for (int k = 0; k < Type::kValues; ++k) {
        if (std::isnan(values[k])) values[k] = std::numeric_limits<T>::quiet_NaN();
      }
    }
  }
}

template <class Type> constexpr GgufBlocks RowOf(std::string_view name) {
  GgufBlocks row = {name, Type::kValues, Type::kBytes};
  row.to_doubles = &Decode<Type, double>;
  if constexpr (!requires { Type::kIsSum; }) {
    row.to_floats = &Decode<Type, float>;
    row.are_floats = &AreFloats<Type>;
  }
  row.odd_scale = &OddScaleOfBytes<Type>;
  return row;
}

constexpr GgufBlocks kTable[] = {
    RowOf<Q4_0>("Q4_0"),   RowOf<Q4_1>("Q4_1"),   RowOf<Q5_0>("Q5_0"),     RowOf<Q5_1>("Q5_1"),
    RowOf<Q8_0>("Q8_0"),   RowOf<Q2_K>("Q2_K"),   RowOf<Q3_K>("Q3_K"),     RowOf<Q4_K>("Q4_K"),
    RowOf<Q5_K>("Q5_K"),   RowOf<Q6_K>("Q6_K"),   RowOf<IQ4_NL>("IQ4_NL"), RowOf<IQ4_XS>("IQ4_XS"),
    RowOf<TQ1_0>("TQ1_0"), RowOf<TQ2_0>("TQ2_0"), RowOf<MXFP4>("MXFP4"),   RowOf<NVFP4>("NVFP4"),
    RowOf<Q1_0>("Q1_0"),   RowOf<Q2_0>("Q2_0"),
};

}  // namespace gguf
}  // namespace

std::span<const GgufBlocks> AllGgufBlocks() { return gguf::kTable; }

const GgufBlocks* FindGgufBlocks(std::string_view type) {
  for (const GgufBlocks& row : gguf::kTable) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

}  // namespace tensorcast::scale
