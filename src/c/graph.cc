// The flat C interface: graphs, their models, building them, and their values.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "c/graph_handle.h"

using namespace tensorcast;

namespace tensorcast::c {
namespace {

// Makes a graph by `make`, and hands it over where that went well.
template <class Make> std::int32_t Create(tensorcast_graph** graph, const Make& make) {
  Clear(graph);
  return FlatCall(nullptr, [&](std::string* text) {
    CheckGiven(graph, "graph");
    auto made = std::make_unique<tensorcast_graph>();
    const Status status = make(&made->graph, text);
    if (status.ok()) *graph = made.release();
    return status;
  });
}

// Adds a value by `add`, and gives its number where that went well.
template <class Add>
std::int32_t AddValue(tensorcast_graph* graph, std::int64_t* value, const Add& add) {
  Clear(value);
  return WithHandle(graph, "graph", [&](tensorcast_graph& handle, std::string* text) {
    GraphValue added;
    const Status status = add(handle.graph, &added, text);
    if (status.ok()) Give(NumberOf(added), value);
    return status;
  });
}

CastNode NodeOf(std::int32_t saturate, std::int32_t round_mode, const char* name,
                const char* output_name, std::int32_t training, double lda_coeff) {
  CastNode node;
  node.saturate = Truth(saturate, "saturate");
  node.round_mode = RoundingModeOf(round_mode);
  node.name = TextOf(name);
  if (!TextOf(output_name).empty()) node.output_names = {output_name};
  node.training = Truth(training, "training");
  node.lda_coeff = lda_coeff;
  return node;
}

std::vector<GraphDimension> DimensionsOf(std::span<const std::int64_t> shape,
                                         const char* dim_names) {
  const std::vector<std::string_view> names = LinesOf(dim_names);
  std::vector<GraphDimension> dimensions(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0) {
      dimensions[i].size = static_cast<std::uint64_t>(shape[i]);
    } else if (i < names.size()) {
      dimensions[i].name = names[i];
    }
  }
  return dimensions;
}

// Calls `use` with what is known of a value.
template <class Use>
std::int32_t WithValue(const tensorcast_graph* graph, std::int64_t value, const Use& use) {
  return WithHandle(graph, "graph", [&](const tensorcast_graph& handle, std::string* text) {
    GraphValueInfo info;
    const Status status = handle.graph.Value(ValueOf(value), &info, text);
    return status.ok() ? use(info) : status;
  });
}

}  // namespace

NodeKey KeyOf(std::int64_t node, const char* name) {
  if (node == TENSORCAST_ALL_NODES) return NodeKey::All();
  if (node == TENSORCAST_BY_NAME) return NodeKey::Name(TextOf(name));
  if (node >= 0) return NodeKey::Index(static_cast<std::size_t>(node));
  Refuse(StatusCode::kNoSuchIndex,
         "the node " + std::to_string(node) + " is not an index, nor -1 (by name), nor -2 (all)");
}

Port PortOf(std::int64_t index, const char* name) {
  if (index == TENSORCAST_BY_NAME) return {TextOf(name)};
  if (index >= 0) return {static_cast<std::size_t>(index)};
  Refuse(StatusCode::kNoSuchIndex,
         "the number " + std::to_string(index) + " is not an index, nor -1 (by name)");
}

}  // namespace tensorcast::c

// --------------------------------------------------------------------------------- graphs

std::int32_t tensorcast_graph_create(std::int64_t opset, std::int32_t raises_opset,
                                     std::int32_t contradictions, tensorcast_graph** graph) {
  return c::Create(graph, [&](Graph* made, std::string* text) {
    GraphOptions options;
    if (opset != 0) options.opset = opset;
    options.raises_opset = c::Truth(raises_opset, "raises_opset");
    options.contradictions = c::ContradictionsOf(contradictions);
    return Graph::Create(options, made, text);
  });
}

