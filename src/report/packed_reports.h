// The loss reports of many tensors in a tenth of their size.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_REPORT_PACKED_REPORTS_H_
#define TENSORCAST_SRC_REPORT_PACKED_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::report {

// A LossReport takes half a kilobyte, most of it counts that are 0 and examples that are none.
class PackedReports {
 public:
  void Add(const LossReport& report);
  std::size_t size() const { return places_.size(); }
  // As it was added, but for what LossReport calls meaningless.
  LossReport operator[](std::size_t i) const;

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

  // Blocks do not move while their number grows, and a report does not cross from one to the next.
  std::deque<std::vector<std::uint8_t>> blocks_;
  std::vector<std::uint64_t> places_;  // block × kBlockBytes + offset
};

}  // namespace tensorcast::report

#endif  // TENSORCAST_SRC_REPORT_PACKED_REPORTS_H_
