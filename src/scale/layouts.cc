// A reading is tried for each layout and each partition; what is equal in meaning is one.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/layouts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/shape.h"
#include "files/error.h"

namespace tensorcast::scale {
namespace {

using formats::TensorInfo;
using Shape = std::vector<std::uint64_t>;
using enum Storage;
using enum ScaleType;

constexpr DataType kOwn = DataType::kUndefined;

// Sizes of blocks that are tried beside the configuration's, the usual one first. Of powers of two
// no two cut a dimension into the same number of pieces, unless it is one.
constexpr std::array<std::uint64_t, 7> kBlockSizes = {128, 64, 32, 16, 256, 512, 1024};

bool IsFloat8(DataType type) {
  const TypeInfo* const row = FindType(type);
  return row != nullptr && row->is_float() && row->bits == 8 && type != DataType::kFloat8E8M0;
}

bool IsByte(DataType type) { return type == DataType::kUint8 || type == DataType::kInt8; }

// The type of the scales, or kUndefined if the layout has no such scales.
DataType ScaleTypeOf(const Layout& layout, DataType type) {
  switch (layout.scale_type) {
    case kFloat:
      return type == DataType::kFloat32 || type == DataType::kBfloat16 || type == DataType::kFloat16
                 ? type
                 : kOwn;
    case kE8M0:
      return type == DataType::kUint8 || type == DataType::kFloat8E8M0 ? DataType::kFloat8E8M0
                                                                       : kOwn;
    case kE4M3FN: break;
  }
  return type == DataType::kFloat8E4M3FN ? type : kOwn;
}

// The element type of the codes and their shape as elements, or nothing.
struct Elements {
  DataType type = kOwn;
  Shape shape;
};

std::optional<Elements> ElementsOf(const Layout& layout, const TensorInfo& codes) {
  Elements elements{codes.type, codes.shape};
  switch (layout.storage) {
    case kFloat8: return IsFloat8(codes.type) ? std::optional(elements) : std::nullopt;
    case kInt8: return codes.type == DataType::kInt8 ? std::optional(elements) : std::nullopt;
    case kPackedBytes: break;
  }
  if (codes.type == layout.element && !layout.is_transposed) return elements;
  if (!IsByte(codes.type) || codes.shape.empty()) return std::nullopt;
  elements.type = layout.element;
  std::uint64_t last = codes.shape.back();
  if (layout.is_transposed) {
    // [..., groups, bytes of a group]
    if (codes.shape.size() < 3 || last * 2 != layout.group) return std::nullopt;
    elements.shape.pop_back();
    last *= elements.shape.back();
  }
  const auto bits = static_cast<std::uint64_t>(FindType(layout.element)->bits);
  if (last > UINT64_MAX / 8 || last * 8 % bits != 0) return std::nullopt;
  elements.shape.back() = last * 8 / bits;
  if (!core::CheckedProduct(elements.shape)) return std::nullopt;
  return elements;
}

// The partitions of a shape that have scales of this shape.
std::vector<Partition> PartitionsOf(const Shape& shape, Shape scales, std::uint64_t group,
                                    const QuantizationConfig& config) {
  std::vector<Partition> found;
  const std::uint64_t cells = core::CheckedProduct(scales).value_or(0);
  const std::size_t rank = shape.size();
  if (group != 0) {
    if (rank == 0) return found;
    Shape wanted = shape;
    wanted.back() = shape.back() / group + (shape.back() % group != 0);
    if (scales == wanted) found.push_back(Partition::OfGroups(shape, group));
    return found;
  }
  if (cells == 1) found.push_back(Partition::OfTensor(shape));
  if (rank == 0) return found;
  const auto ones_behind = [](const Shape& s, std::size_t from) {
    return std::all_of(s.begin() + static_cast<std::ptrdiff_t>(std::min(from, s.size())), s.end(),
                       [](std::uint64_t n) { return n == 1; });
  };
  if (!scales.empty() && cells == shape[0] && scales[0] == cells &&
      (scales.size() == 1 || scales.size() == rank) && ones_behind(scales, 1)) {
    found.push_back(Partition::OfRows(shape));
  }
  if (rank < 2) return found;
  if (scales.size() + 1 == rank && rank > 2) scales.push_back(1);  // of rows of stacked matrices
  if (scales.size() != rank || !std::equal(shape.begin(), shape.end() - 2, scales.begin())) {
    return found;
  }
  const std::uint64_t rows = shape[rank - 2], columns = shape[rank - 1];
  const auto sizes = [](std::uint64_t length, std::uint64_t pieces,
                        std::vector<std::uint64_t> tried) {
    std::vector<std::uint64_t> fit;
    if (pieces == 1) return std::vector{length};
    if (pieces == length) fit.push_back(1);
    tried.insert(tried.end(), kBlockSizes.begin(), kBlockSizes.end());
    for (const std::uint64_t size : tried) {
      if (length / size + (length % size != 0) == pieces &&
          std::find(fit.begin(), fit.end(), size) == fit.end()) {
        fit.push_back(size);
      }
    }
    return fit;
  };
  std::vector<std::uint64_t> of_rows, of_columns;
  for (const WeightScheme& scheme : config.schemes) {
    if (scheme.block_rows != 0) of_rows.push_back(scheme.block_rows);
    if (scheme.block_columns != 0) of_columns.push_back(scheme.block_columns);
    if (scheme.group != 0) of_columns.push_back(scheme.group);
  }
  for (const std::uint64_t b0 : sizes(rows, scales[rank - 2], of_rows)) {
    for (const std::uint64_t b1 : sizes(columns, scales[rank - 1], of_columns)) {
      found.push_back(Partition::OfBlocks(shape, b0, b1));
    }
  }
  return found;
}

// Which elements share a cell, in one form for all partitions of a tensor that have the same cells.
struct Cut {
  std::uint64_t run = 0;  // the elements of a cell, where all of them lie together; else 0
  // Otherwise: blocks over the last two dimensions, and the rows of a matrix where they end inside
  // a block of stacked matrices.
  std::uint64_t columns = 0, block_columns = 0, block_rows = 0, rows = 0;

