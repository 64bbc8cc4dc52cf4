// A part has its codes and scales in order, so that the lanes of scaled tensors take it.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/reordered_cells.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "scale/applier.h"
#include "scale/code_writer.h"
#include "scale/dequantiser.h"
#include "scale/matrix_parts.h"
#include "scale/stored_codes.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

// Scales that are counted at once.
constexpr std::uint64_t kCountedScales = 1 << 16;

std::uint64_t StoredBytes(DataType type, std::uint64_t n) { return *StorageBytes(type, n); }

std::vector<double> Decoded(DataType type, std::span<const std::byte> stored, std::uint64_t n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  Require(Cast(type, stored, DataType::kFloat64, std::as_writable_bytes(std::span(values)), n));
  return values;
}

struct LoadedCells {
  std::uint64_t first_element = 0;
  std::vector<std::byte> codes;
  std::uint64_t first_cell = 0;
  std::vector<std::byte> scale_codes;
  std::vector<double> scales;
  double global = 1;
  bool has_odd_scales = false;
};

class CellsPart final : public PackedWeight::Part {
 public:
  CellsPart(const ReorderedCells& cells, LoadedCells loaded)
      : scaling_(cells.scaling), partition_(cells.partition), loaded_(std::move(loaded)) {}

  bool HasOddScales() const override { return loaded_.has_odd_scales; }

  void Read(std::uint64_t first, Rounding rounding, std::span<double> values) const override {
    Dequantiser(scaling_, partition_, rounding)
        .Run(loaded_.codes, first - loaded_.first_element, first, values.size(), Scales(), values);
  }

  bool Cast(const CastPlan& plan, std::uint64_t first, std::span<std::byte> out) const override {
    const std::uint64_t n = out.size() * 8 / static_cast<unsigned>(FindType(plan.to())->bits);
    ApplierOf(plan)->Run(loaded_.codes, first - loaded_.first_element, first, n, Scales(), out);
    return true;
  }

 private:
  CellScales Scales() const {
    return {loaded_.first_cell, loaded_.scales, {}, loaded_.global, loaded_.scale_codes};
  }

  // That of the last plan: there is seldom more than one.
  std::shared_ptr<const Applier> ApplierOf(const CastPlan& plan) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (applier_ == nullptr || to_ != plan.to() || options_ != plan.options() ||
        target_ != plan.target()) {
      applier_ = std::make_shared<const Applier>(scaling_, partition_, loaded_.global, plan.to(),
                                                 plan.options(), plan.target());
      to_ = plan.to();
      options_ = plan.options();
      target_ = plan.target();
    }
    return applier_;
  }

  const Scaling scaling_;
  const Partition partition_;
  const LoadedCells loaded_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::shared_ptr<const Applier> applier_;
  mutable DataType to_ = DataType::kUndefined;
  mutable CastOptions options_;
  mutable Target target_ = Target::kBest;
};

class ReorderedWeight final : public PackedWeight, public StoredCodes {
 public:
  explicit ReorderedWeight(ReorderedCells cells)
      : cells_(std::move(cells)),
        parts_(cells_.partition.rows, cells_.partition.columns,
               FindType(cells_.scaling.element)->bits) {
    const Partition& partition = cells_.partition;
    stored_.rows = partition.rows;
    stored_.columns = partition.columns;
    stored_.group = std::min(partition.block_columns, partition.columns);
    stored_.bits = bits();
    if (FindType(cells_.scaling.element)->is_integer()) {
      stored_.zero = 1 << (bits() - 1);
    } else {
      stored_.element = cells_.scaling.element;
    }
    stored_.scale = cells_.scaling.scale;
    stored_.global_use = cells_.global ? cells_.scaling.global_use : Factor::kNone;
    stored_.globals = cells_.global ? 1 : 0;
  }

  const Form& form() const override { return cells_.form; }

