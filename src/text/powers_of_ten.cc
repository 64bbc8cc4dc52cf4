// The table is computed by the compiler, in 256 bits.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/powers_of_ten.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tensorcast::text {
namespace {

// Limbs, the lowest first.
using Wide = std::array<std::uint64_t, 4>;
constexpr Wide kOne = {0, 0, 0, std::uint64_t{1} << 63};  // of powers: the top bit is set

// x 10, cut to 256 bits with the top bit set.
constexpr Wide TimesTen(const Wide& wide) {
  Wide product{};
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const Uint128 limb = Uint128{wide[i]} * 10 + carry;
    product[i] = static_cast<std::uint64_t>(limb);
    carry = static_cast<std::uint64_t>(limb >> 64);
  }
  const auto shift = static_cast<int>(std::bit_width(carry));  // 3 or 4
  for (std::size_t i = 0; i < product.size(); ++i) {
    const std::uint64_t above = i + 1 < product.size() ? product[i + 1] : carry;
    product[i] = product[i] >> shift | above << (64 - shift);
  }
  return product;
}

// / 10, cut to 256 bits with the top bit set: of the dividend with a limb of zeros behind it, the
// first 256 bits of the quotient.
constexpr Wide DividedByTen(const Wide& wide) {
  std::array<std::uint64_t, 5> quotient{};
  std::uint64_t rest = 0;
  for (std::size_t i = quotient.size(); i-- > 0;) {
    const Uint128 part = Uint128{rest} << 64 | (i > 0 ? wide[i - 1] : 0);
    quotient[i] = static_cast<std::uint64_t>(part / 10);
    rest = static_cast<std::uint64_t>(part % 10);
  }
  const int shift = std::countl_zero(quotient.back());
  Wide result{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = quotient[i + 1] << shift | quotient[i] >> (64 - shift);
  }
  return result;
}

// Cutting loses less than one unit of 256 bits each time, and at most 342 times: it reaches the 128
// bits that are kept only where the 64 below are all ones.
constexpr bool IsSure(const Wide& wide) { return wide[1] != UINT64_MAX; }

struct Table {
  std::array<Power, kMostPower - kLeastPower + 1> powers{};
  bool is_sure = true;
};

constexpr Table MakeTable() {
  Table table;
  Wide wide = kOne;
  for (int n = 0; n <= kMostPower; ++n) {
    table.powers[static_cast<std::size_t>(n - kLeastPower)] = {wide[3], wide[2]};
    table.is_sure = table.is_sure && IsSure(wide);
    wide = TimesTen(wide);
  }
  wide = kOne;
  for (int n = -1; n >= kLeastPower; --n) {
    wide = DividedByTen(wide);
    table.powers[static_cast<std::size_t>(n - kLeastPower)] = {wide[3], wide[2]};
    table.is_sure = table.is_sure && IsSure(wide);
  }
  return table;
}

constexpr Table kTable = MakeTable();
static_assert(kTable.is_sure);

}  // namespace

constinit const std::array<Power, kMostPower - kLeastPower + 1> kPowers = kTable.powers;

}  // namespace tensorcast::text