  friend bool operator==(const Cut&, const Cut&) = default;
};

Cut CutOf(const Partition& p) {
  const std::uint64_t block_rows = std::min(p.block_rows, p.rows);
  const std::uint64_t block_columns = std::min(p.block_columns, p.columns);
  const bool is_ragged = p.batches > 1 && p.rows % block_rows != 0;
  if (block_columns == p.columns && !is_ragged) return {block_rows * p.columns};
  if (block_rows == 1 && p.columns % block_columns == 0) return {block_columns};
  return {0, p.columns, block_columns, block_rows, is_ragged ? p.rows : 0};
}

// What the cells of a partition of a tensor are called.
enum class Cells : std::uint8_t { kTensor, kMatrix, kRow, kGroup, kBlock };
Cells CellsOf(const Partition& partition, const Shape& shape) {
  if (partition.cells() == 1) return Cells::kTensor;
  const Cut cut = CutOf(partition);
  const std::size_t rank = shape.size();
  if (cut.run == shape.back()) return Cells::kRow;
  // Each output of a convolution has one.
  if (rank > 3 && cut.run * shape.front() == partition.elements()) return Cells::kRow;
  if (rank > 2 && cut.run == shape[rank - 1] * shape[rank - 2]) return Cells::kMatrix;
  if (cut.run != 0 ? cut.run < shape.back() : cut.block_rows == 1) return Cells::kGroup;
  return Cells::kBlock;
}

// The partitions that a scheme asks for.
std::vector<Partition> PartitionsOf(const WeightScheme& scheme, const Shape& shape) {
  if (shape.empty()) return {Partition::OfTensor(shape)};
  if (scheme.strategy == "tensor") {
    if (shape.size() < 3) return {Partition::OfTensor(shape)};
    // Each of stacked matrices has one.
    return {Partition::OfTensor(shape), Partition::OfBlocks(shape, UINT64_MAX, UINT64_MAX)};
  }
  if (scheme.strategy == "channel") return {Partition::OfGroups(shape, UINT64_MAX)};
  if (scheme.strategy == "block" && scheme.block_rows != 0) {
    return {Partition::OfBlocks(shape, scheme.block_rows, scheme.block_columns)};
  }
  if (scheme.group != 0) return {Partition::OfGroups(shape, scheme.group)};
  return {};
}

// Integers of fewer bits may stand in an int8 each (compressed-tensors' "int-quantized").
bool HasBits(const WeightScheme& scheme, const Reading& reading) {
  if (reading.packed != nullptr) {
    const PackedWeight::Form& form = reading.packed->form();
    return scheme.bits == 0 || (scheme.bits == form.bits && scheme.is_integer == form.is_integer);
  }
  const TypeInfo* const type = FindType(reading.scaling.element);
  const bool has_room = reading.layout->storage == kInt8 && scheme.bits < type->bits;
  return scheme.bits == 0 ||
         ((scheme.bits == type->bits || has_room) && scheme.is_integer != type->is_float());
}

}  // namespace

std::string_view Reading::Writer() const {
  return layout == nullptr || layout->writer.empty() ? dialect->name : layout->writer;
}

std::uint64_t Reading::Rotation() const { return packed != nullptr ? packed->form().rotation : 0; }

std::string_view Reading::Name() const {
  if (packed != nullptr) return packed->form().name;
  const TypeInfo* const type = FindType(scaling.element);
  if (type->bits == 4) return scaling.global_use != Factor::kNone ? "nvfp4" : "mxfp4";
  if (type->bits == 6) return "mxfp6";
  const bool is_float = type->is_float();
  switch (CellsOf(partition, shape)) {
    case Cells::kTensor:
    case Cells::kMatrix: return is_float ? "fp8-tensor" : "int8-tensor";
    case Cells::kRow: return is_float ? "fp8-row" : "int8-row";
    case Cells::kBlock: return is_float ? "fp8-block" : "int8-block";
    case Cells::kGroup: break;
  }
  if (scaling.scale == DataType::kFloat8E8M0 && partition.block_columns == 32) return "mxfp8";
  return is_float ? "fp8-group" : "int8-group";
}

std::string Reading::PartitionText() const {
  if (packed != nullptr) return packed->form().cells;
  if (layout->group != 0) return "groups of " + std::to_string(layout->group);
  switch (CellsOf(partition, shape)) {
    case Cells::kTensor: return "one scale for the tensor";
    case Cells::kMatrix: return "one scale for a matrix";
    case Cells::kRow: return "one scale for a row";
    case Cells::kGroup: return "groups of " + std::to_string(partition.block_columns);
    case Cells::kBlock: break;
  }
  return "blocks of " + std::to_string(partition.block_rows) + " × " +
         std::to_string(partition.block_columns);
}

bool Reading::Means(const Reading& other) const {
  if (packed != nullptr || other.packed != nullptr) return packed == other.packed;
  return scaling.element == other.scaling.element && scaling.scale == other.scaling.scale &&
         scaling.global_use == other.scaling.global_use &&
         layout->is_transposed == other.layout->is_transposed && shape == other.shape &&
         CutOf(partition) == CutOf(other.partition);
}

namespace {

// Whether a tensor's name is a stem and an ending.
bool IsCalled(const TensorInfo& info, std::string_view stem, std::string_view ending) {
  return info.name.size() == stem.size() + ending.size() && info.name.starts_with(stem) &&
         info.name.ends_with(ending);
}

// Of two readings that give the same values: that of the dialect which the configuration names;
// and where the weight's name differs, that of the layout which knows more of its end.
bool IsBetter(const Reading& one, const Reading& than, const Dialect* named) {
  if ((one.dialect == named) != (than.dialect == named)) return one.dialect == named;
  return one.name != than.name && one.layout->codes.size() > than.layout->codes.size();
}

// The readings that one layout allows, without its dialect.
std::vector<Reading> ReadingsOf(const WeightTensors& tensors, const Layout& layout,
                                const QuantizationConfig& config) {
  std::vector<Reading> readings;
  std::string_view stem = tensors.codes->name;
  if (!stem.ends_with(layout.codes)) return readings;
  stem.remove_suffix(layout.codes.size());
  if (!IsCalled(*tensors.scale, stem, layout.scale) ||
      (tensors.global != nullptr) != !layout.global.empty() ||
      (tensors.global != nullptr && !IsCalled(*tensors.global, stem, layout.global))) {
    return readings;
  }
  const DataType scale = ScaleTypeOf(layout, tensors.scale->type);
  const std::optional<Elements> elements = ElementsOf(layout, *tensors.codes);
  if (scale == kOwn || !elements) return readings;
  if (tensors.zero_point != nullptr && layout.storage != kInt8) return readings;
  for (const Partition& partition :
       PartitionsOf(elements->shape, tensors.scale->shape, layout.group, config)) {
    Reading& reading = readings.emplace_back();
    reading.layout = &layout;
    reading.name = std::string(stem).append(layout.plain);
    reading.scaling.element = elements->type;
    reading.scaling.scale = scale;
    reading.scaling.global_use = layout.global_use;
    reading.scaling.zero_point = tensors.zero_point != nullptr;
    reading.partition = partition;
    reading.shape = elements->shape;
  }
  return readings;
}

}  // namespace

std::vector<Reading> ReadingsOf(const WeightTensors& tensors, const QuantizationConfig& config,
                                std::span<const Dialect* const> dialects) {
  std::vector<Reading> readings;
  for (const Dialect* const dialect : dialects) {
    for (const Layout& layout : dialect->layouts) {
      for (Reading& reading : ReadingsOf(tensors, layout, config)) {
        reading.dialect = dialect;
        const auto same = std::find_if(readings.begin(), readings.end(),
                                       [&](const Reading& one) { return one.Means(reading); });
        if (same == readings.end()) {
          readings.push_back(std::move(reading));
        } else if (IsBetter(reading, *same, config.dialect)) {
          *same = std::move(reading);
        }
      }
    }
  }
  return readings;
}

bool Allows(const WeightScheme& scheme, const Reading& reading) {
  if (!HasBits(scheme, reading) || !scheme.misread.empty()) return false;
  if (reading.packed != nullptr) {
    const std::uint64_t group = reading.packed->form().group;
    return scheme.strategy == "channel" ? group == 0 : scheme.group == 0 || scheme.group == group;
  }
  const std::vector<Partition> asked = PartitionsOf(scheme, reading.shape);
  return asked.empty() || std::any_of(asked.begin(), asked.end(), [&](const Partition& p) {
           return CutOf(p) == CutOf(reading.partition);
         });
}

bool Allows(const QuantizationConfig& config, const Reading& reading) {
  bool is_bound = config.is_complete;
  for (const WeightScheme& scheme : config.schemes) {
    if (Allows(scheme, reading)) return true;
    is_bound = is_bound || HasBits(scheme, reading);
  }
  return !is_bound;
}

std::string SchemeText(const QuantizationConfig& config, const Reading& reading) {
  for (const WeightScheme& scheme : config.schemes) {
    if (HasBits(scheme, reading)) return scheme.Text();
  }
  std::string text = words::Quoted(config.method);
  if (!config.schemes.empty()) {
    const WeightScheme& first = config.schemes.front();
    text +=
        ", " + std::to_string(first.bits) + (first.is_integer ? "-bit integers" : "-bit floats");
  }
  return text;
}

}  // namespace tensorcast::scale
