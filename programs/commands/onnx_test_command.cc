// tensorcast onnx-test: the official node tests of Cast and CastLike, in folders as ONNX stores
// them.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include "arguments/tensor_files.h"
#include "commands/commands.h"
#include "commands/node_test.h"
#include "display/tool_json.h"
#include "files/error.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/streams.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

namespace fs = std::filesystem;
using io::Error;
using io::ErrorKind;

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
are passed over. Results are compared as ONNX compares them: the same type and shape, numbers within
1e-7 and a thousandth, NaN as NaN, strings exactly. A bfloat16 that is stored as uint16, as up to ONNX
1.18, is compared as bfloat16. The table lists what fails, what cannot be used because its data files
break the format, and what passes but differs in bits, with the reason; -v lists all.

Exit codes: 0 all that can be used pass; 1 some fail; 2 no test was found; 4 the system.
)";

// Links are not followed: a loop of them would not end.
void FindTestsIn(const fs::path& folder, std::vector<fs::path>& tests) {
  if (io::IsFile((folder / "model.onnx").string())) tests.push_back(folder);
  for (const io::DirectoryEntry& entry : io::ListDirectory(folder.string())) {
    if (entry.is_link || entry.kind != io::DirectoryEntry::Kind::kDirectory) continue;
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
                  fmt::format("{}: {}", io::PathText(directory),
                              failed ? failed.message() : std::string("is not a directory")));
    }
    FindTestsIn(directory, tests);
  }
  std::sort(tests.begin(), tests.end());
  tests.erase(std::unique(tests.begin(), tests.end()), tests.end());
  return tests;
}

bool BitsDiffer(const NodeTestResult& result) {
  return result.outcome == NodeTestResult::Outcome::kPass && !result.detail.empty();
}

std::string_view OutcomeText(const NodeTestResult& result) {
  switch (result.outcome) {
    case NodeTestResult::Outcome::kPass:
      return result.detail.empty() ? "pass" : "pass, bits differ";
    case NodeTestResult::Outcome::kFail: return "FAIL";
    case NodeTestResult::Outcome::kUnusable: return "unusable";
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
  using Outcome = NodeTestResult::Outcome;
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
                               io::Escape(result.test)),
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
  command.AddFlag("--json", flags->json, "As JSON");
  command.AddFlag("-v,--verbose", flags->verbose, "List every test");
  command.Runs([flags] { return OnnxTest(*flags); });
}

}  // namespace tensorcast::tool
