// What a cast reads or writes without any Python on the way: the dense memory of an array of numpy
// or JAX, or of a tensor of torch.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_OPERANDS_H_
#define TENSORCAST_PYTHON_OPERANDS_H_

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::python {

enum class Library { kNumpy, kTorch, kJax };

inline constexpr std::size_t kMostDimensions = 64;

// Elements that stand without gaps, in this machine's byte order: in C's order, or in that of
// `strides`. Shape and strides are the array's own, or `sizes`.
struct Operand {
  Library library = Library::kNumpy;
  DataType type = DataType::kUndefined;
  bool is_packed = false;  // two to a byte, as torch has float4
  bool is_in_c_order = true;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t n = 0;
  std::size_t dimensions = 0;
  const std::int64_t* shape = nullptr;
  const std::int64_t* strides = nullptr;
  std::int64_t stride_unit = 1;  // what a stride counts: bytes in numpy, elements in torch
  nanobind::object copy;         // whose memory it is, where that is not the array's own
  std::array<std::int64_t, kMostDimensions> sizes;  // NOLINT: not set, which would take time

  std::span<const std::byte> read() const { return {data, bytes}; }
  std::span<std::byte> written() const { return {data, bytes}; }
  std::span<const std::int64_t> shape_span() const { return {shape, dimensions}; }
};

// Calls a function of Python's with one argument; null where it raises. (The stable ABI has no
// PyObject_CallOneArg.)
inline PyObject* CallWithOne(PyObject* function, PyObject* argument) {
  return PyObject_Vectorcall(function, &argument, 1, nullptr);
}

// Sets an operand's number of elements and order from its shape and strides; false where there are
// gaps between its elements, or some are one.
bool SetOrder(Operand* operand);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_OPERANDS_H_
