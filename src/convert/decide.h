// What becomes of each tensor of one input, for one request and one output: the one place where
// rules, the output's limits and scales come together. A conversion decides once, a comparison once
// for each type over the same survey.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_DECIDE_H_
#define TENSORCAST_SRC_CONVERT_DECIDE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "convert/fused_weights.h"
#include "convert/matching.h"
#include "convert/repack_plan.h"
#include "convert/runner.h"
#include "convert/selection.h"
#include "convert/sink.h"
#include "convert/survey.h"

namespace tensorcast::convert {

struct Decided {
  std::vector<Decision> decisions;  // of each of the input's tensors
  bool asks_for_type = true;        // else nothing is said that a configuration would have to say
  // The one tensor of an output that holds one; the others have no decision.
  std::optional<std::size_t> only;
  // Of each tensor whether it is written; empty: all are.
  std::vector<bool> is_written;
  FusedWeights fused;
  std::vector<std::string> unkept_rules;  // a line for each, see CheckKept
  std::optional<Repacked> repacked;       // where weights go into another layout as they are
};

// `options`: of a sink that reads tensors to decide. `opening`: of files beside the input.
// `is_written`: Decided has it; nothing is decided of tensors that are not. Throws
// files::Error where a tensor is taken that cannot be read, or not be held, and what Sink::Restrict
// throws.
Decided Decide(const Survey& survey, const Matching& matching, const SelectionRequest& request,
               const Sink& sink, const Opening& opening, const JobOptions& options,
               std::vector<bool> is_written = {});

// What the user should know of it, in whole lines.
std::vector<std::string> NotesOn(const Survey& survey, const Sink& sink, const Decided& decided);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_DECIDE_H_
