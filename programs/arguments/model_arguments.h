// Arguments that commands on ONNX models share.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_MODEL_ARGUMENTS_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_MODEL_ARGUMENTS_H_

#include <string>

#include "tensorcast/onnx.hpp"

namespace tensorcast::tool {

class Command;  // command_line.h

void AddContradictionsFlag(Command command, std::string& value);
// Throws io::Error (arguments).
onnx::Contradictions ParseContradictions(const std::string& value);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_MODEL_ARGUMENTS_H_
