// verify of ONNX models: what a conversion makes is right, and no byte of its files can be another
// without being found.
//
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convert/conversion_plan.h"
#include "convert/verification.h"
#include "files/error.h"
#include "model_bytes.h"
#include "plan_files.h"

namespace tensorcast::convert {
namespace {

using io::BytesField;
using io::ReadBytes;
using io::VarintField;
using io::WriteBytes;

class VerifyModels : public Plans {
 protected:
  // Weights with raw values and with typed ones, large and small, a Constant, integers, strings, an
  // empty tensor; `external`: the largest stands in another file.
  void WriteModel(const std::string& name, bool external) {
    std::vector<float> values(600);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01F * static_cast<float>(i) - 2;
    const std::string raw = onnx::FloatBytes(values);
    std::string large =
        VarintField(1, 20) + VarintField(1, 30) + VarintField(2, onnx::kFloat) + BytesField(8, "w");
    if (external) {
      const auto entry = [](std::string_view key, std::string_view value) {
        return BytesField(13, BytesField(1, key) + BytesField(2, value));
      };
      WriteBytes(Path(name + ".weights"), "1234" + raw);
      large += entry("location", name + ".weights") + entry("offset", "4") +
               entry("length", std::to_string(raw.size())) + VarintField(14, 1);
    } else {
      large += BytesField(9, raw);
    }
    constexpr std::uint64_t kString = 8, kInt64 = 7;
    const auto head = [](std::string_view tensor, std::uint64_t type, std::uint64_t n) {
      return VarintField(1, n) + VarintField(2, type) + BytesField(8, tensor);
    };
    const std::string small = onnx::FloatBytes({1, 2, 3, 1e-9F, -5});
    const std::string graph =
        BytesField(1, onnx::NodeBytes("MatMul", {"x", "w"}, {"y0"}, {}, "first")) +
        BytesField(1, onnx::NodeBytes("Constant", {}, {"c"},
                                      {onnx::AttributeTensor("value", head("", onnx::kFloat, 5) +
                                                                          BytesField(9, small))})) +
        BytesField(1, onnx::NodeBytes("Add", {"y0", "b"}, {"y"})) + BytesField(5, large) +
        BytesField(5, head("b", onnx::kFloat, 5) + BytesField(4, small)) +  // float_data
        BytesField(
            5, head("n", kInt64, 3) + VarintField(7, 1) + VarintField(7, 500) + VarintField(7, 9)) +
        BytesField(5, head("empty", onnx::kFloat, 0)) +
        BytesField(5, head("texts", kString, 2) + BytesField(6, "one") + BytesField(6, "two"));
    WriteBytes(Path(name), onnx::ModelBytes(graph));
  }

  Request Asked(const std::string& in, const std::string& out,
                std::optional<Destination> to) const {
    Request request;
    request.files = {{Path(in), Path(out)}};
    request.to = to;
    return request;
  }

  static Verification Verified(const Request& request) {
    const std::unique_ptr<PlanState> plan = MakePlan(request, {});
    return Verify(*plan, {}, {});
  }

  // Whether a changed output is found out, or cannot be read at all.
  static bool IsFound(const Request& request) {
    try {
      return !Verified(request).IsRight();
    } catch (const files::Error&) {
      return true;
    }
  }

  static void Set(const std::string& path, std::size_t at, char byte) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }

