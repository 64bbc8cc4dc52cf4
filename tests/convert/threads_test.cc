// Conversions on several threads give the bytes and the losses of one, for every kind of job and of
// input whose threads share something. What the thread sanitizer sees of conversions is this.
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <latch>
#include <string>
#include <utility>
#include <vector>

#include "convert/runner.h"
#include "core/thread_executor.h"
#include "plan_files.h"
#include "tensorcast/convert.hpp"
#include "zip_bytes.h"

namespace tensorcast::convert {
namespace {

constexpr std::size_t kThreads = 4;
// Of all workers: every tensor below is several chunks.
constexpr std::size_t kSmallBuffers = std::size_t{512} << 10;

class ConversionThreads : public Plans {
 protected:
  Request RequestOf(const std::string& input, const std::string& output, Destination to) {
    Request request;
    request.files = {{input, Path(output)}};
    request.to = to;
    return request;
  }

  // Runs a plan on one thread, and on four one that knows nothing of its files yet, with a progress
  // that is counted.
  void ExpectSameOnThreads(const Request& request) {
    const Ran alone = RunPlan(PlanOf(request), kSmallBuffers);
    const ConversionPlan plan = PlanOf(request);
    testing::ThreadExecutor threads(kThreads);
    RunSettings settings;
    settings.buffer_bytes = kSmallBuffers;
    settings.executor = &threads;
    std::uint64_t calls = 0, last = 0;  // never from two at once: no atomics
    settings.progress = [&](const Progress& now) {
      ++calls;
      EXPECT_GE(now.bytes_done, last);
      last = now.bytes_done;
    };
    std::vector<JobLoss> losses;
    std::string error;
    ASSERT_TRUE(RunConversion(plan, settings, true, &losses, &error).ok()) << error;
    EXPECT_GE(threads.tasks_run(), 2u);  // of blocks of 128 rows there are no more
    EXPECT_GT(calls, 1u);
    EXPECT_TRUE(io::ReadBytes(plan.output(0)) == alone.bytes);
    ExpectSameLosses(plan, losses, alone.losses);
  }

