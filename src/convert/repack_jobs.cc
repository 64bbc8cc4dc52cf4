// Bands of rows, each read, put in order and written by one thread.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/repack_jobs.h"

#include <algorithm>
#include <mutex>

#include "convert/chunks.h"

namespace tensorcast::convert {
namespace {

// Rows that one thread does at once: of what stands across the file more, so that a read of each of
// its lines is worth its call.
std::uint64_t BandRows(const scale::Repacking& repacked, const JobOptions& options) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{32} << 20;
  const std::uint64_t all = options.buffer_bytes / std::max<std::uint64_t>(WorkersOf(options), 1);
  const std::uint64_t bytes =
      repacked.IsDoneInBands() ? std::min(kMostBytes, all) : ChunkBytesOf(options);
  const std::uint64_t grain = repacked.RowGrain();
  const std::uint64_t rows = bytes / std::max<std::uint64_t>(repacked.RowBytes(), 1) / grain;
  return std::max<std::uint64_t>(rows, 1) * grain;
}

}  // namespace

std::uint64_t RepackBytesOf(const TensorJob& job, const JobOptions& options) {
  const scale::Repacking& repacked = *job.repacked;
  return std::min(BandRows(repacked, options), repacked.rows()) * repacked.RowBytes() *
         WorkersOf(options);
}

void RunRepackJob(const formats::TensorReader& reader, const TensorJob& job,
                  formats::TensorWriter& writer, const JobOptions& options,
                  const std::function<void(std::uint64_t read, std::uint64_t written)>& done) {
  const scale::Repacking& repacked = *job.repacked;
  repacked.RunSmall(reader, writer, job.output);
  const std::uint64_t band = BandRows(repacked, options);
  const std::uint64_t bands = repacked.rows() / band + (repacked.rows() % band != 0);
  std::uint64_t read = 0, written = 0, told = 0;
  for (const std::size_t i : repacked.sources()) read += reader.contents().tensors[i].bytes;
  for (const scale::WrittenTensor& one : repacked.tensors()) written += one.bytes;
  const std::uint64_t all = bands * repacked.matrices();
  std::mutex mutex;
  ForChunks(all, 1, options, mutex, [&](std::uint64_t i, std::uint64_t, Buffers&) {
    const std::uint64_t first = i % bands * band;
    repacked.Run(reader, {i / bands, first, std::min(band, repacked.rows() - first)}, writer,
                 job.output);
    const std::lock_guard<std::mutex> lock(mutex);
    // Of the whole an equal share for each band, whatever the order.
    const auto share = [&](std::uint64_t bytes) {
      return bytes / all + (told == 0 ? bytes % all : 0);
    };
    done(share(read), share(written));
    ++told;
  });
}

}  // namespace tensorcast::convert
