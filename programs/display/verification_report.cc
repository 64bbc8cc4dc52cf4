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
constexpr FaultWords kFaults[] = {{"is missing", "missing"},
                                  {"is not made by this conversion", "extra"},
                                  {"has another type", "type"},
                                  {"has another shape", "shape"},
                                  {"has other values", "values"}};

const FaultWords& WordsOf(Fault fault) { return kFaults[static_cast<std::size_t>(fault)]; }

TableRow RowOf(const FaultyTensor& tensor) {
  TableRow row;
  row.style = Style::kRed;
  row.cells = {words::Escape(tensor.name), std::string(WordsOf(tensor.fault).row)};
  if (tensor.fault == Fault::kBytes) {
    row.cells.push_back(fmt::format(
        "{}, {} {}", words::CountText(tensor.different, tensor.is_text ? "text" : "byte"),
        tensor.different == 1 ? "at" : "the first at", tensor.first));
  } else if (!tensor.found.empty()) {
    row.cells.push_back(fmt::format("{}, not {}", tensor.found, tensor.made));
  }
  return row;
}

// "--to bfloat16 and 2 rules".
std::string RequestText(const convert::Request& request) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!request.to && request.rules.empty() && request.repack.empty()) add("copied");
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

std::string Sentence(const VerificationSummary& summary) {
  const convert::Verification& found = summary.found;
  const std::size_t tensors = found.faulty.size(), files = found.files.size();
  if (found.IsRight()) {
    return fmt::format(
        "{} bit for bit what the conversion makes, {}",
        found.tensors == 1 ? "the one tensor is" : fmt::format("all {} tensors are", found.tensors),
        BytesText(found.bytes));
  }
  std::string text;
  if (tensors != 0) {
    const auto extra = static_cast<std::uint64_t>(
        std::ranges::count(found.faulty, Fault::kExtra, &FaultyTensor::fault));
    text =
        fmt::format("{} of {} {} not what the conversion makes", tensors,
                    words::CountText(found.tensors + extra, "tensor"), tensors == 1 ? "is" : "are");
  } else {
    text = fmt::format(
        "the tensors are right, {} not",
        files == 1 ? std::string("a file is") : words::CountText(files, "file") + " are");
  }
  return text;
}

}  // namespace

void PrintVerificationTable(const VerificationSummary& summary, bool verbose) {
  constexpr std::size_t kRowsShown = 24;
  const convert::PlannedFile& file = summary.plan->files.front();
  const convert::Verification& found = summary.found;
  const std::size_t columns = Columns(stdout);
  Print(Wrapped("",
                fmt::format("{} → {}   {}{}", words::Escape(file.input), words::Escape(file.output),
                            RequestText(summary.plan->request),
                            summary.is_told_by_output ? ", as the output's types tell" : ""),
                columns));
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
    Print(Wrapped("",
                  fmt::format("the file {} {}", words::EscapeName(one.name),
                              one.is_missing ? "is missing" : "is not what the conversion writes"),
                  columns));
  }
  Print(Wrapped("", Sentence(summary), columns));
}

void PrintVerificationJson(const VerificationSummary& summary) {
  const convert::PlannedFile& file = summary.plan->files.front();
  const convert::Verification& found = summary.found;
  JsonPrinter json("verify");
  json.Member("input", file.input);
  json.Member("output", file.output);
  json.Member("request", convert::RequestJson(summary.plan->request));
  json.Member("request_is_told_by_output", summary.is_told_by_output);
  json.Member("right", found.IsRight());
  json.Member("tensors", found.tensors);
  json.Member("bytes", found.bytes);
  json.Array("faulty_tensors", found.faulty, [](const FaultyTensor& one) {
    Json tensor = Json::object();
    tensor["name"] = one.name;
    tensor["fault"] = WordsOf(one.fault).name;
    tensor["made"] = TextOrNull(one.made);
    tensor["found"] = TextOrNull(one.found);
    tensor["different"] = one.fault == Fault::kBytes ? Json(one.different) : Json();
    tensor["first"] = one.fault == Fault::kBytes ? Json(one.first) : Json();
    return tensor;
  });
  json.Array("faulty_files", found.files, [](const convert::FaultyFile& one) {
    Json entry = Json::object();
    entry["name"] = one.name;
    entry["fault"] = one.is_missing ? "missing" : "bytes";
    return entry;
  });
  json.End();
}

}  // namespace tensorcast::tool
