// Which opset casts what: every pair at every opset, against the type lists of the operators' texts
// (github.com/onnx/onnx, docs/Changelog.md, "Cast" and "CastLike", "Type Constraints").
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "cast_models.h"

namespace {

using onnx_test::DataType;
using onnx_test::ModelBytes;
using onnx_test::Parsed;

// Numbers of TensorProto.DataType: bool, float16, float, double, int8 to int64, uint8 to uint64.
const std::set<int> kCast1 = {9, 10, 1, 11, 3, 5, 6, 7, 2, 4, 12, 13};
const std::set<int> kCast9 = {9, 10, 1, 11, 3, 5, 6, 7, 2, 4, 12, 13, 8};
const std::set<int> kCast13 = {9, 10, 1, 11, 3, 5, 6, 7, 2, 4, 12, 13, 8, 16};
const std::set<int> kCast19 = {9, 10, 1, 11, 3, 5, 6, 7, 2, 4, 12, 13, 8, 16, 17, 18, 19, 20};
const std::set<int> kCast21 = {9,  10, 1, 11, 3,  5,  6,  7,  2,  4,
                               12, 13, 8, 16, 17, 18, 19, 20, 21, 22};
const std::set<int> kCast23 = {9,  10, 1,  11, 3,  5,  6,  7,  2,  4, 12,
                               13, 8,  16, 17, 18, 19, 20, 21, 22, 23};
const std::set<int> kCast24 = {9,  10, 1,  11, 3,  5,  6,  7,  2,  4,  12,
                               13, 8,  16, 17, 18, 19, 20, 21, 22, 23, 24};
const std::set<int> kCast25 = {9, 10, 1,  11, 3,  5,  6,  7,  2,  4,  12, 13,
                               8, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26};
const std::set<int> kCast28 = {9,  10, 1,  11, 3,  5,  6,  7,  2,  4,  12, 13, 8,
                               16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28};

// One opset: what its Cast casts, and its CastLike (nothing: there is none).
struct Row {
  int opset;
  const std::set<int>* cast;
  const std::set<int>* cast_like;
};
const Row kRows[] = {
    {1, &kCast1, nullptr},    {2, &kCast1, nullptr},    {3, &kCast1, nullptr},
    {4, &kCast1, nullptr},    {5, &kCast1, nullptr},    {6, &kCast1, nullptr},
    {7, &kCast1, nullptr},    {8, &kCast1, nullptr},    {9, &kCast9, nullptr},
    {10, &kCast9, nullptr},   {11, &kCast9, nullptr},   {12, &kCast9, nullptr},
    {13, &kCast13, nullptr},  {14, &kCast13, nullptr},  {15, &kCast13, &kCast13},
    {16, &kCast13, &kCast13}, {17, &kCast13, &kCast13}, {18, &kCast13, &kCast13},
    {19, &kCast19, &kCast19}, {20, &kCast19, &kCast19}, {21, &kCast21, &kCast21},
    {22, &kCast21, &kCast21}, {23, &kCast23, &kCast23}, {24, &kCast24, &kCast24},
    {25, &kCast25, &kCast25}, {26, &kCast25, &kCast25}, {27, &kCast25, &kCast25},
    {28, &kCast28, &kCast25}, {29, &kCast28, &kCast25}, {1000, &kCast28, &kCast25},
};

// The 26 types by number and ONNX name.
const std::pair<int, const char*> kTypes[] = {
    {1, "FLOAT"},       {2, "UINT8"},           {3, "INT8"},          {4, "UINT16"},
    {5, "INT16"},       {6, "INT32"},           {7, "INT64"},         {8, "STRING"},
    {9, "BOOL"},        {10, "FLOAT16"},        {11, "DOUBLE"},       {12, "UINT32"},
    {13, "UINT64"},     {16, "BFLOAT16"},       {17, "FLOAT8E4M3FN"}, {18, "FLOAT8E4M3FNUZ"},
    {19, "FLOAT8E5M2"}, {20, "FLOAT8E5M2FNUZ"}, {21, "UINT4"},        {22, "INT4"},
    {23, "FLOAT4E2M1"}, {24, "FLOAT8E8M0"},     {25, "UINT2"},        {26, "INT2"},
    {27, "FLOAT6E2M3"}, {28, "FLOAT6E3M2"},
};

TEST(Versions, CastOfEveryPairAtEveryOpset) {
  for (const Row& row : kRows) {
    for (const auto& [from, from_name] : kTypes) {
      for (const auto& [to, to_name] : kTypes) {
        const std::string attribute = row.opset < 6 ? onnx_test::TextAttribute("to", to_name)
                                                    : onnx_test::IntAttribute("to", to);
        const Parsed parsed(onnx_test::CastModel(row.opset, static_cast<DataType>(from),
                                                 static_cast<DataType>(to), attribute));
        const bool legal = row.cast->count(from) != 0 && row.cast->count(to) != 0;
        ASSERT_EQ(parsed.status.ok(), legal)
            << row.opset << ": " << from_name << " -> " << to_name << ' ' << parsed.error;
        if (!legal) {
          ASSERT_EQ(parsed.status.code(), onnx_test::StatusCode::kBadFile) << parsed.error;
          ASSERT_NE(parsed.error.find("node \"c\""), std::string::npos) << parsed.error;
        }
      }
    }
  }
}

TEST(Versions, CastLikeOfEveryPairAtEveryOpset) {
  for (const Row& row : kRows) {
    for (const auto& [from, from_name] : kTypes) {
      for (const auto& [to, to_name] : kTypes) {
        ModelBytes model;
        model.opset = row.opset;
        model.inputs = {{"x", static_cast<DataType>(from)}, {"t", static_cast<DataType>(to)}};
        model.outputs = {{"y", static_cast<DataType>(to)}};
        model.nodes = {{"CastLike", {"x", "t"}, {"y"}, "", "like"}};
        const Parsed parsed(model);
        const bool legal = row.cast_like != nullptr && row.cast_like->count(from) != 0 &&
                           row.cast_like->count(to) != 0;
        ASSERT_EQ(parsed.status.ok(), legal)
            << row.opset << ": " << from_name << " -> " << to_name << ' ' << parsed.error;
      }
    }
  }
}

TEST(Versions, ToIsTextUpToOpset6AndANumberFrom6On) {
  for (int opset = 1; opset <= 29; ++opset) {
    const auto loads = [&](const std::string& attribute) {
      return Parsed(onnx_test::CastModel(opset, DataType::kFloat32, DataType::kFloat16, attribute))
          .status.ok();
    };
    EXPECT_EQ(loads(onnx_test::TextAttribute("to", "FLOAT16")), opset <= 6) << opset;
    EXPECT_EQ(loads(onnx_test::TextAttribute("to", "float16")), opset <= 6) << opset;
    EXPECT_EQ(loads(onnx_test::IntAttribute("to", 10)), opset >= 6) << opset;
  }
}

TEST(Versions, AttributesCameWithTheirOpsets) {
  for (int opset = 6; opset <= 29; ++opset) {
    for (const bool is_like : {false, true}) {
      if (is_like && opset < 15) continue;
      const auto loads = [&](const std::string& attribute) {
        ModelBytes model = onnx_test::CastModel(
            opset, DataType::kFloat32, DataType::kFloat16,
            (is_like ? std::string() : onnx_test::IntAttribute("to", 10)) + attribute);
        if (is_like) {
          model.nodes[0].op = "CastLike";
          model.nodes[0].inputs = {"x", "t"};
          model.inputs.push_back({"t", DataType::kFloat16});
        }
        return Parsed(model).status.ok();
      };
      EXPECT_TRUE(loads("")) << opset;
      EXPECT_EQ(loads(onnx_test::IntAttribute("saturate", 1)), opset >= 19) << opset;
      for (const char* mode : {"up", "down", "nearest"}) {
        EXPECT_EQ(loads(onnx_test::TextAttribute("round_mode", mode)), opset >= 24) << opset;
      }
    }
  }
}

TEST(Versions, NoOpsetHasNoCast) {
  for (const std::int64_t opset : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    EXPECT_EQ(Parsed(onnx_test::CastModel(opset, DataType::kFloat32, DataType::kFloat16,
                                          onnx_test::IntAttribute("to", 10)))
                  .status.code(),
              onnx_test::StatusCode::kBadFile);
  }
  EXPECT_TRUE(Parsed(onnx_test::CastModel(INT64_MAX, DataType::kFloat32, DataType::kFloat16,
                                          onnx_test::IntAttribute("to", 10)))
                  .status.ok());
}

}  // namespace
