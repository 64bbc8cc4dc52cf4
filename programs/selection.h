// Which tensors of a file are cast, to what, and why the others are not.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SELECTION_H_
#define TENSORCAST_PROGRAMS_SELECTION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/scale_companions.h"
#include "io/tensor_file.h"
#include "name_pattern.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// "GLOB=T": tensors of these names become T.
struct Rule {
  NamePattern pattern;
  DataType to;
};

struct SelectionRequest {
  std::optional<DataType> to;         // for tensors that no rule takes
  std::vector<Rule> rules;            // the first that matches wins
  std::vector<NamePattern> only;      // --tensor: none means every tensor
  std::vector<NamePattern> excluded;  // --exclude
  // Not only floating types. Strings need no more than to be named by a rule or `only`, or to be
  // the file's one tensor: most are labels.
  bool all_types = false;
};

// What becomes of one tensor.
struct Decision {
  DataType to = DataType::kUndefined;  // kUndefined: left alone
  std::string reason;                  // cast: what took it ("--to"); else: why it was left alone
  bool is_companion = false;           // see io/scale_companions.h
  bool by_name = false;                // a rule or --tensor names it
};

// Splits "GLOB=T" at the last '='. Throws io::Error (arguments).
Rule ParseRule(const std::string& text);

// One decision per tensor. A companion is cast only where a rule or --tensor names it and not the
// tensor that it serves as well. Throws io::Error (arguments) where a rule, --tensor or --exclude
// matches no tensor's name.
std::vector<Decision> Select(const std::vector<io::TensorInfo>& tensors,
                             const std::vector<io::Companion>& companions,
                             const SelectionRequest& request);

// Rules that match names but take no tensor, because rules before them do: worth a warning.
std::vector<std::string> ShadowedRules(const std::vector<io::TensorInfo>& tensors,
                                       const std::vector<io::Companion>& companions,
                                       const SelectionRequest& request);

// Whether --tensor and --exclude, or their absence, choose this name.
bool IsChosen(std::string_view name, const SelectionRequest& request);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SELECTION_H_