std::int32_t tensorcast_graph_load(const char* path, std::int32_t contradictions,
                                   std::int32_t allow_hard_links, tensorcast_graph** graph) {
  return c::Create(graph, [&](Graph* made, std::string* text) {
    c::CheckGiven(path, "path");
    onnx::LoadOptions options;
    options.contradictions = c::ContradictionsOf(contradictions);
    options.allow_hard_links = c::Truth(allow_hard_links, "allow_hard_links");
    return Graph::Load(path, options, made, text);
  });
}

std::int32_t tensorcast_graph_parse(const void* bytes, std::uint64_t bytes_size,
                                    std::int32_t contradictions, tensorcast_graph** graph) {
  return c::Create(graph, [&](Graph* made, std::string* text) {
    c::CheckBytes(bytes, bytes_size, "bytes");
    onnx::LoadOptions options;
    options.contradictions = c::ContradictionsOf(contradictions);
    return Graph::Parse(c::Bytes(bytes, bytes_size), options, made, text);
  });
}

void tensorcast_graph_destroy(tensorcast_graph* graph) { delete graph; }

std::int32_t tensorcast_graph_error(const tensorcast_graph* graph, char* buffer,
                                    std::uint64_t buffer_bytes, std::uint64_t* needed) {
  c::Clear(needed);
  if (graph == nullptr) return TENSORCAST_NULL_POINTER;
  return c::WriteText(graph->error, buffer, buffer_bytes, needed);
}

std::int32_t tensorcast_graph_save(const tensorcast_graph* graph, const char* path,
                                   std::int32_t with_training, std::int32_t overwrite) {
  return c::WithHandle(graph, "graph", [&](const tensorcast_graph& handle, std::string* text) {
    c::CheckGiven(path, "path");
    const SaveOptions options = {c::Truth(with_training, "with_training"),
                                 c::Truth(overwrite, "overwrite")};
    return handle.graph.Save(path, options, text);
  });
}

std::int32_t tensorcast_graph_serialize(const tensorcast_graph* graph, std::int32_t with_training,
                                        void* bytes, std::uint64_t bytes_size,
                                        std::uint64_t* needed) {
  c::Clear(needed);
  return c::WithHandle(graph, "graph", [&](const tensorcast_graph& handle, std::string* text) {
    c::CheckBytes(bytes, bytes_size, "bytes");
    std::vector<std::byte> model;
    const Status status =
        handle.graph.Serialize({c::Truth(with_training, "with_training"), false}, &model, text);
    if (!status.ok()) return status;
    c::Give<std::uint64_t>(model.size(), needed);
    if (bytes_size == 0 && needed != nullptr) return status;
    c::CheckRoom(bytes_size, model.size(), "bytes");
    std::copy(model.begin(), model.end(), static_cast<std::byte*>(bytes));
    return status;
  });
}

std::int32_t tensorcast_graph_optimize(tensorcast_graph* graph, std::int32_t fold_all,
                                       std::int32_t nan_payloads_may_change,
                                       std::uint64_t* removed) {
  c::Clear(removed);
  return c::WithHandle(graph, "graph", [&](tensorcast_graph& handle, std::string* text) {
    onnx::OptimizeReport report;
    const Status status = handle.graph.Optimize(
        c::OptimizeOptionsOf(fold_all, nan_payloads_may_change), &report, text);
    if (status.ok()) c::Give<std::uint64_t>(report.removed.size(), removed);
    return status;
  });
}

std::int32_t tensorcast_graph_opset(const tensorcast_graph* graph, std::int64_t* opset) {
  c::Clear(opset);
  return c::WithHandle(graph, "graph", [&](const tensorcast_graph& handle, std::string*) {
    c::CheckGiven(opset, "opset");
    *opset = handle.graph.opset();
    return Status();
  });
}

std::int32_t tensorcast_graph_set_opset(tensorcast_graph* graph, std::int64_t opset) {
  return c::WithHandle(graph, "graph", [&](tensorcast_graph& handle, std::string* text) {
    return opset == 0 ? handle.graph.SetLowestOpset(text) : handle.graph.SetOpset(opset, text);
  });
}

// ------------------------------------------------------------------------------- building

