// Binds inputs by the model's declared types and compares as ONNX's own runner does, in the type
// that the stored file declares.
//
// SPDX-License-Identifier: Apache-2.0
#include "commands/node_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "arguments/tensor_files.h"
#include "display/element_text.h"
#include "files/error.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "formats/formats.h"
#include "formats/tensor_reader.h"
#include "tensorcast/session.hpp"

namespace tensorcast::tool {
namespace {

namespace fs = std::filesystem;

// numpy.testing.assert_allclose with what onnx.backend.test gives it.
constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-7;

// A stored file that is none of its format: nothing can be said of the test.
struct Unusable {
  std::string why;
};

// A TensorProto, whatever else the first bytes may look like.
HeldTensor ReadStored(const fs::path& path, DataType wanted, const std::string& what) {
  try {
    const std::unique_ptr<io::TensorReader> reader =
        io::OpenTensorProto(std::make_unique<io::InputFile>(path.string()), {});
    const DataType type =
        wanted == DataType::kUndefined ? reader->contents().tensors[0].type : wanted;
    return ReadHeld(*reader, 0, type, path.string(), what);
  } catch (const io::Error& error) {
    if (error.kind() != io::ErrorKind::kContents) throw;
    throw Unusable{std::string(error.what())};
  }
}

std::vector<std::uint64_t> Codes(DataType type, std::span<const std::byte> data, std::uint64_t n) {
  std::vector<std::uint64_t> codes(static_cast<std::size_t>(n));
  for (std::uint64_t i = 0; i < n; ++i) {
    codes[static_cast<std::size_t>(i)] = LoadCode(type, data.data(), i);
  }
  return codes;
}

std::string ComparedValueText(DataType type, std::uint64_t code) {
  const double value = ElementValue(type, code);
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

bool IsClose(double actual, double expected) {
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) && std::isnan(expected);
  if (std::isinf(actual) || std::isinf(expected)) return actual == expected;
  return std::fabs(actual - expected) <= kAbsolute + kRelative * std::fabs(expected);
}

class OutputComparison {
 public:
  OutputComparison(const TensorView& actual, const HeldTensor& expected, std::int64_t opset)
      : actual_(actual), expected_(expected), opset_(opset) {}

  // Returns whether it passes; `detail` says why not, or what differs in bits.
  bool Passes(std::string& detail) {
    if (!std::equal(actual_.shape.begin(), actual_.shape.end(), expected_.shape.begin(),
                    expected_.shape.end())) {
      detail = fmt::format("shape {} here, {} stored", io::ShapeText(actual_.shape),
                           io::ShapeText(expected_.shape));
      return false;
    }
    if (actual_.type == DataType::kString || expected_.type == DataType::kString) {
      return StringsPass(detail);
    }
    // The stored type may be the unsigned integer that holds the codes.
    const TypeInfo& mine = *FindType(actual_.type);
    const TypeInfo& stored = *FindType(expected_.type);
    if (mine.type != stored.type &&
        !(stored.type == DataType::kUint16 && mine.type == DataType::kBfloat16)) {
      detail = fmt::format("{} here, {} stored", mine.name, stored.name);
      return false;
    }
    return NumbersPass(detail);
  }

 private:
  bool StringsPass(std::string& detail) const {
    if (actual_.type != expected_.type) {
      detail = fmt::format("{} here, {} stored", TypeName(actual_.type), TypeName(expected_.type));
      return false;
    }
    const Strings stored = expected_.strings.view();
    for (std::uint64_t i = 0; i < stored.size(); ++i) {
      if (actual_.strings[i] == stored[i]) continue;
      detail = fmt::format("[{}] is {} here, {} stored", i, io::Quoted(actual_.strings[i]),
                           io::Quoted(stored[i]));
      return false;
    }
    return true;
  }

