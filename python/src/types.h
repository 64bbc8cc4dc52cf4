// Python names element types by numpy's and ml_dtypes' dtypes, torch's, ONNX's numbers, and every
// name that ParseType takes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_TYPES_H_
#define TENSORCAST_PYTHON_TYPES_H_

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>

#include "arrays.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::python {

// ONNX's numbers of types are below this.
inline constexpr std::size_t kTypeNumbers = [] {
  std::size_t numbers = 0;
  for (const TypeInfo& row : Types()) {
    numbers = std::max(numbers, static_cast<std::size_t>(row.type) + 1);
  }
  return numbers;
}();

// Gives the type of a dtype's elements, in either byte order; kString for each way of numpy's to
// hold texts (object, U, S, StringDType), kUndefined for what has no type here.
DataType TypeOf(PyArray_Descr* descr);

// Gives the dtype that holds elements of a type, one to a byte where they are narrower, strings as
// object. It is borrowed.
PyArray_Descr* DescrOf(DataType type);

// Gives the bytes that an element of fixed width takes in numpy's arrays, at least one.
std::size_t ElementBytes(DataType type);

// Gives the type that an argument names, and remembers it; raises where it names none.
DataType TypeArgument(nanobind::handle argument);
// Gives kUndefined for what is not remembered; raises nothing.
DataType RememberedType(PyObject* argument) noexcept;

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_TYPES_H_
