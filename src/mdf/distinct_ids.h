// Ids that differ, made of stems that may be the same: each in the time of one, however many are
// taken.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_MDF_DISTINCT_IDS_H_
#define TENSORCAST_SRC_MDF_DISTINCT_IDS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tensorcast::mdf {

class DistinctIds {
 public:
  void Take(const std::string& id) { taken_.insert(id); }
  bool Has(const std::string& id) const { return taken_.contains(id); }
  // Takes the stem, or "STEM_2" and so on: the first that is free.
  std::string Free(const std::string& stem) {
    if (taken_.insert(stem).second) return stem;
    std::uint64_t& number = numbers_.try_emplace(stem, 1).first->second;
    for (;;) {
      std::string id = stem + '_' + std::to_string(++number);
      if (taken_.insert(id).second) return id;
    }
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::uint64_t> numbers_;  // of stems, the last that was tried
};

}  // namespace tensorcast::mdf

#endif  // TENSORCAST_SRC_MDF_DISTINCT_IDS_H_
