// Scaled weights of models, by plans: the same bytes and figures for all buffers and threads, plans
// as JSON, what cannot be. What the bytes are is tests/peers/check_onnx_scales.py's.
//
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model_bytes.h"
#include "plan_files.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {
namespace {

using io::BytesField;
using io::VarintField;
using Shape = std::vector<std::uint64_t>;

// A TensorProto of random float32 codes: NaN, infinities and magnitudes of every size.
std::string Weight(const std::string& name, const Shape& shape) {
  std::uint64_t elements = 1;
  std::string bytes;
  for (const std::uint64_t dimension : shape) {
    elements *= dimension;
    bytes += VarintField(1, dimension);
  }
  const std::vector<std::byte> values =
      RandomBytes(elements * 4, static_cast<unsigned>(name.size() + elements));
  const std::string raw(reinterpret_cast<const char*>(values.data()), values.size());
  return bytes + VarintField(2, onnx::kFloat) + BytesField(8, name) + BytesField(9, raw);
}

class ModelScales : public Plans {
 protected:
  // Cells at every place of a shape, rows that are larger than the least buffers, and weights that
  // have no channels.
  std::string MakeModel(std::uint64_t opset) {
    const std::vector<std::pair<std::string, Shape>> weights = {
        {"conv", {9, 67, 3, 3}}, {"turned", {21, 13, 7, 5}}, {"one", {1, 40, 5, 7}},
        {"gemm", {130, 1337}},   {"matmul", {257, 1339}},    {"stack", {3, 65, 129}},
        {"wide", {2, 70016}},    {"table", {70, 30}}};
    std::string graph;
    const auto use = [&](const char* op, const std::string& weight,
                         const std::vector<std::string>& attributes = {}) {
      graph +=
          BytesField(1, onnx::NodeBytes(op, {"x_" + weight, weight}, {"y_" + weight}, attributes));
    };
    use("Conv", "conv");
    use("ConvTranspose", "turned");
    use("ConvTranspose", "one");
    use("Gemm", "gemm", {onnx::AttributeInt("transB", 1)});
    use("MatMul", "matmul");
    use("MatMul", "stack");
    use("MatMul", "wide");
    graph += BytesField(1, onnx::NodeBytes("Gather", {"table", "x"}, {"y"}));
    for (const auto& [name, shape] : weights) graph += BytesField(5, Weight(name, shape));
    io::WriteBytes(Path("in.onnx"), onnx::ModelBytes(graph, opset));
    return Path("in.onnx");
  }
  Request RequestFor(std::uint64_t opset, ScaledFormat format) {
    Request request;
    request.files = {{MakeModel(opset), Path("out.onnx")}};
    request.to = format;
    return request;
  }
};

TEST_F(ModelScales, AreTheSameForAllBuffersAndThreads) {
  const std::unique_ptr<Executor> threads = MakeTbbExecutor(4);
  for (const ScaledFormat format :
       {ScaledFormat::kInt8Row, ScaledFormat::kFp8Row, ScaledFormat::kFp8Tensor}) {
    SCOPED_TRACE(ScaledFormatName(format));
    const ConversionPlan plan = PlanOf(RequestFor(21, format));
    const Ran large = RunPlan(plan);
    ASSERT_EQ(large.losses.size(), 7u);
    for (const std::size_t buffer : {std::size_t{1}, std::size_t{256} << 10}) {
      const Ran small = RunPlan(plan, buffer, buffer == 1 ? nullptr : threads.get());
      EXPECT_TRUE(small.bytes == large.bytes) << buffer;
      ExpectSameLosses(plan, small.losses, large.losses);
    }
  }
}

TEST_F(ModelScales, ThePlanSaysWhatIsMadeAndComesBackFromJson) {
  struct Expected {
    std::string name;
    Shape scales;
  };
  const std::vector<Expected> rows = {{"conv", {9}},    {"turned", {13}},   {"one", {40}},
                                      {"gemm", {130}},  {"matmul", {1339}}, {"stack", {129}},
                                      {"wide", {70016}}};
  for (const std::uint64_t opset : {12u, 18u}) {
    const ConversionPlan plan = PlanOf(RequestFor(opset, ScaledFormat::kInt8Row));
    ASSERT_EQ(plan.jobs(), 8u);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const PlannedJob job = plan.job(i);
      EXPECT_EQ(job.name, rows[i].name);
      EXPECT_EQ(job.tensor, 2 * i);
      EXPECT_EQ(job.action, Action::kQuantise);
      EXPECT_EQ(job.layout, "onnx");
      ASSERT_EQ(job.made.size(), 2u);
      EXPECT_EQ(job.made[0].name, rows[i].name + "__int8");
      EXPECT_EQ(job.made[0].type, DataType::kInt8);
      EXPECT_EQ(job.made[1].name, rows[i].name + "__scale");
      EXPECT_EQ(job.made[1].type, DataType::kFloat32);
      EXPECT_EQ(job.made[1].shape, opset == 12 ? Shape{} : rows[i].scales);
    }
    EXPECT_EQ(plan.job(7).reason, Reason::kNotLinear);
    EXPECT_EQ(plan.job(7).text, "used by Gather, not as a weight");
    const std::string json = JsonOf(plan);
    ConversionPlan read;
    std::string error;
    ASSERT_TRUE(ConversionPlan::FromJson(json, {}, &read, &error).ok()) << error;
    EXPECT_EQ(JsonOf(read), json);
    EXPECT_EQ(read.job(4).made[1].shape, plan.job(4).made[1].shape);
    const std::string bytes = RunPlan(plan).bytes;
    EXPECT_TRUE(RunPlan(read).bytes == bytes);
  }
}

