// What is wrong with a graph. Whoever read it from somewhere says where that is.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_ERROR_H_
#define TENSORCAST_SRC_GRAPH_ERROR_H_

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tensorcast::graph {

enum class ErrorKind : std::uint8_t {
  kArguments,    // what was asked cannot be
  kContents,     // the graph breaks a rule of its opset, or of graphs
  kUnsupported,  // legal, but nothing that is run here
};

// One line; names from the graph are escaped.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_ERROR_H_
