// Reads the codes asked for and the scales of their cells, a piece at a time; of a transposed
// weight a slab of codes, a matrix or some columns of it, which serves the calls for its other
// columns too.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scaled_reader.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/shape.h"
#include "files/error.h"
#include "scale/dequantiser.h"
#include "scale/fused_names.h"

namespace tensorcast::scale {
namespace {

// Elements that are read at once: their codes and scales stay in the second-level cache.
constexpr std::uint64_t kPiece = 1 << 16;
// A stretch of codes begins and ends at its multiples: whole bytes of every type.
constexpr std::uint64_t kGrain = 8;
// Slabs that are held while their columns are read: so many, the codes of each of so many bytes.
constexpr std::size_t kSlabs = 2;
constexpr std::uint64_t kMostSlabBytes = std::uint64_t{16} << 20;
// Values that are made before they are written as columns, and rows that are written at once: a
// line of the cache of each column.
constexpr std::uint64_t kTile = 1 << 13;
constexpr std::uint64_t kRowTile = 8;
// Bands of columns that are held while what is read lies in them: so many, of about so many bytes
// and of whole multiples of so many columns.
constexpr std::size_t kBands = 2;
constexpr std::uint64_t kBandBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kBandColumns = 32;
// Weights are read one after the other; their parts by several threads.
constexpr std::size_t kAppliers = 4;

bool IsSound(double scale) { return scale > 0 && std::isfinite(scale); }

std::uint64_t BytesOf(DataType type, std::uint64_t n) { return *StorageBytes(type, n); }

}  // namespace

// The codes of a rectangle of one matrix and the scales of its cells, row by row.
struct ScaledReader::Slab {
  std::size_t tensor = 0;
  Rectangle place;
  std::vector<std::byte> codes;
  std::uint64_t cells = 0;  // of each row
  std::vector<double> scales;
  std::vector<std::byte> scale_codes;
};

// Some columns of codes of a matrix, each of all its rows, as values of the applier's type. It is
// known by its applier, which it keeps, so that no other stands at the same address.
struct ScaledReader::Band {
  std::size_t tensor = 0;
  std::shared_ptr<const Applier> applier;
  std::uint64_t matrix = 0, column = 0;
  std::vector<std::byte> values;
};

struct ScaledReader::HeldApplier {
  const AppliedWeight* applied;
  DataType to;
  CastOptions options;
  Target target;
  Applier applier;
};

ScaledReader::ScaledReader(std::shared_ptr<const formats::TensorReader> base,
                           std::vector<AppliedWeight> applied, bool drops_metadata)
    : base_(std::move(base)),
      parts_(*base_),
      applied_(std::move(applied)),
      contents_(base_->contents()) {
  contents_.is_dequantised = drops_metadata;
  if (drops_metadata) contents_.metadata.erase(std::string(kMetadataMark));
  for (std::size_t i = 0; i < applied_.size(); ++i) {
    const ScaledWeight& weight = applied_[i].weight;
    by_codes_.emplace(weight.codes, i);
    formats::TensorInfo& info = contents_.tensors[weight.codes];
    info.name = weight.name;
    info.shape = weight.shape;
    info.elements = *core::CheckedProduct(info.shape);
    info.type = DataType::kFloat64;
    info.dtype.clear();
    info.stored_as = weight.reading.Name();
    info.stored_bytes = base_->contents().tensors[weight.codes].bytes;
    for (const std::size_t one : weight.companions) {
      info.stored_bytes += base_->contents().tensors[one].bytes;
    }
    const auto bytes = StorageBytes(DataType::kFloat64, info.elements);
    if (!bytes) {
      throw files::Error(
          core::ErrorKind::kContents,
          words::EscapeName(info.name) + " has more values than 64 bits can count as float64");
    }
    info.bytes = *bytes;
  }
  FindFused();
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
  const std::uint64_t first = offset / sizeof(double);
  const std::size_t n = out.size() / sizeof(double);
  // float64's dense form is little-endian, as the machines are that this is built for.
  if (reinterpret_cast<std::uintptr_t>(out.data()) % alignof(double) == 0) {
    ReadValues(*weight, first, std::span(reinterpret_cast<double*>(out.data()), n));
    return;
  }
  std::vector<double> values(n);
  ReadValues(*weight, first, values);
  std::copy_n(std::as_bytes(std::span(values)).begin(), out.size(), out.begin());
}

void ScaledReader::ReadValues(const AppliedWeight& applied, std::uint64_t first,
                              std::span<double> out) const {
  const Reading& reading = applied.weight.reading;
  if (reading.packed != nullptr) {
    if (parts_.Read(*reading.packed, first, applied.rounding, out)) CountScales(applied.weight);
    return;
  }
  if (reading.IsTransposed()) return ReadTransposed(applied, first, out);
  const std::uint64_t columns = reading.partition.columns;
  while (!out.empty()) {
    std::uint64_t n = std::min<std::uint64_t>(kPiece, out.size());
    // Cells between the ends of two long rows are many, and not needed.
    if (columns > kPiece) n = std::min(n, columns - first % columns);
    ReadInOrder(applied, first, out.first(static_cast<std::size_t>(n)));
    out = out.subspan(static_cast<std::size_t>(n));
    first += n;
  }
}

ScaledReader::Cells ScaledReader::ReadCells(std::size_t tensor, DataType type,
                                            CellRange cells) const {
  const std::uint64_t begin = BytesOf(type, cells.first);
  Cells read;
  read.codes.resize(static_cast<std::size_t>(BytesOf(type, cells.count)));
  base_->Read(tensor, begin, read.codes);
  read.values.resize(static_cast<std::size_t>(cells.count));
  const Status status = Cast(type, read.codes, DataType::kFloat64,
                             std::as_writable_bytes(std::span(read.values)), cells.count);
  if (!status.ok()) throw core::Failure(status, std::string(status.message()));
  return read;
}

double ScaledReader::GlobalOf(const AppliedWeight& applied) const {
  if (!applied.weight.global) return 1;
  const auto place = [&](const AppliedWeight& one) {
    return static_cast<std::size_t>(&one - applied_.data());
  };
  const auto read = [&](const AppliedWeight& one) {
    const double global = ReadCells(*one.weight.global, DataType::kFloat32, {0, 1}).values.front();
    const std::lock_guard<std::mutex> lock(mutex_);
    globals_[place(one)] = global;
    return global;
  };
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const std::optional<double>& known = globals_[place(applied)]) return *known;
  }
  // Whoever reads a part of a matrix learns what the others say, too.
  for (const std::uint32_t i : FusedWith(applied)) read(applied_[i]);
  return read(applied);
}

