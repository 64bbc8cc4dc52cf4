// Element types as Python names them: numpy's and ml_dtypes' dtypes, torch's, ONNX's numbers, and
// every name that ParseType takes.
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

// The type of a dtype's elements, in either byte order; kString for each way of numpy's to hold
// texts (object, U, S, StringDType), kUndefined for what has no type here.
DataType TypeOf(PyArray_Descr* descr);

// The dtype that holds elements of a type, one to a byte where they are narrower; of strings
// object. Borrowed.
PyArray_Descr* DescrOf(DataType type);

// Bytes that an element takes in numpy's arrays: at least one. Of a type of fixed width.
std::size_t ElementBytes(DataType type);

// The type that an argument names; raises where it names none. Remembers what was asked.
DataType TypeArgument(nanobind::handle argument);
// kUndefined where it is none of those that are remembered; raises nothing.
DataType RememberedType(PyObject* argument) noexcept;

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_TYPES_H_
