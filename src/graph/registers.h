// Which register of a program holds which value.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_REGISTERS_H_
#define TENSORCAST_SRC_GRAPH_REGISTERS_H_

#include <cstdint>
#include <span>

#include "graph/program.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::graph {

// Instead of a value: an optional input that a call does not give; instead of a step: none.
inline constexpr std::uint32_t kAbsent = UINT32_MAX;
// Instead of the last step that reads a value: it is a result of the program.
inline constexpr std::uint32_t kKept = UINT32_MAX - 1;

// A value, while the program is made.
struct Value {
  enum class Is : std::uint8_t { kInput, kConstant, kResult };
  DataType type = DataType::kUndefined;  // of a constant: or one that is none of ours
  Is is = Is::kInput;
  std::uint32_t index = 0;            // of the input, constant or step
  std::uint32_t last_read = kAbsent;  // the last step that reads it, or kKept
  std::uint32_t origin = 0;           // the input's or constant's value whose shape it has
};

// The steps' sources and results, and the program's results, are indices in `values`; they become
// places and registers, of which as few are used as values live at once.
void AssignRegisters(std::span<const Value> values, Program& program);

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_REGISTERS_H_
