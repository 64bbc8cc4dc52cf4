// GGUF files written: byte for byte what was read, every plain type, shapes that GGUF does not
// have, keys of diffusion models, and what it cannot hold.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf_architecture.h"
#include "gguf_bytes.h"

namespace tensorcast::io {
namespace {

using formats::FileContents;
using formats::TensorInfo;

constexpr const char* kFlux = "double_blocks.0.img_attn.proj.weight";

class GgufWriter : public FileTest {
 protected:
  // What a reader says of the file that `contents` make, each tensor of one byte repeated.
  std::shared_ptr<const formats::TensorReader> Written(const FileContents& contents) {
    const std::string path = Path("written.gguf");
    const auto writer = formats::CreateTensorFile(path, contents, {true, {}});
    for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
      const std::string bytes(contents.tensors[i].bytes, static_cast<char>('a' + i));
      writer->Write(i, 0, std::as_bytes(std::span(bytes)));
    }
    writer->Commit();
    EXPECT_EQ(std::filesystem::file_size(path), writer->file_bytes());
    return Open(path);
  }
  std::string Refusal(const FileContents& contents) {
    const std::string path = Path("refused.gguf");
    return ReplaceAll(ErrorOf([&] { formats::CheckTensorFile(path, contents, {}); }), path, "FILE");
  }
};

// The keys of every kind, in their order; what tells of the old container is left out.
TEST_F(GgufWriter, KeysAsTheyStood) {
  const std::vector<std::string> kept = {
      GgufKey("general.architecture", "llama"),
      GgufKey("a.number", 0, 7, 1),
      GgufKey("a.truth", 7, 1, 1),
      GgufKey("a.wide", 11, static_cast<std::uint64_t>(-3), 8),
      GgufArray("a.words", 8, 9, ReplaceAll("xxxxxxxxx", "x", GgufText("word"))),
      GgufKey("\xFF", "no UTF-8 \xFE")};
  GgufParts parts;
  parts.keys = kept;
  parts.keys.insert(parts.keys.begin() + 2, GgufKey("general.alignment", 4, 64, 4));
  parts.keys.push_back(GgufKey("general.file_type", 4, 15, 4));
  parts.keys.push_back(GgufArray("comfy.gguf.orig_shape.w", 5, 1, LittleEndian(6, 4)));
  parts.alignment = 64;
  parts.infos = {GgufInfo("w", {3, 2}, 0, 0)};
  parts.data = std::string(24, 'a');
  WriteBytes(Path("x.gguf"), Gguf(parts));
  const auto before = Open(Path("x.gguf"));
  EXPECT_EQ(before->contents().tensors[0].shape, (std::vector<std::uint64_t>{6}));
  Written(before->contents());
  parts.keys = kept;
  parts.keys.push_back(GgufKey("general.file_type", 4, 0, 4));
  parts.alignment = 32;
  parts.infos = {GgufInfo("w", {6}, 0, 0)};
  parts.data.resize(32, '\0');
  EXPECT_EQ(ReadBytes(Path("written.gguf")), Gguf(parts));
}

TEST_F(GgufWriter, EveryPlainType) {
  FileContents contents;
  contents.tensors.push_back(Tensor(kFlux, DataType::kFloat16, {64, 32}));
  for (const TypeInfo& type : Types()) {
    if (type.type == DataType::kString) continue;
    FileContents one = contents;
    one.tensors.push_back(Tensor("w", type.type, {3, 1, 5}));
    const std::string refusal = Refusal(one);
    const bool is_signed_integer =
        type.is_integer() && type.name.starts_with("int") && type.bits >= 8;
    const bool is_wide_float = type.is_float() && type.bits >= 16;
    if (!is_signed_integer && !is_wide_float) {
      EXPECT_EQ(refusal, "5 FILE: tensor \"w\" is " + std::string(type.name) +
                             ", which GGUF does not hold; it holds float32, float16, bfloat16, "
                             "float64 and int8 to int64");
      continue;
    }
    EXPECT_EQ(refusal, "no error") << type.name;
    contents.tensors.push_back(Tensor(std::string(type.name), type.type, {3, 1, 5}));
    contents.tensors.push_back(Tensor(std::string(type.name) + ".scalar", type.type, {}));
    contents.tensors.push_back(Tensor(std::string(type.name) + ".none", type.type, {2, 0}));
  }
  const auto reader = Written(contents);
  ASSERT_EQ(contents.tensors.size(), 1u + 3 * 8);
  for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
    const TensorInfo &got = reader->contents().tensors.at(i), &want = contents.tensors[i];
    EXPECT_EQ(got.name, want.name);
    EXPECT_EQ(got.type, want.type) << want.name;
    EXPECT_EQ(got.shape, want.shape) << want.name;
    EXPECT_EQ(ReadTensor(*reader, i), std::string(want.bytes, static_cast<char>('a' + i)));
  }
  EXPECT_EQ(reader->contents().metadata,
            (std::map<std::string, std::string>{{"general.architecture", "flux"}}));
}

