// Finds what went wrong with each tensor, the type that would hold it, and the names it applies to.
//
// SPDX-License-Identifier: Apache-2.0
#include "report/advice.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "naming/name_pattern.h"
#include "naming/tensor_pattern.h"

namespace tensorcast::report {
namespace {

constexpr std::size_t kMost = 3;
// A type suits values when this many of them fit between its smallest normal and their root mean
// square: of normally distributed ones 90 % then are normal.
constexpr double kNormalBelowRms = 8;

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
const TypeInfo* BetterType(const CastTensor& tensor, Problem problem, const CanHold& can_hold) {
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
    if (can_hold && !can_hold(*tensor.info, row.type)) continue;
    if (best == nullptr || row.bits < best->bits ||
        (row.bits == best->bits && row.mantissa_bits > best->mantissa_bits)) {
      best = &row;
    }
  }
  return best;
}

// Without control characters, which would do something to a terminal or a shell.
std::string Pastable(std::string glob) {
  for (char& c : glob) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return glob;
}

// Tensors with the same problem, destination and better type.
struct ProblemGroup {
  Problem problem;
  DataType to;
  const TypeInfo* better;
  std::vector<std::uint32_t> tensors;  // worst first
};

// Fills in globs of the group's tensors, the worst first: one for the same place in every layer
// where that would not take many that are well.
void AddPatterns(const ProblemGroup& group, const CastTensors& cast, Advice& advice) {
  constexpr std::size_t kMostPatterns = 3;
  // A pattern of that length is no line to read or paste, and takes long to match.
  constexpr std::size_t kLongestNamed = 200;
  if (cast.info(group.tensors.front()).name.size() > kLongestNamed) return;
  std::vector<naming::NamePattern> patterns;
  for (const std::uint32_t tensor : group.tensors) {
    const std::string& name = cast.info(tensor).name;
    const auto matches = [&](const naming::NamePattern& pattern) { return pattern.Matches(name); };
    if (std::any_of(patterns.begin(), patterns.end(), matches)) {
      ++advice.matched;
      continue;
    }
    if (patterns.size() == kMostPatterns || name.size() > kLongestNamed) continue;
    std::string glob = naming::LayerGlob(name);
    const naming::NamePattern in_layers(glob);
    const auto ill =
        std::count_if(group.tensors.begin(), group.tensors.end(),
                      [&](std::uint32_t i) { return in_layers.Matches(cast.info(i).name); });
    std::ptrdiff_t all = 0;
    for (std::size_t i = 0; i < cast.size(); ++i) {
      all += in_layers.Matches(cast.info(i).name) ? 1 : 0;
    }
    if (ill <= 1 || 2 * ill <= all) glob = naming::GlobLiteral(name);
    advice.patterns.push_back(Pastable(std::move(glob)));
    patterns.emplace_back(advice.patterns.back());
    ++advice.matched;
  }
}

// Nothing where there is nothing to offer.
std::optional<Advice> AdviceOf(const ProblemGroup& group, const CastTensors& cast) {
  Advice advice;
  advice.problem = group.problem;
  advice.to = group.to;
  advice.worst = group.tensors.front();
  advice.tensors = group.tensors.size();
  if (group.better != nullptr) advice.better = group.better->type;
  if (group.problem == Problem::kWrapped) {
    advice.prevention = Prevention::kSaturateIntegers;
  } else if (group.problem == Problem::kIntegerZeros) {
    if (group.better == nullptr) return std::nullopt;
    advice.prevention = Prevention::kOtherType;
  } else if (group.better != nullptr && 2 * group.tensors.size() > cast.size()) {
    advice.prevention = Prevention::kOtherType;
  } else {
    advice.prevention =
        group.better != nullptr ? Prevention::kOtherTypeHere : Prevention::kLeaveAlone;
    AddPatterns(group, cast, advice);
  }
  return advice;
}

}  // namespace

std::vector<Advice> Advise(const CastTensors& tensors, const CanHold& can_hold,
                           const std::function<bool(const formats::TensorInfo&)>& settled) {
  std::vector<ProblemGroup> groups;
  for (const std::uint32_t i : tensors.WorstFirst()) {
    if (tensors.verdict(i) == Verdict::kGood) break;
    if (settled && settled(tensors.info(i))) continue;
    if (tensors.scaled(i)) continue;  // another type or option is not what would help
    const CastTensor tensor = tensors[i];
    const std::optional<Problem> problem = ProblemOf(tensor);
    if (!problem) continue;
    const TypeInfo* better = BetterType(tensor, *problem, can_hold);
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const ProblemGroup& group) {
      return group.problem == *problem && group.to == tensor.to &&
             (group.better == better || IsOfWholeFile(*problem));
    });
    if (same != groups.end()) {
      same->tensors.push_back(i);
    } else {
      groups.push_back({*problem, tensor.to, better, {i}});
    }
  }
  std::vector<Advice> advice;
  std::set<std::tuple<Prevention, std::optional<DataType>, std::string>> given;
  for (const ProblemGroup& group : groups) {
    if (advice.size() == kMost) break;
    std::optional<Advice> one = AdviceOf(group, tensors);
    if (!one) continue;
    if (!IsOfWholeFile(one->problem)) {
      const auto is_given = [&](const std::string& pattern) {
        return !given.emplace(one->prevention, one->better, pattern).second;
      };
      const bool is_named = !one->patterns.empty();
      std::erase_if(one->patterns, is_given);
      if (is_named ? one->patterns.empty() : is_given("")) continue;
    }
    advice.push_back(std::move(*one));
  }
  return advice;
}

}  // namespace tensorcast::report
