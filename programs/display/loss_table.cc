// The loss report for people: worst tensors first, first offenders, what was left alone, advice.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "display/conversion_summary.h"
#include "display/quantities.h"
#include "display/tensor_text.h"
#include "display/text_table.h"
#include "display/tool_json.h"
#include "formats/element_index.h"
#include "json/ordered_json.h"
#include "report/distinct_names.h"
#include "scale/dialects/dialect.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

constexpr std::size_t kTensorsShown = 12;
constexpr std::size_t kNamesShown = 3;

// Words for the first value of a kind that should not have occurred.
struct Offence {
  Loss kind;
  std::string_view said;
};
constexpr Offence kOffences[] = {
    {Loss::kNanLost, "were NaN and became numbers"}, {Loss::kToNan, "became NaN"},
    {Loss::kToInfinity, "became infinite"},          {Loss::kWrapped, "wrapped around"},
    {Loss::kToLimit, "went to the limit"},
};

// "a float32, b float32, …": the first names, each with what stands behind it, in `room` columns.
// As many as there is room for, one at least.
std::string NameList(const std::vector<const formats::TensorInfo*>& tensors, bool typed,
                     std::size_t room, const report::NamesOfFile& file) {
  constexpr std::size_t kLeast = 12;  // columns of a name
  for (std::size_t n = std::min(kNamesShown, tensors.size());; --n) {
    std::vector<std::string> names, types;
    std::size_t taken = n < tensors.size() ? 3 : 0;
    for (std::size_t i = 0; i < n; ++i) {
      const formats::TensorInfo& info = *tensors[i];
      names.push_back(words::Escape(info.name));
      std::string& type = types.emplace_back();
      if (typed) {
        type = ' ';
        type += FindType(info.type) ? TypeText(info) : Shorten(TypeText(info), 20);
      }
      taken += TextWidth(types.back()) + (i == 0 ? 0 : 2);
    }
    const auto width = [&] {
      std::size_t columns = taken;
      for (const std::string& name : names) columns += TextWidth(name);
      return columns;
    };
    if (width() > room) {
      names =
          report::DistinctNames(names, std::max(kLeast, (room - std::min(room, taken)) / n), file);
    }
    if (width() > room && n > 1) continue;
    std::string text;
    for (std::size_t i = 0; i < n; ++i) text += (i == 0 ? "" : ", ") + names[i] + types[i];
    return n < tensors.size() ? text + ", …" : text;
  }
}

// What is left of a line's columns, for a name in it.
std::size_t RoomIn(std::size_t columns, std::size_t taken) {
  constexpr std::size_t kLeast = 16;
  return columns > taken + kLeast ? columns - taken : kLeast;
}

// The distinct types in the order of the file, "float32, float16", or their number where there are
// many.
template <class TypeOf> std::string TypeList(std::size_t tensors, TypeOf type_of) {
  constexpr std::size_t kNamed = 2;
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < tensors; ++i) {
    std::string type = type_of(i);
    if (std::ranges::find(seen, type) == seen.end()) seen.push_back(std::move(type));
  }
  return seen.size() > kNamed ? fmt::format("{} types", seen.size())
                              : fmt::format("{}", fmt::join(seen, ", "));
}

bool HasSeveralTypes(const report::CastTensors& tensors) {
  const auto type = [&](std::size_t i) { return GoalText(tensors.to(i), tensors.scaled(i)); };
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (type(i) != type(0)) return true;
  }
  return false;
}

std::string Heading(const ConversionSummary& summary, std::size_t columns) {
  std::string facts;
  const report::CastTensors& cast = summary.cast;
  if (!cast.empty()) {
    facts =
        fmt::format("   {} → {}   {} value{}",
                    TypeList(cast.size(), [&](std::size_t i) { return TypeText(cast.info(i)); }),
                    TypeList(cast.size(),
                             [&](std::size_t i) {
                               return cast.scaled(i) ? cast.scaled(i).Text()
                                                     : std::string(TypeName(cast.to(i)));
                             }),
                    RoundedCount(summary.Values()), summary.Values() == 1 ? "" : "s");
  }
  facts +=
      fmt::format("   {} → {}", BytesText(summary.input_bytes), BytesText(summary.output_bytes));
  const std::string input = words::Escape(summary.input), output = words::Escape(summary.output);
  constexpr std::string_view kArrow = " → ";
  std::string heading = input + std::string(kArrow) + output;
  if (TextWidth(heading) > columns) {
    const std::size_t each = std::max<std::size_t>(16, (columns - TextWidth(kArrow)) / 2);
    heading = Shorten(input, each) + std::string(kArrow) + Shorten(output, each);
  }
  // Two lines where one would cut the names.
  if (TextWidth(heading) + TextWidth(facts) > columns) heading += '\n';
  return heading + facts;
}

std::string CountCell(std::uint64_t count) { return count == 0 ? "·" : RoundedCount(count); }

