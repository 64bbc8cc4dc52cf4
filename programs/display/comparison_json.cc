// What several types lose, for programs: all figures of every tensor under every type.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands/comparison.h"
#include "display/tool_json.h"
#include "naming/keep.h"
#include "report/packed_reports.h"
#include "scale/written_form.h"

namespace tensorcast::tool {
namespace {

// Null where nothing is advised.
Json AdviceJson(const std::optional<report::KeepAdvice>& advice) {
  if (!advice) return nullptr;
  Json json = Json::object();
  json["keep"] = Json::array();
  for (const convert::Keep keep : advice->keep) json["keep"].push_back(convert::KeepName(keep));
  json["tensors"] = advice->tensors;
  json["more_bytes"] = advice->more_bytes;
  json["worst_snr_db"] = advice->worst_after;
  return json;
}

// The members before the types.
void PrintHead(const CompareOptions& options, JsonPrinter& json) {
  json.Member("input", options.input);
  json.Member("options", OptionsJson(options.jobs.cast));
  json.BeginArray("types");
}

// All of one type; `reports`: of the tensors that are cast to it, in the order of the file.
void PrintType(const std::vector<formats::TensorInfo>& tensors, const Comparison& comparison,
               const CompareOptions& options, std::size_t t, const report::PackedReports& reports,
               JsonPrinter& json) {
  const Candidate& candidate = comparison.candidates[t];
  const std::optional<std::string>& worst = candidate.sum.worst;
  json.BeginObject();
  json.Member("to", candidate.to.Name());
  if (candidate.to.scaled) {
    json.Member("codes", TypeName(candidate.to.type));
    json.Member("scale_rule",
                scale::RuleName(*candidate.to.scaled.format, candidate.to.scaled.rule));
  }
  json.Member("cast_bytes", candidate.cast_bytes);
  json.Member("data_bytes", candidate.bytes);
  json.Member("total", worst ? FiguresJson(candidate.total) : Json());
  json.Member("worst_snr_db", SnrJson(candidate.sum.worst_loss));
  json.Member("worst_tensor", worst ? Json(*worst) : Json());
  json.BeginArray("tensors");
  std::size_t next = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!comparison.cast_to[i][t]) continue;
    Json one = TensorJson(tensors[i]);
    one["loss"] = LossOfTensorJson(tensors[i], reports[next++],
                                   candidate.to.scaled ? ResultIs::kCodeOfScale : ResultIs::kValue);
    if (comparison.kept != nullptr) {
      one["exponents"] = ExponentsJson(comparison.kept->exponents[i]);
    }
    json.Element(one);
  }
  json.EndArray();
  json.Member("keep_advice",
              AdviceJson(AdviceFor(tensors, comparison, t, [&](std::size_t k, std::uint32_t) {
                return ComparableDecibel(reports[k]);
              })));
  json.Array("limits_crossed", CrossedLimits(options.limits, candidate.sum), CrossedJson);
  json.EndObject();
}

}  // namespace

// Type by type, as the report is ordered: where the reports of all types would take much memory,
// the file is read more than once.
void CompareForPrograms(const formats::TensorReader& reader, Comparison& comparison,
                        const CompareOptions& options) {
  constexpr std::size_t kMostBytes = std::size_t{96} << 20;
  constexpr std::size_t kReportBytes = 384;  // packed, at most
  const std::vector<formats::TensorInfo>& tensors = reader.contents().tensors;
  const std::size_t at_once = std::max<std::size_t>(
      1, kMostBytes / kReportBytes / std::max<std::size_t>(1, tensors.size()));
  JsonPrinter json("loss");
  PrintHead(options, json);
  for (std::size_t first = 0; first < comparison.candidates.size(); first += at_once) {
    const std::size_t end = std::min(comparison.candidates.size(), first + at_once);
    TypeSet types;
    for (std::size_t t = first; t < end; ++t) types.set(t);
    std::vector<report::PackedReports> reports(end - first);
    MeasurePass(
        reader, comparison, types, options.jobs,
        [&](std::size_t t, std::size_t, const LossReport& loss) { reports[t - first].Add(loss); });
    for (std::size_t t = first; t < end; ++t) {
      PrintType(tensors, comparison, options, t, reports[t - first], json);
      reports[t - first] = {};
    }
  }
  json.EndArray();
  PrintNotices(comparison.notices, json);
  json.End();
}

void PrintComparisonJson(const formats::TensorReader& reader, const Comparison& comparison,
                         const CompareOptions& options, const TakeText& print) {
  JsonPrinter json("loss", print);
  PrintHead(options, json);
  for (std::size_t t = 0; t < comparison.candidates.size(); ++t) {
    PrintType(reader.contents().tensors, comparison, options, t, comparison.kept->reports[t], json);
  }
  json.EndArray();
  PrintNotices(comparison.notices, json);
  json.End();
}

}  // namespace tensorcast::tool
