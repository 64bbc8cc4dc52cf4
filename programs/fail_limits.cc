// Parses and applies --fail-on.
//
// SPDX-License-Identifier: Apache-2.0
#include "fail_limits.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace tensorcast::tool {
namespace {

std::string KindNames() {
  std::string names = "snr";
  for (std::size_t i = 0; i < kLossKinds; ++i) {
    names.append(", ").append(LossName(static_cast<Loss>(i)));
  }
  return names;
}

template <class Number> bool ParseWhole(std::string_view text, Number* number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && stop == text.data() + text.size();
}

}  // namespace

FailLimit ParseFailLimit(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string_view kind = std::string_view(text).substr(0, equals);
  const std::string_view limit =
      equals == std::string::npos ? "" : std::string_view(text).substr(equals + 1);
  FailLimit parsed;
  bool known = kind == "snr";
  for (std::size_t i = 0; i < kLossKinds; ++i) {
    if (kind != LossName(static_cast<Loss>(i))) continue;
    known = true;
    parsed.kind = static_cast<Loss>(i);
  }
  if (!known) {
    throw io::Error(io::ErrorKind::kArguments,
                    fmt::format("--fail-on: '{}' is none of {}", io::Escape(kind), KindNames()));
  }
  std::uint64_t count = 0;
  const bool legal = parsed.kind ? ParseWhole(limit, &count)
                                 : ParseWhole(limit, &parsed.limit) && std::isfinite(parsed.limit);
  if (!legal) {
    throw io::Error(io::ErrorKind::kArguments,
                    fmt::format("--fail-on: '{}' needs {}, as in {}", io::Escape(text),
                                parsed.kind ? "a count" : "a number of dB",
                                parsed.kind ? "to_limit=0" : "snr=20"));
  }
  if (parsed.kind) parsed.limit = static_cast<double>(count);
  return parsed;
}

std::vector<CrossedLimit> CrossedLimits(const std::vector<FailLimit>& limits,
                                        const ConversionSummary& summary) {
  std::vector<CrossedLimit> crossed;
  for (const FailLimit& limit : limits) {
    if (limit.kind) {
      const auto count = static_cast<double>(summary.Count(*limit.kind));
      if (count > limit.limit) {
        crossed.push_back({std::string(LossName(*limit.kind)), limit.limit, count, {}});
      }
    } else if (const CastTensor* worst = summary.Worst();
               worst != nullptr && ComparableDecibel(worst->loss) < limit.limit) {
      crossed.push_back({"snr", limit.limit, worst->loss.snr_db, worst->info->name});
    }
  }
  return crossed;
}

}  // namespace tensorcast::tool
