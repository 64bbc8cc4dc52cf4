// Marks and decibels, a byte and a double for each tensor and type.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/figure_table.h"

#include <algorithm>
#include <cmath>

#include "display/conversion_summary.h"
#include "display/quantities.h"

namespace tensorcast::tool {

void FigureTable::Set(std::size_t tensor, std::size_t type, const LossReport& loss, bool has_lost) {
  const std::size_t place = tensor * types_ + type;
  decibels_[place] = loss.snr_db;
  const bool is_unseen = std::isinf(loss.snr_db) && loss.max_abs_error > 0;
  marks_[place] = static_cast<std::uint8_t>(
      kCast | (has_lost ? kLost : 0) | (loss.compared > 0 ? kCompared : 0) |
      (is_unseen ? kUnseen : 0) | (ComparableDecibel(loss) == -kInfinity ? kWorst : 0));
}

bool FigureTable::IsCast(std::size_t tensor) const {
  const auto first = marks_.begin() + static_cast<std::ptrdiff_t>(tensor * types_);
  return std::any_of(first, first + static_cast<std::ptrdiff_t>(types_),
                     [](std::uint8_t mark) { return mark != 0; });
}

double FigureTable::Worst(std::size_t tensor) const {
  double worst = kInfinity;
  for (std::size_t place = tensor * types_; place < (tensor + 1) * types_; ++place) {
    if (marks_[place] == 0) continue;
    worst = std::min(worst, (marks_[place] & kWorst) != 0 ? -kInfinity : decibels_[place]);
  }
  return worst;
}

double FigureTable::Decibel(std::size_t tensor, std::size_t type) const {
  const std::size_t place = tensor * types_ + type;
  return (marks_[place] & kWorst) != 0 ? -kInfinity : decibels_[place];
}

std::string FigureTable::Text(std::size_t tensor, std::size_t type) const {
  const std::size_t place = tensor * types_ + type;
  const std::uint8_t mark = marks_[place];
  if (mark == 0) return "·";
  const std::string figure = (mark & kCompared) == 0 ? "–"
                             : (mark & kUnseen) != 0 ? "?"
                                                     : DecibelText(decibels_[place]);
  return ((mark & kLost) != 0 ? "✗ " : "") + figure;
}

}  // namespace tensorcast::tool
