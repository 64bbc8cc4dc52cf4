// A ModelProto as a graph.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_RUN_GRAPH_OF_MODEL_H_
#define TENSORCAST_SRC_ONNX_RUN_GRAPH_OF_MODEL_H_

#include <cstddef>
#include <memory>
#include <span>

#include "files/byte_source.h"
#include "graph/error.h"
#include "graph/graph.h"
#include "protobuf/onnx_model.h"

namespace tensorcast::onnx {

// What an attribute says without lists, tensors and graphs; its text stands in `bytes`.
graph::Attribute PlainAttribute(const protobuf::OnnxAttribute& from,
                                const std::shared_ptr<const graph::ByteStore>& bytes);

// Reads the model that a source holds. Tensors, texts and what is carried stay where they are; the
// graph holds the source. `memory`: the model's bytes, which live as long as the source, or nothing
// where they are in a file. Throws Error where the bytes are no model.
graph::Graph ReadGraph(std::shared_ptr<const files::ByteSource> source,
                       std::span<const std::byte> memory, bool allow_hard_links);

// Throws what is wrong with the graph of a source as an files::Error, which begins with its path.
[[noreturn]] void FailModel(const files::ByteSource& source, const graph::Error& error);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_RUN_GRAPH_OF_MODEL_H_
