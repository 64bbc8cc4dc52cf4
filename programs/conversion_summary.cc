// Sums and orders the tensors of a conversion.
//
// SPDX-License-Identifier: Apache-2.0
#include "conversion_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tensorcast::tool {

Verdict Judge(const LossReport& loss) {
  for (const Loss kind :
       {Loss::kNanLost, Loss::kToNan, Loss::kWrapped, Loss::kToInfinity, Loss::kToLimit}) {
    if (loss.count(kind) > 0) return Verdict::kLost;
  }
  const double zeros = static_cast<double>(loss.count(Loss::kToZero));
  if (ComparableDecibel(loss) < kPoorDecibel) return Verdict::kPoor;
  if (zeros > kPoorZeroShare * static_cast<double>(loss.elements)) return Verdict::kPoor;
  return Verdict::kGood;
}

double ComparableDecibel(const LossReport& loss) {
  return std::isnan(loss.snr_db) ? -std::numeric_limits<double>::infinity() : loss.snr_db;
}

std::uint64_t ConversionSummary::Values() const {
  std::uint64_t values = 0;
  for (const CastTensor& tensor : cast) values += tensor.loss.elements;
  return values;
}

std::uint64_t ConversionSummary::Count(Loss loss) const {
  std::uint64_t count = 0;
  for (const CastTensor& tensor : cast) count += tensor.loss.count(loss);
  return count;
}

const CastTensor* ConversionSummary::Worst() const {
  const CastTensor* worst = nullptr;
  for (const CastTensor& tensor : cast) {
    if (worst == nullptr || ComparableDecibel(tensor.loss) < ComparableDecibel(worst->loss)) {
      worst = &tensor;
    }
  }
  return worst;
}

std::vector<const CastTensor*> WorstFirst(const std::vector<CastTensor>& tensors) {
  std::vector<const CastTensor*> order;
  order.reserve(tensors.size());
  for (const CastTensor& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const CastTensor* a, const CastTensor* b) {
    const Verdict verdict_a = Judge(a->loss);
    const Verdict verdict_b = Judge(b->loss);
    if (verdict_a != verdict_b) return verdict_a < verdict_b;
    return ComparableDecibel(a->loss) < ComparableDecibel(b->loss);
  });
  return order;
}

}  // namespace tensorcast::tool
