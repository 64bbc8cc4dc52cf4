// What several types lose, for people: a row for each type, and one for each tensor.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "commands/comparison.h"
#include "display/conversion_summary.h"
#include "display/quantities.h"
#include "display/tensor_text.h"
#include "display/text_table.h"
#include "report/distinct_names.h"
#include "shell/process.h"
#include "shell/streams.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

std::string TextOf(const Candidate& candidate) {
  return GoalAndRuleText(candidate.to.type, candidate.to.scaled);
}

// The SNR of every tensor under every type: as few bytes as tell it.
class FigureTable {
 public:
  FigureTable(std::size_t tensors, std::size_t types)
      : types_(types), decibels_(tensors * types), marks_(tensors * types) {}

  void Set(std::size_t tensor, std::size_t type, const LossReport& loss) {
    const std::size_t place = tensor * types_ + type;
    decibels_[place] = loss.snr_db;
    const bool is_unseen = std::isinf(loss.snr_db) && loss.max_abs_error > 0;
    marks_[place] = static_cast<std::uint8_t>(
        kCast | (LostValues(loss) > 0 ? kLost : 0) | (loss.compared > 0 ? kCompared : 0) |
        (is_unseen ? kUnseen : 0) | (ComparableDecibel(loss) == -kInfinity ? kWorst : 0));
  }
  // To compare by; more than any other where the tensor is not cast to the type.
  double Decibel(std::size_t tensor, std::size_t type) const {
    const std::size_t place = tensor * types_ + type;
    if (marks_[place] == 0) return kInfinity;
    return (marks_[place] & kWorst) != 0 ? -kInfinity : decibels_[place];
  }
  // The lowest of the types'.
  double Worst(std::size_t tensor) const {
    double worst = kInfinity;
    for (std::size_t t = 0; t < types_; ++t) worst = std::min(worst, Decibel(tensor, t));
    return worst;
  }
  std::string Text(std::size_t tensor, std::size_t type) const {
    const std::size_t place = tensor * types_ + type;
    const std::uint8_t mark = marks_[place];
    if (mark == 0) return "·";
    const std::string figure = (mark & kCompared) == 0 ? "–"
                               : (mark & kUnseen) != 0 ? "?"
                                                       : DecibelText(decibels_[place]);
    return ((mark & kLost) != 0 ? "✗ " : "") + figure;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  enum Mark : std::uint8_t { kCast = 1, kLost = 2, kCompared = 4, kUnseen = 8, kWorst = 16 };

  std::size_t types_;
  std::vector<double> decibels_;
  std::vector<std::uint8_t> marks_;  // 0: not cast
};

// "4.25": of a cast value, with its share of the scales.
std::string BitsText(const Candidate& candidate) {
  return fmt::format("{:.4g}", 8.0 * static_cast<double>(candidate.cast_bytes) /
                                   static_cast<double>(candidate.total.elements));
}

std::string TypeTable(const std::vector<Candidate>& candidates, const report::NamesOfFile& names) {
  // Where there is no room for all, what the others tell, or nearly, goes first. Of plain types the
  // name tells the bits.
  const bool has_bits = std::any_of(candidates.begin(), candidates.end(), [](const Candidate& one) {
    return static_cast<bool>(one.to.scaled);
  });
  std::vector<Column> columns = {{"type"}, {"data", true, 0, 3}};
  if (has_bits) columns.push_back({"bits/value", true, 0, 5});
  for (const Column& column : {Column{"SNR dB", true},
                               {"lost", true},
                               {"→ zero", true, 0, 4},
                               {"subnormal", true, 0, 7},
                               {"max abs error", true, 0, 6},
                               {"worst dB", true, 0, 1},
                               {"in tensor", false, 20, 2, names}}) {
    columns.push_back(column);
  }
  TextTable table(std::move(columns));
  for (const Candidate& candidate : candidates) {
    std::vector<std::string> cells = {TextOf(candidate), BytesText(candidate.bytes)};
    if (has_bits) {
      cells.push_back(candidate.sum.worst ? BitsText(candidate) : "–");
    }
    if (candidate.sum.worst) {
      const LossReport& loss = candidate.total;
      const std::uint64_t lost = LostValues(loss);
      cells.push_back(SnrText(loss));
      cells.push_back(lost == 0 ? "·" : RoundedCount(lost));
      cells.push_back(ShareText(loss.count(Loss::kToZero), loss.elements));
      cells.push_back(ShareText(loss.count(Loss::kToSubnormal), loss.elements));
      cells.push_back(loss.max_abs_error > 0 ? MagnitudeText(loss.max_abs_error) : "·");
      cells.push_back(SnrText(candidate.sum.worst_loss));
      cells.push_back(words::Escape(*candidate.sum.worst));
    }
    table.Add(std::move(cells));
  }
  return table.Render(Columns(stdout), false);
}

// SNR of each tensor under each type, the tensor that fares worst under any of them first.
void PrintTensorTable(const std::vector<formats::TensorInfo>& tensors, const Comparison& comparison,
                      const FigureTable& figures, bool verbose) {
  constexpr std::size_t kRowsShown = 12;
  constexpr std::size_t kLeastName = 20;
  constexpr std::size_t kWidestFigure = 7;  // "✗ 100.2"
  std::vector<Column> columns = {
      {"SNR dB by tensor", false, kLeastName, 0, report::EscapedNames(tensors)},
      {"shape", false, 8, 1}};
  // The first types, as many as leave room for names.
  const std::size_t width = Columns(stdout);
  std::size_t types = 0;
  for (std::size_t taken = 1 + kLeastName; types < comparison.candidates.size(); ++types) {
    const std::string name = TextOf(comparison.candidates[types]);
    taken += 2 + std::max(name.size(), kWidestFigure);
    if (types > 0 && taken > width) break;
    columns.push_back({name, true});
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    if (comparison.cast_to[i].any()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return figures.Worst(a) < figures.Worst(b);
  });
  const std::size_t shown = verbose || order.size() <= kRowsShown + 1 ? order.size() : kRowsShown;
  const auto row = [&](std::size_t place) -> TableRow {
    const std::uint32_t i = order[place];
    TableRow made{{words::Escape(tensors[i].name), ExtentsText(tensors[i].shape)}};
    for (std::size_t t = 0; t < types; ++t) {
      made.cells.push_back(figures.Text(i, t));
    }
    return made;
  };
  Print("\n");
  PrintTable(columns, {shown, row}, width, false);
  if (shown < order.size()) {
    Print(fmt::format("   … {} more (--verbose shows all)\n", order.size() - shown));
  }
  if (types < comparison.candidates.size()) {
    Print(fmt::format("   … {} more types in a wider terminal\n",
                      comparison.candidates.size() - types));
  }
}

// The lines of the limits that a type crossed.
void PrintCrossed(const Comparison& comparison, const std::vector<LossLimit>& limits,
                  const report::NamesOfFile& names) {
  const std::size_t columns = Columns(stdout);
  for (const Candidate& candidate : comparison.candidates) {
    for (const CrossedLimit& crossed : CrossedLimits(limits, candidate.sum)) {
      Print(Wrapped(" limit crossed:",
                    fmt::format("{}: {}", TextOf(candidate), CrossedText(crossed, names, columns)),
                    columns));
    }
  }
}

void PrintAdvice(const std::vector<formats::TensorInfo>& tensors, const Comparison& comparison,
                 const FigureTable& figures) {
  for (std::size_t t = 0; t < comparison.candidates.size(); ++t) {
    const auto advice = AdviceFor(tensors, comparison, t, [&](std::size_t, std::uint32_t i) {
      return figures.Decibel(i, t);
    });
    if (advice) {
      Print(Wrapped(
          " advice:", fmt::format("{}: {}", TextOf(comparison.candidates[t]), KeepText(*advice)),
          Columns(stdout)));
    }
  }
}

}  // namespace