// Five dimensions, and rows that are no number of blocks: read as they were.
TEST_F(GgufWriter, ShapesThatItDoesNotHave) {
  FileContents contents;
  contents.tensors.push_back(Tensor(kFlux, DataType::kFloat16, {2, 3, 4, 5, 6}));
  TensorInfo blocks = Tensor("conv", DataType::kUndefined, {64, 4, 3, 3});
  blocks.dtype = "Q8_0";
  blocks.bytes = blocks.elements / 32 * 34;
  contents.tensors.push_back(blocks);
  const auto reader = Written(contents);
  EXPECT_EQ(reader->contents().tensors[0].shape, contents.tensors[0].shape);
  EXPECT_EQ(reader->contents().tensors[1].shape, contents.tensors[1].shape);
  const std::string bytes = ReadBytes(Path("written.gguf"));
  EXPECT_NE(bytes.find(GgufInfo(kFlux, {6, 5, 4, 6}, 1, 0)), std::string::npos);
  EXPECT_NE(bytes.find(GgufText("conv") + LittleEndian(2, 4) + LittleEndian(256, 8) +
                       LittleEndian(9, 8) + LittleEndian(8, 4)),
            std::string::npos);
  EXPECT_NE(bytes.find(GgufKey("general.quantization_version", 4, 2, 4)), std::string::npos);
  // Of half a block nothing can be made.
  contents.tensors[1].shape = {63, 1, 1, 1};
  contents.tensors[1].elements = 63;
  EXPECT_EQ(Refusal(contents), "5 FILE: tensor \"conv\" is not Q8_0 by its size, 2448 bytes");
}

TEST_F(GgufWriter, DiffusionModelsByTheirNames) {
  const auto architecture = [](const std::vector<std::string>& names) {
    std::vector<TensorInfo> tensors;
    for (const std::string& name : names) {
      tensors.push_back(Tensor(name, DataType::kFloat16, {64, 64}));
    }
    return formats::GgufArchitectureOf(tensors);
  };
  const std::string down = "down_blocks.0.downsamplers.0.conv.weight";
  EXPECT_EQ(architecture({kFlux}).name, "flux");
  EXPECT_EQ(architecture({down}).name, "sd1");
  EXPECT_EQ(architecture({down, "add_embedding.linear_1.weight"}).name, "sdxl");
  EXPECT_EQ(architecture({"x", std::string("model.diffusion_model.") + kFlux}).name, "flux");
  EXPECT_EQ(architecture({"blocks.0.self_attn.norm_q.weight", "text_embedding.2.weight"}).name, "");
  EXPECT_EQ(architecture(
                {"blocks.0.self_attn.norm_q.weight", "text_embedding.2.weight", "head.modulation"})
                .name,
            "wan");
  const auto diffusers = architecture({"transformer_blocks.0.attn.norm_added_k.weight"});
  EXPECT_EQ(diffusers.name, "flux");
  EXPECT_EQ(diffusers.diffusers, "transformer_blocks.0.attn.norm_added_k.weight");
  EXPECT_EQ(architecture({"model.layers.0.self_attn.q_proj.weight"}).name, "");
  EXPECT_TRUE(IsGgufFloat32("wan", Tensor("head.modulation", DataType::kFloat16, {64, 64})));
  EXPECT_FALSE(IsGgufFloat32("flux", Tensor("head.modulation", DataType::kFloat16, {64, 64})));
  EXPECT_TRUE(IsGgufFloat32("flux", Tensor("w", DataType::kFloat16, {32, 32})));
  EXPECT_FALSE(IsGgufFloat32("llama", Tensor("w", DataType::kFloat16, {32, 32})));
  EXPECT_TRUE(IsGgufFloat32("llama", Tensor("w", DataType::kFloat16, {4096})));
}