  const StoredCodes* stored_codes() const override { return this; }
  const StoredForm& stored() const override { return stored_; }
  CodeLines ReadCodes(const formats::TensorReader& reader, std::uint64_t, std::uint64_t first,
                      std::uint64_t count) const override {
    CodeLines lines = MakeLines(count, stored_.columns, bits());
    // Rows that are no whole bytes follow each other in the middle of one.
    const auto width = stored_.columns * static_cast<std::uint64_t>(bits());
    const std::uint64_t at_once = width % 8 == 0 ? count : 1;
    for (std::uint64_t done = 0; done < count; done += at_once) {
      const std::vector<std::byte> some =
          LoadCodes(reader, {first + done, at_once, 0, stored_.columns});
      const auto size = static_cast<std::size_t>((width + 7) / 8);
      for (std::uint64_t r = 0; r < at_once; ++r) {
        std::memcpy(lines.bytes.data() + (done + r) * lines.stride, some.data() + r * size, size);
      }
    }
    if (stored_.IsInteger()) {
      for (std::byte& code : lines.bytes) code ^= std::byte{0x80};
    }
    return lines;
  }
  std::vector<std::byte> ReadScales(const formats::TensorReader& reader, std::uint64_t,
                                    std::uint64_t first, std::uint64_t count) const override {
    const Partition& cells = cells_.partition;
    if (cells.cells() != 1) {
      return LoadScales(reader, {first, count, 0, cells.columns},
                        cells.CellsOf(first * cells.columns, count * cells.columns));
    }
    const std::vector<std::byte> one = LoadScales(reader, {0, 1, 0, 1}, {0, 1});
    std::vector<std::byte> scales;
    for (std::uint64_t r = 0; r < count; ++r) scales.insert(scales.end(), one.begin(), one.end());
    return scales;
  }
  std::vector<float> ReadGlobals(const formats::TensorReader& reader) const override {
    if (!cells_.global) return {};
    std::vector<float> all(1);
    reader.Read(*cells_.global, 0, std::as_writable_bytes(std::span(all)));
    return all;
  }
  Place PlaceOf(std::uint64_t element) const override { return parts_.PlaceOf(element); }

  std::unique_ptr<const Part> Load(const formats::TensorReader& reader,
                                   std::uint64_t part) const override {
    const Rectangle place = parts_.At(part);
    const Partition& partition = cells_.partition;
    LoadedCells loaded;
    loaded.first_element = place.row * partition.columns + place.column;
    loaded.codes = LoadCodes(reader, place);
    const CellRange cells = partition.CellsOf(loaded.first_element, place.rows * place.columns);
    loaded.first_cell = cells.first;
    loaded.scale_codes = LoadScales(reader, place, cells);
    loaded.scales = Decoded(cells_.scaling.scale, loaded.scale_codes, cells.count);
    loaded.has_odd_scales =
        !std::ranges::all_of(loaded.scales, [&](double scale) { return IsWritten(scale); });
    if (cells_.global) {
      std::vector<std::byte> global(sizeof(float));
      reader.Read(*cells_.global, 0, global);
      loaded.global = Decoded(DataType::kFloat32, global, 1).front();
    }
    return std::make_unique<CellsPart>(cells_, std::move(loaded));
  }

  std::optional<ScaleFindings> CountScales(const formats::TensorReader& reader) const override {
    if (!cells_.tiles) return std::nullopt;
    // In the order in which they stand; what fills the tiles up does not count.
    const std::uint64_t all = reader.contents().tensors[cells_.scales].bytes;
    ScaleFindings found;
    for (std::uint64_t first = 0; first < all; first += kCountedScales) {
      const std::uint64_t n = std::min(kCountedScales, all - first);
      std::vector<std::byte> stored(static_cast<std::size_t>(n));
      reader.Read(cells_.scales, first, stored);
      std::vector<double> odd = Decoded(cells_.scaling.scale, stored, n);
      for (std::uint64_t i = 0; i < n; ++i) {
        if (IsWritten(odd[i]) || !IsUsed(first + i)) odd[i] = 1;
      }
      found.Add(first, odd);
    }
    return found;
  }

 private:
  int bits() const { return FindType(cells_.scaling.element)->bits; }

  // A block of zeros may have the scale 0 where there is a scale of scales.
  bool IsWritten(double scale) const {
    return std::isfinite(scale) && (scale > 0 || (scale == 0 && cells_.global));
  }

