// Models with weights stored in another type, byte for byte: what is written, and that everything
// else stays. The bytes expected are put together by hand.
//
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <utility>

#include "model_bytes.h"
#include "tensorcast/onnx.hpp"

namespace tensorcast::onnx {
namespace {

using io::ReadBytes;
using io::ReplaceAll;
using io::WriteBytes;

constexpr std::string_view kHalves{"\x00\x3C\x00\xC0", 4};  // 1, -2 as float16
const std::string kFloats = FloatBytes({1, -2});

class StoredModel : public io::FileTest {
 protected:
  // The model with every tensor stored in `to`, or what went wrong: "CODE text".
  std::string Convert(const std::string& model, DataType to = DataType::kFloat16) {
    WriteBytes(Path("in.onnx"), model);
    StorageOptions options;
    options.all_chosen = all_chosen_;
    options.overwrite = true;
    std::string error;
    const Status status = ConvertStorage(
        Path("in.onnx"), Path("out.onnx"),
        [&](std::string_view, DataType, std::span<const std::uint64_t>) { return to; }, options,
        &tensors_, &error);
    if (status.ok()) return ReadBytes(Path("out.onnx"));
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    return std::to_string(static_cast<int>(status.code())) + ' ' +
           ReplaceAll(error, directory() + '/', "");
  }

