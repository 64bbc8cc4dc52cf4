// Outputs that several processes write together: the bytes and the reports of one run; and handles
// that are refused.
//
// SPDX-License-Identifier: Apache-2.0
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

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

// Every file of a directory, by its path there.
std::map<std::string, std::string> FilesOf(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    files[entry.path().lexically_relative(directory).string()] = io::ReadBytes(entry.path());
  }
  return files;
}

// A checkpoint of three files, one of them in a folder below, and of what stands beside them.
class SharedDirectories : public SharedOutputs {
 protected:
  std::string MakeCheckpoint() {
    std::filesystem::create_directory(Path("in"));
    std::string map;
    for (const char* const number : {"1", "2", "3"}) {
      const std::string file = "model-0000" + std::string(number) + "-of-00003.safetensors";
      const std::string name = std::string("layers.") + number;
      Make("in/" + file, {io::Tensor(name + ".w", DataType::kFloat32, {100, 111}),
                          io::Tensor(name + ".b", DataType::kBfloat16, {3}),
                          io::Tensor(name + ".none", DataType::kFloat32, {0, 4}),
                          io::Tensor(name + ".ids", DataType::kInt64, {3001})});
      for (const char* const part : {".w", ".b", ".none", ".ids"}) {
        map += (map.empty() ? "" : ", ") + ('"' + name + part + "\": \"" + file + '"');
      }
    }
    io::WriteBytes(Path("in/model.safetensors.index.json"),
                   R"({"metadata": {"total_size": 1}, "weight_map": {)" + map + "}}");
    io::WriteBytes(Path("in/config.json"), R"({"model_type": "m", "torch_dtype": "float32"})");
    return Path("in");
  }

  ConversionPlan PlanOfDirectory(std::uint64_t max_shard_bytes = 0) {
    Request request;
    request.files = {{MakeCheckpoint(), Path("out")}};
    request.to = DataType::kFloat16;
    request.max_shard_bytes = max_shard_bytes;
    return PlanOf(request);
  }

  // Two processes make the directory that one makes.
  void ExpectTheSameDirectory(const ConversionPlan& plan) {
    std::string error;
    std::vector<JobLoss> whole;
    ASSERT_TRUE(RunConversion(plan, {}, false, &whole, &error).ok()) << error;
    const std::map<std::string, std::string> written = FilesOf(Path("out"));
    EXPECT_GT(written.size(), 2u);
    std::filesystem::remove_all(Path("out"));
    ConversionOutputs outputs;
    ASSERT_TRUE(ConversionOutputs::Create(plan, false, {}, &outputs, &error).ok()) << error;
    std::string handle;
    ASSERT_TRUE(outputs.Share(&handle, &error).ok()) << error;
    ASSERT_TRUE(RunWorkers(JsonOf(plan), handle));
    EXPECT_FALSE(std::filesystem::exists(Path("out")));
    ASSERT_TRUE(outputs.Commit(&error).ok()) << error;
    EXPECT_EQ(FilesOf(Path("out")), written);
    std::vector<JobLoss> losses = ReadLosses();
    ASSERT_TRUE(MergeLosses(&losses).ok());
    std::erase_if(whole, [&](const JobLoss& one) { return one.loss.Report().elements == 0; });
    ExpectSameLosses(plan, losses, whole);
  }
};

TEST_F(SharedDirectories, OfTwoProcessesAreThoseOfOne) {
  ExpectTheSameDirectory(PlanOfDirectory());
}

TEST_F(SharedDirectories, AreShardedAnewLikewise) {
  ExpectTheSameDirectory(PlanOfDirectory(30000));
}

TEST_F(SharedDirectories, ThatAreNotTheHiddenOnesOfTheOutputAreRefused) {
  const ConversionPlan plan = PlanOfDirectory();
  std::string error;
  std::string handle;
  ConversionOutputs outputs;
  ASSERT_TRUE(ConversionOutputs::Create(plan, false, {}, &outputs, &error).ok()) << error;
  ASSERT_TRUE(outputs.Share(&handle, &error).ok()) << error;
  const std::size_t begin = handle.find(directory());
  const std::string hidden = handle.substr(begin, handle.find('"', begin) - begin);
  const auto refused = [&](const std::string& path, StatusCode code) {
    ConversionOutputs joined;
    const std::string text = std::string(handle).replace(begin, hidden.size(), path);
    EXPECT_EQ(ConversionOutputs::Join(plan, text, {}, &joined, &error).code(), code) << text;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  };
  refused(Path("in"), StatusCode::kBadFile);
  refused("/tmp/" + std::filesystem::path(hidden).filename().string(), StatusCode::kBadFile);
  std::string other = hidden;
  char& digit = other[other.size() - std::string(".tmp").size() - 1];
  digit = digit == '0' ? '1' : '0';
  refused(other, StatusCode::kFileError);
  std::filesystem::create_symlink(Path("in"), other);
  refused(other, StatusCode::kBadFile);
}

