// Integers in groups, the layouts of single programs, and weights that are repacked: the same files
// and figures for all threads, buffers, instruction sets and parts of a plan. What the bytes are is
// tests/scale's.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/source_codes.h"
#include "core/thread_executor.h"
#include "plan_files.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {
namespace {

struct Setting {
  std::size_t threads;  // 1: without an executor
  std::size_t buffer_bytes;
};
constexpr Setting kSettings[] = {
    {1, 1}, {2, std::size_t{256} << 10}, {3, 1}, {8, std::size_t{64} << 20}};

// Bytes of numbers whose exponents, `bias` below their type's, are from -7 to 0, so that float16
// holds all scales and biases: a field is `bits` wide, its mantissa `mantissa`. Some are zero.
std::vector<std::byte> Modest(std::uint64_t n, int bits, int mantissa, std::uint64_t bias,
                              unsigned seed) {
  std::mt19937_64 random(seed);
  const std::size_t width = static_cast<std::size_t>(bits) / 8;
  std::vector<std::byte> bytes(static_cast<std::size_t>(n) * width);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t word = random(), more = random();
    std::uint64_t code = word & ((std::uint64_t{1} << mantissa) - 1);
    code |= (bias - more % 8) << mantissa;
    code |= (more >> 8 & 1) << (bits - 1);
    if ((more >> 40 & 63) == 0) code = 0;
    std::memcpy(&bytes[i * width], &code, width);
  }
  return bytes;
}

std::vector<std::byte> ModestOf(const formats::TensorInfo& tensor, unsigned seed) {
  switch (tensor.type) {
    case DataType::kFloat64: return Modest(tensor.elements, 64, 52, 1023, seed);
    case DataType::kFloat32: return Modest(tensor.elements, 32, 23, 127, seed);
    case DataType::kBfloat16: return Modest(tensor.elements, 16, 7, 127, seed);
    default: return Modest(tensor.elements, 16, 10, 15, seed);
  }
}

class WrittenSweep : public Plans {
 protected:
  // Rows and bands larger than the least buffers; stacked weights, where a layout has them.
  std::string MakeLayers(bool has_stacks) {
    std::vector<formats::TensorInfo> tensors = {
        io::Tensor("a.q_proj.weight", DataType::kBfloat16, {32, 4352}),
        io::Tensor("a.o_proj.weight", DataType::kFloat32, {160, 384}),
        io::Tensor("a.up_proj.weight", DataType::kFloat16, {96, 256}),
        io::Tensor("a.down_proj.weight", DataType::kFloat64, {64, 256}),
        io::Tensor("norm.weight", DataType::kFloat32, {2048})};
    if (has_stacks) {
      tensors.push_back(io::Tensor("mlp.experts.w.weight", DataType::kBfloat16, {3, 40, 256}));
    }
    return MakeFolder(std::move(tensors));
  }
  std::string MakeExperts() {
    return MakeFolder({io::Tensor("l.experts.gate_up_proj", DataType::kBfloat16, {3, 96, 401}),
                       io::Tensor("l.experts.down_proj", DataType::kFloat32, {2, 608, 77}),
                       io::Tensor("norm.weight", DataType::kFloat32, {2048})});
  }

