// Models that run on several threads: one model, sessions made at once, executors, interrupts.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "cast_models.h"
#include "tensorcast/graph.hpp"
#include "tensorcast/session.hpp"
#include "test_files.h"

namespace {

using onnx_test::CastModel;
using onnx_test::Data;
using onnx_test::DataType;
using onnx_test::Floats;
using onnx_test::kF16;
using onnx_test::kF32;
using onnx_test::kStrings;
using onnx_test::ModelBytes;
using onnx_test::MustRun;
using onnx_test::Parsed;
using onnx_test::StatusCode;
using onnx_test::Tensor;
using onnx_test::To;
using tensorcast::GraphRun;
using tensorcast::SessionResults;
using SessionThreads = tensorcast::io::FileTest;

// Sessions that are made at once read the graph's data files, which are opened when the first of
// them needs one.
TEST_F(SessionThreads, OfExternalDataAreMadeAtOnce) {
  constexpr int kFiles = 64;
  ModelBytes model;
  model.nodes.clear();
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = "w" + std::to_string(i), file = name + ".bin";
    tensorcast::io::WriteBytes(Path(file), std::string(1, static_cast<char>(i)));
    model.initializers.push_back(onnx_test::VarintField(1, 1) + onnx_test::VarintField(2, 3) +
                                 onnx_test::BytesField(8, name) +
                                 onnx_test::BytesField(13, onnx_test::BytesField(1, "location") +
                                                               onnx_test::BytesField(2, file)) +
                                 onnx_test::VarintField(14, 1));
    model.nodes.push_back({"Cast", {name}, {"y" + std::to_string(i)}, To(DataType::kInt16)});
    model.outputs.push_back({"y" + std::to_string(i), DataType::kInt16});
  }
  tensorcast::io::WriteBytes(Path("m.onnx"), model.Bytes());
  for (int round = 0; round < 10; ++round) {
    tensorcast::Graph graph;
    std::string error;
    ASSERT_TRUE(tensorcast::Graph::Load(Path("m.onnx"), {}, &graph, &error).ok()) << error;
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        tensorcast::Session session;
        bool is_right =
            tensorcast::Session::Create(graph, {}, &session).ok() && session.Run({}).ok();
        for (int k = 0; is_right && k < kFiles; ++k) {
          tensorcast::TensorView view;
          is_right = session.Output(k, &view).ok() && view.data[0] == static_cast<std::byte>(k) &&
                     view.data[1] == std::byte{0};
        }
        if (is_right) ++right;
      });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(right, 4);
  }
}

// Four threads run one session, while this one binds, runs and goes back.
void ExpectShared(tensorcast::Session& session, bool has_gradients) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Tensor input = Floats(std::vector<float>(1000, static_cast<float>(t)));
      const std::vector<tensorcast::TensorView> views = {input.view()};
      for (int i = 0; i < 50; ++i) {
        SessionResults outputs;
        if (session.Run(views, {}, &outputs).ok() && Data(outputs[0]) == input.data) ++good;
      }
    });
  }
  const Tensor own = Floats({5, 6, 7});
  for (int i = 0; i < 20; ++i) {
    tensorcast::TensorView output;
    EXPECT_TRUE(session.BindInput("x", own.view()).ok());
    EXPECT_TRUE(session.Run({}).ok());
    EXPECT_TRUE(session.Output(0, &output).ok());
    EXPECT_EQ(Data(output), own.data);
    if (!has_gradients) continue;
    bool has = false;
    tensorcast::TensorView gradient;
    EXPECT_TRUE(session.BindGradient(0, own.view()).ok());
    EXPECT_TRUE(session.Backward({}).ok());
    EXPECT_TRUE(session.Gradient(0, &has, &gradient).ok());
    EXPECT_EQ(Data(gradient), own.data);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 200);
}

TEST(RunningThreads, OneSessionOfAModelFromMany) {
  Parsed parsed(onnx_test::ChainModel(50));
  ASSERT_TRUE(parsed.status.ok());
  ExpectShared(parsed.session, false);
}

TEST(RunningThreads, OneSessionOfAGraphFromMany) {
  const std::string model = onnx_test::ChainModel(50).Bytes();
  tensorcast::Graph graph;
  ASSERT_TRUE(tensorcast::Graph::Parse(std::as_bytes(std::span(model)), {}, &graph).ok());
  tensorcast::Session session;
  ASSERT_TRUE(tensorcast::Session::Create(graph, {.backward = true}, &session).ok());
  ExpectShared(session, true);
}

