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

void RequireMatch(std::span<const std::vector<TensorInfo>* const> contents,
                  const NamePattern& pattern, io::Remedy remedy) {
  for (const std::vector<TensorInfo>* const tensors : contents) {
    if (std::any_of(tensors->begin(), tensors->end(),
                    [&](const TensorInfo& tensor) { return pattern.Matches(tensor.name); })) {
      return;
    }
  }
  throw io::Error(io::ErrorKind::kArguments,
                  "'" + io::EscapeName(pattern.text()) + "' matches no tensor", remedy);
}

// A tensor and, where it is one, what it is a companion of.
struct Candidate {
  const TensorInfo& tensor;
  const io::Companion* companion = nullptr;

  // A pattern that takes the tensor a companion serves as well ("*") does not mean the companion.
  bool IsMeantBy(const NamePattern& pattern) const {
    return pattern.Matches(tensor.name) &&
           (companion == nullptr || !pattern.Matches(companion->of));
  }
};

std::vector<Candidate> Candidates(const std::vector<TensorInfo>& tensors,
                                  const std::vector<io::Companion>& companions) {
  std::vector<Candidate> candidates;
  candidates.reserve(tensors.size());
  auto next = companions.begin();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool is_companion = next != companions.end() && next->tensor == i;
    candidates.push_back({tensors[i], is_companion ? &*next++ : nullptr});
  }
  return candidates;
}

const Rule* FirstRule(const SelectionRequest& request, const Candidate& candidate) {
  for (const Rule& rule : request.rules) {
    if (candidate.IsMeantBy(rule.pattern)) return &rule;
  }
  return nullptr;
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
  if (!request.only.empty() && !AnyMatches(request.only, tensor.name)) {
    return leave(Reason::kNotNamed, "not among those named");
  }
  if (AnyMatches(request.excluded, tensor.name)) return leave(Reason::kExcluded, "excluded");
  const Rule* rule = FirstRule(request, candidate);
  if (decision.is_companion && rule == nullptr &&
      std::none_of(request.only.begin(), request.only.end(),
                   [&](const NamePattern& pattern) { return candidate.IsMeantBy(pattern); })) {
    return leave(Reason::kCompanion, std::string(candidate.companion->role) + " of " +
                                         io::EscapeName(candidate.companion->of));
  }
  if (rule == nullptr && !request.to) return leave(Reason::kNoRule, "no rule takes it");
  const TypeInfo* from = FindType(tensor.type);
  if (from == nullptr) return leave(Reason::kUnknownType, "not a type tensorcast knows");
  if (tensor.type == DataType::kString) {
    if (!request.all_types && rule == nullptr && request.only.empty() && !is_alone) {
      return leave(Reason::kTextNotNamed, "strings that are not named");
    }
  } else if (!request.all_types) {
    if (!from->is_float()) return leave(Reason::kNotFloating, "not floating");
    if (tensor.type == DataType::kFloat8E8M0) return leave(Reason::kHoldsScales, "holds scales");
  }
  const DataType to = rule != nullptr ? rule->to : *request.to;
  if (to == tensor.type) {
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

void RequireMatches(std::span<const std::vector<TensorInfo>* const> contents,
                    const SelectionRequest& request) {
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

std::vector<Decision> Select(const std::vector<TensorInfo>& tensors,
                             const std::vector<io::Companion>& companions,
                             const SelectionRequest& request) {
  std::vector<Decision> decisions;
  decisions.reserve(tensors.size());
  for (const Candidate& candidate : Candidates(tensors, companions)) {
    decisions.push_back(Decide(candidate, request, tensors.size() == 1));
  }
  return decisions;
}

std::vector<std::size_t> ShadowedRules(const std::vector<TensorInfo>& tensors,
                                       const std::vector<io::Companion>& companions,
                                       const SelectionRequest& request) {
  std::set<const Rule*> takers;
  for (const Candidate& candidate : Candidates(tensors, companions)) {
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
