// What a tensor's type is called in tables.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_TYPE_TEXT_H_
#define TENSORCAST_PROGRAMS_TYPE_TEXT_H_

#include <string>

#include "io/tensor_file.h"

namespace tensorcast::tool {

// How a weight is stored whose scales are applied, the canonical name of a type of ours, or the
// file's own word.
inline std::string TypeText(const io::TensorInfo& info) {
  if (!info.layout.empty()) return std::string(info.layout);
  return FindType(info.type) != nullptr ? std::string(TypeName(info.type)) : io::Escape(info.dtype);
}

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_TYPE_TEXT_H_
