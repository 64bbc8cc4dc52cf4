// The string vectors of docs/semantics.md ("Strings" and "Vectors that separate
// implementations"), as literals: the oracle and the library are held against them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ORACLE_PUBLISHED_TEXTS_H_
#define TENSORCAST_TESTS_ORACLE_PUBLISHED_TEXTS_H_

#include <cstdint>
#include <string_view>

#include "oracle/published_vectors.h"
#include "oracle/text.h"

namespace oracle {

struct PublishedParse {
  std::string_view text;
  int to;
  std::uint64_t expected;  // where there is no error
  Options options = {};
  TextError error = TextError::kNone;
};
inline constexpr TextError kNoNumber = TextError::kNotANumber;
inline constexpr TextError kNoInteger = TextError::kNotAnInteger;

inline constexpr PublishedParse kPublishedParses[] = {
    // Huge exponents.
    {"1e99999999999999999999", 1, 0x7F800000},
    {"0e999999999999", 1, 0},
    {"-0e999999999999", 11, 0x8000000000000000},
    {"1e-99999999999999999999", 11, 0},
    // Integers.
    {"100.5", 6, 100},
    {"1e5", 6, 100000},
    {"300", 3, 44},
    {"-1", 2, 255},
    {"300", 3, 127, kIntegerSaturate},
    {"1.5", 22, 2},
    {"2.5", 22, 2},
    {"0.5", 21, 0},
    {"8", 22, 8},
    {"8", 22, 7, kIntegerSaturate},
    {"-1e-999", 6, 0},
    {"18446744073709551615", 13, 0xFFFFFFFFFFFFFFFF},
    {"18446744073709551615.999", 13, 0xFFFFFFFFFFFFFFFF},
    {"18446744073709551615", 7, 0xFFFFFFFFFFFFFFFF},
    {"18446744073709551616", 13, 0, {}, kNoInteger},
    {"-9223372036854775808", 7, 0x8000000000000000},
    {"-9223372036854775808.999", 2, 0},
    {"-9223372036854775809", 13, 0, {}, kNoInteger},
    {"1e400", 3, 0, kIntegerSaturate, kNoInteger},
    {"nan", 6, 0, {}, kNoInteger},
    {"-inf", 25, 0, {}, kNoInteger},
    {"Infinity", 13, 0, kIntegerSaturate, kNoInteger},
    // Booleans.
    {"true", 9, 1},
    {"FALSE", 9, 0},
    {" tRuE\n", 9, 1},
    {"1e-999", 9, 1},
    {"0e5", 9, 0},
    {"-0.0", 9, 0},
    {"nan", 9, 1},
    {"inf", 9, 1},
    {"true", 1, 0, {}, kNoNumber},
    {"yes", 9, 0, {}, kNoNumber},
    // NaN and infinity.
    {"nan", 1, 0x7FC00000},
    {"-nan", 1, 0xFFC00000},
    {"-NaN", 10, 0xFE00},
    {"nan", 17, 0x7F},
    {"-nan", 19, 0xFE},
    {"-nan", 18, 0x80},
    {"nan", 24, 0xFF},
    {"nan", 23, 0x8},
    {"-nan", 23, 0x0},
    {"nan", 27, 0x20},
    {"-nan", 28, 0x1F, kFiniteMax},
    {"+INF", 11, 0x7FF0000000000000},
    {"-Infinity", 16, 0xFF80},
    {"inf", 17, 0x7E},
    {"inf", 17, 0x7F, kNoSaturate},
    {"1e400", 18, 0x7F, kFnuzNan},
    {"inf", 18, 0x80, kFnuzNan},
    {"-inf", 24, 0x00},
    // One rounding.
    {"1.000000059604644775390626", 1, 0x3F800001},
    {"1.000000059604644775390625", 1, 0x3F800000},
    {"464", 17, 0x7E, kNoSaturate},
    {"464.0001", 17, 0x7F, kNoSaturate},
    {"464.00000000000000000000000000000000000000001", 17, 0x7F, kNoSaturate},
    {"248", 18, 0x80, kNoSaturate},
    {"247.99999999999999999999999999999999999999999", 18, 0x7F, kNoSaturate},
    {"61440", 19, 0x7C, kNoSaturate},
    {"61439.9999999999999999999999999999999999999", 19, 0x7B, kNoSaturate},
    {"3.4028235677973366e38", 1, 0x7F7FFFFF},
    {"3.4028235677973367e38", 1, 0x7F800000},
    {"340282356779733661637539395458142568447", 1, 0x7F7FFFFF},
    {"340282356779733661637539395458142568448", 1, 0x7F800000},
    {"-1e-9", 18, 0x00},
    {"1.25e0", 24, 0x80},
    {"1.25", 24, 0x7F, kDown},
    {"0", 24, 0x00},
    {"0", 24, 0xFF, kNoSaturate},
    {"-1", 24, 0xFF, kNoSaturate},
    // Grammar.
    {" \t\n\v\f\r+1.\r\f\v\n\t ", 1, 0x3F800000},
    {".5E+0", 1, 0x3F000000},
    {"", 1, 0, {}, kNoNumber},
    {"0x1p0", 1, 0, {}, kNoNumber},
    {"1_000", 6, 0, {}, kNoNumber},
    {".", 1, 0, {}, kNoNumber},
    {"1e", 1, 0, {}, kNoNumber},
};

struct PublishedPrint {
  int from;
  std::uint64_t code;
  std::string_view numpy;
  std::string_view ort;
};

inline constexpr PublishedPrint kPublishedPrints[] = {
    {17, 0x7E, "450.0", "448"},
    {17, 0x3A, "1.2", "1.25"},
    {19, 0x7B, "60000.0", "57344"},
    {10, 0x7BFF, "65500.0", "65504"},
    {24, 0x83, "16.0", "16"},
    {24, 0x00, "5.877472e-39", "5.8774718e-39"},
    {24, 0xFF, "nan", "NaN"},
    {1, F32(1e-4), "1e-04", "9.9999997e-05"},
    {11, F64(1e-4), "0.0001", "0.0001"},
    {16, 0x5A0E, "10000000000000000.0", "9.9923617e+15"},
    {11, F64(0.1 + 0.2), "0.30000000000000004", "0.3"},
    {1, F32(0.296140194), "0.2961402", "0.29614019"},
    {1, F32(1e16), "1e+16", "1e+16"},
    {11, 1, "5e-324", "4.9406565e-324"},
    {11, F64(0.0), "0.0", "0"},
    {11, F64(-0.0), "-0.0", "-0"},
    {1, kMinusNanF32, "nan", "NaN"},
    {1, F32(kInf), "inf", "INF"},
    {11, F64(-kInf), "-inf", "-INF"},
    {9, 1, "True", "1"},
    {9, 0, "False", "0"},
    {9, 7, "True", "1"},
    {3, 0x80, "-128", "-128"},
    {13, 0xFFFFFFFFFFFFFFFF, "18446744073709551615", "18446744073709551615"},
    {7, 0x8000000000000000, "-9223372036854775808", "-9223372036854775808"},
    {26, 2, "-2", "-2"},
    {11, F64(123456789.0), "123456789.0", "1.2345679e+08"},
};

}  // namespace oracle

#endif  // TENSORCAST_TESTS_ORACLE_PUBLISHED_TEXTS_H_
