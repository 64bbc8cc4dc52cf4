// The numeric rows of docs/semantics.md section 6 and the tables of section 3, as literals: the
// oracle and every target of the library are held against them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ORACLE_PUBLISHED_VECTORS_H_
#define TENSORCAST_TESTS_ORACLE_PUBLISHED_VECTORS_H_

#include <bit>
#include <cstdint>
#include <limits>

#include "oracle/cast.h"

namespace oracle {

struct PublishedVector {
  int from;
  int to;
  std::uint64_t input;
  std::uint64_t expected;
  Options options = {};
};

constexpr std::uint64_t F32(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}
constexpr std::uint64_t F64(double value) { return std::bit_cast<std::uint64_t>(value); }
template <int kBits> constexpr std::uint64_t Two(std::int64_t value) {
  const auto code = static_cast<std::uint64_t>(value);
  return kBits == 64 ? code : code & ((1ull << (kBits % 64)) - 1);
}

inline constexpr Options kNoSaturate = {.saturate = false};
inline constexpr Options kDown = {.round_mode = RoundingMode::kDown};
inline constexpr Options kNearest = {.round_mode = RoundingMode::kNearest};
inline constexpr Options kIntegerSaturate = {.integer_saturate = true};
inline constexpr Options kFnuzNan = {.fnuz_infinity_nan = true};
inline constexpr Options kFiniteMax = {.finite_only_max = true};
inline constexpr Options kNoSaturateDown = {.saturate = false, .round_mode = RoundingMode::kDown};

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr std::uint64_t kNanF32 = 0x7FC00000;
inline constexpr std::uint64_t kMinusNanF32 = 0xFFC00000;

inline constexpr PublishedVector kPublishedVectors[] = {
    // Section 6, in its order.
    {11, 17, F64(1.0625 + 0x1p-40), 0x39},
    {11, 16, F64(1 + 0x1p-8 + 0x1p-40), 0x3F81},
    {7, 16, 16973823, 0x4B81},
    {11, 23, F64(0.25 + 0x1p-40), 0x1},
    {1, 17, F32(480), 0x7F, kNoSaturate},
    {1, 19, F32(61440), 0x7C, kNoSaturate},
    {1, 18, F32(-1e-9), 0x00},
    {24, 24, 0x00, 0x00},
    {1, 24, F32(0x1p-128), 0x00},
    {1, 24, F32(kInf), 0xFE},
    {1, 24, F32(1.25 * 0x1p-127), 0x00, kNearest},
    {11, 24, F64(1 + 0x1p-30), 0x80},
    {13, 24, 0xFFFFFFFFFFFFFFFF, 0xBE, kDown},
    {1, 6, kNanF32, 0},
    {1, 6, F32(3e9), Two<32>(-1294967296)},
    {1, 6, F32(-3e9), Two<32>(1294967296)},
    {1, 2, F32(300), 44},
    {1, 2, F32(-1), 255},
    {1, 22, F32(8), Two<4>(-8)},
    {1, 22, F32(1.5), 2},
    {1, 22, F32(2.5), 2},
    {5, 3, 200, Two<8>(-56)},
    {1, 27, F32(7.75), 0x1F},
    {1, 27, kNanF32, 0x20},
    {1, 27, kMinusNanF32, 0x00},
    {1, 27, F32(-1e-9), 0x20},
    {1, 27, F32(kInf), 0x1F},
    {1, 28, F32(25), 0x1E},
    {1, 28, F32(30), 0x1F},
    {1, 28, F32(1e30), 0x1F},
    {1, 28, F32(0.03125), 0x00},
    {11, 28, F64(0.03125 + 0x1p-40), 0x01},
    {11, 10, 0x7FF0000000000001, 0x7E00},
    {9, 24, 0, 0xFF, kNoSaturate},
    {1, 24, F32(1.25 * 0x1p127), 0xFF, kNoSaturateDown},
    {1, 17, F32(464), 0x7E, kNoSaturate},
    {1, 17, F32(464.0001), 0x7F, kNoSaturate},

    // Section 3, rule 3: the float8 table. Infinities under saturate.
    {1, 17, F32(kInf), 0x7E},
    {1, 17, F32(-kInf), 0xFE},
    {1, 18, F32(kInf), 0x7F},
    {1, 18, F32(-kInf), 0xFF},
    {1, 18, F32(kInf), 0x80, kFnuzNan},
    {1, 18, F32(-kInf), 0x80, kFnuzNan},
    {1, 19, F32(kInf), 0x7B},
    {1, 19, F32(-kInf), 0xFB},
    {1, 20, F32(kInf), 0x7F},
    {1, 20, F32(-kInf), 0xFF},
    {1, 20, F32(kInf), 0x80, kFnuzNan},
    {1, 20, F32(-kInf), 0x80, kFnuzNan},
    // Finite beyond max under saturate; never taken for Inf, whatever fnuz_infinity says.
    {1, 17, F32(1e6), 0x7E},
    {1, 17, F32(-1e6), 0xFE},
    {1, 18, F32(1e6), 0x7F},
    {1, 18, F32(-1e6), 0xFF},
    {1, 19, F32(1e6), 0x7B},
    {1, 19, F32(-1e6), 0xFB},
    {1, 20, F32(1e6), 0x7F},
    {1, 20, F32(-1e6), 0xFF},
    {11, 18, F64(1e300), 0x7F, kFnuzNan},
    {11, 20, F64(-1e300), 0xFF, kFnuzNan},
    // No saturate.
    {1, 17, F32(kInf), 0x7F, kNoSaturate},
    {1, 17, F32(-1e6), 0xFF, kNoSaturate},
    {1, 18, F32(kInf), 0x80, kNoSaturate},
    {1, 18, F32(-1e6), 0x80, kNoSaturate},
    {1, 19, F32(kInf), 0x7C, kNoSaturate},
    {1, 19, F32(-1e6), 0xFC, kNoSaturate},
    {1, 20, F32(kInf), 0x80, kNoSaturate},
    {1, 20, F32(-1e6), 0x80, kNoSaturate},
    // NaN.
    {1, 17, kNanF32, 0x7F},
    {1, 17, kMinusNanF32, 0xFF},
    {1, 18, kNanF32, 0x80},
    {1, 18, kMinusNanF32, 0x80},
    {1, 19, kNanF32, 0x7E},
    {1, 19, kMinusNanF32, 0xFE},
    {1, 20, kNanF32, 0x80},
    {1, 20, kMinusNanF32, 0x80},
    // First values past max.
    {11, 17, F64(464), 0x7E, kNoSaturate},
    {11, 17, F64(464 + 0x1p-40), 0x7F, kNoSaturate},
    {11, 18, F64(248), 0x80, kNoSaturate},
    {11, 18, F64(248 - 0x1p-40), 0x7F, kNoSaturate},
    {11, 19, F64(61440), 0x7C, kNoSaturate},
    {11, 19, F64(61440 - 0x1p-37), 0x7B, kNoSaturate},
    {11, 20, F64(61440), 0x80, kNoSaturate},
    {11, 20, F64(61440 - 0x1p-37), 0x7F, kNoSaturate},
    // The finite-only types give their largest, whatever saturate says.
    {1, 23, F32(1e6), 0x7, kNoSaturate},
    {1, 23, F32(-kInf), 0xF},
    {1, 27, F32(-1e6), 0x3F, kNoSaturate},
    {1, 28, F32(-kInf), 0x3F, kNoSaturate},
    // IEEE overflow and integers by value.
    {1, 10, F32(65519.996), 0x7BFF},
    {1, 10, F32(65520), 0x7C00},
    {6, 10, 65520, 0x7C00},
    {6, 17, 1000, 0x7E},
    {6, 17, Two<32>(-1000), 0xFF, kNoSaturate},
    {9, 17, 0x05, 0x38},
    {11, 1, F64(1e39), 0x7F800000},

    // Rule 4: NaN.
    {10, 1, 0x7C01, 0x7FC02000},
    {10, 1, 0xFC01, 0xFFC02000},
    {1, 11, 0x7F800001, 0x7FF8000020000000},
    {18, 1, 0x80, 0xFFC00000},
    {24, 1, 0xFF, 0x7FC00000},
    {17, 10, 0xFF, 0xFE00},
    {19, 16, 0x7D, 0x7FC0},
    {1, 23, kNanF32, 0x8},
    {1, 23, kMinusNanF32, 0x0},
    {1, 28, kNanF32, 0x20},
    {1, 28, kMinusNanF32, 0x00},
    {1, 23, kMinusNanF32, 0x7, kFiniteMax},
    {1, 27, kNanF32, 0x1F, kFiniteMax},
    {1, 28, kMinusNanF32, 0x1F, kFiniteMax},

    // Rule 5: floats to integers.
    {1, 3, F32(-1.9), Two<8>(-1)},
    {1, 3, F32(200), 127, kIntegerSaturate},
    {1, 3, F32(-kInf), 0x80, kIntegerSaturate},
    {1, 3, F32(-kInf), 0},
    {1, 2, F32(-1), 0, kIntegerSaturate},
    {1, 7, kNanF32, 0, kIntegerSaturate},
    {1, 22, F32(7.5), Two<4>(-8)},
    {1, 22, F32(7.5), 7, kIntegerSaturate},
    {1, 25, F32(2.5), 2},
    {1, 26, F32(-2.5), Two<2>(-2)},
    {1, 26, F32(-3), 1},
    {11, 7, F64(0x1p64), 0},
    {11, 13, F64(-1), 0xFFFFFFFFFFFFFFFF},
    {11, 13, F64(0x1p64), 0xFFFFFFFFFFFFFFFF, kIntegerSaturate},

    // Rule 6: integers to integers, never saturating.
    {3, 13, 0x80, 0xFFFFFFFFFFFFFF80},
    {2, 7, 0x80, 0x80},
    {22, 3, 0x8, 0xF8},
    {6, 22, 8, 8, kIntegerSaturate},
    {7, 25, Two<64>(-1), 3},

    // Rule 7: bool.
    {1, 9, F32(-0.0), 0},
    {1, 9, kNanF32, 1},
    {1, 9, F32(1e-40), 1},
    {24, 9, 0x00, 1},
    {24, 9, 0xFF, 1},
    {23, 9, 0x8, 0},
    {18, 9, 0x80, 1},
    {9, 9, 0x05, 0x05},
    {9, 7, 0x05, 1},

    // Rule 8: E8M0.
    {1, 24, F32(0.0), 0x00},
    {1, 24, F32(-3), 0x00},
    {1, 24, F32(-kInf), 0x00},
    {1, 24, kMinusNanF32, 0xFF},
    {1, 24, F32(0x1.8p127), 0xFE},
    {1, 24, F32(0x1.8p127), 0xFE, kDown},
    {1, 24, F32(0.0), 0xFF, kNoSaturate},
    {1, 24, F32(-3), 0xFF, kNoSaturate},
    {1, 24, F32(kInf), 0xFF, kNoSaturate},
    {1, 24, F32(0x1p-128), 0xFF, kNoSaturate},
    {1, 24, F32(0x1p127), 0xFE, kNoSaturate},
    {1, 24, F32(0x1p-127), 0x00, kNoSaturate},
    {1, 24, F32(0x1.8p-127), 0x01, kNearest},
    {11, 24, F64(0x1.7fffffffffffp-127), 0x00, kNearest},
    {1, 24, F32(1.5), 0x80, kNearest},
    {1, 24, F32(1.4999999), 0x7F, kNearest},
    {1, 24, F32(1.9), 0x7F, kDown},
    {24, 1, 0x00, 0x00400000},
    {24, 1, 0xFE, 0x7F000000},
    {24, 10, 0xFE, 0x7C00},
    {24, 6, 0x7F + 31, 0x80000000},
};

}  // namespace oracle

#endif  // TENSORCAST_TESTS_ORACLE_PUBLISHED_VECTORS_H_
