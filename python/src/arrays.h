// numpy's arrays are read and made here. No other file includes numpy's headers, so that its table
// of functions is imported once, in arrays.cc.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_ARRAYS_H_
#define TENSORCAST_PYTHON_ARRAYS_H_

#include <nanobind/nanobind.h>

#ifndef TENSORCAST_PYTHON_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorcast::python {

// Imports numpy; raises where it cannot.
void ImportNumpy();

inline PyArrayObject* AsArray(nanobind::handle object) {
  return reinterpret_cast<PyArrayObject*>(object.ptr());
}

// Says whether the elements stand in C's order without gaps, in this machine's byte order.
inline bool IsDense(PyArrayObject* array) {
  return PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISNOTSWAPPED(array);
}

inline std::uint64_t ElementsOf(PyArrayObject* array) {
  return static_cast<std::uint64_t>(PyArray_SIZE(array));
}

// The memory of a dense array.
inline std::span<const std::byte> BytesOf(PyArrayObject* array) {
  return {static_cast<const std::byte*>(PyArray_DATA(array)),
          static_cast<std::size_t>(PyArray_NBYTES(array))};
}
inline std::span<std::byte> WritableBytesOf(PyArrayObject* array) {
  return {static_cast<std::byte*>(PyArray_DATA(array)),
          static_cast<std::size_t>(PyArray_NBYTES(array))};
}

// Gives the argument as a dense numpy array; raises where it is something else.
PyArrayObject* DenseArgument(nanobind::handle object, const char* name);
// Does the same for an array that has to be writable.
PyArrayObject* WritableArgument(nanobind::handle object, const char* name);

// Makes an array whose elements are not set, in C's order, or in that of `strides` (in bytes). Its
// memory is of result_memory.h where it is not small. `descr` is borrowed.
nanobind::object NewArray(PyArray_Descr* descr, std::span<const npy_intp> shape,
                          const npy_intp* strides = nullptr);
nanobind::object NewArray(PyArray_Descr* descr, std::span<const std::uint64_t> shape);

// Makes an array in C's order of memory that stands elsewhere, and stays as long as `owner`.
nanobind::object ArrayAt(PyArray_Descr* descr, std::span<const std::uint64_t> shape, void* memory,
                         nanobind::object owner);

// Makes a copy of an array, in C's order and this machine's byte order.
nanobind::object DenseCopy(PyArrayObject* array);

// Gives numpy's array of any object, not copied where it need not be; invalid where numpy raises.
nanobind::object AnyArray(PyObject* object) noexcept;

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_ARRAYS_H_
