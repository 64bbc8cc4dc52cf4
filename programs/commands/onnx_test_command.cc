// tensorcast onnx-test: the official node tests of Cast and CastLike, in folders as ONNX stores
// them.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include "arguments/shared_flags.h"
#include "arguments/tensor_files.h"
#include "commands/commands.h"
#include "display/tensor_text.h"
#include "display/tool_json.h"
#include "files/error.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "formats/formats.h"
#include "formats/tensor_reader.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/streams.h"
#include "shell/terminal.h"
#include "tensorcast/onnx.hpp"
#include "tensorcast/session.hpp"

namespace tensorcast::tool {
namespace {

namespace fs = std::filesystem;
using core::ErrorKind;
using files::Error;

struct OnnxTestFlags {
  std::vector<std::string> directories;
  std::string contradictions = "text";
  bool json = false;
  bool verbose = false;
};

constexpr const char* kOnnxTestDescription =
    R"(Run ONNX's node tests of Cast and CastLike.

Examples:
  tensorcast onnx-test onnx/backend/test/data/node
  tensorcast onnx-test data/node --contradictions tests -v

A test is a folder with model.onnx and test_data_set_*, found at any depth; tests of other operators
are skipped. Results are compared as ONNX compares them: the same type and shape, numbers within
1e-7 and a thousandth, NaN as NaN, strings exactly. A bfloat16 that is stored as uint16, as it was up to
ONNX 1.18, is compared as bfloat16. The table lists what fails, what cannot be used because its data files
break the format, and what passes but differs in bits, with the reason; -v lists all.

Exit codes: 0 all usable tests pass; 1 some fail; 2 no test was found; 4 an error of the system.
)";

enum class Outcome { kPass, kFail, kUnusable };

// What became of one test_data_set_*.
struct NodeTestResult {
  std::string test;  // the folder's last parts, with the data set where it is not the first
  std::int64_t opset = 0;
  Outcome outcome = Outcome::kPass;
  // Why it fails or is unusable; of one that passes, how it differs in bits, else empty.
  std::string detail;
};

// Thrown where a test does not pass. It is unusable where a stored file breaks its format.
struct NoPass {
  Outcome outcome;
  std::string why;
};

// numpy.testing.assert_allclose with what onnx.backend.test gives it.
constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-7;

// A TensorProto, whatever else the first bytes may look like.
HeldTensor ReadStored(const fs::path& path, DataType wanted, const std::string& what) {
  try {
    const auto reader =
        formats::OpenTensorProto(std::make_unique<files::InputFile>(path.string()), {}).reader;
    const DataType type =
        wanted == DataType::kUndefined ? reader->contents().tensors[0].type : wanted;
    return ReadHeld(*reader, 0, type, path.string(), what);
  } catch (const files::Error& error) {
    if (error.kind() != core::ErrorKind::kContents) throw;
    throw NoPass{Outcome::kUnusable, error.what()};
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

// Why results differ that ONNX's comparison takes for equal.
std::string ReasonOf(DataType type, std::int64_t opset, std::uint64_t differ, std::uint64_t nans) {
  constexpr std::string_view kNan = "another code of NaN";
  if (nans == differ) return std::string(kNan);
  // The reference of these opsets cut float32 off; the operator's text does not mention it.
  const bool is_cut = type == DataType::kBfloat16 && opset >= 13 && opset <= 23;
  return fmt::format(
      "{}{}{}",
      is_cut ? "the stored values are truncated, these are rounded" : "within the tolerance",
      nans == 0 ? "" : "; ", nans == 0 ? "" : kNan);
}

void CompareStrings(const Strings& actual, const Strings& stored) {
  for (std::uint64_t i = 0; i < stored.size(); ++i) {
    if (actual[i] == stored[i]) continue;
    throw NoPass{Outcome::kFail, fmt::format("[{}] is {} here, {} stored", i,
                                             words::Quoted(actual[i]), words::Quoted(stored[i]))};
  }
}

// Says what differs in bits; empty: nothing.
std::string CompareNumbers(const TensorView& actual, const HeldTensor& expected,
                           std::int64_t opset) {
  std::uint64_t n = 1;
  for (const std::uint64_t dim : actual.shape) n *= dim;
  const std::vector<std::uint64_t> mine = Codes(actual.type, actual.data, n);
  const std::vector<std::uint64_t> stored = Codes(expected.type, expected.view().data, n);
  const int digits = std::max(1, FindType(actual.type)->bits / 4);
  std::uint64_t differ = 0, nans = 0, first = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t a = mine[i], e = stored[i];
    // Both in the stored type.
    if (!IsClose(ElementValue(expected.type, a), ElementValue(expected.type, e))) {
      throw NoPass{Outcome::kFail, fmt::format("[{}] is {:0{}X} here ({}), {:0{}X} stored ({})", i,
                                               a, digits, ComparedValueText(actual.type, a), e,
                                               digits, ComparedValueText(actual.type, e))};
    }
    if (a == e) continue;
    if (differ++ == 0) first = i;
    const bool are_nan =
        std::isnan(ElementValue(actual.type, a)) && std::isnan(ElementValue(actual.type, e));
    nans += are_nan ? 1 : 0;
  }
  if (differ == 0) return {};
  return fmt::format("{} of {}, [{}] is {:0{}X} here, {:0{}X} stored: {}", differ, n, first,
                     mine[first], digits, stored[first], digits,
                     ReasonOf(actual.type, opset, differ, nans));
}

// Says what differs in bits; empty: nothing.
std::string Compare(const TensorView& actual, const HeldTensor& expected, std::int64_t opset) {
  if (!std::ranges::equal(actual.shape, expected.shape)) {
    throw NoPass{Outcome::kFail,
                 fmt::format("shape {} here, {} stored", words::ShapeText(actual.shape),
                             words::ShapeText(expected.shape))};
  }
  // The stored type may be the unsigned integer that holds the codes.
  if (actual.type != expected.type &&
      !(actual.type == DataType::kBfloat16 && expected.type == DataType::kUint16)) {
    throw NoPass{Outcome::kFail,
                 fmt::format("{} here, {} stored", TypeName(actual.type), TypeName(expected.type))};
  }
  if (actual.type != DataType::kString) return CompareNumbers(actual, expected, opset);
  CompareStrings(actual.strings, expected.strings.view());
  return {};
}

// Runs one data set, and says what differs in bits.
std::string RunDataSet(const Session& session, const fs::path& data) {
  std::vector<HeldTensor> held;
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < session.inputs().size(); ++i) {
    held.push_back(ReadStored(data / fmt::format("input_{}.pb", i), session.inputs()[i].type,
                              fmt::format("input {}", i)));
  }
  for (const HeldTensor& tensor : held) views.push_back(tensor.view());
  SessionResults outputs;
  std::string error;
  if (!session.Run(views, {}, &outputs, &error).ok()) throw NoPass{Outcome::kFail, error};
  std::string detail;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const HeldTensor expected = ReadStored(data / fmt::format("output_{}.pb", i),
                                           DataType::kUndefined, fmt::format("output {}", i));
    std::string differs = Compare(outputs[i], expected, session.opset());
    if (detail.empty()) detail = std::move(differs);
  }
  return detail;
}

