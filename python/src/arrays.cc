// This file alone imports numpy's table of functions; arrays.h says what it gives.
//
// SPDX-License-Identifier: Apache-2.0
#define TENSORCAST_PYTHON_IMPORTS_NUMPY
#include "arrays.h"

#include <limits>
#include <string>
#include <vector>

#include "errors.h"

namespace nb = nanobind;

namespace tensorcast::python {

void ImportNumpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

PyArrayObject* DenseArgument(nb::handle object, const char* name) {
  if (PyArray_Check(object.ptr()) == 0 || !IsDense(AsArray(object))) {
    Raise(ErrorClass::kKind, std::string(name) + " has to be a dense numpy array");
  }
  return AsArray(object);
}

PyArrayObject* WritableArgument(nb::handle object, const char* name) {
  PyArrayObject* const array = DenseArgument(object, name);
  if (!PyArray_ISWRITEABLE(array)) {
    Raise(ErrorClass::kValue, std::string(name) + " is read-only");
  }
  return array;
}

nb::object NewArray(PyArray_Descr* descr, std::span<const npy_intp> shape) {
  Py_INCREF(reinterpret_cast<PyObject*>(descr));  // which the call below takes over
  PyObject* const array = PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(shape.size()),
                                               shape.data(), nullptr, nullptr, 0, nullptr);
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

nb::object NewArray(PyArray_Descr* descr, std::span<const std::uint64_t> shape) {
  std::vector<npy_intp> sizes;
  sizes.reserve(shape.size());
  for (const std::uint64_t size : shape) {
    if (size > static_cast<std::uint64_t>(std::numeric_limits<npy_intp>::max())) {
      Raise(ErrorClass::kRange, "a tensor has more elements than an array can");
    }
    sizes.push_back(static_cast<npy_intp>(size));
  }
  if (sizes.size() > 32) Raise(ErrorClass::kUnsupported, "a tensor has more than 32 dimensions");
  return NewArray(descr, sizes);
}

}  // namespace tensorcast::python
