// The worst first, as the report has them; how many of each kind in words.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/diff_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "display/conversion_summary.h"
#include "display/quantities.h"
#include "display/text_table.h"
#include "display/tool_json.h"
#include "formats/element_index.h"
#include "shell/streams.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

// In the order of DiffKind: of a tensor in a row, and of one or several in a sentence.
struct KindWords {
  std::string_view row;
  std::string_view many;
};
constexpr KindWords kKinds[kDiffKinds] = {
    {"only in A", "only in A"},      {"only in B", "only in B"},    {"other shape", "in shape"},
    {"other kind", "in kind"},       {"other values", "in values"}, {"same values", "by value"},
    {"same bytes", "byte for byte"},
};

std::string TypeOf(const DiffSide& side) {
  if (!side.layout.empty()) return std::string(side.layout);
  return FindType(side.type) != nullptr ? std::string(TypeName(side.type))
                                        : words::Escape(side.dtype);
}

// "float32", or where the sides differ "float32 → bfloat16".
template <class TextOf> std::string OfBoth(const TensorDiff& diff, const TextOf& text_of) {
  std::string first = text_of(diff.side());
  if (!diff.a || !diff.b) return first;
  const std::string other = text_of(*diff.b);
  return first == other ? first : first + " → " + other;
}

// "0.5 at [3,17]"; of what has no finite error, as strings have none, where the first is.
std::string ErrorCell(const TensorDiff& diff) {
  if (diff.kind != DiffKind::kValues) return "";
  const bool has_error = diff.loss && diff.loss->compared > 0 && diff.loss->max_abs_error > 0;
  const std::string error = has_error ? MagnitudeText(diff.loss->max_abs_error) : "·";
  if (FindType(diff.a->type) == nullptr) return fmt::format("from byte {} on", diff.first);
  const std::string place = formats::IndexText(
      InfoOfSide(*diff.a), has_error ? diff.loss->max_abs_example.index : diff.first);
  return place.empty() ? error : error + " at " + place;
}

TableRow RowOf(const TensorDiff& diff) {
  const auto extents = [](const DiffSide& side) { return ExtentsText(side.shape); };
  TableRow row;
  row.style = IsEqual(diff.kind)                                 ? Style::kGreen
              : diff.loss && Judge(*diff.loss) == Verdict::kGood ? Style::kPlain
              : diff.loss && Judge(*diff.loss) == Verdict::kPoor ? Style::kYellow
                                                                 : Style::kRed;
  row.cells = {words::Escape(diff.side().name), std::string(DiffKindText(diff.kind)),
               OfBoth(diff, extents), OfBoth(diff, TypeOf)};
  if (diff.kind != DiffKind::kValues) return row;
  // Of NaN and Inf alone, which became something else, there is no error that is finite.
  const bool has_snr = diff.loss && diff.loss->max_abs_error != 0;
  row.cells.push_back(has_snr ? SnrText(*diff.loss) : "–");
  row.cells.push_back(ShareText(diff.different, diff.elements));
  row.cells.push_back(ErrorCell(diff));
  return row;
}

// ": 1 only in A, 2 in shape" of the kinds from `first` to before `end`; of one kind, which all
// `count` are of, " in shape", which a verb stands before.
std::string KindsText(const DiffReport& report, DiffKind first, std::size_t end,
                      std::uint64_t count) {
  std::string text;
  for (auto kind = static_cast<std::size_t>(first); kind < end; ++kind) {
    const std::uint64_t found = report.counts[kind];
    if (found == 0) continue;
    const bool is_verbal = static_cast<DiffKind>(kind) >= DiffKind::kShape;
    if (found == count && is_verbal) return fmt::format(" {}", kKinds[kind].many);
    text += fmt::format("{} {} {}", text.empty() ? ":" : ",", found, kKinds[kind].many);
  }
  return text;
}

std::string Sentences(const DiffReport& report, std::size_t columns) {
  constexpr auto kFirstEqual = static_cast<std::size_t>(DiffKind::kSameValues);
  const std::uint64_t same =
      report.count(DiffKind::kSameValues) + report.count(DiffKind::kSameBytes);
  const std::uint64_t all = report.tensors.size(), others = all - same;
  std::string text;
  if (all == 0) return " there is no tensor on either side\n";
  if (others != 0) {
    text += Wrapped("",
                    fmt::format("{} of {} differ{}{}", others, words::CountText(all, "tensor"),
                                others == 1 ? "s" : "",
                                KindsText(report, DiffKind::kOnlyInA, kFirstEqual, others)),
                    columns);
  }
  if (same != 0) {
    const std::string head = others != 0 ? fmt::format("{} {}", same, same == 1 ? "is" : "are")
                             : all == 1  ? std::string("the one tensor is")
                             : all == 2  ? std::string("both tensors are")
                                         : fmt::format("all {} tensors are", all);
    text += Wrapped(
        "", head + " equal" + KindsText(report, DiffKind::kSameValues, kDiffKinds, same), columns);
  }
  return text;
}

