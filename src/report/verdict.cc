// Judges and sums loss reports.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tensorcast/report.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

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

void LossSum::Add(std::string_view tensor, const LossReport& loss) {
  elements += loss.elements;
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) counts[kind] += loss.counts[kind];
  if (worst && ComparableDecibel(loss) >= ComparableDecibel(worst_loss)) return;
  worst = tensor;
  worst_loss = loss;
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
