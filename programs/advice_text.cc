// Advice in words: what is wrong, and the flags that change it.
//
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include <fmt/format.h>

#include "conversion_summary.h"
#include "quantities.h"
#include "report/advice.h"
#include "report/distinct_names.h"
#include "terminal.h"

namespace tensorcast::tool {
namespace {

using report::Advice;
using report::Problem;
using report::Remedy;

std::string Description(const Advice& advice, double amax) {
  const bool plural = advice.tensors > 1;
  const std::string_view type = TypeName(advice.to);
  switch (advice.problem) {
    case Problem::kNotPositive:
      return fmt::format("{} zeros or negatives, which {} does not have (it is for scales)",
                         plural ? "hold" : "holds", type);
    case Problem::kNan:
      return fmt::format("{} NaN, which {} does not have", plural ? "hold" : "holds", type);
    case Problem::kInfinity:
      return fmt::format("{} Inf, which {} does not have", plural ? "hold" : "holds", type);
    case Problem::kBeyond:
      return fmt::format("{} {}, beyond {}'s {}", plural ? "reach" : "reaches", MagnitudeText(amax),
                         type, MagnitudeText(LimitsOf(advice.to).greatest));
    case Problem::kBelow:
      return fmt::format("{} below {}'s normal range", plural ? "lie" : "lies", type);
    case Problem::kWrapped:
    case Problem::kIntegerZeros:
    case Problem::kCoarse: break;
  }
  return fmt::format("{} {}", plural ? "are too fine for" : "is too fine for", type);
}

std::string ShellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string WayOut(const Advice& advice) {
  const std::string_view better = advice.better ? TypeName(*advice.better) : "";
  if (advice.remedy == Remedy::kOtherType) return fmt::format("try --to {}", better);
  const bool is_rule = advice.remedy == Remedy::kOtherTypeHere;
  if (advice.patterns.empty()) {
    return is_rule ? fmt::format("try a --rule that gives it {}", better)
                   : "try an --exclude that names it";
  }
  std::string text = "try";
  for (const std::string& pattern : advice.patterns) {
    const std::string glob = io::Escape(pattern);
    text += is_rule ? " --rule " + ShellQuoted(fmt::format("{}={}", glob, better))
                    : " --exclude " + ShellQuoted(glob);
  }
  if (advice.matched < advice.tensors) {
    text += fmt::format(", for {} of the {}", advice.matched, advice.tensors);
  }
  return text;
}

std::string Line(const Advice& advice, const ConversionSummary& summary, std::size_t name_columns) {
  if (advice.problem == Problem::kWrapped) {
    return fmt::format(
        "values outside {} gave their low bits; --integer-overflow saturate gives "
        "its limits",
        TypeName(advice.to));
  }
  if (advice.problem == Problem::kIntegerZeros) {
    return fmt::format("{} makes 0 of small values; {} keeps them", TypeName(advice.to),
                       TypeName(*advice.better));
  }
  const report::CastTensor worst = summary.cast[advice.worst];
  const std::string name =
      report::DistinctName(io::EscapeName(worst.info->name), name_columns, summary.names);
  return fmt::format("{}{} {}; {}", name,
                     advice.tensors > 1 ? fmt::format(" and {} more", advice.tensors - 1) : "",
                     Description(advice, worst.loss.amax), WayOut(advice));
}

}  // namespace

std::vector<std::string> AdviceTexts(const ConversionSummary& summary, std::size_t columns) {
  const std::size_t name_columns = columns == kUnlimitedColumns ? columns : columns * 3 / 5;
  std::vector<std::string> lines;
  for (const Advice& advice : report::Advise(summary.cast, summary.can_hold)) {
    lines.push_back(Line(advice, summary, name_columns));
  }
  return lines;
}

}  // namespace tensorcast::tool