TEST_F(GgufWriter, SaysWhatItCannotHold) {
  const auto of = [](TensorInfo info) {
    FileContents contents;
    contents.tensors = {Tensor(kFlux, DataType::kFloat16, {64, 64}), std::move(info)};
    return contents;
  };
  EXPECT_EQ(Refusal(of(Tensor(std::string(127, 'x'), DataType::kFloat16, {2}))), "no error");
  EXPECT_EQ(Refusal(of(Tensor(std::string(128, 'x'), DataType::kFloat16, {2}))),
            "5 FILE: tensor \"" + std::string(80, 'x') + "…" + std::string(40, 'x') +
                "\" (128 bytes) has a name of 128 bytes; GGUF's readers take at most 127");
  EXPECT_EQ(Refusal(of(Tensor("\xFF", DataType::kFloat16, {2}))),
            "5 FILE: tensor \"\\xFF\" has a name that is not UTF-8, as GGUF needs it");
  EXPECT_EQ(Refusal(of(Tensor(kFlux, DataType::kFloat16, {2}))),
            "2 FILE: tensor \"" + std::string(kFlux) + "\" would be in the file twice");
  TensorInfo turned = Tensor("w", DataType::kFloat16, {2, 3});
  turned.fortran_order = true;
  EXPECT_EQ(Refusal(of(turned)),
            "5 FILE: tensor \"w\" is in Fortran order, which GGUF does not have; write an .npy "
            "file");
  FileContents unknown;
  unknown.tensors = {Tensor("w", DataType::kFloat16, {2})};
  EXPECT_EQ(Refusal(unknown),
            "5 FILE: a .gguf is written from a GGUF file, whose keys it gets, or of a diffusion "
            "model, and no known one has these tensors' names; write a .safetensors, and convert "
            "it with llama.cpp's convert_hf_to_gguf.py");
  unknown.tensors[0].name = "transformer_blocks.0.attn.norm_added_k.weight";
  EXPECT_EQ(Refusal(unknown),
            "5 FILE: \"transformer_blocks.0.attn.norm_added_k.weight\" is a name of diffusers' "
            "form of flux, which no reader of GGUF takes; use the model in its original form");
}

// A key that gives a tensor another shape has to be of its elements.
TEST_F(GgufWriter, ShapesOfOthersAreHeldAgainstTheTensor) {
  const auto error = [&](const std::string& key) {
    GgufParts parts;
    parts.keys = {key};
    parts.infos = {GgufInfo("w", {3, 2}, 0, 0)};
    parts.data = std::string(24, 'a');
    WriteBytes(Path("x.gguf"), Gguf(parts));
    return ReplaceAll(ErrorOf([&] { Open(Path("x.gguf")); }), Path("x.gguf"), "FILE");
  };
  const std::string name = "comfy.gguf.orig_shape.w";
  EXPECT_EQ(error(GgufArray(name, 5, 2, LittleEndian(1, 4) + LittleEndian(6, 4))), "no error");
  EXPECT_EQ(error(GgufArray(name, 5, 1, LittleEndian(5, 4))),
            "3 FILE: tensor \"w\" has the shape [2, 3], and the key \"" + name +
                "\" says [5], another number of elements");
  EXPECT_EQ(error(GgufArray(name, 4, 1, LittleEndian(6, 4))),
            "3 FILE: the key \"" + name +
                "\" is not a list of at most 8 int32, as the shape of a tensor is");
  std::string ones;
  for (int i = 0; i < 8; ++i) ones += LittleEndian(1, 4);
  EXPECT_EQ(error(GgufArray(name, 5, 9, ones + LittleEndian(6, 4))),
            "3 FILE: the key \"" + name +
                "\" is not a list of at most 8 int32, as the shape of a tensor is");
}

}  // namespace
}  // namespace tensorcast::io
