// Ordered rules over tensor names, and the types that are cast without being asked for.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/selection.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tensorcast::convert {
namespace {

using io::TensorInfo;

bool AnyMatches(const std::vector<NamePattern>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const NamePattern& pattern) { return pattern.Matches(name); });
}

void RequireMatch(std::span<const Selectable> contents, const NamePattern& pattern,
                  io::Remedy remedy) {
  const auto matches = [&](const auto& one) { return pattern.Matches(one.name); };
  for (const Selectable& input : contents) {
    if (std::any_of(input.tensors->begin(), input.tensors->end(), matches)) return;
    const auto& weights = input.scales->weights.weights;
    if (std::any_of(weights.begin(), weights.end(), matches)) return;
  }
  throw io::Error(io::ErrorKind::kArguments,
                  "'" + io::EscapeName(pattern.text()) + "' matches no tensor", remedy);
}

// A tensor and what is known of it where it is quantised, or serves one that is.
struct Candidate {
  const TensorInfo& tensor;
  const io::Companion* companion = nullptr;
  const scale::ScaledWeight* weight = nullptr;
  const scale::UnreadWeight* unread = nullptr;
  const scale::OpaqueTensor* opaque = nullptr;

  bool Matches(const NamePattern& pattern) const {
    return pattern.Matches(tensor.name) ||
           (weight != nullptr && weight->name != tensor.name && pattern.Matches(weight->name));
  }
  // A pattern that takes the tensor a companion serves as well ("*") does not mean the companion.
  bool IsMeantBy(const NamePattern& pattern) const {
    return Matches(pattern) && (companion == nullptr || !pattern.Matches(companion->of));
  }
  bool IsMeantByAnyOf(const std::vector<NamePattern>& patterns) const {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const NamePattern& pattern) { return IsMeantBy(pattern); });
  }
  bool IsMatchedByAnyOf(const std::vector<NamePattern>& patterns) const {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const NamePattern& pattern) { return Matches(pattern); });
  }
  // Whether it is a weight, whatever its codes are: to the request it is floating.
  bool IsScaled() const { return weight != nullptr || unread != nullptr; }
};

// Steps through a list that is in the order of the tensors.
template <class One, class Index>
const One* Next(const std::vector<One>& list, std::size_t& next, std::size_t tensor, Index index) {
  while (next < list.size() && index(list[next]) < tensor) ++next;
  return next < list.size() && index(list[next]) == tensor ? &list[next] : nullptr;
}

std::vector<Candidate> Candidates(const Selectable& input) {
  const auto by_tensor = [](const auto& one) { return one.tensor; };
  const InputScales& scales = *input.scales;
  std::vector<Candidate> candidates;
  candidates.reserve(input.tensors->size());
  std::size_t companion = 0, weight = 0, unread = 0, opaque = 0;
  for (std::size_t i = 0; i < input.tensors->size(); ++i) {
    candidates.push_back(
        {(*input.tensors)[i], Next(scales.companions.companions, companion, i, by_tensor),
         Next(scales.weights.weights, weight, i, [](const auto& one) { return one.codes; }),
         Next(scales.weights.unread, unread, i, by_tensor),
         Next(scales.weights.opaque, opaque, i, by_tensor)});
  }
  return candidates;
}

const Rule* FirstRule(const SelectionRequest& request, const Candidate& candidate) {
  for (const Rule& rule : request.rules) {
    if (candidate.IsMeantBy(rule.pattern)) return &rule;
  }
  return nullptr;
}

[[noreturn]] void RefuseOpaque(const scale::OpaqueTensor& opaque, const TensorInfo& tensor) {
  throw io::Error(io::ErrorKind::kUnsupported,
                  io::EscapeName(tensor.name) + " is quantised by " + std::string(opaque.writer) +
                      ", which is not read here",
                  io::Remedy::kIgnoreScales);
}

