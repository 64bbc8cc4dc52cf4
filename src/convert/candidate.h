// A tensor as a request sees it: with what is known of it where it is quantised, or serves one that
// is.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_CANDIDATE_H_
#define TENSORCAST_SRC_CONVERT_CANDIDATE_H_

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "convert/survey.h"
#include "core/shape.h"
#include "naming/tensor_pattern.h"

namespace tensorcast::convert {

struct Candidate {
  std::size_t index = 0;  // in the contents
  const formats::TensorInfo& tensor;
  const scale::Companion* companion = nullptr;
  const scale::ScaledWeight* weight = nullptr;
  const scale::UnreadWeight* unread = nullptr;
  const scale::OpaqueTensor* opaque = nullptr;
  const scale::ScaledTensor* scaled = nullptr;
  bool are_scales_ignored = false;
  std::size_t component = 0;  // characters of its component's name, with a slash

  // A name of the tensor as those know it who load its component.
  std::string_view Own(std::string_view name) const { return name.substr(component); }
  // A scaled weight, at its codes, answers to its plain name too, in its plain shape.
  naming::PatternSubject Subject() const {
    naming::PatternSubject subject = {
        tensor.name, {}, tensor.type, tensor.shape.size(), tensor.elements};
    if (weight == nullptr) return subject;
    if (weight->name != tensor.name) subject.alias = weight->name;
    subject.rank = weight->shape.size();
    subject.values = core::CheckedProduct(weight->shape).value_or(tensor.elements);
    return subject;
  }
  // Whether a pattern that matches it names it. One that takes the tensor a companion serves as
  // well ("*") does not mean the companion, and conditions mean weights.
  bool IsNamedBy(const naming::TensorPattern& pattern) const {
    return companion == nullptr || (pattern.IsName() && !pattern.MatchesName(companion->of));
  }
  // Whether it is a weight that decodes itself.
  bool IsPacked() const { return weight != nullptr && weight->reading.packed != nullptr; }
  // Whether it is a weight, whatever its codes are: to the request it is floating. That whose
  // scales are in another file is one that cannot be read.
  bool IsScaled() const {
    if (unread != nullptr) return unread->is_known;
    return weight != nullptr || (scaled != nullptr && !scaled->file.empty() && !are_scales_ignored);
  }
};

// Calls `use` with each tensor's candidate, in the order of the contents.
template <class Use> void ForEachCandidate(const Survey& survey, const Use& use) {
  const auto by_tensor = [](const auto& one) { return one.tensor; };
  const auto by_codes = [](const auto& one) { return one.codes; };
  // Steps through a list that is in the order of the tensors.
  const auto next = [](const auto& list, std::size_t& place, std::size_t tensor, auto index_of) {
    while (place < list.size() && index_of(list[place]) < tensor) ++place;
    return place < list.size() && index_of(list[place]) == tensor ? &list[place] : nullptr;
  };
  const InputScales& scales = survey.scales;
  std::size_t companion = 0, weight = 0, unread = 0, opaque = 0, scaled = 0;
  for (std::size_t i = 0; i < survey.tensors().size(); ++i) {
    use(Candidate{i, survey.tensors()[i],
                  next(scales.companions.companions, companion, i, by_tensor),
                  next(scales.weights.weights, weight, i, by_codes),
                  next(scales.weights.unread, unread, i, by_tensor),
                  next(scales.weights.opaque, opaque, i, by_tensor),
                  next(scales.companions.scaled, scaled, i, by_tensor), scales.is_ignored,
                  survey.DirectoryOf(survey.PartOf(i)).size()});
  }
}

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_CANDIDATE_H_
