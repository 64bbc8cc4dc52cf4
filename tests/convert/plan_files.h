// Files of random tensors, and plans of them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_CONVERT_PLAN_FILES_H_
#define TENSORCAST_TESTS_CONVERT_PLAN_FILES_H_

#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tensorcast/convert.hpp"
#include "test_files.h"

namespace tensorcast::convert {

inline std::vector<std::byte> RandomBytes(std::uint64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(n));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

struct Ran {
  std::string bytes;  // of the first output
  std::vector<JobLoss> losses;
};

inline Ran RunPlan(const ConversionPlan& plan, std::size_t buffer_bytes = std::size_t{64} << 20,
                   Executor* executor = nullptr) {
  RunSettings settings;
  settings.buffer_bytes = buffer_bytes;
  settings.executor = executor;
  Ran ran;
  std::string error;
  EXPECT_TRUE(RunConversion(plan, settings, true, &ran.losses, &error).ok()) << error;
  ran.bytes = io::ReadBytes(plan.output(0));
  return ran;
}

class Plans : public io::FileTest {
 protected:
  // A file of tensors of random codes.
  std::string Make(const std::string& name, std::vector<formats::TensorInfo> tensors) {
    const std::string path = Path(name);
    formats::FileContents contents;
    contents.tensors = std::move(tensors);
    contents.metadata["made"] = "here";
    const auto writer = formats::CreateTensorFile(path, contents, {true, {}});
    for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
      writer->Write(i, 0, RandomBytes(contents.tensors[i].bytes, static_cast<unsigned>(i)));
    }
    writer->Commit();
    return path;
  }
  // Of every type that the format holds: odd sizes, several blocks.
  std::string MakeMany(const std::string& name) {
    std::vector<formats::TensorInfo> tensors;
    for (const TypeInfo& row : Types()) {
      if (row.bits == 0) continue;
      const formats::TensorInfo info =
          io::Tensor("t." + std::string(row.name), row.type, {3, 5001});
      try {
        formats::CheckTensorFile(Path(name), {{info}, {}}, {true, {}});
      } catch (const files::Error&) {
        continue;  // no type of the format's
      }
      tensors.push_back(info);
    }
    tensors.push_back(io::Tensor("empty", DataType::kFloat32, {0, 4}));
    return Make(name, tensors);
  }

  static ConversionPlan PlanOf(const Request& request) {
    ConversionPlan plan;
    std::string error;
    EXPECT_TRUE(ConversionPlan::Make(request, {}, &plan, &error).ok()) << error;
    return plan;
  }
  // The same jobs, and of each the same report, byte for byte.
  static void ExpectSameLosses(const ConversionPlan& plan, const std::vector<JobLoss>& losses,
                               const std::vector<JobLoss>& whole) {
    ASSERT_EQ(losses.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(losses[i].job, whole[i].job);
      const LossReport a = whole[i].loss.Report();
      const LossReport b = losses[i].loss.Report();
      EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0) << plan.job(whole[i].job).name;
      EXPECT_EQ(losses[i].gain_db, whole[i].gain_db) << plan.job(whole[i].job).name;
    }
  }
  static std::string JsonOf(const ConversionPlan& plan) {
    std::string json;
    EXPECT_TRUE(plan.ToJson(&json).ok());
    return json;
  }
};

}  // namespace tensorcast::convert

#endif  // TENSORCAST_TESTS_CONVERT_PLAN_FILES_H_
