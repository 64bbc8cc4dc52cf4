// From what a command found to its report.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "display/quantities.h"
#include "display/run_report.h"
#include "display/tensor_text.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

// Of tensors that were cast, in the order of Verdict, and of those that were not.
enum CastState : std::uint8_t { kLostState, kPoorState, kGoodState, kText, kRepacked, kLeft };
std::vector<ReportState> CastStates() {
  return {{"lost", Tone::kBad},   {"poor", Tone::kPoor},      {"good", Tone::kGood},
          {"text", Tone::kPlain}, {"repacked", Tone::kPlain}, {"left alone", Tone::kPlain}};
}

std::size_t StateOf(const LossReport& loss) { return static_cast<std::size_t>(Judge(loss)); }

ReportRow RowOf(const formats::TensorInfo& info) {
  const bool is_applied = !info.stored_as.empty();
  return {info.name, TypeText(info), info.shape, info.elements,
          is_applied ? info.stored_bytes : info.bytes};
}

// Values that are no longer what they were at all: at a limit, zero, Inf, NaN, wrapped.
std::uint64_t GoneValues(const std::uint64_t (&counts)[kLossKinds]) {
  std::uint64_t gone = 0;
  for (const Loss kind : {Loss::kNanLost, Loss::kToNan, Loss::kToInfinity, Loss::kToLimit,
                          Loss::kWrapped, Loss::kToZero}) {
    gone += counts[static_cast<std::size_t>(kind)];
  }
  return gone;
}

std::string SharePart(std::uint64_t count, std::uint64_t whole) {
  return count == 0 ? "none" : ShareText(count, whole) + " of the values";
}

ReportFact WorstFact(const LossSum& sum) {
  return {"Worst SNR",
          sum.worst && sum.worst_loss.compared > 0 ? SnrText(sum.worst_loss) + " dB" : "–",
          sum.worst ? words::Escape(*sum.worst) : ""};
}

ReportFact GoneFact(const LossSum& sum) {
  const std::uint64_t gone = GoneValues(sum.counts);
  return {"Values lost", gone == 0 ? "0" : RoundedCount(gone), SharePart(gone, sum.elements)};
}

std::string BytesPart(std::uint64_t before, std::uint64_t after) {
  return before == 0 ? ""
                     : fmt::format("{:.1f} % of {}",
                                   100.0 * static_cast<double>(after) / static_cast<double>(before),
                                   BytesText(before));
}

std::string BitsPart(std::uint64_t bytes, std::uint64_t elements) {
  return elements == 0 ? "–"
                       : fmt::format("{:.4g}", 8.0 * static_cast<double>(bytes) /
                                                   static_cast<double>(elements));
}

void AddLimits(const std::vector<CrossedLimit>& crossed, const report::NamesOfFile& names,
               const std::string& head, RunReport& report) {
  for (const CrossedLimit& one : crossed) {
    report.notes.push_back(
        {Tone::kBad, "Limit crossed: " + head + CrossedText(one, names, kUnlimitedColumns)});
  }
}

void AddTarget(const std::string& name, DataType type, bool is_scaled, RunReport& report) {
  const bool is_known = std::ranges::any_of(
      report.targets, [&](const ReportTarget& target) { return target.name == name; });
  if (!is_known) report.targets.push_back({name, type, is_scaled});
}

// What went into each type: before and after.
struct TypeSum {
  std::uint64_t tensors = 0, elements = 0, before = 0, after = 0, gone = 0;
  std::vector<double> decibels;
};

// One that is not known is below every other.
std::string KnownDecibel(double decibel) {
  return std::isinf(decibel) && decibel < 0 ? "?" : DecibelText(decibel);
}

std::string MedianText(std::vector<double>& decibels) {
  if (decibels.empty()) return "–";
  const auto middle = decibels.begin() + static_cast<std::ptrdiff_t>(decibels.size() / 2);
  std::nth_element(decibels.begin(), middle, decibels.end());
  return KnownDecibel(*middle);
}

