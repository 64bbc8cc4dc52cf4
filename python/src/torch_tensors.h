// Tensors of torch are read, written and made without any Python, by the table of functions that
// torch publishes (DLPack's, from torch 2.10 on). torch is not linked, and not imported: a tensor
// can only come from where it is. What this does not take, tensorcast/frameworks.py does, or
// refuses.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_TORCH_TENSORS_H_
#define TENSORCAST_PYTHON_TORCH_TENSORS_H_

#include <nanobind/nanobind.h>

#include "operands.h"

namespace tensorcast::python {

// Says whether an object is a torch.Tensor or a Parameter, and of no other subclass.
bool IsTensor(PyObject* object) noexcept;

// Says whether a cast of a tensor has to be an operator of torch's: it requires a gradient, or a
// mode sees all operators.
bool IsRecorded(PyObject* tensor) noexcept;

// Reads a tensor; false where it is not on the CPU, not dense, of no type of ONNX, or not what its
// memory holds. Raises nothing.
bool ReadTensor(PyObject* tensor, Operand* operand) noexcept;

// Does the same for a tensor that is written to; false also where it requires a gradient.
bool ReadWritableTensor(PyObject* tensor, Operand* operand) noexcept;
// Tells autograd that a tensor was written to.
void NoteWritten(PyObject* tensor);

// Makes a tensor of a type for the elements of `like`, in their order, or packed bytes of them
// (`is_packed`; torch's own float4 always is), and sets `result` to its memory. Invalid where
// torch has no such tensor.
nanobind::object NewTensor(DataType type, bool is_packed, const Operand& like, Operand* result);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_TORCH_TENSORS_H_
