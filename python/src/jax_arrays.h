// Arrays of JAX are read where they lie, and made, with no Python but JAX's own. JAX is not linked,
// and not imported: an array can only come from where it is. What this does not take,
// tensorcast/frameworks.py does, or refuses.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_JAX_ARRAYS_H_
#define TENSORCAST_PYTHON_JAX_ARRAYS_H_

#include <nanobind/nanobind.h>

#include "operands.h"

namespace tensorcast::python {

// Says whether an object is an array of JAX that has values.
bool IsJaxArray(PyObject* object) noexcept;

// Gives numpy's view of an array; invalid where it is on another device, or was deleted.
nanobind::object NumpyView(PyObject* array) noexcept;

// Makes memory for the elements of `like`, and sets `result` to it; invalid for a type that JAX may
// not have.
nanobind::object NewJaxMemory(DataType type, const Operand& like, Operand* result);
// Makes an array of such memory, once it is written; invalid where JAX refuses it.
nanobind::object JaxArrayOf(const nanobind::object& memory);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_JAX_ARRAYS_H_
