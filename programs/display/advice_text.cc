// Advice in words: what is wrong, and the flags that change it.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "arguments/command_again.h"
#include "display/conversion_summary.h"
#include "display/quantities.h"
#include "files/error.h"
#include "naming/keep.h"
#include "report/advice.h"
#include "report/distinct_names.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

using report::Advice;
using report::Problem;

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

// The flags that prevent it; none where a pattern cannot stand in a line as it is.
std::vector<std::string> FlagsOf(const Advice& advice) {
  const std::string better(advice.better ? TypeName(*advice.better) : "");
  if (advice.problem == Problem::kWrapped) return {"--integer-overflow", "saturate"};
  if (advice.prevention == report::Prevention::kOtherType) return {"--to", better};
  const bool is_rule = advice.prevention == report::Prevention::kOtherTypeHere;
  std::vector<std::string> flags;
  for (const std::string& pattern : advice.patterns) {
    if (words::Escape(pattern) != pattern) return {};
    flags.push_back(is_rule ? "--rule" : "--exclude");
    flags.push_back(is_rule ? pattern + "=" + better : pattern);
  }
  return flags;
}

std::string WayOut(const Advice& advice) {
  const std::string_view better = advice.better ? TypeName(*advice.better) : "";
  if (advice.prevention == report::Prevention::kOtherType) {
    return fmt::format("try --to {}", better);
  }
  const bool is_rule = advice.prevention == report::Prevention::kOtherTypeHere;
  if (advice.patterns.empty()) {
    return is_rule ? fmt::format("try a --rule that gives it {}", better)
                   : "try an --exclude that names it";
  }
  std::string text = "try";
  for (const std::string& pattern : advice.patterns) {
    const std::string glob = words::Escape(pattern);
    text += is_rule ? " --rule " + ShellQuoted(fmt::format("{}={}", glob, better))
                    : " --exclude " + ShellQuoted(glob);
  }
  if (advice.matched < advice.tensors) {
    text += fmt::format(", for {} of the {}", advice.matched, advice.tensors);
  }
  return text;
}

AdviceLine LineOf(const Advice& advice, const ConversionSummary& summary,
                  std::size_t name_columns) {
  AdviceLine line;
  line.flags = FlagsOf(advice);
  if (advice.problem == Problem::kWrapped) {
    line.problem = fmt::format("values outside {} gave their low bits", TypeName(advice.to));
    line.text = line.problem + "; --integer-overflow saturate gives its limits";
  } else if (advice.problem == Problem::kIntegerZeros) {
    line.problem = fmt::format("{} makes 0 of small values", TypeName(advice.to));
    line.text = fmt::format("{}; {} keeps them", line.problem, TypeName(*advice.better));
  } else {
    const report::CastTensor worst = summary.cast[advice.worst];
    const std::string name =
        report::DistinctName(words::EscapeName(worst.info->name), name_columns, summary.names);
    line.problem = fmt::format(
        "{}{} {}", name, advice.tensors > 1 ? fmt::format(" and {} more", advice.tensors - 1) : "",
        Description(advice, worst.loss.amax));
    line.text = line.problem + "; " + WayOut(advice);
    if (advice.matched < advice.tensors && !advice.patterns.empty()) {
      line.problem +=
          fmt::format("; the flags are for {} of the {}", advice.matched, advice.tensors);
    }
  }
  return line;
}

}  // namespace

std::string KeepText(const report::KeepAdvice& advice) {
  std::vector<std::string_view> words;
  std::ranges::transform(advice.keep, std::back_inserter(words), convert::KeepName);
  const std::string after = DecibelText(advice.worst_after) + " dB";
  return fmt::format(
      "try --keep {}: {} for {} ({}) more, and the worst SNR {}", fmt::join(words, ","),
      advice.tensors == 1 ? "1 tensor stays as it is"
                          : RoundedCount(advice.tensors) + " tensors stay as they are",
      BytesText(advice.more_bytes),
      advice.share < 0.0005 ? "<0.1 %" : fmt::format("{:.1f} %", 100 * advice.share),
      std::isinf(advice.worst_before)
          ? "of the others is " + after
          : fmt::format("goes from {} dB to {}", DecibelText(advice.worst_before), after));
}

std::vector<AdviceLine> AdviceLines(const ConversionSummary& summary, std::size_t columns) {
  const std::size_t name_columns = columns == kUnlimitedColumns ? columns : columns * 3 / 5;
  std::vector<AdviceLine> lines;
  const auto figures = [&](std::size_t i) -> report::CastFigures {
    const formats::TensorInfo& info = summary.cast.info(i);
    return {&info, StorageBytes(summary.cast.to(i), info.elements).value_or(0),
            summary.cast.decibel(i), summary.may_be_kept(info)};
  };
  const std::optional<report::KeepAdvice> keep =
      report::AdviseKeeping(summary.cast.size(), figures, summary.output_bytes);
  if (keep) {
    AdviceLine& line = lines.emplace_back(AdviceLine{KeepText(*keep), {}, KeepText(*keep)});
    for (const convert::Keep kind : keep->keep) {
      line.flags.insert(line.flags.end(), {"--keep", std::string(convert::KeepName(kind))});
    }
  }
  const auto settled = [&](const formats::TensorInfo& info) {
    return keep && summary.may_be_kept(info) && naming::KeptBy(keep->keep, info.name, info.shape);
  };
  for (const Advice& advice : report::Advise(summary.cast, summary.can_hold, settled)) {
    lines.push_back(LineOf(advice, summary, name_columns));
  }
  return lines;
}

}  // namespace tensorcast::tool