  // The model and the data beside it.
  std::vector<std::string> FilesOf(const std::string& model) const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory())) {
      const std::string name = entry.path().filename().string();
      if (name == model || (name.starts_with("out") && name.ends_with(".onnx.data"))) {
        files.push_back(entry.path().string());
      }
    }
    return files;
  }

  void ExpectEveryByteHeld(const Request& request) {
    const Verification right = Verified(request);
    EXPECT_TRUE(right.IsRight());
    EXPECT_GE(right.tensors, 6U);
    for (const std::string& path : FilesOf("out.onnx")) {
      const std::string bytes = ReadBytes(path);
      // Of runs of equal bytes only the first ones: zeros between tensors.
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i > 4 && i + 4 < bytes.size() && bytes.substr(i - 4, 9) == std::string(9, bytes[i])) {
          continue;
        }
        Set(path, i, static_cast<char>(bytes[i] ^ 0x10));
        ASSERT_TRUE(IsFound(request)) << path << " at " << i;
        Set(path, i, bytes[i]);
      }
      WriteBytes(path, bytes + '\0');
      EXPECT_TRUE(IsFound(request)) << path;
      WriteBytes(path, bytes.substr(0, bytes.size() - 1));
      EXPECT_TRUE(IsFound(request)) << path;
      std::filesystem::remove(path);
      EXPECT_TRUE(IsFound(request)) << path;
      WriteBytes(path, bytes);
    }
    EXPECT_TRUE(Verified(request).IsRight());
  }
};

TEST_F(VerifyModels, EveryByteOfTheFilesIsHeld) {
  for (const bool external : {false, true}) {
    const std::optional<Destination> all[] = {DataType::kFloat16, DataType::kFloat8E4M3FN,
                                              ScaledFormat::kInt8Row, std::nullopt};
    for (const std::optional<Destination>& to : all) {
      SCOPED_TRACE(to ? static_cast<int>(to->type) : -1);
      SCOPED_TRACE(external);
      const std::string in = external ? "in_external.onnx" : "in.onnx";
      WriteModel(in, external);
      const Request request = Asked(in, "out.onnx", to);
      RunPlan(PlanOf(request));
      ExpectEveryByteHeld(request);
    }
  }
}

// The data of a model that replaces one has a digest in its name.
TEST_F(VerifyModels, DataWithADigestInItsName) {
  WriteModel("in.onnx", true);
  const Request request = Asked("in.onnx", "out.onnx", DataType::kFloat16);
  RunPlan(PlanOf(request));
  RunPlan(PlanOf(Asked("in.onnx", "out.onnx", DataType::kBfloat16)));
  const std::vector<std::string> files = FilesOf("out.onnx");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_FALSE(Verified(request).IsRight());
  EXPECT_TRUE(Verified(Asked("in.onnx", "out.onnx", DataType::kBfloat16)).IsRight());
}

// What is wrong is said by the names that tensors have in the output. (b and c are too small to be
// stored otherwise by default.)
TEST_F(VerifyModels, FaultsHaveTheirNames) {
  WriteModel("in.onnx", false);
  RunPlan(PlanOf(Asked("in.onnx", "out.onnx", DataType::kFloat16)));
  const Verification other = Verified(Asked("in.onnx", "out.onnx", DataType::kBfloat16));
  std::vector<std::string> missing, extra;
  for (const FaultyTensor& one : other.faulty) {
    (one.fault == Fault::kMissing ? missing : extra).push_back(one.name);
  }
  EXPECT_EQ(missing, (std::vector<std::string>{"w__bfloat16"}));
  EXPECT_EQ(extra, (std::vector<std::string>{"w__float16"}));
  EXPECT_TRUE(other.files.empty());

  const Request request = Asked("in.onnx", "out.onnx", DataType::kFloat16);
  const std::string bytes = ReadBytes(Path("out.onnx"));
  Set(Path("out.onnx"), bytes.find("two"), 'T');
  const Verification text = Verified(request);
  ASSERT_EQ(text.faulty.size(), 1U);
  EXPECT_EQ(text.faulty[0].name, "texts");
  EXPECT_EQ(text.faulty[0].first, 1U);
  EXPECT_TRUE(text.files.empty());

  WriteBytes(Path("out.onnx"), bytes);
  Set(Path("out.onnx"), bytes.find("first"), 'F');  // a node's name
  const Verification graph = Verified(request);
  EXPECT_TRUE(graph.faulty.empty());
  ASSERT_EQ(graph.files.size(), 1U);
  EXPECT_EQ(graph.files[0].name, "out.onnx");
  EXPECT_EQ(graph.files[0].fault, files::FileFault::kContents);
}

}  // namespace
}  // namespace tensorcast::convert
