// The oracle's own table of the fixed-width types, written from docs/semantics.md section 1 in
// another shape than the library's: by precision, least positive value and the codes at the edges,
// with neither exponent widths nor biases. Includes nothing of the library.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ORACLE_TYPES_H_
#define TENSORCAST_TESTS_ORACLE_TYPES_H_

#include <array>
#include <cstdint>

namespace oracle {

enum class Kind { kBoolean, kUnsigned, kSigned, kFloating, kPowerOfTwo };

struct Row {
  int id;            // ONNX's number
  const char* name;  // ONNX's name
  int bits;
  Kind kind;
  // Of floating types only.
  int precision;           // significant binary digits, the implicit one included
  int least;               // log2 of the least positive value
  std::uint64_t largest;   // code of the largest finite value
  std::uint64_t infinity;  // code of +Inf; 0: has none
  std::uint64_t nan;       // code of the canonical positive (FNUZ: the only) NaN; 0: has none
  std::uint64_t minus;     // the code bit that negates; 0: has no sign
  bool minus_zero;         // has a negative zero

  constexpr bool floating() const { return kind == Kind::kFloating || kind == Kind::kPowerOfTwo; }
  constexpr bool integer() const { return kind == Kind::kUnsigned || kind == Kind::kSigned; }
  // float32, float64, float16 and bfloat16 carry NaN payloads to one another.
  constexpr bool payload() const { return kind == Kind::kFloating && bits >= 16; }
  constexpr bool fnuz() const { return kind == Kind::kFloating && nan == minus; }
  constexpr bool float8() const { return kind == Kind::kFloating && bits == 8; }
  constexpr bool finite_only() const { return kind == Kind::kFloating && nan == 0; }
  constexpr std::uint64_t mask() const { return bits == 64 ? ~0ull : (1ull << bits) - 1; }
};

inline constexpr auto kRows = std::to_array<Row>({
    {9, "BOOL", 8, Kind::kBoolean, 0, 0, 0, 0, 0, 0, false},
    {25, "UINT2", 2, Kind::kUnsigned, 0, 0, 0, 0, 0, 0, false},
    {21, "UINT4", 4, Kind::kUnsigned, 0, 0, 0, 0, 0, 0, false},
    {2, "UINT8", 8, Kind::kUnsigned, 0, 0, 0, 0, 0, 0, false},
    {4, "UINT16", 16, Kind::kUnsigned, 0, 0, 0, 0, 0, 0, false},
    {12, "UINT32", 32, Kind::kUnsigned, 0, 0, 0, 0, 0, 0, false},
    {13, "UINT64", 64, Kind::kUnsigned, 0, 0, 0, 0, 0, 0, false},
    {26, "INT2", 2, Kind::kSigned, 0, 0, 0, 0, 0, 0, false},
    {22, "INT4", 4, Kind::kSigned, 0, 0, 0, 0, 0, 0, false},
    {3, "INT8", 8, Kind::kSigned, 0, 0, 0, 0, 0, 0, false},
    {5, "INT16", 16, Kind::kSigned, 0, 0, 0, 0, 0, 0, false},
    {6, "INT32", 32, Kind::kSigned, 0, 0, 0, 0, 0, 0, false},
    {7, "INT64", 64, Kind::kSigned, 0, 0, 0, 0, 0, 0, false},
    {23, "FLOAT4E2M1", 4, Kind::kFloating, 2, -1, 0x7, 0, 0, 0x8, true},
    {27, "FLOAT6E2M3", 6, Kind::kFloating, 4, -3, 0x1F, 0, 0, 0x20, true},
    {28, "FLOAT6E3M2", 6, Kind::kFloating, 3, -4, 0x1F, 0, 0, 0x20, true},
    {17, "FLOAT8E4M3FN", 8, Kind::kFloating, 4, -9, 0x7E, 0, 0x7F, 0x80, true},
    {18, "FLOAT8E4M3FNUZ", 8, Kind::kFloating, 4, -10, 0x7F, 0, 0x80, 0x80, false},
    {19, "FLOAT8E5M2", 8, Kind::kFloating, 3, -16, 0x7B, 0x7C, 0x7E, 0x80, true},
    {20, "FLOAT8E5M2FNUZ", 8, Kind::kFloating, 3, -17, 0x7F, 0, 0x80, 0x80, false},
    {24, "FLOAT8E8M0", 8, Kind::kPowerOfTwo, 1, -127, 0xFE, 0, 0xFF, 0, false},
    {10, "FLOAT16", 16, Kind::kFloating, 11, -24, 0x7BFF, 0x7C00, 0x7E00, 0x8000, true},
    {16, "BFLOAT16", 16, Kind::kFloating, 8, -133, 0x7F7F, 0x7F80, 0x7FC0, 0x8000, true},
    {1, "FLOAT", 32, Kind::kFloating, 24, -149, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x80000000,
     true},
    {11, "DOUBLE", 64, Kind::kFloating, 53, -1074, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000,
     0x7FF8000000000000, 0x8000000000000000, true},
});

// The row of an ONNX number; the program ends where there is none.
const Row& RowOf(int id);

}  // namespace oracle

#endif  // TENSORCAST_TESTS_ORACLE_TYPES_H_
