// The exact sum of products of doubles, rounded once at the end.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_EXACT_SUM_H_
#define TENSORCAST_SRC_GRAPH_EXACT_SUM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace tensorcast::graph {

// A number in fixed point, in two's complement, that holds the sum of 2^60 products of any finite
// doubles: from 2^-2148, the product of the least subnormals, to 2^2048 times 2^60.
class ExactSum {
 public:
  void Clear() { words_.fill(0); }
  // Adds a * b; both are finite.
  void Add(double a, double b);
  // The sum rounded to nearest, ties to even; beyond the largest double Inf. +0 where it is zero.
  double Nearest() const { return Round(false); }
  // Rounded to odd: where the sum is no double, the neighbour whose last bit is 1; beyond the
  // largest double that one. Rounded once more to a narrower type it gives what the sum gives.
  double Odd() const { return Round(true); }

 private:
  static constexpr std::size_t kWords = 68;
  double Round(bool to_odd) const;
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_EXACT_SUM_H_
