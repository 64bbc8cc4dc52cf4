// Reads the codes asked for and the scales of their cells, a piece at a time; of a transposed
// weight a matrix of codes, while it is small, so that its columns need not be gathered from the
// file.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scaled_reader.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/shape.h"
#include "io/error_text.h"
#include "scale/dequantiser.h"

namespace tensorcast::scale {
namespace {

// Elements that are read at once: their codes and scales stay in the second-level cache.
constexpr std::uint64_t kPiece = 1 << 16;
// A stretch of codes begins and ends at its multiples: whole bytes of every type.
constexpr std::uint64_t kGrain = 8;
// Matrices of codes that are held while their columns are read: so many, each of so many bytes at
// most; a larger one is read a part of a row at a time.
constexpr std::size_t kSlabs = 2;
constexpr std::uint64_t kMostSlabBytes = std::uint64_t{32} << 20;
// Rows whose values are made before they are written as columns.
constexpr std::uint64_t kRowTile = 32;

constexpr std::string_view kMetadataMark = "_quantization_metadata";

bool IsSound(double scale) { return scale > 0 && std::isfinite(scale); }

std::uint64_t BytesOf(DataType type, std::uint64_t n) { return *StorageBytes(type, n); }

// The index of a cell's first element, as the codes stand.
std::uint64_t FirstElement(const Partition& p, std::uint64_t cell) {
  const std::uint64_t cell_row = cell / p.cell_columns();
  const std::uint64_t matrix = cell_row / p.cell_rows();
  const std::uint64_t row = matrix * p.rows + cell_row % p.cell_rows() * p.block_rows;
  return row * p.columns + cell % p.cell_columns() * p.block_columns;
}

}  // namespace

// The codes of one matrix and the scales of its cells.
struct ScaledReader::Slab {
  std::size_t tensor = 0;
  std::uint64_t matrix = 0;
  std::vector<std::byte> codes;
  CellRange cells;
  std::vector<double> scales;
};

ScaledReader::ScaledReader(std::unique_ptr<io::TensorReader> base,
                           std::vector<AppliedWeight> applied, bool drops_metadata)
    : base_(std::move(base)), applied_(std::move(applied)), contents_(base_->contents()) {
  contents_.is_dequantised = drops_metadata;
  if (drops_metadata) contents_.metadata.erase(std::string(kMetadataMark));
  for (std::size_t i = 0; i < applied_.size(); ++i) {
    const ScaledWeight& weight = applied_[i].weight;
    by_codes_.emplace(weight.codes, i);
    io::TensorInfo& info = contents_.tensors[weight.codes];
    info.name = weight.name;
    info.shape = weight.shape;
    info.elements = *core::CheckedProduct(info.shape);
    info.type = DataType::kFloat64;
    info.dtype.clear();
    info.layout = weight.reading.Name();
    info.stored_bytes = base_->contents().tensors[weight.codes].bytes;
    for (const std::size_t one : weight.companions) {
      info.stored_bytes += base_->contents().tensors[one].bytes;
    }
    const auto bytes = StorageBytes(DataType::kFloat64, info.elements);
    if (!bytes) {
      throw io::Error(
          io::ErrorKind::kContents,
          io::EscapeName(info.name) + " has more values than 64 bits can count as float64");
    }
    info.bytes = *bytes;
  }
}

ScaledReader::~ScaledReader() = default;

const AppliedWeight* ScaledReader::applied(std::size_t tensor) const {
  const auto found = by_codes_.find(tensor);
  return found == by_codes_.end() ? nullptr : &applied_[found->second];
}

void ScaledReader::Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const {
  const AppliedWeight* const weight = applied(tensor);
  if (weight == nullptr) {
    base_->Read(tensor, offset, out);
    return;
  }
  std::vector<double> values(
      static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, out.size() / sizeof(double))));
  const bool is_transposed = weight->weight.reading.layout->is_transposed;
  std::uint64_t first = offset / sizeof(double);
  const std::uint64_t columns = weight->weight.reading.partition.columns;
  if (is_transposed) values.resize(out.size() / sizeof(double));
  for (std::size_t done = 0; done < out.size();) {
    std::uint64_t n = std::min<std::uint64_t>(values.size(), (out.size() - done) / sizeof(double));
    // Cells between the ends of two long rows are many, and not needed.
    if (!is_transposed && columns > kPiece) n = std::min(n, columns - first % columns);
    const std::span<double> piece = std::span(values).first(static_cast<std::size_t>(n));
    if (is_transposed) {
      ReadTransposed(*weight, first, piece);
    } else {
      ReadInOrder(*weight, first, piece);
    }
    // float64's dense form is little-endian, as the machines are that this is built for.
    const auto bytes = std::as_bytes(piece);
    std::copy(bytes.begin(), bytes.end(), out.begin() + static_cast<std::ptrdiff_t>(done));
    done += bytes.size();
    first += n;
  }
}

