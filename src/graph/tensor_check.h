// Whether a tensor that was given is one: its data against its type and shape.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_TENSOR_CHECK_H_
#define TENSORCAST_SRC_GRAPH_TENSOR_CHECK_H_

#include <cstdint>
#include <string_view>

#include "tensorcast/tensor_view.hpp"

namespace tensorcast::graph {

// How many elements it has; `view` has one of our types. Throws core::Failure (kBadInput), which
// says `what` and `name` are wrong: input "x".
std::uint64_t CheckedElements(const TensorView& view, std::string_view what, std::string_view name);

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_TENSOR_CHECK_H_
