// Which tensors count as scaled by which: the names checkpoints use, and those that only look so.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/scale_companions.h"

#include <gtest/gtest.h>

namespace tensorcast::io {
namespace {

constexpr DataType kFp8 = DataType::kFloat8E4M3FN;
constexpr DataType kF32 = DataType::kFloat32;

using Named = std::pair<std::string, DataType>;

FileContents Contents(const std::vector<Named>& tensors) {
  FileContents contents;
  for (const auto& [name, type] : tensors) {
    TensorInfo info;
    info.name = name;
    info.type = type;
    info.shape = {64};
    info.elements = 64;
    contents.tensors.push_back(info);
  }
  return contents;
}

std::string Found(const FileContents& contents) {
  std::string text;
  for (const ScaledTensor& scaled : FindScaledTensors(contents)) {
    text += (text.empty() ? "" : "; ") + contents.tensors[scaled.tensor].name + " by " +
            scaled.companion;
  }
  return text;
}

TEST(ScaleCompanions, FindsThePairsCheckpointsUse) {
  EXPECT_EQ(Found(Contents({{"q.weight", kFp8}, {"q.weight_scale_inv", kF32}})),
            "q.weight by q.weight_scale_inv");
  EXPECT_EQ(Found(Contents({{"q.weight_scale", kF32}, {"q.weight", kFp8}})),
            "q.weight by q.weight_scale");
  EXPECT_EQ(Found(Contents({{"q", kFp8}, {"q.weight_scale", kF32}})), "q by q.weight_scale");
  EXPECT_EQ(Found(Contents({{"q.weight", kFp8}, {"q.scale_weight", kF32}})),
            "q.weight by q.scale_weight");
  EXPECT_EQ(Found(Contents({{"q.weight", kFp8}, {"q.scale", kF32}})), "q.weight by q.scale");
  EXPECT_EQ(Found(Contents({{"q", kFp8}, {"q.scale", kF32}})), "q by q.scale");
  EXPECT_EQ(Found(Contents({{"mlp_blocks", DataType::kUint8}, {"mlp_scales", DataType::kUint8}})),
            "mlp_blocks by mlp_scales");
  EXPECT_EQ(Found(Contents({{"q.weight", DataType::kFloat4E2M1},
                            {"q.weight_scale", kFp8},
                            {"q.weight_scale_2", kF32}})),
            "q.weight by q.weight_scale");
  EXPECT_EQ(Found(Contents({{"q.weight", DataType::kInt4}, {"q.scales", DataType::kFloat16}})),
            "q.weight by q.scales");
  EXPECT_EQ(Found(Contents({{"q.weight", DataType::kInt8}, {"q.weight_scale", kF32}})),
            "q.weight by q.weight_scale");
  EXPECT_EQ(Found(Contents(
                {{"q.weight", DataType::kFloat6E3M2}, {"q.weight_scale", DataType::kFloat8E8M0}})),
            "q.weight by q.weight_scale");
}

TEST(ScaleCompanions, LeavesWideWeightsAlone) {
  EXPECT_EQ(Found(Contents({{"norm.weight", kF32}, {"norm.scale", kF32}})), "");
  EXPECT_EQ(Found(Contents({{"norm.weight", DataType::kBfloat16}, {"norm.weight_scale", kF32}})),
            "");
  EXPECT_EQ(Found(Contents({{"norm.weight", DataType::kFloat16}, {"scaled_fp8", kFp8}})), "");
}

TEST(ScaleCompanions, LeavesWhatOnlyLooksSoAlone) {
  EXPECT_EQ(Found(Contents({{"q.weight", kFp8}, {"k.weight_scale", kF32}})), "");
  EXPECT_EQ(Found(Contents({{"q.weight", kFp8}, {"q.weight_scale", DataType::kInt64}})), "");
  EXPECT_EQ(Found(Contents({{"q.weight", kFp8}, {"q.input_scale", kF32}})), "");
  EXPECT_EQ(Found(Contents({{"mask", DataType::kBool}, {"mask_scale", kF32}})), "");
  EXPECT_EQ(Found(Contents({{"ids.weight", DataType::kInt8}, {"ids.scale", kF32}})), "");
  EXPECT_EQ(Found(Contents({{"x", DataType::kFloat8E8M0}, {"x_scale", kF32}})), "");
}

TEST(ScaleCompanions, NeedsASizeThatFits) {
  FileContents contents = Contents({{"q.weight", kFp8}, {"q.scale", kF32}});
  EXPECT_EQ(Found(contents), "q.weight by q.scale");
  contents.tensors[1].elements = 65;
  EXPECT_EQ(Found(contents), "");
  contents.tensors[1].elements = 0;
  EXPECT_EQ(Found(contents), "");
}

TEST(ScaleCompanions, FindsWhatIsPackedIntoWideIntegers) {
  EXPECT_EQ(Found(Contents({{"q.weight_packed", DataType::kInt32}, {"q.weight_scale", kF32}})),
            "q.weight_packed by q.weight_scale");
  EXPECT_EQ(Found(Contents({{"q.weight", DataType::kInt32}, {"q.weight_scale", kF32}})), "");
}

TEST(ScaleCompanions, TakesTheMarkerForEveryFp8TensorWithoutItsOwnScale) {
  EXPECT_EQ(Found(Contents({{"model.scaled_fp8", kFp8},
                            {"a.weight", kFp8},
                            {"b.weight", kFp8},
                            {"b.scale_weight", kF32},
                            {"c.weight", kF32}})),
            "a.weight by model.scaled_fp8; b.weight by b.scale_weight");
}

TEST(ScaleCompanions, ReadsTheMetadata) {
  FileContents contents = Contents({{"a.weight", kFp8}, {"b.weight", kFp8}, {"c", kFp8}});
  contents.metadata["_quantization_metadata"] =
      R"({"version":"1","layers":{"a":{"format":"float8_e4m3fn","b":{}},"c":{}},"b":{}})";
  const std::string by = " by __metadata__[\"_quantization_metadata\"]";
  EXPECT_EQ(Found(contents), "a.weight" + by + "; c" + by);
  // What cannot be read, or names no layers, is taken to speak of all.
  for (const char* const text : {"{", "{}", "[]", "7", ""}) {
    contents.metadata["_quantization_metadata"] = text;
    EXPECT_EQ(Found(contents), "a.weight" + by + "; b.weight" + by + "; c" + by) << text;
  }
  contents.metadata["_quantization_metadata"] = "{\"layers\":" + std::string(100'000, '[');
  EXPECT_EQ(FindScaledTensors(contents).size(), 3u);
}

}  // namespace
}  // namespace tensorcast::io
