// Ordered rules over tensor names, and the types that are cast without being asked for.
//
// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <algorithm>
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
                  std::string(option) + " '" + io::Escape(pattern.text()) +
                      "' matches no tensor (patterns match whole names; 'tensorcast inspect' "
                      "lists them)");
}

const Rule* FirstRule(const SelectionRequest& request, std::string_view name) {
  for (const Rule& rule : request.rules) {
    if (rule.pattern.Matches(name)) return &rule;
  }
  return nullptr;
}

std::string RuleText(const Rule& rule) {
  return "--rule " + io::Escape(rule.pattern.text()) + "=" + std::string(TypeName(rule.to));
}

// `is_alone`: the file holds no other tensor, so that it need not be named.
Decision Decide(const TensorInfo& tensor, const SelectionRequest& request, bool is_alone) {
  Decision decision;
  if (!request.only.empty() && !AnyMatches(request.only, tensor.name)) {
    decision.reason = "not named by --tensor";
    return decision;
  }
  if (AnyMatches(request.excluded, tensor.name)) {
    decision.reason = "excluded";
    return decision;
  }
  const Rule* rule = FirstRule(request, tensor.name);
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
  decision.reason = rule != nullptr ? RuleText(*rule) : "--to";
  return decision;
}

}  // namespace

Rule ParseRule(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw io::Error(io::ErrorKind::kArguments,
                    "--rule '" + io::Escape(text) + "' is not GLOB=TYPE, as '*.w2.*=bfloat16'");
  }
  return {NamePattern(text.substr(0, equals)),
          ParseTypeArgument("--rule", std::string_view(text).substr(equals + 1))};
}

std::vector<Decision> Select(const std::vector<TensorInfo>& tensors,
                             const SelectionRequest& request) {
  for (const Rule& rule : request.rules) RequireMatch(tensors, rule.pattern, "--rule");
  for (const NamePattern& pattern : request.only) RequireMatch(tensors, pattern, "--tensor");
  for (const NamePattern& pattern : request.excluded) RequireMatch(tensors, pattern, "--exclude");
  std::vector<Decision> decisions;
  decisions.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) {
    decisions.push_back(Decide(tensor, request, tensors.size() == 1));
  }
  return decisions;
}

std::vector<std::string> ShadowedRules(const std::vector<TensorInfo>& tensors,
                                       const SelectionRequest& request) {
  std::vector<std::string> shadowed;
  for (const Rule& rule : request.rules) {
    if (std::none_of(tensors.begin(), tensors.end(), [&](const TensorInfo& tensor) {
          return FirstRule(request, tensor.name) == &rule;
        })) {
      shadowed.push_back(RuleText(rule));
    }
  }
  return shadowed;
}

bool IsChosen(std::string_view name, const SelectionRequest& request) {
  return (request.only.empty() || AnyMatches(request.only, name)) &&
         !AnyMatches(request.excluded, name);
}

}  // namespace tensorcast::tool
