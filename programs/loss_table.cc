// The loss report for people: worst tensors first, first offenders, what was left alone, advice.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "conversion_summary.h"
#include "element_text.h"
#include "io/element_index.h"
#include "quantities.h"
#include "terminal.h"
#include "text_table.h"

namespace tensorcast::tool {
namespace {

constexpr std::size_t kRowsShown = 12;
constexpr std::size_t kNamesShown = 3;
constexpr std::size_t kNameColumns = 40;  // of a tensor's name inside a sentence

// What is said of the first value of a kind that should not have occurred.
struct Offence {
  Loss kind;
  std::string_view said;
};
constexpr Offence kOffences[] = {
    {Loss::kNanLost, "were NaN and became numbers"}, {Loss::kToNan, "became NaN"},
    {Loss::kToInfinity, "became infinite"},          {Loss::kWrapped, "wrapped around"},
    {Loss::kToLimit, "went to the limit"},
};

std::string ShortName(const io::TensorInfo& info, std::size_t columns) {
  return Shorten(io::Escape(info.name), columns);
}

// The distinct source or destination types in the order of the file, "float32, float16", or their
// number where there are many.
template <class TypeOf> std::string TypeList(const CastTensors& tensors, TypeOf type_of) {
  constexpr std::size_t kNamed = 2;
  std::vector<DataType> seen;
  for (const CastTensor& tensor : tensors) {
    const DataType type = type_of(tensor);
    if (std::find(seen.begin(), seen.end(), type) == seen.end()) seen.push_back(type);
  }
  if (seen.size() > kNamed) return fmt::format("{} types", seen.size());
  std::string text;
  for (const DataType type : seen) text.append(text.empty() ? "" : ", ").append(TypeName(type));
  return text;
}

bool HasSeveralTypes(const CastTensors& tensors) {
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (tensors.to(i) != tensors.to(0)) return true;
  }
  return false;
}

std::string Heading(const ConversionSummary& summary) {
  std::string facts;
  if (!summary.cast.empty()) {
    facts = fmt::format(
        "   {} → {}   {} value{}",
        TypeList(summary.cast, [](const CastTensor& tensor) { return tensor.info->type; }),
        TypeList(summary.cast, [](const CastTensor& tensor) { return tensor.to; }),
        CountText(summary.Values()), summary.Values() == 1 ? "" : "s");
  }
  facts +=
      fmt::format("   {} → {}", BytesText(summary.input_bytes), BytesText(summary.output_bytes));
  const std::size_t taken = TextWidth(facts) + 3;
  const std::size_t each =
      std::max<std::size_t>(16, (kReportColumns - std::min(kReportColumns, taken)) / 2);
  return Shorten(io::Escape(summary.input), each) + " → " +
         Shorten(io::Escape(summary.output), each) + facts;
}

std::string CountCell(std::uint64_t count) { return count == 0 ? "·" : CountText(count); }

std::string ErrorCell(const CastTensor& tensor) {
  const LossReport& loss = tensor.loss;
  if (loss.compared == 0 || loss.max_abs_error == 0) return "·";
  const std::string place = io::IndexText(*tensor.info, loss.max_abs_example.index);
  return MagnitudeText(loss.max_abs_error) + (place.empty() ? "" : " at " + place);
}

std::string TensorRows(const ConversionSummary& summary, bool verbose, bool colour) {
  const std::vector<std::uint32_t> order = summary.cast.WorstFirst();
  // One row more than fits is not worth a line that says so.
  const std::size_t shown = verbose || order.size() <= kRowsShown + 1 ? order.size() : kRowsShown;
  const bool typed = HasSeveralTypes(summary.cast);
  struct Extra {
    Loss kind;
    std::string_view title;
  };
  std::vector<Extra> extras;
  for (const Extra& extra : {Extra{Loss::kToInfinity, "→ Inf"}, Extra{Loss::kToNan, "→ NaN"},
                             Extra{Loss::kNanLost, "NaN lost"}, Extra{Loss::kWrapped, "wrapped"}}) {
    if (summary.Count(extra.kind) > 0) extras.push_back(extra);
  }

  std::vector<Column> columns = {{""}, {"worst first", false, 16}};
  if (typed) columns.push_back({"type"});
  columns.push_back({"shape", false, 8});
  columns.push_back({"SNR dB", true});
  columns.push_back({"at limit", true});
  for (const Extra& extra : extras) columns.push_back({std::string(extra.title), true});
  columns.push_back({"→ zero", true});
  columns.push_back({"subnormal", true, 0, 2});
  columns.push_back({"max abs error", false, 0, 1});

  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < shown; ++i) {
    const CastTensor tensor = summary.cast[order[i]];
    const LossReport& loss = tensor.loss;
    const Verdict verdict = Judge(loss);
    std::vector<std::string> cells;
    cells.push_back(verdict == Verdict::kLost ? "✗" : verdict == Verdict::kPoor ? "!" : "✓");
    cells.push_back(io::Escape(tensor.info->name));
    if (typed) cells.emplace_back(TypeName(tensor.to));
    cells.push_back(ShapeText(tensor.info->shape));
    cells.push_back(SnrText(loss));
    cells.push_back(CountCell(loss.count(Loss::kToLimit)));
    for (const Extra& extra : extras) cells.push_back(CountCell(loss.count(extra.kind)));
    cells.push_back(ShareText(loss.count(Loss::kToZero), loss.elements));
    cells.push_back(ShareText(loss.count(Loss::kToSubnormal), loss.elements));
    cells.push_back(ErrorCell(tensor));
    table.Add(std::move(cells), verdict == Verdict::kLost   ? Style::kRed
                                : verdict == Verdict::kPoor ? Style::kYellow
                                                            : Style::kGreen);
  }
  std::string text = table.Render(kReportColumns, colour);
  if (shown < order.size()) {
    double low = INFINITY, high = -INFINITY;
    for (std::size_t i = shown; i < order.size(); ++i) {
      const LossReport loss = summary.cast[order[i]].loss;
      if (loss.compared == 0 || std::isnan(loss.snr_db)) continue;
      low = std::min(low, loss.snr_db);
      high = std::max(high, loss.snr_db);
    }
    const auto bound = [](double decibel) {
      return std::isinf(decibel) ? DecibelText(decibel) : fmt::format("{:.0f}", decibel);
    };
    const std::string range = low > high ? ""
                              : bound(low) == bound(high)
                                  ? fmt::format(" at {} dB", bound(low))
                                  : fmt::format(" between {} and {} dB", bound(low), bound(high));
    text += fmt::format("   … {} more{} (--verbose shows all)\n", order.size() - shown, range);
  }
  return text;
}