// Each unit, the last first, by outputs that are joined for it alone; some of them are run twice,
// as where a process is thought dead. What is counted twice is for the caller to leave out.
TEST_F(SharedDirectories, AreWrittenUnitByUnitAndSomeUnitsTwice) {
  const ConversionPlan plan = PlanOfDirectory();
  std::string error;
  std::vector<JobLoss> whole;
  ASSERT_TRUE(RunConversion(plan, {}, false, &whole, &error).ok()) << error;
  const std::map<std::string, std::string> written = FilesOf(Path("out"));
  std::filesystem::remove_all(Path("out"));

  std::vector<WorkUnit> units;
  ASSERT_TRUE(CutIntoUnits(plan, 20000, &units, &error).ok()) << error;
  EXPECT_GT(units.size(), 6u);
  ConversionOutputs outputs;
  ASSERT_TRUE(ConversionOutputs::Create(plan, false, {}, &outputs, &error).ok()) << error;
  std::string handle;
  ASSERT_TRUE(outputs.Share(&handle, &error).ok()) << error;
  std::vector<JobLoss> losses;
  for (std::size_t i = units.size(); i-- > 0;) {
    ConversionOutputs joined;
    ASSERT_TRUE(ConversionOutputs::Join(plan, handle, {}, &joined, &error).ok()) << error;
    for (int times = i % 2; times >= 0; --times) {
      ASSERT_TRUE(
          RunConversion(plan, units[i].ranges, {}, &joined, times == 0 ? &losses : nullptr, &error)
              .ok())
          << error;
    }
  }
  ASSERT_TRUE(outputs.Commit(&error).ok()) << error;
  EXPECT_EQ(FilesOf(Path("out")), written);
  ASSERT_TRUE(MergeLosses(&losses).ok());
  ExpectSameLosses(plan, losses, whole);
}

// Every element of every job is in one unit, whose parts are numbered by file.
TEST_F(SharedDirectories, AreCutIntoUnitsByFileAndRows) {
  const ConversionPlan plan = PlanOfDirectory();
  for (const std::uint64_t most : {1u, 5000u, 20000u, 60000u, 1u << 30}) {
    std::vector<WorkUnit> units;
    ASSERT_TRUE(CutIntoUnits(plan, most, &units).ok());
    std::map<std::size_t, std::uint64_t> next;
    std::map<std::string, std::size_t> parts;
    for (const WorkUnit& unit : units) {
      EXPECT_EQ(unit.output, 0u);
      EXPECT_FALSE(unit.is_for_creator);
      EXPECT_EQ(unit.part, parts[unit.file]++);
      EXPECT_LT(unit.part, unit.parts);
      EXPECT_FALSE(unit.ranges.empty());
      // A row of 111 float32 and a piece of 1,024 elements have 444 kB at most.
      EXPECT_LE(unit.bytes, std::max<std::uint64_t>(most, 1024 * 444));
      for (const JobRange& range : unit.ranges) {
        const PlannedJob job = plan.job(range.job);
        const std::string layer(job.name.substr(0, std::string_view("layers.1").size()));
        EXPECT_EQ(unit.file, Path("out") + "/model-0000" + layer.back() + "-of-00003.safetensors");
        EXPECT_EQ(range.first, next[range.job]);
        const std::uint64_t all = job.sources.front().elements;
        next[range.job] += std::min(range.elements, all - range.first);
        EXPECT_TRUE(range.first + range.elements == all || range.elements == UINT64_MAX ||
                    (range.first + range.elements) % 1024 == 0);
      }
    }
    EXPECT_EQ(parts.size(), 3u);
    EXPECT_EQ(next.size(), plan.jobs());
    std::uint64_t bytes = 0, all = 0;
    for (const WorkUnit& unit : units) {
      bytes += unit.bytes;
      EXPECT_EQ(unit.parts, parts[unit.file]);
    }
    for (std::size_t j = 0; j < plan.jobs(); ++j) {
      const PlannedJob job = plan.job(j);
      EXPECT_EQ(next[j], job.sources.front().elements);
      all += job.bytes_before;
    }
    EXPECT_EQ(bytes, all);
  }
}

// Who goes on after the process that began the outputs has given them their names, or has removed
// them, writes nothing.
TEST_F(SharedDirectories, AreNotWrittenOnceTheyHaveTheirNames) {
  std::vector<ConversionPlan> plans;
  plans.push_back(PlanOfDirectory());
  plans.push_back(ThreeFiles());
  for (ConversionPlan& plan : plans) {
    for (const bool is_committed : {true, false}) {
      std::vector<WorkUnit> units;
      std::string error;
      std::string handle;
      ASSERT_TRUE(CutIntoUnits(plan, 5000, &units).ok());
      auto outputs = std::make_unique<ConversionOutputs>();
      ASSERT_TRUE(ConversionOutputs::Create(plan, true, {}, outputs.get(), &error).ok()) << error;
      ASSERT_TRUE(outputs->Share(&handle, &error).ok()) << error;
      ConversionOutputs joined;
      ASSERT_TRUE(ConversionOutputs::Join(plan, handle, {}, &joined, &error).ok()) << error;
      ASSERT_TRUE(RunConversion(plan, units[0].ranges, {}, &joined, nullptr, &error).ok()) << error;
      if (is_committed) {
        EXPECT_TRUE(outputs->Commit(&error).ok()) << error;
      }
      outputs.reset();
      const auto before = FilesOf(directory());
      for (const WorkUnit& unit : units) {
        EXPECT_EQ(RunConversion(plan, unit.ranges, {}, &joined, nullptr, &error).code(),
                  StatusCode::kFileError);
        EXPECT_EQ(error.find('\n'), std::string::npos) << error;
      }
      EXPECT_EQ(FilesOf(directory()), before);
    }
  }
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
                       ": can only be written by one process; .safetensors, .npy, .pb, .gguf and "
                       "directories can be shared");
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
