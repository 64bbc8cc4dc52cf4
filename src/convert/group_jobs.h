// The job that makes integers in groups of a weight.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_GROUP_JOBS_H_
#define TENSORCAST_SRC_CONVERT_GROUP_JOBS_H_

#include <memory>

#include "convert/quantise_jobs.h"

namespace tensorcast::convert {

// Whether its layout has the rows of a weight as columns; then each thread holds so many bytes of
// what it writes.
bool IsTurned(const TensorJob& job);
std::uint64_t GroupBytesOf(const JobOptions& options);

// RunQuantiseJob of a form of groups.
QuantiseResult RunGroupJob(const formats::TensorReader& reader, const TensorJob& job,
                           formats::TensorWriter* writer, const JobOptions& options,
                           const QuantiseProgress& done);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_GROUP_JOBS_H_
