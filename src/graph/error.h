// What is wrong with a graph. Whoever read it from somewhere says where that is.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_ERROR_H_
#define TENSORCAST_SRC_GRAPH_ERROR_H_

#include <string>

#include "core/failure.h"

namespace tensorcast::graph {

using core::ErrorKind;

// One line; names from the graph are escaped.
class Error : public core::Failure {
 public:
  Error(ErrorKind kind, const std::string& message)
      : Failure(core::CodeOf(kind), message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_ERROR_H_
