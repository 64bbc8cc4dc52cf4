// GGUF files read: the worked file of gguf-py's, every plain type, keys, offsets in any order, and
// models in parts.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gguf_bytes.h"

namespace tensorcast::io {
namespace {

using GgufFile = FileTest;

std::string FromHex(std::string_view hex) {
  std::string bytes;
  std::string digits;
  for (const char c : hex) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
    digits.clear();
  }
  return bytes;
}

// What gguf-py 0.19 writes of architecture "flux", a.b = 7, w float32 [2, 3] and q Q8_0 [2, 32].
TEST_F(GgufFile, ReadsWhatGgufPyWrites) {
  std::string file = FromHex(
      "47475546 03000000 0200000000000000 0200000000000000"
      "1400000000000000 67656e6572616c2e617263686974656374757265 08000000 0400000000000000 666c7578"
      "0300000000000000 612e62 04000000 07000000"
      "0100000000000000 77 02000000 0300000000000000 0200000000000000 00000000 0000000000000000"
      "0100000000000000 71 02000000 2000000000000000 0200000000000000 08000000 2000000000000000");
  ASSERT_EQ(file.size(), 0xA9u);
  file.resize(0xC0);
  file += FromHex("00000000 0000803f 00000040 00004040 00008040 0000a040");
  file.resize(0x140);
  const std::string path = Path("x.gguf");
  WriteBytes(path, file);
  const auto reader = Open(path);
  const formats::FileContents& contents = reader->contents();
  EXPECT_EQ(reader->file_bytes(), 320u);
  EXPECT_EQ(contents.metadata,
            (std::map<std::string, std::string>{{"a.b", "7"}, {"general.architecture", "flux"}}));
  EXPECT_TRUE(contents.shown_metadata.empty());
  ASSERT_EQ(TensorNames(*reader), (std::vector<std::string>{"w", "q"}));
  const formats::TensorInfo &w = contents.tensors[0], &q = contents.tensors[1];
  EXPECT_EQ(w.type, DataType::kFloat32);
  EXPECT_EQ(w.shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(ReadTensor(*reader, 0), file.substr(0xC0, 24));
  EXPECT_EQ(q.dtype, "Q8_0");
  EXPECT_EQ(q.shape, (std::vector<std::uint64_t>{2, 32}));
  EXPECT_EQ(q.bytes, 68u);
  EXPECT_TRUE(reader->notes().empty());
}

TEST_F(GgufFile, EveryPlainType) {
  const std::vector<std::tuple<int, std::string, DataType, std::size_t>> types = {
      {0, "F32", DataType::kFloat32, 4},  {1, "F16", DataType::kFloat16, 2},
      {24, "I8", DataType::kInt8, 1},     {25, "I16", DataType::kInt16, 2},
      {26, "I32", DataType::kInt32, 4},   {27, "I64", DataType::kInt64, 8},
      {28, "F64", DataType::kFloat64, 8}, {30, "BF16", DataType::kBfloat16, 2},
  };
  for (const std::uint64_t version : {2, 3}) {
    GgufParts parts;
    parts.version = version;
    for (const auto& [id, name, type, size] : types) {
      parts.infos.push_back(GgufInfo(name, {3, 1, 2}, id, parts.data.size()));
      for (std::size_t i = 0; i < 6 * size; ++i) parts.data += static_cast<char>(i + size);
      parts.data.resize((parts.data.size() + 31) / 32 * 32, '\0');
    }
    WriteBytes(Path("x.gguf"), Gguf(parts));
    const auto reader = Open(Path("x.gguf"));
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto& [id, name, type, size] = types[i];
      const formats::TensorInfo& info = reader->contents().tensors.at(i);
      EXPECT_EQ(info.type, type) << name;
      EXPECT_EQ(info.dtype, name);
      EXPECT_EQ(info.shape, (std::vector<std::uint64_t>{2, 1, 3})) << name;
      std::string expected;
      for (std::size_t k = 0; k < 6 * size; ++k) expected += static_cast<char>(k + size);
      EXPECT_EQ(ReadTensor(*reader, i), expected) << name;
    }
  }
}

// Blocks and bytes of ggml-common.h.
TEST_F(GgufFile, EveryTypeOfBlocks) {
  const std::vector<std::tuple<int, std::string, std::uint64_t, std::uint64_t>> types = {
      {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},
      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {10, "Q2_K", 256, 84},
      {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
      {14, "Q6_K", 256, 210},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
      {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},
      {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136},
      {29, "IQ1_M", 256, 56},   {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},
      {39, "MXFP4", 32, 17},    {40, "NVFP4", 64, 36},    {41, "Q1_0", 128, 18},
      {42, "Q2_0", 64, 18},
  };
  for (const auto& [id, name, values, bytes] : types) {
    WriteBytes(Path("x.gguf"), Gguf({.infos = {GgufInfo("w", {3 * values, 2}, id, 0)},
                                     .data = std::string(6 * bytes, 'x')}));
    const auto reader = Open(Path("x.gguf"));
    const formats::TensorInfo& info = reader->contents().tensors.at(0);
    EXPECT_EQ(info.dtype, name);
    EXPECT_EQ(info.type, DataType::kUndefined);
    EXPECT_EQ(info.shape, (std::vector<std::uint64_t>{2, 3 * values}));
    EXPECT_EQ(info.bytes, 6 * bytes) << name;
  }
}

TEST_F(GgufFile, ScalarsEmptyTensorsAndOffsetsInAnyOrder) {
  // A scalar behind a hole, an empty tensor with an offset nowhere, an odd offset, no padding.
  WriteBytes(Path("x.gguf"),
             Gguf({.keys = {GgufKey("general.alignment", 4, 64, 4)},
                   .infos = {GgufInfo("s", {}, 0, 100), GgufInfo("none", {0, 5}, 0, 1 << 20),
                             GgufInfo("", {3}, 24, 7)},
                   .data = std::string(7, '.') + "abc" + std::string(90, '.') + "1234",
                   .alignment = 64}));
  const auto reader = Open(Path("x.gguf"));
  EXPECT_EQ(ReadTensor(*reader, "s"), "1234");
  EXPECT_EQ(ReadTensor(*reader, "none"), "");
  EXPECT_EQ(ReadTensor(*reader, ""), "abc");
  EXPECT_TRUE(reader->contents().tensors[0].shape.empty());
  EXPECT_EQ(reader->contents().tensors[1].shape, (std::vector<std::uint64_t>{5, 0}));
  EXPECT_EQ(reader->contents().shown_metadata.at("general.alignment"), "64");
  EXPECT_EQ(reader->contents().metadata.count("general.alignment"), 0u);
}

TEST_F(GgufFile, KeysOfEveryType) {
  std::string words;
  for (int i = 0; i < 1000; ++i) words += GgufText("w" + std::to_string(i));
  WriteBytes(
      Path("x.gguf"),
      Gguf({.keys = {GgufKey("u8", 0, 255, 1), GgufKey("i8", 1, 0x80, 1),
                     GgufKey("u16", 2, 65535, 2), GgufKey("i16", 3, 0xFFFF, 2),
                     GgufKey("u32", 4, 1, 4), GgufKey("i32", 5, 0xFFFFFFFE, 4),
                     GgufKey("f32", 6, 0x3DCCCCCD, 4), GgufKey("bool", 7, 1, 1),
                     GgufKey("text", "a\nb"), GgufKey("u64", 10, UINT64_MAX, 8),
                     GgufKey("i64", 11, UINT64_MAX, 8), GgufKey("f64", 12, 0x3FB999999999999A, 8),
                     GgufArray("pair", 5, 2, LittleEndian(1, 4) + LittleEndian(0xFFFFFFFF, 4)),
                     GgufArray("none", 8, 0, ""), GgufArray("words", 8, 1000, words),
                     GgufArray("many", 0, 300, std::string(300, '\1')), GgufKey("no utf-8", "\xFF"),
                     GgufKey("long", std::string(17 << 20, 'x'))}}));
  const auto reader = Open(Path("x.gguf"));
  const std::map<std::string, std::string> carried = {
      {"u8", "255"},       {"i8", "-128"},
      {"u16", "65535"},    {"i16", "-1"},
      {"u32", "1"},        {"i32", "-2"},
      {"f32", "0.1"},      {"bool", "true"},
      {"text", "a\nb"},    {"u64", "18446744073709551615"},
      {"i64", "-1"},       {"f64", "0.1"},
      {"pair", "[1, -1]"}, {"none", "[]"},
  };
  EXPECT_EQ(reader->contents().metadata, carried);
  const std::map<std::string, std::string> shown = {
      {"words", R"(["w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7", … 1000 in all])"},
      {"many", "[1, 1, 1, 1, 1, 1, 1, 1, … 300 in all]"},
      {"no utf-8", "\\xFF"},
      {"long", std::string(200, 'x') + " … 17825792 bytes"},
  };
  EXPECT_EQ(reader->contents().shown_metadata, shown);
  EXPECT_EQ(reader->notes(),
            (std::vector<std::string>{
                Path("x.gguf") +
                ": 2 long arrays of its keys (many ...) are carried only to .gguf files"}));
}

TEST_F(GgufFile, SaysWhereRowsArePermuted) {
  const auto notes = [&](const std::string& architecture, const std::string& tensor) {
    WriteBytes(Path("x.gguf"), Gguf({.keys = {GgufKey("general.architecture", architecture)},
                                     .infos = {GgufInfo(tensor, {1}, 0, 0)},
                                     .data = "1234"}));
    return Open(Path("x.gguf"))->notes();
  };
  const std::vector<std::string> said = {
      Path("x.gguf") +
      ": tensors have GGUF's names, and rows of attn_q and attn_k stand as "
      "llama.cpp permutes them for llama: other programs use another order"};
  EXPECT_EQ(notes("llama", "blk.0.attn_q.weight"), said);
  EXPECT_EQ(notes("llama", "blk.0.ffn_up.weight"), std::vector<std::string>());
  EXPECT_EQ(notes("qwen3", "blk.0.attn_q.weight"), std::vector<std::string>());
}

// -------------------------------------------------------------------------------- parts

std::string Part(std::uint64_t number, std::uint64_t parts, std::uint64_t tensors,
                 const std::string& tensor) {
  std::vector<std::string> keys = {GgufKey("split.no", 2, number, 2),
                                   GgufKey("split.count", 2, parts, 2),
                                   GgufKey("split.tensors.count", 5, tensors, 4)};
  if (number == 0) keys.push_back(GgufKey("general.name", "whole"));
  return Gguf({.keys = keys,
               .infos = {GgufInfo(tensor, {4}, 24, 0)},
               .data = tensor + tensor + tensor + tensor});
}

TEST_F(GgufFile, AllPartsByAnyOfThem) {
  const std::string names[] = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                               "m-00003-of-00003.gguf"};
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    WriteBytes(Path(names[i]), Part(i, 3, 3, std::string(1, static_cast<char>('a' + i))));
    bytes += std::filesystem::file_size(Path(names[i]));
  }
  for (const std::string& name : names) {
    const auto reader = Open(Path(name));
    EXPECT_EQ(TensorNames(*reader), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(ReadTensor(*reader, "a") + ReadTensor(*reader, "c"), "aaaacccc");
    EXPECT_EQ(reader->file_bytes(), bytes);
    EXPECT_EQ(reader->contents().metadata,
              (std::map<std::string, std::string>{{"general.name", "whole"}}));
    EXPECT_EQ(reader->external_paths().size(), 2u);
  }
  const auto reader = Open(Path(names[1]));
  WriteBytes(Path(names[2]), Part(2, 3, 3, "d") + ".");
  EXPECT_NE(ErrorOf([&] { reader->CheckUnchanged(); }), "no error");
}

TEST_F(GgufFile, PartsThatDoNotFitEachOther) {
  const std::string one = Path("m-00001-of-00002.gguf"), two = Path("m-00002-of-00002.gguf");
  const auto error = [&](const std::string& first, const std::string& second) {
    WriteBytes(one, first);
    WriteBytes(two, second);
    return ReplaceAll(ErrorOf([&] { Open(one); }), directory(), "DIR");
  };
  const std::string a = Part(0, 2, 2, "a");
  EXPECT_EQ(error(a, Part(0, 2, 2, "b")),
            "3 DIR/m-00002-of-00002.gguf: is named as part 2 of 2, but its key split.no is 0; "
            "expected 1");
  EXPECT_EQ(error(a, Part(1, 3, 2, "b")),
            "3 DIR/m-00002-of-00002.gguf: is named as part 2 of 2, but its key split.count is 3; "
            "expected 2");
  EXPECT_EQ(error(a, Gguf({})),
            "3 DIR/m-00002-of-00002.gguf: is named as part 2 of 2, but its key split.count is "
            "missing; expected 2");
  EXPECT_EQ(error(a, Part(1, 2, 2, "a")),
            "3 DIR/m-00001-of-00002.gguf: tensor \"a\" is in two of its parts");
  EXPECT_EQ(error(Part(0, 2, 3, "a"), Part(1, 2, 3, "b")),
            "3 DIR/m-00001-of-00002.gguf: its 2 parts have 2 tensors, but split.tensors.count says "
            "3");
  EXPECT_EQ(error(a, "GGU"),
            "3 DIR/m-00002-of-00002.gguf: the header needs 1 byte at offset 3, but the file has "
            "only 0 there; it is cut short");
  std::filesystem::remove(two);
  EXPECT_EQ(ReplaceAll(ErrorOf([&] { Open(one); }), directory(), "DIR"),
            "3 DIR/m-00001-of-00002.gguf: is part 1 of 2, and part 2 is missing: "
            "DIR/m-00002-of-00002.gguf; fetch it too");
  WriteBytes(Path("m.gguf"), a);
  EXPECT_EQ(ReplaceAll(ErrorOf([&] { Open(Path("m.gguf")); }), directory(), "DIR"),
            "3 DIR/m.gguf: is one of 2 parts (split.count), but is not named as one "
            "(NAME-00001-of-00002.gguf), by which the others are found");
}

TEST_F(GgufFile, NamedAsAPartWithoutSayingSo) {
  const std::string path = Path("m-00002-of-00003.gguf");
  WriteBytes(path, Gguf({.infos = {GgufInfo("w", {4}, 24, 0)}, .data = "1234"}));
  const auto reader = Open(path);
  EXPECT_EQ(ReadTensor(*reader, "w"), "1234");
  EXPECT_EQ(reader->notes(),
            (std::vector<std::string>{path + ": is named as part 2 of 3, but has no key "
                                             "split.count that says so; it is read alone"}));
}

}  // namespace
}  // namespace tensorcast::io
