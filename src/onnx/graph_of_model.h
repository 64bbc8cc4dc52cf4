// A ModelProto as a graph.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_GRAPH_OF_MODEL_H_
#define TENSORCAST_SRC_ONNX_GRAPH_OF_MODEL_H_

#include <cstddef>
#include <span>

#include "graph/graph.h"
#include "graph/program.h"
#include "io/byte_source.h"
#include "tensorcast/onnx.hpp"

namespace tensorcast::onnx {

// Reads the model that a source holds. Tensors, texts and what is carried stay where they are: the
// source outlives the graph, and so does `memory`, the model's bytes or nothing where they are in a
// file. Throws Error where the bytes are no model.
graph::Graph ReadGraph(const io::ByteSource& source, std::span<const std::byte> memory,
                       bool allow_hard_links);

// The same, compiled. Constants are read, or are views of `memory` where they stand there as a run
// needs them. Throws Error, which begins with the source's path.
graph::Program MakeProgram(const io::ByteSource& source, std::span<const std::byte> memory,
                           const LoadOptions& options);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_GRAPH_OF_MODEL_H_
