// Parses and applies --fail-on.
//
// SPDX-License-Identifier: Apache-2.0
#include "fail_limits.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace tensorcast::tool {
namespace {

std::string KindNames() {
  std::string names;
  for (const std::string& kind : LimitKinds()) names.append(names.empty() ? "" : ", ").append(kind);
  return names;
}

// Why an SNR counts as below any limit; empty where it is what it says.
std::string ReasonOf(const LossReport& loss) {
  if (loss.compared == 0) return "nothing in it could be compared";
  if (loss.finite > loss.compared) {
    const std::uint64_t lost = loss.finite - loss.compared;
    return fmt::format("{} finite value{} became Inf or NaN", lost, lost == 1 ? "" : "s");
  }
  const bool unknown = std::isnan(loss.snr_db) || loss.snr_db == HUGE_VAL;
  return unknown ? "its squares leave the range of float64" : "";
}

template <class Number> bool ParseWhole(std::string_view text, Number* number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && stop == text.data() + text.size();
}

}  // namespace

void AddFailOnFlag(CLI::App& app, std::vector<std::string>& texts) {
  app.add_option("--fail-on", texts,
                 "Exit with 1 where a count (to_limit=0) or share (to_zero=1%) is above the limit, "
                 "or snr below it; repeatable. KIND is one of " +
                     KindNames())
      ->type_name("KIND=LIMIT")
      ->allow_extra_args(false);
}

std::vector<std::string> LimitKinds() {
  std::vector<std::string> kinds = {"snr"};
  for (std::size_t i = 0; i < kLossKinds; ++i) {
    kinds.emplace_back(LossName(static_cast<Loss>(i)));
  }
  return kinds;
}

FailLimit ParseFailLimit(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string_view kind = std::string_view(text).substr(0, equals);
  std::string_view limit =
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
  bool legal = false;
  if (parsed.kind && limit.ends_with('%')) {
    limit.remove_suffix(1);
    parsed.is_percent = true;
    legal = ParseWhole(limit, &parsed.limit) && parsed.limit >= 0 && parsed.limit <= 100 &&
            !std::signbit(parsed.limit);
  } else if (parsed.kind) {
    std::uint64_t count = 0;
    legal = ParseWhole(limit, &count);
    parsed.limit = static_cast<double>(count);
  } else {
    legal = ParseWhole(limit, &parsed.limit) && std::isfinite(parsed.limit);
  }
  if (!legal) {
    throw io::Error(io::ErrorKind::kArguments,
                    fmt::format("--fail-on: '{}' needs {}, as in {}", io::Escape(text),
                                parsed.kind ? "a count or a percentage" : "a number of dB",
                                parsed.kind ? fmt::format("{0}=0 or {0}=1%", kind) : "snr=20"));
  }
  return parsed;
}

std::vector<FailLimit> ParseFailLimits(const std::vector<std::string>& texts) {
  std::vector<FailLimit> limits;
  for (const std::string& text : texts) limits.push_back(ParseFailLimit(text));
  return limits;
}

std::vector<CrossedLimit> CrossedLimits(const std::vector<FailLimit>& limits, const LossSum& sum) {
  std::vector<CrossedLimit> crossed;
  for (const FailLimit& limit : limits) {
    if (limit.kind) {
      auto value = static_cast<double>(sum.count(*limit.kind));
      if (limit.is_percent && sum.elements > 0) {
        value = 100 * value / static_cast<double>(sum.elements);
      }
      if (value > limit.limit) {
        crossed.push_back(
            {std::string(LossName(*limit.kind)), limit.limit, value, limit.is_percent, {}, {}});
      }
    } else if (sum.worst != nullptr && ComparableDecibel(sum.worst_loss) < limit.limit) {
      const std::string reason = ReasonOf(sum.worst_loss);
      crossed.push_back(
          {"snr", limit.limit,
           reason.empty() ? sum.worst_loss.snr_db : std::numeric_limits<double>::quiet_NaN(), false,
           sum.worst->name, reason});
    }
  }
  return crossed;
}

}  // namespace tensorcast::tool