  bool NumbersPass(std::string& detail) const {
    std::uint64_t n = 1;
    for (const std::uint64_t dim : actual_.shape) n *= dim;
    const std::vector<std::uint64_t> mine = Codes(actual_.type, actual_.data, n);
    const std::vector<std::uint64_t> stored =
        Codes(expected_.type, {expected_.data.get(), static_cast<std::size_t>(expected_.bytes)}, n);
    const int digits = std::max(1, FindType(actual_.type)->bits / 4);
    std::uint64_t differ = 0, nans = 0, first = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t a = mine[i], e = stored[i];
      // Both in the stored type.
      if (!IsClose(ElementValue(expected_.type, a), ElementValue(expected_.type, e))) {
        detail = fmt::format("[{}] is {:0{}X} here ({}), {:0{}X} stored ({})", i, a, digits,
                             ComparedValueText(actual_.type, a), e, digits,
                             ComparedValueText(actual_.type, e));
        return false;
      }
      if (a == e) continue;
      if (differ++ == 0) first = i;
      nans += std::isnan(ElementValue(actual_.type, a)) && std::isnan(ElementValue(actual_.type, e))
                  ? 1
                  : 0;
    }
    if (differ == 0) return true;
    detail = fmt::format("{} of {}, [{}] is {:0{}X} here, {:0{}X} stored: {}", differ, n, first,
                         mine[first], digits, stored[first], digits, Reason(differ, nans));
    return true;
  }

  // Why results differ that ONNX's comparison takes for equal.
  std::string Reason(std::uint64_t differ, std::uint64_t nans) const {
    constexpr std::string_view kNan = "another code of NaN";
    if (nans == differ) return std::string(kNan);
    std::string why = "within the tolerance";
    // The reference of these opsets cut float32 off; the operator's text says nothing of it.
    if (actual_.type == DataType::kBfloat16 && opset_ >= 13 && opset_ <= 23) {
      why = "the stored values are truncated, these are rounded";
    }
    return nans == 0 ? why : why + "; " + std::string(kNan);
  }

  const TensorView& actual_;
  const HeldTensor& expected_;
  const std::int64_t opset_;
};

// Runs one data set; the outcome but for `test` and `opset`.
NodeTestResult RunDataSet(const Session& session, const fs::path& data) {
  NodeTestResult result;
  std::vector<HeldTensor> held;
  const auto count = session.inputs().size();
  for (std::size_t i = 0; i < count; ++i) {
    held.push_back(ReadStored(data / fmt::format("input_{}.pb", i), session.inputs()[i].type,
                              fmt::format("input {}", i)));
  }
  std::vector<TensorView> views;
  for (const HeldTensor& tensor : held) views.push_back(tensor.view());
  SessionResults outputs;
  std::string error;
  if (!session.Run(views, {}, &outputs, &error).ok()) {
    result.outcome = NodeTestResult::Outcome::kFail;
    result.detail = error;
    return result;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const HeldTensor expected = ReadStored(data / fmt::format("output_{}.pb", i),
                                           DataType::kUndefined, fmt::format("output {}", i));
    std::string detail;
    const TensorView& actual = outputs[i];
    if (!OutputComparison(actual, expected, session.opset()).Passes(detail)) {
      result.outcome = NodeTestResult::Outcome::kFail;
      result.detail = std::move(detail);
      return result;
    }
    if (result.detail.empty()) result.detail = std::move(detail);
  }
  return result;
}

}  // namespace

bool RunNodeTest(const fs::path& folder, onnx::Contradictions contradictions,
                 std::vector<NodeTestResult>& results) {
  std::vector<fs::path> sets;
  for (const io::DirectoryEntry& entry : io::ListDirectory(folder.string())) {
    if (entry.kind == io::DirectoryEntry::Kind::kDirectory &&
        entry.name.starts_with("test_data_set_")) {
      sets.push_back(folder / entry.name);
    }
  }
  // The release, or what else the tests lie in, tells those of the same name apart.
  const fs::path parent = folder.parent_path().filename();
  const std::string name = (parent / folder.filename()).string();
  onnx::LoadOptions load;
  load.contradictions = contradictions;
  Session session;
  std::string error;
  const Status status = Session::Load((folder / "model.onnx").string(), load, &session, &error);
  if (status.code() == StatusCode::kFileError) CheckStatus(status, error);
  if (status.code() == StatusCode::kUnsupportedFile &&
      !folder.filename().string().starts_with("test_cast")) {
    return false;
  }
  for (const fs::path& data : sets) {
    NodeTestResult result;
    if (!status.ok()) {
      result.outcome = NodeTestResult::Outcome::kFail;
      result.detail = error;
    } else {
      try {
        result = RunDataSet(session, data);
      } catch (const Unusable& unusable) {
        result.outcome = NodeTestResult::Outcome::kUnusable;
        result.detail = unusable.why;
      }
      result.opset = session.opset();
    }
    result.test = sets.size() == 1 ? name : name + '/' + data.filename().string();
    results.push_back(std::move(result));
  }
  return true;
}

}  // namespace tensorcast::tool