void ScaledReader::ReadInOrder(const AppliedWeight& applied, std::uint64_t first,
                               std::span<double> out) const {
  const ScaledWeight& weight = applied.weight;
  const Scaling& scaling = weight.reading.scaling;
  const Partition& partition = weight.reading.partition;
  const std::uint64_t n = out.size();
  const CellRange cells = partition.CellsOf(first, n);
  const std::vector<double> scales = ReadCells(weight.scale, scaling.scale, cells).values;
  const std::vector<double> zeros = ReadZeros(weight, cells);
  const std::vector<std::byte> codes = ReadCodes(weight, first, n);
  Dequantiser(scaling, partition, applied.rounding)
      .Run(codes, first % kGrain, first, n, {cells.first, scales, zeros, GlobalOf(applied)}, out);
  Note(weight, scales);
}

std::vector<double> ScaledReader::ReadZeros(const ScaledWeight& weight, CellRange cells) const {
  if (!weight.zero_point) return {};
  return ReadCells(*weight.zero_point, weight.reading.scaling.element, cells).values;
}

// Codes from the multiple of kGrain before `first` on.
std::vector<std::byte> ScaledReader::ReadCodes(const ScaledWeight& weight, std::uint64_t first,
                                               std::uint64_t n) const {
  const DataType element = weight.reading.scaling.element;
  const std::uint64_t begin = BytesOf(element, first / kGrain * kGrain);
  const std::uint64_t end =
      std::min(weight.reading.partition.elements(), (first + n + kGrain - 1) / kGrain * kGrain);
  std::vector<std::byte> codes(static_cast<std::size_t>(BytesOf(element, end) - begin));
  base_->Read(weight.codes, begin, codes);
  return codes;
}

