// The types of GGUF's tensors: how many values stand in a block, and in how many bytes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_GGUF_TYPES_H_
#define TENSORCAST_SRC_FORMATS_GGUF_TYPES_H_

#include <cstdint>
#include <string_view>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::formats {

struct GgufType {
  std::uint32_t id;
  std::string_view name;
  std::uint32_t values;                  // of a block, which never crosses a row
  std::uint32_t bytes;                   // of a block
  DataType type = DataType::kUndefined;  // kUndefined: blocks of codes and scales
};

// Those that files hold.
inline constexpr GgufType kGgufTypes[] = {
    {0, "F32", 1, 4, DataType::kFloat32},
    {1, "F16", 1, 2, DataType::kFloat16},
    {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},
    {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},
    {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},
    {12, "Q4_K", 256, 144},
    {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1, DataType::kInt8},
    {25, "I16", 1, 2, DataType::kInt16},
    {26, "I32", 1, 4, DataType::kInt32},
    {27, "I64", 1, 8, DataType::kInt64},
    {28, "F64", 1, 8, DataType::kFloat64},
    {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2, DataType::kBfloat16},
    {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},
    {39, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
    {42, "Q2_0", 64, 18},
};

// Those that no file holds: llama.cpp removed them, or computes with them alone.
struct UnreadGgufType {
  std::uint32_t id;
  std::string_view name;
  bool is_removed = true;
};
inline constexpr UnreadGgufType kUnreadGgufTypes[] = {
    {4, "Q4_2"},      {5, "Q4_3"},      {9, "Q8_1", false}, {15, "Q8_K", false}, {31, "Q4_0_4_4"},
    {32, "Q4_0_4_8"}, {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"},  {38, "IQ4_NL_8_8"},
};

constexpr const GgufType* FindGgufType(std::uint32_t id) {
  for (const GgufType& row : kGgufTypes) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_GGUF_TYPES_H_
