// A tensor is cut into bands, stretches of whole cells: rows, rows of blocks, or some groups. A
// chunk is as many bands as begin at a multiple of the grid of loss, and is one thread's; it is
// done in pieces of whole bands, each read once. Only a band that is larger than a piece is read
// twice, for its largest magnitudes and for its codes, as is a tensor that has a scale of its own,
// or scales of cells that are all over it. The first of the weights that share a global scale reads
// them all.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/quantise_jobs.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convert/block_jobs.h"
#include "convert/chunks.h"
#include "convert/group_jobs.h"
#include "convert/transposed_input.h"
#include "core/fp_environment.h"
#include "core/loss.h"
#include "files/error.h"
#include "scale/code_writer.h"
#include "scale/quantiser.h"
#include "scale/reordered_cells.h"
#include "scale/rotated_rows.h"
#include "scale/scale_search.h"
#include "scale/written_form.h"

namespace tensorcast::convert {
namespace {

using formats::TensorInfo;
using scale::CellsBy;

constexpr scale::WrittenLayout kPlain = {};
constexpr std::uint64_t kWholeBytes = 8;  // elements, of any width

class QuantiseJob {
 public:
  QuantiseJob(const formats::TensorReader& reader, const TensorJob& job,
              formats::TensorWriter* writer, const JobOptions& options,
              const QuantiseProgress& done)
      : reader_(reader),
        job_(job),
        writer_(writer),
        options_(options),
        done_(done),
        info_(reader.contents().tensors.at(job.tensor)),
        layout_(job.scaled.layout != nullptr ? *job.scaled.layout : kPlain),
        rotation_(job.scaled.rotation),
        shape_(job.scaled.ShapeOf(info_.shape)),
        scaling_(job.scaled.scaling()),
        partition_(job.scaled.PartitionOf(shape_)),
        in_type_(rotation_ != 0 ? DataType::kFloat64 : info_.type),
        quantiser_(in_type_, scaling_, job.scaled.plain_rule(), partition_, options.target),
        cells_by_(partition_.shares_cells ? CellsBy::kTensor : job.scaled.cells()) {
    const std::uint64_t cell =
        std::max<std::uint64_t>(1, std::min(partition_.block_rows, partition_.rows) *
                                       std::min(partition_.block_columns, partition_.columns));
    // Of rows that are rotated there are the tensor's own values and those of the codes, too.
    const std::uint64_t others = rotation_ != 0 ? BitsOf(info_.type) + 2 * BitsOf(in_type_) : 0;
    const std::uint64_t bits = BitsOf(in_type_) + others + BitsOf(scaling_.element) + 64 / cell + 1;
    CheckStatus(
        CastPlan::Bind(DataType::kFloat64, scaling_.scale, {}, &store_scales_, options.target),
        info_);
    piece_ = std::max(kRangeGrain, ChunkBytesOf(options) * 8 / bits / kRangeGrain * kRangeGrain);
    if (scale::IsSearch(job.scaled.rule)) {
      search_.emplace(scaling_, job.scaled.rule, in_type_ == DataType::kFloat64, options.target);
      CheckStatus(
          CastPlan::Bind(in_type_, DataType::kFloat64, {}, &value_of_source_, options.target),
          info_);
    }
    if (layout_.is_transposed) {
      transposed_.emplace(reader, job.tensor);
      const std::uint64_t wanted = transposed_->RowsAtOnce() * transposed_->columns();
      piece_ = std::max(piece_, wanted / kRangeGrain * kRangeGrain);
    }
    if (layout_.has_tiled_scales && writer != nullptr) {
      const std::uint64_t groups = shape_.back() / partition_.block_columns;
      tiles_.emplace(
          *writer, scale::WrittenPlaces{
                       .rows = shape_[0],
                       .columns = shape_[1],
                       .groups = groups,
                       .scales = scale::NumberPlaces{.tensor = job.output + 1,
                                                     .order = scale::NumberPlaces::Order::kTiles}});
      band_cells_ = scale::ScaleTiles::kRows * groups;
    }
  }

