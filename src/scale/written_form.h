// A scaled format as it is written: in a dialect's layout, by a rule. docs/scales_writing.md has a
// table of the layouts.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_WRITTEN_FORM_H_
#define TENSORCAST_SRC_SCALE_WRITTEN_FORM_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scale/dialects/dialect.h"
#include "scale/scale_rule.h"
#include "scale/scaled_format.h"
#include "scale/scaled_tensor.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::scale {

// A dialect that writes a format, and how.
struct FormatWriter {
  const Dialect* dialect = nullptr;
  const WrittenLayout* layout = nullptr;  // the dialect's
};

// The usual one first; none of a format that is only measured.
std::vector<FormatWriter> WritersOf(const ScaledFormat& format);
// The layout of models; null: the format is not written into them.
const WrittenLayout* ModelLayoutOf(const ScaledFormat& format);
// "tensorcast does not write mxfp4 into models; it writes fp8-tensor, fp8-row, int8-row".
std::string NotInModelsText(const ScaledFormat& format);

// The row of a format of the public interface, or null; and back.
const ScaledFormat* RowOf(convert::ScaledFormat format);
convert::ScaledFormat FormatOf(const ScaledFormat& row);
// The one by which GGUF's blocks of a format have their scales.
ScaleRule RuleOfBlocks(const ScaledFormat& format);
// "pow2"; both names of a rule that the format does not take.
std::string_view RuleName(const ScaledFormat& format, ScaleRule rule);

// Integers in groups, which formats of other names do not say: of how many bits, and whose group.
struct IntegerForm {
  int bits = 0;             // 0: it is none
  std::uint64_t group = 0;  // columns that share a scale; 0: all of a row
  bool is_symmetric = true;
  bool has_order = false;  // groups have an order of their own

  bool operator==(const IntegerForm&) const = default;
};

// A format with all that is open of it decided.
struct WrittenForm {
  const ScaledFormat* format = nullptr;   // null: it is no scaled form
  const Dialect* dialect = nullptr;       // null: it is only measured
  const WrittenLayout* layout = nullptr;  // the dialect's, of the format
  ScaleRule rule = ScaleRule::kAmax;
  // In a model's layout, the axis along which each index has a scale; without one the tensor has
  // one scale.
  std::optional<std::uint32_t> axis = {};
  IntegerForm integers = {};
  // Rows are rotated in groups of so many columns before they become codes (rotated_rows.h).
  std::uint32_t rotation = 0;

  explicit operator bool() const { return format != nullptr; }
  bool operator==(const WrittenForm&) const = default;

  Scaling scaling() const;
  // The rule of the scales that a search begins with; of others the rule itself.
  ScaleRule plain_rule() const;
  // Whether a scale of the whole tensor stands beside those of its cells.
  bool HasGlobal() const;
  // The tensor is one that the format can hold. It is cut as ScaledFormat::PartitionOf says, but
  // each row of each of stacked matrices has a scale, and groups, of which rows are whole numbers,
  // stand in one row: then the cells of any stretch of groups are these groups.
  Partition PartitionOf(std::span<const std::uint64_t> shape) const;
  // Whether it is as ONNX's DequantizeLinear takes it.
  bool IsOfModel() const;
  // Whether codes and scales stand in GGUF's blocks, in one tensor.
  bool IsOfBlocks() const;
  // Integers in groups: made by rules of their own.
  bool IsOfGroups() const { return *this && format->group_bits != 0; }
  // What integers in groups it has; none: bits are 0.
  IntegerForm Integers() const;
  // Has the whole tensor to be read before its first code is known?
  bool NeedsAllValues(std::span<const std::uint64_t> shape) const;
  // What a scale is of: the format's cells, but that a model's tensor of rows may have one scale.
  CellsBy cells() const;
  std::string Text() const;  // "fp8-block (deepseek)"
  // The shape of the weight as it is cut into cells: the last two dimensions are swapped where the
  // layout is transposed.
  std::vector<std::uint64_t> ShapeOf(std::span<const std::uint64_t> shape) const;
};

// Why a tensor of this shape cannot be held in the format; empty: it can. "its last dimension, 100,
// is not a multiple of 32".
std::string WhyNot(const ScaledFormat& format, std::span<const std::uint64_t> shape);
// The same, and why the form's layout does not have a weight of this name and shape.
std::string WhyNot(const WrittenForm& form, std::string_view name,
                   std::span<const std::uint64_t> shape);

// One tensor of a scaled weight as it stands in a file.
struct WrittenTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  DataType type;  // kUndefined: of blocks
  std::uint64_t bytes = 0;
  std::string_view dtype = {};  // of blocks GGUF's type; static storage
};
// Codes, scales and, where the layout has one, the global scale of a weight that the format can
// hold; of a form that is only measured its codes and scales unpacked. `source`: the weight's type.
std::vector<WrittenTensor> TensorsOf(const WrittenForm& form, std::string_view name,
                                     std::span<const std::uint64_t> shape, DataType source);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_WRITTEN_FORM_H_