std::shared_ptr<const ScaledReader::Slab> ScaledReader::SlabOf(const ScaledWeight& weight,
                                                               std::uint64_t matrix,
                                                               std::uint64_t row,
                                                               std::uint64_t column) const {
  const DataType element = weight.reading.scaling.element;
  const Partition& partition = weight.reading.partition;
  const std::vector<std::uint64_t>& shape = weight.reading.shape;
  const std::uint64_t rows = shape.end()[-2], columns = shape.end()[-1];
  // The whole matrix, else as many columns of all its rows, else as many rows as there is room for.
  const std::uint64_t groups = kMostSlabBytes / (rows * BytesOf(element, kGrain));
  const std::uint64_t width = std::min(columns, std::max<std::uint64_t>(groups, 1) * kGrain);
  const std::uint64_t height = groups > 0 ? rows : kMostSlabBytes / BytesOf(element, kGrain);
  Rectangle place;
  place.column = column / width * width;
  place.columns = std::min(width, columns - place.column);
  const std::uint64_t first_row = row / height * height;
  place.row = matrix * rows + first_row;
  place.rows = std::min(height, rows - first_row);

  const std::lock_guard<std::mutex> lock(mutex_);
  const auto held = std::find_if(slabs_.begin(), slabs_.end(), [&](const auto& slab) {
    return slab->tensor == weight.codes && slab->place.row == place.row &&
           slab->place.column == place.column;
  });
  if (held != slabs_.end()) {
    std::rotate(held, held + 1, slabs_.end());
    return slabs_.back();
  }
  if (slabs_.size() == kSlabs) slabs_.erase(slabs_.begin());
  auto slab = std::make_shared<Slab>();
  slab->tensor = weight.codes;
  slab->place = place;
  slab->codes.resize(static_cast<std::size_t>(place.rows * BytesOf(element, place.columns)));
  // Whole rows are read at once, parts of them one by one.
  const bool is_whole = place.columns == columns;
  const std::uint64_t pieces = is_whole ? 1 : place.rows;
  const std::uint64_t length = place.rows * place.columns / pieces;
  const std::size_t bytes = slab->codes.size() / static_cast<std::size_t>(pieces);
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::uint64_t first = (place.row + i) * columns + place.column;
    base_->Read(weight.codes, BytesOf(element, first),
                std::span(slab->codes).subspan(static_cast<std::size_t>(i) * bytes, bytes));
    const Cells cells =
        ReadCells(weight.scale, weight.reading.scaling.scale, partition.CellsOf(first, length));
    slab->scales.insert(slab->scales.end(), cells.values.begin(), cells.values.end());
    slab->scale_codes.insert(slab->scale_codes.end(), cells.codes.begin(), cells.codes.end());
  }
  slab->cells = slab->scales.size() / place.rows;
  slabs_.push_back(std::move(slab));
  return slabs_.back();
}