TEST_F(ModelScales, APlanOfAnotherAxisIsRefused) {
  const std::string json = JsonOf(PlanOf(RequestFor(18, ScaledFormat::kInt8Row)));
  const auto with = [&](const std::string& before, const std::string& after) {
    const std::size_t at = json.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    return std::string(json).replace(at, before.size(), after);
  };
  ConversionPlan plan;
  std::string error;
  for (const std::string& other :
       {with("\"axis\":1", "\"axis\":0"), with("\"axis\":1", "\"axis\":4")}) {
    EXPECT_EQ(ConversionPlan::FromJson(other, {}, &plan, &error).code(), StatusCode::kBadFile);
    EXPECT_NE(error.find("the decision has changed for \"turned\""), std::string::npos) << error;
  }
}

// What all threads hold is bounded, so that a shape cannot ask for more memory than there is.
TEST_F(ModelScales, TooManyChannelsOnAnInnerAxisStay) {
  const auto plan_of = [&](const Shape& shape) {
    io::WriteBytes(Path("wide.onnx"),
                   onnx::ModelBytes(BytesField(1, onnx::NodeBytes("MatMul", {"x", "w"}, {"y"})) +
                                    BytesField(5, Weight("w", shape))));
    Request request;
    request.files = {{Path("wide.onnx"), Path("out.onnx")}};
    request.rules = {{"*", ScaledFormat::kInt8Row}};  // by its name it would be refused
    return PlanOf(request);
  };
  const ConversionPlan most = plan_of({2, 1048576});
  EXPECT_EQ(most.job(0).action, Action::kQuantise);
  const ConversionPlan more = plan_of({2, 1048577});
  EXPECT_EQ(more.job(0).action, Action::kCopy);
  EXPECT_EQ(more.job(0).reason, Reason::kMisfit);
  EXPECT_EQ(more.job(0).text, "it has 1048577 output channels, more than 1048576");
  EXPECT_EQ(plan_of({1, 1048577}).job(0).action, Action::kQuantise);  // one row, read in order
}

TEST_F(ModelScales, WhatCannotBeIsRefused) {
  Request request = RequestFor(9, ScaledFormat::kInt8Row);
  const auto refused = [&](StatusCode code, const std::string& text) {
    ConversionPlan plan;
    std::string error;
    EXPECT_EQ(ConversionPlan::Make(request, {}, &plan, &error).code(), code);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  refused(StatusCode::kBadInput, "DequantizeLinear has int8 from opset 10 on");
  request = RequestFor(18, ScaledFormat::kFp8Tensor);
  refused(StatusCode::kBadInput, "DequantizeLinear has float8e4m3fn from opset 19 on");
  request = RequestFor(21, ScaledFormat::kMxfp4);
  refused(StatusCode::kBadInput, "tensorcast does not write mxfp4 into models");
  request = RequestFor(21, ScaledFormat::kInt8Row);
  request.layout = "compressed-tensors";
  refused(StatusCode::kBadInput, "the layout onnx, not compressed-tensors");
  request.layout = "onnx";
  request.files[0].output = Path("out.safetensors");
  request.rules = {{"conv", ScaledFormat::kInt8Row}};
  refused(StatusCode::kBadInput, "the layout onnx is that of .onnx models");
}

}  // namespace
}  // namespace tensorcast::convert