  QuantiseResult Run() {
    if (options_.measure) meter_ = std::make_unique<LossMeter>(Meter());
    if (scaling_.global_use != scale::Factor::kNone) {
      const double amax = AmaxOfGlobal();
      global_ = quantiser_.GlobalScale(amax, scale::LargestScale(scaling_, job_.scaled.rule));
      plain_global_ =
          quantiser_.GlobalScale(amax, scale::LargestScale(scaling_, job_.scaled.plain_rule()));
      WriteGlobalScale();
    }
    if (cells_by_ == CellsBy::kTensor) FindScales();
    // Chunks begin on the grid, whatever the lengths of rows.
    const std::uint64_t unit = UnitOfBands();
    const std::uint64_t chunk = (piece_ / unit + (piece_ % unit != 0)) * unit;
    ForChunks(chunk, [&](std::uint64_t first, std::uint64_t end, Buffers& buffers) {
      std::unique_ptr<LossMeter> meter;
      scale::SearchedErrors gained;
      if (options_.measure) meter = std::make_unique<LossMeter>(Meter());
      while (first < end) first = RunBands(first, end, buffers, meter.get(), gained);
      if (meter == nullptr) return;
      const std::lock_guard<std::mutex> lock(mutex_);
      CheckStatus(meter_->Merge(*meter), info_);
      gained_.Add(gained);
    });
    if (meter_ != nullptr && transposed_) {
      core::MoveExamples(*meter_, [&](std::uint64_t element) {
        const std::uint64_t inputs = shape_.end()[-1], outputs = shape_.end()[-2];
        const std::uint64_t matrix = element / (inputs * outputs), row = element / inputs % outputs;
        return (matrix * inputs + element % inputs) * outputs + row;
      });
    }
    QuantiseResult result;
    if (meter_ != nullptr && search_) result.gain_db = gained_.GainDb();
    result.loss = std::move(meter_);
    return result;
  }

 private:
  static std::uint64_t BitsOf(DataType type) {
    return static_cast<std::uint64_t>(FindType(type)->bits);
  }

  LossMeter Meter() const {
    return rotation_ == 0 ? quantiser_.Meter()
                          : scale::Quantiser(info_.type, scaling_, job_.scaled.plain_rule(),
                                             partition_, options_.target)
                                .Meter();
  }

  // The end of the band that begins at an element.
  std::uint64_t BandEnd(std::uint64_t first) const {
    const std::uint64_t columns = partition_.columns, rows = partition_.rows;
    switch (cells_by_) {
      case CellsBy::kRows: return first + columns;
      case CellsBy::kBlocks: {
        const std::uint64_t row = first / columns % rows;
        return first + std::min(partition_.block_rows, rows - row) * columns;
      }
      case CellsBy::kTensor:
      case CellsBy::kGroups: break;
    }
    return std::min(info_.elements, first + kRangeGrain);
  }

  // The least number of elements after which both a band and a block of the grid end.
  std::uint64_t UnitOfBands() const {
    std::uint64_t band = kRangeGrain;
    if (cells_by_ == CellsBy::kRows) {
      band = partition_.columns;
    } else if (cells_by_ == CellsBy::kBlocks) {
      const std::uint64_t whole_matrix = partition_.rows * partition_.columns;
      band = partition_.batches == 1 || partition_.rows % partition_.block_rows == 0
                 ? std::min(whole_matrix, partition_.block_rows * partition_.columns)
                 : whole_matrix;
    } else if (band_cells_ != 0) {
      band = std::min(info_.elements, band_cells_ * partition_.block_columns);
    }
    // A file of so many elements is read in one stretch, if there is one.
    if (band > UINT64_MAX / kRangeGrain) return info_.elements;
    return std::lcm(band, kRangeGrain);
  }

  // Bands from `first` on, as many as one piece holds, or one; returns their end.
  std::uint64_t RunBands(std::uint64_t first, std::uint64_t end, Buffers& buffers, LossMeter* meter,
                         scale::SearchedErrors& gained) {
    std::uint64_t stop = BandEnd(first);
    while (stop < end && BandEnd(stop) - first <= piece_) stop = BandEnd(stop);
    const bool is_whole = stop - first <= piece_;
    scale::CellRange cells{0, scales_.size()};
    std::span<double> scales = scales_;
    std::uint64_t skew = is_whole ? Read(first, stop - first, buffers) : 0;
    if (cells_by_ != CellsBy::kTensor) {
      cells = partition_.CellsOf(first, stop - first);
      scales = Sized(buffers.scales, cells.count);
      std::fill(scales.begin(), scales.end(), 0.0);
      if (is_whole) {
        quantiser_.GatherAmax(buffers.in, skew, first, stop - first, cells.first, scales);
      } else {
        ForPieces(first, stop, [&](std::uint64_t at, std::uint64_t n) {
          skew = Read(at, n, buffers);
          quantiser_.GatherAmax(buffers.in, skew, at, n, cells.first, scales);
        });
      }
      if (!search_) {
        quantiser_.Scales(scales, global_, scales);
      } else {
        FindBest(first, stop, is_whole ? std::optional(skew) : std::nullopt, cells, scales, buffers,
                 meter != nullptr ? &gained : nullptr);
      }
      if (tiles_) {
        WriteTiles(cells.first, scales, buffers.band);
      } else {
        WriteScales(cells.first, scales);
      }
    }
    ForPieces(first, stop, [&](std::uint64_t at, std::uint64_t n) {
      if (!is_whole) skew = Read(at, n, buffers);
      Encode(skew, at, n, {cells.first, scales, {}, global_}, buffers, meter);
    });
    return stop;
  }

