// Holds data against types and shapes; texts are made where something is wrong alone.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/tensor_check.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/failure.h"
#include "core/shape.h"
#include "words/error_text.h"

namespace tensorcast::graph {

std::uint64_t CheckedElements(const TensorView& view, std::string_view what,
                              std::string_view name) {
  const auto refuse = [&](const std::string& why) {
    throw core::Failure(StatusCode::kBadInput,
                        std::string(what) + ' ' + words::Quoted(name) + ' ' + why);
  };
  const std::optional<std::uint64_t> elements = core::CheckedProduct(view.shape);
  if (!elements) {
    refuse("has the shape " + words::ShapeText(view.shape) + ": more than 2^64 - 1 elements");
  }
  if (view.type == DataType::kString) {
    const Strings& strings = view.strings;
    const auto& offsets = strings.offsets;
    if (strings.size() != *elements) {
      refuse("has " + words::CountText(strings.size(), "string") + "; the shape " +
             words::ShapeText(view.shape) + " takes " + std::to_string(*elements));
    }
    if (!std::is_sorted(offsets.begin(), offsets.end()) ||
        (!offsets.empty() && offsets.back() > strings.bytes.size())) {
      refuse("has offsets of strings that decrease or end beyond the bytes");
    }
    return *elements;
  }
  const std::optional<std::uint64_t> bytes = StorageBytes(view.type, *elements);
  if (bytes != view.data.size()) {
    refuse("has " + words::CountText(view.data.size(), "byte") + " of data; the shape " +
           words::ShapeText(view.shape) + " of " + std::string(TypeName(view.type)) + " takes " +
           (bytes ? std::to_string(*bytes) : "more than 2^64 - 1 bits"));
  }
  if (view.data.data() == nullptr && *bytes != 0) refuse("has no data");
  return *elements;
}

}  // namespace tensorcast::graph
