// The fewest decimal digits that tell a floating value from its neighbours.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_SHORTEST_H_
#define TENSORCAST_SRC_TEXT_SHORTEST_H_

#include <cstdint>
#include <string>

namespace tensorcast::text {

// digits x 10^exponent. The digits are fewer than 10^17, and may end in zeros.
struct ShortDecimal {
  std::uint64_t digits;
  int exponent;
};

// Of significand x 2^exponent, from 1 to 2^53 - 1 and from -1074 to 971, the value of an element of
// a floating type: the fewest digits that read back to it, reading back being ties-to-even in the
// type's own significand with no upper end to the exponent; of those the nearest to the value; of
// two equally near, the one with the even last digit. `begins_binade`: the neighbour below is half
// as far away as the one above.
ShortDecimal ShortestDecimal(std::uint64_t significand, int exponent, bool begins_binade);

// The shortest decimal that reads back as a float64, in std::to_chars' way: "0.1", "1e-300", "inf".
std::string ShortestText(double value);

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_SHORTEST_H_