void ScaledReader::ReadTransposed(const AppliedWeight& applied, std::uint64_t first,
                                  std::span<double> out) const {
  const ScaledWeight& weight = applied.weight;
  const std::vector<std::uint64_t>& shape = weight.reading.shape;
  const std::uint64_t rows = shape.end()[-2], columns = shape.end()[-1];  // of the codes
  const Dequantiser dequantiser(weight.reading.scaling, weight.reading.partition, applied.rounding);
  const double global = GlobalOf(applied);
  for (std::uint64_t done = 0; done < out.size();) {
    const std::uint64_t matrix = (first + done) / (rows * columns);
    // Elements [begin, end) of the matrix as it is read: column after column of the codes.
    const std::uint64_t begin = (first + done) % (rows * columns);
    const std::uint64_t end = std::min(rows * columns, begin + (out.size() - done));
    const std::uint64_t column = begin / rows, last_column = (end - 1) / rows;
    const bool is_one = column == last_column;
    const std::uint64_t row_end = is_one ? (end - 1) % rows + 1 : rows;
    // Columns in groups: bytes are of whole ones.
    const std::uint64_t column_end = std::min(columns, (last_column / kGrain + 1) * kGrain);
    const TransposedPart part = {
        applied, dequantiser, global, begin,
        out.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(end - begin))};
    std::uint64_t next_column = column_end;
    for (std::uint64_t c = column / kGrain * kGrain; c < column_end; c = next_column) {
      for (std::uint64_t r = is_one ? begin % rows : 0; r < row_end;) {
        const std::shared_ptr<const Slab> slab = SlabOf(weight, matrix, r, c);
        const std::uint64_t stop =
            std::min(row_end, slab->place.row + slab->place.rows - matrix * rows);
        next_column = std::min(column_end, slab->place.column + slab->place.columns);
        Transpose(*slab, {matrix * rows + r, stop - r, c, next_column - c}, part);
        r = stop;
      }
    }
    done += end - begin;
  }
}

void ScaledReader::Transpose(const Slab& slab, const Rectangle& wanted,
                             const TransposedPart& part) const {
  const ScaledWeight& weight = part.applied.weight;
  const Partition& partition = weight.reading.partition;
  const DataType element = weight.reading.scaling.element;
  const std::uint64_t rows = weight.reading.shape.end()[-2], columns = partition.columns;
  const std::uint64_t width = wanted.columns;
  const auto bytes = static_cast<std::size_t>(BytesOf(element, width));
  const std::uint64_t slab_bytes = BytesOf(element, slab.place.columns);
  const std::uint64_t skipped = BytesOf(element, wanted.column - slab.place.column);
  const std::uint64_t skipped_cells =
      wanted.column / partition.block_columns - slab.place.column / partition.block_columns;
  const std::uint64_t cells =
      partition.CellsOf(wanted.row * columns + wanted.column, width).count;  // of each row
  const std::uint64_t height = std::max(kRowTile, kTile / width / kRowTile * kRowTile);
  const auto most = static_cast<std::size_t>(std::min(height, wanted.rows));
  std::vector<std::byte> codes(most * bytes);
  std::vector<double> tile(most * static_cast<std::size_t>(width));
  for (std::uint64_t done = 0; done < wanted.rows; done += height) {
    const Rectangle some = {wanted.row + done, std::min(height, wanted.rows - done), wanted.column,
                            width};
    const std::uint64_t slab_row = some.row - slab.place.row;
    const std::byte* row = slab.codes.data() + slab_row * slab_bytes + skipped;
    for (std::uint64_t r = 0; r < some.rows; ++r, row += slab_bytes) {
      std::copy_n(row, bytes, codes.begin() + static_cast<std::ptrdiff_t>(r * bytes));
    }
    const std::span<const double> scales =
        std::span(slab.scales)
            .subspan(static_cast<std::size_t>(slab_row * slab.cells + skipped_cells));
    part.dequantiser.Run(codes, some, {scales, slab.cells, part.global}, tile);
    for (std::uint64_t r = 0; r < some.rows; ++r) {
      Note(weight, scales.subspan(static_cast<std::size_t>(r * slab.cells),
                                  static_cast<std::size_t>(cells)));
    }
    // Rows of the matrix in `some` that a column has of what is wanted.
    const std::uint64_t matrix_row = some.row % rows;
    for (std::uint64_t r0 = 0; r0 < some.rows; r0 += kRowTile) {
      const std::uint64_t r1 = std::min(some.rows, r0 + kRowTile);
      for (std::uint64_t c = 0; c < width; ++c) {
        // From here on in what is wanted; before its beginning the number wraps.
        const std::uint64_t at = (some.column + c) * rows + matrix_row + r0 - part.begin;
        const double* const values = tile.data() + r0 * width + c;
        if (at < part.out.size() && part.out.size() - at >= r1 - r0) {
          double* const out = part.out.data() + at;
          for (std::uint64_t r = 0; r < r1 - r0; ++r) out[r] = values[r * width];
          continue;
        }
        for (std::uint64_t r = 0; r < r1 - r0; ++r) {
          if (at + r < part.out.size()) {
            part.out[static_cast<std::size_t>(at + r)] = values[r * width];
          }
        }
      }
    }
  }
}

