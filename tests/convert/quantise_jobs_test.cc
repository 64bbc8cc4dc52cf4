// Scaled weights made by plans: the same bytes and figures however large the buffers are and
// however many threads there are, plans as JSON, what cannot be. What the bytes are is
// tests/scale/check_written.py's.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/source_codes.h"
#include "plan_files.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {
namespace {

struct Written {
  ScaledFormat format;
  const char* layout = "";  // the usual one
  bool rotate = false;
};
// Layouts that have their scales in another order than their cells, or read a weight in another.
constexpr Written kWritten[] = {
    {ScaledFormat::kFp8Tensor},
    {ScaledFormat::kFp8Row},
    {ScaledFormat::kFp8Block},
    {ScaledFormat::kInt8Row},
    {ScaledFormat::kMxfp8},
    {ScaledFormat::kMxfp6},
    {ScaledFormat::kMxfp4},
    {ScaledFormat::kNvfp4},
    {ScaledFormat::kNvfp4, "mlx"},
    {ScaledFormat::kMxfp8, "comfyui"},
    {ScaledFormat::kNvfp4, "comfyui"},
    {ScaledFormat::kInt8Row, "comfyui", true},
    {ScaledFormat::kMxfp4, "gpt-oss"},
};

class QuantiseJobs : public Plans {
 protected:
  // Random codes: NaN, infinities and magnitudes of every size. Bands of blocks and rows that are
  // larger than the least buffers; rows that end neither at a block of the grid nor, of float4, at
  // a byte; stacked matrices whose last blocks are cut off.
  std::string MakeWeights() {
    return Make("in.safetensors",
                {io::Tensor("wide.weight", DataType::kBfloat16, {3, 70016}),
                 io::Tensor("ragged.weight", DataType::kFloat32, {131, 1337}),
                 io::Tensor("odd.weight", DataType::kFloat4E2M1, {130, 1333}),
                 io::Tensor("even.weight", DataType::kFloat16, {256, 1024}),
                 io::Tensor("mlp.experts.w.weight", DataType::kFloat32, {3, 130, 96}),
                 io::Tensor("double.weight", DataType::kFloat64, {40, 992}),
                 io::Tensor("norm.weight", DataType::kFloat32, {2048})});
  }

