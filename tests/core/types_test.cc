// The table of types: its rows against the oracle's, names in every spelling, storage sizes.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "oracle/types.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
namespace {

TEST(Types, RowsAgreeWithTheOracles) {
  std::size_t fixed = 0;
  for (const TypeInfo& row : Types()) {
    if (row.type == DataType::kString) {
      EXPECT_EQ(row.bits, 0);
      continue;
    }
    ++fixed;
    const oracle::Row& other = oracle::RowOf(static_cast<int>(row.type));
    EXPECT_EQ(row.onnx_name, other.name);
    EXPECT_EQ(row.bits, other.bits) << row.name;
    EXPECT_EQ(row.is_float(), other.floating()) << row.name;
    EXPECT_EQ(row.is_integer(), other.integer()) << row.name;
    EXPECT_EQ(row.has_infinity(), other.infinity != 0) << row.name;
    EXPECT_EQ(row.has_nan(), other.nan != 0) << row.name;
    EXPECT_EQ(row.is_fnuz(), other.fnuz()) << row.name;
    EXPECT_EQ(row.is_packed(), other.bits < 8) << row.name;
  }
  EXPECT_EQ(fixed, oracle::kRows.size());
  EXPECT_EQ(Types().size(), fixed + 1);  // and string
}

TEST(Types, FindType) {
  const auto known = [](int id) {
    return id == 8 || std::any_of(oracle::kRows.begin(), oracle::kRows.end(),
                                  [id](const oracle::Row& row) { return row.id == id; });
  };
  for (int id = -3; id < 40; ++id) {
    const TypeInfo* info = FindType(static_cast<DataType>(id));
    const bool there = known(id);
    ASSERT_EQ(info != nullptr, there) << id;
    if (there) {
      EXPECT_EQ(static_cast<int>(info->type), id);
    }
    EXPECT_EQ(TypeName(static_cast<DataType>(id)) == "undefined", !there) << id;
  }
}

TEST(ParseType, CanonicalAndOnnxNames) {
  for (const TypeInfo& row : Types()) {
    EXPECT_EQ(ParseType(row.name), row.type) << row.name;
    EXPECT_EQ(ParseType(row.onnx_name), row.type) << row.onnx_name;
    std::string upper(row.name);
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    EXPECT_EQ(ParseType(upper), row.type) << upper;
  }
}

TEST(ParseType, SpellingsUsersKnow) {
  const std::pair<const char*, DataType> spellings[] = {
      {"float16", DataType::kFloat16},
      {"fp16", DataType::kFloat16},
      {"f16", DataType::kFloat16},
      {"half", DataType::kFloat16},
      {"F16", DataType::kFloat16},
      {"torch.float16", DataType::kFloat16},
      {"<f2", DataType::kFloat16},
      {"bf16", DataType::kBfloat16},
      {"BF16", DataType::kBfloat16},
      {"torch.bfloat16", DataType::kBfloat16},
      {"float", DataType::kFloat32},
      {"f32", DataType::kFloat32},
      {"fp32", DataType::kFloat32},
      {"float32", DataType::kFloat32},
      {"F32", DataType::kFloat32},
      {"<f4", DataType::kFloat32},
      {"double", DataType::kFloat64},
      {"f64", DataType::kFloat64},
      {"fp64", DataType::kFloat64},
      {"<f8", DataType::kFloat64},
      {"e4m3", DataType::kFloat8E4M3FN},
      {"fp8_e4m3fn", DataType::kFloat8E4M3FN},
      {"F8_E4M3", DataType::kFloat8E4M3FN},
      {"float8_e4m3fn", DataType::kFloat8E4M3FN},
      {"FLOAT8E4M3FN", DataType::kFloat8E4M3FN},
      {"torch.float8_e4m3fn", DataType::kFloat8E4M3FN},
      {"float8_e4m3fnuz", DataType::kFloat8E4M3FNUZ},
      {"e5m2", DataType::kFloat8E5M2},
      {"F8_E5M2", DataType::kFloat8E5M2},
      {"float8_e5m2", DataType::kFloat8E5M2},
      {"float8_e5m2fnuz", DataType::kFloat8E5M2FNUZ},
      {"e8m0", DataType::kFloat8E8M0},
      {"F8_E8M0", DataType::kFloat8E8M0},
      {"float8_e8m0fnu", DataType::kFloat8E8M0},
      {"e2m1", DataType::kFloat4E2M1},
      {"float4_e2m1fn", DataType::kFloat4E2M1},
      {"e2m3", DataType::kFloat6E2M3},
      {"float6_e2m3fn", DataType::kFloat6E2M3},
      {"e3m2", DataType::kFloat6E3M2},
      {"float6_e3m2fn", DataType::kFloat6E3M2},
      {"int8", DataType::kInt8},
      {"I8", DataType::kInt8},
      {"u8", DataType::kUint8},
      {"U8", DataType::kUint8},
      {"|u1", DataType::kUint8},
      {"i16", DataType::kInt16},
      {"I32", DataType::kInt32},
      {"i64", DataType::kInt64},
      {"int64", DataType::kInt64},
      {"<i8", DataType::kInt64},
      {"u16", DataType::kUint16},
      {"U32", DataType::kUint32},
      {"uint64", DataType::kUint64},
      {"bool", DataType::kBool},
      {"BOOL", DataType::kBool},
      {"|b1", DataType::kBool},
      {"int4", DataType::kInt4},
      {"u4", DataType::kUint4},
      {"int2", DataType::kInt2},
      {"uint2", DataType::kUint2},
      {"string", DataType::kString},
  };
  for (const auto& [name, type] : spellings) {
    const std::optional<DataType> parsed = ParseType(name);
    EXPECT_TRUE(parsed == type) << name << " is read as "
                                << (parsed ? TypeName(*parsed) : std::string_view("nothing"));
  }
}

TEST(ParseType, RefusesTheRest) {
  for (const char* name : {"", "_", "float7", "float128", "e4m4", "complex64", "int3", "uint",
                           "bfloat", "undefined", "float32x", ">f4", "e4m3fnuzz"}) {
    EXPECT_FALSE(ParseType(name).has_value()) << "\"" << name << "\"";
  }
  EXPECT_FALSE(ParseType(std::string(100000, 'f')).has_value());
  EXPECT_FALSE(ParseType(std::string_view("f\0", 2)).has_value());
}

// What is shown as a spelling is one, and of this type.
TEST(TypeSpellings, AreParsed) {
  for (const TypeInfo& row : Types()) {
    for (const std::string_view spelling : TypeSpellings(row.type)) {
      EXPECT_EQ(ParseType(spelling), row.type) << spelling;
      EXPECT_NE(spelling, row.name);
    }
  }
  EXPECT_EQ(TypeSpellings(DataType::kFloat16).size(), 3u);
  EXPECT_TRUE(TypeSpellings(DataType::kUndefined).empty());
}

TEST(NearestTypeNames, AreNearest) {
  using Names = std::array<std::string_view, 3>;
  EXPECT_EQ(NearestTypeNames("float17"), (Names{"float16", "float32", "float64"}));
  EXPECT_EQ(NearestTypeNames("FLOAT8E4M4"), (Names{"float8e5m2", "float8e8m0", "float8e4m3fn"}));
  EXPECT_EQ(NearestTypeNames("hlaf"), (Names{"float16", "", ""}));
  EXPECT_EQ(NearestTypeNames("uint9"), (Names{"uint8", "uint4", "uint2"}));
  // What is near to nothing is near to no type.
  for (const char* const name : {"", "x", "diff", "b.safetensors", "quantised"}) {
    EXPECT_EQ(NearestTypeNames(name), Names{}) << name;
  }
  // Anything is answered.
  for (const std::string& name :
       {std::string(), std::string(100000, '\xFF'), std::string("\0", 1)}) {
    EXPECT_EQ(NearestTypeNames(name), Names{}) << name.size();
  }
}

TEST(StorageBytes, CountsBits) {
  constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
  for (const TypeInfo& row : Types()) {
    if (row.bits == 0) {
      EXPECT_FALSE(StorageBytes(row.type, 1).has_value());
      continue;
    }
    const auto bits = static_cast<std::uint64_t>(row.bits);
    for (std::uint64_t n = 0; n < 70; ++n) {
      std::uint64_t bytes = 0;
      while (bytes * 8 < n * bits) ++bytes;
      EXPECT_EQ(StorageBytes(row.type, n), bytes) << row.name << " " << n;
    }
    // The last that fits, and the first that does not.
    const std::uint64_t last = (kHuge - 7) / bits;
    ASSERT_TRUE(StorageBytes(row.type, last).has_value()) << row.name;
    const auto exact = (static_cast<unsigned __int128>(last) * bits + 7) / 8;
    EXPECT_EQ(*StorageBytes(row.type, last), static_cast<std::uint64_t>(exact)) << row.name;
    EXPECT_FALSE(StorageBytes(row.type, kHuge).has_value()) << row.name;
    EXPECT_FALSE(StorageBytes(row.type, kHuge / bits + 1).has_value()) << row.name;
  }
  EXPECT_FALSE(StorageBytes(DataType::kUndefined, 1).has_value());
  EXPECT_FALSE(StorageBytes(static_cast<DataType>(14), 1).has_value());
}

TEST(Loss, EveryKindHasItsName) {
  for (std::size_t i = 0; i < kLossKinds; ++i) {
    EXPECT_GT(LossName(static_cast<Loss>(i)).size(), 2u);
  }
}

}  // namespace
}  // namespace tensorcast