// `is_alone`: the file holds no other tensor, so that it need not be named.
Decision Decide(const Candidate& candidate, const SelectionRequest& request, bool is_alone) {
  const TensorInfo& tensor = candidate.tensor;
  Decision decision;
  decision.is_companion = candidate.companion != nullptr;
  const auto leave = [&](Reason reason, std::string text) {
    decision.reason = reason;
    decision.text = std::move(text);
    return std::move(decision);
  };
  if (!request.only.empty() && !candidate.IsMatchedByAnyOf(request.only)) {
    return leave(Reason::kNotNamed, "not among those named");
  }
  if (candidate.IsMatchedByAnyOf(request.excluded)) return leave(Reason::kExcluded, "excluded");
  const Rule* rule = FirstRule(request, candidate);
  if (decision.is_companion && rule == nullptr && !candidate.IsMeantByAnyOf(request.only)) {
    return leave(Reason::kCompanion, std::string(candidate.companion->role) + " of " +
                                         io::EscapeName(candidate.companion->of));
  }
  if (rule == nullptr && !request.to) return leave(Reason::kNoRule, "no rule takes it");
  const TypeInfo* from = FindType(tensor.type);
  if (from == nullptr) return leave(Reason::kUnknownType, "not a type tensorcast knows");
  if (candidate.opaque != nullptr) {
    if (rule != nullptr && (request.all_types || from->is_float())) {
      RefuseOpaque(*candidate.opaque, tensor);
    }
    return leave(Reason::kOpaque, "quantised by " + std::string(candidate.opaque->writer));
  }
  if (tensor.type == DataType::kString) {
    if (!request.all_types && rule == nullptr && request.only.empty() && !is_alone) {
      return leave(Reason::kTextNotNamed, "strings that are not named");
    }
  } else if (!request.all_types && !candidate.IsScaled()) {
    if (!from->is_float()) return leave(Reason::kNotFloating, "not floating");
    if (tensor.type == DataType::kFloat8E8M0) return leave(Reason::kHoldsScales, "holds scales");
  }
  const DataType to = rule != nullptr ? rule->to : *request.to;
  decision.applies_scales = candidate.weight != nullptr;
  if (to == tensor.type && !candidate.IsScaled()) {
    return leave(Reason::kAlready, "already " + std::string(TypeName(to)));
  }
  decision.to = to;
  decision.by_name = rule != nullptr || !request.only.empty();
  if (rule == nullptr) return leave(Reason::kAsked, "the request's type");
  decision.rule = static_cast<std::uint32_t>(rule - request.rules.data());
  return leave(Reason::kRule, "rule '" + RuleText(rule->pattern.text(), rule->to) + "'");
}

}  // namespace

std::string RuleText(std::string_view pattern, DataType to) {
  return io::EscapeName(pattern) + "=" + std::string(TypeName(to));
}

SelectionRequest SelectionOf(const Request& request) {
  SelectionRequest selection;
  const auto check = [](DataType type) {
    if (FindType(type) != nullptr) return type;
    throw io::Error(io::ErrorKind::kArguments, "the request names type " +
                                                   std::to_string(static_cast<std::int32_t>(type)) +
                                                   ", which is not a type; DataType lists them");
  };
  if (request.to) selection.to = check(*request.to);
  for (const RequestedRule& rule : request.rules) {
    selection.rules.push_back({NamePattern(rule.pattern), check(rule.to)});
  }
  for (const std::string& pattern : request.only) selection.only.emplace_back(pattern);
  for (const std::string& pattern : request.excluded) selection.excluded.emplace_back(pattern);
  selection.all_types = request.all_types;
  return selection;
}

void RequireMatches(std::span<const Selectable> contents, const SelectionRequest& request) {
  for (const Rule& rule : request.rules) {
    RequireMatch(contents, rule.pattern, io::Remedy::kMatchRule);
  }
  for (const NamePattern& pattern : request.only) {
    RequireMatch(contents, pattern, io::Remedy::kMatchChosen);
  }
  for (const NamePattern& pattern : request.excluded) {
    RequireMatch(contents, pattern, io::Remedy::kMatchExcluded);
  }
}

std::vector<Decision> Select(const Selectable& input, const SelectionRequest& request) {
  std::vector<Decision> decisions;
  decisions.reserve(input.tensors->size());
  for (const Candidate& candidate : Candidates(input)) {
    decisions.push_back(Decide(candidate, request, input.tensors->size() == 1));
  }
  return decisions;
}

std::vector<std::size_t> ShadowedRules(const Selectable& input, const SelectionRequest& request) {
  std::set<const Rule*> takers;
  for (const Candidate& candidate : Candidates(input)) {
    takers.insert(FirstRule(request, candidate));
  }
  std::vector<std::size_t> shadowed;
  for (std::size_t i = 0; i < request.rules.size(); ++i) {
    if (!takers.contains(&request.rules[i])) shadowed.push_back(i);
  }
  return shadowed;
}

bool IsChosen(std::string_view name, const SelectionRequest& request) {
  return (request.only.empty() || AnyMatches(request.only, name)) &&
         !AnyMatches(request.excluded, name);
}

}  // namespace tensorcast::convert
