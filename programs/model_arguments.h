// Arguments that commands on ONNX models share.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_MODEL_ARGUMENTS_H_
#define TENSORCAST_PROGRAMS_MODEL_ARGUMENTS_H_

#include <string>

#include <CLI/CLI.hpp>

#include "tensorcast/onnx.hpp"

namespace tensorcast::tool {

void AddContradictionsFlag(CLI::App& command, std::string& value);
// Throws io::Error (arguments).
onnx::Contradictions ParseContradictions(const std::string& value);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_MODEL_ARGUMENTS_H_
