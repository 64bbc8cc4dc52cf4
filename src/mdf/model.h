// An MDF model as its file says it: nodes with ports, functions and parameters, and the edges
// between them. What MDF's engine does not look at (metadata but ours, units, an edge's other
// parameters) is left out.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_MDF_MODEL_H_
#define TENSORCAST_SRC_MDF_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mdf/value.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::mdf {

// What the metadata of a port has the name of in ONNX, where MDF's expressions could not hold it.
inline constexpr std::string_view kOnnxName = "onnx_name";

struct InputPort {
  std::string id;
  std::string name;  // in ONNX; its id unless the metadata has another
  // Its type, where it says one: "float" and "int" are any floating type and any whole number.
  std::optional<DataType> type;
  std::string type_text;  // as it is written
  std::optional<std::vector<std::uint64_t>> shape;
  const Value* default_value = nullptr;
  std::size_t edge =
      SIZE_MAX;  // the one that brings its value, in Graph::edges; none: from outside
};

// A function, or a parameter: what has a name in a node and gives a value.
struct Term {
  std::string id;
  bool is_parameter = false;
  std::string function;          // "onnx::Cast"; empty where it has a value
  const Object* args = nullptr;  // of a function; none: there are none
  const Value* value = nullptr;  // an expression or a literal
};

struct OutputPort {
  std::string id;
  std::string name;  // as an input port's
  std::string value;
  bool is_taken = false;  // an edge begins here
};

struct Node {
  std::string id;
  std::vector<InputPort> inputs;
  std::vector<Term> terms;  // functions, then parameters
  std::vector<OutputPort> outputs;
};

struct Edge {
  std::string id;
  std::size_t sender = 0;  // a node
  std::size_t sender_port = 0;
};

struct Model {
  std::string id;
  std::string graph;
  std::int64_t opset = 0;   // what the file asks for; 0: nothing
  std::vector<Node> nodes;  // in an order in which each comes behind those that send to it
  std::vector<Edge> edges;
};

// Whether a document says that it is MDF: one model, whose format says so.
bool IsModel(const Value& document);

// `document` lives as long as the model. Throws graph::Error: contents where it breaks MDF's rules,
// unsupported where it has what a graph of casts has not (conditions, state, weights, cycles).
Model ReadModel(const Value& document);

}  // namespace tensorcast::mdf

#endif  // TENSORCAST_SRC_MDF_MODEL_H_
