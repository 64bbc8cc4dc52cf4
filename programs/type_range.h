// The ends of a type's range as doubles, from its row: for tables and advice.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_TYPE_RANGE_H_
#define TENSORCAST_PROGRAMS_TYPE_RANGE_H_

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

struct TypeRange {
  double lowest = 0;
  double max = 0;            // largest finite value
  double min_normal = 0;     // smallest positive normal; 1 for integers
  double min_subnormal = 0;  // smallest positive value; 1 for integers
};

// The range of any type but string. Values of 64-bit integers are rounded to double.
TypeRange RangeOf(DataType type);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_TYPE_RANGE_H_
