// Diff through its public interface: kinds, figures, order, refusals; the same for any threads and
// buffers.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/diff.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/thread_executor.h"
#include "test_files.h"

namespace tensorcast {
namespace {

class Diffs : public io::FileTest {
 protected:
  struct Held {
    formats::TensorInfo info;
    std::vector<std::byte> bytes;
  };
  template <class Value>
  static Held Of(const std::string& name, DataType type, std::vector<std::uint64_t> shape,
                 const std::vector<Value>& values) {
    Held held{io::Tensor(name, type, std::move(shape)), {}};
    const auto bytes = std::as_bytes(std::span(values));
    held.bytes.assign(bytes.begin(), bytes.end());
    return held;
  }
  std::string Make(const std::string& name, const std::vector<Held>& tensors) const {
    formats::FileContents contents;
    for (const Held& one : tensors) contents.tensors.push_back(one.info);
    const auto writer = formats::CreateTensorFile(Path(name), contents, {true, {}});
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].bytes.empty()) writer->Write(i, 0, tensors[i].bytes);
    }
    writer->Commit();
    return Path(name);
  }
  static DiffReport Compared(const DiffRequest& request,
                             const convert::RunSettings& settings = {}) {
    DiffReport report;
    std::string error;
    EXPECT_TRUE(Diff(request, settings, &report, &error).ok()) << error;
    return report;
  }
  static DiffRequest Of(const std::string& a, const std::string& b) {
    DiffRequest request;
    request.a = a;
    request.b = b;
    return request;
  }
};

// 4,100 tensors, so that they are taken up in several batches, each with its place in the report.
TEST_F(Diffs, ManyTensorsInTheirOrder) {
  std::vector<Held> a, b;
  constexpr std::size_t kCount = 4100;
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string name = "t" + std::to_string(10000 + i);
    a.push_back(Of<float>(name, DataType::kFloat32, {2}, {1.0f, 3.0f}));
    b.push_back(Of<float>(name, DataType::kFloat32, {2}, {1.0f, i % 1000 == 7 ? 4.0f : 3.0f}));
  }
  const DiffReport report =
      Compared(Of(Make("a.safetensors", a), Make("b.safetensors", {b.rbegin(), b.rend()})));
  EXPECT_FALSE(report.equal());
  EXPECT_EQ(report.count(DiffKind::kValues), 5u);
  EXPECT_EQ(report.count(DiffKind::kSameBytes), kCount - 5);
  ASSERT_EQ(report.tensors.size(), kCount);
  for (std::size_t i = 0; i < 5; ++i) {
    const TensorDiff& diff = report.tensors[i];
    EXPECT_EQ(diff.side().name, "t" + std::to_string(10000 + i * 1000 + 7));
    ASSERT_TRUE(diff.loss);
    EXPECT_EQ(diff.loss->sum_squares, 10);
    EXPECT_EQ(diff.loss->sum_squared_error, 1);
    EXPECT_EQ(diff.first, 1u);
  }
  EXPECT_EQ(report.tensors[5].side().name, "t10000");
  EXPECT_EQ(report.sum.elements, 2 * kCount);
}

