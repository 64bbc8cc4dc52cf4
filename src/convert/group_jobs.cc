// A chunk is whole rows that begin at a multiple of the grid of loss and of the layout's grain; it
// is one thread's, done in bands of rows of one matrix, each of which is made in pieces and written
// at once: where a layout has rows as columns, few of them would be many short writes.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/group_jobs.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "convert/chunks.h"
#include "files/error.h"
#include "scale/scale_search.h"
#include "scale/written_groups.h"

namespace tensorcast::convert {
namespace {

using formats::TensorInfo;

class GroupJob {
 public:
  GroupJob(const formats::TensorReader& reader, const TensorJob& job, formats::TensorWriter* writer,
           const JobOptions& options, const QuantiseProgress& done)
      : reader_(reader),
        job_(job),
        output_(writer),
        options_(options),
        done_(done),
        info_(reader.contents().tensors.at(job.tensor)),
        rule_(scale::RuleOfGroups(job.scaled, info_.type)),
        rows_(info_.shape.end()[-2]),
        columns_(info_.shape.back()),
        quantiser_(info_.type, rule_, columns_, GroupOf(job, columns_), options.target) {
    if (writer == nullptr) return;
    writer_.emplace(*writer, scale::GroupPlacesOf(job.scaled, info_.shape, info_.type, job.output));
    grain_ = writer_->RowGrain();
  }

  QuantiseResult Run() {
    if (output_ != nullptr) {
      for (const auto& [tensor, bytes] :
           scale::GroupConstantsOf(job_.scaled, info_.shape, job_.output)) {
        output_->Write(tensor, 0, bytes);
      }
    }
    std::unique_ptr<LossMeter> all;
    if (options_.measure) all = std::make_unique<LossMeter>(quantiser_.Meter());
    // What is held of a row: the source, codes, the same in words twice, and numbers.
    const std::uint64_t row_bytes =
        *StorageBytes(info_.type, columns_) + 3 * columns_ + quantiser_.groups() * kNumbersOfGroup;
    piece_ = std::max<std::uint64_t>(1, ChunkBytesOf(options_) / row_bytes);
    band_ = WholeGrains(piece_);
    if (IsTurned(job_)) {
      const std::uint64_t made_bytes = columns_ * static_cast<std::uint64_t>(rule_.bits) / 8 +
                                       quantiser_.groups() * kNumbersOfGroup + 1;
      const std::uint64_t share = (rows_ - 1) / WorkersOf(options_) + grain_;
      band_ = std::max(band_, WholeGrains(std::min(share, GroupBytesOf(options_) / made_bytes)));
    }
    const std::uint64_t unit = UnitOfChunks();
    const std::uint64_t chunk = std::max<std::uint64_t>(1, band_ * columns_ / unit) * unit;
    ForChunks(info_.elements, chunk, options_, mutex_,
              [&](std::uint64_t first, std::uint64_t end, Buffers& buffers) {
                std::unique_ptr<LossMeter> meter;
                scale::SearchedErrors gained;
                if (all != nullptr) meter = std::make_unique<LossMeter>(quantiser_.Meter());
                for (std::uint64_t row = first / columns_; row < end / columns_;) {
                  files::StopIfInterrupted(options_.interrupted);
                  const std::uint64_t of_matrix = rows_ - row % rows_;
                  const std::uint64_t n = std::min({band_, of_matrix, end / columns_ - row});
                  RunBand(row, n, buffers, meter.get(), gained);
                  row += n;
                }
                if (meter == nullptr) return;
                const std::lock_guard<std::mutex> lock(mutex_);
                CheckStatus(all->Merge(*meter), info_);
                gained_.Add(gained);
              });
    QuantiseResult result;
    if (all != nullptr && scale::IsSearch(rule_.rule)) result.gain_db = gained_.GainDb();
    result.loss = std::move(all);
    return result;
  }

 private:
  static constexpr std::uint64_t kNumbersOfGroup = 64;  // bytes

  static std::uint64_t GroupOf(const TensorJob& job, std::uint64_t columns) {
    const std::uint64_t group = job.scaled.format->block_columns;
    return group != 0 ? group : columns;
  }

