// The flat C interface: the nodes of a graph, asked for and changed.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "c/graph_handle.h"
#include "tensorcast/graph.h"
#include "text/shortest.h"

using namespace tensorcast;

namespace tensorcast::c {
namespace {

// Calls `use` with a node as it is.
template <class Use>
std::int32_t WithNode(const tensorcast_graph* graph, std::int64_t node, const char* name,
                      const Use& use) {
  return WithHandle(graph, "graph", [&](const tensorcast_graph& handle, std::string* text) {
    GraphNode found;
    const Status status = handle.graph.Node(KeyOf(node, name), &found, text);
    return status.ok() ? use(found) : status;
  });
}

void CheckWhat(std::int32_t what) {
  if (what >= TENSORCAST_CAST_TO && what <= TENSORCAST_CAST_LDA_COEFF) return;
  Refuse(StatusCode::kInvalidOption,
         "parameter what is " + std::to_string(what) + "; it is 0 ... 4 (graph.h)");
}

double SettingOf(const GraphNode& node, std::int32_t what) {
  switch (what) {
    case TENSORCAST_CAST_TO: return static_cast<double>(node.to);
    case TENSORCAST_CAST_SATURATE: return node.saturate ? 1 : 0;
    case TENSORCAST_CAST_ROUND_MODE: return static_cast<double>(node.round_mode);
    case TENSORCAST_CAST_TRAINING: return node.training ? 1 : 0;
    default: return node.lda_coeff;
  }
}

// The number as one of a list.
std::int32_t ListedNumber(double number, StatusCode otherwise = StatusCode::kInvalidOption) {
  if (std::fabs(number) < 1000 && number == std::floor(number)) {
    return static_cast<std::int32_t>(number);
  }
  Refuse(otherwise, "parameter number is " + text::ShortestText(number) +
                        "; this setting is a whole number (graph.h)");
}

CastChange ChangeOf(std::int32_t what, double number) {
  CastChange change;
  switch (what) {
    case TENSORCAST_CAST_TO:
      change.to = TypeOf(ListedNumber(number, StatusCode::kInvalidType), "number");
      break;
    case TENSORCAST_CAST_SATURATE: change.saturate = Truth(ListedNumber(number), "number"); break;
    case TENSORCAST_CAST_ROUND_MODE:
      change.round_mode = RoundingModeOf(ListedNumber(number));
      break;
    case TENSORCAST_CAST_TRAINING: change.training = Truth(ListedNumber(number), "number"); break;
    default: change.lda_coeff = number; break;
  }
  return change;
}

}  // namespace
}  // namespace tensorcast::c

std::int32_t tensorcast_graph_node_count(const tensorcast_graph* graph, std::uint64_t* count) {
  c::Clear(count);
  return c::WithHandle(graph, "graph", [&](const tensorcast_graph& handle, std::string*) {
    c::CheckGiven(count, "count");
    *count = handle.graph.node_count();
    return Status();
  });
}

std::int32_t tensorcast_graph_node(const tensorcast_graph* graph, std::int64_t node,
                                   const char* name, std::int64_t* index, std::int32_t* is_cast,
                                   std::int32_t* from, std::int32_t* to, std::uint64_t* inputs,
                                   std::uint64_t* outputs) {
  c::Clear(index, is_cast, from, to, inputs, outputs);
  return c::WithNode(graph, node, name, [&](const GraphNode& found) {
    c::Give(static_cast<std::int64_t>(found.index), index);
    c::Give(found.is_cast ? 1 : 0, is_cast);
    c::Give(static_cast<std::int32_t>(found.from), from);
    c::Give(static_cast<std::int32_t>(found.to), to);
    c::Give<std::uint64_t>(found.inputs.size(), inputs);
    c::Give<std::uint64_t>(found.outputs.size(), outputs);
    return Status();
  });
}