// A long tensor whose bytes are the same in some stretches: the figures are those of all of it.
TEST_F(Diffs, ThreadsAndBuffersChangeNothing) {
  std::vector<float> x(1'500'000), y;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1013) - 500.0f;
  y = x;
  double squares = 0, errors = 0;
  std::uint64_t different = 0;
  for (std::size_t i = 700'000; i < y.size(); i += 10'007, ++different) y[i] += 0.5f;
  for (const float value : x) squares += static_cast<double>(value) * value;  // whole numbers
  errors = 0.25 * static_cast<double>(different);
  const DiffRequest request =
      Of(Make("a.safetensors", {Of("w", DataType::kFloat32, {x.size()}, x)}),
         Make("b.safetensors", {Of("w", DataType::kFloat32, {y.size()}, y)}));
  testing::ThreadExecutor executor(3);
  for (const std::size_t buffer : {std::size_t{1}, std::size_t{1} << 18, std::size_t{64} << 20}) {
    for (Executor* const threads :
         {static_cast<Executor*>(nullptr), static_cast<Executor*>(&executor)}) {
      convert::RunSettings settings;
      settings.buffer_bytes = buffer;
      settings.executor = threads;
      std::uint64_t done = 0, total = 1;
      settings.progress = [&](const convert::Progress& now) {
        EXPECT_GE(now.bytes_done, done);
        done = now.bytes_done;
        total = now.bytes_total;
      };
      const DiffReport report = Compared(request, settings);
      EXPECT_EQ(done, total);
      ASSERT_EQ(report.tensors.size(), 1u);
      const TensorDiff& diff = report.tensors.front();
      EXPECT_EQ(diff.kind, DiffKind::kValues);
      EXPECT_EQ(diff.different, different);
      EXPECT_EQ(diff.first, 700'000u);
      ASSERT_TRUE(diff.loss);
      EXPECT_EQ(diff.loss->elements, x.size());
      EXPECT_EQ(diff.loss->sum_squares, squares);
      EXPECT_EQ(diff.loss->sum_squared_error, errors);
      EXPECT_EQ(diff.loss->max_abs_example.index, 700'000u);
    }
  }
}

// What is equal loses nothing, also where nothing in it can be compared; what is missing crosses
// every snr.
TEST_F(Diffs, Limits) {
  const std::vector<float> nans(3, NAN);
  const std::string a = Make("a.safetensors", {Of("nan", DataType::kFloat32, {3}, nans),
                                               Of<float>("w", DataType::kFloat32, {1}, {1.0f})});
  const std::string b =
      Make("b.safetensors", {Of("nan", DataType::kFloat64, {3}, std::vector<double>(3, -NAN)),
                             Of<float>("w", DataType::kFloat32, {1}, {1.0f})});
  const std::string c = Make("c.safetensors", {Of<float>("w", DataType::kFloat32, {1}, {1.0f})});
  const LossLimit snr = *ParseLossLimit("snr=100");
  const DiffReport same = Compared(Of(a, b));
  EXPECT_TRUE(same.equal());
  EXPECT_TRUE(CrossedLimits({&snr, 1}, same.sum).empty());
  const DiffReport missing = Compared(Of(a, c));
  EXPECT_FALSE(missing.equal());
  ASSERT_EQ(CrossedLimits({&snr, 1}, missing.sum).size(), 1u);
  EXPECT_EQ(CrossedLimits({&snr, 1}, missing.sum)[0].tensor, "nan");
}

TEST_F(Diffs, Refusals) {
  const std::string a = Make("a.safetensors", {Of<float>("w", DataType::kFloat32, {1}, {1.0f})});
  io::WriteBytes(Path("bad.safetensors"), "nothing of the kind");
  DiffReport report;
  std::string error;
  const auto code = [&](DiffRequest request, const convert::RunSettings& settings = {}) {
    return Diff(request, settings, &report, &error).code();
  };
  EXPECT_EQ(code(Of(a, Path("none.safetensors"))), StatusCode::kFileError);
  EXPECT_EQ(code(Of(a, Path("bad.safetensors"))), StatusCode::kBadFile);
  EXPECT_EQ(code(Of(a, Path("none.what"))), StatusCode::kFileError);
  DiffRequest request = Of(a, a);
  request.only = {"x"};
  EXPECT_EQ(code(request), StatusCode::kBadInput);
  EXPECT_EQ(error, "'x' matches no tensor");
  request = Of(a, a);
  request.renames = {{"v", "w"}};
  EXPECT_EQ(code(request), StatusCode::kBadInput);
  const std::atomic<bool> interrupted = true;
  convert::RunSettings settings;
  settings.interrupted = &interrupted;
  EXPECT_EQ(code(Of(a, a), settings), StatusCode::kInterrupted);
  settings = {};
  settings.progress = [](const convert::Progress&) { throw 1; };
  EXPECT_EQ(code(Of(a, a), settings), StatusCode::kCallbackFailed);
}

}  // namespace
}  // namespace tensorcast
