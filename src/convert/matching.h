// Which rules and patterns of a request match which tensors of an input. Each pattern is tried once
// on a tensor, whatever is asked of it later; what the tensors become does not count.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_MATCHING_H_
#define TENSORCAST_SRC_CONVERT_MATCHING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convert/selection.h"
#include "convert/survey.h"

namespace tensorcast::convert {

// A rule that matches tensors and takes none, by its index in the request: worth a warning.
struct IdleRule {
  std::size_t rule = 0;
  std::string_view why;  // behind "takes no tensor: "
};

class Matching {
 public:
  Matching(const Survey& survey, const SelectionRequest& request);

  // The first rule that takes the tensor, by its index in the request.
  std::optional<std::uint32_t> RuleOf(std::size_t tensor) const {
    return rules_[tensor] == kNone ? std::nullopt : std::optional(rules_[tensor]);
  }
  // Whether a pattern of `only` matches it, or there is none.
  bool IsChosen(std::size_t tensor) const { return marks_[tensor].is_chosen; }
  // Whether one names it: of a companion the tensor that it serves is not meant as well.
  bool IsNamed(std::size_t tensor) const { return marks_[tensor].is_named; }
  bool IsExcluded(std::size_t tensor) const { return marks_[tensor].is_excluded; }

 private:
  friend void RequireMatches(std::span<const Matching>, const SelectionRequest&);
  friend std::vector<IdleRule> IdleRules(std::span<const Matching>, const SelectionRequest&);

  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Marks {
    bool is_chosen : 1;
    bool is_named : 1;
    bool is_excluded : 1;
  };

  const Survey* survey_;              // to be asked as long as it is there
  std::vector<std::uint32_t> rules_;  // of each tensor
  std::vector<Marks> marks_;
  // Which entries of the request's lists match a tensor, and which rules take one, or would have
  // taken one that a rule before it takes.
  std::vector<bool> rule_matches_, rule_takes_, rule_is_late_, only_matches_, excluded_matches_;
};

// "; did you mean lm_head.weight?" of a pattern that matches none of these names: where it is near
// to one; or where it ends with ".*" or "/*" and is near to the pattern of all that begin as one
// does, as "model.layers.*" or a pipeline's "unet/*". Else empty.
std::string MeantText(std::string_view pattern, std::span<const std::string> names);
// The same of the names of these inputs' tensors and weights.
std::string MeantText(std::string_view pattern, std::span<const Survey* const> inputs);

// Refuses a pattern that matches no tensor of these inputs. `place` is empty, or what the message
// begins with, such as "rules.toml:7: ". Throws files::Error (arguments).
[[noreturn]] void RefuseIdle(const std::string& place, const std::string& pattern,
                             std::span<const Survey> inputs, Remedy remedy);

// Throws files::Error (arguments) where a rule or a pattern matches no tensor of any of these
// inputs.
void RequireMatches(std::span<const Matching> inputs, const SelectionRequest& request);

std::vector<IdleRule> IdleRules(std::span<const Matching> inputs, const SelectionRequest& request);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_MATCHING_H_
