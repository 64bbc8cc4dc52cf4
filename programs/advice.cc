// Advice from magnitudes: which type would have held what this one lost.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "conversion_summary.h"
#include "convert/name_pattern.h"
#include "quantities.h"
#include "terminal.h"

namespace tensorcast::tool {
namespace {

constexpr std::size_t kLinesAtMost = 3;
// A type suits values when this many of them fit between its smallest normal and their root mean
// square: of normally distributed ones 90 % then are normal.
constexpr double kNormalBelowRms = 8;

// What went wrong with a tensor; the first that holds.
enum class Problem {
  kNotPositive,
  kNan,
  kInfinity,
  kBeyond,
  kWrapped,
  kIntegerZeros,
  kBelow,
  kCoarse
};

std::optional<Problem> ProblemOf(const CastTensor& tensor) {
  const LossReport& loss = tensor.loss;
  // Its values are right only with the tensor it serves: no other type is better.
  if (Judge(loss) == Verdict::kGood || tensor.is_companion) return std::nullopt;
  if (FindType(tensor.to)->is_integer()) {
    if (loss.count(Loss::kWrapped) > 0) return Problem::kWrapped;
    if (loss.count(Loss::kToZero) > 0 && FindType(tensor.info->type)->is_float()) {
      return Problem::kIntegerZeros;
    }
    return std::nullopt;
  }
  if (!FindType(tensor.to)->is_float() || !FindType(tensor.info->type)->is_float()) {
    return std::nullopt;
  }
  // float8e8m0 has neither zero nor sign, and nothing but zeros and negatives is undefined there.
  if (!FindType(tensor.to)->has_zero && loss.count(Loss::kUndefined) > 0) {
    return Problem::kNotPositive;
  }
  if (loss.count(Loss::kNanLost) > 0) return Problem::kNan;
  if (loss.count(Loss::kToLimit) + loss.count(Loss::kToInfinity) + loss.count(Loss::kToNan) > 0) {
    return loss.amax > LimitsOf(tensor.to).greatest ? Problem::kBeyond : Problem::kInfinity;
  }
  if (2 * (loss.count(Loss::kToZero) + loss.count(Loss::kToSubnormal)) > loss.elements) {
    return Problem::kBelow;
  }
  return Problem::kCoarse;
}

// Problems of which one line says all, whichever tensors have them.
bool IsOfWholeFile(Problem problem) {
  return problem == Problem::kWrapped || problem == Problem::kIntegerZeros;
}

// The signal-to-noise ratio that rounding alone leaves of normal values of a type, in dB: measured
// on normally distributed values; each bit of significand gives 6.02 dB.
double RoundingDecibel(const TypeInfo& row) { return 13.4 + 6.02 * row.mantissa_bits; }

bool Suits(const TypeInfo& row, Problem problem, const LossReport& loss) {
  const TypeLimits limits = LimitsOf(row.type);
  if (loss.finite > 0 && limits.greatest < loss.amax) return false;
  if (loss.sum_squares > 0) {  // over the values that stayed finite
    const double rms = std::sqrt(loss.sum_squares / static_cast<double>(loss.compared));
    if (limits.least_normal * kNormalBelowRms > rms) return false;
  }
  if (problem == Problem::kNan && !row.has_nan()) return false;
  if (problem == Problem::kInfinity && !row.has_infinity()) return false;
  const double expected = RoundingDecibel(row);
  return expected >= kPoorDecibel && (std::isinf(loss.snr_db) || expected > loss.snr_db);
}

// The narrowest type that would hold the tensor better, the most precise of several; nothing where
// only the source's own type does.
const TypeInfo* BetterType(const ConversionSummary& summary, const CastTensor& tensor,
                           Problem problem) {
  const TypeInfo* from = FindType(tensor.info->type);
  const TypeInfo* to = FindType(tensor.to);
  const TypeInfo* best = nullptr;
  for (const TypeInfo& row : Types()) {
    if (!row.is_float() || !row.has_sign || row.is_fnuz() != to->is_fnuz()) {
      // The FNUZ formats belong to some accelerators: stay with the family in use, but for the
      // types that have no such variant.
      if (!row.is_float() || !row.has_sign || row.is_fnuz() || row.bits <= 8) continue;
    }
    if (row.bits >= from->bits || row.type == tensor.to || !Suits(row, problem, tensor.loss)) {
      continue;
    }
    if (summary.can_hold && !summary.can_hold(*tensor.info, row.type)) continue;
    if (best == nullptr || row.bits < best->bits ||
        (row.bits == best->bits && row.mantissa_bits > best->mantissa_bits)) {
      best = &row;
    }
  }
  return best;
}

std::string Description(Problem problem, const CastTensor& worst, bool plural) {
  const std::string_view type = TypeName(worst.to);
  switch (problem) {
    case Problem::kNotPositive:
      return fmt::format("{} zeros or negatives, which {} does not have (it is for scales)",
                         plural ? "hold" : "holds", type);
    case Problem::kNan:
      return fmt::format("{} NaN, which {} does not have", plural ? "hold" : "holds", type);
    case Problem::kInfinity:
      return fmt::format("{} Inf, which {} does not have", plural ? "hold" : "holds", type);
    case Problem::kBeyond:
      return fmt::format("{} {}, beyond {}'s {}", plural ? "reach" : "reaches",
                         MagnitudeText(worst.loss.amax), type,
                         MagnitudeText(LimitsOf(worst.to).greatest));
    case Problem::kBelow:
      return fmt::format("{} below {}'s normal range", plural ? "lie" : "lies", type);
    case Problem::kWrapped:
    case Problem::kIntegerZeros:
    case Problem::kCoarse: break;
  }
  return fmt::format("{} {}", plural ? "are too fine for" : "is too fine for", type);
}

// A glob without control characters, which would do something to a terminal or a shell.
std::string Pastable(std::string glob) {
  for (char& c : glob) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return io::Escape(glob);
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

// Tensors with the same problem, destination and way out.
struct Group {
  Problem problem;
  DataType to;
  const TypeInfo* better;
  std::vector<std::uint32_t> tensors;  // worst first
};

std::string WayOut(const Group& group, const CastTensors& cast) {
  const CastTensor worst = cast[group.tensors.front()];
  if (group.better != nullptr && 2 * group.tensors.size() > cast.size()) {
    return fmt::format("try --to {}", group.better->name);
  }
  const std::string& name = worst.info->name;
  // A pattern of that length is no line to read or paste, and takes long to match.
  constexpr std::size_t kLongestNamed = 200;
  if (name.size() > kLongestNamed) {
    return group.better != nullptr
               ? fmt::format("try a --rule that gives it {}", group.better->name)
               : "try an --exclude that names it";
  }
  const std::string layers = convert::LayerGlob(name);
  const convert::NamePattern in_layers(layers);
  const auto ill = std::count_if(group.tensors.begin(), group.tensors.end(), [&](std::uint32_t i) {
    return in_layers.Matches(cast.info(i).name);
  });
  std::ptrdiff_t all = 0;
  for (std::size_t i = 0; i < cast.size(); ++i) all += in_layers.Matches(cast.info(i).name) ? 1 : 0;
  // One rule for the same place in every layer, unless it would take many that are well.
  const std::string glob = Pastable(ill > 1 && 2 * ill > all ? layers : convert::GlobLiteral(name));
  return group.better != nullptr
             ? fmt::format("try --rule {}",
                           ShellQuoted(fmt::format("{}={}", glob, group.better->name)))
             : fmt::format("try --exclude {}", ShellQuoted(glob));
}

// Empty where there is nothing to offer, or nothing that is not `said` already.
std::string Line(const Group& group, const CastTensors& cast, std::size_t name_columns,
                 std::set<std::string>& said) {
  const CastTensor worst = cast[group.tensors.front()];
  const std::size_t others = group.tensors.size() - 1;
  const std::string_view type = TypeName(group.to);
  if (group.problem == Problem::kWrapped) {
    return fmt::format(
        "values outside {} gave their low bits; --integer-overflow saturate gives "
        "its limits",
        type);
  }
  if (group.problem == Problem::kIntegerZeros) {
    if (group.better == nullptr) return {};
    return fmt::format("{} makes 0 of small values; {} keeps them", type, group.better->name);
  }
  std::string way_out = WayOut(group, cast);
  if (!said.insert(way_out).second) return {};
  return fmt::format("{}{} {}; {}", Shorten(io::EscapeName(worst.info->name), name_columns),
                     others > 0 ? fmt::format(" and {} more", others) : "",
                     Description(group.problem, worst, others > 0), way_out);
}

}  // namespace

std::vector<std::string> Advice(const ConversionSummary& summary, std::size_t columns) {
  const std::size_t name_columns = columns == kUnlimitedColumns ? columns : columns * 2 / 5;
  std::vector<Group> groups;
  for (const std::uint32_t i : summary.cast.WorstFirst()) {
    if (summary.cast.verdict(i) == Verdict::kGood) break;
    const CastTensor tensor = summary.cast[i];
    const std::optional<Problem> problem = ProblemOf(tensor);
    if (!problem) continue;
    const TypeInfo* better = BetterType(summary, tensor, *problem);
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.problem == *problem && group.to == tensor.to &&
             (group.better == better || IsOfWholeFile(*problem));
    });
    if (same != groups.end()) {
      same->tensors.push_back(i);
    } else {
      groups.push_back({*problem, tensor.to, better, {i}});
    }
  }
  std::vector<std::string> lines;
  std::set<std::string> said;
  for (const Group& group : groups) {
    if (lines.size() == kLinesAtMost) break;
    if (std::string line = Line(group, summary.cast, name_columns, said); !line.empty()) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace tensorcast::tool
