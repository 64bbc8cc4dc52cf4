// See exact_sum.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/exact_sum.h"

#include <bit>

namespace tensorcast::core {
namespace {

constexpr std::uint64_t kDigitMask = 0xFFFFFFFFu;
constexpr std::uint64_t kInfinityBits = std::uint64_t{0x7FF} << 52;

}  // namespace

void ExactSum::Add(double term) {
  const auto bits = std::bit_cast<std::uint64_t>(term);
  if (bits >= kInfinityBits) {
    infinite_ = true;
    return;
  }
  if (bits == 0) return;
  const std::uint64_t field = bits >> 52;
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t significand = field == 0 ? mantissa : mantissa | (std::uint64_t{1} << 52);
  const std::uint64_t shift = field == 0 ? 0 : field - 1;  // in units of 2^-1074
  const std::size_t digit = shift / 32;
  const unsigned offset = shift % 32;
  const std::uint64_t low = significand << offset;
  const std::uint64_t high = offset == 0 ? 0 : significand >> (64 - offset);
  digits_[digit] += low & kDigitMask;
  digits_[digit + 1] += low >> 32;
  digits_[digit + 2] += high;
  if (++adds_ == kAddsBeforeCarry) Carry();
}

void ExactSum::Add(const ExactSum& other) {
  infinite_ |= other.infinite_;
  ExactSum carried = other;
  carried.Carry();
  Carry();
  for (std::size_t i = 0; i < kDigits; ++i) digits_[i] += carried.digits_[i];
  Carry();
}

void ExactSum::Carry() {
  std::uint64_t carry = 0;
  for (std::uint64_t& digit : digits_) {
    digit += carry;
    carry = digit >> 32;
    digit &= kDigitMask;
  }
  adds_ = 0;
}

std::array<std::uint32_t, ExactSum::kDigits> ExactSum::Digits() const {
  ExactSum carried = *this;
  carried.Carry();
  std::array<std::uint32_t, kDigits> digits;
  for (std::size_t i = 0; i < kDigits; ++i)
    digits[i] = static_cast<std::uint32_t>(carried.digits_[i]);
  return digits;
}

ExactSum ExactSum::Of(const std::array<std::uint32_t, kDigits>& digits, bool infinite) {
  ExactSum sum;
  for (std::size_t i = 0; i < kDigits; ++i) sum.digits_[i] = digits[i];
  sum.infinite_ = infinite;
  return sum;
}

double ExactSum::Value() const {
  if (infinite_) return std::bit_cast<double>(kInfinityBits);
  ExactSum carried = *this;
  carried.Carry();
  const auto& digits = carried.digits_;
  std::size_t top = kDigits;
  while (top > 0 && digits[top - 1] == 0) --top;
  if (top == 0) return 0.0;
  --top;
  // The highest set bit, in units of 2^-1074, and the lowest bit a double there keeps.
  const std::size_t highest =
      top * 32 + (63 - static_cast<std::size_t>(std::countl_zero(digits[top])));
  const std::size_t lowest = highest > 52 ? highest - 52 : 0;
  const auto bit = [&](std::size_t i) { return (digits[i / 32] >> (i % 32)) & 1; };
  std::uint64_t kept = 0;
  for (std::size_t i = highest + 1; i-- > lowest;) kept = kept << 1 | bit(i);
  if (lowest > 0 && bit(lowest - 1) != 0) {
    bool sticky = false;
    for (std::size_t i = 0; i + 1 < lowest && !sticky; ++i) sticky = bit(i) != 0;
    if (sticky || (kept & 1) != 0) ++kept;
  }
  // kept carries the leading bit where the sum is normal, which makes the exponent field lowest+1;
  // a carry out of the mantissa adds one more.
  const std::uint64_t bits = (static_cast<std::uint64_t>(lowest) << 52) + kept;
  return std::bit_cast<double>(bits < kInfinityBits ? bits : kInfinityBits);
}

}  // namespace tensorcast::core
