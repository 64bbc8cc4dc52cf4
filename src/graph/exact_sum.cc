// Long addition, word by word.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/exact_sum.h"

#include <algorithm>
#include <bit>

namespace tensorcast::graph {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr int kLeastExponent = -1074;  // of a double's last bit

struct Parts {
  std::uint64_t mantissa;
  int exponent;  // of its last bit
  bool is_negative;
};

Parts PartsOf(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto field = static_cast<int>(bits >> 52 & 0x7FF);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  if (field == 0) return {fraction, kLeastExponent, bits >> 63 != 0};
  return {fraction | std::uint64_t{1} << 52, kLeastExponent + field - 1, bits >> 63 != 0};
}

}  // namespace

void ExactSum::Add(double a, double b) {
  const Parts x = PartsOf(a), y = PartsOf(b);
  const Uint128 product = Uint128{x.mantissa} * y.mantissa;
  const auto place = static_cast<unsigned>(x.exponent + y.exponent - 2 * kLeastExponent);
  const unsigned shift = place % 64;
  std::size_t word = place / 64;
  // The product, of at most 106 bits, lies in three words.
  const auto low = static_cast<std::uint64_t>(product);
  const auto high = static_cast<std::uint64_t>(product >> 64);
  const std::uint64_t parts[3] = {low << shift,
                                  high << shift | (shift == 0 ? 0 : low >> (64 - shift)),
                                  shift == 0 ? 0 : high >> (64 - shift)};
  const bool subtracts = x.is_negative != y.is_negative;
  bool carry = false;
  for (std::size_t i = 0; word < kWords && (i < 3 || carry); ++i, ++word) {
    const std::uint64_t part = i < 3 ? parts[i] : 0;
    const std::uint64_t before = words_[word];
    if (subtracts) {
      words_[word] = before - part - static_cast<std::uint64_t>(carry);
      carry = carry ? before <= part : before < part;
    } else {
      words_[word] = before + part + static_cast<std::uint64_t>(carry);
      carry = carry ? words_[word] <= before : words_[word] < before;
    }
  }
}

double ExactSum::Round(bool to_odd) const {
  std::array<std::uint64_t, kWords> magnitude = words_;
  const bool is_negative = magnitude.back() >> 63 != 0;
  if (is_negative) {
    bool carry = true;
    for (std::uint64_t& word : magnitude) {
      word = ~word + static_cast<std::uint64_t>(carry);
      carry = carry && word == 0;
    }
  }
  std::size_t top = kWords;
  while (top > 0 && magnitude[top - 1] == 0) --top;
  if (top == 0) return 0;
  constexpr int kMantissaBits = 53;
  // The places of the highest bit, and of the last that a double of this size has; both as powers
  // of two from 2^-2148 on.
  const int highest = static_cast<int>(top * 64) - 1 - std::countl_zero(magnitude[top - 1]);
  const int last = std::max(highest - kMantissaBits + 1, -kLeastExponent);
  const auto bits_from = [&](int place) {  // 64 of them
    const auto word = static_cast<std::size_t>(place / 64);
    const auto shift = static_cast<unsigned>(place % 64);
    if (word >= kWords) return std::uint64_t{0};
    const std::uint64_t above = word + 1 < kWords ? magnitude[word + 1] : 0;
    return magnitude[word] >> shift | (shift == 0 ? 0 : above << (64 - shift));
  };
  const auto any_below = [&](int place) {
    for (std::size_t word = 0; word < static_cast<std::size_t>(place / 64); ++word) {
      if (magnitude[word] != 0) return true;
    }
    const auto rest = static_cast<unsigned>(place % 64);
    return rest != 0 && (magnitude[static_cast<std::size_t>(place / 64)] << (64 - rest)) != 0;
  };
  // Fewer than 54 bits are left from `last` on, as nothing is above `highest`.
  std::uint64_t mantissa = highest < last ? 0 : bits_from(last);
  const bool is_half = (bits_from(last - 1) & 1) != 0;
  const bool has_rest = any_below(last - 1);
  if (to_odd) {
    mantissa |= static_cast<std::uint64_t>(is_half || has_rest);
  } else {
    mantissa += static_cast<std::uint64_t>(is_half && (has_rest || (mantissa & 1) != 0));
  }
  // A mantissa of 2^53 is the next power of two, as the sum of the fields has it by itself.
  const int exponent = last + 2 * kLeastExponent;  // of the mantissa's last bit
  constexpr int kMostExponent = 971;
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63, kInf = std::uint64_t{0x7FF} << 52;
  std::uint64_t bits = mantissa;
  if (exponent > kMostExponent) {
    bits = to_odd ? kInf - 1 : kInf;
  } else if (mantissa >> 52 != 0) {
    bits = mantissa + (static_cast<std::uint64_t>(exponent - kLeastExponent) << 52);
  }
  return std::bit_cast<double>(is_negative ? bits | kSign : bits);
}

}  // namespace tensorcast::graph
