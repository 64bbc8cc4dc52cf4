// A tuple of Python's becomes a tensor as writers of files take it.
//
// SPDX-License-Identifier: Apache-2.0
#include "declared_tensor.h"

#include <cstdint>
#include <optional>

#include "core/shape.h"
#include "errors.h"
#include "text/string_piece.h"
#include "text_objects.h"
#include "texts.h"

namespace nb = nanobind;

namespace tensorcast::python {

formats::TensorInfo DeclaredTensor(nb::handle declared) {
  formats::TensorInfo info;
  info.name = FromStr(declared[0]);
  info.type = static_cast<DataType>(nb::cast<int>(declared[1]));
  for (const nb::handle size : declared[2]) info.shape.push_back(nb::cast<std::uint64_t>(size));
  const std::optional<std::uint64_t> elements = core::CheckedProduct(info.shape);
  const bool is_text = info.type == DataType::kString;
  const auto bytes = !elements || is_text ? elements : StorageBytes(info.type, *elements);
  if (!bytes) Raise(ErrorClass::kValue, "a tensor has more elements than a file can");
  info.elements = *elements;
  info.bytes = is_text ? 0 : *bytes;
  if (is_text) text::AddTextSize(nb::cast<const Texts&>(declared[3]).view(), info.text);
  return info;
}

}  // namespace tensorcast::python
