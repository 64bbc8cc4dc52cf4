// numpy's arrays become the library's views of tensors here, and views become arrays.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensors.h"

#include <algorithm>

#include "arrays.h"
#include "errors.h"
#include "types.h"

namespace nb = nanobind;

namespace tensorcast::python {

HeldTensor::HeldTensor(nb::handle tuple) {
  array_ = nb::borrow(tuple[0]);
  type_ = static_cast<DataType>(nb::cast<int>(tuple[1]));
  const bool is_packed = nb::cast<bool>(tuple[2]);
  std::uint64_t n = 1;
  for (const nb::handle size : tuple[3]) {
    shape_.push_back(nb::cast<std::uint64_t>(size));
    n *= shape_.back();
  }
  PyArrayObject* const array = DenseArgument(array_, "a tensor");
  if (FindType(type_) == nullptr) Raise(ErrorClass::kValue, "a tensor has no type");
  if (type_ == DataType::kString) {
    texts_ = ReadTexts(array);
    return;
  }
  data_ = BytesOf(array);
  if (is_packed || !FindType(type_)->is_packed()) return;
  packed_.resize(*StorageBytes(type_, n));
  if (n != 0) Check(Pack(type_, data_, packed_, 0, n));
  data_ = packed_;
}

TensorView HeldTensor::view() const {
  TensorView view;
  view.type = type_;
  view.shape = shape_;
  if (type_ == DataType::kString) {
    view.strings = texts_.view();
  } else {
    view.data = packed_.empty() ? data_ : std::span<const std::byte>(packed_);
  }
  return view;
}

nb::object ArrayOf(const TensorView& view) {
  if (view.type == DataType::kString) return TextArray(view.strings, view.shape, 'O');
  nb::object result = NewArray(DescrOf(view.type), view.shape);
  const auto written = WritableBytesOf(AsArray(result));
  if (FindType(view.type)->is_packed()) {
    const std::uint64_t n = ElementsOf(AsArray(result));
    if (n != 0) Check(Unpack(view.type, view.data, 0, written, n));
  } else {
    std::copy_n(view.data.begin(), written.size(), written.begin());
  }
  return result;
}

}  // namespace tensorcast::python
