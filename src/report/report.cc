// Judges and sums loss reports; parses limits of what may be lost, and finds those that were
// crossed.
//
// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <limits>

#include "tensorcast/report.hpp"
#include "words/error_text.h"

namespace tensorcast {
inline namespace TENSORCAST_ABI {
namespace {

constexpr std::string_view kSnr = "snr";

std::string Quoted(std::string_view text) { return "'" + words::Escape(text) + "'"; }

template <class Number> bool ParseWhole(std::string_view text, Number* number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && stop == text.data() + text.size();
}

// The number behind the '=', into `limit`, whose kind is known.
bool ParseNumber(std::string_view text, LossLimit& limit) {
  if (!limit.kind) return ParseWhole(text, &limit.limit) && std::isfinite(limit.limit);
  if (text.ends_with('%')) {
    text.remove_suffix(1);
    limit.is_percent = true;
    return ParseWhole(text, &limit.limit) && limit.limit >= 0 && limit.limit <= 100 &&
           !std::signbit(limit.limit);
  }
  std::uint64_t count = 0;
  if (!ParseWhole(text, &count)) return false;
  limit.limit = static_cast<double>(count);
  return true;
}

}  // namespace

std::uint64_t LostValues(const LossReport& loss) {
  std::uint64_t lost = 0;
  for (const Loss kind :
       {Loss::kNanLost, Loss::kToNan, Loss::kWrapped, Loss::kToInfinity, Loss::kToLimit}) {
    lost += loss.count(kind);
  }
  return lost;
}

Verdict Judge(const LossReport& loss) {
  if (LostValues(loss) > 0) return Verdict::kLost;
  const double zeros = static_cast<double>(loss.count(Loss::kToZero));
  if (loss.compared > 0 && ComparableDecibel(loss) < kPoorDecibel) return Verdict::kPoor;
  if (zeros > kPoorZeroShare * static_cast<double>(loss.elements)) return Verdict::kPoor;
  return Verdict::kGood;
}

double ComparableDecibel(const LossReport& loss) {
  constexpr double kUnknown = -std::numeric_limits<double>::infinity();
  if (loss.elements == 0) return loss.snr_db;
  if (loss.finite > loss.compared || loss.compared == 0) return kUnknown;
  if (std::isnan(loss.snr_db)) return kUnknown;
  // Errors whose squares are all 0 are lost in nothing that is far above them.
  const bool unseen = std::isinf(loss.snr_db) && loss.max_abs_error > 0;
  return unseen && loss.sum_squares < std::numeric_limits<double>::min() ? kUnknown : loss.snr_db;
}

std::string UnknownDecibelReason(const LossReport& loss) {
  if (loss.compared == 0) return "nothing in it could be compared";
  if (loss.finite > loss.compared) {
    const std::uint64_t lost = loss.finite - loss.compared;
    return std::to_string(lost) + (lost == 1 ? " finite value" : " finite values") +
           " became Inf or NaN";
  }
  const bool unknown = std::isnan(loss.snr_db) || loss.snr_db == HUGE_VAL;
  return unknown ? "its squares leave the range of float64" : "";
}

void LossSum::Add(std::string_view tensor, const LossReport& loss, std::uint64_t unlike) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  elements += loss.elements;
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) counts[kind] += loss.counts[kind];
  const double known = worst_unlike != 0 ? kNone : ComparableDecibel(worst_loss);
  if (worst && (unlike != 0 ? kNone : ComparableDecibel(loss)) >= known) return;
  worst = tensor;
  worst_loss = loss;
  worst_unlike = unlike;
}

std::string_view LimitName(const LossLimit& limit) {
  return limit.kind ? LossName(*limit.kind) : kSnr;
}

std::vector<std::string_view> LimitNames() {
  std::vector<std::string_view> names = {kSnr};
  for (std::size_t i = 0; i < kLossKinds; ++i) names.push_back(LossName(static_cast<Loss>(i)));
  return names;
}

std::optional<LossLimit> ParseLossLimit(std::string_view text, std::string* problem) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  LossLimit limit;
  bool known = name == kSnr;
  for (std::size_t i = 0; i < kLossKinds; ++i) {
    if (name != LossName(static_cast<Loss>(i))) continue;
    known = true;
    limit.kind = static_cast<Loss>(i);
  }
  if (!known) {
    if (problem != nullptr) {
      *problem = Quoted(name) + " is not one of";
      for (const std::string_view one : LimitNames()) {
        problem->append(one == kSnr ? " " : ", ").append(one);
      }
    }
    return std::nullopt;
  }
  if (equals != std::string_view::npos && ParseNumber(text.substr(equals + 1), limit)) return limit;
  if (problem != nullptr) {
    const std::string as(name);
    *problem = Quoted(text) + " needs " +
               (limit.kind ? "a count or a percentage, as in " + as + "=0 or " + as + "=1%"
                           : "a number of dB, as in snr=20");
  }
  return std::nullopt;
}

std::vector<CrossedLimit> CrossedLimits(std::span<const LossLimit> limits, const LossSum& sum) {
  std::vector<CrossedLimit> crossed;
  for (const LossLimit& limit : limits) {
    if (limit.kind) {
      auto value = static_cast<double>(sum.count(*limit.kind));
      if (limit.is_percent && sum.elements > 0) {
        value = 100 * value / static_cast<double>(sum.elements);
      }
      if (value > limit.limit) crossed.push_back({limit, value, {}, {}});
    } else if (sum.worst &&
               (sum.worst_unlike != 0 || ComparableDecibel(sum.worst_loss) < limit.limit)) {
      std::string reason =
          sum.worst_unlike == 0
              ? UnknownDecibelReason(sum.worst_loss)
              : std::to_string(sum.worst_unlike) +
                    (sum.worst_unlike == 1 ? " value is Inf or NaN in A, and not the same in B"
                                           : " values are Inf or NaN in A, and not the same in B");
      const double value =
          reason.empty() ? sum.worst_loss.snr_db : std::numeric_limits<double>::quiet_NaN();
      crossed.push_back({limit, value, *sum.worst, std::move(reason)});
    }
  }
  return crossed;
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