std::int32_t tensorcast_graph_node_text(const tensorcast_graph* graph, std::int64_t node,
                                        const char* name, std::int32_t which, char* buffer,
                                        std::uint64_t buffer_bytes, std::uint64_t* needed) {
  c::Clear(needed);
  return c::WithNode(graph, node, name, [&](const GraphNode& found) {
    switch (which) {
      case TENSORCAST_NODE_NAME: return c::GiveText(found.name, buffer, buffer_bytes, needed);
      case TENSORCAST_NODE_OP_TYPE: return c::GiveText(found.op_type, buffer, buffer_bytes, needed);
      case TENSORCAST_NODE_DOMAIN: return c::GiveText(found.domain, buffer, buffer_bytes, needed);
      default: break;
    }
    c::Refuse(StatusCode::kInvalidOption,
              "parameter which is " + std::to_string(which) + "; it is 0, 1 or 2");
  });
}

std::int32_t tensorcast_graph_node_values(const tensorcast_graph* graph, std::int64_t node,
                                          const char* name, std::int32_t side, std::int64_t* values,
                                          std::uint64_t capacity, std::uint64_t* count) {
  c::Clear(count);
  return c::WithNode(graph, node, name, [&](const GraphNode& found) {
    const std::vector<GraphValue>& from = c::Truth(side, "side") ? found.outputs : found.inputs;
    return c::GiveItems(std::span<const GraphValue>(from), values, capacity, count, "values",
                        [](GraphValue value) { return c::NumberOf(value); });
  });
}

std::int32_t tensorcast_graph_get_cast(const tensorcast_graph* graph, std::int64_t node,
                                       const char* name, std::int32_t what, double* number) {
  c::Clear(number);
  return c::WithNode(graph, node, name, [&](const GraphNode& found) {
    c::CheckGiven(number, "number");
    c::CheckWhat(what);
    if (!found.is_cast) {
      c::Refuse(StatusCode::kBadInput, "node " + std::to_string(found.index) +
                                           " is not a Cast or CastLike, which alone have this");
    }
    *number = c::SettingOf(found, what);
    return Status();
  });
}

std::int32_t tensorcast_graph_get_casts(const tensorcast_graph* graph, std::int32_t what,
                                        std::int64_t* indices, std::uint64_t indices_count,
                                        double* numbers, std::uint64_t numbers_count,
                                        std::uint64_t* count) {
  c::Clear(count);
  return c::WithHandle(graph, "graph", [&](const tensorcast_graph& handle, std::string*) {
    c::CheckGiven(count, "count");
    c::CheckWhat(what);
    c::CheckTable(indices, indices_count, "indices");
    c::CheckTable(numbers, numbers_count, "numbers");
    std::vector<std::pair<std::size_t, double>> found;
    for (const GraphNode& node : handle.graph.Nodes()) {
      if (node.is_cast) found.emplace_back(node.index, c::SettingOf(node, what));
    }
    *count = found.size();
    if (indices_count == 0 && numbers_count == 0) return Status();
    c::CheckRoom(indices_count, found.size(), "indices");
    c::CheckRoom(numbers_count, found.size(), "numbers");
    for (std::size_t i = 0; i < found.size(); ++i) {
      indices[i] = static_cast<std::int64_t>(found[i].first);
      numbers[i] = found[i].second;
    }
    return Status();
  });
}

std::int32_t tensorcast_graph_set_cast(tensorcast_graph* graph, std::int64_t node, const char* name,
                                       std::int32_t what, double number) {
  return c::WithHandle(graph, "graph", [&](tensorcast_graph& handle, std::string* text) {
    c::CheckWhat(what);
    return handle.graph.Set(c::KeyOf(node, name), c::ChangeOf(what, number), text);
  });
}

std::int32_t tensorcast_graph_rename_node(tensorcast_graph* graph, std::int64_t node,
                                          const char* name, const char* new_name) {
  return c::WithHandle(graph, "graph", [&](tensorcast_graph& handle, std::string* text) {
    return handle.graph.RenameNode(c::KeyOf(node, name), c::TextOf(new_name), text);
  });
}

std::int32_t tensorcast_graph_remove_node(tensorcast_graph* graph, std::int64_t node,
                                          const char* name) {
  return c::WithHandle(graph, "graph", [&](tensorcast_graph& handle, std::string* text) {
    return handle.graph.RemoveNode(c::KeyOf(node, name), text);
  });
}
