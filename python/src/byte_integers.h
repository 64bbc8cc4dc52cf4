// Integers of less than a byte that take one, as ml_dtypes has them, to and from other integers and
// bool: the low bits are all there is to it. Results of more than 16 bits are left to plans, which
// are faster.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_BYTE_INTEGERS_H_
#define TENSORCAST_PYTHON_BYTE_INTEGERS_H_

#include <cstddef>
#include <cstdint>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::python {

// Says whether a type is of integers of less than a byte.
bool IsNarrowInteger(DataType type);

// Says whether MoveIntegers casts between two types, one of which takes a byte for less.
bool MovesIntegers(DataType from, DataType to);

// Casts n of them. The memories are one, where elements are equally wide, or have nothing in
// common.
void MoveIntegers(DataType from, DataType to, const std::byte* source, std::byte* result,
                  std::uint64_t n);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_BYTE_INTEGERS_H_