std::string OffenceLines(const ConversionSummary& summary) {
  std::string text;
  for (const Offence& offence : kOffences) {
    const std::uint64_t count = summary.Count(offence.kind);
    if (count == 0) continue;
    std::size_t place = 0;
    while (summary.cast[place].loss.count(offence.kind) == 0) ++place;
    const CastTensor first = summary.cast[place];
    const LossExample& example = first.loss.first[static_cast<std::size_t>(offence.kind)];
    const std::string fact = fmt::format("{} = {} → {}", io::IndexText(*first.info, example.index),
                                         ElementText(first.info->type, example.source_code),
                                         ElementText(first.to, example.result_code));
    const std::string lead = fmt::format(" {} of {} values {}; first: ", CountText(count),
                                         CountText(summary.Values()), offence.said);
    const std::size_t taken = TextWidth(lead) + TextWidth(fact);
    const std::size_t room = kReportColumns - std::min(kReportColumns - 16, taken);
    text += lead + ShortName(*first.info, room) + fact + "\n";
  }
  return text;
}

// Casts from and to strings, with their types: one line for each pair.
std::string TextLines(const ConversionSummary& summary) {
  std::vector<std::pair<DataType, DataType>> pairs;
  for (const CastText& text : summary.texts) {
    const std::pair pair(text.info->type, text.to);
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
  }
  std::string lines;
  for (const auto& [from, to] : pairs) {
    std::string names;
    std::size_t count = 0;
    for (const CastText& text : summary.texts) {
      if (text.info->type != from || text.to != to) continue;
      if (++count <= kNamesShown) names += (count == 1 ? "" : ", ") + ShortName(*text.info, 20);
    }
    if (count > kNamesShown) names += ", …";
    const std::string head = fmt::format(" text: {} tensor{} {} → {} (", count,
                                         count == 1 ? "" : "s", TypeName(from), TypeName(to));
    const std::string tail = "): loss is not measured";
    const std::size_t room =
        kReportColumns - std::min(kReportColumns - 20, TextWidth(head) + TextWidth(tail));
    lines += head + Shorten(names, room) + tail + "\n";
  }
  return lines;
}

