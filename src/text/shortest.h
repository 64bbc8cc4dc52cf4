// The fewest decimal digits that tell a floating value from its neighbours.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_SHORTEST_H_
#define TENSORCAST_SRC_TEXT_SHORTEST_H_

#include <cstdint>
#include <string>

#include "tensorcast/detail/scalar_codec.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::text {

// The number d.ddd x 10^exponent; no trailing zero.
struct Digits {
  static constexpr int kMost = 17;
  char digit[kMost] = {};  // '0' to '9'
  int count = 0;
  int exponent = 0;
};

// The magnitude of a finite element of a floating type, as a double, which has it exactly.
double Magnitude(const detail::Unpacked& value);

// Of a finite magnitude other than zero: the fewest digits that read back to it, reading back being
// ties-to-even in the type's own significand with no upper end to the exponent; of those the
// nearest to the value; of two equally near, the one with the even last digit. float8e8m0 has the
// digits of the float32 of the same value.
Digits ShortestDigits(const detail::Unpacked& value, const TypeInfo& type);

// The shortest decimal that reads back as a float64, in std::to_chars' way: "0.1", "1e-300", "inf".
std::string ShortestText(double value);

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_SHORTEST_H_