ReportTable TypeTable(const ConversionSummary& summary) {
  std::map<std::string, TypeSum> sums;
  for (std::size_t i = 0; i < summary.cast.size(); ++i) {
    const report::CastTensor tensor = summary.cast[i];
    const ReportRow row = RowOf(*tensor.info);
    TypeSum& sum =
        sums[fmt::format("{} → {}", row.type, GoalAndRuleText(tensor.to, tensor.scaled))];
    ++sum.tensors;
    sum.elements += tensor.loss.elements;
    sum.before += row.bytes;
    sum.after += BytesOf({tensor.to, tensor.scaled}, *tensor.info);
    sum.gone += GoneValues(tensor.loss.counts);
    sum.decibels.push_back(summary.cast.decibel(i));
  }
  ReportTable table{"Before and after",
                    {"type", "tensors", "values", "before", "after", "bits/value", "worst dB",
                     "median dB", "values lost"},
                    {}};
  for (auto& [name, sum] : sums) {
    table.rows.push_back({name, RoundedCount(sum.tensors), RoundedCount(sum.elements),
                          BytesText(sum.before), BytesText(sum.after),
                          BitsPart(sum.after, sum.elements),
                          KnownDecibel(std::ranges::min(sum.decibels)), MedianText(sum.decibels),
                          ShareText(sum.gone, sum.elements)});
  }
  return table;
}

}  // namespace

RunReport ReportOf(const ConversionSummary& summary, const CommandAgain& again) {
  RunReport report;
  report.command = "convert";
  report.from = words::Escape(summary.input);
  report.to = words::Escape(summary.output);
  report.states = CastStates();
  const report::CastTensors& cast = summary.cast;
  const std::size_t texts = summary.texts.size(), repacked = summary.repacked.size();
  report.rows = cast.size() + texts + repacked + summary.left_alone.size();
  report.facts = {
      {"Tensors cast", RoundedCount(cast.size() + texts + repacked),
       fmt::format("{} left alone", RoundedCount(summary.left_alone.size()))},
      {"Values", RoundedCount(summary.Values()), ""},
      {"Size", BytesText(summary.output_bytes),
       BytesPart(summary.input_bytes, summary.output_bytes)},
      WorstFact(cast.sum()),
      GoneFact(cast.sum()),
  };
  AddLimits(summary.crossed, summary.names, "", report);
  for (std::string& text : OffenceTexts(summary, kUnlimitedColumns)) {
    report.notes.push_back({Tone::kBad, std::move(text)});
  }
  for (AdviceLine& line : AdviceLines(summary, kUnlimitedColumns)) {
    std::string command = line.flags.empty() ? "" : again(line.flags);
    std::string& text = command.empty() ? line.text : line.problem;
    report.notes.push_back({Tone::kPoor, std::move(text), std::move(command)});
  }
  AddNotices(summary.notices, report);
  if (!summary.reading_hint.empty()) {
    report.notes.push_back(
        {Tone::kPlain, "Read it with: " + summary.reading_hint, summary.reading_code});
  }
  if (!cast.empty()) report.tables.push_back(TypeTable(summary));
  for (std::size_t i = 0; i < cast.size(); ++i) {
    AddTarget(GoalAndRuleText(cast.to(i), cast.scaled(i)), cast.to(i),
              static_cast<bool>(cast.scaled(i)), report);
  }
  report.row = [&summary, &cast, texts, repacked](std::size_t i) {
    if (i < cast.size()) {
      ReportRow row = RowOf(cast.info(i));
      if (i < summary.exponents.size()) row.exponents = &summary.exponents[i];
      return row;
    }
    i -= cast.size();
    if (i < texts) return RowOf(*summary.texts[i].info);
    i -= texts;
    if (i < repacked) return RowOf(*summary.repacked[i].info);
    return RowOf(*summary.left_alone[i - repacked].info);
  };
  const auto outcome = [&summary, &cast, texts,
                        repacked](std::size_t i) -> std::optional<ReportOutcome> {
    if (i < cast.size()) {
      report::CastTensor tensor = cast[i];
      return ReportOutcome{.state = StateOf(tensor.loss),
                           .to = GoalAndRuleText(tensor.to, tensor.scaled),
                           .bytes = BytesOf({tensor.to, tensor.scaled}, *tensor.info),
                           .remark = "by " + words::Escape(tensor.taken_by),
                           .loss = tensor.loss,
                           .gain_db = tensor.gain_db};
    }
    i -= cast.size();
    if (i < texts) {
      const CastText& text = summary.texts[i];
      return ReportOutcome{.state = kText,
                           .to = std::string(TypeName(text.to)),
                           .remark = "by " + words::Escape(text.taken_by)};
    }
    i -= texts;
    if (i < repacked) {
      const scale::Repacking& one = *summary.repacked[i].repacked;
      return ReportOutcome{
          .state = kRepacked,
          .to = std::string(one.FormatText()),
          .remark = one.change() == 0
                        ? std::string("every code and every value the same")
                        : fmt::format("values change by {:.2e} of themselves", one.change())};
    }
    const LeftAlone& left = summary.left_alone[i - repacked];
    return ReportOutcome{
        .state = kLeft, .bytes = RowOf(*left.info).bytes, .remark = words::Escape(left.reason)};
  };
  report.series.push_back({"", outcome});
  report.print_json = [&summary](const TakeText& print) { PrintLossJson(summary, print); };
  return report;
}

