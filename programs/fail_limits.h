// --fail-on KIND=LIMIT: what makes a finished conversion exit with 1.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_FAIL_LIMITS_H_
#define TENSORCAST_PROGRAMS_FAIL_LIMITS_H_

#include <optional>
#include <string>
#include <vector>

#include "conversion_summary.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

struct FailLimit {
  std::optional<Loss> kind;  // none: snr
  double limit = 0;
};

// "to_limit=0" or "snr=20". Throws io::Error (arguments).
FailLimit ParseFailLimit(const std::string& text);

// Those that the conversion crossed: a count of the whole file above its limit, the SNR of the
// worst tensor below it.
std::vector<CrossedLimit> CrossedLimits(const std::vector<FailLimit>& limits,
                                        const ConversionSummary& summary);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_FAIL_LIMITS_H_
