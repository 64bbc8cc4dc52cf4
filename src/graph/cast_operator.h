// What a Cast or CastLike node asks for, with every rule of its version checked.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_CAST_OPERATOR_H_
#define TENSORCAST_SRC_GRAPH_CAST_OPERATOR_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/error.h"
#include "graph/graph.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::graph {

// Where a node stands: what its errors say.
struct NodePlace {
  const Body& body;
  const Node& node;
  const Function* function = nullptr;  // it is in this one's body; none: the main graph
  const NodePlace* caller = nullptr;   // the node that calls the function
};

// Throws an Error that names the node, its operator and its function; `why` begins with a verb.
[[noreturn]] void FailNode(const NodePlace& place, ErrorKind kind, const std::string& why);
[[noreturn]] inline void WrongNode(const NodePlace& place, const std::string& why) {
  FailNode(place, ErrorKind::kContents, why);
}
[[noreturn]] inline void RefuseNode(const NodePlace& place, const std::string& why) {
  FailNode(place, ErrorKind::kUnsupported, why);
}

// An attribute of a node. In a function it may be a reference: `value` is then the attribute of the
// call (or the function's default) that it stands for, under its own name.
struct NodeAttribute {
  std::string_view name;
  const Attribute* value = nullptr;
};

// Those of a node that is in no function, where nothing can refer to another's.
std::vector<NodeAttribute> AttributesOf(const Node& node);

struct CastRequest {
  DataType to = DataType::kUndefined;
  CastOptions options;
};

// Reads a Cast node; `as_tests`: see OptionsOf. Throws Error (contents) where the node breaks a
// rule of its opset's Cast.
CastRequest ReadCast(const NodePlace& place, std::span<const NodeAttribute> attributes,
                     std::int64_t opset, DataType from, bool as_tests);

// Reads a CastLike node whose second input has the type `like`.
CastRequest ReadCastLike(const NodePlace& place, std::span<const NodeAttribute> attributes,
                         std::int64_t opset, DataType from, DataType like, bool as_tests);

// "up", "down" or "nearest", and back. Throws core::Failure (kInvalidOption) for another mode.
std::string_view RoundModeText(RoundingMode mode);
std::optional<RoundingMode> RoundModeOf(std::string_view text);

// "an INT", "a STRING": the kind of an attribute, for messages.
std::string AttributeTypeText(AttributeType type);

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_CAST_OPERATOR_H_