std::string LeftAloneLines(const ConversionSummary& summary) {
  std::string text;
  std::vector<std::string> reasons;
  std::map<std::string, std::vector<const LeftAlone*>> by_reason;
  for (const LeftAlone& left : summary.left_alone) {
    // Each companion has a reason of its own.
    const std::string reason(left.is_companion ? "they belong to quantised tensors" : left.reason);
    std::vector<const LeftAlone*>& group = by_reason[reason];
    if (group.empty()) reasons.push_back(reason);
    group.push_back(&left);
  }
  for (const std::string& reason : reasons) {
    const std::vector<const LeftAlone*>& group = by_reason[reason];
    std::string names;
    for (std::size_t i = 0; i < group.size() && i < kNamesShown; ++i) {
      const io::TensorInfo& info = *group[i]->info;
      const std::string name = ShortName(info, group.size() == 1 ? kNameColumns : 20);
      const std::string type = FindType(info.type) ? std::string(TypeName(info.type))
                                                   : Shorten(io::Escape(info.dtype), 20);
      names += fmt::format("{}{} {}", i == 0 ? "" : ", ", name, type);
    }
    if (group.size() > kNamesShown) names += ", …";
    const std::string head =
        fmt::format(" left alone: {} tensor{} (", group.size(), group.size() == 1 ? "" : "s");
    const std::string tail =
        ": " + (group.size() == 1 ? std::string(group[0]->reason) : reason) + ")";
    const std::size_t room =
        kReportColumns - std::min(kReportColumns - 20, TextWidth(head) + TextWidth(tail));
    text += head + Shorten(names, room) + tail + "\n";
  }
  return text;
}

// One line, or two where it is too long: what is wrong, and what to do.
std::string AdviceLines(const std::string& advice) {
  const std::string text = " advice: " + advice;
  const std::size_t end = text.find("; ");
  if (TextWidth(text) <= kReportColumns || end == std::string::npos) return text + "\n";
  return text.substr(0, end + 1) + "\n         " + text.substr(end + 2) + "\n";
}

// How to read the output, broken between words.
std::string HintLines(std::string_view hint) {
  std::string text;
  std::string line = " read it with:";
  const std::string indent(line.size(), ' ');
  while (!hint.empty()) {
    const std::string_view word = hint.substr(0, hint.find(' '));
    hint.remove_prefix(std::min(hint.size(), word.size() + 1));
    if (TextWidth(line) + 1 + TextWidth(word) > kReportColumns && line != indent) {
      text += line + "\n";
      line = indent;
    }
    line.append(" ").append(word);
  }
  return text + line + "\n";
}

}  // namespace

std::string LossTable(const ConversionSummary& summary, bool verbose, bool colour) {
  std::string text = Styled(Heading(summary), Style::kBold, colour) + "\n\n";
  if (summary.cast.empty() && summary.texts.empty()) {
    text += " nothing was selected: written through unchanged\n";
  } else if (!summary.cast.empty()) {
    text += TensorRows(summary, verbose, colour) + "\n" + OffenceLines(summary);
  }
  text += TextLines(summary);
  text += LeftAloneLines(summary);
  for (const std::string& advice : Advice(summary)) text += AdviceLines(advice);
  if (!summary.reading_hint.empty()) text += HintLines(summary.reading_hint);
  for (const CrossedLimit& crossed : summary.crossed) {
    text += " limit crossed: " + CrossedText(crossed) + "\n";
  }
  return text;
}

}  // namespace tensorcast::tool
