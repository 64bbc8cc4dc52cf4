// Weights of integers in groups as layouts have them: their tensors, and where codes, scales and
// zero points stand in these.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_WRITTEN_GROUPS_H_
#define TENSORCAST_SRC_SCALE_WRITTEN_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scale/code_writer.h"
#include "scale/group_quantiser.h"
#include "scale/written_form.h"

namespace tensorcast::scale {

// Forms here are of groups and have a layout; `source` is the weight's type.

// How they are made.
GroupRule RuleOfGroups(const WrittenForm& form, DataType source);
// Why the layout does not take a shape that the format takes; empty: it does.
std::string WhyNotPlaced(const WrittenForm& form, std::span<const std::uint64_t> shape);
// Codes, scales, and zero points, biases, the shape and the order of columns where there are any.
std::vector<WrittenTensor> GroupTensorsOf(const WrittenForm& form, std::string_view name,
                                          std::span<const std::uint64_t> shape, DataType source);
// Where rows are written, the weight's first tensor being the output's tensor `first`.
WrittenPlaces GroupPlacesOf(const WrittenForm& form, std::span<const std::uint64_t> shape,
                            DataType source, std::size_t first);

// A tensor of integers that depends on the shape alone: the shape itself (int64), or the group of
// each column (int32).
struct ConstantTensor {
  std::size_t tensor = 0;  // of the output
  std::vector<std::byte> bytes;
};
std::vector<ConstantTensor> GroupConstantsOf(const WrittenForm& form,
                                             std::span<const std::uint64_t> shape,
                                             std::size_t first);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_WRITTEN_GROUPS_H_
