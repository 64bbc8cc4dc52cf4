// How Python reads the tensors of a safetensors file that safetensors' own library does not unpack.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_READING_CODE_H_
#define TENSORCAST_SRC_FORMATS_READING_CODE_H_

#include <span>
#include <string>

#include "formats/tensor_info.h"

namespace tensorcast::formats {

// A line that says which dtypes these are, and then the lines of a Python function; empty where the
// library reads all of the tensors, which are to be written.
std::string SafetensorsReadingHint(std::span<const TensorInfo> tensors);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_READING_CODE_H_