  std::string MakeMatrices(const std::string& name) {
    return Make(name, {io::Tensor("a.weight", DataType::kBfloat16, {3, 70016}),
                       io::Tensor("b.weight", DataType::kFloat32, {131, 1337}),
                       io::Tensor("c.weight", DataType::kFloat16, {256, 1024}),
                       io::Tensor("mlp.experts.w.weight", DataType::kFloat32, {3, 130, 96}),
                       io::Tensor("norm.weight", DataType::kFloat32, {2048})});
  }
};

TEST_F(ConversionThreads, CastOneTensorAfterTheOther) {
  for (const DataType to : {DataType::kBfloat16, DataType::kFloat6E3M2}) {
    ExpectSameOnThreads(RequestOf(MakeMany("many.safetensors"), "out.safetensors", to));
  }
}

TEST_F(ConversionThreads, MakeEveryScaledFormat) {
  const std::string input = MakeMatrices("in.safetensors");
  for (const ScaledFormat format : {ScaledFormat::kFp8Row, ScaledFormat::kFp8Block,
                                    ScaledFormat::kMxfp6, ScaledFormat::kNvfp4}) {
    SCOPED_TRACE(ScaledFormatName(format));
    ExpectSameOnThreads(RequestOf(input, "out.safetensors", format));
  }
}

TEST_F(ConversionThreads, ApplyScales) {
  const std::string input = MakeMatrices("in.safetensors");
  for (const ScaledFormat format : {ScaledFormat::kFp8Row, ScaledFormat::kFp8Block,
                                    ScaledFormat::kInt8Row, ScaledFormat::kNvfp4}) {
    SCOPED_TRACE(ScaledFormatName(format));
    const Request quantise = RequestOf(input, "scaled.safetensors", format);
    RunPlan(PlanOf(quantise));
    const Request apply =
        RequestOf(Path("scaled.safetensors"), "out.safetensors", DataType::kFloat16);
    const ConversionPlan plan = PlanOf(apply);
    ASSERT_EQ(plan.jobs(), 5u);  // no scale is cast by itself
    ExpectSameOnThreads(apply);
  }
}

// The global scale of a matrix is known to all once one of them has read it, and those of the
// matrices with which it is fused.
TEST_F(ConversionThreads, LearnGlobalScales) {
  std::vector<formats::TensorInfo> tensors;
  for (int layer = 0; layer < 8; ++layer) {
    for (const char* const part : {"q", "k", "v"}) {
      tensors.push_back(io::Tensor(
          "model.layers." + std::to_string(layer) + ".self_attn." + part + "_proj.weight",
          DataType::kBfloat16, {64, 512}));
    }
  }
  RunPlan(PlanOf(
      RequestOf(Make("in.safetensors", tensors), "scaled.safetensors", ScaledFormat::kNvfp4)));
  ExpectSameOnThreads(
      RequestOf(Path("scaled.safetensors"), "out.safetensors", DataType::kBfloat16));
}

// Slabs of matrices that stand transposed are shared, and so is what is found of scales: of random
// bytes some are NaN.
TEST_F(ConversionThreads, ApplyScalesOfTransposedMatrices) {
  std::vector<formats::TensorInfo> tensors;
  for (int layer = 0; layer < 6; ++layer) {
    const std::string experts = "model.layers." + std::to_string(layer) + ".mlp.experts.down_proj_";
    tensors.push_back(io::Tensor(experts + "blocks", DataType::kUint8, {3, 32, 30, 16}));
    tensors.push_back(io::Tensor(experts + "scales", DataType::kUint8, {3, 32, 30}));
  }
  const Request apply =
      RequestOf(Make("in.safetensors", tensors), "out.safetensors", DataType::kBfloat16);
  ExpectSameOnThreads(apply);
  const ConversionPlan plan = PlanOf(apply);
  ASSERT_EQ(plan.jobs(), 6u);
  ASSERT_TRUE(RunConversion(plan, {}, true, nullptr).ok());
  EXPECT_EQ(plan.findings().size(), 6u);
}

// Members that are inflated when they are first read, and stored ones that are checked then.
TEST_F(ConversionThreads, ReadAndWriteArchives) {
  std::vector<io::ZipEntry> members;
  for (unsigned i = 0; i < 26; ++i) {
    const bool is_long = i >= 24;  // of several chunks, stored
    const std::size_t elements = is_long ? 120'000 : 16'000;
    std::string values(4 * elements, '\0');
    const std::vector<std::byte> random = RandomBytes(values.size(), i);
    std::memcpy(values.data(), random.data(), values.size());
    const std::string array =
        io::Npy(io::NpyDict("<f4", "(" + std::to_string(elements) + ",)"), values);
    io::ZipEntry& member = members.emplace_back("t" + std::to_string(i) + ".npy", array);
    if (i % 3 != 0 && !is_long) member.Deflate(io::DeflateStored(array));
  }
  io::WriteBytes(Path("in.npz"), io::Zip(members));
  ExpectSameOnThreads(RequestOf(Path("in.npz"), "out.npz", DataType::kFloat16));
  ExpectSameOnThreads(RequestOf(Path("in.npz"), "out.safetensors", DataType::kBfloat16));
}

TEST_F(ConversionThreads, PrintAndParseTexts) {
  const std::string numbers = Make("in.npy", {io::Tensor("", DataType::kInt32, {200'003})});
  Request print = RequestOf(numbers, "texts.npy", DataType::kString);
  print.all_types = true;
  ExpectSameOnThreads(print);
  RunPlan(PlanOf(print));
  Request parse = RequestOf(Path("texts.npy"), "back.npy", DataType::kInt32);
  parse.all_types = true;
  ExpectSameOnThreads(parse);
}

// A plan's readers outlive the call that made it: what they ask is the flag of the call that is on.
TEST_F(ConversionThreads, AskTheFlagOfTheCallThatIsOn) {
  const std::string array = io::Npy(io::NpyDict("<f4", "(64,)"), std::string(256, '\1'));
  io::ZipEntry inflated("a.npy", array), stored("b.npy", array);
  inflated.Deflate(io::DeflateStored(array));
  io::WriteBytes(Path("in.npz"), io::Zip({inflated, stored}));
  std::atomic<bool> of_making = false, of_running = true;
  RunSettings making, running;
  making.interrupted = &of_making;
  running.interrupted = &of_running;
  ConversionPlan plan;
  std::string error;
  ASSERT_TRUE(ConversionPlan::Make(RequestOf(Path("in.npz"), "out.npz", DataType::kFloat16), making,
                                   &plan, &error)
                  .ok())
      << error;
  of_making = true;
  EXPECT_EQ(RunConversion(plan, running, false, nullptr, &error).code(), StatusCode::kInterrupted);
  of_running = false;
  EXPECT_TRUE(RunConversion(plan, running, false, nullptr, &error).ok()) << error;
  EXPECT_TRUE(RunConversion(plan, {}, true, nullptr, &error).ok()) << error;
}

// An interrupt from another thread: the run ends, and nothing stands under the output's name.
TEST_F(ConversionThreads, EndWhenTheyAreInterrupted) {
  const std::string input = MakeMatrices("in.safetensors");
  for (const Destination to :
       {Destination(DataType::kBfloat16), Destination(ScaledFormat::kNvfp4)}) {
    const ConversionPlan plan = PlanOf(RequestOf(input, "out.safetensors", to));
    testing::ThreadExecutor threads(kThreads);
    std::atomic<bool> interrupted = false;
    RunSettings settings;
    settings.buffer_bytes = kSmallBuffers;
    settings.executor = &threads;
    settings.interrupted = &interrupted;
    settings.progress = [&](const Progress&) { interrupted = true; };
    std::string error;
    std::vector<JobLoss> losses;
    EXPECT_EQ(RunConversion(plan, settings, false, &losses, &error).code(),
              StatusCode::kInterrupted);
    EXPECT_EQ(Names(), std::vector<std::string>{"in.safetensors"});
  }
}

// A tensor no part of which can be read; its first readers fail at once.
class TornSource final : public formats::TensorReader {
 public:
  TornSource() { contents_.tensors = {io::Tensor("t", DataType::kFloat32, {512, 1024})}; }
  const formats::FileContents& contents() const override { return contents_; }
  std::uint64_t file_bytes() const override { return 0; }
  void Read(std::size_t, std::uint64_t offset, std::span<std::byte>) const override {
    all_are_here_.arrive_and_wait();
    throw files::Error(core::ErrorKind::kContents, "torn at " + std::to_string(offset));
  }
  void CheckUnchanged() const override {}

 private:
  formats::FileContents contents_;
  mutable std::latch all_are_here_{kThreads};
};

TEST_F(ConversionThreads, FailAtOnceWithWhatTheFirstChunkSays) {
  TensorJob cast{0, 0, {DataType::kFloat16}}, quantise{0, 0, {DataType::kFloat8E4M3FN}};
  quantise.scaled.format = scale::RowOf(ScaledFormat::kFp8Row);
  for (const TensorJob& job : {cast, quantise}) {
    const TornSource source;
    testing::ThreadExecutor threads(kThreads);
    JobOptions options;
    options.buffer_bytes = kSmallBuffers;
    options.executor = &threads;
    EXPECT_EQ(io::ErrorOf([&] { RunJobs(source, {&job, 1}, nullptr, options); }), "3 torn at 0");
  }
}

}  // namespace
}  // namespace tensorcast::convert
