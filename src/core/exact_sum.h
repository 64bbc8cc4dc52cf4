// A sum of non-negative doubles without rounding: a long (Kulisch) accumulator.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_EXACT_SUM_H_
#define TENSORCAST_SRC_CORE_EXACT_SUM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace tensorcast::core {

// Adds in any order to the same value; rounds once, in Value. NaN and negative terms are not
// expected; an infinite term makes the sum infinite.
class ExactSum {
 public:
  void Add(double term);
  void Add(const ExactSum& other);
  double Value() const;  // nearest double, ties to even; +Inf beyond the largest

  // The whole sum: its digits of 32 bits, the lowest first, and whether it is infinite. The same
  // for the same terms in any order.
  static constexpr std::size_t kDigits = 68;
  std::array<std::uint32_t, kDigits> Digits() const;
  bool infinite() const { return infinite_; }
  static ExactSum Of(const std::array<std::uint32_t, kDigits>& digits, bool infinite);

 private:
  // Digit i weighs 2^(32 i - 1074): the subnormals' unit at the bottom, 2^1024 and 2^77 terms of
  // headroom at the top. A digit may exceed 32 bits until Carry.
  static constexpr std::uint32_t kAddsBeforeCarry = 1u << 30;

  void Carry();

  std::array<std::uint64_t, kDigits> digits_ = {};
  std::uint32_t adds_ = 0;
  bool infinite_ = false;
};

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_EXACT_SUM_H_
