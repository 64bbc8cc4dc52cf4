// An MDF model as a graph of casts.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_MDF_GRAPH_OF_MODEL_H_
#define TENSORCAST_SRC_MDF_GRAPH_OF_MODEL_H_

#include <vector>

#include "mdf/model.h"
#include "tensorcast/graph.hpp"
#include "tensorcast/mdf.hpp"

namespace tensorcast::mdf {

// The inputs of a model: ports without an edge, each name once, in the order of the nodes. One
// whose ports say no type, or "float" or "int", is kUndefined. Throws graph::Error where two ports
// of one name contradict each other.
std::vector<ValueInfo> InputsOf(const Model& model);

// Throws graph::Error (contents; unsupported: a function that is not a cast, a constant or an
// identity, an expression), core::Failure as building a graph does.
Graph GraphOfModel(const Model& model, const LoadOptions& options);

}  // namespace tensorcast::mdf

#endif  // TENSORCAST_SRC_MDF_GRAPH_OF_MODEL_H_