void CompareForPeople(const formats::TensorReader& reader, Comparison& comparison,
                      const CompareOptions& options) {
  constexpr std::size_t kTypesAside = 5;  // more columns than this leave no room for names
  const std::vector<formats::TensorInfo>& tensors = reader.contents().tensors;
  const bool aside = comparison.candidates.size() <= kTypesAside;
  FigureTable figures(aside ? tensors.size() : 0, comparison.candidates.size());
  MeasurePass(reader, comparison, TypeSet().set(), options.jobs,
              [&](std::size_t t, std::size_t i, const LossReport& loss) {
                if (aside) figures.Set(i, t, loss);
              });
  ExitOnInterrupts(Leaves::kNothing);
  const auto cast = std::count_if(comparison.cast_to.begin(), comparison.cast_to.end(),
                                  [](const TypeSet& types) { return types.any(); });
  const std::string facts = fmt::format("   {} of {} tensors   {} of data", cast, tensors.size(),
                                        BytesText(comparison.data_bytes));
  const std::size_t columns = Columns(stdout);
  std::string heading = Shorten(words::EscapeName(options.input), columns);
  if (TextWidth(heading) + TextWidth(facts) > columns) heading += '\n';
  Print(heading + facts + "\n\n");
  Print(TypeTable(comparison.candidates, report::EscapedNames(tensors)));
  if (cast == 0) {
    Print("\n nothing was selected: no loss to measure\n");
  } else if (aside) {
    PrintTensorTable(tensors, comparison, figures, options.verbose);
    PrintAdvice(tensors, comparison, figures);
  }
  PrintCrossed(comparison, options.limits, report::EscapedNames(tensors));
}

}  // namespace tensorcast::tool