std::string ErrorCell(const report::CastTensor& tensor) {
  const LossReport& loss = tensor.loss;
  if (loss.compared == 0 || loss.max_abs_error == 0) return "·";
  const std::string place = formats::IndexText(*tensor.info, loss.max_abs_example.index);
  return MagnitudeText(loss.max_abs_error) + (place.empty() ? "" : " at " + place);
}

std::string TensorRows(const ConversionSummary& summary, bool verbose, bool colour,
                       std::size_t columns) {
  const std::vector<std::uint32_t> order = summary.cast.WorstFirst();
  // One row more than fits is not worth a line that says so.
  const std::size_t shown =
      verbose || order.size() <= kTensorsShown + 1 ? order.size() : kTensorsShown;
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

  std::vector<Column> table_columns = {{""}, {"worst first", false, 24, 0, summary.names}};
  if (typed) table_columns.push_back({"type"});
  table_columns.insert(table_columns.end(), {{"shape", false, 8}, {"SNR dB", true}});
  // By how much searched scales are better than the plain rule's.
  const bool has_gain =
      std::any_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown),
                  [&](std::uint32_t i) { return summary.cast.gain_db(i).has_value(); });
  if (has_gain) table_columns.push_back({"gained", true});
  table_columns.push_back({"at limit", true});
  for (const Extra& extra : extras) table_columns.push_back({std::string(extra.title), true});
  table_columns.insert(
      table_columns.end(),
      {{"→ zero", true}, {"subnormal", true, 0, 2}, {"max abs error", false, 0, 1}});

  TextTable table(std::move(table_columns));
  for (std::size_t i = 0; i < shown; ++i) {
    const report::CastTensor tensor = summary.cast[order[i]];
    const LossReport& loss = tensor.loss;
    const Verdict verdict = Judge(loss);
    std::vector<std::string> cells;
    cells.push_back(verdict == Verdict::kLost ? "✗" : verdict == Verdict::kPoor ? "!" : "✓");
    cells.push_back(words::Escape(tensor.info->name));
    if (typed) cells.push_back(GoalText(tensor.to, tensor.scaled));
    cells.push_back(ExtentsText(tensor.info->shape));
    cells.push_back(SnrText(loss));
    if (has_gain) cells.push_back(tensor.gain_db ? fmt::format("{:.2f}", *tensor.gain_db) : "");
    cells.push_back(CountCell(loss.count(Loss::kToLimit)));
    for (const Extra& extra : extras) cells.push_back(CountCell(loss.count(extra.kind)));
    cells.push_back(ShareText(loss.count(Loss::kToZero), loss.elements));
    cells.push_back(ShareText(loss.count(Loss::kToSubnormal), loss.elements));
    cells.push_back(ErrorCell(tensor));
    table.Add(std::move(cells), verdict == Verdict::kLost   ? Style::kRed
                                : verdict == Verdict::kPoor ? Style::kYellow
                                                            : Style::kGreen);
  }
  std::string text = table.Render(columns, colour);
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

// Casts from and to strings, with their types: one line for each pair.
std::string TextLines(const ConversionSummary& summary, std::size_t columns) {
  std::vector<std::pair<DataType, DataType>> pairs;
  for (const CastText& text : summary.texts) {
    const std::pair pair(text.info->type, text.to);
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
  }
  std::string lines;
  for (const auto& [from, to] : pairs) {
    std::vector<const formats::TensorInfo*> tensors;
    for (const CastText& text : summary.texts) {
      if (text.info->type == from && text.to == to) tensors.push_back(text.info);
    }
    const std::string head =
        fmt::format(" text: {} {} → {} (", words::CountText(tensors.size(), "tensor"),
                    TypeName(from), TypeName(to));
    const std::string tail = "): loss is not measured";
    const std::size_t room = RoomIn(columns, TextWidth(head) + TextWidth(tail));
    lines += head + NameList(tensors, false, room, summary.names) + tail + "\n";
  }
  return lines;
}

std::string LeftAloneLines(const ConversionSummary& summary, std::size_t columns) {
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
    std::vector<const formats::TensorInfo*> tensors;
    for (const LeftAlone* left : group) tensors.push_back(left->info);
    const std::string head =
        fmt::format(" left alone: {} (", words::CountText(group.size(), "tensor"));
    const std::string tail =
        ": " + (group.size() == 1 ? std::string(group[0]->reason) : reason) + ")";
    const std::size_t room = RoomIn(columns, TextWidth(head) + TextWidth(tail));
    text += head + NameList(tensors, true, room, summary.names) + tail + "\n";
  }
  return text;
}

