// Sums of doubles, and of products of doubles, without rounding: long (Kulisch) accumulators.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_EXACT_SUM_H_
#define TENSORCAST_SRC_CORE_EXACT_SUM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace tensorcast::core {

// A number in fixed point whose lowest bit weighs 2^kLeast, in words of 64 bits, the lowest first;
// in two's complement where kSigned. Terms in any order give the same number, which is rounded
// once, at the end.
template <int kLeast, std::size_t kWords, bool kSigned> class ExactSum {
 public:
  using Words = std::array<std::uint64_t, kWords>;

  ExactSum() = default;
  ExactSum(const Words& words, bool infinite) : words_(words), infinite_(infinite) {}

  // A term that is not negative; an infinite one makes the sum infinite.
  void Add(double term);
  // Adds a * b; both are finite, and the sum holds the least product: kLeast is -2148.
  void AddProduct(double a, double b);
  void Add(const ExactSum& other);

  // The sum rounded to nearest, ties to even; beyond the largest double Inf. +0 where it is zero.
  double Nearest() const { return Round(false); }
  // Rounded to odd: where the sum is no double, the neighbour whose last bit is 1; beyond the
  // largest double that one. Rounded once more to a narrower type it gives what the sum gives.
  double Odd() const { return Round(true); }

  const Words& words() const { return words_; }
  bool infinite() const { return infinite_; }

 private:
  double Round(bool to_odd) const;

  Words words_{};
  bool infinite_ = false;
};

// From 2^-1074, the least subnormal, to 2^77 of the largest doubles. Terms are not negative.
using SumOfMagnitudes = ExactSum<-1074, 34, false>;
// Of 2^60 products: from 2^-2148, that of the least subnormals, to 2^2048 times 2^60.
using SumOfProducts = ExactSum<-2148, 68, true>;

extern template class ExactSum<-1074, 34, false>;
extern template class ExactSum<-2148, 68, true>;

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_EXACT_SUM_H_
