// A refusal whole, as a caller of the C++ interface has it: each remedy, what it is about, and what
// the system says.
//
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/failure.h"
#include "model_bytes.h"
#include "plan_files.h"
#include "tensorcast/convert.hpp"
#include "torch_bytes.h"

namespace tensorcast::convert {
namespace {

using io::BytesField;
using io::VarintField;

// What the last call refused, with texts of its own.
struct Refused {
  StatusCode kind;
  Remedy remedy;
  std::string subject;
  std::string text;
  int system_error;
};
Refused Last() {
  const Refusal last = LastRefusal();
  return {last.kind, last.remedy, std::string(last.subject), std::string(last.text),
          last.system_error};
}

class Remedies : public Plans {
 protected:
  Remedies() {
    const formats::TensorInfo codes = io::Tensor("a.weight", DataType::kFloat8E4M3FN, {64, 64});
    const std::vector<formats::TensorInfo> two = {io::Tensor("w", DataType::kFloat32, {2}),
                                                  io::Tensor("v", DataType::kFloat32, {2})};
    Make("two.safetensors", two);
    Make("there.safetensors", two);
    Make("scaled.safetensors", {codes, io::Tensor("a.weight_scale", DataType::kFloat32, {3, 5})});
    Make("packed.safetensors", {io::Tensor("a.W_q", DataType::kUint8, {64, 32}),
                                io::Tensor("a.scale", DataType::kFloat32, {64}),
                                io::Tensor("a.zero", DataType::kFloat32, {64})});
    // A checkpoint whose weight and its scale stand in two files.
    std::filesystem::create_directory(Path("sharded"));
    Make("sharded/1.safetensors", {codes});
    Make("sharded/2.safetensors", {io::Tensor("a.weight_scale", DataType::kFloat32, {1})});
    io::WriteBytes(Path("sharded/model.safetensors.index.json"),
                   R"({"weight_map": {"a.weight": "1.safetensors",)"
                   R"("a.weight_scale": "2.safetensors"}})");
    const std::string file = BytesField(13, BytesField(1, "location") + BytesField(2, "w.bin"));
    io::WriteBytes(Path("linked.onnx"),
                   onnx::ModelBytes(BytesField(
                       5, onnx::TensorBytes("w", onnx::kFloat, 2, {}, file + VarintField(14, 1)))));
    io::WriteBytes(Path("w.bin"), std::string(8, '\0'));
    const std::string weights = io::pickle::Dict(
        {io::pickle::Text("w"),
         io::pickle::Rebuild(io::pickle::Storage("FloatStorage", "0", 2), 0, {2}, {1})});
    io::WriteBytes(
        Path("two.pt"),
        io::TorchZip(io::pickle::Whole(io::pickle::Dict(
                         {io::pickle::Text("model"), weights, io::pickle::Text("ema"), weights})),
                     {{"0", std::string(8, '\0')}}));
    std::filesystem::create_hard_link(Path("w.bin"), Path("elsewhere"));
    const std::string header = "{'descr': '|V1', 'fortran_order': False, 'shape': (2,), }";
    io::WriteBytes(Path("void.npy"), std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header +
                                         std::string(0x75 - header.size(), ' ') + "\n\1\2");
    const std::string tensor = onnx::TensorBytes("", onnx::kFloat, 2, std::string(8, '\0'));
    const std::string constant =
        onnx::NodeBytes("Constant", {}, {"c"}, {onnx::AttributeTensor("value", tensor)});
    io::WriteBytes(Path("early.onnx"), onnx::ModelBytes(BytesField(1, constant), 8, 3));
  }

  Request Asked(const std::string& input, const std::string& output) {
    Request request;
    request.files = {{Path(input), Path(output)}};
    request.to = DataType::kBfloat16;
    request.all_types = true;
    return request;
  }

