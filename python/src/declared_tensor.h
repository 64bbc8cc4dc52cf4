// What a caller says of a tensor that is to be written, before it is there.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_DECLARED_TENSOR_H_
#define TENSORCAST_PYTHON_DECLARED_TENSOR_H_

#include <nanobind/nanobind.h>

#include "formats/tensor_info.h"

namespace tensorcast::python {

// Takes a tuple (name, ONNX's number of the type, shape, its texts or None); raises where no file
// could hold so many elements.
formats::TensorInfo DeclaredTensor(nanobind::handle declared);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_DECLARED_TENSOR_H_