bool ScaledReader::ReadCast(std::size_t tensor, const CastPlan& plan, std::uint64_t first,
                            std::span<std::byte> out) const {
  const AppliedWeight* const weight = applied(tensor);
  const TypeInfo& to = *FindType(plan.to());
  if (weight == nullptr || plan.to() == DataType::kFloat64 || to.bits < 8) return false;
  const ScaledWeight& read = weight->weight;
  if (read.reading.packed != nullptr) {
    if (parts_.Cast(*read.reading.packed, plan, first, out)) CountScales(read);
    return true;
  }
  const std::shared_ptr<const Applier> applier = ApplierOf(*weight, plan);
  if (read.reading.IsTransposed()) {
    if (!applier->Transposes() || read.reading.shape.back() % kBandColumns != 0) return false;
    CastTransposed(*weight, applier, plan.to(), first, out);
    return true;
  }
  const std::uint64_t bytes = static_cast<unsigned>(to.bits) / 8,
                      columns = read.reading.partition.columns;
  while (!out.empty()) {
    std::uint64_t n = std::min<std::uint64_t>(kPiece, out.size() / bytes);
    if (columns > kPiece) n = std::min(n, columns - first % columns);
    CastInOrder(*weight, *applier, first, n, out.first(static_cast<std::size_t>(n * bytes)));
    out = out.subspan(static_cast<std::size_t>(n * bytes));
    first += n;
  }
  return true;
}

std::shared_ptr<const Applier> ScaledReader::ApplierOf(const AppliedWeight& applied,
                                                       const CastPlan& plan) const {
  const double global = GlobalOf(applied);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto held = std::find_if(appliers_.begin(), appliers_.end(), [&](const auto& one) {
    return one->applied == &applied && one->to == plan.to() && one->options == plan.options() &&
           one->target == plan.target();
  });
  if (held != appliers_.end()) {
    std::rotate(held, held + 1, appliers_.end());
  } else {
    if (appliers_.size() == kAppliers) appliers_.erase(appliers_.begin());
    const Reading& reading = applied.weight.reading;
    appliers_.push_back(std::make_shared<const HeldApplier>(
        HeldApplier{&applied, plan.to(), plan.options(), plan.target(),
                    Applier(reading.scaling, reading.partition, global, plan.to(), plan.options(),
                            plan.target())}));
  }
  return {appliers_.back(), &appliers_.back()->applier};
}

void ScaledReader::CastInOrder(const AppliedWeight& applied, const Applier& applier,
                               std::uint64_t first, std::uint64_t n,
                               std::span<std::byte> out) const {
  const ScaledWeight& weight = applied.weight;
  const CellRange cells = weight.reading.partition.CellsOf(first, n);
  const Cells scales = ReadCells(weight.scale, weight.reading.scaling.scale, cells);
  const std::vector<double> zeros = ReadZeros(weight, cells);
  const std::vector<std::byte> codes = ReadCodes(weight, first, n);
  applier.Run(codes, first % kGrain, first, n, {cells.first, scales.values, zeros, 1, scales.codes},
              out);
  Note(weight, scales.values);
}