RunReport ReportOf(const formats::TensorReader& reader, const Comparison& comparison,
                   const CompareOptions& options) {
  const ComparedTensors& compared = *comparison.kept;
  RunReport report;
  report.command = "loss";
  report.from = words::Escape(options.input);
  report.states = CastStates();
  const std::vector<formats::TensorInfo>& tensors = reader.contents().tensors;
  report.rows = tensors.size();
  const auto cast = static_cast<std::uint64_t>(
      std::ranges::count_if(comparison.cast_to, [](const TypeSet& types) { return types.any(); }));
  report.facts = {
      {"Tensors", RoundedCount(cast), fmt::format("of {}", tensors.size())},
      {"Data", BytesText(comparison.data_bytes), "as it is stored"},
      {"Types", fmt::format("{}", comparison.candidates.size()), "nothing was written"}};
  ReportTable table{"By type",
                    {"type", "data", "bits/value", "SNR dB", "lost", "→ zero", "subnormal",
                     "max abs error", "worst dB", "worst tensor"},
                    {}};
  const report::NamesOfFile names = report::EscapedNames(tensors);
  for (std::size_t t = 0; t < comparison.candidates.size(); ++t) {
    const Candidate& candidate = comparison.candidates[t];
    const std::string name = GoalAndRuleText(candidate.to.type, candidate.to.scaled);
    std::vector<std::string> cells = {name, BytesText(candidate.bytes)};
    if (candidate.sum.worst) {
      const LossReport& total = candidate.total;
      const std::uint64_t lost = LostValues(total);
      cells.insert(cells.end(),
                   {BitsPart(candidate.cast_bytes, total.elements), SnrText(total),
                    lost == 0 ? "·" : RoundedCount(lost),
                    ShareText(total.count(Loss::kToZero), total.elements),
                    ShareText(total.count(Loss::kToSubnormal), total.elements),
                    total.max_abs_error > 0 ? MagnitudeText(total.max_abs_error) : "·",
                    SnrText(candidate.sum.worst_loss), words::Escape(*candidate.sum.worst)});
    }
    cells.resize(table.columns.size());
    table.rows.push_back(std::move(cells));
    AddLimits(CrossedLimits(options.limits, candidate.sum), names, name + ": ", report);
    const auto advice = AdviceFor(tensors, comparison, t, [&](std::size_t k, std::uint32_t) {
      return ComparableDecibel(compared.reports[t][k]);
    });
    if (advice) report.notes.push_back({Tone::kPoor, name + ": " + KeepText(*advice)});
    AddTarget(name, candidate.to.type, static_cast<bool>(candidate.to.scaled), report);
    report.series.push_back(
        {name,
         [&reader, &comparison, &compared, t, name](std::size_t i) -> std::optional<ReportOutcome> {
           const std::uint32_t place = compared.places[t][i];
           if (place == 0) return std::nullopt;
           const LossReport loss = compared.reports[t][place - 1];
           const convert::Goal goal = comparison.GoalFor(comparison.candidates[t].to, i);
           return ReportOutcome{.state = StateOf(loss),
                                .to = name,
                                .bytes = BytesOf(goal, reader.contents().tensors[i]),
                                .loss = loss};
         }});
  }
  AddNotices(comparison.notices, report);
  report.tables.push_back(std::move(table));
  report.row = [&reader, &compared](std::size_t i) {
    ReportRow row = RowOf(reader.contents().tensors[i]);
    row.exponents = &compared.exponents[i];
    return row;
  };
  report.print_json = [&reader, &comparison, &options](const TakeText& print) {
    PrintComparisonJson(reader, comparison, options, print);
  };
  return report;
}

