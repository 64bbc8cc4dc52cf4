// Sums and orders the tensors of a conversion.
//
// SPDX-License-Identifier: Apache-2.0
#include "report/cast_tensors.h"

#include <algorithm>
#include <numeric>

namespace tensorcast::report {

void CastTensors::Add(const formats::TensorInfo& info, DataType to, const std::string& taken_by,
                      bool is_companion, const LossReport& loss, const scale::WrittenForm& scaled,
                      std::optional<double> gain_db) {
  tensors_.push_back(
      {&info, &taken_by, ComparableDecibel(loss), to, Judge(loss), is_companion, scaled, gain_db});
  reports_.Add(loss);
  sum_.Add(info.name, loss);
}

CastTensor CastTensors::operator[](std::size_t i) const {
  const Entry& entry = tensors_[i];
  return {entry.info,         entry.to,     *entry.taken_by, reports_[i],
          entry.is_companion, entry.scaled, entry.gain_db};
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

}  // namespace tensorcast::report