std::shared_ptr<const ScaledReader::Band> ScaledReader::BandOf(
    const ScaledWeight& weight, const std::shared_ptr<const Applier>& applier, DataType to,
    std::uint64_t matrix, std::uint64_t column) const {
  const std::vector<std::uint64_t>& shape = weight.reading.shape;
  const std::uint64_t rows = shape.end()[-2], columns = shape.end()[-1];
  const std::uint64_t bytes = BytesOf(to, 1);
  const std::uint64_t groups = kBandBytes / (rows * bytes * kBandColumns);
  const std::uint64_t width = std::max<std::uint64_t>(groups, 1) * kBandColumns;
  const std::uint64_t begin = column / width * width;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto held = std::find_if(bands_.begin(), bands_.end(), [&](const auto& band) {
      return band->tensor == weight.codes && band->applier == applier && band->matrix == matrix &&
             band->column == begin;
    });
    if (held != bands_.end()) return *held;
  }
  const Partition& partition = weight.reading.partition;
  const DataType element = weight.reading.scaling.element;
  const std::uint64_t stop = std::min(columns, begin + width);
  auto band = std::make_shared<Band>();
  band->tensor = weight.codes;
  band->applier = applier;
  band->matrix = matrix;
  band->column = begin;
  band->values.resize(static_cast<std::size_t>((stop - begin) * rows * bytes));
  std::uint64_t next = stop;
  for (std::uint64_t c = begin; c < stop; c = next) {
    for (std::uint64_t r = 0; r < rows;) {
      const std::shared_ptr<const Slab> slab = SlabOf(weight, matrix, r, c);
      const Rectangle& place = slab->place;
      const std::uint64_t end = place.row + place.rows - matrix * rows;
      next = std::min(stop, place.column + place.columns);
      const std::uint64_t row = matrix * rows + r - place.row;  // of the slab
      const std::uint64_t stride = BytesOf(element, place.columns);
      const std::uint64_t cell =
          c / partition.block_columns - place.column / partition.block_columns;
      applier->RunTransposed(slab->codes.data() + row * stride + BytesOf(element, c - place.column),
                             stride, {matrix * rows + r, end - r, c, next - c},
                             slab->scale_codes.data() + row * slab->cells + cell, slab->cells,
                             band->values.data() + ((c - begin) * rows + r) * bytes, rows);
      for (std::uint64_t i = row; i < row + (end - r); ++i) {
        Note(weight, std::span(slab->scales)
                         .subspan(static_cast<std::size_t>(i * slab->cells),
                                  static_cast<std::size_t>(slab->cells)));
      }
      r = end;
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bands_.size() == kBands) bands_.erase(bands_.begin());
  bands_.push_back(std::move(band));
  return bands_.back();
}

void ScaledReader::CastTransposed(const AppliedWeight& applied,
                                  const std::shared_ptr<const Applier>& applier, DataType to,
                                  std::uint64_t first, std::span<std::byte> out) const {
  const std::vector<std::uint64_t>& shape = applied.weight.reading.shape;
  const std::uint64_t rows = shape.end()[-2], columns = shape.end()[-1];  // of the codes
  const std::uint64_t bytes = BytesOf(to, 1);
  while (!out.empty()) {
    const std::uint64_t matrix = first / (rows * columns), place = first % (rows * columns);
    const std::shared_ptr<const Band> band =
        BandOf(applied.weight, applier, to, matrix, place / rows);
    const std::uint64_t skipped = (place - band->column * rows) * bytes;
    const auto some = static_cast<std::size_t>(
        std::min<std::uint64_t>(out.size(), band->values.size() - skipped));
    std::copy_n(band->values.begin() + static_cast<std::ptrdiff_t>(skipped), some, out.begin());
    out = out.subspan(some);
    first += some / bytes;
  }
}

void ScaledReader::Note(const ScaledWeight& weight, std::span<const double> scales) const {
  if (!std::all_of(scales.begin(), scales.end(), IsSound)) CountScales(weight);
}

// All of a weight's scales are counted, once, by who meets the first of these: tensors are read in
// parts, some of them twice.
void ScaledReader::CountScales(const ScaledWeight& weight) const {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!findings_.try_emplace(weight.codes).second) return;
  }
  const PackedWeight* const packed = weight.reading.packed.get();
  if (packed != nullptr) {
    if (const std::optional<ScaleFindings> counted = packed->CountScales(*base_)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      findings_[weight.codes] = *counted;
      return;
    }
  }
  ScaleFindings found;
  const bool has_negative = packed != nullptr && packed->HasNegativeScales();
  if (packed != nullptr && weight.scale == weight.codes) {
    found = packed->FindOddBlocks(*base_);
    const std::lock_guard<std::mutex> lock(mutex_);
    findings_[weight.codes] = found;
    return;
  }
  formats::TensorInfo scale = base_->contents().tensors[weight.scale];
  if (packed == nullptr) scale.type = weight.reading.scaling.scale;  // which may stand as bytes
  const std::uint64_t cells = scale.elements;
  for (std::uint64_t first = 0; first < cells; first += kPiece) {
    const std::uint64_t count = std::min(kPiece, cells - first);
    found.Add(first, ReadCells(weight.scale, scale.type, {first, count}).values, has_negative);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  findings_[weight.codes] = found;
}

