// The job that makes integers in groups of a weight.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_GROUP_JOBS_H_
#define TENSORCAST_SRC_CONVERT_GROUP_JOBS_H_

#include <memory>

#include "convert/quantise_jobs.h"

namespace tensorcast::convert {

// RunQuantiseJob of a form of groups.
std::unique_ptr<LossMeter> RunGroupJob(const formats::TensorReader& reader, const TensorJob& job,
                                       formats::TensorWriter* writer, const JobOptions& options,
                                       const QuantiseProgress& done);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_GROUP_JOBS_H_
