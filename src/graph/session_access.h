// How a session gets its program, for the functions of other files.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_SESSION_ACCESS_H_
#define TENSORCAST_SRC_GRAPH_SESSION_ACCESS_H_

#include "graph/program.h"
#include "tensorcast/session.hpp"

namespace tensorcast {

struct SessionAccess {
  static void Set(Session& session, graph::Program&& program, const SessionOptions& options,
                  bool as_tests);
};

}  // namespace tensorcast

#endif  // TENSORCAST_SRC_GRAPH_SESSION_ACCESS_H_
