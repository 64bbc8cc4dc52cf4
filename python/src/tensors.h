// Models and graphs take numpy's arrays as views of tensors, and give such views back.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_TENSORS_H_
#define TENSORCAST_PYTHON_TENSORS_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensorcast/tensor_view.hpp"
#include "texts.h"

namespace tensorcast::python {

// A tensor that Python gave is held with its memory: the array itself, or what was made of it. It
// is made of a tuple (array, ONNX's number, whether it is packed, shape), as arrays.tensor gives
// it.
class HeldTensor {
 public:
  HeldTensor() = default;  // without a type: an input that takes its default
  explicit HeldTensor(nanobind::handle tuple);
  TensorView view() const;
  std::uint64_t bytes() const { return data_.size() + texts_.bytes.size(); }

 private:
  DataType type_ = DataType::kUndefined;
  std::vector<std::uint64_t> shape_;
  nanobind::object array_;
  std::span<const std::byte> data_;
  std::vector<std::byte> packed_;
  Texts texts_;
};

// Makes an array of a view's elements, narrow ones one to a byte, strings as object.
nanobind::object ArrayOf(const TensorView& view);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_TENSORS_H_
