// The names under which an input's tensors are written, where a request changes them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_NEW_NAMES_H_
#define TENSORCAST_SRC_CONVERT_NEW_NAMES_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "convert/survey.h"
#include "naming/rename.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

// Throws files::Error (arguments) where one is not legal.
naming::Renames RenamesOf(std::span<const RequestedRename> requested);
// "rules.toml:7: ", which stands before a message about it; empty where no place is known.
std::string PlaceText(const RequestedRename& rename);

// Weights are named as the model knows them. The parts of one that stays quantised are named after
// it, so that it can still be told by its names.
class NewNames {
 public:
  NewNames() = default;  // of an input whose tensors keep their names
  NewNames(const Survey& survey, naming::Renames& renames);

  // Whether some tensor has another name.
  bool HasAny() const { return !renamed_.empty(); }
  // Of a tensor that is one by itself, or a weight whose scales are applied.
  const std::string& Plain(std::size_t tensor) const { return plain_[tensor]; }
  // Of a tensor that stays as it is stored. Throws files::Error (arguments) where it is a part of a
  // weight, by whose new name nobody could tell it.
  const std::string& Stored(const Survey& survey, std::size_t tensor) const;
  // The input's tensors under their new names, all of them plain.
  formats::FileContents ContentsOf(formats::FileContents contents) const;
  // "3 tensors are renamed (a.weight is written as b.weight, ...)", of those that are written
  // (empty: all); empty where none is.
  std::string Text(const Survey& survey, const std::vector<bool>& is_written) const;

 private:
  std::vector<std::string> plain_;
  // Of parts of weights; nothing: the new name cannot be told.
  std::unordered_map<std::size_t, std::optional<std::string>> stored_;
  std::vector<std::size_t> renamed_;  // tensors, and weights by their codes
};

// Throws files::Error (arguments) where a rename has matched no tensor of any of the inputs.
void RequireRenamed(std::span<const RequestedRename> requested, const naming::Renames& renames,
                    const std::vector<Survey>& surveys);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_NEW_NAMES_H_
