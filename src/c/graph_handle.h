// What the handles of graphs and sessions hold, and how their values and nodes are said by numbers.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_C_GRAPH_HANDLE_H_
#define TENSORCAST_SRC_C_GRAPH_HANDLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "c/flat_call.h"
#include "tensorcast/graph.h"
#include "tensorcast/graph.hpp"
#include "tensorcast/session.h"
#include "tensorcast/session.hpp"

struct tensorcast_graph {
  tensorcast::Graph graph;
  mutable std::string error;  // of the last call
};

struct tensorcast_session {
  // What is bound to an input or as an output's gradient, and what the next is taken into: one that
  // is refused leaves the other.
  struct Bound {
    tensorcast::c::TensorHolder now;
    tensorcast::c::TensorHolder next;
  };

  tensorcast::Session session;
  std::uint32_t graph = 0;  // SerialOf that which it was made of
  std::vector<Bound> inputs;
  std::vector<Bound> gradients;   // by output
  std::vector<bool> is_selected;  // of each output
  tensorcast::TensorSize size;    // of the output that was asked for last
  std::vector<tensorcast::NodeProfile> profile;
  mutable std::string error;  // of the last call
};

namespace tensorcast::c {

// Calls `body` with what a handle holds and the place for a text.
template <class Handle, class Body>
std::int32_t WithHandle(Handle* handle, const char* what, const Body& body) {
  return FlatCall(handle == nullptr ? nullptr : &handle->error, [&](std::string* text) {
    CheckGiven(handle, what);
    return body(*handle, text);
  });
}

// What tells a graph from every other, which its values carry; 0 where it has none.
inline std::uint32_t SerialOf(const Graph& graph) {
  if (!graph.outputs().empty()) return graph.outputs().front().graph;
  const std::vector<GraphValueInfo> values = graph.Values();
  return values.empty() ? 0 : values.front().value.graph;
}

inline std::int64_t NumberOf(GraphValue value) {
  return static_cast<std::int64_t>(std::uint64_t{value.graph} << 32 | value.index);
}
inline GraphValue ValueOf(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
}

// Throws kNoSuchIndex.
NodeKey KeyOf(std::int64_t node, const char* name);
Port PortOf(std::int64_t index, const char* name);
// The place of an input or an output. Throws what the session says of one that is not there.
std::size_t PlaceOf(const tensorcast_session& handle, std::int32_t side, std::int64_t index,
                    const char* name);

}  // namespace tensorcast::c

#endif  // TENSORCAST_SRC_C_GRAPH_HANDLE_H_
