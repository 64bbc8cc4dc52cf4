// Long addition, word by word.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/exact_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace tensorcast::core {
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

// Adds `parts` to the words from `word` on, or subtracts them.
template <bool kSubtracts, std::size_t kParts>
void AddWords(std::span<std::uint64_t> words, std::size_t word,
              const std::array<std::uint64_t, kParts>& parts) {
  bool carry = false;
  const auto add = [&](std::uint64_t part) {
    const std::uint64_t before = words[word];
    if (kSubtracts) {
      words[word] = before - part - static_cast<std::uint64_t>(carry);
      carry = carry ? before <= part : before < part;
    } else {
      words[word] = before + part + static_cast<std::uint64_t>(carry);
      carry = carry ? words[word] <= before : words[word] < before;
    }
    ++word;
  };
  for (std::size_t i = 0; i < kParts && word < words.size(); ++i) add(parts[i]);
  while (carry && word < words.size()) add(0);
}

}  // namespace

template <int kLeast, std::size_t kWords, bool kSigned>
void ExactSum<kLeast, kWords, kSigned>::Add(double term) {
  if (term == 0) return;  // of blocks that nothing was added to
  if (!std::isfinite(term)) {
    infinite_ = true;
    return;
  }
  const Parts x = PartsOf(term);
  const auto place = static_cast<unsigned>(x.exponent - kLeast);
  const std::size_t word = place / 64;  // another stands above it, as sums have headroom
  const Uint128 part = Uint128{x.mantissa} << place % 64;
  const Uint128 sum = (Uint128{words_[word + 1]} << 64 | words_[word]) + part;
  words_[word] = static_cast<std::uint64_t>(sum);
  words_[word + 1] = static_cast<std::uint64_t>(sum >> 64);
  if (sum < part) AddWords<false>(words_, word + 2, std::array<std::uint64_t, 1>{1});
}

template <int kLeast, std::size_t kWords, bool kSigned>
void ExactSum<kLeast, kWords, kSigned>::AddProduct(double a, double b) {
  const Parts x = PartsOf(a), y = PartsOf(b);
  const Uint128 product = Uint128{x.mantissa} * y.mantissa;  // of at most 106 bits
  const auto place = static_cast<unsigned>(x.exponent + y.exponent - kLeast);
  const unsigned shift = place % 64;
  const auto low = static_cast<std::uint64_t>(product);
  const auto high = static_cast<std::uint64_t>(product >> 64);
  const std::array<std::uint64_t, 3> parts = {
      low << shift, high << shift | low >> 1 >> (63 - shift), high >> 1 >> (63 - shift)};
  if (x.is_negative != y.is_negative) {
    AddWords<true>(words_, place / 64, parts);
  } else {
    AddWords<false>(words_, place / 64, parts);
  }
}

template <int kLeast, std::size_t kWords, bool kSigned>
void ExactSum<kLeast, kWords, kSigned>::Add(const ExactSum& other) {
  infinite_ = infinite_ || other.infinite_;
  AddWords<false>(words_, 0, other.words_);
}

template <int kLeast, std::size_t kWords, bool kSigned>
double ExactSum<kLeast, kWords, kSigned>::Round(bool to_odd) const {
  if (infinite_) return std::numeric_limits<double>::infinity();
  Words magnitude = words_;
  const bool is_negative = kSigned && magnitude.back() >> 63 != 0;
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
  // of two from 2^kLeast on.
  const int highest = static_cast<int>(top * 64) - 1 - std::countl_zero(magnitude[top - 1]);
  const int last = std::max(highest - kMantissaBits + 1, kLeastExponent - kLeast);
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
  const bool is_half = last > 0 && (bits_from(last - 1) & 1) != 0;
  const bool has_rest = last > 0 && any_below(last - 1);
  if (to_odd) {
    mantissa |= static_cast<std::uint64_t>(is_half || has_rest);
  } else {
    mantissa += static_cast<std::uint64_t>(is_half && (has_rest || (mantissa & 1) != 0));
  }
  // A mantissa of 2^53 is the next power of two, as the sum of the fields has it by itself.
  const int exponent = last + kLeast;  // of the mantissa's last bit
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

template class ExactSum<-1074, 34, false>;
template class ExactSum<-2148, 68, true>;

}  // namespace tensorcast::core
