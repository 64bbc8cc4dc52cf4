// What was asked first, then what is amiss, the worst first, then one sentence.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/verification_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "arguments/conversion_flags.h"
#include "convert/request_json.h"
#include "convert/selection.h"
#include "display/quantities.h"
#include "display/text_table.h"
#include "display/tool_json.h"
#include "shell/streams.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

using convert::Fault;
using convert::FaultyTensor;

// In the order of Fault: in a row, and for programs.
struct FaultWords {
  std::string_view row;
  std::string_view name;
};
constexpr FaultWords kFaults[] = {
    {"is missing", "missing"},      {"does not belong there", "extra"},
    {"has another type", "type"},   {"has another shape", "shape"},
    {"has other values", "values"}, {"has another loss than the record says", "loss"}};

const FaultWords& WordsOf(Fault fault) { return kFaults[static_cast<std::size_t>(fault)]; }

// The same of a file beside its tensors, in the order of FileFault.
constexpr FaultWords kFileFaults[] = {{"is missing", "missing"},
                                      {"has other contents", "bytes"},
                                      {"has another __metadata__", "metadata"},
                                      {"has other keys", "keys"}};

const FaultWords& WordsOf(convert::FileFault fault) {
  return kFileFaults[static_cast<std::size_t>(fault)];
}

TableRow RowOf(const FaultyTensor& tensor) {
  TableRow row;
  row.style = Style::kRed;
  row.cells = {words::Escape(tensor.name), std::string(WordsOf(tensor.fault).row)};
  if (const std::string text = FaultText(tensor); !text.empty()) row.cells.push_back(text);
  return row;
}

// "--to bfloat16, 2 rules".
std::string RequestText(const convert::Request& request) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!AsksForSomething(request)) add("copied");
  if (request.to) add(fmt::format("--to {}", convert::DestinationName(*request.to)));
  if (!request.repack.empty()) add(fmt::format("--repack {}", request.repack));
  if (!request.layout.empty()) add(fmt::format("--layout {}", request.layout));
  if (request.scale_rule) {
    add(fmt::format("--scale {}", convert::ScaleRuleName(*request.scale_rule)));
  }
  if (!request.rules.empty()) add(words::CountText(request.rules.size(), "rule"));
  if (!request.only.empty()) add(words::CountText(request.only.size(), "pattern") + " taken");
  if (!request.excluded.empty()) {
    add(words::CountText(request.excluded.size(), "pattern") + " left out");
  }
  return text;
}

std::string AskedText(const VerificationSummary& summary) {
  constexpr std::string_view kTold[] = {"", ", as the output's types tell", ", as the record says"};
  const std::string output = words::Escape(summary.output);
  if (summary.plan == nullptr) return output + "   held against its record";
  return fmt::format("{} → {}   {}{}", words::Escape(summary.plan->files.front().input), output,
                     RequestText(summary.plan->request),
                     kTold[static_cast<std::size_t>(summary.told_by)]);
}

}  // namespace

std::string FaultText(const FaultyTensor& tensor) {
  if (tensor.different != 0) {
    return fmt::format("{}, {} {}",
                       words::CountText(tensor.different, tensor.is_text ? "text" : "byte"),
                       tensor.different == 1 ? "at" : "the first at", tensor.first);
  }
  return tensor.found.empty() ? "" : fmt::format("{}, not {}", tensor.found, tensor.made);
}

std::string FaultyFileText(const convert::FaultyFile& file) {
  return fmt::format("the file {} {}", words::EscapeName(file.name), WordsOf(file.fault).row);
}

std::string VerdictText(const VerificationSummary& summary) {
  const convert::Verification& found = summary.found;
  const std::string_view expected =
      summary.plan != nullptr ? "what the conversion makes" : "what the record says";
  if (found.IsRight()) {
    const std::string all = found.tensors == 1   ? "the one tensor is"
                            : found.tensors == 2 ? "both tensors are"
                                                 : fmt::format("all {} tensors are", found.tensors);
    return fmt::format("{} bit for bit {}, {}", all, expected, BytesText(found.bytes));
  }
  const std::size_t wrong = found.faulty.size(), files = found.files.size();
  if (wrong == 0) {
    return fmt::format(
        "the tensors are right, {} not",
        files == 1 ? std::string("a file is") : words::CountText(files, "file") + " are");
  }
  const auto extra = static_cast<std::uint64_t>(
      std::ranges::count(found.faulty, Fault::kExtra, &FaultyTensor::fault));
  return fmt::format("{} of {} {} not {}", wrong, words::CountText(found.tensors + extra, "tensor"),
                     wrong == 1 ? "is" : "are", expected);
}

void PrintVerificationTable(const VerificationSummary& summary, bool verbose) {
  constexpr std::size_t kRowsShown = 24;
  const convert::Verification& found = summary.found;
  const std::size_t columns = Columns(stdout);
  Print(Wrapped("", AskedText(summary), columns));
  Print("\n");
  const std::size_t all = found.faulty.size();
  const std::size_t shown = verbose || all <= kRowsShown + 1 ? all : kRowsShown;
  if (shown != 0) {
    const report::NamesOfFile names = {
        all, [&](std::size_t i) { return words::Escape(found.faulty[i].name); }};
    PrintTable({{"worst first", false, 20, 0, names}, {""}, {"", false, 0, 1}},
               {shown, [&](std::size_t i) { return RowOf(found.faulty[i]); }}, columns,
               UsesColour(stdout));
    if (shown < all) Print(fmt::format("   … {} more (--verbose shows all)\n", all - shown));
    Print("\n");
  }
  for (const convert::FaultyFile& one : found.files) {
    Print(Wrapped("", FaultyFileText(one), columns));
  }
  Print(Wrapped("", VerdictText(summary), columns));
}

void PrintVerificationJson(const VerificationSummary& summary, const TakeText& print) {
  constexpr std::string_view kTold[] = {"flags", "output", "record"};
  const convert::Verification& found = summary.found;
  JsonPrinter json("verify", print);
  const bool is_made = summary.plan != nullptr;
  json.Member("input", is_made ? Json(summary.plan->files.front().input) : Json());
  json.Member("output", summary.output);
  json.Member("request", is_made ? convert::RequestJson(summary.plan->request) : Json());
  json.Member("request_told_by", kTold[static_cast<std::size_t>(summary.told_by)]);
  json.Member("right", found.IsRight());
  json.Member("tensors", found.tensors);
  json.Member("bytes", found.bytes);
  json.Array("faulty_tensors", found.faulty, [](const FaultyTensor& one) {
    Json tensor = Json::object();
    tensor["name"] = one.name;
    tensor["fault"] = WordsOf(one.fault).name;
    tensor["made"] = TextOrNull(one.made);
    tensor["found"] = TextOrNull(one.found);
    tensor["different"] = one.different != 0 ? Json(one.different) : Json();
    tensor["first"] = one.different != 0 ? Json(one.first) : Json();
    return tensor;
  });
  json.Array("faulty_files", found.files, [](const convert::FaultyFile& one) {
    Json entry = Json::object();
    entry["name"] = one.name;
    entry["fault"] = WordsOf(one.fault).name;
    return entry;
  });
  json.End();
}

}  // namespace tensorcast::tool