TEST(RunningThreads, WithAnExecutor) {
  const auto executor = tensorcast::MakeTbbExecutor(3);
  if (executor == nullptr) GTEST_SKIP() << "built without oneTBB";
  std::vector<float> values(1'000'003);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) / 8;
  const std::vector<Tensor> inputs = {Floats(values)};
  ModelBytes model;
  model.inputs = {{"x", kF32}};
  model.outputs = {{"y", kF32}, {"s", kF32}};
  model.nodes = {{"Cast", {"x"}, {"h"}, To(DataType::kFloat16)},
                 {"Cast", {"h"}, {"y"}, To(kF32)},
                 {"Cast", {"x"}, {"t"}, To(kStrings)},
                 {"Cast", {"t"}, {"s"}, To(kF32)}};
  GraphRun run;
  run.executor = executor.get();
  std::atomic<bool> flag = false;
  const Parsed parsed(model);
  for (const bool has_flag : {false, true}) {
    run.interrupted = has_flag ? &flag : nullptr;
    const SessionResults outputs = MustRun(parsed, inputs, run);
    EXPECT_TRUE(Data(outputs[0]) == inputs[0].data);
    EXPECT_TRUE(Data(outputs[1]) == inputs[0].data);
  }
}

class ThrowingExecutor final : public tensorcast::Executor {
 public:
  std::size_t Concurrency() const noexcept override { return 8; }
  void ParallelFor(std::size_t, void (*)(void*, std::size_t), void*) override { throw 1; }
};

TEST(RunningThreads, AnExecutorThatThrows) {
  const Parsed parsed(CastModel(25, kF32, kF16, To(kF16)));
  const Tensor input = Floats(std::vector<float>(1 << 20));
  ThrowingExecutor executor;
  GraphRun run;
  run.executor = &executor;
  SessionResults outputs;
  std::string error;
  EXPECT_EQ(onnx_test::Run(parsed, {input}, &outputs, &error, run).code(),
            StatusCode::kExecutorFailed);
}

TEST(RunningThreads, Interrupted) {
  const Parsed parsed(onnx_test::ChainModel(4));
  std::atomic<bool> flag = true;
  GraphRun run;
  run.interrupted = &flag;
  SessionResults outputs;
  std::string error;
  EXPECT_EQ(onnx_test::Run(parsed, {Floats({1})}, &outputs, &error, run).code(),
            StatusCode::kInterrupted);
  EXPECT_EQ(error, "interrupted");
}

// Pieces of a cast that is interrupted between them: 2^24 elements each. The flag is set by an
// executor, which runs within the first.
class FlagExecutor final : public tensorcast::Executor {
 public:
  std::size_t Concurrency() const noexcept override { return 2; }
  void ParallelFor(std::size_t tasks, void (*task)(void*, std::size_t), void* context) override {
    ++calls;
    for (std::size_t i = 0; i < tasks; ++i) {
      task(context, i);
      if (stops) flag = true;
    }
  }
  bool stops = false;
  int calls = 0;
  std::atomic<bool> flag = false;
};

TEST(RunningThreads, LongCastsLookAtTheFlag) {
  const std::uint64_t n = (std::uint64_t{1} << 24) * 2 + 5;
  const std::vector<Tensor> inputs = {{DataType::kUint8, {n}, std::string(n, '\3')}};
  const Parsed parsed(CastModel(25, DataType::kUint8, DataType::kInt4, To(DataType::kInt4)));
  for (const bool stops : {false, true}) {
    FlagExecutor executor;
    executor.stops = stops;
    GraphRun run;
    run.executor = &executor;
    run.interrupted = &executor.flag;
    SessionResults outputs;
    std::string error;
    const auto status = onnx_test::Run(parsed, inputs, &outputs, &error, run);
    EXPECT_EQ(status.code(), stops ? StatusCode::kInterrupted : StatusCode::kOk);
    if (stops) {
      EXPECT_EQ(executor.calls, 1);
    } else {
      EXPECT_TRUE(Data(outputs[0]) == std::string(n / 2, '\x33') + '\3');
    }
  }
}

}  // namespace