  // The least number of elements after which rows of the grain, and a block of the grid, end.
  std::uint64_t UnitOfChunks() const {
    const bool is_even = info_.elements == rows_ * columns_ || rows_ % grain_ == 0;
    const std::uint64_t rows = is_even ? grain_ : rows_;
    if (rows * columns_ > UINT64_MAX / kRangeGrain) return info_.elements;
    return std::lcm(rows * columns_, kRangeGrain);
  }

  // As many rows of the grain, or the least.
  std::uint64_t WholeGrains(std::uint64_t rows) const {
    return std::max(grain_, rows / grain_ * grain_);
  }

  // Rows [row, row + n) of all, which are of one matrix.
  void RunBand(std::uint64_t row, std::uint64_t n, Buffers& buffers, LossMeter* meter,
               scale::SearchedErrors& gained) {
    scale::MadeGroups made;
    for (std::uint64_t done = 0; done < n; done += piece_) {
      const std::uint64_t some = std::min(piece_, n - done);
      scale::MadeGroups piece = MakePiece(row + done, some, buffers, meter, gained);
      if (some == n) {
        made = std::move(piece);
      } else if (writer_) {
        made.Append(piece);
      }
    }
    if (!writer_) return;
    scale::CodeRows rows;
    rows.batch = row / rows_;
    rows.first = row % rows_;
    rows.count = n;
    rows.codes = &made.codes;
    rows.scales = made.scales;
    rows.biases = made.biases;
    rows.zeros = &made.zeros;
    writer_->Write(rows);
    const std::lock_guard<std::mutex> lock(mutex_);
    done_(0, n * made.codes.stride + made.scales.size() + made.biases.size());
  }

  scale::MadeGroups MakePiece(std::uint64_t row, std::uint64_t n, Buffers& buffers,
                              LossMeter* meter, scale::SearchedErrors& gained) {
    const std::uint64_t first = row * columns_, elements = n * columns_;
    // A packed type's rows may begin inside a byte.
    constexpr std::uint64_t kWholeBytes = 8;
    const bool is_packed = FindType(info_.type)->bits < 8;
    const std::uint64_t skew = is_packed ? first % kWholeBytes : 0;
    std::uint64_t end = first + elements;
    if (is_packed) {
      end = std::min(info_.elements, (end + kWholeBytes - 1) / kWholeBytes * kWholeBytes);
    }
    const std::uint64_t begin = *StorageBytes(info_.type, first - skew);
    const std::span<std::byte> in = Sized(buffers.in, *StorageBytes(info_.type, end) - begin);
    reader_.Read(job_.tensor, begin, in);
    scale::MadeGroups made;
    if (const auto group = quantiser_.Encode(in, skew, first, n, made, meter,
                                             meter != nullptr ? &gained : nullptr)) {
      throw files::Error(core::ErrorKind::kContents,
                         words::EscapeName(info_.name) + ": group " +
                             std::to_string(*group % quantiser_.groups()) + " of row " +
                             std::to_string(row + *group / quantiser_.groups()) +
                             " has values whose scale does not fit " +
                             std::string(TypeName(rule_.scale)) + ", the type of its scales",
                         Remedy::kNone, info_.name);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    done_(*StorageBytes(info_.type, elements), 0);
    return made;
  }

  const formats::TensorReader& reader_;
  const TensorJob& job_;
  formats::TensorWriter* const output_;
  const JobOptions& options_;
  const QuantiseProgress& done_;
  const TensorInfo& info_;
  const scale::GroupRule rule_;
  const std::uint64_t rows_, columns_;
  const scale::GroupQuantiser quantiser_;
  std::optional<scale::CodeWriter> writer_;
  std::uint64_t grain_ = 1;
  std::uint64_t piece_ = 1, band_ = 1;  // rows that are made, and that are written at once
  scale::SearchedErrors gained_;
  std::mutex mutex_;
};

}  // namespace

bool IsTurned(const TensorJob& job) {
  return job.scaled.IsOfGroups() && job.scaled.layout != nullptr &&
         scale::IsTurned(job.scaled.layout->groups);
}

std::uint64_t GroupBytesOf(const JobOptions& options) {
  return options.buffer_bytes / WorkersOf(options);
}

QuantiseResult RunGroupJob(const formats::TensorReader& reader, const TensorJob& job,
                           formats::TensorWriter* writer, const JobOptions& options,
                           const QuantiseProgress& done) {
  return GroupJob(reader, job, writer, options, done).Run();
}

}  // namespace tensorcast::convert
