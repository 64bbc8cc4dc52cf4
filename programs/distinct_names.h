// Names shortened where they agree and never where they differ.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISTINCT_NAMES_H_
#define TENSORCAST_PROGRAMS_DISTINCT_NAMES_H_

#include <cstddef>
#include <string>
#include <vector>

namespace tensorcast::tool {

// Each of `names` in at most `columns` columns, "…" standing for what is left out of it. Two names
// that differ never look alike: where there is no room for that, some stay longer. Names that are
// the same are shown the same.
std::vector<std::string> DistinctNames(const std::vector<std::string>& names, std::size_t columns);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISTINCT_NAMES_H_