  // From the largest magnitudes of cells, those of elements [first, stop), to their best scales.
  // Where all of these are in the buffer, `skew` is the place of the first.
  void FindBest(std::uint64_t first, std::uint64_t stop, std::optional<std::uint64_t> skew,
                const scale::CellRange& cells, std::span<double> scales, Buffers& buffers,
                scale::SearchedErrors* gained) {
    const core::FpEnvironment environment;
    const std::vector<double> amax(scales.begin(), scales.end());
    quantiser_.Scales(scales, global_, scales);
    const std::uint64_t columns = partition_.columns, width = partition_.block_columns;
    for (std::size_t i = 0; i < scales.size(); ++i) {
      if (amax[i] == 0) continue;
      files::StopIfInterrupted(options_.interrupted);
      const std::uint64_t cell = cells.first + i;
      const std::uint64_t across = cell % partition_.cell_columns();
      const std::uint64_t down = cell / partition_.cell_columns();
      // Of all matrices together.
      const std::uint64_t matrix = down / partition_.cell_rows();
      const std::uint64_t row =
          matrix * partition_.rows + down % partition_.cell_rows() * partition_.block_rows;
      const std::uint64_t rows =
          std::min(partition_.block_rows, (matrix + 1) * partition_.rows - row);
      const std::uint64_t column = across * width, n = std::min(width, columns - column);
      if (!skew && rows == 1) {
        scales[i] = FindOfLongRow(first, stop, scales[i], amax[i], buffers, gained);
        continue;
      }
      const std::span<double> values = Sized(buffers.cell, rows * n);
      for (std::uint64_t r = 0; r < rows; ++r) {
        const std::uint64_t at = (row + r) * columns + column;
        const std::uint64_t place = skew ? *skew + (at - first) : Read(at, n, buffers);
        CheckStatus(value_of_source_.Run(buffers.in, place,
                                         std::as_writable_bytes(values.subspan(r * n, n)), 0, n),
                    info_);
      }
      scales[i] = search_->Find(values, scales[i], amax[i], {global_, plain_global_}, gained);
    }
  }

  // The best scale of the cell that elements [first, stop) are, in pieces.
  double FindOfLongRow(std::uint64_t first, std::uint64_t stop, double plain, double amax,
                       Buffers& buffers, scale::SearchedErrors* gained) const {
    const bool is_asked = gained != nullptr;
    scale::TriedScales tried = search_->Begin(plain, amax, {global_, plain_global_}, is_asked);
    ForPieces(first, stop, [&](std::uint64_t at, std::uint64_t n) {
      AddErrors(Read(at, n, buffers), n, buffers, tried);
    });
    return tried.Best(gained);
  }
  // Of n elements that are in the buffer.
  void AddErrors(std::uint64_t skew, std::uint64_t n, Buffers& buffers,
                 scale::TriedScales& tried) const {
    const core::FpEnvironment environment;
    double values[kRangeGrain];
    for (std::uint64_t done = 0; done < n; done += kRangeGrain) {
      const std::uint64_t some = std::min(kRangeGrain, n - done);
      const std::span<double> piece(values, some);
      CheckStatus(
          value_of_source_.Run(buffers.in, skew + done, std::as_writable_bytes(piece), 0, some),
          info_);
      search_->Add(piece, tried);
    }
  }

  template <class Function>
  void ForPieces(std::uint64_t first, std::uint64_t end, const Function& use) const {
    while (first < end) {
      files::StopIfInterrupted(options_.interrupted);
      const std::uint64_t n = std::min(piece_, end - first);
      use(first, n);
      first += n;
    }
  }

