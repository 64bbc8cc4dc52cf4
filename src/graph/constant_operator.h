// Reads what a Constant node says.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_CONSTANT_OPERATOR_H_
#define TENSORCAST_SRC_GRAPH_CONSTANT_OPERATOR_H_

#include <cstdint>
#include <optional>

#include "graph/cast_operator.h"
#include "graph/constant.h"

namespace tensorcast::graph {

// The tensor of the attribute `value`. Throws Error where it is none.
const Tensor& ReadConstantTensor(const NodePlace& place, const NodeAttribute& attribute);

// The values of any other attribute: value_float, value_ints, value_string ... Throws Error where
// the operator has none of that name (at the opset, where one is imported), or it is sparse.
Constant ReadConstantValues(const NodePlace& place, const NodeAttribute& attribute,
                            std::optional<std::int64_t> opset);

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_CONSTANT_OPERATOR_H_
