// Names shortened where they agree and never where they differ.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_REPORT_DISTINCT_NAMES_H_
#define TENSORCAST_SRC_REPORT_DISTINCT_NAMES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "formats/tensor_info.h"

namespace tensorcast::report {

// All names of a file, as they are shown: shortened names must not look like any of them either.
struct NamesOfFile {
  std::size_t count = 0;
  std::function<std::string(std::size_t)> name;
};
// Escaped. `tensors` outlives the result.
NamesOfFile EscapedNames(const std::vector<formats::TensorInfo>& tensors);

// Each of `names` in at most `columns` columns, "…" standing for what is left out of it. No two
// names that differ look alike, neither among `names` nor among those of `file`: where there is no
// room for that, some stay longer. Names that are the same are shown the same. With a `file` they
// are names of tensors, of which the layer's number and the last word are left out last.
std::vector<std::string> DistinctNames(const std::vector<std::string>& names, std::size_t columns,
                                       const NamesOfFile& file = {});
// One of them.
std::string DistinctName(const std::string& name, std::size_t columns, const NamesOfFile& file);

}  // namespace tensorcast::report

#endif  // TENSORCAST_SRC_REPORT_DISTINCT_NAMES_H_
