// Outputs that several processes write together: the bytes and the reports of one run; and handles
// that are refused.
//
// SPDX-License-Identifier: Apache-2.0
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>

#include "plan_files.h"

extern char** environ;

namespace tensorcast::convert {
namespace {

class SharedOutputs : public Plans {
 protected:
  // Two workers at once; whether both ended well.
  bool RunWorkers(const std::string& plan, const std::string& handle) {
    io::WriteBytes(Path("plan.json"), plan);
    io::WriteBytes(Path("handle.json"), handle);
    std::vector<pid_t> workers;
    for (const char* const rank : {"0", "1"}) {
      std::string arguments[] = {
          TENSORCAST_WORKER,    Path("plan.json"), Path("handle.json"), rank, "2",
          Path("losses") + rank};
      char* argv[7] = {};
      for (std::size_t i = 0; i < 6; ++i) argv[i] = arguments[i].data();
      pid_t worker = 0;
      EXPECT_EQ(posix_spawn(&worker, argv[0], nullptr, nullptr, argv, environ), 0);
      workers.push_back(worker);
    }
    bool ended_well = true;
    for (const pid_t worker : workers) {
      int status = -1;
      EXPECT_EQ(waitpid(worker, &status, 0), worker);
      ended_well = ended_well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return ended_well;
  }

  std::vector<JobLoss> ReadLosses() const {
    std::vector<JobLoss> losses;
    for (const char* const rank : {"0", "1"}) {
      const std::string text = io::ReadBytes(Path(std::string("losses") + rank));
      const std::size_t each = sizeof(std::uint64_t) + LossMeter::SavedBytes();
      EXPECT_EQ(text.size() % each, 0u);
      for (std::size_t at = 0; at < text.size(); at += each) {
        std::uint64_t job = 0;
        std::memcpy(&job, text.data() + at, sizeof job);
        JobLoss loss{job, LossMeter(DataType::kFloat32, DataType::kFloat32)};
        const std::span<const char> meter(text.data() + at + sizeof job, LossMeter::SavedBytes());
        EXPECT_TRUE(loss.loss.Load(std::as_bytes(meter)).ok());
        losses.push_back(std::move(loss));
      }
    }
    return losses;
  }

  ConversionPlan ThreeFiles() {
    Request request;
    request.files = {
        {MakeMany("a.safetensors"), Path("b.safetensors")},
        {Make("c.npy", {io::Tensor("c", DataType::kFloat32, {70000})}), Path("d.npy")},
        {Make("e.pb", {io::Tensor("e", DataType::kFloat64, {9, 1111})}), Path("f.pb")}};
    request.to = DataType::kFloat6E3M2;
    request.rules = {{"e", DataType::kFloat8E5M2}};
    return PlanOf(request);
  }

  // What two processes write is what one does, and so is what they say was lost.
  void ExpectTheSameOfTwo(const ConversionPlan& plan) {
    std::string error;
    std::vector<JobLoss> whole;
    ASSERT_TRUE(RunConversion(plan, {}, false, &whole, &error).ok()) << error;
    std::vector<std::string> written;
    for (std::size_t i = 0; i < plan.outputs(); ++i) {
      written.push_back(io::ReadBytes(plan.output(i)));
      std::filesystem::remove(plan.output(i));
    }

    ConversionOutputs outputs;
    ASSERT_TRUE(ConversionOutputs::Create(plan, false, {}, &outputs, &error).ok()) << error;
    std::string handle;
    ASSERT_TRUE(outputs.Share(&handle, &error).ok()) << error;
    ASSERT_TRUE(RunWorkers(JsonOf(plan), handle));
    for (std::size_t i = 0; i < plan.outputs(); ++i) {
      EXPECT_FALSE(std::filesystem::exists(plan.output(i)));
    }
    ASSERT_TRUE(outputs.Commit(&error).ok()) << error;
    for (std::size_t i = 0; i < plan.outputs(); ++i) {
      EXPECT_EQ(io::ReadBytes(plan.output(i)), written[i]) << plan.output(i);
    }
    std::vector<JobLoss> losses = ReadLosses();
    ASSERT_TRUE(MergeLosses(&losses).ok());
    // A tensor without an element has no range.
    std::erase_if(whole, [&](const JobLoss& one) { return one.loss.Report().elements == 0; });
    ExpectSameLosses(plan, losses, whole);
  }
};

TEST_F(SharedOutputs, OfTwoProcessesAreThoseOfOne) { ExpectTheSameOfTwo(ThreeFiles()); }

// Weights that share a global scale, each made by another process, one in a file that is not
// converted: the plan in JSON says so.
TEST_F(SharedOutputs, HaveOneGlobalScaleForWeightsThatAreFused) {
  const auto weight = [](const std::string& name, DataType type) {
    return io::Tensor("model.layers.0." + name + ".weight", type, {64, 48});
  };
  Make("a-00002-of-00002.safetensors",
       {weight("self_attn.v_proj", DataType::kFloat64), weight("mlp.up_proj", DataType::kFloat16)});
  io::WriteBytes(Path("a.safetensors.index.json"),
                 R"({"weight_map": {
                   "model.layers.0.self_attn.v_proj.weight": "a-00002-of-00002.safetensors",
                   "model.layers.0.mlp.up_proj.weight": "a-00002-of-00002.safetensors"}})");
  Request request;
  request.files = {
      {Make("a-00001-of-00002.safetensors", {weight("self_attn.q_proj", DataType::kFloat16),
                                             weight("self_attn.k_proj", DataType::kBfloat16),
                                             weight("self_attn.o_proj", DataType::kFloat32),
                                             weight("mlp.gate_proj", DataType::kFloat8E4M3FN)}),
       Path("b.safetensors")}};
  request.to = ScaledFormat::kNvfp4;
  const ConversionPlan plan = PlanOf(request);
  ExpectTheSameOfTwo(plan);
  const auto written = checkpoint::OpenTensorFile(Path("b.safetensors"), {}).reader;
  const auto global = [&](const std::string& name) {
    const std::vector<formats::TensorInfo>& tensors = written->contents().tensors;
    const auto tensor = std::ranges::find(
        tensors, "model.layers.0." + name + ".weight_global_scale", &formats::TensorInfo::name);
    float value = 0;
    written->Read(static_cast<std::size_t>(tensor - tensors.begin()), 0,
                  std::as_writable_bytes(std::span(&value, 1)));
    return value;
  };
  // The random float64s have values beyond all others', and of float16s the largest is 65,504 or
  // near it.
  EXPECT_EQ(global("self_attn.q_proj"), 1);
  EXPECT_EQ(global("self_attn.k_proj"), 1);
  EXPECT_NE(global("self_attn.o_proj"), 1);
  EXPECT_LT(global("mlp.gate_proj"), 2688.f / 60000);
  EXPECT_GE(global("mlp.gate_proj"), 2688.f / 65504);
  // The other file is an input, and held against the plan.
  const std::string json = JsonOf(plan);
  const std::string other = Path("a-00002-of-00002.safetensors");
  const std::string bytes = io::ReadBytes(other);
  ConversionPlan read;
  std::string error;
  io::WriteBytes(other, "other");
  EXPECT_EQ(ConversionPlan::FromJson(json, {}, &read, &error).code(), StatusCode::kBadFile);
  EXPECT_NE(error.find(other), std::string::npos) << error;
  io::WriteBytes(other, bytes);
  ASSERT_TRUE(ConversionPlan::FromJson(json, {}, &read, &error).ok()) << error;
  io::WriteBytes(other, "other");
  EXPECT_FALSE(RunConversion(read, {}, true, nullptr, &error).ok());
  EXPECT_NE(error.find(other), std::string::npos) << error;
}

TEST_F(SharedOutputs, LeaveNothingWhereTheyAreNotCommitted) {
  const ConversionPlan plan = ThreeFiles();
  std::string error;
  std::string handle;
  {
    ConversionOutputs outputs;
    ASSERT_TRUE(ConversionOutputs::Create(plan, false, {}, &outputs, &error).ok()) << error;
    ASSERT_TRUE(outputs.Share(&handle, &error).ok()) << error;
    ConversionOutputs joined;
    ASSERT_TRUE(ConversionOutputs::Join(plan, handle, {}, &joined, &error).ok()) << error;
  }
  EXPECT_EQ(Names(), (std::vector<std::string>{"a.safetensors", "c.npy", "e.pb"}));
  EXPECT_FALSE(RunWorkers(JsonOf(plan), handle));  // they are gone
}

TEST_F(SharedOutputs, OfFormatsThatOneProcessHasToWriteAreRefused) {
  Request request;
  request.files = {{Make("a.npy", {io::Tensor("a", DataType::kFloat32, {9})}), Path("b.npz")}};
  request.to = DataType::kFloat16;
  const ConversionPlan plan = PlanOf(request);
  ConversionOutputs outputs;
  std::string error;
  ASSERT_TRUE(ConversionOutputs::Create(plan, false, {}, &outputs, &error).ok()) << error;
  std::string handle;
  EXPECT_EQ(outputs.Share(&handle, &error).code(), StatusCode::kUnsupportedFile);
  EXPECT_EQ(error, Path("b.npz") +
                       ": can only be written by one process; .safetensors, .npy, .pb and .gguf "
                       "can be shared");
}

TEST_F(SharedOutputs, StringsAreForTheProcessThatCreatedThem) {
  Request request;
  request.files = {{Make("a.npy", {io::Tensor("a", DataType::kFloat32, {9})}), Path("b.npy")}};
  request.to = DataType::kString;
  const ConversionPlan plan = PlanOf(request);
  ConversionOutputs outputs;
  ConversionOutputs joined;
  std::string error;
  std::string handle;
  ASSERT_TRUE(ConversionOutputs::Create(plan, false, {}, &outputs, &error).ok()) << error;
  ASSERT_TRUE(outputs.Share(&handle, &error).ok()) << error;
  ASSERT_TRUE(ConversionOutputs::Join(plan, handle, {}, &joined, &error).ok()) << error;
  const JobRange all{0};
  EXPECT_EQ(RunConversion(plan, std::span(&all, 1), {}, &joined, nullptr, &error).code(),
            StatusCode::kBadInput);
  EXPECT_EQ(error, "job 0: strings are converted by the process that created the outputs");
  EXPECT_TRUE(RunConversion(plan, std::span(&all, 1), {}, &outputs, nullptr, &error).ok()) << error;
  EXPECT_TRUE(outputs.Commit(&error).ok()) << error;
}

// A handle is a text from elsewhere: it opens nothing but the temporary file of its own output.
TEST_F(SharedOutputs, HandlesThatAreNotOfThisPlanAreRefusedInOneLine) {
  Request request;
  request.files = {{Make("a.npy", {io::Tensor("a", DataType::kFloat32, {9})}), Path("b.npy")}};
  request.to = DataType::kFloat16;
  const ConversionPlan plan = PlanOf(request);
  ConversionOutputs outputs;
  std::string error;
  std::string handle;
  ASSERT_TRUE(ConversionOutputs::Create(plan, false, {}, &outputs, &error).ok()) << error;
  ASSERT_TRUE(outputs.Share(&handle, &error).ok()) << error;
  const std::size_t begin = handle.find(directory());
  ASSERT_NE(begin, std::string::npos) << handle;
  const std::string temporary = handle.substr(begin, handle.find('"', begin) - begin);
  const auto refused = [&](const std::string& text, StatusCode code) {
    ConversionOutputs joined;
    EXPECT_EQ(ConversionOutputs::Join(plan, text, {}, &joined, &error).code(), code) << text;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_LT(error.size(), 500u);
  };
  const auto with = [&](const std::string& path) {
    return std::string(handle).replace(begin, temporary.size(), path);
  };
  refused("", StatusCode::kBadFile);
  refused(JsonOf(plan), StatusCode::kBadFile);
  for (std::size_t n = 0; n + 2 < handle.size(); ++n) {
    refused(handle.substr(0, n), StatusCode::kBadFile);
  }
  refused(with(Path("a.npy")), StatusCode::kBadFile);
  refused(with(""), StatusCode::kBadFile);
  refused(with("/etc/" + std::filesystem::path(temporary).filename().string()),
          StatusCode::kBadFile);
  // Of the right name, but a link, another size, gone.
  std::string other = temporary;
  char& digit = other[other.size() - std::string(".tmp").size() - 1];
  digit = digit == '0' ? '1' : '0';
  refused(with(other), StatusCode::kFileError);
  std::filesystem::create_symlink(Path("a.npy"), other);
  refused(with(other), StatusCode::kFileError);
  std::filesystem::remove(other);
  io::WriteBytes(other, "short");
  refused(with(other), StatusCode::kBadFile);
  std::filesystem::remove(other);
  // Another plan.
  request.to = DataType::kBfloat16;
  const ConversionPlan another = PlanOf(request);
  ConversionOutputs joined;
  EXPECT_EQ(ConversionOutputs::Join(another, handle, {}, &joined, &error).code(),
            StatusCode::kBadFile);
  EXPECT_EQ(error, "the handle of outputs: \"plan\" is not this plan");
}

}  // namespace
}  // namespace tensorcast::convert