// Adds a result for each data set. Returns false, and adds none, where the model is of other
// operators, which a folder named test_cast... never is.
bool RunNodeTest(const fs::path& folder, onnx::Contradictions contradictions,
                 std::vector<NodeTestResult>& results) {
  std::vector<fs::path> sets;
  for (const files::DirectoryEntry& entry : files::ListDirectory(folder.string())) {
    if (entry.kind == files::DirectoryEntry::Kind::kDirectory &&
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
    try {
      if (!status.ok()) throw NoPass{Outcome::kFail, error};
      result.opset = session.opset();
      result.detail = RunDataSet(session, data);
    } catch (const NoPass& no_pass) {
      result.outcome = no_pass.outcome;
      result.detail = no_pass.why;
    }
    result.test = sets.size() == 1 ? name : name + '/' + data.filename().string();
    results.push_back(std::move(result));
  }
  return true;
}

// Links are not followed: a loop of them would not end.
void FindTestsIn(const fs::path& folder, std::vector<fs::path>& tests) {
  if (files::IsFile((folder / "model.onnx").string())) tests.push_back(folder);
  for (const files::DirectoryEntry& entry : files::ListDirectory(folder.string())) {
    if (entry.is_link || entry.kind != files::DirectoryEntry::Kind::kDirectory) continue;
    FindTestsIn(folder / entry.name, tests);
  }
}

// Folders with a model and data sets, in the order of their names.
std::vector<fs::path> FindTests(const std::vector<std::string>& directories) {
  std::vector<fs::path> tests;
  for (const std::string& directory : directories) {
    std::error_code failed;
    if (!fs::is_directory(directory, failed)) {
      throw Error(ErrorKind::kSystem,
                  fmt::format("{}: {}", words::PathText(directory),
                              failed ? failed.message() : std::string("is not a directory")));
    }
    FindTestsIn(directory, tests);
  }
  std::sort(tests.begin(), tests.end());
  tests.erase(std::unique(tests.begin(), tests.end()), tests.end());
  return tests;
}

bool BitsDiffer(const NodeTestResult& result) {
  return result.outcome == Outcome::kPass && !result.detail.empty();
}

std::string_view OutcomeText(const NodeTestResult& result) {
  switch (result.outcome) {
    case Outcome::kPass: return result.detail.empty() ? "pass" : "pass, bits differ";
    case Outcome::kFail: return "FAIL";
    case Outcome::kUnusable: return "unusable";
  }
  return "";
}

int OnnxTest(const OnnxTestFlags& flags) {
  const onnx::Contradictions contradictions = ParseContradictions(flags.contradictions);
  std::vector<NodeTestResult> results;
  std::uint64_t others = 0;
  for (const fs::path& folder : FindTests(flags.directories)) {
    if (!RunNodeTest(folder, contradictions, results)) ++others;
  }
  if (results.empty()) {
    throw Error(
        ErrorKind::kArguments,
        fmt::format("no test of Cast or CastLike was found ({} of other operators); expected "
                    "folders with model.onnx and test_data_set_0",
                    others));
  }
  const auto count = [&](auto holds) { return std::ranges::count_if(results, holds); };
  const auto passed = count([](const auto& one) { return one.outcome == Outcome::kPass; });
  const auto failed = count([](const auto& one) { return one.outcome == Outcome::kFail; });
  const auto differ = count(BitsDiffer);
  const auto unusable = static_cast<std::ptrdiff_t>(results.size()) - passed - failed;
  if (flags.json) {
    JsonPrinter json("onnx-test");
    json.Member("contradictions", flags.contradictions);
    json.Array("tests", results, [](const NodeTestResult& result) -> Json {
      return {{"test", result.test},
              {"opset", result.opset},
              {"result", result.outcome == Outcome::kPass   ? "pass"
                         : result.outcome == Outcome::kFail ? "fail"
                                                            : "unusable"},
              {"bits_differ", BitsDiffer(result)},
              {"why", result.detail}};
    });
    json.Member("passed", passed);
    json.Member("failed", failed);
    json.Member("unusable", unusable);
    json.Member("bits_differ", differ);
    json.Member("of_other_operators", others);
    json.End();
    return failed == 0 ? kExitDone : kExitLimitCrossed;
  }
  const bool colour = UsesColour(stdout);
  std::string text;
  for (const NodeTestResult& result : results) {
    if (!flags.verbose && result.detail.empty()) continue;
    // Not shortened to a terminal's width: the names are what one looks for.
    text += Styled(fmt::format(" {:<18}opset {:>2}  {}\n", OutcomeText(result), result.opset,
                               words::Escape(result.test)),
                   result.outcome == Outcome::kFail ? Style::kRed : Style::kPlain, colour);
    if (!result.detail.empty()) text += fmt::format("{:29}{}\n", "", result.detail);
  }
  if (!text.empty()) text += '\n';
  if (differ != 0) text += fmt::format(" {} of those that pass differ in bits\n", differ);
  if (others != 0) text += fmt::format(" {} tests of other operators passed over\n", others);
  Print(text + fmt::format("{} of {} pass, {} unusable\n", passed, results.size(), unusable));
  return failed == 0 ? kExitDone : kExitLimitCrossed;
}

}  // namespace

void AddOnnxTestCommand(CommandLine& line) {
  auto flags = std::make_shared<OnnxTestFlags>();
  Command command = line.AddCommand("onnx-test", kOnnxTestDescription);
  command.AddOption("DIR DIR", flags->directories, "Folders of tests").Required();
  AddContradictionsFlag(command, flags->contradictions);
  command.AddFlag("--json", flags->json, "Print JSON");
  command.AddFlag("-v,--verbose", flags->verbose, "List every test");
  command.Runs([flags] { return OnnxTest(*flags); });
}

}  // namespace tensorcast::tool