  // For layouts that ask for whole tiles, groups of 256 columns or [experts, inputs, outputs]. Of
  // rows that are rotated a type without NaN and infinities leaves something.
  std::string MakeWholeWeights() {
    return Make("whole.safetensors",
                {io::Tensor("long.weight", DataType::kFloat4E2M1, {32, 75776}),
                 io::Tensor("even.weight", DataType::kFloat16, {256, 1024}),
                 io::Tensor("tall.weight", DataType::kFloat32, {288, 96}),
                 io::Tensor("l.experts.gate_up_proj", DataType::kBfloat16, {3, 96, 2111}),
                 io::Tensor("l.experts.down_proj", DataType::kFloat4E2M1, {2, 1184, 333})});
  }
};

TEST_F(QuantiseJobs, AreTheSameForAllBuffersAndThreads) {
  const std::string input = MakeWeights(), whole = MakeWholeWeights();
  const std::unique_ptr<Executor> threads = MakeTbbExecutor(4);
  std::size_t turn = 0;
  for (const auto& [format, layout, rotate] : kWritten) {
    SCOPED_TRACE(std::string(ScaledFormatName(format)) + " " + layout);
    Request request;
    request.files = {{*layout == 0 ? input : whole, Path("out.safetensors")}};
    request.to = format;
    request.layout = layout;
    request.rotate = rotate;
    const ConversionPlan plan = PlanOf(request);
    const Ran large = RunPlan(plan, std::size_t{64} << 20, nullptr);
    ASSERT_GE(large.losses.size(), 2u);
    for (const std::size_t buffer : {std::size_t{1}, std::size_t{256} << 10}) {
      if (testing::Sampled() && turn++ % 3 != 0) continue;
      const Ran small = RunPlan(plan, buffer, buffer == 1 ? nullptr : threads.get());
      const auto differs = std::ranges::mismatch(small.bytes, large.bytes).in1;
      EXPECT_TRUE(differs == small.bytes.end())
          << buffer << " differs from byte " << differs - small.bytes.begin();
      ASSERT_EQ(small.losses.size(), large.losses.size());
      for (std::size_t i = 0; i < small.losses.size(); ++i) {
        const LossReport a = small.losses[i].loss.Report(), b = large.losses[i].loss.Report();
        EXPECT_EQ(small.losses[i].job, large.losses[i].job);
        EXPECT_EQ(a.elements, b.elements);
        EXPECT_TRUE(std::equal(std::begin(a.counts), std::end(a.counts), std::begin(b.counts)));
        EXPECT_EQ(a.rmse, b.rmse);
        EXPECT_EQ(a.max_abs_error, b.max_abs_error);
        EXPECT_EQ(a.max_abs_example.index, b.max_abs_example.index);
      }
    }
  }
}

TEST_F(QuantiseJobs, ThePlanSaysWhatIsMadeAndComesBackFromJson) {
  Request request;
  request.files = {{MakeWeights(), Path("out.safetensors")}};
  request.to = ScaledFormat::kNvfp4;
  request.layout = "modelopt";
  request.rules = {{"ragged.*", DataType::kBfloat16}};
  const ConversionPlan plan = PlanOf(request);
  ASSERT_EQ(plan.jobs(), 7u);
  std::size_t tensor = 0;  // of the output
  for (std::size_t i = 0; i < plan.jobs(); ++i) {
    const PlannedJob job = plan.job(i);
    EXPECT_EQ(job.tensor, tensor);
    tensor += job.action == Action::kQuantise ? 3 : 1;
    EXPECT_EQ(job.made.size(), job.action == Action::kQuantise ? 3u : 0u);
    if (job.name != "even.weight") continue;
    EXPECT_EQ(job.action, Action::kQuantise);
    EXPECT_EQ(job.format, ScaledFormat::kNvfp4);
    EXPECT_EQ(job.layout, "modelopt");
    EXPECT_EQ(job.to, DataType::kFloat4E2M1);
    EXPECT_EQ(job.bytes_after, 256u * 512 + 256 * 64 + 4);
    EXPECT_EQ(job.made[0].name, "even.weight");
    EXPECT_EQ(job.made[0].type, DataType::kUint8);
    EXPECT_EQ(job.made[0].shape, (std::vector<std::uint64_t>{256, 512}));
    EXPECT_EQ(job.made[1].name, "even.weight_scale");
    EXPECT_EQ(job.made[1].shape, (std::vector<std::uint64_t>{256, 64}));
    EXPECT_EQ(job.made[2].name, "even.weight_scale_2");
    EXPECT_TRUE(job.made[2].shape.empty());
  }
  const std::string json = JsonOf(plan);
  ConversionPlan read;
  std::string error;
  ASSERT_TRUE(ConversionPlan::FromJson(json, {}, &read, &error).ok()) << error;
  EXPECT_EQ(JsonOf(read), json);
  for (std::size_t i = 0; i < plan.jobs(); ++i) {
    EXPECT_EQ(read.job(i).tensor, plan.job(i).tensor);
    EXPECT_EQ(read.job(i).bytes_after, plan.job(i).bytes_after);
  }
  const std::string bytes = RunPlan(plan, std::size_t{64} << 20, nullptr).bytes;
  EXPECT_TRUE(RunPlan(read, std::size_t{64} << 20, nullptr).bytes == bytes);
}

// Twice, whether they share their scales or not; in a part of the run the others' largest values
// once.
TEST_F(QuantiseJobs, WeightsThatShareAScaleAreReadAsOftenAsOthers) {
  const auto tensors = [](const std::string& parent) {
    return std::vector<formats::TensorInfo>{
        io::Tensor(parent + "q_proj.weight", DataType::kBfloat16, {64, 64}),
        io::Tensor(parent + "k_proj.weight", DataType::kFloat32, {32, 64}),
        io::Tensor(parent + "v_proj.weight", DataType::kFloat16, {16, 64}),
        io::Tensor(parent + "o_proj.weight", DataType::kBfloat16, {64, 64})};
  };
  std::vector<formats::TensorInfo> all = tensors("a.");
  for (const formats::TensorInfo& one : tensors("b.")) all.push_back(one);
  std::uint64_t bytes = 0;
  for (const formats::TensorInfo& one : all) bytes += one.bytes;
  Request request;
  request.files = {{Make("in.safetensors", all), Path("out.safetensors")}};
  request.to = ScaledFormat::kNvfp4;
  const ConversionPlan plan = PlanOf(request);
  Progress last;
  RunSettings settings;
  settings.progress = [&](const Progress& now) { last = now; };
  std::string error;
  ASSERT_TRUE(RunConversion(plan, settings, true, nullptr, &error).ok()) << error;
  EXPECT_EQ(last.bytes_total, 2 * bytes);
  EXPECT_EQ(last.bytes_done, 2 * bytes);
  const ConversionPlan again = PlanOf(request);
  bool is_first = true;
  for (const std::size_t tensor : {2, 0, 1}) {  // v, q, k of a
    JobRange range;                             // the file has its tensors in an order of its own
    while (again.job(range.job).name != all[tensor].name) ++range.job;
    ASSERT_TRUE(RunConversion(again, std::span(&range, 1), settings, nullptr, nullptr, &error).ok())
        << error;
    const std::uint64_t matrix = is_first ? all[0].bytes + all[1].bytes + all[2].bytes : 0;
    EXPECT_EQ(last.bytes_total, matrix + all[tensor].bytes);
    EXPECT_EQ(last.bytes_done, last.bytes_total);
    is_first = false;
  }
}

TEST_F(QuantiseJobs, WhatCannotBeIsRefused) {
  Request request;
  request.files = {{MakeWeights(), Path("out.safetensors")}};
  const auto refused = [&](StatusCode code, const std::string& text) {
    ConversionPlan plan;
    std::string error;
    EXPECT_EQ(ConversionPlan::Make(request, {}, &plan, &error).code(), code);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  request.to = ScaledFormat::kFp8Row;
  request.layout = "deepseek";
  refused(StatusCode::kBadInput,
          "fp8-row is not written in the layout deepseek; it is in compressed-tensors, onnx");
  request.layout.clear();
  request.scale_rule = ScaleRule::kOcp;
  refused(StatusCode::kBadInput, "fp8-row does not take the scale rule ocp; it takes amax, pow2");
  request.scale_rule.reset();
  request.to = ScaledFormat::kMxfp8E5M2;
  refused(StatusCode::kBadInput, "mxfp8-e5m2 can be measured, not written");
  request.to = DataType::kBfloat16;
  request.layout = "deepseek";
  refused(StatusCode::kBadInput, "a layout is asked for without a scaled format");
  request.layout.clear();
  request.to = ScaledFormat::kFp8Block;
  request.rules = {{"wide.*", ScaledFormat::kMxfp4}};
  refused(StatusCode::kUnsupportedFile, "fp8-block (deepseek)");
  request.rules.clear();
  request.files[0].output = Path("out.npz");
  refused(StatusCode::kUnsupportedFile, "scaled weights are written to .safetensors files");
}

TEST_F(QuantiseJobs, WhatIsNoLinearWeightOrDoesNotFitStays) {
  Request request;
  request.files = {{MakeWeights(), Path("out.safetensors")}};
  request.to = ScaledFormat::kMxfp4;
  const ConversionPlan plan = PlanOf(request);
  for (std::size_t i = 0; i < plan.jobs(); ++i) {
    const PlannedJob job = plan.job(i);
    if (job.name == "norm.weight") {
      EXPECT_EQ(job.reason, Reason::kNotLinear);
      EXPECT_EQ(job.text, "a norm");
    } else if (job.name == "ragged.weight") {
      EXPECT_EQ(job.reason, Reason::kMisfit);
      EXPECT_EQ(job.text, "its last dimension, 1337, is not a multiple of 32");
    } else {
      EXPECT_EQ(job.action == Action::kQuantise, job.name != "odd.weight") << job.name;
    }
  }
}

TEST_F(QuantiseJobs, TheMadeTensorsHaveToHaveNamesOfTheirOwn) {
  Request request;
  request.files = {{Make("in.safetensors", {io::Tensor("a.weight", DataType::kFloat32, {64, 64}),
                                            io::Tensor("a.weight_packed", DataType::kUint8, {64})}),
                    Path("out.safetensors")}};
  request.to = ScaledFormat::kMxfp4;
  const ConversionPlan plan = PlanOf(request);
  std::string error;
  EXPECT_EQ(RunConversion(plan, {}, false, nullptr, &error).code(), StatusCode::kBadInput);
  EXPECT_NE(error.find("a.weight_packed"), std::string::npos) << error;
}

}  // namespace
}  // namespace tensorcast::convert