  // A request that meets this remedy, and the subject of its refusal. No default: a new remedy
  // does not compile.
  std::optional<std::pair<Request, std::string>> Provoking(Remedy remedy) {
    Request request = Asked("two.safetensors", "out.safetensors");
    switch (remedy) {
      case Remedy::kNone: break;
      case Remedy::kAllowHardLinks: return {{Asked("linked.onnx", "out.onnx"), Path("w.bin")}};
      case Remedy::kAllowOverwriting:
        return {{Asked("two.safetensors", "there.safetensors"), Path("there.safetensors")}};
      case Remedy::kChooseOneTensor:
        return {{Asked("two.safetensors", "out.npy"), Path("two.safetensors")}};
      case Remedy::kLeaveOut:
        request = Asked("early.onnx", "out.onnx");
        request.to = DataType::kInt32;
        return {{request, "c"}};
      case Remedy::kIgnoreScales:
        return {{Asked("scaled.safetensors", "out.safetensors"), "a.weight"}};
      case Remedy::kTakeDirectory:
        return {{Asked("sharded/1.safetensors", "out.safetensors"), "a.weight"}};
      case Remedy::kKeepPacked:
        request = Asked("packed.safetensors", "out.safetensors");
        request.only = {"a.W_q"};
        return {{request, "a.W_q"}};
      case Remedy::kAssumeType: return {{Asked("void.npy", "out.npy"), Path("void.npy")}};
      case Remedy::kMatchRule:
        request.rules = {{"no*", DataType::kFloat16, {"rank=2"}}};
        return {{request, "no* & rank=2"}};
      case Remedy::kMatchChosen: request.only = {"w", "no*"}; return {{request, "no*"}};
      case Remedy::kMatchExcluded: request.excluded = {"no*"}; return {{request, "no*"}};
      case Remedy::kMatchNames:
        request.rules = {{"no*", DataType::kFloat16}};
        request.rules[0].where = "rules.toml:7";
        return {{request, "no*"}};
      case Remedy::kMatchSelected: request.select = {"no*"}; return {{request, "no*"}};
      case Remedy::kChooseRoot: return {{Asked("two.pt", "out.safetensors"), Path("two.pt")}};
    }
    return std::nullopt;
  }
};

TEST_F(Remedies, ComeWithTheirSubject) {
  int met = 0;
  for (int number = 1; const auto provoking = Provoking(static_cast<Remedy>(number)); ++number) {
    ConversionPlan plan;
    std::string error;
    Status status = ConversionPlan::Make(provoking->first, {}, &plan, &error);
    if (status.ok()) status = RunConversion(plan, {}, false, nullptr, &error);
    EXPECT_EQ(status.remedy(), static_cast<Remedy>(number)) << error;
    const Refused last = Last();
    EXPECT_EQ(Status(last.kind, last.remedy), status);
    EXPECT_EQ(last.subject, provoking->second);
    EXPECT_EQ(last.text, error);
    EXPECT_EQ(last.system_error, status.remedy() == Remedy::kAllowOverwriting ? EEXIST : 0);
    ++met;
  }
  EXPECT_EQ(met, 14);
}

TEST_F(Remedies, WhatTheSystemRefuses) {
  ConversionPlan plan;
  const Request missing = Asked("missing.npy", "out.npy");
  // Also where no text is asked for.
  EXPECT_EQ(ConversionPlan::Make(missing, {}, &plan, nullptr), Status(StatusCode::kFileError));
  EXPECT_EQ(Last().subject, Path("missing.npy"));
  EXPECT_EQ(Last().system_error, ENOENT);
  EXPECT_EQ(Last().text, Path("missing.npy") + ": cannot be opened: No such file or directory");
  // It stays over what goes well, and is its thread's own.
  EXPECT_TRUE(ConversionPlan::Make(Asked("two.safetensors", "o.npz"), {}, &plan, nullptr).ok());
  EXPECT_EQ(Last().system_error, ENOENT);
  std::thread([] { EXPECT_EQ(Last().kind, StatusCode::kOk); }).join();
  // What fails next without a file has none.
  EXPECT_FALSE(ConversionPlan::FromJson("{", {}, &plan, nullptr).ok());
  EXPECT_EQ(Last().system_error, 0);
}

}  // namespace
}  // namespace tensorcast::convert