  // Reads elements [first, first + n) as they are made codes of; the first of them is element
  // `skew` of the buffer, which is returned.
  std::uint64_t Read(std::uint64_t first, std::uint64_t n, Buffers& buffers) const {
    if (transposed_) {
      const std::uint64_t columns = transposed_->columns(), row = first / columns;
      const std::uint64_t rows = (first + n - 1) / columns - row + 1;
      transposed_->Read(row, rows, Sized(buffers.in, *StorageBytes(info_.type, rows * columns)));
      return first % columns;
    }
    if (rotation_ == 0) return ReadStored(first, n, buffers.in);
    const core::FpEnvironment environment;
    const std::uint64_t skew = ReadStored(first, n, buffers.source);
    const std::span<double> values = Sized(buffers.values, n);
    CheckStatus(Values(buffers.source, skew, values), info_);
    const std::span<std::byte> in = Sized(buffers.in, n * sizeof(double));
    std::memcpy(in.data(), values.data(), in.size());
    scale::RotateValues({reinterpret_cast<double*>(in.data()), values.size()}, rotation_);
    return 0;
  }
  // The tensor's own from element `skew` of `source` on.
  Status Values(std::span<const std::byte> source, std::uint64_t skew,
                std::span<double> values) const {
    CastPlan plan;
    const Status bound = CastPlan::Bind(info_.type, DataType::kFloat64, {}, &plan, options_.target);
    if (!bound.ok()) return bound;
    return plan.Run(source, skew, std::as_writable_bytes(values), 0, values.size());
  }

  // The same as they stand: a packed type's rows may begin inside a byte.
  std::uint64_t ReadStored(std::uint64_t first, std::uint64_t n,
                           std::vector<std::byte>& buffer) const {
    const std::uint64_t skew = BitsOf(info_.type) < 8 ? first % kWholeBytes : 0;
    const std::uint64_t after = (first + n) % kWholeBytes;
    const std::uint64_t end = BitsOf(info_.type) >= 8 || after == 0
                                  ? first + n
                                  : std::min(info_.elements, first + n + kWholeBytes - after);
    const std::uint64_t begin = *StorageBytes(info_.type, first - skew);
    reader_.Read(job_.tensor, begin, Sized(buffer, *StorageBytes(info_.type, end) - begin));
    return skew;
  }

  void Encode(std::uint64_t skew, std::uint64_t first, std::uint64_t n,
              const scale::CellScales& scales, Buffers& buffers, LossMeter* meter) {
    const std::span<std::byte> codes = Sized(buffers.out, *StorageBytes(scaling_.element, n));
    quantiser_.Encode(buffers.in, skew, first, n, scales, codes, 0,
                      rotation_ == 0 ? meter : nullptr);
    if (rotation_ != 0 && meter != nullptr) MeasureRotated(first, n, scales, codes, buffers, meter);
    if (layout_.is_high_first) {
      for (std::byte& two : codes) two = two << 4 | two >> 4;
    }
    if (writer_ != nullptr) {
      writer_->Write(job_.output, *StorageBytes(scaling_.element, first), codes);
    }
    Done(*StorageBytes(info_.type, n), codes.size());
  }

  // What is lost once codes and scales are rotated back: there is no limit and no least value then.
  void MeasureRotated(std::uint64_t first, std::uint64_t n, const scale::CellScales& scales,
                      std::span<const std::byte> codes, Buffers& buffers, LossMeter* meter) const {
    const core::FpEnvironment environment;
    const std::span<const double> values = Sized(buffers.values, n);
    const std::span<double> results = Sized(buffers.results, n);
    const std::uint64_t columns = partition_.columns;
    for (std::uint64_t done = 0; done < n;) {
      const std::uint64_t row = (first + done) / columns;
      const std::uint64_t some = std::min(n - done, columns - (first + done) % columns);
      scale::DecodeRotated(codes.subspan(done, some), scales.scales[row - scales.first], rotation_,
                           results.subspan(done, some));
      done += some;
    }
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const core::ScaledResults::Cell all = {
        kRangeGrain, {kInfinity, kInfinity, std::numeric_limits<double>::denorm_min()}, {}};
    const std::uint64_t skew = BitsOf(info_.type) < 8 ? first % kWholeBytes : 0;
    for (std::uint64_t done = 0; done < n;) {
      const std::uint64_t some = std::min(n - done, kRangeGrain - (first + done) % kRangeGrain);
      const core::ScaledResults scaled = {results.data() + done, &all};
      const core::LossView view = {FindType(info_.type),
                                   FindType(scaling_.element),
                                   buffers.source.data(),
                                   skew + done,
                                   codes.data(),
                                   done,
                                   &scaled};
      CheckStatus(core::MeasureScaled(*meter, view, values.data() + done, some, first + done,
                                      options_.target),
                  info_);
      done += some;
    }
  }