std::int32_t tensorcast_graph_add_input(tensorcast_graph* graph, const char* name,
                                        std::int32_t type, const std::int64_t* shape,
                                        std::int64_t rank, const char* dim_names,
                                        std::int64_t* value) {
  return c::AddValue(graph, value, [&](Graph& to, GraphValue* added, std::string* text) {
    const auto element = static_cast<DataType>(type);
    if (rank == -1) return to.AddInput(c::TextOf(name), element, added, text);
    if (rank < 0) {
      c::Refuse(StatusCode::kBadInput, "the rank " + std::to_string(rank) +
                                           " is negative and not -1, which leaves it unknown");
    }
    const auto sizes = c::ShapeOf(shape, static_cast<std::uint64_t>(rank), "shape");
    return to.AddInput(c::TextOf(name), element, c::DimensionsOf(sizes, dim_names), added, text);
  });
}

std::int32_t tensorcast_graph_add_constant(tensorcast_graph* graph, const char* name,
                                           const void* bytes, std::uint64_t bytes_size,
                                           const std::int64_t* shape, std::uint64_t rank,
                                           std::int32_t type, const std::int64_t* lengths,
                                           std::uint64_t lengths_count, std::int64_t* value) {
  return c::AddValue(graph, value, [&](Graph& to, GraphValue* added, std::string* text) {
    c::TensorHolder tensor;
    tensor.Take({bytes, bytes_size, shape, rank, type, lengths, lengths_count}, false);
    return to.AddConstant(c::TextOf(name), tensor.view, added, text);
  });
}

std::int32_t tensorcast_graph_add_cast(tensorcast_graph* graph, std::int64_t input, std::int32_t to,
                                       std::int32_t saturate, std::int32_t round_mode,
                                       const char* name, const char* output_name,
                                       std::int32_t training, double lda_coeff,
                                       std::int64_t* value) {
  return c::AddValue(graph, value, [&](Graph& into, GraphValue* added, std::string* text) {
    CastNode node = c::NodeOf(saturate, round_mode, name, output_name, training, lda_coeff);
    node.to = static_cast<DataType>(to);
    return into.AddCast(c::ValueOf(input), node, added, text);
  });
}

std::int32_t tensorcast_graph_add_cast_like(tensorcast_graph* graph, std::int64_t input,
                                            std::int64_t target, std::int32_t saturate,
                                            std::int32_t round_mode, const char* name,
                                            const char* output_name, std::int32_t training,
                                            double lda_coeff, std::int64_t* value) {
  return c::AddValue(graph, value, [&](Graph& into, GraphValue* added, std::string* text) {
    return into.AddCastLike(c::ValueOf(input), c::ValueOf(target),
                            c::NodeOf(saturate, round_mode, name, output_name, training, lda_coeff),
                            added, text);
  });
}

std::int32_t tensorcast_graph_add_identity(tensorcast_graph* graph, std::int64_t input,
                                           const char* name, const char* output_name,
                                           std::int64_t* value) {
  return c::AddValue(graph, value, [&](Graph& into, GraphValue* added, std::string* text) {
    return into.AddIdentity(c::ValueOf(input), c::TextOf(name), c::TextOf(output_name), added,
                            text);
  });
}

std::int32_t tensorcast_graph_mark_output(tensorcast_graph* graph, std::int64_t value,
                                          const char* name) {
  return c::WithHandle(graph, "graph", [&](tensorcast_graph& handle, std::string* text) {
    return handle.graph.MarkOutput(c::ValueOf(value), c::TextOf(name), text);
  });
}

// --------------------------------------------------------------------------------- values