RunReport ReportOf(const VerificationSummary& summary) {
  RunReport report;
  const convert::Verification& found = summary.found;
  report.command = "verify";
  report.from = summary.plan != nullptr ? words::Escape(summary.plan->files.front().input) : "";
  report.to = words::Escape(summary.output);
  report.states = {{"missing", Tone::kBad},      {"not asked for", Tone::kBad},
                   {"other type", Tone::kBad},   {"other shape", Tone::kBad},
                   {"other values", Tone::kBad}, {"other loss", Tone::kBad}};
  report.rows = found.faulty.size();
  report.facts = {{"Tensors", RoundedCount(found.tensors), "were made again"},
                  {"Compared", BytesText(found.bytes), "bit by bit"},
                  {"Not right", fmt::format("{}", found.faulty.size()),
                   found.faulty.size() == 1 ? "tensor" : "tensors"},
                  {"Other files", fmt::format("{}", found.files.size()), "not right"}};
  if (summary.plan == nullptr) report.facts.front().remark = "held against the record";
  report.notes.push_back({found.IsRight() ? Tone::kGood : Tone::kBad, VerdictText(summary)});
  for (const convert::FaultyFile& file : found.files) {
    report.notes.push_back({Tone::kBad, FaultyFileText(file)});
  }
  report.row = [&found](std::size_t i) {
    ReportRow row;
    row.name = found.faulty[i].name;
    row.type = found.faulty[i].made;
    return row;
  };
  report.series.push_back({"", [&found](std::size_t i) -> std::optional<ReportOutcome> {
                             const convert::FaultyTensor& tensor = found.faulty[i];
                             ReportOutcome outcome{.state = static_cast<std::size_t>(tensor.fault),
                                                   .to = tensor.found,
                                                   .remark = FaultText(tensor)};
                             if (tensor.different != 0) outcome.different = tensor.different;
                             return outcome;
                           }});
  report.print_json = [&summary](const TakeText& print) { PrintVerificationJson(summary, print); };
  return report;
}

RunReport ReportOf(const DiffSummary& summary) {
  RunReport report;
  const DiffReport& found = summary.report;
  report.command = "diff";
  report.from = words::Escape(summary.request->a);
  report.to = words::Escape(summary.request->b);
  for (std::size_t kind = 0; kind < kDiffKinds; ++kind) {
    const auto one = static_cast<DiffKind>(kind);
    report.states.push_back({std::string(DiffKindText(one)), IsEqual(one) ? Tone::kGood
                                                             : one == DiffKind::kValues
                                                                 ? Tone::kPoor
                                                                 : Tone::kBad});
  }
  const std::uint64_t same = found.count(DiffKind::kSameValues) + found.count(DiffKind::kSameBytes);
  report.rows = found.tensors.size();
  report.facts = {
      {"Tensors", RoundedCount(report.rows), "of both sides"},
      {"Equal", RoundedCount(same),
       fmt::format("{} byte for byte", RoundedCount(found.count(DiffKind::kSameBytes)))},
      {"Differ", RoundedCount(report.rows - same),
       fmt::format("{} in values", RoundedCount(found.count(DiffKind::kValues)))},
      {"A", BytesText(found.bytes_a), report.from},
      {"B", BytesText(found.bytes_b), report.to},
      WorstFact(found.sum)};
  const report::NamesOfFile names = {found.tensors.size(), [&found](std::size_t i) {
                                       return words::Escape(found.tensors[i].side().name);
                                     }};
  AddLimits(summary.crossed, names, "", report);
  for (const std::string& note : found.notes) report.notes.push_back({Tone::kPlain, note});
  report.row = [&found](std::size_t i) {
    const TensorDiff& diff = found.tensors[i];
    ReportRow row = RowOf(InfoOfSide(diff.side()));
    if (diff.elements != 0) row.elements = diff.elements;
    return row;
  };
  report.series.push_back({"", [&found](std::size_t i) -> std::optional<ReportOutcome> {
                             const TensorDiff& diff = found.tensors[i];
                             ReportOutcome outcome{.state = static_cast<std::size_t>(diff.kind),
                                                   .loss = diff.loss};
                             if (diff.a && diff.b) {
                               const formats::TensorInfo other = InfoOfSide(*diff.b);
                               outcome.to = TypeText(other);
                               outcome.bytes = other.bytes;
                               if (diff.a->name != diff.b->name) {
                                 outcome.remark = "in B " + words::Escape(diff.b->name);
                               }
                             }
                             if (diff.kind == DiffKind::kValues || IsEqual(diff.kind)) {
                               outcome.different = diff.different;
                             }
                             return outcome;
                           }});
  report.print_json = [&summary](const TakeText& print) { PrintDiffJson(summary, print); };
  return report;
}

}  // namespace tensorcast::tool
