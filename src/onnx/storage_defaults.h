// What is left as it is in a model unless it is asked for by name: tensors that are hardly worth a
// Cast, and those that would not come back as numbers.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_STORAGE_DEFAULTS_H_
#define TENSORCAST_SRC_ONNX_STORAGE_DEFAULTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/conversion.h"
#include "io/onnx_tensors.h"

namespace tensorcast::onnx {

// Shape inference reads the values of tensors of this size, and only those in the model itself.
inline constexpr std::uint64_t kSmallTensorBytes = 1024;

// `to`: of each tensor of the model the type it is to be stored in, or kUndefined. Of each the
// reason to leave it, or empty: it is small, or a finite value of it would become Inf, as the
// -3.4e38 of an attention mask does in float16 and bfloat16. Reads the tensors that this can happen
// to once, as RunConversion with these options does, and throws what that throws.
std::vector<std::string> WhyLeftByDefault(const io::OnnxTensorReader& model,
                                          std::span<const DataType> to,
                                          io::ConversionOptions options);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_STORAGE_DEFAULTS_H_