std::vector<double> ScaledReader::ReadCells(std::size_t tensor, DataType type,
                                            CellRange cells) const {
  const std::uint64_t begin = BytesOf(type, cells.first);
  std::vector<std::byte> codes(static_cast<std::size_t>(BytesOf(type, cells.count)));
  base_->Read(tensor, begin, codes);
  std::vector<double> values(static_cast<std::size_t>(cells.count));
  const Status status =
      Cast(type, codes, DataType::kFloat64, std::as_writable_bytes(std::span(values)), cells.count);
  if (!status.ok()) throw core::Failure(status.code(), std::string(status.message()));
  return values;
}

double ScaledReader::GlobalOf(const ScaledWeight& weight) const {
  return weight.global ? ReadCells(*weight.global, DataType::kFloat32, {0, 1}).front() : 1;
}

void ScaledReader::ReadInOrder(const AppliedWeight& applied, std::uint64_t first,
                               std::span<double> out) const {
  const ScaledWeight& weight = applied.weight;
  const Scaling& scaling = weight.reading.scaling;
  const Partition& partition = weight.reading.partition;
  const std::uint64_t n = out.size();
  const CellRange cells = partition.CellsOf(first, n);
  const std::vector<double> scales = ReadCells(weight.scale, scaling.scale, cells);
  std::vector<double> zeros;
  if (weight.zero_point) zeros = ReadCells(*weight.zero_point, scaling.element, cells);
  const std::uint64_t begin = first / kGrain * kGrain;
  const std::uint64_t end =
      std::min(partition.elements(), (first + n + kGrain - 1) / kGrain * kGrain);
  const std::uint64_t begin_byte = BytesOf(scaling.element, begin);
  std::vector<std::byte> codes(
      static_cast<std::size_t>(BytesOf(scaling.element, end) - begin_byte));
  base_->Read(weight.codes, begin_byte, codes);
  Dequantiser(scaling, partition, applied.rounding)
      .Run(codes, first - begin, first, n, {cells.first, scales, zeros, GlobalOf(weight)}, out);
  Note(weight, cells, scales, first, n);
}

std::shared_ptr<const ScaledReader::Slab> ScaledReader::SlabOf(const ScaledWeight& weight,
                                                               std::uint64_t matrix) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto held = std::find_if(slabs_.begin(), slabs_.end(), [&](const auto& slab) {
    return slab->tensor == weight.codes && slab->matrix == matrix;
  });
  if (held != slabs_.end()) {
    std::rotate(held, held + 1, slabs_.end());
    return slabs_.back();
  }
  const std::vector<std::uint64_t>& shape = weight.reading.shape;
  const std::uint64_t elements = shape.end()[-1] * shape.end()[-2];
  const std::uint64_t bytes = BytesOf(weight.reading.scaling.element, elements);
  auto slab = std::make_shared<Slab>();
  slab->tensor = weight.codes;
  slab->matrix = matrix;
  slab->codes.resize(static_cast<std::size_t>(bytes));
  if (slabs_.size() == kSlabs) slabs_.erase(slabs_.begin());
  base_->Read(weight.codes, matrix * bytes, slab->codes);
  slab->cells = weight.reading.partition.CellsOf(matrix * elements, elements);
  slab->scales = ReadCells(weight.scale, weight.reading.scaling.scale, slab->cells);
  slabs_.push_back(std::move(slab));
  return slabs_.back();
}

