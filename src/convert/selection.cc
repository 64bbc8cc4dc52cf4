// Ordered rules over tensors, and the types that are cast without being asked for.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/selection.h"

#include <algorithm>
#include <map>
#include <utility>

#include "convert/candidate.h"
#include "convert/matching.h"
#include "convert/misread_weights.h"
#include "convert/repack_plan.h"
#include "core/shape.h"
#include "files/error.h"
#include "naming/keep.h"
#include "naming/weight_roles.h"
#include "scale/dialects/dialect.h"

namespace tensorcast::convert {
namespace {

using formats::TensorInfo;

// Why a tensor does not become a scaled weight; nothing where it does.
struct Refusal {
  Reason reason;
  std::string text;
};

std::optional<Keep> KeptBy(std::span<const Keep> keep, const Candidate& candidate) {
  const scale::ScaledWeight* const weight = candidate.weight;
  return weight != nullptr
             ? naming::KeptBy(keep, candidate.Own(weight->name), weight->shape)
             : naming::KeptBy(keep, candidate.Own(candidate.tensor.name), candidate.tensor.shape);
}

// Of integers in groups, whether a weight has groups of the same size.
bool HasItsGroups(const scale::ScaledWeight& weight, const scale::WrittenForm& form) {
  return !form.IsOfGroups() || (weight.reading.packed != nullptr &&
                                weight.reading.packed->form().group == form.format->block_columns);
}

// Rows that have no whole number of groups are not rotated.
std::uint32_t RotationOf(const scale::WrittenForm& form, std::span<const std::uint64_t> shape) {
  const bool has_groups = form.rotation != 0 && !shape.empty() && shape.back() % form.rotation == 0;
  return has_groups ? form.rotation : 0;
}

std::optional<Refusal> WhyNotScaled(const Candidate& candidate, const scale::WrittenForm& form,
                                    const MisreadWeights& misread, bool is_named,
                                    bool output_tells) {
  const TensorInfo& tensor = candidate.tensor;
  const scale::ScaledWeight* const weight = candidate.weight;
  const std::string& name = weight != nullptr ? weight->name : tensor.name;
  const std::vector<std::uint64_t>& shape = weight != nullptr ? weight->shape : tensor.shape;
  if (weight != nullptr && form.dialect != nullptr && weight->reading.dialect == form.dialect &&
      weight->reading.Name() == form.format->name && HasItsGroups(*weight, form) &&
      weight->reading.Rotation() == RotationOf(form, shape)) {
    return Refusal{Reason::kAlready, "already " + weight->LayoutText()};
  }
  if (weight == nullptr &&
      (!FindType(tensor.type)->is_float() || tensor.type == DataType::kString)) {
    return Refusal{Reason::kNotFloating, "not floating"};
  }
  if (weight == nullptr && tensor.type == DataType::kFloat8E8M0) {
    return Refusal{Reason::kHoldsScales, "holds scales"};
  }
  // Of what is read with its scales the output does not see the shape.
  if (output_tells && weight == nullptr) return std::nullopt;
  if (output_tells) {
    std::string why = scale::WhyNot(*form.format, shape);
    return why.empty() ? std::nullopt : std::optional(Refusal{Reason::kMisfit, std::move(why)});
  }
  if (!is_named) {
    const naming::WeightRole role = naming::RoleOf(candidate.Own(name), shape);
    if (role != naming::WeightRole::kLinear) {
      return Refusal{Reason::kNotLinear, std::string(naming::RoleText(role))};
    }
    if (core::CheckedProduct(shape).value_or(kFewScaledValues) < kFewScaledValues) {
      return Refusal{Reason::kNotLinear, "fewer than 1,024 values"};
    }
    const std::string_view kind =
        weight != nullptr ? std::string_view() : misread.KindOf(candidate.index, name, shape, form);
    if (!kind.empty()) return Refusal{Reason::kMisread, std::string(kind)};
  }
  std::string why = scale::WhyNot(form, name, shape);
  return why.empty() ? std::nullopt : std::optional(Refusal{Reason::kMisfit, std::move(why)});
}

// What all tensors of an input have in common.
struct Selecting {
  const Matching& matching;
  const SelectionRequest& request;
  const MisreadWeights misread;
  bool is_alone;  // the file holds one tensor, which need not be named
  bool output_tells;
};

// Whether patterns, one of which takes the tensor, name tensors. One that takes a whole component
// of a pipeline ("text_encoder/*") names the component: which of its tensors are meant is told as
// if it were converted by itself.
bool NamesTensors(std::span<const naming::TensorPattern> patterns, const Candidate& candidate) {
  if (candidate.component == 0) return !patterns.empty();
  const std::string_view directory =
      std::string_view(candidate.tensor.name).substr(0, candidate.component);
  const auto takes_component = [&](const naming::TensorPattern& pattern) {
    return pattern.IsName() && !pattern.text().starts_with("re:") &&
           pattern.text().ends_with('*') && pattern.MatchesName(directory);
  };
  return std::ranges::any_of(patterns, [&](const naming::TensorPattern& pattern) {
    return pattern.Matches(candidate.Subject()) && !takes_component(pattern);
  });
}

Decision Decide(const Candidate& candidate, const Selecting& selecting) {
  const TensorInfo& tensor = candidate.tensor;
  const Matching& matching = selecting.matching;
  const SelectionRequest& request = selecting.request;
  Decision decision;
  decision.is_companion = candidate.companion != nullptr;
  const auto leave = [&](Reason reason, std::string text) {
    decision.reason = reason;
    decision.text = std::move(text);
    return std::move(decision);
  };
  const auto keep = [&](Keep kept) {
    decision.kept = kept;
    return leave(Reason::kKept, "kept: " + std::string(KeepName(kept)));
  };
  if (!matching.IsChosen(candidate.index)) {
    return leave(Reason::kNotNamed, "not among those named");
  }
  if (matching.IsExcluded(candidate.index)) return leave(Reason::kExcluded, "excluded");
  decision.rule = matching.RuleOf(candidate.index);
  const Rule* const rule = decision.rule ? &request.rules[*decision.rule] : nullptr;
  if (decision.is_companion && rule == nullptr && !matching.IsNamed(candidate.index)) {
    return leave(Reason::kCompanion, std::string(candidate.companion->role) + " of " +
                                         words::EscapeName(candidate.companion->of));
  }
  if (rule == nullptr && !request.to) return leave(Reason::kNoRule, "no rule takes it");
  const TypeInfo* from = FindType(tensor.type);
  if (from == nullptr && !candidate.IsScaled()) {
    const bool is_block = std::ranges::any_of(scale::Dialects(), [&](const auto* dialect) {
      return dialect->holds_codes != nullptr && dialect->holds_codes(tensor);
    });
    return leave(Reason::kUnknownType,
                 is_block ? "scales are ignored, without which blocks have no values"
                          : "not a type tensorcast knows");
  }
  const bool keeps_packed = std::ranges::count(request.keep, Keep::kPacked) != 0;
  const bool cannot_be_unpacked =
      candidate.unread != nullptr && candidate.unread->remedy == Remedy::kKeepPacked;
  if (keeps_packed && (cannot_be_unpacked || (candidate.IsPacked() && rule == nullptr))) {
    return keep(Keep::kPacked);
  }
  if (candidate.opaque != nullptr) {
    if (keeps_packed) return keep(Keep::kPacked);
    return leave(Reason::kOpaque, "quantised by " + candidate.opaque->writer);
  }
  if (tensor.type == DataType::kString) {
    if (!request.all_types && rule == nullptr && request.only.empty() && !selecting.is_alone) {
      return leave(Reason::kTextNotNamed, "strings that are not named");
    }
  } else if (!request.all_types && !candidate.IsScaled()) {
    if (!from->is_float()) {
      const scale::Dialect* const packer = scale::DialectOfPacked(tensor);
      if (packer == nullptr) return leave(Reason::kNotFloating, "not floating");
      return leave(Reason::kNotFloating, "packed codes of " + std::string(packer->packed.name) +
                                             ", as " + std::string(packer->name) + " has them");
    }
    if (tensor.type == DataType::kFloat8E8M0) return leave(Reason::kHoldsScales, "holds scales");
  }
  if (rule == nullptr) {
    if (const std::optional<Keep> kept = KeptBy(request.keep, candidate)) return keep(*kept);
  }
  const Goal& goal = rule != nullptr ? rule->to : *request.to;
  const bool is_named = (rule != nullptr && NamesTensors(rule->patterns, candidate)) ||
                        NamesTensors(request.only, candidate);
  if (goal.scaled) {
    std::optional<Refusal> refusal =
        WhyNotScaled(candidate, goal.scaled, selecting.misread, is_named || selecting.is_alone,
                     selecting.output_tells);
    if (refusal) return leave(refusal->reason, std::move(refusal->text));
  } else if (goal.type == tensor.type && !candidate.IsScaled()) {
    return leave(Reason::kAlready, "already " + std::string(TypeName(goal.type)));
  }
  const std::vector<std::uint64_t>& shape =
      candidate.weight != nullptr ? candidate.weight->shape : tensor.shape;
  decision.applies_scales = candidate.weight != nullptr;
  decision.to = goal.type;
  decision.scaled = goal.scaled;
  decision.scaled.rotation = RotationOf(goal.scaled, shape);
  decision.is_unrotated = decision.scaled.rotation != goal.scaled.rotation;
  decision.by_name = is_named;
  if (rule == nullptr) return leave(Reason::kAsked, "the request's type");
  return leave(Reason::kRule, rule->text);
}

}  // namespace

std::string_view Goal::Name() const { return scaled ? scaled.format->name : TypeName(type); }

std::string_view DestinationName(const Destination& to) {
  return to.format != ScaledFormat::kNone ? ScaledFormatName(to.format) : TypeName(to.type);
}

std::string RuleText(const RequestedRule& rule) {
  std::string text = words::EscapeName(rule.pattern);
  for (const std::string& pattern : rule.also) text += " & " + words::EscapeName(pattern);
  return text + "=" + std::string(DestinationName(rule.to));
}

namespace {

// The integers that are asked for, of the format's other sizes and rules.
const scale::ScaledFormat& GroupsOf(const scale::WrittenForm& form, const ScaledChoices& choices) {
  const bool is_mlx = form.layout != nullptr && form.layout->groups == scale::GroupPlacing::kMlx;
  const std::uint64_t group = choices.group.value_or(is_mlx ? 64 : form.format->block_columns);
  const scale::ScaledFormat* const found =
      scale::FindGroups(*form.format, group, choices.is_asymmetric);
  if (found != nullptr && !(is_mlx && group == 0)) return *found;
  const std::string size = group == 0 ? "a row" : std::to_string(group) + " columns";
  throw files::Error(core::ErrorKind::kArguments,
                     std::string(form.format->name) + " has no groups of " + size +
                         (is_mlx ? " in the layout mlx; there are 32, 64 and 128"
                                 : "; there are 32, 64, 128 and those of a row (channel)"));
}

}  // namespace

Goal GoalOf(const Destination& to, const ScaledChoices& choices, bool is_measured) {
  const std::string_view layout = choices.layout;
  const std::optional<ScaleRule>& rule = choices.rule;
  const auto fail = [](const std::string& why) {
    throw files::Error(core::ErrorKind::kArguments, why);
  };
  if (to.format == ScaledFormat::kNone) {
    if (FindType(to.type) == nullptr) {
      fail("the request names type " + std::to_string(static_cast<std::int32_t>(to.type)) +
           ", which is not a type; DataType lists them");
    }
    return {to.type, {}};
  }
  const scale::ScaledFormat* const format = scale::RowOf(to.format);
  if (format == nullptr) {
    fail("the request names scaled format " + std::to_string(static_cast<int>(to.format)) +
         ", which is not one; ScaledFormat lists them");
  }
  Goal goal{format->scaling.element, {.format = format, .rule = format->rules.front().rule}};
  const std::vector<scale::FormatWriter> writers = scale::WritersOf(*format);
  const std::string name(format->name);
  std::string possible;
  const auto list = [&](std::string_view one) {
    possible.append(possible.empty() ? "" : ", ").append(one);
  };
  if (writers.empty() && !is_measured) {
    fail(name + " can be measured, not written: no layout has it");
  }
  if (!writers.empty()) {
    auto writer = writers.begin();
    if (!layout.empty()) {
      writer = std::ranges::find_if(
          writers, [&](const scale::FormatWriter& one) { return one.dialect->layout == layout; });
    }
    if (writer == writers.end()) {
      for (const scale::FormatWriter& one : writers) list(one.dialect->layout);
      fail(name + " is not written in the layout " + std::string(layout) + "; it is in " +
           possible);
    }
    goal.scaled.dialect = writer->dialect;
    goal.scaled.layout = writer->layout;
    if (choices.is_rotated) goal.scaled.rotation = writer->layout->rotation;
  }
  if (format->group_bits != 0) goal.scaled.format = &GroupsOf(goal.scaled, choices);
  if (rule) {
    possible.clear();
    for (const scale::NamedRule& one : format->rules) list(one.name);
    if (std::ranges::find(format->rules, *rule, &scale::NamedRule::rule) == format->rules.end()) {
      fail(name + " does not take the scale rule " + std::string(scale::RuleName(*format, *rule)) +
           "; it takes " + possible);
    }
    goal.scaled.rule = *rule;
  }
  return goal;
}

namespace {

bool HasGroupGoal(const SelectionRequest& request) {
  return (request.to && request.to->scaled.IsOfGroups()) ||
         std::ranges::any_of(request.rules,
                             [](const Rule& rule) { return rule.to.scaled.IsOfGroups(); });
}

}  // namespace

SelectionRequest SelectionOf(const Request& request) {
  SelectionRequest selection;
  if (!request.repack.empty()) selection.repack = &RepackTargetOf(request);
  const auto layouts = ScaledLayouts();
  if (!request.layout.empty() && std::ranges::count(layouts, request.layout) == 0) {
    std::string known;
    for (const std::string_view one : layouts) known.append(known.empty() ? "" : ", ").append(one);
    throw files::Error(core::ErrorKind::kArguments,
                       words::Quoted(request.layout) + " is not a layout; there are " + known);
  }
  const auto goal = [&](const Destination& to) {
    return GoalOf(
        to, {request.layout, request.scale_rule, request.group, request.asymmetric, request.rotate},
        false);
  };
  if (request.to) selection.to = goal(*request.to);
  for (const RequestedRule& rule : request.rules) {
    Rule& made = selection.rules.emplace_back();
    made.to = goal(rule.to);
    made.patterns.emplace_back(rule.pattern);
    for (const std::string& pattern : rule.also) made.patterns.emplace_back(pattern);
    made.where = rule.where.empty() ? "" : words::Escape(rule.where) + ": ";
    made.text = made.where + "rule '" + RuleText(rule);
    made.text += "'";
  }
  if (!HasScaledGoal(selection) && (!request.layout.empty() || request.scale_rule)) {
    throw files::Error(core::ErrorKind::kArguments,
                       std::string(!request.layout.empty() ? "a layout" : "a rule of scales") +
                           " is asked for without a scaled format to use it");
  }
  if ((request.group || request.asymmetric) && !HasGroupGoal(selection)) {
    throw files::Error(core::ErrorKind::kArguments,
                       std::string(request.group ? "a size of groups is" : "zero points are") +
                           " asked for without int4-group or int8-group");
  }
  const auto is_rotated = [](const Goal& one) { return one.scaled.rotation != 0; };
  if (request.rotate && !(selection.to && is_rotated(*selection.to)) &&
      std::ranges::none_of(selection.rules, is_rotated, &Rule::to)) {
    throw files::Error(core::ErrorKind::kArguments,
                       "only int8-row in the layout comfyui has rotated rows (--rotate)");
  }
  for (const std::string& pattern : request.only) selection.only.emplace_back(pattern);
  for (const std::string& pattern : request.excluded) selection.excluded.emplace_back(pattern);
  for (const std::string& pattern : request.select) selection.select.emplace_back(pattern);
  selection.keep = request.keep;
  selection.all_types = request.all_types;
  return selection;
}

std::vector<Decision> Select(const Survey& survey, const Matching& matching,
                             const SelectionRequest& request, bool output_tells) {
  const std::vector<TensorInfo>& tensors = survey.tensors();
  const Selecting selecting = {matching, request, MisreadWeights(survey), tensors.size() == 1,
                               output_tells};
  std::vector<Decision> decisions;
  decisions.reserve(tensors.size());
  ForEachCandidate(survey, [&](const Candidate& candidate) {
    decisions.push_back(Decide(candidate, selecting));
  });
  return decisions;
}

std::vector<std::string> CheckKept(const std::vector<TensorInfo>& tensors,
                                   const SelectionRequest& request,
                                   std::span<const Decision> decisions) {
  struct Left {
    std::size_t first = 0;
    std::uint64_t count = 0;
  };
  std::map<std::uint32_t, Left> left;  // by rule
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const Decision& decision = decisions[i];
    const bool cannot = decision.reason == Reason::kMisfit ||
                        decision.reason == Reason::kNotFloating ||
                        decision.reason == Reason::kHoldsScales;
    const Rule* const rule = decision.rule ? &request.rules[*decision.rule] : nullptr;
    const Goal* const goal = rule != nullptr ? &rule->to : request.to ? &*request.to : nullptr;
    if (!cannot || goal == nullptr || !goal->scaled) continue;
    const std::string& name = tensors[i].name;
    const std::vector<naming::TensorPattern>& patterns =
        rule != nullptr ? rule->patterns : request.only;
    if (std::ranges::any_of(patterns, [&](const naming::TensorPattern& pattern) {
          return pattern.IsExactly(name);
        })) {
      throw files::Error(core::ErrorKind::kArguments,
                         (rule != nullptr ? rule->text + ": " : std::string()) +
                             words::EscapeName(name) + " " + words::ShapeText(tensors[i].shape) +
                             " cannot be " + std::string(goal->Name()) + ": " + decision.text);
    }
    if (rule != nullptr && left[*decision.rule].count++ == 0) left[*decision.rule].first = i;
  }
  std::vector<std::string> lines;
  for (const auto& [rule, some] : left) {
    lines.push_back(request.rules[rule].text + " leaves " + words::CountText(some.count, "tensor") +
                    " as " + (some.count == 1 ? "it is: " : "they are: ") +
                    words::EscapeName(tensors[some.first].name) + ": " +
                    decisions[some.first].text);
  }
  return lines;
}

bool HasScaledGoal(const SelectionRequest& request) {
  return (request.to && request.to->scaled) ||
         std::ranges::any_of(request.rules,
                             [](const Rule& rule) { return static_cast<bool>(rule.to.scaled); });
}

}  // namespace tensorcast::convert
