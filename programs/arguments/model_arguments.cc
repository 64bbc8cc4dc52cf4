// --contradictions.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/model_arguments.h"

#include <fmt/format.h>

#include "files/error.h"
#include "shell/command_line.h"

namespace tensorcast::tool {

void AddContradictionsFlag(Command command, std::string& value) {
  command
      .AddOption(
          "--contradictions", value,
          "Inf to float8 FNUZ at opsets 19 to 23: as the operator's text or the tests (text)")
      .Value("text|tests");
}

onnx::Contradictions ParseContradictions(const std::string& value) {
  if (value == "text") return onnx::Contradictions::kText;
  if (value == "tests") return onnx::Contradictions::kTests;
  throw io::Error(
      io::ErrorKind::kArguments,
      fmt::format("--contradictions: '{}' is not one of text, tests", io::Escape(value)));
}

}  // namespace tensorcast::tool
