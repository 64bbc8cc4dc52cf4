// A graph as a ModelProto: what was read and is not changed as it stood, the rest written anew.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_RUN_MODEL_OF_GRAPH_H_
#define TENSORCAST_SRC_ONNX_RUN_MODEL_OF_GRAPH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/constant.h"
#include "graph/graph.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::onnx {

// A message in pieces: bytes of its own, and bytes that stand somewhere else.
class WireMessage {
 public:
  void Add(std::string_view bytes);
  void Add(const graph::Blob& bytes);
  void AddVarint(std::uint32_t field, std::uint64_t value);
  void AddBytes(std::uint32_t field, std::string_view payload);
  void AddBytes(std::uint32_t field, const graph::Blob& payload);
  void AddMessage(std::uint32_t field, WireMessage message);

  std::uint64_t size() const { return size_; }
  // One after the other; bytes of its own have no store.
  struct Piece {
    std::string bytes;
    graph::Blob blob;
  };
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<Piece> pieces_;
  std::uint64_t size_ = 0;
};

// The model of a graph; `types` of its values, by ValueId. External data goes into it, and is read
// when its piece is. `with_training`: what nodes say of training is in metadata_props. Throws
// core::Failure (kBadInput) where it would have more than 2 GiB, which protobuf does not allow, and
// (kUnsupportedFile) where a function of it has external data.
WireMessage ModelOfGraph(const graph::Graph& graph, const std::vector<DataType>& types,
                         bool with_training);

// The versions of messages (IR) that came with an opset, which the models of that opset have.
std::int64_t IrVersionOf(std::int64_t opset);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_RUN_MODEL_OF_GRAPH_H_
