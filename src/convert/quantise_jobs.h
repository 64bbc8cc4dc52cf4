// Jobs that make a scaled weight of a tensor: its codes, its scales.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_QUANTISE_JOBS_H_
#define TENSORCAST_SRC_CONVERT_QUANTISE_JOBS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "convert/runner.h"
#include "formats/tensor_reader.h"
#include "formats/tensor_writer.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::convert {

inline bool IsQuantiseJob(const TensorJob& job) { return static_cast<bool>(job.scaled); }
// Of those that are made whole.
inline bool IsScaledJob(const TensorJob& job) {
  return IsQuantiseJob(job) || job.repacked != nullptr;
}

// How many times the job reads its tensor, of this shape: twice where a scale is of values that are
// all over it.
std::uint64_t ReadingsOf(const TensorJob& job, std::span<const std::uint64_t> shape);

// The group of weights with which it shares its global scale, if it does.
std::optional<std::uint32_t> GroupOf(const TensorJob& job, const JobOptions& options);

// What it holds beside its buffers: of a tensor that is read twice the scales of all cells, and on
// each thread as many largest magnitudes; of one whose rows become columns what is written at once.
std::uint64_t CellBytesOf(const TensorJob& job, std::span<const std::uint64_t> shape,
                          const JobOptions& options);

// Bytes that were read and written, never from two threads at once.
using QuantiseProgress = std::function<void(std::uint64_t read, std::uint64_t written)>;

struct QuantiseResult {
  std::unique_ptr<LossMeter> loss;  // null unless options.measure
  std::optional<double> gain_db;    // of a search that was measured, over the plain rule
};

// Writes job.output, the codes, and the scales behind it; with `writer` null what it loses is
// measured alone. Takes memory for its buffers, 8 bytes for each cell in a row of cells, and
// CellBytesOf. Of a weight that shares its global scale the others are read too, unless that has
// been done (options.globals). Nothing that it gives depends on the executor, nor does what is
// written. Throws what RunJobs throws.
QuantiseResult RunQuantiseJob(const formats::TensorReader& reader, const TensorJob& job,
                              formats::TensorWriter* writer, const JobOptions& options,
                              const QuantiseProgress& done);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_QUANTISE_JOBS_H_