// Empty of what is no pipeline.
std::string ComponentRows(const ConversionSummary& summary, std::size_t columns) {
  const std::vector<ComponentSummary> components = ComponentsOf(summary);
  if (components.empty()) return {};
  TextTable table({{"component", false, 12},
                   {"cast", true},
                   {"as they were", true},
                   {"worst dB", true},
                   {"at limit", true},
                   {"→ zero", true}});
  for (const ComponentSummary& one : components) {
    const bool is_measured = one.sum.worst.has_value();
    table.Add({words::Escape(one.name), RoundedCount(one.cast), CountCell(one.left_alone),
               is_measured ? SnrText(one.sum.worst_loss) : "·",
               CountCell(one.sum.count(Loss::kToLimit)),
               ShareText(one.sum.count(Loss::kToZero), one.sum.elements)});
  }
  return table.Render(columns, false) + "\n";
}

// Where a value changes, by how much, weight by weight.
std::string RepackedLines(const ConversionSummary& summary) {
  std::size_t same = 0;
  std::string changed;
  for (const RepackedWeight& one : summary.repacked) {
    if (one.repacked->change() == 0) {
      ++same;
      continue;
    }
    changed += fmt::format(" {}: every code the same; values change by {:.2e} of themselves\n",
                           words::Escape(one.repacked->name()), one.repacked->change());
  }
  return (same == 0 ? std::string()
                    : fmt::format(" repacked: {}, every code and every value the same\n",
                                  words::CountText(same, "weight"))) +
         changed;
}

// One line, or where that is too long what is wrong and what to do on lines of their own; on a
// terminal these too are broken where they do not fit.
std::string WrappedAdvice(std::string_view advice, std::size_t columns) {
  constexpr std::string_view kHead = " advice:";
  const std::size_t end = advice.find("; ");
  const std::size_t one_line = std::min(columns, kReportColumns);
  if (TextWidth(kHead) + 1 + TextWidth(advice) <= one_line || end == std::string_view::npos) {
    return Wrapped(kHead, advice, columns);
  }
  return Wrapped(kHead, advice.substr(0, end + 1), columns) +
         Wrapped(std::string(TextWidth(kHead), ' '), advice.substr(end + 2), columns);
}

}  // namespace

std::vector<std::string> OffenceTexts(const ConversionSummary& summary, std::size_t columns) {
  std::vector<std::string> texts;
  for (const Offence& offence : kOffences) {
    const std::uint64_t count = summary.Count(offence.kind);
    if (count == 0) continue;
    std::size_t place = 0;
    while (summary.cast[place].loss.count(offence.kind) == 0) ++place;
    const report::CastTensor first = summary.cast[place];
    const LossExample& example = first.loss.first[static_cast<std::size_t>(offence.kind)];
    const std::string fact =
        fmt::format("{} = {} → {}{}", formats::IndexText(*first.info, example.index),
                    ElementText(first.info->type, example.source_code),
                    ElementText(first.to, example.result_code), first.scaled ? " × its scale" : "");
    const std::string lead = fmt::format("{} of {} values {}; first: ", RoundedCount(count),
                                         RoundedCount(summary.Values()), offence.said);
    const std::size_t room = RoomIn(columns, 1 + TextWidth(lead) + TextWidth(fact));
    texts.push_back(
        lead + report::DistinctName(words::Escape(first.info->name), room, summary.names) + fact);
  }
  return texts;
}

std::string LossTable(const ConversionSummary& summary, bool verbose, bool colour,
                      std::size_t columns) {
  std::string text = Styled(Heading(summary, columns), Style::kBold, colour) + "\n\n";
  if (!summary.repacked.empty()) {
    text += RepackedLines(summary);
  } else if (summary.cast.empty() && summary.texts.empty()) {
    text += " no tensor was cast; all were copied as they are\n";
  } else if (!summary.cast.empty()) {
    text += TensorRows(summary, verbose, colour, columns) + "\n";
    for (const std::string& offence : OffenceTexts(summary, columns)) text += " " + offence + "\n";
  }
  text += ComponentRows(summary, columns);
  text += TextLines(summary, columns);
  text += LeftAloneLines(summary, columns);
  for (const AdviceLine& advice : AdviceLines(summary, columns)) {
    text += WrappedAdvice(advice.text, columns);
  }
  if (!summary.reading_hint.empty())
    text += Wrapped(" read it with:", summary.reading_hint, std::min(columns, kReportColumns)) +
            summary.reading_code;
  if (!summary.quantization_config.empty()) {
    // MLX's readers look for theirs under a name of its own.
    const json::OrderedJson config = json::JsonOrNull(summary.quantization_config);
    const bool is_own = scale::DialectOfConfig(config) != nullptr;
    text += fmt::format(" config.json of a model with these weights needs:\n\"{}\": ",
                        is_own ? "quantization" : "quantization_config") +
            IndentedJson(summary.quantization_config);
  }
  for (const CrossedLimit& crossed : summary.crossed) {
    text += Wrapped(" limit crossed:", CrossedText(crossed, summary.names, columns), columns);
  }
  return text;
}

}  // namespace tensorcast::tool
