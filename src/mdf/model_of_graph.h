// A graph of casts as an MDF model.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_MDF_MODEL_OF_GRAPH_H_
#define TENSORCAST_SRC_MDF_MODEL_OF_GRAPH_H_

#include "graph/graph_state.h"
#include "mdf/value.h"

namespace tensorcast::mdf {

// The document of a model that means what the graph does: GraphOfModel makes the same nodes of it,
// and MDF's own engine runs those of the types that it has. Each node of the graph is a node, and
// so is each constant that is read; an output that another node reads too gets a node of its own.
// Throws graph::Error (unsupported) where MDF cannot have it.
Value ModelOfGraph(const GraphState& state);

}  // namespace tensorcast::mdf

#endif  // TENSORCAST_SRC_MDF_MODEL_OF_GRAPH_H_
