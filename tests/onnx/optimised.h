// Models that are optimised in memory, and what tests ask of them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ONNX_OPTIMISED_H_
#define TENSORCAST_TESTS_ONNX_OPTIMISED_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cast_models.h"
#include "onnx/byte_sources.h"
#include "protobuf/onnx_model.h"
#include "tensorcast/onnx.hpp"

namespace onnx_test {

struct Optimisation {
  std::string bytes;
  tensorcast::onnx::OptimizeReport report;
};

inline Optimisation Optimised(const std::string& bytes,
                              const tensorcast::onnx::OptimizeOptions& options = {}) {
  Optimisation result;
  std::vector<std::byte> made;
  std::string error;
  EXPECT_TRUE(tensorcast::onnx::Optimize(std::as_bytes(std::span(bytes)), options, &made,
                                         &result.report, &error)
                  .ok())
      << error;
  result.bytes.assign(reinterpret_cast<const char*>(made.data()), made.size());
  return result;
}
inline Optimisation Optimised(const ModelBytes& model,
                              const tensorcast::onnx::OptimizeOptions& options = {}) {
  return Optimised(model.Bytes(), options);
}

// "Cast x -> y", one for each node; those of subgraphs after their graph's.
inline std::vector<std::string> NodesOf(const std::string& bytes) {
  const tensorcast::onnx::MemoryBytes source(std::as_bytes(std::span(bytes)));
  const tensorcast::protobuf::OnnxModel model = tensorcast::protobuf::ReadOnnxModel(source);
  std::vector<std::string> texts;
  const auto add = [&](const std::vector<tensorcast::protobuf::OnnxNode>& nodes) {
    for (const tensorcast::protobuf::OnnxNode& node : nodes) {
      std::string text = node.op_type;
      for (const std::string& input : node.inputs) text += ' ' + input;
      text += " ->";
      for (const std::string& output : node.outputs) text += ' ' + output;
      texts.push_back(std::move(text));
    }
  };
  for (const tensorcast::protobuf::OnnxGraph& graph : model.graphs) add(graph.nodes);
  for (const tensorcast::protobuf::OnnxFunction& function : model.functions) add(function.nodes);
  return texts;
}

using Lines = std::vector<std::string>;

// "c2 round-trip", one for each node that went.
inline Lines RemovedOf(const tensorcast::onnx::OptimizeReport& report) {
  Lines lines;
  for (const tensorcast::onnx::RemovedNode& node : report.removed) {
    lines.push_back(node.output + ' ' + std::string(OptimizeRuleName(node.rule)));
  }
  return lines;
}

inline Node CastNode(const std::string& from, const std::string& to, DataType type,
                     const std::string& more = {}) {
  return {"Cast", {from}, {to}, To(type) + more, "n_" + to};
}
inline Node OtherNode(const std::vector<std::string>& from, const std::string& to) {
  return {"Opaque", from, {to}, {}, {}, "elsewhere"};
}

// x of a type, through nodes, to y of a type.
inline ModelBytes Through(DataType from, std::vector<Node> nodes, DataType to) {
  ModelBytes model;
  model.inputs = {{"x", from}};
  model.outputs = {{"y", to}};
  model.nodes = std::move(nodes);
  return model;
}

}  // namespace onnx_test

#endif  // TENSORCAST_TESTS_ONNX_OPTIMISED_H_
