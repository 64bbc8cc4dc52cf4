// Words for figures and limits.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/conversion_summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "display/quantities.h"
#include "files/error.h"

namespace tensorcast::tool {

std::string SnrText(const LossReport& loss) {
  if (loss.compared == 0) return "–";
  if (std::isinf(loss.snr_db) && loss.max_abs_error > 0) return "?";
  return DecibelText(loss.snr_db);
}

std::string CrossedText(const CrossedLimit& crossed, const report::NamesOfFile& names,
                        std::size_t columns) {
  constexpr std::size_t kMostOfName = 40;
  constexpr std::size_t kLeastOfName = 16;
  const LossLimit& limit = crossed.limit;
  if (limit.kind) {
    const auto number = [&](double value) {
      return limit.is_percent ? fmt::format("{:.6g} %", value) : fmt::format("{:.0f}", value);
    };
    return fmt::format("{} {} is above {}", LimitName(limit), number(crossed.value),
                       number(limit.limit));
  }
  const std::string name = report::DistinctName(
      io::Escape(crossed.tensor), std::clamp(columns / 2, kLeastOfName, kMostOfName), names);
  if (std::isnan(crossed.value)) {
    return fmt::format("snr of {} counts as below {} dB: {}", name, DecibelText(limit.limit),
                       crossed.reason);
  }
  return fmt::format("snr {} dB of {} is below {} dB", DecibelText(crossed.value), name,
                     DecibelText(limit.limit));
}

}  // namespace tensorcast::tool