  // The scales of cells from `first` on, as they are stored. A thread's come in order, and where
  // they stand in tiles they are written when all of a band of rows are there.
  void WriteTiles(std::uint64_t first, std::span<const double> scales,
                  std::vector<std::byte>& band) const {
    const std::uint64_t groups = shape_.back() / partition_.block_columns;
    const std::uint64_t all = partition_.cells();
    for (std::uint64_t done = 0; done < scales.size();) {
      const std::uint64_t at = (first + done) % band_cells_, begin = first + done - at;
      const std::uint64_t held = std::min(band_cells_, all - begin);
      const std::uint64_t some = std::min(scales.size() - done, held - at);
      const std::span<std::byte> bytes = Sized(band, held);
      CheckStatus(store_scales_.Run(std::as_bytes(scales.subspan(done, some)), 0,
                                    bytes.subspan(at, some), 0, some),
                  info_);
      if (at + some == held) {
        tiles_->Write({.first = begin / groups, .count = held / groups, .scales = bytes});
      }
      done += some;
    }
  }

  // The scales of cells from `first` on, as they are stored.
  void WriteScales(std::uint64_t first, std::span<const double> scales) {
    if (writer_ == nullptr) return;
    WriteCodes(job_.output + 1, store_scales_, first, scales);
  }
  void WriteCodes(std::size_t output, const CastPlan& plan, std::uint64_t first,
                  std::span<const double> values) {
    constexpr std::size_t kAtOnce = std::size_t{64} << 10;
    const std::uint64_t bytes = BitsOf(plan.to()) / 8;
    std::vector<std::byte> stored;
    for (std::size_t done = 0; done < values.size(); done += kAtOnce) {
      const std::size_t n = std::min(values.size() - done, kAtOnce);
      stored.resize(n * bytes);
      CheckStatus(plan.Run(std::as_bytes(values.subspan(done, n)), 0, stored, 0, n), info_);
      writer_->Write(output, (first + done) * bytes, stored);
    }
  }

  // The first reading of a tensor that needs one: the largest magnitude of each cell.
  std::vector<double> FindLargest(const scale::Partition& partition) {
    const scale::Quantiser whole(in_type_, scaling_, job_.scaled.plain_rule(), partition,
                                 options_.target);
    std::vector<double> amax(static_cast<std::size_t>(partition.cells()));
    ForChunks(piece_, [&](std::uint64_t first, std::uint64_t end, Buffers& buffers) {
      const std::span<double> found = Sized(buffers.scales, amax.size());
      std::fill(found.begin(), found.end(), 0.0);
      const std::uint64_t skew = Read(first, end - first, buffers);
      whole.GatherAmax(buffers.in, skew, first, end - first, 0, found);
      Done(*StorageBytes(info_.type, end - first), 0);
      const std::lock_guard<std::mutex> lock(mutex_);
      for (std::size_t i = 0; i < amax.size(); ++i) amax[i] = std::max(amax[i], found[i]);
    });
    return amax;
  }

  double Amax() { return FindLargest(scale::Partition::OfTensor(info_.shape)).front(); }

  // The largest magnitude of all weights that share the global scale.
  double AmaxOfGlobal() {
    const std::optional<std::uint32_t> group = GroupOf(job_, options_);
    if (!group) return Amax();
    return options_.globals->AmaxOf(
        *group, [&](const formats::TensorReader& reader, std::size_t i) {
          if (&reader == &reader_ && i == job_.tensor) return Amax();
          TensorJob other = job_;
          other.tensor = i;
          return QuantiseJob(reader, other, nullptr, options_, done_).Amax();
        });
  }

  void WriteGlobalScale() {
    if (writer_ == nullptr) return;
    CastPlan store;
    CheckStatus(CastPlan::Bind(DataType::kFloat64, DataType::kFloat32, {}, &store, options_.target),
                info_);
    WriteCodes(job_.output + 2, store, 0, std::span(&global_, 1));
  }

  void FindScales() {
    scales_ = FindLargest(partition_);
    const double amax = scales_.front();
    quantiser_.Scales(scales_, global_, scales_);
    if (search_ && amax != 0) scales_.front() = FindOfTensor(scales_.front(), amax);
    WriteScales(0, scales_);
  }

