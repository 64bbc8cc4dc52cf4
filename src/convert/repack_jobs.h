// Jobs that put a quantised weight into another layout as it is.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_REPACK_JOBS_H_
#define TENSORCAST_SRC_CONVERT_REPACK_JOBS_H_

#include <cstdint>
#include <functional>

#include "convert/runner.h"
#include "formats/tensor_reader.h"
#include "formats/tensor_writer.h"

namespace tensorcast::convert {

// What it holds, of all threads together.
std::uint64_t RepackBytesOf(const TensorJob& job, const JobOptions& options);

// Writes the tensors from job.output on; `done` is never called from two threads at once. What is
// written does not depend on the executor. Throws what RunJobs throws.
void RunRepackJob(const formats::TensorReader& reader, const TensorJob& job,
                  formats::TensorWriter& writer, const JobOptions& options,
                  const std::function<void(std::uint64_t read, std::uint64_t written)>& done);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_REPACK_JOBS_H_