  // What stands in a folder after a run, by name.
  using Files = std::map<std::string, std::string>;
  static Files FilesOf(const std::string& path) {
    if (!std::filesystem::is_directory(path)) return {{"", io::ReadBytes(path)}};
    Files found;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      found[entry.path().filename().string()] = io::ReadBytes(entry.path().string());
    }
    return found;
  }

  // Runs the request, then again in every way, and counts the jobs of `action`.
  void ExpectSameInEveryWay(const Request& request, Action action) {
    const std::string& output = request.files[0].output;
    ConversionPlan plan;
    std::string error;
    ASSERT_TRUE(ConversionPlan::Make(request, {}, &plan, &error).ok()) << error;
    std::size_t made = 0;
    for (std::size_t j = 0; j < plan.jobs(); ++j) made += plan.job(j).action == action;
    ASSERT_GE(made, 2u);
    std::vector<JobLoss> whole;
    ASSERT_TRUE(RunConversion(plan, {}, true, &whole, &error).ok()) << error;
    const Files files = FilesOf(output);
    const auto run = [&](const std::string& way, const RunSettings& settings) {
      SCOPED_TRACE(way);
      std::filesystem::remove_all(output);
      std::vector<JobLoss> losses;
      ASSERT_TRUE(RunConversion(plan, settings, true, &losses, &error).ok()) << error;
      EXPECT_TRUE(FilesOf(output) == files);
      ExpectSameLosses(plan, losses, whole);
    };
    for (const auto& [threads, buffer_bytes] : kSettings) {
      testing::ThreadExecutor executor(threads);
      RunSettings settings;
      settings.executor = threads == 1 ? nullptr : &executor;
      settings.buffer_bytes = buffer_bytes;
      run(std::to_string(threads) + " threads, " + std::to_string(buffer_bytes) + " bytes",
          settings);
    }
    for (const Target target : Targets()) {
      RunSettings settings;
      settings.target = target;
      run(std::string(TargetName(target)), settings);
    }
    RunInParts(JsonOf(plan), output, files, whole);
  }

 private:
  std::string MakeFolder(std::vector<formats::TensorInfo> tensors) {
    std::string folder = Path("in");
    std::filesystem::create_directory(folder);
    formats::FileContents contents;
    contents.tensors = std::move(tensors);
    const auto writer =
        formats::CreateTensorFile(folder + "/model.safetensors", contents, {true, {}});
    for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
      writer->Write(i, 0, ModestOf(contents.tensors[i], static_cast<unsigned>(i)));
    }
    writer->Commit();
    io::WriteBytes(folder + "/config.json", R"({"torch_dtype": "float32"})");
    return folder;
  }

  // A scaled weight is made whole: the parts are jobs, in any order, a few in a call; of a plan
  // that was made again of its JSON, as another process has it.
  void RunInParts(const std::string& json, const std::string& output, const Files& files,
                  const std::vector<JobLoss>& whole) {
    SCOPED_TRACE("in parts");
    std::filesystem::remove_all(output);
    ConversionPlan plan;
    std::string error;
    ASSERT_TRUE(ConversionPlan::FromJson(json, {}, &plan, &error).ok()) << error;
    std::vector<JobRange> ranges;
    for (std::size_t j = 0; j < plan.jobs(); ++j) ranges.push_back({j});
    std::mt19937_64 random(26);
    std::ranges::shuffle(ranges, random);
    ConversionOutputs outputs;
    ASSERT_TRUE(ConversionOutputs::Create(plan, true, {}, &outputs, &error).ok()) << error;
    std::vector<JobLoss> losses;
    for (std::size_t at = 0; at < ranges.size();) {
      const std::size_t n = std::min<std::size_t>(ranges.size() - at, 1 + random() % 3);
      testing::ThreadExecutor executor(1 + n);
      RunSettings settings;
      settings.executor = &executor;
      settings.buffer_bytes = std::size_t{200} << 10;
      std::vector<JobLoss> part;
      ASSERT_TRUE(
          RunConversion(plan, std::span(ranges).subspan(at, n), settings, &outputs, &part, &error)
              .ok())
          << error;
      for (JobLoss& loss : part) losses.push_back(std::move(loss));
      at += n;
    }
    ASSERT_TRUE(outputs.Commit(&error).ok()) << error;
    EXPECT_TRUE(FilesOf(output) == files);
    ASSERT_TRUE(MergeLosses(&losses).ok());
    ExpectSameLosses(plan, losses, whole);
  }
};

struct Grouped {
  ScaledFormat format;
  const char* layout;
  std::uint64_t group;  // 0: of a row
};
constexpr Grouped kGrouped[] = {{ScaledFormat::kInt4Group, "compressed-tensors", 128},
                                {ScaledFormat::kInt4Group, "gptq", 32},
                                {ScaledFormat::kInt4Group, "awq", 0},
                                {ScaledFormat::kInt4Group, "mlx", 64},
                                {ScaledFormat::kInt8Group, "compressed-tensors", 0},
                                {ScaledFormat::kInt8Group, "gptq", 128},
                                {ScaledFormat::kInt8Group, "mlx", 32}};

// What is tested of a list: all, or where sampled one in three, and of the searches, which take the
// longest by far, one in twelve.
class Chosen {
 public:
  bool Takes(bool is_search) {
    if (!testing::Sampled()) return true;
    return is_search ? searches_++ % 12 == 0 : others_++ % 3 == 0;
  }

 private:
  int searches_ = 0;
  int others_ = 0;
};