  // The best scale of a tensor that has one: another reading.
  double FindOfTensor(double plain, double amax) {
    const bool is_asked = meter_ != nullptr;
    scale::TriedScales all = search_->Begin(plain, amax, {global_, plain_global_}, is_asked);
    ForChunks(piece_, [&](std::uint64_t first, std::uint64_t end, Buffers& buffers) {
      scale::TriedScales tried = search_->Begin(plain, amax, {global_, plain_global_}, is_asked);
      AddErrors(Read(first, end - first, buffers), end - first, buffers, tried);
      Done(*StorageBytes(info_.type, end - first), 0);
      const std::lock_guard<std::mutex> lock(mutex_);
      all.Merge(tried);
    });
    return all.Best(is_asked ? &gained_ : nullptr);
  }

  void Done(std::uint64_t read, std::uint64_t written) {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_(read, writer_ != nullptr ? written : 0);
  }

  template <class Function> void ForChunks(std::uint64_t size, const Function& run) {
    convert::ForChunks(info_.elements, size, options_, mutex_, run);
  }

  const formats::TensorReader& reader_;
  const TensorJob& job_;
  formats::TensorWriter* const writer_;
  const JobOptions& options_;
  const QuantiseProgress& done_;
  const TensorInfo& info_;
  const scale::WrittenLayout& layout_;
  const std::uint32_t rotation_;            // see WrittenForm
  const std::vector<std::uint64_t> shape_;  // as it is cut into cells
  const scale::Scaling scaling_;
  const scale::Partition partition_;
  const DataType in_type_;  // of what codes are made of
  const scale::Quantiser quantiser_;
  const CellsBy cells_by_;  // kTensor: of cells that are all over the tensor, too
  std::optional<scale::ScaleSearch> search_;
  CastPlan value_of_source_;  // where there is a search
  CastPlan store_scales_;     // float64 to the scales' type
  std::uint64_t piece_ = 0;   // elements that are read at once
  std::optional<TransposedInput> transposed_;
  std::optional<scale::CodeWriter> tiles_;  // of scales that stand in tiles
  std::uint64_t band_cells_ = 0;            // of the rows of a tile; 0: they do not
  double global_ = 1, plain_global_ = 1;    // what is written, and what the plain rule has
  std::vector<double> scales_;              // of all cells, where these come first
  std::mutex mutex_;
  std::unique_ptr<LossMeter> meter_;
  scale::SearchedErrors gained_;
};

}  // namespace

std::uint64_t ReadingsOf(const TensorJob& job, std::span<const std::uint64_t> shape) {
  if (!IsQuantiseJob(job) || job.scaled.IsOfBlocks() || !job.scaled.NeedsAllValues(shape)) return 1;
  // Of a search the scale of a whole tensor asks for one more.
  return scale::IsSearch(job.scaled.rule) && job.scaled.cells() == CellsBy::kTensor ? 3 : 2;
}

std::optional<std::uint32_t> GroupOf(const TensorJob& job, const JobOptions& options) {
  return options.globals != nullptr ? options.globals->GroupOf(job.tensor) : std::nullopt;
}

std::uint64_t CellBytesOf(const TensorJob& job, std::span<const std::uint64_t> shape,
                          const JobOptions& options) {
  if (IsTurned(job)) return WorkersOf(options) * GroupBytesOf(options);
  const scale::WrittenLayout* const layout = job.scaled.layout;
  if (layout != nullptr && layout->is_transposed) {
    return TransposedInput::BytesFor(shape) * WorkersOf(options);
  }
  if (layout != nullptr && layout->has_tiled_scales) {
    // A band of rows of tiles, in order and as it is written.
    const std::uint64_t groups = shape.back() / job.scaled.format->block_columns;
    return 2 * scale::ScaleTiles::kRows * (groups + 3) * WorkersOf(options);
  }
  if (ReadingsOf(job, shape) == 1 || job.scaled.cells() == CellsBy::kGroups) return 0;
  return job.scaled.PartitionOf(shape).cells() * sizeof(double) * (WorkersOf(options) + 1);
}

QuantiseResult RunQuantiseJob(const formats::TensorReader& reader, const TensorJob& job,
                              formats::TensorWriter* writer, const JobOptions& options,
                              const QuantiseProgress& done) {
  if (job.scaled.IsOfBlocks()) return RunBlockJob(reader, job, writer, options, done);
  if (job.scaled.IsOfGroups()) return RunGroupJob(reader, job, writer, options, done);
  return QuantiseJob(reader, job, writer, options, done).Run();
}

}  // namespace tensorcast::convert
