// What an executor and a function of the caller's throw during a conversion: the call says whose
// fault it is, and writes nothing.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plan_files.h"
#include "tensorcast/convert.hpp"
#include "tensorcast/onnx.hpp"

namespace tensorcast::convert {
namespace {

class ShutPool final : public Executor {
 public:
  std::size_t Concurrency() const noexcept override { return 4; }
  void ParallelFor(std::size_t, void (*)(void*, std::size_t), void*) override {
    throw std::runtime_error("the pool is shut");
  }
};

class GivenCode : public Plans {
 protected:
  // Runs a conversion of one tensor, and gives its code and text.
  std::pair<StatusCode, std::string> RunTo(Destination to, RunSettings settings) {
    Request request;
    request.files = {{Make("in.safetensors", {io::Tensor("w", DataType::kFloat32, {1024, 512})}),
                      Path("out.safetensors")}};
    request.to = to;
    settings.buffer_bytes = std::size_t{512} << 10;  // several chunks
    std::string error;
    const Status status = RunConversion(PlanOf(request), settings, false, nullptr, &error);
    EXPECT_EQ(Names(), std::vector<std::string>{"in.safetensors"});
    return {status.code(), error};
  }
};

TEST_F(GivenCode, AnExecutorThatThrows) {
  ShutPool pool;
  RunSettings settings;
  settings.executor = &pool;
  const std::pair<StatusCode, std::string> expected = {
      StatusCode::kExecutorFailed,
      "the executor failed, or did not run every task once: the pool is shut"};
  EXPECT_EQ(RunTo(DataType::kBfloat16, settings), expected);
  EXPECT_EQ(RunTo(ScaledFormat::kNvfp4, settings), expected);
}

TEST_F(GivenCode, AnExecutorThatThrowsWhileTextsAreParsed) {
  // A .npy of 100,000 texts, which are parsed in slices.
  const std::string path = Path("in.npy");
  formats::FileContents contents;
  contents.tensors = {io::Tensor("", DataType::kString, {100'000})};
  formats::TensorInfo& texts = contents.tensors[0];
  texts.text = {1, 1, texts.elements};
  texts.bytes = texts.elements;
  const auto writer = formats::CreateTensorFile(path, contents, {true, {}});
  const std::string digits(100'000, '7');
  std::vector<std::uint64_t> offsets(100'001);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = i;
  writer->WriteStrings(0, 0, Strings{offsets, digits});
  writer->Commit();
  Request request;
  request.files = {{path, Path("out.npy")}};
  request.to = DataType::kInt32;
  ShutPool pool;
  RunSettings settings;
  settings.executor = &pool;
  std::string error;
  EXPECT_EQ(RunConversion(PlanOf(request), settings, false, nullptr, &error).code(),
            StatusCode::kExecutorFailed);
  EXPECT_EQ(Names(), std::vector<std::string>{"in.npy"});
}

TEST_F(GivenCode, AProgressThatThrows) {
  RunSettings settings;
  settings.progress = [](const Progress& now) {
    throw std::out_of_range("no bar of " + std::to_string(now.bytes_total));
  };
  const std::pair<StatusCode, std::string> expected = {StatusCode::kCallbackFailed,
                                                       "a callback threw: no bar of 2097152"};
  EXPECT_EQ(RunTo(DataType::kBfloat16, settings), expected);
  settings.progress = [](const Progress&) { throw 1; };
  EXPECT_EQ(RunTo(DataType::kBfloat16, settings),
            std::pair(StatusCode::kCallbackFailed, std::string("a callback threw")));
  EXPECT_EQ(RunTo(ScaledFormat::kNvfp4, settings).first, StatusCode::kCallbackFailed);
}

}  // namespace
}  // namespace tensorcast::convert
