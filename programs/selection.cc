// Ordered rules over tensor names, and the types that are cast without being asked for.
//
// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <algorithm>
#include <set>
#include <utility>

#include "type_argument.h"

namespace tensorcast::tool {
namespace {

using io::TensorInfo;

bool AnyMatches(const std::vector<NamePattern>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const NamePattern& pattern) { return pattern.Matches(name); });
}

void RequireMatch(const std::vector<TensorInfo>& tensors, const NamePattern& pattern,
                  std::string_view option) {
  if (std::any_of(tensors.begin(), tensors.end(),
                  [&](const TensorInfo& tensor) { return pattern.Matches(tensor.name); })) {
    return;
  }
  throw io::Error(io::ErrorKind::kArguments,
                  std::string(option) + " '" + io::EscapeName(pattern.text()) +
                      "' matches no tensor (patterns match whole names; 'tensorcast inspect' "
                      "lists them)");
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

std::string RuleText(const Rule& rule) {
  return "--rule " + io::EscapeName(rule.pattern.text()) + "=" + std::string(TypeName(rule.to));
}

// `is_alone`: the file holds no other tensor, so that it need not be named.
Decision Decide(const Candidate& candidate, const SelectionRequest& request, bool is_alone) {
  const TensorInfo& tensor = candidate.tensor;
  Decision decision;
  decision.is_companion = candidate.companion != nullptr;
  if (!request.only.empty() && !AnyMatches(request.only, tensor.name)) {
    decision.reason = "not named by --tensor";
    return decision;
  }
  if (AnyMatches(request.excluded, tensor.name)) {
    decision.reason = "excluded";
    return decision;
  }
  const Rule* rule = FirstRule(request, candidate);
  if (decision.is_companion && rule == nullptr &&
      std::none_of(request.only.begin(), request.only.end(),
                   [&](const NamePattern& pattern) { return candidate.IsMeantBy(pattern); })) {
    decision.reason =
        std::string(candidate.companion->role) + " of " + io::EscapeName(candidate.companion->of);
    return decision;
  }
  if (rule == nullptr && !request.to) {
    decision.reason = "no rule takes it";
    return decision;
  }
  const TypeInfo* from = FindType(tensor.type);
  if (from == nullptr) {
    decision.reason = "no type of ours";
    return decision;
  }
  if (tensor.type == DataType::kString) {
    if (!request.all_types && rule == nullptr && request.only.empty() && !is_alone) {
      decision.reason = "not named by --tensor or --rule";
      return decision;
    }
  } else if (!request.all_types) {
    if (!from->is_float()) {
      decision.reason = "not floating";
      return decision;
    }
    if (tensor.type == DataType::kFloat8E8M0) {
      decision.reason = "holds scales";
      return decision;
    }
  }
  const DataType to = rule != nullptr ? rule->to : *request.to;
  if (to == tensor.type) {
    decision.reason = "already " + std::string(TypeName(to));
    return decision;
  }
  decision.to = to;
  decision.by_name = rule != nullptr || !request.only.empty();
  decision.reason = rule != nullptr ? RuleText(*rule) : "--to";
  return decision;
}

}  // namespace

Rule ParseRule(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw io::Error(io::ErrorKind::kArguments,
                    "--rule '" + io::EscapeName(text) + "' is not GLOB=TYPE, as '*.w2.*=bfloat16'");
  }
  return {NamePattern(text.substr(0, equals)),
          ParseTypeArgument("--rule", std::string_view(text).substr(equals + 1))};
}

std::vector<Decision> Select(const std::vector<TensorInfo>& tensors,
                             const std::vector<io::Companion>& companions,
                             const SelectionRequest& request) {
  for (const Rule& rule : request.rules) RequireMatch(tensors, rule.pattern, "--rule");
  for (const NamePattern& pattern : request.only) RequireMatch(tensors, pattern, "--tensor");
  for (const NamePattern& pattern : request.excluded) RequireMatch(tensors, pattern, "--exclude");
  std::vector<Decision> decisions;
  decisions.reserve(tensors.size());
  for (const Candidate& candidate : Candidates(tensors, companions)) {
    decisions.push_back(Decide(candidate, request, tensors.size() == 1));
  }
  return decisions;
}

std::vector<std::string> ShadowedRules(const std::vector<TensorInfo>& tensors,
                                       const std::vector<io::Companion>& companions,
                                       const SelectionRequest& request) {
  std::set<const Rule*> takers;
  for (const Candidate& candidate : Candidates(tensors, companions)) {
    takers.insert(FirstRule(request, candidate));
  }
  std::vector<std::string> shadowed;
  for (const Rule& rule : request.rules) {
    if (!takers.contains(&rule)) shadowed.push_back(RuleText(rule));
  }
  return shadowed;
}

bool IsChosen(std::string_view name, const SelectionRequest& request) {
  return (request.only.empty() || AnyMatches(request.only, name)) &&
         !AnyMatches(request.excluded, name);
}

}  // namespace tensorcast::tool