  // Whether a cell of the weight has the scale at this place.
  bool IsUsed(std::uint64_t place) const {
    constexpr std::uint64_t kBytes = ScaleTiles::kBytes;
    const std::uint64_t tile = place / kBytes, in_tile = place % kBytes;
    const std::uint64_t row =
        tile / cells_.tiles->columns * ScaleTiles::kRows + in_tile / 16 + in_tile % 16 / 4 * 32;
    const std::uint64_t column = tile % cells_.tiles->columns * ScaleTiles::kColumns + in_tile % 4;
    return row < cells_.partition.cell_rows() && column < cells_.partition.cell_columns();
  }

  std::vector<std::byte> LoadCodes(const formats::TensorReader& reader,
                                   const Rectangle& place) const {
    const auto width = static_cast<std::uint64_t>(bits());
    const auto bytes_of = [&](std::uint64_t n) {
      return static_cast<std::size_t>((n * width + 7) / 8);
    };
    std::vector<std::byte> codes(bytes_of(place.rows * place.columns));
    // Rows that follow each other are one read.
    const bool is_whole = cells_.stored_columns == place.columns;
    const std::uint64_t pieces = is_whole ? 1 : place.rows;
    const std::uint64_t length = is_whole ? place.rows * place.columns : place.columns;
    std::vector<std::byte> piece(is_whole ? 0 : bytes_of(length));
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const std::span<std::byte> read = is_whole ? std::span(codes) : std::span(piece);
      const std::uint64_t first = (place.row + i) * cells_.stored_columns + place.column;
      reader.Read(cells_.codes, first * width / 8, read);
      if (cells_.is_high_first) SwapNibbles(read);
      if (!is_whole) Append(piece, i * length, length, codes);
    }
    return codes;
  }

  static void SwapNibbles(std::span<std::byte> bytes) {
    for (std::byte& one : bytes) one = one << 4 | one >> 4;
  }

  // Codes of a row behind those of the rows before, in the middle of a byte perhaps.
  void Append(std::span<const std::byte> row, std::uint64_t at, std::uint64_t n,
              std::span<std::byte> codes) const {
    if (bits() == 8 || at % 2 == 0) {
      std::ranges::copy(row,
                        codes.begin() + static_cast<std::ptrdiff_t>(bits() == 8 ? at : at / 2));
      return;
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::byte code = (i % 2 == 0 ? row[i / 2] : row[i / 2] >> 4) & std::byte{15};
      std::byte& both = codes[(at + i) / 2];
      both = (at + i) % 2 == 0 ? code : (both & std::byte{15}) | code << 4;
    }
  }

  // Those of some cells, in their order.
  std::vector<std::byte> LoadScales(const formats::TensorReader& reader, const Rectangle& place,
                                    const CellRange& cells) const {
    const DataType type = cells_.scaling.scale;
    std::vector<std::byte> scales(static_cast<std::size_t>(StoredBytes(type, cells.count)));
    if (!cells_.tiles) {
      reader.Read(cells_.scales, StoredBytes(type, cells.first), scales);
      return scales;
    }
    const std::uint64_t width = cells_.partition.block_columns;
    const std::uint64_t first = place.column / width;
    const std::uint64_t end = (place.column + place.columns - 1) / width + 1;
    const std::uint64_t first_tile = first / ScaleTiles::kColumns;
    const std::uint64_t tiles = (end - 1) / ScaleTiles::kColumns + 1 - first_tile;
    std::vector<std::byte> band(static_cast<std::size_t>(tiles * ScaleTiles::kBytes));
    std::size_t at = 0;
    for (std::uint64_t r = place.row; r < place.row + place.rows; ++r) {
      if (at == 0 || r % ScaleTiles::kRows == 0) {
        reader.Read(cells_.scales,
                    cells_.tiles->PlaceOf(r / ScaleTiles::kRows * ScaleTiles::kRows,
                                          first_tile * ScaleTiles::kColumns),
                    band);
      }
      for (std::uint64_t c = first; c < end; ++c) {
        const std::uint64_t tile = c / ScaleTiles::kColumns - first_tile;
        scales[at++] = band[tile * ScaleTiles::kBytes + ScaleTiles::InTile(r, c)];
      }
    }
    return scales;
  }

  const ReorderedCells cells_;
  const MatrixParts parts_;
  StoredForm stored_;
};

}  // namespace

std::shared_ptr<const PackedWeight> MakeReorderedCells(ReorderedCells cells) {
  return std::make_shared<const ReorderedWeight>(std::move(cells));
}

}  // namespace tensorcast::scale
