// A model without the Casts that can go: values are found, the rules applied, and what they decide
// becomes edits of the model's bytes and a report.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_OPTIMISE_OPTIMISE_H_
#define TENSORCAST_SRC_ONNX_OPTIMISE_OPTIMISE_H_

#include <memory>

#include "files/byte_source.h"
#include "tensorcast/onnx.hpp"

namespace tensorcast::onnx {

// The model that `source` holds. Throws files::Error: of contents where it is no model, unsupported
// where it would be larger than protobuf allows.
std::unique_ptr<files::ByteSource> OptimiseModel(std::unique_ptr<const files::ByteSource> source,
                                                 const OptimizeOptions& options,
                                                 OptimizeReport& report);

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_OPTIMISE_OPTIMISE_H_
