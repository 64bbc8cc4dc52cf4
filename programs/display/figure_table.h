// The SNR of every tensor under every type, for people: as few bytes as tell it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_FIGURE_TABLE_H_
#define TENSORCAST_PROGRAMS_DISPLAY_FIGURE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

class FigureTable {
 public:
  FigureTable(std::size_t tensors, std::size_t types)
      : types_(types), decibels_(tensors * types), marks_(tensors * types) {}

  void Set(std::size_t tensor, std::size_t type, const LossReport& loss, bool has_lost);
  bool IsCast(std::size_t tensor) const;
  // The lowest of the types', to compare by.
  double Worst(std::size_t tensor) const;
  // Of a tensor that is cast to the type.
  double Decibel(std::size_t tensor, std::size_t type) const;
  std::string Text(std::size_t tensor, std::size_t type) const;

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  enum Mark : std::uint8_t { kCast = 1, kLost = 2, kCompared = 4, kUnseen = 8, kWorst = 16 };

  std::size_t types_;
  std::vector<double> decibels_;
  std::vector<std::uint8_t> marks_;  // 0: not cast
};

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_FIGURE_TABLE_H_