Json SideJson(const std::optional<DiffSide>& side) {
  return side ? TensorJson(InfoOfSide(*side)) : Json();
}

Json DiffJson(const TensorDiff& diff) {
  Json json = Json::object();
  json["kind"] = DiffKindName(diff.kind);
  json["a"] = SideJson(diff.a);
  json["b"] = SideJson(diff.b);
  const bool is_compared = diff.kind == DiffKind::kValues || IsEqual(diff.kind);
  json["different"] = is_compared ? Json(diff.different) : Json();
  json["first"] = Json();
  if (diff.different != 0) {
    json["first"] = FindType(diff.a->type) != nullptr
                        ? Json(formats::ElementIndex(InfoOfSide(*diff.a), diff.first))
                        : Json(diff.first);
  }
  json["loss"] = diff.loss ? LossOfTensorJson(InfoOfSide(*diff.a), *diff.loss) : Json();
  return json;
}

}  // namespace

formats::TensorInfo InfoOfSide(const DiffSide& side) {
  formats::TensorInfo info;
  info.name = side.name;
  info.dtype = side.dtype;
  info.type = side.type;
  info.stored_as = side.layout;
  info.shape = side.shape;
  info.bytes = info.stored_bytes = side.bytes;
  info.fortran_order = side.fortran_order;
  info.elements = 1;
  for (const std::uint64_t n : side.shape) info.elements *= n;
  return info;
}

std::string_view DiffKindText(DiffKind kind) { return kKinds[static_cast<std::size_t>(kind)].row; }

void PrintDiffTable(const DiffSummary& summary, bool verbose) {
  constexpr std::size_t kRowsShown = 24;
  const DiffReport& report = summary.report;
  const std::size_t columns = Columns(stdout);
  const bool colour = UsesColour(stdout);
  const auto side = [&](const char* head, const std::string& path, std::uint64_t bytes) {
    const std::string facts = "   " + BytesText(bytes);
    const std::size_t room = columns - std::min(columns, TextWidth(head) + TextWidth(facts));
    Print(Styled(head + Shorten(words::Escape(path), room), Style::kBold, colour) + facts + "\n");
  };
  side("A  ", summary.request->a, report.bytes_a);
  side("B  ", summary.request->b, report.bytes_b);
  Print("\n");

  const report::NamesOfFile names = {report.tensors.size(), [&](std::size_t i) {
                                       return words::Escape(report.tensors[i].side().name);
                                     }};
  const auto equal =
      std::ranges::find_if(report.tensors, [](const TensorDiff& one) { return IsEqual(one.kind); });
  const auto others = static_cast<std::size_t>(equal - report.tensors.begin());
  // One row more than fits is not worth a line that says so.
  const std::size_t shown = verbose                    ? report.tensors.size()
                            : others <= kRowsShown + 1 ? others
                                                       : kRowsShown;
  if (shown != 0) {
    const std::vector<Column> table = {{"worst first", false, 20, 0, names},
                                       {""},
                                       {"shape", false, 8, 2},
                                       {"type", false, 0, 4},
                                       {"SNR dB", true},
                                       {"differ", true, 0, 3},
                                       {"max abs error", false, 0, 1}};
    PrintTable(table, {shown, [&](std::size_t i) { return RowOf(report.tensors[i]); }}, columns,
               colour);
    if (shown < others) Print(fmt::format("   … {} more (--verbose shows all)\n", others - shown));
    Print("\n");
  }
  Print(Sentences(report, columns));
  for (const CrossedLimit& crossed : summary.crossed) {
    Print(Wrapped(" limit crossed:", CrossedText(crossed, names, columns), columns));
  }
}

void PrintDiffJson(const DiffSummary& summary, const TakeText& print) {
  const DiffReport& report = summary.report;
  JsonPrinter json("diff", print);
  json.Member("a", summary.request->a);
  json.Member("b", summary.request->b);
  json.Member("a_bytes", report.bytes_a);
  json.Member("b_bytes", report.bytes_b);
  json.Member("equal", report.equal());
  Json totals = Json::object();
  for (std::size_t kind = 0; kind < kDiffKinds; ++kind) {
    totals[std::string(DiffKindName(static_cast<DiffKind>(kind)))] = report.counts[kind];
  }
  json.Member("tensors_by_kind", totals);
  json.Array("tensors", report.tensors, DiffJson);
  json.Member("notes", report.notes);
  json.Array("limits_crossed", summary.crossed, CrossedJson);
  json.End();
}

}  // namespace tensorcast::tool
