// The streaming job: read → cast and measure → write, chunk by chunk, in bounded memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_RUNNER_H_
#define TENSORCAST_SRC_CONVERT_RUNNER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convert/exponents.h"
#include "convert/shared_globals.h"
#include "convert/type_list.h"
#include "formats/tensor_reader.h"
#include "formats/tensor_writer.h"
#include "scale/repacking.h"
#include "scale/written_form.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

// One tensor of a run.
struct TensorJob {
  std::size_t tensor = 0;  // its index in the reader's contents
  std::size_t output = 0;  // its index in the writer's contents; unused without a writer
  // The types it is cast to; empty: its bytes are copied as they are. With a writer at most one;
  // without, each is measured on the same read. Strings need a writer; their loss is not measured.
  TypeList to;
  // A scaled form that it is given; then it makes several tensors, from `output` on, `to` is the
  // type of the codes, and it is done whole.
  scale::WrittenForm scaled = {};
  // Or a weight that is put into another layout as it is; so is this. `to` is empty.
  std::shared_ptr<const scale::Repacking> repacked = nullptr;
  // Its units [first, first + count) (UnitsOf); UINT64_MAX: to the end. `first` is a multiple of
  // kRangeGrain, and so is an end that is not the tensor's. Strings are converted whole.
  std::uint64_t first = 0;
  std::uint64_t count = UINT64_MAX;
};

// What parts of a tensor are counted in: its elements, or bytes of a type that is not ours.
inline std::uint64_t UnitsOf(const formats::TensorInfo& info) {
  return FindType(info.type) != nullptr ? info.elements : info.bytes;
}

// The grid of loss, and a whole number of bytes of every type.
inline constexpr std::uint64_t kRangeGrain = 1024;

// What a job lost.
struct JobMeasure {
  LossMeter& loss;
  // Where its scales were searched: by how many decibels less than by the plain rule.
  std::optional<double> gain_db = std::nullopt;
  // Of the tensor's values as they are read, for the first of its jobs (JobOptions).
  const ExponentCounts* exponents = nullptr;
};

struct JobOptions {
  CastOptions cast;
  Target target = Target::kBest;
  bool measure = true;           // what every cast of numbers loses
  bool count_exponents = false;  // how the magnitudes of what is measured lie
  Executor* executor = nullptr;  // none: the calling thread alone
  // What all buffers together may take. It bounds the chunks in flight and their size; the results
  // do not depend on it.
  std::size_t buffer_bytes = std::size_t{64} << 20;
  std::string input;  // the path that messages about its contents begin with
  // The global scales that weights share, and what is found of them; null: each has its own.
  SharedGlobals* globals = nullptr;
  const std::atomic<bool>* interrupted = nullptr;  // once true the run ends with Interrupted
  // What each job lost that has a loss to measure, for each of its types, in the order of the jobs
  // and from the calling thread; the meter may be moved from. A checkpoint may have many tensors,
  // so that nothing of them is kept here.
  std::function<void(std::size_t job, std::size_t type, const JobMeasure& measure)> measured;
  // Called after chunks, from any thread but never from two at once. Does not throw.
  std::function<void(const Progress&)> progress;
};

struct JobTotals {
  // One report per destination type over all tensors cast to it, in the order in which the types
  // first appear; not of scaled forms. The examples' indices are of different tensors: `measured`
  // has those of each.
  std::vector<LossReport> totals;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

// How many threads work at once, and what the buffers of each take; of all of a run.
std::size_t WorkersOf(const JobOptions& options);
std::uint64_t ChunkBytesOf(const JobOptions& options);
std::uint64_t BufferBytes(const JobOptions& options);

// Throws where a plan or a meter of this tensor gave a failure.
void CheckStatus(Status status, const formats::TensorInfo& info);

// Runs the jobs that the writer wants, those of strings after the others; `writer` is null where
// only the loss is wanted. Neither what is written nor any report depends on the executor. What was
// read is of one content: a file that was rewritten meanwhile is an Error. Throws Error (of
// several, that of the first chunk in that order), Interrupted, std::bad_alloc. The caller commits
// the writer.
JobTotals RunJobs(const formats::TensorReader& reader, std::span<const TensorJob> jobs,
                  formats::TensorWriter* writer, const JobOptions& options);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_RUNNER_H_