TEST_F(WrittenSweep, IntegersInGroups) {
  Chosen chosen;
  for (const auto& [format, layout, group] : kGrouped) {
    const std::string name = layout;
    const std::string input = MakeLayers(name == "compressed-tensors" || name == "mlx");
    for (const bool asymmetric : {false, true}) {
      for (const auto rule : {ScaleRule::kAmax, ScaleRule::kMse, ScaleRule::kMseFine}) {
        // A search does not know where codes go: one layout stands for the others, beside MLX's.
        const bool is_own = name == "mlx" || name == "gptq";
        if (rule == ScaleRule::kMse && asymmetric && !is_own) continue;
        if (rule == ScaleRule::kMseFine && name != "mlx") continue;
        if (!chosen.Takes(rule != ScaleRule::kAmax)) continue;
        SCOPED_TRACE(std::string(ScaledFormatName(format)) + ' ' + name +
                     (asymmetric ? " asymmetric " : " ") + std::string(ScaleRuleName(rule)));
        Request request;
        request.files = {{input, Path("out")}};
        request.to = format;
        request.layout = name;
        request.group = group;
        request.asymmetric = asymmetric;
        request.scale_rule = rule;
        ExpectSameInEveryWay(request, Action::kQuantise);
      }
    }
  }
}

TEST_F(WrittenSweep, LayoutsOfSinglePrograms) {
  struct One {
    ScaledFormat format;
    const char* layout;
    bool rotate = false;
    bool is_fine = false;  // four-over-six too
  };
  constexpr One kOnes[] = {{ScaledFormat::kNvfp4, "comfyui", false, true},
                           {ScaledFormat::kMxfp8, "comfyui"},
                           {ScaledFormat::kInt8Row, "comfyui"},
                           {ScaledFormat::kInt8Row, "comfyui", true},
                           {ScaledFormat::kMxfp4, "mlx"},
                           {ScaledFormat::kMxfp8, "mlx"},
                           {ScaledFormat::kNvfp4, "mlx"},
                           {ScaledFormat::kMxfp4, "gpt-oss"}};
  Chosen chosen;
  for (const One& one : kOnes) {
    const std::string name = one.layout;
    Request request;
    request.files = {{name == "gpt-oss" ? MakeExperts() : MakeLayers(name == "mlx"), Path("out")}};
    if (name == "comfyui") request.files[0].input += "/model.safetensors";  // single files alone
    if (name == "comfyui") request.files[0].output += ".safetensors";
    request.to = one.format;
    request.layout = name;
    request.rotate = one.rotate;
    std::vector<std::optional<ScaleRule>> rules = {{}, ScaleRule::kMse};
    if (one.is_fine) rules.push_back(ScaleRule::kFourOverSix);
    for (const std::optional<ScaleRule>& rule : rules) {
      if (!chosen.Takes(rule.has_value())) continue;
      SCOPED_TRACE(std::string(ScaledFormatName(one.format)) + ' ' + name +
                   (one.rotate ? " rotated" : "") + (rule ? " searched" : ""));
      request.scale_rule = rule;
      ExpectSameInEveryWay(request, Action::kQuantise);
    }
  }
}

TEST_F(WrittenSweep, Repacked) {
  struct Pair {
    ScaledFormat format;
    const char* from;
    std::vector<std::string> into;
    bool asymmetric = false;
  };
  const std::vector<Pair> pairs = {
      {ScaledFormat::kInt4Group, "gptq", {"compressed-tensors", "awq", "mlx"}},
      {ScaledFormat::kInt4Group, "awq", {"gptq", "compressed-tensors"}, true},
      {ScaledFormat::kInt4Group, "compressed-tensors", {"mlx"}},
      {ScaledFormat::kInt8Group, "mlx", {"compressed-tensors"}},
      {ScaledFormat::kNvfp4, "compressed-tensors", {"modelopt", "comfyui"}},
      {ScaledFormat::kMxfp4, "gpt-oss", {"compressed-tensors", "mlx"}},
      {ScaledFormat::kInt8Row, "compressed-tensors", {"comfyui"}},
      {ScaledFormat::kMxfp8, "compressed-tensors", {"comfyui"}}};
  for (const Pair& pair : pairs) {
    const std::string from = pair.from;
    Request quantise;
    quantise.files = {{from == "gpt-oss" ? MakeExperts() : MakeLayers(false), Path("packed")}};
    quantise.to = pair.format;
    quantise.layout = from;
    quantise.asymmetric = pair.asymmetric;
    std::filesystem::remove_all(Path("packed"));
    std::string error;
    ASSERT_TRUE(RunConversion(PlanOf(quantise), {}, true, nullptr, &error).ok()) << error;
    for (const std::string& into : pair.into) {
      SCOPED_TRACE(std::string(ScaledFormatName(pair.format)) + ' ' + from + " into " + into);
      Request request;
      request.files = {{Path("packed"), Path("out")}};
      if (into == "comfyui") {
        request.files = {{Path("packed") + "/model.safetensors", Path("out.safetensors")}};
      }
      request.repack = into;
      ExpectSameInEveryWay(request, Action::kRepack);
    }
  }
}

}  // namespace
}  // namespace tensorcast::convert
