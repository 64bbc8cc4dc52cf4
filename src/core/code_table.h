// Casts from types of at most eight bits, worked out once: the result of every code, by the scalar
// codec, laid out for byte permutations. A table is made at the first plan that wants it and is
// shared from then on by all plans of its types and options.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_CODE_TABLE_H_
#define TENSORCAST_SRC_CORE_CODE_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

// Which bytes of its results a table has; the others follow from those.
enum class TableShape : std::uint8_t {
  kWhole,   // all: one byte (packed types too), two, four or eight
  kUpper,   // the upper half of the bytes of four or eight; the lower ones are zero
  kSigned,  // the lower four of eight; the upper ones repeat their sign
};

struct CodeTable {
  TableShape shape = TableShape::kWhole;
  std::uint8_t planes = 0;  // bytes of a result that stand here
  // Byte p of the result of code c at [p][c]. Types of fewer than eight bits repeat: whatever
  // stands above a code's bits does not matter.
  alignas(64) std::uint8_t bytes[8][256] = {};
};

// The table of a pair whose source has at most eight bits, or null: where there is none yet and
// `make` is not asked for, or where memory is short. Safe to call from several threads.
const CodeTable* FindCodeTable(const TypeInfo& from, const TypeInfo& to, const CastOptions& options,
                               bool make) noexcept;

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_CODE_TABLE_H_
