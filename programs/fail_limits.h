// --fail-on KIND=LIMIT: what makes a run that ended well exit with 1.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_FAIL_LIMITS_H_
#define TENSORCAST_PROGRAMS_FAIL_LIMITS_H_

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "conversion_summary.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

struct FailLimit {
  std::optional<Loss> kind;  // none: snr
  double limit = 0;
  bool is_percent = false;  // of the elements cast, in all; else a count
};

// Registers --fail-on; `texts` outlives the app.
void AddFailOnFlag(CLI::App& app, std::vector<std::string>& texts);

// The kinds there are, as --fail-on takes them.
std::vector<std::string> LimitKinds();

// "to_limit=0", "to_zero=1%" or "snr=20". Throws io::Error (arguments).
FailLimit ParseFailLimit(const std::string& text);
std::vector<FailLimit> ParseFailLimits(const std::vector<std::string>& texts);

// Those that a file crossed: a count of all its tensors above its limit, the SNR of the worst one
// below it.
std::vector<CrossedLimit> CrossedLimits(const std::vector<FailLimit>& limits, const LossSum& sum);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_FAIL_LIMITS_H_
