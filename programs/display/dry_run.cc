// Each tensor with its bytes before and after and why, then what all of it takes.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>
#include "convert/conversion_plan.h"
#include "display/conversion_summary.h"
#include "display/quantities.h"
#include "display/tensor_text.h"
#include "display/text_table.h"
#include "display/tool_json.h"
#include "shell/streams.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

bool IsCast(const convert::PlannedJob& job) { return job.action != convert::Action::kCopy; }

std::string PlannedGoalText(const convert::PlannedJob& job) {
  if (job.action == convert::Action::kRepack) return std::string(job.layout);
  return std::string(job.action == convert::Action::kQuantise
                         ? convert::ScaledFormatName(job.format)
                         : TypeName(job.to));
}

// What all tensors come to together.
struct PlanTotals {
  std::size_t cast = 0;  // tensors
  std::uint64_t bytes_before = 0;
  std::optional<std::uint64_t> bytes_after = 0;  // not known where there are texts
};

PlanTotals TotalsOf(const convert::ConversionPlan& plan) {
  PlanTotals totals;
  for (std::size_t i = 0; i < plan.jobs(); ++i) {
    const convert::PlannedJob job = plan.job(i);
    totals.cast += IsCast(job) ? 1 : 0;
    totals.bytes_before += job.bytes_before;
    if (totals.bytes_after && job.bytes_after) {
      *totals.bytes_after += *job.bytes_after;
    } else {
      totals.bytes_after = std::nullopt;
    }
  }
  return totals;
}

std::string BytesOrUnknown(std::optional<std::uint64_t> bytes) {
  return bytes ? BytesText(*bytes) : "?";
}

}  // namespace

void PrintDryRunTable(const convert::ConversionPlan& plan, const convert::Needs& needs,
                      const std::vector<CrossedLimit>& crossed) {
  const convert::PlannedFile& file = convert::PlanAccess::StateOf(plan)->files.front();
  const PlanTotals totals = TotalsOf(plan);
  const auto row = [&](std::size_t i) -> TableRow {
    if (i == plan.jobs()) {
      return {{"total", "", "", "", BytesText(totals.bytes_before),
               BytesOrUnknown(totals.bytes_after)}};
    }
    const convert::PlannedJob job = plan.job(i);
    const formats::TensorInfo& info = file.TensorOf(i);
    return {{words::Escape(info.name), ExtentsText(info.shape), TypeText(info),
             IsCast(job) ? PlannedGoalText(job) : "·", BytesText(job.bytes_before),
             BytesOrUnknown(job.bytes_after), std::string(job.text)}};
  };
  const std::size_t columns = Columns(stdout);
  const report::NamesOfFile names = report::EscapedNames(file.plan.reader->contents().tensors);
  PrintTable({{"tensor", false, 20, 0, names},
              {"shape", false, 8, 2},
              {"from", false, 0, 1},
              {"to"},
              {"before", true},
              {"after", true},
              {"by, or why not", false, 16}},
             {plan.jobs() + 1, row}, columns, false);
  const bool is_repacked = !convert::PlanAccess::StateOf(plan)->request.repack.empty();
  Print(fmt::format("\n dry run: {} of {} tensors would be {}, {} would be written\n", totals.cast,
                    plan.jobs(), is_repacked ? "repacked" : "cast", BytesText(needs.disk_bytes)));
  Print(fmt::format(" needs {} of disk space, which is there, and at most {} of memory\n",
                    BytesText(needs.disk_bytes), BytesText(needs.memory_bytes)));
  for (const CrossedLimit& limit : crossed) {
    Print(Wrapped(" limit crossed:", CrossedText(limit, names, columns), columns));
  }
}

void PrintDryRunJson(const convert::ConversionPlan& plan, const convert::Needs& needs,
                     const std::vector<CrossedLimit>& crossed) {
  const convert::PlannedFile& file = convert::PlanAccess::StateOf(plan)->files.front();
  const PlanTotals totals = TotalsOf(plan);
  const auto bytes_json = [](std::optional<std::uint64_t> bytes) {
    return bytes ? Json(*bytes) : Json();
  };
  JsonPrinter json("convert");
  json.Member("dry_run", true);
  json.Member("input", plan.input(0));
  json.Member("output", plan.output(0));
  json.Member("output_bytes", needs.disk_bytes);
  json.Member("memory_bytes", needs.memory_bytes);
  json.Member("bytes_before", totals.bytes_before);
  json.Member("bytes_after", bytes_json(totals.bytes_after));
  json.BeginArray("tensors");
  for (std::size_t i = 0; i < plan.jobs(); ++i) {
    const convert::PlannedJob job = plan.job(i);
    Json entry = TensorJson(file.TensorOf(i));
    entry["to"] = IsCast(job) ? Json(PlannedGoalText(job)) : Json();
    if (job.action == convert::Action::kQuantise) {
      entry["to_layout"] = job.layout;
      entry["codes"] = TypeName(job.to);
    }
    if (job.action == convert::Action::kRepack) {
      entry["to_layout"] = job.layout;
      entry["change"] = job.change;
    }
    if (job.made.empty() && job.written_as != job.name) entry["written_as"] = job.written_as;
    if (!job.made.empty()) {
      entry["made"] = Json::array();
      for (const convert::MadeTensor& made : job.made) {
        entry["made"].push_back(
            {{"name", made.name}, {"type", TypeName(made.type)}, {"shape", made.shape}});
      }
    }
    entry["bytes_before"] = job.bytes_before;
    entry["bytes_after"] = bytes_json(job.bytes_after);
    entry[IsCast(job) ? "taken_by" : "reason"] = job.text;
    json.Element(entry);
  }
  json.EndArray();
  json.Array("limits_crossed", crossed, CrossedJson);
  json.End();
}

}  // namespace tensorcast::tool
