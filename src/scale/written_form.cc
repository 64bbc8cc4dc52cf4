// What follows from a dialect's row, or from none.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/written_form.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/enum_names.h"
#include "core/shape.h"
#include "scale/gguf_blocks.h"
#include "scale/grouped_integers.h"
#include "scale/reordered_cells.h"
#include "scale/scale_search.h"
#include "scale/written_groups.h"

namespace tensorcast::scale {
namespace {

// In the order of convert::ScaledFormat.
constexpr std::string_view kFormatNames[] = {
    "none",  "fp8-tensor", "fp8-row", "fp8-block",  "int8-row",   "mxfp8",
    "mxfp6", "mxfp4",      "nvfp4",   "mxfp8-e5m2", "mxfp6-e3m2", "q8_0",
    "q5_1",  "q5_0",       "q4_1",    "q4_0",       "int4-group", "int8-group"};

std::uint64_t CellsAlong(std::uint64_t length, std::uint64_t block) {
  return length / block + (length % block != 0);
}

}  // namespace

std::vector<FormatWriter> WritersOf(const ScaledFormat& format) {
  std::vector<FormatWriter> writers;
  for (const Dialect* const dialect : Dialects()) {
    const auto layout = std::ranges::find(dialect->written, format.name, &WrittenLayout::format);
    if (layout != dialect->written.end()) writers.push_back({dialect, &*layout});
  }
  return writers;
}

const WrittenLayout* ModelLayoutOf(const ScaledFormat& format) {
  const std::span<const WrittenLayout> written = DialectOfLayout(kModelLayout)->written;
  const auto layout = std::ranges::find(written, format.name, &WrittenLayout::format);
  return layout != written.end() ? &*layout : nullptr;
}

std::string NotInModelsText(const ScaledFormat& format) {
  std::string written;
  for (const ScaledFormat& one : ScaledFormats()) {
    if (ModelLayoutOf(one) == nullptr) continue;
    written.append(written.empty() ? "" : ", ").append(one.name);
  }
  return "tensorcast does not write " + std::string(format.name) + " into models; it writes " +
         written;
}

const ScaledFormat* RowOf(convert::ScaledFormat format) {
  const auto index = static_cast<std::size_t>(format);
  return index < std::size(kFormatNames) ? FindScaledFormat(kFormatNames[index]) : nullptr;
}

convert::ScaledFormat FormatOf(const ScaledFormat& row) {
  const auto* const name = std::find(std::begin(kFormatNames), std::end(kFormatNames), row.name);
  return static_cast<convert::ScaledFormat>(name - std::begin(kFormatNames));
}

ScaleRule RuleOfBlocks(const ScaledFormat& format) {
  return format.scaling.scale == DataType::kFloat8E8M0 ? ScaleRule::kOcp : ScaleRule::kAmax;
}

std::string_view RuleName(const ScaledFormat& format, ScaleRule rule) {
  for (const NamedRule& named : format.rules) {
    if (named.rule == rule) return named.name;
  }
  return rule == ScaleRule::kUp ? "up (pow2)" : convert::ScaleRuleName(rule);
}

bool WrittenForm::IsOfModel() const {
  return dialect != nullptr && dialect->layout == kModelLayout;
}

bool WrittenForm::IsOfBlocks() const { return layout != nullptr && !layout->block.empty(); }

CellsBy WrittenForm::cells() const {
  return IsOfModel() && !axis ? CellsBy::kTensor : format->cells;
}

bool WrittenForm::NeedsAllValues(std::span<const std::uint64_t> shape) const {
  return cells() == CellsBy::kTensor || HasGlobal() || PartitionOf(shape).shares_cells;
}

IntegerForm WrittenForm::Integers() const {
  if (integers.bits != 0 || !IsOfGroups()) return integers;
  return {format->group_bits, format->block_columns, !format->is_asymmetric};
}

bool WrittenForm::HasGlobal() const { return *this && scaling().global_use != Factor::kNone; }

ScaleRule WrittenForm::plain_rule() const {
  return IsSearch(rule) ? format->rules.front().rule : rule;
}

Scaling WrittenForm::scaling() const {
  Scaling scaling = format->scaling;
  if (layout != nullptr) scaling.global_use = layout->global_use;
  return scaling;
}

Partition WrittenForm::PartitionOf(std::span<const std::uint64_t> shape) const {
  if (IsOfModel()) return axis ? Partition::OfAxis(shape, *axis) : Partition::OfTensor(shape);
  if (format->cells == CellsBy::kGroups) {
    const std::uint64_t row[] = {*core::CheckedProduct(shape)};
    return format->PartitionOf(row);
  }
  if (format->cells == CellsBy::kRows && shape.size() > 2) {
    return Partition::OfGroups(shape, shape.back());
  }
  return format->PartitionOf(shape);
}

std::vector<std::uint64_t> WrittenForm::ShapeOf(std::span<const std::uint64_t> shape) const {
  std::vector<std::uint64_t> cut(shape.begin(), shape.end());
  if (layout != nullptr && layout->is_transposed && cut.size() >= 2) {
    std::swap(cut.end()[-1], cut.end()[-2]);
  }
  return cut;
}

std::string WrittenForm::Text() const {
  std::string text(integers.bits != 0 ? GroupedFormat(integers.bits) : format->name);
  if (dialect != nullptr) text.append(" (").append(dialect->layout).append(")");
  if (IsOfGroups()) {
    text += format->block_columns == 0 ? ", one scale for a row"
                                       : ", groups of " + std::to_string(format->block_columns);
    if (format->is_asymmetric) text += ", asymmetric";
  }
  return text;
}

std::string WhyNot(const ScaledFormat& format, std::span<const std::uint64_t> shape) {
  if (shape.size() < 2) return "it is not a matrix";
  if (core::CheckedProduct(shape).value_or(0) == 0) return "it has no elements";
  if (!format.Takes(shape)) {
    return "its last dimension, " + std::to_string(shape.back()) + ", is not a multiple of " +
           std::to_string(format.block_columns);
  }
  return {};
}

std::string WhyNot(const WrittenForm& form, std::string_view name,
                   std::span<const std::uint64_t> shape) {
  const WrittenLayout* const layout = form.layout;
  if (layout != nullptr && layout->why_not != nullptr) {
    if (std::string why = layout->why_not(name, shape); !why.empty()) return why;
  }
  std::string why = WhyNot(*form.format, form.ShapeOf(shape));
  if (why.empty() && layout != nullptr && !name.ends_with(layout->plain)) {
    why = "its name does not end in " + std::string(layout->plain) + ", as the layout's do";
  }
  if (why.empty() && form.IsOfGroups() && layout != nullptr) why = WhyNotPlaced(form, shape);
  return why;
}

std::vector<WrittenTensor> TensorsOf(const WrittenForm& form, std::string_view name,
                                     std::span<const std::uint64_t> shape, DataType source) {
  const ScaledFormat& format = *form.format;
  if (form.IsOfGroups() && form.layout != nullptr) {
    return GroupTensorsOf(form, name, shape, source);
  }
  if (form.IsOfBlocks()) {
    const GgufBlocks& blocks = *FindGgufBlocks(form.layout->block);
    WrittenTensor made{std::string(name), {shape.begin(), shape.end()}, DataType::kUndefined};
    made.dtype = blocks.type;
    made.bytes = *core::CheckedProduct(shape) / blocks.values * blocks.bytes;
    return {made};
  }
  const WrittenLayout none{};
  const WrittenLayout& layout = form.layout != nullptr ? *form.layout : none;
  if (name.ends_with(layout.plain)) name.remove_suffix(layout.plain.size());
  const auto tensor = [&](std::string_view suffix, std::vector<std::uint64_t> dims, DataType type) {
    WrittenTensor made{std::string(name) + std::string(suffix), std::move(dims), type};
    made.bytes = *StorageBytes(type, *core::CheckedProduct(made.shape));
    return made;
  };
  std::vector<std::uint64_t> codes = form.ShapeOf(shape);
  std::vector<std::uint64_t> scales = codes;
  const std::vector<std::uint64_t> one = layout.one == OneShape::kScalar
                                             ? std::vector<std::uint64_t>()
                                             : std::vector<std::uint64_t>{1};
  switch (form.cells()) {
    case CellsBy::kTensor: scales = one; break;
    case CellsBy::kRows:
      if (form.axis) {
        scales = {shape[*form.axis]};
      } else {
        scales.back() = 1;
      }
      break;
    case CellsBy::kBlocks:
      scales.end()[-2] = CellsAlong(scales.end()[-2], format.block_rows);
      [[fallthrough]];
    case CellsBy::kGroups: scales.back() = CellsAlong(scales.back(), format.block_columns); break;
  }
  if (layout.has_tiled_scales) {
    const std::uint64_t tiles = ScaleTiles::Of(scales.back()).columns;
    scales.end()[-2] = CellsAlong(scales.end()[-2], ScaleTiles::kRows) * ScaleTiles::kRows;
    scales.back() = tiles * ScaleTiles::kColumns;
  }
  if (layout.packs_codes) {
    // A group is a whole number of bytes, and of words.
    const auto bits = static_cast<std::uint64_t>(FindType(format.scaling.element)->bits);
    const auto unit = static_cast<std::uint64_t>(FindType(layout.packed)->bits);
    const std::uint64_t groups = codes.back() / format.block_columns;
    codes.back() = format.block_columns * bits / unit;
    if (layout.splits_groups) {
      codes.insert(codes.end() - 1, groups);
    } else {
      codes.back() *= groups;
    }
  }
  std::vector<WrittenTensor> made;
  made.push_back(tensor(layout.codes, std::move(codes),
                        layout.packs_codes ? layout.packed : format.scaling.element));
  made.push_back(tensor(layout.scale, std::move(scales),
                        layout.has_scale_bytes ? DataType::kUint8 : format.scaling.scale));
  if (!layout.global.empty()) made.push_back(tensor(layout.global, one, DataType::kFloat32));
  return made;
}

}  // namespace tensorcast::scale

namespace tensorcast::convert {
inline namespace TENSORCAST_ABI {

std::string_view ScaledFormatName(ScaledFormat format) {
  return core::NameOf(scale::kFormatNames, format);
}

std::optional<ScaledFormat> ParseScaledFormat(std::string_view name) {
  const scale::ScaledFormat* const row = scale::FindScaledFormat(name);
  return row != nullptr ? std::optional(scale::FormatOf(*row)) : std::nullopt;
}

std::span<const std::string_view> ScaledLayouts() {
  static const std::vector<std::string_view> kLayouts = [] {
    std::vector<std::string_view> layouts;
    for (const scale::Dialect* const dialect : scale::Dialects()) {
      if (!dialect->written.empty()) layouts.push_back(dialect->layout);
    }
    return layouts;
  }();
  return kLayouts;
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::convert