std::vector<std::string> ScaledReader::Findings() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> lines;
  for (const AppliedWeight& applied : applied_) {
    const auto found = findings_.find(applied.weight.codes);
    if (found == findings_.end()) continue;
    const ScaleFindings& findings = found->second;
    const formats::TensorInfo& scale = base_->contents().tensors[applied.weight.scale];
    const PackedWeight* const packed = applied.weight.reading.packed.get();
    const std::uint64_t blocks = packed != nullptr && applied.weight.scale == applied.weight.codes
                                     ? packed->form().blocks
                                     : 0;
    std::string what;
    const auto add = [&](std::uint64_t count, std::string_view word) {
      if (count == 0) return;
      what += (what.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(word);
    };
    add(findings.not_positive, "zero or negative");
    add(findings.infinite, "Inf");
    add(findings.nan, "NaN");
    lines.push_back(words::EscapeName(scale.name) + ": of " +
                    (blocks != 0 ? words::CountText(blocks, "block") + " the scales of "
                                 : words::CountText(scale.elements, "scale") + " ") +
                    what + ", the first at index " + std::to_string(findings.first));
  }
  if (std::string fused = FusedText(); !fused.empty()) lines.push_back(std::move(fused));
  return lines;
}

void ScaledReader::FindFused() {
  const auto part_of = [&](std::uint32_t i) { return FusedPartOf(applied_[i].weight.name); };
  for (std::uint32_t i = 0; i < applied_.size(); ++i) {
    if (!applied_[i].weight.global) continue;
    globals_.resize(applied_.size());
    if (part_of(i)) order_.push_back(i);
  }
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return *part_of(a) < *part_of(b); });
  for (std::uint32_t i = 0; i < order_.size(); ++i) {
    const bool is_last =
        i + 1 == order_.size() || !part_of(order_[i])->IsBeside(*part_of(order_[i + 1]));
    if (is_last) ends_.push_back(i + 1);
  }
}

std::span<const std::uint32_t> ScaledReader::FusedWith(const AppliedWeight& applied) const {
  const std::optional<FusedPart> part = FusedPartOf(applied.weight.name);
  if (!part) return {};
  const auto first = std::partition_point(order_.begin(), order_.end(), [&](std::uint32_t i) {
    return *FusedPartOf(applied_[i].weight.name) < *part;
  });
  const auto begin = static_cast<std::uint32_t>(first - order_.begin());
  const std::uint32_t end = *std::upper_bound(ends_.begin(), ends_.end(), begin);
  return std::span(order_).subspan(begin, end - begin);
}

std::string ScaledReader::FusedText() const {
  std::string first;
  std::uint64_t found = 0;
  std::uint32_t begin = 0;
  for (const std::uint32_t end : ends_) {
    const auto matrix = std::span(order_).subspan(begin, end - begin);
    begin = end;
    const std::uint32_t one = matrix.front();
    const bool differs = std::ranges::any_of(matrix, [&](std::uint32_t i) {
      return globals_[i] && globals_[one] && *globals_[i] != *globals_[one] &&
             applied_[i].weight.reading.layout == applied_[one].weight.reading.layout;
    });
    if (!differs || found++ > 0) continue;
    for (const std::uint32_t i : matrix) {
      first += (first.empty() ? "" : ", ") + words::EscapeName(applied_[i].weight.name);
    }
  }
  if (found == 0) return {};
  return first + (found > 1 ? " and " + words::CountText(found - 1, "more group") : "") +
         " have different global scales: each is applied by its own, and a runtime that loads them "
         "as one matrix uses one for all";
}

}  // namespace tensorcast::scale