std::int32_t tensorcast_graph_values(const tensorcast_graph* graph, std::int32_t which,
                                     std::int64_t* values, std::uint64_t capacity,
                                     std::uint64_t* count) {
  c::Clear(count);
  return c::WithHandle(graph, "graph", [&](const tensorcast_graph& handle, std::string*) {
    const auto give = [&](std::span<const GraphValue> from) {
      return c::GiveItems(from, values, capacity, count, "values", c::NumberOf);
    };
    switch (which) {
      case TENSORCAST_GRAPH_INPUTS: return give(handle.graph.inputs());
      case TENSORCAST_GRAPH_OUTPUTS: return give(handle.graph.outputs());
      case TENSORCAST_GRAPH_VALUES: break;
      default:
        c::Refuse(StatusCode::kInvalidOption,
                  "parameter which is " + std::to_string(which) + "; it is 0, 1 or 2");
    }
    const std::vector<GraphValueInfo> all = handle.graph.Values();
    return c::GiveItems(std::span<const GraphValueInfo>(all), values, capacity, count, "values",
                        [](const GraphValueInfo& info) { return c::NumberOf(info.value); });
  });
}

std::int32_t tensorcast_graph_find_value(const tensorcast_graph* graph, const char* name,
                                         std::int64_t* value) {
  c::Clear(value);
  return c::WithHandle(graph, "graph", [&](const tensorcast_graph& handle, std::string* text) {
    c::CheckGiven(value, "value");
    GraphValue found;
    const Status status = handle.graph.FindValue(c::TextOf(name), &found, text);
    if (status.ok()) *value = c::NumberOf(found);
    return status;
  });
}

std::int32_t tensorcast_graph_value(const tensorcast_graph* graph, std::int64_t value,
                                    std::int32_t* type, std::int32_t* kind, std::int32_t* is_output,
                                    std::uint64_t* readers, std::int64_t* rank) {
  c::Clear(type, kind, is_output, readers, rank);
  return c::WithValue(graph, value, [&](const GraphValueInfo& info) {
    c::Give(static_cast<std::int32_t>(info.type), type);
    c::Give(static_cast<std::int32_t>(info.kind), kind);
    c::Give(info.is_output ? 1 : 0, is_output);
    c::Give<std::uint64_t>(info.readers, readers);
    c::Give(info.has_shape ? static_cast<std::int64_t>(info.shape.size()) : std::int64_t{-1}, rank);
    return Status();
  });
}

std::int32_t tensorcast_graph_value_name(const tensorcast_graph* graph, std::int64_t value,
                                         char* buffer, std::uint64_t buffer_bytes,
                                         std::uint64_t* needed) {
  c::Clear(needed);
  return c::WithValue(graph, value, [&](const GraphValueInfo& info) {
    return c::GiveText(info.name, buffer, buffer_bytes, needed);
  });
}

std::int32_t tensorcast_graph_value_shape(const tensorcast_graph* graph, std::int64_t value,
                                          std::int64_t* sizes, std::uint64_t capacity,
                                          std::uint64_t* rank) {
  c::Clear(rank);
  return c::WithValue(graph, value, [&](const GraphValueInfo& info) {
    return c::GiveItems(
        std::span<const GraphDimension>(info.shape), sizes, capacity, rank, "sizes",
        [](const GraphDimension& dimension) { return c::SizeOrUnknown(dimension.size); });
  });
}

std::int32_t tensorcast_graph_value_dim_name(const tensorcast_graph* graph, std::int64_t value,
                                             std::uint64_t axis, char* buffer,
                                             std::uint64_t buffer_bytes, std::uint64_t* needed) {
  c::Clear(needed);
  return c::WithValue(graph, value, [&](const GraphValueInfo& info) {
    if (axis >= info.shape.size()) {
      c::Refuse(StatusCode::kNoSuchIndex, "the value has no dimension " + std::to_string(axis) +
                                              "; its shape has " +
                                              std::to_string(info.shape.size()));
    }
    return c::GiveText(info.shape[c::Size(axis)].name, buffer, buffer_bytes, needed);
  });
}

std::int32_t tensorcast_graph_rename_value(tensorcast_graph* graph, std::int64_t value,
                                           const char* name) {
  return c::WithHandle(graph, "graph", [&](tensorcast_graph& handle, std::string* text) {
    return handle.graph.RenameValue(c::ValueOf(value), c::TextOf(name), text);
  });
}
