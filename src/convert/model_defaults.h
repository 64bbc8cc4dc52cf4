// What is left as it is in a model unless it is asked for by name: tensors that are hardly worth a
// Cast, and those that would not come back as numbers.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_MODEL_DEFAULTS_H_
#define TENSORCAST_SRC_CONVERT_MODEL_DEFAULTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "convert/runner.h"
#include "formats/onnx_tensors.h"

namespace tensorcast::convert {

// `to`: of each tensor of the model the type to store it in, or kUndefined. Of each the
// reason to leave it, or empty: it would grow, it is small, or a finite value of it would become
// Inf, as the -3.4e38 of an attention mask does in float16 and bfloat16. Reads the tensors that
// this can happen to once, as RunJobs with these options does, and throws what that throws.
std::vector<std::string> WhyLeftByDefault(const formats::OnnxTensorReader& model,
                                          std::span<const DataType> to, JobOptions options);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_MODEL_DEFAULTS_H_
