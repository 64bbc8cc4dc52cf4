// Numbers, texts and lists of a file as tensors, by the rules by which numpy makes arrays of them,
// and tensors as such lists.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_MDF_LITERAL_H_
#define TENSORCAST_SRC_MDF_LITERAL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "graph/constant.h"
#include "mdf/value.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::mdf {

// What Python makes of a text that is a number by itself, as int() and then float() read it:
// "7" is 7 and "7.0" is 7.0. Nothing where it is another expression.
std::optional<Value> NumberOfText(const std::string& text);

// What numpy.array makes of a literal: whole numbers are int64, or uint64 where one is beyond
// int64; with a number that is not whole all are float64; truth values are bool, and among numbers
// 0 and 1; texts are strings. A list without elements is of float64. `what` names it in messages.
// Throws graph::Error: contents where lists differ in their lengths, unsupported where numpy would
// make objects, round whole numbers, or print numbers among texts.
graph::Constant TensorOf(const Value& literal, const std::string& what);

// A tensor as a literal of int64, uint64, float64, bool or strings, and the type that TensorOf
// makes of it: the tensor's own, or one that a cast brings back, bit for bit, with saturate=0 where
// the type is a float8. Throws graph::Error (unsupported) where there is none: a NaN with a
// payload, a tensor without dimensions, of no elements whose lists would not say its shape, or of
// too many.
struct Literal {
  Value value;
  DataType type = DataType::kUndefined;
};
Literal LiteralOf(const graph::Constant& tensor, const std::string& what);

}  // namespace tensorcast::mdf

#endif  // TENSORCAST_SRC_MDF_LITERAL_H_
