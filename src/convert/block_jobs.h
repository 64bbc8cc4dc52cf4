// The job that makes GGUF's blocks of a weight.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_BLOCK_JOBS_H_
#define TENSORCAST_SRC_CONVERT_BLOCK_JOBS_H_

#include "convert/quantise_jobs.h"

namespace tensorcast::convert {

// RunQuantiseJob of a form of blocks.
QuantiseResult RunBlockJob(const formats::TensorReader& reader, const TensorJob& job,
                           formats::TensorWriter* writer, const JobOptions& options,
                           const QuantiseProgress& done);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_BLOCK_JOBS_H_