  std::vector<StoredTensor> tensors_;
  bool all_chosen_ = true;
};

const std::string kUse = NodeBytes("Neg", {"w"}, {"y"});

TEST_F(StoredModel, AnInitializer) {
  const std::string output = BytesField(12, ValueBytes("y", kFloat));
  const std::string value = BytesField(13, ValueBytes("w", kFloat));
  const std::string before = BytesField(1, kUse) + BytesField(2, "g") +
                             BytesField(5, TensorBytes("w", kFloat, 2, kFloats)) + output + value;
  const std::string after = BytesField(1, CastBytes("w__float16", "w", kFloat)) +
                            BytesField(1, kUse) + BytesField(2, "g") +
                            BytesField(5, TensorBytes("w__float16", kFloat16, 2, kHalves)) +
                            output + value;
  EXPECT_EQ(Convert(ModelBytes(before)), ModelBytes(after));
  ASSERT_EQ(tensors_.size(), 1u);
  EXPECT_EQ(tensors_[0].name, "w");
  EXPECT_EQ(tensors_[0].from, DataType::kFloat32);
  EXPECT_EQ(tensors_[0].to, DataType::kFloat16);
  EXPECT_EQ(tensors_[0].loss.elements, 2u);
}

TEST_F(StoredModel, WithoutANodeTheCastStandsAtTheEnd) {
  const std::string shown = BytesField(12, ValueBytes("w", kFloat));
  EXPECT_EQ(Convert(ModelBytes(BytesField(5, TensorBytes("w", kFloat, 2, kFloats)) + shown)),
            ModelBytes(BytesField(5, TensorBytes("w__float16", kFloat16, 2, kHalves)) + shown +
                       BytesField(1, CastBytes("w__float16", "w", kFloat))));
}

// Fields of the future, lengths and values in more bytes than they need, sparse initializers and
// training_info: around every message that changes.
TEST_F(StoredModel, KeepsWhatItDoesNotKnow) {
  const std::string extra = BytesField(999, "of the future") + io::Tag(998, 2) +
                            std::string(
                                "\x83\x80\x00"
                                "abc",
                                6) +
                            io::Tag(997, 0) + std::string("\x85\x80\x80\x00", 4) + io::Tag(996, 1) +
                            "12345678";
  const std::string floats = TensorBytes("s", kFloat, 2, kFloats);
  const std::string sparse = BytesField(15, BytesField(1, floats) + extra + VarintField(3, 9));
  const std::string training = BytesField(20, BytesField(1, BytesField(5, floats)) + extra);
  const auto model = [&](const std::string& cast, const std::string& tensor) {
    return extra + VarintField(1, 10) + training +
           BytesField(7, extra + BytesField(2, "g") + cast + BytesField(1, kUse + extra) +
                             BytesField(5, tensor) + sparse + BytesField(10, "doc") + extra) +
           BytesField(8, OpsetBytes(21) + extra) + extra;
  };
  const std::string more = BytesField(12, "a doc_string") + extra +
                           BytesField(16, BytesField(1, "key") + BytesField(2, "value"));
  EXPECT_EQ(Convert(model("", TensorBytes("w", kFloat, 2, kFloats, more))),
            model(BytesField(1, CastBytes("w__float16", "w", kFloat)),
                  TensorBytes("w__float16", kFloat16, 2, kHalves, more)));
}

TEST_F(StoredModel, WhereNothingIsChosenItIsTheSameFile) {
  const std::string model =
      ModelBytes(BytesField(1, kUse) + BytesField(5, TensorBytes("w", kFloat, 2, kFloats)));
  EXPECT_EQ(Convert(model, DataType::kUndefined), model);
  EXPECT_EQ(Convert(model, DataType::kFloat32), model);
  ASSERT_EQ(tensors_.size(), 1u);
  EXPECT_EQ(tensors_[0].reason, "already float32");
}

TEST_F(StoredModel, ValuesInAnyField) {
  const auto model = [&](const std::string& tensor, const std::string& cast = {}) {
    return ModelBytes(cast + BytesField(1, kUse) + BytesField(5, tensor));
  };
  // Not packed, packed, and not packed again, around fields that stay.
  const std::string one = io::Tag(4, 5) + FloatBytes({1}), two = io::Tag(4, 5) + FloatBytes({-2});
  const std::string cast = BytesField(1, CastBytes("w__float16", "w", kFloat));
  EXPECT_EQ(Convert(model(VarintField(1, 2) + one + BytesField(12, "doc") + two +
                          BytesField(8, "w") + VarintField(2, kFloat))),
            model(VarintField(1, 2) + BytesField(9, kHalves) + BytesField(12, "doc") +
                      BytesField(8, "w__float16") + VarintField(2, kFloat16),
                  cast));
  // No element, and no field for values.
  EXPECT_EQ(Convert(model(VarintField(1, 0) + VarintField(2, kFloat) + BytesField(8, "w"))),
            model(VarintField(1, 0) + VarintField(2, kFloat16) + BytesField(8, "w__float16") +
                      BytesField(9, ""),
                  cast));
}

TEST_F(StoredModel, ANameThatIsTaken) {
  const std::string taken = NodeBytes("Neg", {"w__float16"}, {"w__float16_2"});
  EXPECT_EQ(
      Convert(
          ModelBytes(BytesField(1, taken) + BytesField(5, TensorBytes("w", kFloat, 2, kFloats)))),
      ModelBytes(BytesField(1, CastBytes("w__float16_3", "w", kFloat)) + BytesField(1, taken) +
                 BytesField(5, TensorBytes("w__float16_3", kFloat16, 2, kHalves))));
}

// Constants in the graph, in a subgraph and in a function; lengths grow from one byte to two.
TEST_F(StoredModel, Constants) {
  const auto constant = [](const std::string& output, std::uint64_t type, std::string_view raw) {
    return NodeBytes("Constant", {}, {output},
                     {AttributeTensor("value", TensorBytes("t", type, 2, raw))});
  };
  const auto nodes = [&](bool is_stored, std::uint32_t field, const std::string& name) {
    if (!is_stored) return BytesField(field, constant(name, kFloat, kFloats));
    const std::string stored = name + "__float16";
    return BytesField(field, constant(stored, kFloat16, kHalves)) +
           BytesField(field, CastBytes(stored, name, kFloat));
  };
  const auto model = [&](bool is_stored) {
    const std::string inner =
        BytesField(5, TensorBytes(is_stored ? "v__float16" : "v", is_stored ? kFloat16 : kFloat, 2,
                                  is_stored ? kHalves : std::string_view(kFloats)));
    const std::string casts = is_stored ? BytesField(1, CastBytes("v__float16", "v", kFloat)) : "";
    // The last field of the subgraph, of its attribute and of the node is what grows.
    const std::string branch = inner + casts + nodes(is_stored, 1, "inner");
    const std::string graph =
        nodes(is_stored, 1, "outer") +
        BytesField(1, NodeBytes("If", {"c"}, {"y"}, {AttributeGraph("then_branch", branch)})) +
        BytesField(1, kUse);
    const std::string function = BytesField(1, "f") + BytesField(5, "z") +
                                 nodes(is_stored, 7, "z") + BytesField(9, OpsetBytes(20)) +
                                 BytesField(10, "own");
    return ModelBytes(graph, 21, 10, BytesField(25, function));
  };
  EXPECT_EQ(Convert(model(false)), model(true));
  EXPECT_EQ(tensors_.size(), 4u);
}

TEST_F(StoredModel, OtherAttributesAreLeftAlone) {
  const std::string model = ModelBytes(
      BytesField(1, NodeBytes("ConstantOfShape", {"n"}, {"y"},
                              {AttributeTensor("value", TensorBytes("", kFloat, 2, kFloats))})));
  EXPECT_EQ(Convert(model), model);
  ASSERT_EQ(tensors_.size(), 1u);
  EXPECT_EQ(tensors_[0].reason, "an attribute of \"ConstantOfShape\"");
}

TEST_F(StoredModel, AnInputOfTheSameName) {
  const auto model = [&](std::uint64_t ir_version, bool is_stored) {
    const std::string name = is_stored ? "w__float16" : "w";
    const std::uint64_t type = is_stored ? kFloat16 : kFloat;
    return ModelBytes(
        (is_stored ? BytesField(1, CastBytes(name, "w", kFloat)) : "") + BytesField(1, kUse) +
            BytesField(
                5, TensorBytes(name, type, 2, is_stored ? kHalves : std::string_view(kFloats))) +
            BytesField(11, ValueBytes(name, type) + BytesField(3, "doc")) +
            BytesField(11, ValueBytes("x", kFloat)),
        9, ir_version);
  };
  EXPECT_EQ(Convert(model(3, false)), model(3, true));
  EXPECT_EQ(Convert(model(4, false)), model(4, false));
  ASSERT_EQ(tensors_.size(), 1u);
  EXPECT_EQ(tensors_[0].reason, "an input of its name can override it");
}

// A message in several fields is one, and lengths and numbers may take more bytes than they need.
TEST_F(StoredModel, AnInputWhoseTypeIsSplit) {
  const std::string shape = BytesField(2, BytesField(1, VarintField(1, 2)));
  const auto model = [&](bool is_stored, const std::string& elem_type) {
    const std::string name = is_stored ? "w__float16" : "w";
    const std::string dead = VarintField(1, 7);  // the later one counts
    const std::string type = BytesField(2, BytesField(1, dead) + BytesField(6, "denotation") +
                                               BytesField(1, elem_type) + BytesField(1, shape)) +
                             BytesField(2, BytesField(6, "again")) +
                             BytesField(2, BytesField(1, ""));
    return ModelBytes(
        (is_stored ? BytesField(1, CastBytes(name, "w", kFloat)) : "") + BytesField(1, kUse) +
            BytesField(5, TensorBytes(name, is_stored ? kFloat16 : kFloat, 2,
                                      is_stored ? kHalves : std::string_view(kFloats))) +
            BytesField(11, BytesField(1, name) + type + BytesField(3, "doc")),
        9, 3);
  };
  const std::string overlong = io::Tag(1, 0) + std::string("\x81\x80\x80\x00", 4);
  EXPECT_EQ(Convert(model(false, overlong)), model(true, VarintField(1, kFloat16)));
  EXPECT_EQ(Convert(model(false, VarintField(1, kFloat))), model(true, VarintField(1, kFloat16)));
}

// A type is of one kind: a tensor_type before another kind is no part of it.
TEST_F(StoredModel, AnInputOfTwoKindsOfType) {
  const std::string tensor = BytesField(1, VarintField(1, kFloat));
  const std::string sequence = BytesField(4, BytesField(1, tensor));
  const auto model = [&](bool is_stored, const std::string& type) {
    const std::string name = is_stored ? "w__float16" : "w";
    return ModelBytes(
        (is_stored ? BytesField(1, CastBytes(name, "w", kFloat)) : "") + BytesField(1, kUse) +
            BytesField(5, TensorBytes(name, is_stored ? kFloat16 : kFloat, 2,
                                      is_stored ? kHalves : std::string_view(kFloats))) +
            BytesField(11, BytesField(1, name) + BytesField(2, type)),
        9, 3);
  };
  EXPECT_EQ(Convert(model(false, tensor + sequence)), model(true, tensor + sequence));
  EXPECT_EQ(Convert(model(false, tensor + sequence + tensor)),
            model(true, tensor + sequence + BytesField(1, VarintField(1, kFloat16))));
}

TEST_F(StoredModel, AConstantWithItsValueTwice) {
  const std::string value = AttributeTensor("value", TensorBytes("t", kFloat, 2, kFloats));
  const std::string two =
      ModelBytes(BytesField(1, NodeBytes("Constant", {}, {"c"}, {value, value})));
  EXPECT_EQ(Convert(two), two);
  ASSERT_EQ(tensors_.size(), 2u);
  EXPECT_EQ(tensors_[0].reason, "its Constant has several values");
  EXPECT_EQ(tensors_[1].reason, "its Constant has several values");
  // One attribute of two tensors: protobuf would put them together, this reader does not.
  const std::string tensor = TensorBytes("t", kFloat, 2, kFloats);
  const auto twice = [&](std::uint32_t field, std::string_view payload, std::uint64_t type) {
    return ModelBytes(
        BytesField(1, NodeBytes("Constant", {}, {"c"},
                                {BytesField(1, "value") + BytesField(field, payload) +
                                 BytesField(field, payload) + VarintField(20, type)})));
  };
  EXPECT_EQ(Convert(twice(5, tensor, 4)),
            "21 in.onnx: tensor at offset 47 is in its attribute twice");
  EXPECT_EQ(Convert(twice(6, BytesField(2, "g"), 5)),
            "21 in.onnx: graph at offset 33 is in its attribute twice");
  const std::string listed = twice(10, tensor, 4);
  EXPECT_EQ(Convert(listed), listed);
  EXPECT_EQ(tensors_.at(0).reason, "its Constant has several values");
}

// A small tensor, one with an attention mask's -3.4e38, and one with a value that bfloat16 rounds
// up beyond its range.
TEST_F(StoredModel, WhatIsLeftByDefault) {
  std::vector<float> mask(257, 0.5F), most(257, 1.0F);
  mask[200] = mask[201] = -3.402823e38F;
  most[0] = 3.4e38F;
  const auto graph = [&](const std::string& cast, const std::string& small, std::uint64_t type,
                         std::string_view raw) {
    return ModelBytes(
        cast + BytesField(1, kUse) +
        BytesField(5, TensorBytes("s", kFloat, 256, FloatBytes(std::vector<float>(256, 1.0F)))) +
        BytesField(5, TensorBytes("mask", kFloat, 257, FloatBytes(mask))) +
        BytesField(5, TensorBytes(small, type, 257, raw)) +
        BytesField(5, TensorBytes("most", kFloat, 257, FloatBytes(most))));
  };
  const std::vector<float> ones(257, 1.0F);
  std::string halves;
  for (int i = 0; i < 257; ++i) halves += kHalves.substr(0, 2);
  const std::string model = graph("", "w", kFloat, FloatBytes(ones));
  all_chosen_ = false;
  EXPECT_EQ(Convert(model), graph(BytesField(1, CastBytes("w__float16", "w", kFloat)), "w__float16",
                                  kFloat16, halves));
  ASSERT_EQ(tensors_.size(), 4u);
  EXPECT_EQ(tensors_[0].reason, "1024 bytes or fewer");
  EXPECT_EQ(tensors_[1].reason, "2 finite values would become infinite");
  EXPECT_EQ(tensors_[1].to, DataType::kUndefined);
  EXPECT_EQ(tensors_[2].reason, "");
  EXPECT_EQ(tensors_[2].to, DataType::kFloat16);
  EXPECT_EQ(tensors_[3].reason, "1 finite value would become infinite");
  // In bfloat16 too; in a type that has no Inf none becomes one.
  Convert(model, DataType::kBfloat16);
  EXPECT_EQ(tensors_[1].reason, "2 finite values would become infinite");
  EXPECT_EQ(tensors_[3].reason, "1 finite value would become infinite");
  Convert(model, DataType::kFloat8E4M3FN);
  EXPECT_EQ(tensors_[1].to, DataType::kFloat8E4M3FN);
  // Where that is asked for, all.
  all_chosen_ = true;
  Convert(model);
  for (const StoredTensor& tensor : tensors_) {
    EXPECT_EQ(tensor.to, DataType::kFloat16) << tensor.name;
  }
}

TEST_F(StoredModel, ToIsATextUpToOpset5) {
  const std::string before =
      BytesField(1, kUse) + BytesField(5, TensorBytes("w", kFloat, 2, kFloats));
  const std::string to = BytesField(1, "to") + BytesField(4, "FLOAT") + VarintField(20, 3);
  const std::string after =
      BytesField(1, NodeBytes("Cast", {"w__float16"}, {"w"}, {to}, "w__float16")) +
      BytesField(1, kUse) + BytesField(5, TensorBytes("w__float16", kFloat16, 2, kHalves));
  EXPECT_EQ(Convert(ModelBytes(before, 5, 3)), ModelBytes(after, 5, 3));
}

// E5M2 has infinities, which a saturating Cast would not give back.
TEST_F(StoredModel, BackToFloat8E5M2WithItsInfinities) {
  constexpr std::uint64_t kE5M2 = 19;
  const std::string graph = BytesField(1, kUse) + BytesField(5, TensorBytes("w", kE5M2, 1, "\x7C"));
  const std::string cast =
      NodeBytes("Cast", {"w__float16"}, {"w"},
                {AttributeInt("to", kE5M2), AttributeInt("saturate", 0)}, "w__float16");
  EXPECT_EQ(Convert(ModelBytes(graph)),
            ModelBytes(BytesField(1, cast) + BytesField(1, kUse) +
                       BytesField(5, TensorBytes("w__float16", kFloat16, 1,
                                                 std::string_view("\x00\x7C", 2)))));
}

TEST_F(StoredModel, ATypeThatIsNone) {
  const std::string graph = BytesField(5, TensorBytes("w", kFloat, 2, kFloats));
  EXPECT_EQ(Convert(ModelBytes(graph), static_cast<DataType>(99)),
            "23 in.onnx: tensor \"w\" was asked to become type 99, which is not a type; DataType "
            "lists them");
  EXPECT_EQ(Convert(ModelBytes(graph), DataType::kString), ModelBytes(graph));
  EXPECT_EQ(tensors_.at(0).reason, "a model stores no numbers as strings");
}

TEST_F(StoredModel, TypesTheOpsetDoesNotKnow) {
  const std::string graph =
      BytesField(1, kUse) + BytesField(5, TensorBytes("w", kFloat, 2, kFloats));
  const std::string error = Convert(ModelBytes(graph, 13), DataType::kFloat8E4M3FN);
  EXPECT_EQ(error.find("23 in.onnx: tensor \"w\" cannot be stored as float8e4m3fn: Cast has "
                       "float8e4m3fn from opset 19 on, and the model's is 13, whose types are "),
            0u)
      << error;
  EXPECT_NE(error.find("onnx.version_converter.convert_version(model, 19)"), std::string::npos)
      << error;
  EXPECT_EQ(Names(), std::vector<std::string>{"in.onnx"});

  const std::string nothing = VarintField(1, 10) + BytesField(7, graph);
  EXPECT_EQ(Convert(nothing + BytesField(8, OpsetBytes(1, "own"))),
            "23 in.onnx: tensor \"w\" cannot be stored as float16: the Cast behind it needs an "
            "opset of ai.onnx, and the model imports none; add one to opset_import");

  const std::string constant = NodeBytes(
      "Constant", {}, {"c"}, {AttributeTensor("value", TensorBytes("", kFloat, 2, kFloats))});
  const std::string early = Convert(ModelBytes(BytesField(1, constant), 8, 3), DataType::kInt32);
  EXPECT_NE(early.find("Constant holds float16, float32 and float64 up to opset 8"),
            std::string::npos)
      << early;
}

// Cut short at every byte, and with every byte changed: an error of one line, or a model that is
// read again; the same bytes where nothing is stored in another type.
TEST_F(StoredModel, DamagedModels) {
  const std::string constant = NodeBytes(
      "Constant", {}, {"c"}, {AttributeTensor("value", TensorBytes("t", kFloat, 2, kFloats))});
  const std::string branch = BytesField(1, constant) + BytesField(2, "branch");
  const std::string whole = ModelBytes(
      BytesField(1, NodeBytes("If", {"b"}, {"y"}, {AttributeGraph("then_branch", branch)})) +
          BytesField(5, TensorBytes("w", kFloat, 2, kFloats)) +
          BytesField(11, ValueBytes("w", kFloat)),
      8, 3,
      BytesField(25, BytesField(1, "f") + BytesField(7, constant) + BytesField(9, OpsetBytes(8)) +
                         BytesField(10, "own")));
  int read = 0;
  const auto check = [&](const std::string& model) {
    const std::string copy = Convert(model, DataType::kUndefined);
    if (!copy.starts_with("2")) {
      EXPECT_EQ(copy, model);
    }
    const std::string stored = Convert(model);
    if (stored.starts_with("2")) return;
    ++read;
    const std::string again = Convert(stored, DataType::kUndefined);
    EXPECT_EQ(again, stored);
  };
  check(whole);
  EXPECT_EQ(read, 1);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    check(whole.substr(0, i));
    for (const int change : {1, 0x80, 0x7F}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      check(changed);
    }
  }
  EXPECT_GT(read, 50);
}

// The names of what is stored are told apart by numbers. Were each number looked for from the
// beginning, the test would run out of its time.
TEST_F(StoredModel, ManyTensorsOfOneName) {
  constexpr int kMany = 20'000;
  const std::string node = BytesField(
      1, NodeBytes(
             "If", {"c"}, {""},
             {AttributeGraph("then_branch", BytesField(5, TensorBytes("w", kFloat, 2, kFloats)))}));
  std::string graph;
  for (int i = 0; i < kMany; ++i) graph += node;
  const std::string result = Convert(ModelBytes(graph));
  EXPECT_NE(result.find("w__float16_20000"), std::string::npos);
  EXPECT_EQ(result.find("w__float16_20001"), std::string::npos);
}

// Every tensor is an edit, and every one has a name to be made and lengths to be made right.
TEST_F(StoredModel, ManyTensorsInLinearTime) {
  const auto seconds_of = [&](int n) {
    std::string graph;
    for (int i = 0; i < n; ++i) {
      graph +=
          BytesField(1, NodeBytes("Constant", {}, {std::string("c").append(std::to_string(i))},
                                  {AttributeTensor("value", TensorBytes("", kFloat, 2, kFloats))}));
      graph += BytesField(
          5, TensorBytes(std::string("w").append(std::to_string(i)), kFloat, 2, kFloats));
    }
    const auto begin = std::chrono::steady_clock::now();
    const std::string result = Convert(ModelBytes(graph));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_GT(result.size(), static_cast<std::size_t>(n) * 40);
    EXPECT_EQ(tensors_.size(), static_cast<std::size_t>(2 * n));
    return seconds.count();
  };
  const double few = seconds_of(2'000);
  EXPECT_LT(seconds_of(20'000), 40 * few + 1);  // quadratic: 100 times
}

}  // namespace
}  // namespace tensorcast::onnx
