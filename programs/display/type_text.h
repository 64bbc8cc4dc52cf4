// What a tensor's type is called in tables.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_TYPE_TEXT_H_
#define TENSORCAST_PROGRAMS_DISPLAY_TYPE_TEXT_H_

#include <string>

#include "files/error.h"
#include "formats/tensor_info.h"
#include "scale/written_form.h"

namespace tensorcast::tool {

// How a weight is stored whose scales are applied, the canonical name of a type of ours, or the
// file's own word.
inline std::string TypeText(const io::TensorInfo& info) {
  if (!info.stored_as.empty()) return std::string(info.stored_as);
  return FindType(info.type) != nullptr ? std::string(TypeName(info.type)) : io::Escape(info.dtype);
}

// What it becomes: a scaled format, or the type.
inline std::string GoalText(DataType to, const scale::WrittenForm& scaled) {
  return std::string(scaled ? scaled.format->name : TypeName(to));
}

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_TYPE_TEXT_H_
