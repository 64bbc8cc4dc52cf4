// Each chunk is whole blocks, read, made and written by itself.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/block_jobs.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "convert/chunks.h"
#include "files/error.h"
#include "scale/gguf_blocks.h"
#include "scale/gguf_quantiser.h"

namespace tensorcast::convert {
namespace {

using formats::TensorInfo;

class BlockJob {
 public:
  BlockJob(const formats::TensorReader& reader, const TensorJob& job, formats::TensorWriter* writer,
           const JobOptions& options, const QuantiseProgress& done)
      : reader_(reader),
        job_(job),
        writer_(writer),
        options_(options),
        done_(done),
        info_(reader.contents().tensors.at(job.tensor)),
        blocks_(*scale::FindGgufBlocks(job.scaled.layout->block)),
        quantiser_(info_.type, blocks_.type, options.target) {}

  QuantiseResult Run() {
    std::unique_ptr<LossMeter> all;
    if (options_.measure) all = std::make_unique<LossMeter>(quantiser_.Meter());
    const auto bits = static_cast<std::uint64_t>(FindType(info_.type)->bits);
    const std::uint64_t piece =
        std::max(kRangeGrain, ChunkBytesOf(options_) * 8 / (bits + 9) / kRangeGrain * kRangeGrain);
    std::mutex mutex;
    ForChunks(info_.elements, piece, options_, mutex,
              [&](std::uint64_t first, std::uint64_t end, Buffers& buffers) {
                std::unique_ptr<LossMeter> meter;
                if (all != nullptr) meter = std::make_unique<LossMeter>(quantiser_.Meter());
                RunPiece(first, end - first, buffers, meter.get());
                const std::lock_guard<std::mutex> lock(mutex);
                if (meter != nullptr) CheckStatus(all->Merge(*meter), info_);
                done_(*StorageBytes(info_.type, end - first),
                      writer_ != nullptr ? BytesOf(end - first) : 0);
              });
    return {std::move(all), std::nullopt};
  }

 private:
  std::uint64_t BytesOf(std::uint64_t elements) const {
    return elements / blocks_.values * blocks_.bytes;
  }
  void RunPiece(std::uint64_t first, std::uint64_t n, Buffers& buffers, LossMeter* meter) {
    const std::uint64_t begin = *StorageBytes(info_.type, first);
    const std::span<std::byte> in = Sized(buffers.in, *StorageBytes(info_.type, first + n) - begin);
    reader_.Read(job_.tensor, begin, in);
    const std::span<std::byte> out = Sized(buffers.out, BytesOf(n));
    if (const auto block = quantiser_.Encode(in, 0, first, n, out, meter)) {
      throw files::Error(core::ErrorKind::kContents,
                         words::EscapeName(info_.name) + ": block " +
                             std::to_string(first / blocks_.values + *block) +
                             " has values whose scale does not fit float16, the type of " +
                             std::string(blocks_.type) + "'s scales",
                         Remedy::kNone, info_.name);
    }
    if (writer_ != nullptr) writer_->Write(job_.output, BytesOf(first), out);
  }

  const formats::TensorReader& reader_;
  const TensorJob& job_;
  formats::TensorWriter* const writer_;
  const JobOptions& options_;
  const QuantiseProgress& done_;
  const TensorInfo& info_;
  const scale::GgufBlocks& blocks_;
  const scale::GgufQuantiser quantiser_;
};

}  // namespace

QuantiseResult RunBlockJob(const formats::TensorReader& reader, const TensorJob& job,
                           formats::TensorWriter* writer, const JobOptions& options,
                           const QuantiseProgress& done) {
  return BlockJob(reader, job, writer, options, done).Run();
}

}  // namespace tensorcast::convert
