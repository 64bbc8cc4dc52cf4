// This file alone imports numpy's table of functions; arrays.h says what it gives.
//
// SPDX-License-Identifier: Apache-2.0
#define TENSORCAST_PYTHON_IMPORTS_NUMPY
#include "arrays.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "result_memory.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// For arrays of fewer bytes numpy's own memory is as good, and quicker to get.
constexpr npy_intp kOwnMemoryFrom = 1 << 12;

// Gives what numpy asks for the memory of arrays that are made here.
PyObject* Handler() {
  static PyDataMem_Handler handler = {
      "tensorcast",
      1,
      {nullptr, [](void* /*context*/, std::size_t bytes) { return TakeMemory(bytes); },
       [](void* /*context*/, std::size_t n, std::size_t each) -> void* {
         std::size_t bytes = 0;
         void* const memory = __builtin_mul_overflow(n, each, &bytes) ? nullptr : TakeMemory(bytes);
         return memory == nullptr ? nullptr : std::memset(memory, 0, bytes);
       },
       [](void* /*context*/, void* memory, std::size_t bytes) { return GrowMemory(memory, bytes); },
       [](void* /*context*/, void* memory, std::size_t /*bytes*/) { GiveMemory(memory); }}};
  static PyObject* const capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
  return capsule;
}

// Sets what numpy asks for memory, and gives what was asked before.
nb::object SetHandler(nb::handle handler) {
  PyObject* const before = PyDataMem_SetHandler(handler.ptr());
  if (before == nullptr) throw nb::python_error();
  return nb::steal(before);
}

// Where an array says what gives its memory back. numpy's header reads it there (PyArray_HANDLER)
// and has no function that sets it but by SetHandler, twice for an array: as long as a cast of 16
// KiB.
PyObject*& HandlerField(PyArrayObject* array) {
  return reinterpret_cast<PyArrayObject_fields*>(array)->mem_handler;
}

// A shape as numpy has it; raises where it cannot.
std::vector<npy_intp> SizesOf(std::span<const std::uint64_t> shape) {
  std::vector<npy_intp> sizes;
  sizes.reserve(shape.size());
  for (const std::uint64_t size : shape) {
    if (size > static_cast<std::uint64_t>(std::numeric_limits<npy_intp>::max())) {
      Raise(ErrorClass::kRange, "a tensor has more elements than an array can");
    }
    sizes.push_back(static_cast<npy_intp>(size));
  }
  if (sizes.size() > 32) Raise(ErrorClass::kUnsupported, "a tensor has more than 32 dimensions");
  return sizes;
}

// Says whether this numpy has that field where its headers had it.
bool can_give_memory = false;

}  // namespace

void ImportNumpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
  const nb::object before = SetHandler(Handler());
  npy_intp size = 64;
  const nb::object array = nb::steal(PyArray_SimpleNew(1, &size, NPY_UINT8));
  SetHandler(before);
  if (!array.is_valid()) throw nb::python_error();
  can_give_memory = HandlerField(AsArray(array)) == Handler();
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

nb::object NewArray(PyArray_Descr* descr, std::span<const npy_intp> shape,
                    const npy_intp* strides) {
  npy_intp bytes = PyDataType_ELSIZE(descr);
  bool is_too_large = false;  // which numpy says itself
  for (const npy_intp size : shape) {
    is_too_large = is_too_large || __builtin_mul_overflow(bytes, size, &bytes);
  }
  const bool is_own = bytes >= kOwnMemoryFrom && !is_too_large;
  const bool is_given = is_own && bytes < static_cast<npy_intp>(kKeptFrom) && can_give_memory &&
                        !PyDataType_REFCHK(descr);
  void* const given = is_given ? TakeMemory(static_cast<std::size_t>(bytes)) : nullptr;
  const nb::object before = is_own && given == nullptr ? SetHandler(Handler()) : nb::object();
  Py_INCREF(reinterpret_cast<PyObject*>(descr));  // which the call below takes over
  const nb::object result = nb::steal(
      PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(shape.size()), shape.data(),
                           strides, given, given == nullptr ? 0 : NPY_ARRAY_CARRAY, nullptr));
  if (before.is_valid()) {
    const nb::error_scope kept;  // of NewFromDescr
    SetHandler(before);
  }
  if (!result.is_valid()) {
    GiveMemory(given);
    throw nb::python_error();
  }
  if (given != nullptr) {
    HandlerField(AsArray(result)) = nb::borrow(Handler()).release().ptr();
    PyArray_ENABLEFLAGS(AsArray(result), NPY_ARRAY_OWNDATA);
  }
  return result;
}

nb::object DenseCopy(PyArrayObject* array) {
  PyArray_Descr* const native = PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
  if (native == nullptr) throw nb::python_error();
  // Takes the descr over.
  PyObject* const copy = PyArray_NewLikeArray(array, NPY_CORDER, native, 0);
  nb::object result = nb::steal(copy);
  if (copy == nullptr || PyArray_CopyInto(AsArray(result), array) != 0) throw nb::python_error();
  return result;
}

nb::object NewArray(PyArray_Descr* descr, std::span<const std::uint64_t> shape) {
  return NewArray(descr, SizesOf(shape));
}

nb::object ArrayAt(PyArray_Descr* descr, std::span<const std::uint64_t> shape, void* memory,
                   nb::object owner) {
  const std::vector<npy_intp> sizes = SizesOf(shape);
  Py_INCREF(reinterpret_cast<PyObject*>(descr));  // which the call below takes over
  nb::object result =
      nb::steal(PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(sizes.size()),
                                     sizes.data(), nullptr, memory, NPY_ARRAY_CARRAY, nullptr));
  if (!result.is_valid() || PyArray_SetBaseObject(AsArray(result), owner.release().ptr()) != 0) {
    throw nb::python_error();
  }
  return result;
}

nb::object AnyArray(PyObject* object) noexcept {
  return nb::steal(PyArray_FromAny(object, nullptr, 0, 0, 0, nullptr));
}

void BindArrays(nb::module_& m) {
  // Makes an array in C's order whose elements are not set.
  m.def("empty", [](nb::handle dtype, const nb::tuple& shape) {
    if (!PyArray_DescrCheck(dtype.ptr())) Raise(ErrorClass::kKind, "empty takes a dtype");
    std::vector<npy_intp> sizes;
    for (const nb::handle size : shape) sizes.push_back(nb::cast<npy_intp>(size));
    return NewArray(reinterpret_cast<PyArray_Descr*>(dtype.ptr()),
                    std::span<const npy_intp>(sizes));
  });
  m.def("kept_limit", &KeptLimit);
  m.def("kept_bytes", &KeptBytes);
  m.def("set_kept_limit", &SetKeptLimit, nb::arg("bytes"));
}

}  // namespace tensorcast::python
