// Matches all tensors first, then what serves those that match.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/written_tensors.h"

#include <cstddef>
#include <string_view>
#include <unordered_set>

#include "convert/candidate.h"

namespace tensorcast::convert {

std::vector<bool> WrittenTensors(const Survey& survey,
                                 std::span<const naming::TensorPattern> patterns,
                                 std::vector<bool>& matches) {
  std::vector<bool> is_written(survey.tensors().size());
  std::unordered_set<std::string_view> names;  // of those written, and of weights as they are read
  const auto write = [&](std::size_t tensor, std::string_view alias) {
    is_written[tensor] = true;
    names.insert(survey.tensors()[tensor].name);
    if (!alias.empty()) names.insert(alias);
  };
  ForEachCandidate(survey, [&](const Candidate& candidate) {
    const naming::PatternSubject subject = candidate.Subject();
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!patterns[i].Matches(subject)) continue;
      matches[i] = true;
      // "*.weight*" of which only the scale is left would be a scale of nothing.
      if (candidate.IsNamedBy(patterns[i])) write(candidate.index, subject.alias);
    }
  });
  // What serves a scale is found in the round after that which finds the scale.
  for (bool has_found = true; has_found;) {
    has_found = false;
    for (const scale::Companion& one : survey.scales.companions.companions) {
      const bool serves_written = (one.served && is_written[*one.served]) || names.contains(one.of);
      if (is_written[one.tensor] || !serves_written) continue;
      write(one.tensor, {});
      has_found = true;
    }
  }
  return is_written;
}

}  // namespace tensorcast::convert
