// Which tensors of an input are written at all.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_WRITTEN_TENSORS_H_
#define TENSORCAST_SRC_CONVERT_WRITTEN_TENSORS_H_

#include <span>
#include <vector>

#include "convert/survey.h"
#include "naming/tensor_pattern.h"

namespace tensorcast::convert {

// Of each tensor whether a pattern matches it, or what it serves: scales go where their weight
// goes. `matches` is of each pattern whether it matches a tensor of this or an earlier input.
std::vector<bool> WrittenTensors(const Survey& survey,
                                 std::span<const naming::TensorPattern> patterns,
                                 std::vector<bool>& matches);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_WRITTEN_TENSORS_H_
