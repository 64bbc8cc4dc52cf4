// Parses --fail-on.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/fail_limits.h"

#include <optional>
#include <string_view>

#include "files/error.h"
#include "shell/command_line.h"

namespace tensorcast::tool {

void AddFailOnFlag(Command command, std::vector<std::string>& texts) {
  std::string names;
  for (const std::string_view name : LimitNames()) {
    names.append(names.empty() ? "" : ", ").append(name);
  }
  command
      .AddOption("--fail-on", texts,
                 "Exit with 1 where a count (to_limit=0) or share (to_zero=1%) is above the limit, "
                 "or snr below it; repeatable. KIND is one of " +
                     names)
      .Value("KIND=LIMIT")
      .OneValue();
}

std::vector<LossLimit> ParseFailLimits(const std::vector<std::string>& texts) {
  std::vector<LossLimit> limits;
  for (const std::string& text : texts) {
    std::string problem;
    const std::optional<LossLimit> limit = ParseLossLimit(text, &problem);
    if (!limit) throw io::Error(io::ErrorKind::kArguments, "--fail-on: " + problem);
    limits.push_back(*limit);
  }
  return limits;
}

}  // namespace tensorcast::tool
