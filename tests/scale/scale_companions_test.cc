// Which tensors count as scaled by which: the names checkpoints use, and those that only look so.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scale_companions.h"

#include <gtest/gtest.h>

#include "test_files.h"

namespace tensorcast::scale {
namespace {

using formats::FileContents;
using formats::TensorInfo;
using io::ErrorOf;
using io::FileTest;
using io::ReplaceAll;
using io::Tensor;
using io::WriteBytes;

constexpr DataType kFp8 = DataType::kFloat8E4M3FN;
constexpr DataType kF32 = DataType::kFloat32;
constexpr DataType kBf16 = DataType::kBfloat16;
constexpr DataType kU8 = DataType::kUint8;
constexpr DataType kI32 = DataType::kInt32;

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

std::string Found(const FileContents& contents, const std::string& path = "") {
  std::string text;
  for (const ScaledTensor& scaled :
       FindScaleCompanions(contents, path, ReadQuantizationConfig(path)).scaled) {
    text += (text.empty() ? "" : "; ") + contents.tensors[scaled.tensor].name + " by " +
            scaled.companion + (scaled.file.empty() ? "" : " of " + scaled.file);
  }
  return text;
}

std::string Companions(const FileContents& contents, const std::string& path = "") {
  std::string text;
  for (const Companion& companion :
       FindScaleCompanions(contents, path, ReadQuantizationConfig(path)).companions) {
    text += (text.empty() ? "" : "; ") + contents.tensors[companion.tensor].name + ": " +
            companion.Text();
  }
  return text;
}

std::string Unscaled(const FileContents& contents, const std::string& path = "") {
  std::string text;
  for (const std::size_t i :
       FindScaleCompanions(contents, path, ReadQuantizationConfig(path)).unscaled) {
    text += (text.empty() ? "" : "; ") + contents.tensors[i].name;
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
  EXPECT_EQ(FindScaleCompanions(contents, "", {}).scaled.size(), 3u);
}

FileContents Shaped(const std::vector<TensorInfo>& tensors) {
  FileContents contents;
  contents.tensors = tensors;
  return contents;
}

// The layouts below are those that the libraries named write, with their shapes.
TEST(ScaleCompanions, KnowsEveryCompanionOfALayout) {
  EXPECT_EQ(Companions(Shaped({Tensor("q.weight", kFp8, {256, 384}),
                               Tensor("q.weight_scale_inv", kF32, {2, 3}),
                               Tensor("norm.weight", kBf16, {384})})),
            "q.weight_scale_inv: scale of q.weight");
  // compressed-tensors: float-quantized with a scaled cache, int-quantized, nvfp4-pack-quantized.
  EXPECT_EQ(Companions(Shaped({Tensor("a.k_proj.weight", kFp8, {64, 32}),
                               Tensor("a.k_proj.weight_scale", kBf16, {64, 1}),
                               Tensor("a.k_proj.input_scale", kBf16, {1}),
                               Tensor("a.k_scale", kBf16, {1})})),
            "a.k_proj.weight_scale: scale of a.k_proj.weight; "
            "a.k_proj.input_scale: activation scale of a.k_proj.weight; "
            "a.k_scale: activation scale of a.k_proj.weight");
  EXPECT_EQ(Companions(Shaped({Tensor("q.weight", DataType::kInt8, {64, 32}),
                               Tensor("q.weight_scale", kBf16, {64, 1}),
                               Tensor("q.weight_zero_point", DataType::kInt8, {64, 1})})),
            "q.weight_scale: scale of q.weight; q.weight_zero_point: zero point of q.weight");
  EXPECT_EQ(
      Companions(Shaped(
          {Tensor("q.weight_packed", kU8, {64, 32}), Tensor("q.weight_scale", kFp8, {64, 4}),
           Tensor("q.weight_global_scale", kF32, {1}), Tensor("q.input_global_scale", kF32, {1})})),
      "q.weight_scale: scale of q.weight_packed; "
      "q.weight_global_scale: second scale of q.weight_packed; "
      "q.input_global_scale: activation scale of q.weight_packed");
  EXPECT_EQ(Companions(Shaped({Tensor("q.weight_packed", kI32, {64, 8}),
                               Tensor("q.weight_scale", kBf16, {64, 2}),
                               Tensor("q.weight_shape", DataType::kInt64, {2})})),
            "q.weight_scale: scale of q.weight_packed; q.weight_shape: shape of q.weight_packed");
  // ModelOpt: NVFP4, AWQ.
  EXPECT_EQ(
      Companions(Shaped({Tensor("q.weight", kU8, {64, 32}), Tensor("q.weight_scale", kFp8, {64, 4}),
                         Tensor("q.weight_scale_2", kF32, {}), Tensor("q.input_scale", kF32, {}),
                         Tensor("q.pre_quant_scale", kBf16, {64})})),
      "q.weight_scale: scale of q.weight; q.weight_scale_2: second scale of q.weight; "
      "q.input_scale: activation scale of q.weight; "
      "q.pre_quant_scale: activation scale of q.weight");
  // gpt-oss: codes of float8e8m0 as bytes.
  EXPECT_EQ(Companions(Shaped({Tensor("m.gate_up_proj_blocks", kU8, {2, 64, 3, 16}),
                               Tensor("m.gate_up_proj_scales", kU8, {2, 64, 3}),
                               Tensor("m.gate_up_proj_bias", kBf16, {2, 64})})),
            "m.gate_up_proj_scales: scale of m.gate_up_proj_blocks");
  // GPTQ: the scales are wider than the words the codes are packed into.
  EXPECT_EQ(Companions(Shaped(
                {Tensor("q.qweight", kI32, {16, 64}), Tensor("q.qzeros", kI32, {1, 8}),
                 Tensor("q.scales", DataType::kFloat16, {1, 64}), Tensor("q.g_idx", kI32, {128})})),
            "q.qzeros: zero point of q.qweight; q.scales: scale of q.qweight; "
            "q.g_idx: group index of q.qweight");
  // AWQ packs along the other dimension.
  EXPECT_EQ(Companions(Shaped({Tensor("q.qweight", kI32, {128, 8}),
                               Tensor("q.scales", DataType::kFloat16, {1, 64})})),
            "q.scales: scale of q.qweight");
  // bitsandbytes of 4 and 8 bits; the bytes may be kept in a column of bfloat16.
  EXPECT_EQ(
      Companions(Shaped({Tensor("q.weight", kU8, {1024, 1}), Tensor("q.weight.absmax", kU8, {32}),
                         Tensor("q.weight.nested_absmax", kF32, {1}),
                         Tensor("q.weight.nested_quant_map", kF32, {256}),
                         Tensor("q.weight.quant_map", kF32, {16}),
                         Tensor("q.weight.quant_state.bitsandbytes__nf4", kU8, {90})})),
      "q.weight.absmax: scale of q.weight; q.weight.nested_absmax: second scale of "
      "q.weight; q.weight.nested_quant_map: code map of q.weight; q.weight.quant_map: code "
      "map of q.weight; q.weight.quant_state.bitsandbytes__nf4: quantisation state of "
      "q.weight");
  EXPECT_EQ(
      Found(Shaped({Tensor("q.weight", kBf16, {512, 1}), Tensor("q.weight.absmax", kF32, {32})})),
      "q.weight by q.weight.absmax");
  EXPECT_EQ(Companions(Shaped({Tensor("q.weight", DataType::kInt8, {64, 32}),
                               Tensor("q.SCB", kF32, {64}), Tensor("q.weight_format", kU8, {})})),
            "q.SCB: scale of q.weight; q.weight_format: quantisation state of q.weight");
  // ComfyUI.
  EXPECT_EQ(
      Companions(Shaped({Tensor("scaled_fp8", kFp8, {2}), Tensor("q.weight", kFp8, {8, 8}),
                         Tensor("q.scale_weight", kF32, {}), Tensor("q.scale_input", kF32, {}),
                         Tensor("q.comfy_quant", kU8, {26})})),
      "scaled_fp8: quantisation state of the file's float8 tensors; "
      "q.scale_weight: scale of q.weight; q.scale_input: activation scale of q.weight; "
      "q.comfy_quant: quantisation state of q.weight");
  // MLX.
  EXPECT_EQ(
      Companions(Shaped({Tensor("q.weight", DataType::kUint32, {64, 16}),
                         Tensor("q.scales", kBf16, {64, 2}), Tensor("q.biases", kBf16, {64, 2})})),
      "q.scales: scale of q.weight; q.biases: zero point of q.weight");
  // DeepSeek V4: a scale whose type holds nothing else, beside two codes in each int8.
  EXPECT_EQ(Companions(Shaped({Tensor("e.weight", DataType::kInt8, {64, 64}),
                               Tensor("e.scale", DataType::kFloat8E8M0, {64, 4})})),
            "e.scale: scale of e.weight");
  // Mistral, torchao, quanto, HQQ, SVDQuant; a cache's scales beside weights that have theirs.
  EXPECT_EQ(
      Companions(Shaped({Tensor("q.weight", kFp8, {64, 32}), Tensor("q.qscale_weight", kBf16, {}),
                         Tensor("q.qscale_act", kBf16, {}), Tensor("attn.k_scale", kF32, {}),
                         Tensor("attn.v_scale", kF32, {})})),
      "q.qscale_weight: scale of q.weight; q.qscale_act: activation scale of q.weight; "
      "attn.k_scale: activation scale of attn; attn.v_scale: activation scale of attn");
  EXPECT_EQ(Companions(Shaped({Tensor("q.weight_qdata", kFp8, {64, 32}),
                               Tensor("q.weight_scale", kF32, {64, 1})})),
            "q.weight_scale: scale of q.weight_qdata");
  EXPECT_EQ(Companions(Shaped({Tensor("q.weight._data", DataType::kInt8, {64, 32}),
                               Tensor("q.weight._scale", kF32, {64, 1})})),
            "q.weight._scale: scale of q.weight._data");
  // quanto keeps what it knows of activations, ones where it knows nothing, beside every layer,
  // norms too; of fewer than 8 bits codes are packed, and have a shift.
  EXPECT_EQ(
      Companions(Shaped(
          {Tensor("q.weight._data", DataType::kInt8, {64, 32}),
           Tensor("q.weight._scale", kBf16, {64, 1}), Tensor("q.input_scale", kBf16, {}),
           Tensor("q.output_scale", kBf16, {}), Tensor("k.weight._data._data", kU8, {16, 32}),
           Tensor("k.weight._scale", kBf16, {1, 32}), Tensor("k.weight._shift", kBf16, {1, 32}),
           Tensor("k.input_scale", kF32, {}), Tensor("k.output_scale", kF32, {}),
           Tensor("norm.weight", kBf16, {64}), Tensor("norm.input_scale", kBf16, {}),
           Tensor("norm.output_scale", kBf16, {})})),
      "q.weight._scale: scale of q.weight._data; "
      "q.input_scale: activation scale of q.weight._data; "
      "q.output_scale: activation scale of q.weight._data; "
      "k.weight._scale: scale of k.weight._data._data; "
      "k.weight._shift: zero point of k.weight._data._data; "
      "k.input_scale: activation scale of k.weight._data._data; "
      "k.output_scale: activation scale of k.weight._data._data; "
      "norm.input_scale: activation scale of norm; norm.output_scale: activation scale of norm");
  EXPECT_EQ(Companions(Shaped({Tensor("q.W_q", kU8, {64, 32}), Tensor("q.scale", kBf16, {64, 1}),
                               Tensor("q.zero", kBf16, {64, 1})})),
            "q.scale: scale of q.W_q; q.zero: zero point of q.W_q");
  EXPECT_EQ(
      Companions(Shaped({Tensor("q.qweight", kI32, {64, 32}), Tensor("q.wscales", kBf16, {4, 64}),
                         Tensor("q.smooth_factor", kBf16, {64})})),
      "q.wscales: scale of q.qweight; q.smooth_factor: activation scale of q.qweight");
  // ONNX Runtime: of weights, and of what is quantised as it runs.
  EXPECT_EQ(
      Companions(Shaped({Tensor("w_quantized", DataType::kInt8, {64, 32}),
                         Tensor("w_scale", kF32, {}), Tensor("w_zero_point", DataType::kInt8, {}),
                         Tensor("x_scale", kF32, {}), Tensor("x_zero_point", kU8, {})})),
      "w_scale: scale of w_quantized; w_zero_point: zero point of w_quantized; "
      "x_scale: scale of x");
}

TEST(ScaleCompanions, BelievesNoNameAlone) {
  EXPECT_EQ(Companions(Shaped({Tensor("norm.weight", kF32, {64}), Tensor("norm.scale", kF32, {64}),
                               Tensor("ln/scale", kF32, {64}), Tensor("scale", kF32, {1}),
                               Tensor("logit_scale", kF32, {}), Tensor("a.k_scale", kF32, {1}),
                               Tensor("b.weight_scale", kF32, {1}), Tensor("b.weight", kBf16, {8}),
                               Tensor("stats.absmax", kF32, {4}), Tensor("stats", kF32, {8, 4}),
                               Tensor("ids.weight", DataType::kInt8, {64}),
                               Tensor("ids.scale", kF32, {64})})),
            "");
  // A grid that could not lie over the weight: whose it is, is plain, and that it cannot be
  // applied.
  const FileContents misfit =
      Shaped({Tensor("q.weight", kFp8, {128, 4}), Tensor("q.weight_scale", kF32, {4, 100})});
  EXPECT_EQ(Companions(misfit), "q.weight_scale: scale of q.weight");
  EXPECT_EQ(FindScaleCompanions(misfit, "", {}).misfits.size(), 1u);
  EXPECT_TRUE(FindScaleCompanions(misfit, "", {}).scaled.empty());
  EXPECT_EQ(Companions(Shaped(
                {Tensor("q.weight", kFp8, {128, 4}), Tensor("q.weight_scale", kF32, {100, 1, 4})})),
            "q.weight_scale: scale of q.weight");
}

TEST(ScaleCompanions, SaysWhatHasNoScale) {
  EXPECT_EQ(Unscaled(Contents({{"a.weight", kFp8},
                               {"b.weight", kFp8},
                               {"b.weight_scale", kFp8},
                               {"c.weight", DataType::kFloat4E2M1},
                               {"d.scale", DataType::kFloat8E8M0},
                               {"e.weight", DataType::kInt8},
                               {"f.weight", kF32}})),
            "a.weight; c.weight");
  EXPECT_EQ(Unscaled(Contents({{"a.weight", kFp8}, {"scaled_fp8", kFp8}})), "");
}

using ScaleCompanionsBeside = FileTest;

TEST_F(ScaleCompanionsBeside, LooksIntoTheIndexForWhatIsInOtherFiles) {
  const FileContents first =
      Shaped({Tensor("q.weight", kFp8, {8, 8}), Tensor("k.weight_scale_inv", kF32, {1, 1}),
              Tensor("norm.scale", kF32, {8})});
  const std::string path = Path("model-00001-of-00002.safetensors");
  EXPECT_EQ(Found(first, path), "");
  EXPECT_EQ(Unscaled(first, path), "q.weight");
  WriteBytes(Path("model.safetensors.index.json"), R"({
    "metadata": {"total_size": 200, "weight_map": {"q.weight_scale": "no"}}, "weight_map": {
    "q.weight": "model-00001-of-00002.safetensors",
    "q.weight_scale_inv": "../../x/model-00002-of-00002.safetensors",
    "k.weight": "model-00002-of-00002.safetensors",
    "norm.weight": "model-00002-of-00002.safetensors",
    "k.weight_scale_inv": "model-00001-of-00002.safetensors"}})");
  EXPECT_EQ(Found(first, path),
            "q.weight by q.weight_scale_inv of ../../x/model-00002-of-00002.safetensors");
  EXPECT_EQ(Companions(first, path), "k.weight_scale_inv: scale of k.weight");
  EXPECT_EQ(Unscaled(first, path), "");
  // Of another name, and of no checkpoint's.
  EXPECT_EQ(Unscaled(first, Path("alone.safetensors")), "");
  EXPECT_EQ(Unscaled(first, Path("model.npz")), "q.weight");
  std::filesystem::rename(Path("model.safetensors.index.json"),
                          Path("unet.safetensors.index.json"));
  EXPECT_EQ(Unscaled(first, path), "q.weight");
  EXPECT_EQ(Unscaled(first, Path("unet-00001-of-00002.safetensors")), "");
}

TEST_F(ScaleCompanionsBeside, RefusesAnIndexThatCannotBeRead) {
  const FileContents contents = Contents({{"q.weight", kFp8}});
  const std::string path = Path("model.safetensors");
  const std::string index = Path("model.safetensors.index.json");
  const auto error = [&](const std::string& text) {
    WriteBytes(index, text);
    return ReplaceAll(
        ErrorOf([&] { FindScaleCompanions(contents, path, ReadQuantizationConfig(path)); }),
        directory() + "/", "");
  };
  const std::string tail =
      "; it says where the scales of model.safetensors are: mend it, or move it away";
  const std::string name = "3 model.safetensors.index.json: ";
  EXPECT_EQ(error(""), name + "is not JSON at offset 0" + tail);
  EXPECT_EQ(error("{\"weight_map\":"), name + "is not JSON at offset 14" + tail);
  EXPECT_EQ(error(std::string("{}\0", 3)), name + "is not JSON: a NUL byte at offset 2" + tail);
  EXPECT_EQ(error("{}"), name + "has no object \"weight_map\"" + tail);
  EXPECT_EQ(error("[]"), name + "has no object \"weight_map\"" + tail);
  EXPECT_EQ(error(R"({"weight_map": ["a"]})"), name + "has no object \"weight_map\"" + tail);
  EXPECT_EQ(error(R"({"weight_map": {"q": 1}})"),
            name + "gives \"q\" a value in \"weight_map\" that is not a file name" + tail);
  EXPECT_EQ(error(R"({"weight_map": {"q": {"r": "s"}}})"),
            name + "gives \"q\" a value in \"weight_map\" that is not a file name" + tail);
  EXPECT_EQ(error("{\"weight_map\":" + std::string(100'000, '[')).substr(0, name.size()), name);
  // It is nothing to a file whose tensors leave no question.
  EXPECT_EQ(Companions(Contents({{"q.weight", kF32}}), path), "");
  EXPECT_EQ(Found(Contents({{"q.weight", kFp8}, {"q.weight_scale", kF32}}), path),
            "q.weight by q.weight_scale");
}

TEST_F(ScaleCompanionsBeside, BelievesMoreWhereTheConfigurationSaysQuantised) {
  const FileContents contents = Contents({{"q.weight", DataType::kInt8},
                                          {"q.scale", kF32},
                                          {"a.k_scale", kF32},
                                          {"b.weight_scale", kF32},
                                          {"norm.weight", kF32},
                                          {"norm.scale", kF32}});
  const std::string path = Path("model.safetensors");
  const std::string both =
      "q.scale: scale of q.weight; a.k_scale: activation scale of a; b.weight_scale: "
      "scale of b";
  EXPECT_EQ(Companions(contents, path), "");
  for (const char* const text :
       {R"({"quantization_config": {"quant_method": "x"}})", R"({"compression_config": {}})",
        R"({"text_config": {"quantization_config": {}}})", "", "{"}) {
    WriteBytes(Path("config.json"), text);
    EXPECT_EQ(Companions(contents, path), both) << text;
  }
  for (const char* const text : {R"({"quantization_config": null})", R"({"dtype": "bfloat16"})"}) {
    WriteBytes(Path("config.json"), text);
    EXPECT_EQ(Companions(contents, path), "") << text;
  }
  WriteBytes(Path("hf_quant_config.json"), "{}");
  EXPECT_EQ(Companions(contents, path), both);
}

}  // namespace
}  // namespace tensorcast::scale
