// Which tensors of a file are cast, to what, and why the others are not.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_SELECTION_H_
#define TENSORCAST_SRC_CONVERT_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convert/survey.h"
#include "formats/tensor_info.h"
#include "naming/tensor_pattern.h"
#include "scale/repacking.h"
#include "scale/written_form.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

// What a tensor becomes: values of a type, or a scaled weight, the codes of which have the type.
struct Goal {
  DataType type = DataType::kUndefined;
  scale::WrittenForm scaled = {};

  std::string_view Name() const;  // "bfloat16", "fp8-block"
  bool operator==(const Goal&) const = default;
};

// What a request says of all scaled formats that it names.
struct ScaledChoices {
  std::string_view layout = {};  // empty: the usual of each
  std::optional<ScaleRule> rule = {};
  std::optional<std::uint64_t> group = {};  // of integers
  bool is_asymmetric = false;               // of integers
  bool is_rotated = false;                  // rows, where the layout has that
};

// Throws files::Error (arguments) where it is no type, and where the format has not that layout,
// rule or group, listing those it has. `is_measured`: formats that are only measured are taken too.
Goal GoalOf(const Destination& to, const ScaledChoices& choices, bool is_measured);

// Tensors that match all patterns become `to`.
struct Rule {
  std::vector<naming::TensorPattern> patterns;
  Goal to;
  std::string text;   // "rule 'PATTERN=T'", with where it stands
  std::string where;  // as the request's
};

// "bfloat16", "fp8-block".
std::string_view DestinationName(const Destination& to);
// "PATTERN=T", escaped; of several patterns "PATTERN & PATTERN=T".
std::string RuleText(const RequestedRule& rule);

struct SelectionRequest {
  std::optional<Goal> to;                   // for tensors that no rule takes
  std::vector<Rule> rules;                  // the first that matches wins
  std::vector<naming::TensorPattern> only;  // none means every tensor
  std::vector<naming::TensorPattern> excluded;
  std::vector<naming::TensorPattern> select;  // what is written; none means all
  std::vector<Keep> keep;                     // of what no rule takes
  // Not only floating types. Strings need no more than to be named by a rule or `only`, or to be
  // the file's one tensor: most are labels.
  bool all_types = false;
  // Weights that are quantised go into its layout as they are, and nothing is cast; null: not so.
  const scale::Dialect* repack = nullptr;
};

// The patterns and types of a request, checked. Throws files::Error (arguments).
SelectionRequest SelectionOf(const Request& request);

class Matching;  // convert/matching.h

// What becomes of one tensor.
struct Decision {
  DataType to = DataType::kUndefined;  // kUndefined: left alone
  Reason reason = Reason::kNotTheOne;
  bool is_companion = false;  // see scale/scale_companions.h
  scale::WrittenForm scaled =
      {};  // what it becomes, where that is a scaled weight; `to`: its codes
  // What it becomes in another layout, as it is; `to` is kUndefined.
  std::shared_ptr<const scale::Repacking> repacked = nullptr;
  bool by_name = false;         // a rule or `only` names it
  bool is_unrotated = false;    // rotation was asked for, and its rows do not have whole groups
  bool applies_scales = false;  // it is a scaled weight, cast by its values and not by its codes
  // The rule that takes it, whether it can be kept or not, by its index in the request.
  std::optional<std::uint32_t> rule = {};
  Keep kept = {};    // Reason::kKept: which kind keeps it
  std::string text;  // the reason in words: "rule 'PATTERN=T'", "not floating" ...
};

// A scaled format takes no smaller tensor that is not named.
inline constexpr std::uint64_t kFewScaledValues = 1024;

// One decision per tensor. A companion is cast only where a rule or `only` names it and not the
// tensor that it serves as well. Reason::kOpaque is that of a tensor which the request takes and
// nobody here can read. `output_tells`: scaled formats take every floating tensor; the output
// says which of these are weights (Sink::tells_weights).
std::vector<Decision> Select(const Survey& survey, const Matching& matching,
                             const SelectionRequest& request, bool output_tells);

// Rules for scaled formats that take tensors which cannot have these, a line for each: "rule
// '*.w=nvfp4' leaves 2 tensors as they are: ...". Throws files::Error (arguments) where such a
// tensor is named itself, by a rule or by `only`, and not by a pattern.
std::vector<std::string> CheckKept(const std::vector<formats::TensorInfo>& tensors,
                                   const SelectionRequest& request,
                                   std::span<const Decision> decisions);

// Whether something is to become a scaled weight.
bool HasScaledGoal(const SelectionRequest& request);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_SELECTION_H_
