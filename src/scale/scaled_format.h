// The scaled formats that can be written, as data: what they are called, how a tensor is cut into
// cells, the arithmetic, which rules give a scale. Under which names and with which scale type a
// file stores them is a layout's affair.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_SCALED_FORMAT_H_
#define TENSORCAST_SRC_SCALE_SCALED_FORMAT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "scale/scale_rule.h"
#include "scale/scaled_tensor.h"

namespace tensorcast::scale {

enum class CellsBy : std::uint8_t { kTensor, kRows, kBlocks, kGroups };

struct NamedRule {
  std::string_view name;  // "amax"
  ScaleRule rule;
};

struct ScaledFormat {
  std::string_view name;  // "fp8-block"
  CellsBy cells;
  std::uint64_t block_rows, block_columns;  // of kBlocks; a group is one row of block_columns
  Scaling scaling;  // float32 and a global scale that multiplies, unless the layout has another
  std::span<const NamedRule> rules;  // the default first
  // Codes and scales stand in blocks of a type of GGUF's: what arithmetic makes them is that type's
  // (scale/gguf_quantiser.h).
  bool is_of_blocks = false;
  // Integers of so many bits in groups, or rows, with zero points or without: a quantiser of their
  // own makes them (scale/group_quantiser.h). 0: it is none of these.
  int group_bits = 0;
  bool is_asymmetric = false;

  // Whether a tensor can have this format: a last dimension that is no multiple of the group, or
  // no element, leaves it as it is.
  bool Takes(std::span<const std::uint64_t> shape) const;
  Partition PartitionOf(std::span<const std::uint64_t> shape) const;
  // Nothing where the format has no such rule.
  std::optional<ScaleRule> FindRule(std::string_view rule) const;
};

std::span<const ScaledFormat> ScaledFormats();
// Null if no format has this name.
const ScaledFormat* FindScaledFormat(std::string_view name);
// The same integers in groups of so many columns, 0: in rows; null: groups have not that size.
const ScaledFormat* FindGroups(const ScaledFormat& format, std::uint64_t group, bool is_asymmetric);
inline constexpr std::uint64_t kGroupSizes[] = {32, 64, 128, 0};

// Bits that a value takes, its share of the scales included. The partition has elements.
double BitsPerValue(const Scaling& scaling, const Partition& partition);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_SCALED_FORMAT_H_
