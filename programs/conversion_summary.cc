// Sums and orders the tensors of a conversion.
//
// SPDX-License-Identifier: Apache-2.0
#include "conversion_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "quantities.h"
#include "terminal.h"

namespace tensorcast::tool {

Verdict Judge(const LossReport& loss) {
  for (const Loss kind :
       {Loss::kNanLost, Loss::kToNan, Loss::kWrapped, Loss::kToInfinity, Loss::kToLimit}) {
    if (loss.count(kind) > 0) return Verdict::kLost;
  }
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

std::string SnrText(const LossReport& loss) {
  if (loss.compared == 0) return "–";
  if (std::isinf(loss.snr_db) && loss.max_abs_error > 0) return "?";
  return DecibelText(loss.snr_db);
}

void LossSum::Add(const io::TensorInfo& info, const LossReport& loss) {
  elements += loss.elements;
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) counts[kind] += loss.counts[kind];
  if (worst != nullptr && ComparableDecibel(loss) >= ComparableDecibel(worst_loss)) return;
  worst = &info;
  worst_loss = loss;
}

void CastTensors::Add(const io::TensorInfo& info, const convert::Decision& decision,
                      const LossReport& loss) {
  tensors_.push_back({&info, &decision, ComparableDecibel(loss), Judge(loss)});
  reports_.Add(loss);
  sum_.Add(info, loss);
}

CastTensor CastTensors::operator[](std::size_t i) const {
  const Entry& entry = tensors_[i];
  return {entry.info, entry.decision->to, entry.decision->text, reports_[i],
          entry.decision->is_companion};
}

std::string CrossedText(const CrossedLimit& crossed) {
  if (crossed.kind != "snr") {
    const auto number = [&](double value) {
      return crossed.is_percent ? fmt::format("{:.6g} %", value) : fmt::format("{:.0f}", value);
    };
    return fmt::format("{} {} is above {}", crossed.kind, number(crossed.value),
                       number(crossed.limit));
  }
  const std::string name = Shorten(io::Escape(crossed.tensor), 40);
  if (std::isnan(crossed.value)) {
    return fmt::format("snr of {} counts as below {} dB: {}", name, DecibelText(crossed.limit),
                       crossed.reason);
  }
  return fmt::format("snr {} dB of {} is below {} dB", DecibelText(crossed.value), name,
                     DecibelText(crossed.limit));
}

std::vector<std::uint32_t> CastTensors::WorstFirst() const {
  std::vector<std::uint32_t> order(tensors_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Entry& left = tensors_[a];
    const Entry& right = tensors_[b];
    if (left.verdict != right.verdict) return left.verdict < right.verdict;
    return left.decibel < right.decibel;
  });
  return order;
}

}  // namespace tensorcast::tool