void ScaledReader::ReadTransposed(const AppliedWeight& applied, std::uint64_t first,
                                  std::span<double> out) const {
  const ScaledWeight& weight = applied.weight;
  const Scaling& scaling = weight.reading.scaling;
  const Partition& partition = weight.reading.partition;
  const std::vector<std::uint64_t>& shape = weight.reading.shape;
  const std::uint64_t rows = shape.end()[-2], columns = shape.end()[-1];  // of the codes
  const Dequantiser dequantiser(scaling, partition, applied.rounding);
  const double global = GlobalOf(weight);
  const std::uint64_t row_bytes = BytesOf(scaling.element, columns);
  std::vector<std::byte> own;
  std::vector<double> tile;
  for (std::uint64_t done = 0; done < out.size();) {
    const std::uint64_t matrix = (first + done) / (rows * columns);
    // Elements [begin, end) of the matrix as it is read: column after column of the codes.
    const std::uint64_t begin = (first + done) % (rows * columns);
    const std::uint64_t end = std::min(rows * columns, begin + (out.size() - done));
    // Whole columns of the codes, in groups: scales and bytes are of whole ones.
    const std::uint64_t c0 = begin / rows / kGrain * kGrain;
    const std::uint64_t c1 = std::min(columns, ((end - 1) / rows / kGrain + 1) * kGrain);
    const std::uint64_t width = c1 - c0;
    std::shared_ptr<const Slab> slab;
    if (rows * row_bytes <= kMostSlabBytes) slab = SlabOf(weight, matrix);
    own.resize(static_cast<std::size_t>(BytesOf(scaling.element, width)));
    tile.resize(static_cast<std::size_t>(kRowTile * width));
    const std::uint64_t c0_byte = BytesOf(scaling.element, c0);
    for (std::uint64_t r0 = 0; r0 < rows; r0 += kRowTile) {
      const std::uint64_t r1 = std::min(rows, r0 + kRowTile);
      for (std::uint64_t r = r0; r < r1; ++r) {
        std::span<const std::byte> codes = own;
        if (slab != nullptr) {
          codes = std::span(slab->codes)
                      .subspan(static_cast<std::size_t>(r * row_bytes + c0_byte), own.size());
        } else {
          base_->Read(weight.codes, (matrix * rows + r) * row_bytes + c0_byte, own);
        }
        const std::uint64_t element = (matrix * rows + r) * columns + c0;
        const CellRange cells = partition.CellsOf(element, width);
        std::vector<double> read;
        std::span<const double> scales;
        if (slab != nullptr) {
          scales = std::span(slab->scales)
                       .subspan(static_cast<std::size_t>(cells.first - slab->cells.first),
                                static_cast<std::size_t>(cells.count));
        } else {
          read = ReadCells(weight.scale, scaling.scale, cells);
          scales = read;
        }
        dequantiser.Run(codes, 0, element, width, {cells.first, scales, {}, global},
                        std::span(tile).subspan(static_cast<std::size_t>((r - r0) * width),
                                                static_cast<std::size_t>(width)));
        Note(weight, cells, scales, first, out.size());
      }
      for (std::uint64_t c = std::max(c0, begin / rows); c < c1; ++c) {
        for (std::uint64_t r = r0; r < r1; ++r) {
          const std::uint64_t place = c * rows + r;
          if (place < begin || place >= end) continue;
          out[static_cast<std::size_t>(done + place - begin)] =
              tile[static_cast<std::size_t>((r - r0) * width + c - c0)];
        }
      }
    }
    done += end - begin;
  }
}

void ScaledReader::Note(const ScaledWeight& weight, CellRange cells, std::span<const double> scales,
                        std::uint64_t first, std::uint64_t n) const {
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (IsSound(scales[i])) continue;
    const std::uint64_t cell = cells.first + i;
    std::uint64_t element = FirstElement(weight.reading.partition, cell);
    if (weight.reading.layout->is_transposed) {
      const std::vector<std::uint64_t>& shape = weight.reading.shape;
      const std::uint64_t rows = shape.end()[-2], columns = shape.end()[-1];
      const std::uint64_t row = element / columns;
      element = row / rows * rows * columns + element % columns * rows + row % rows;
    }
    // Others are counted by those who read their first element.
    if (element < first || element - first >= n) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    findings_[weight.codes].Add(cell, scales.subspan(i, 1));
  }
}

std::vector<std::string> ScaledReader::Findings() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> lines;
  for (const AppliedWeight& applied : applied_) {
    const auto found = findings_.find(applied.weight.codes);
    if (found == findings_.end()) continue;
    const ScaleFindings& findings = found->second;
    const io::TensorInfo& scale = base_->contents().tensors[applied.weight.scale];
    std::string what;
    const auto add = [&](std::uint64_t count, std::string_view word) {
      if (count == 0) return;
      what += (what.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(word);
    };
    add(findings.not_positive, "zero or negative");
    add(findings.infinite, "Inf");
    add(findings.nan, "NaN");
    lines.push_back(io::EscapeName(scale.name) + ": of " + io::CountText(scale.elements, "scale") +
                    " " + what + ", the first at index " + std::to_string(findings.first));
  }
  return lines;
}

}  // namespace tensorcast::scale
