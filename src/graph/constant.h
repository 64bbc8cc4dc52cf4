// A tensor's values in memory, and values and bytes that are read where they are needed.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_CONSTANT_H_
#define TENSORCAST_SRC_GRAPH_CONSTANT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_store.h"
#include "tensorcast/tensor_view.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::graph {

// A tensor that owns its values, or views memory that outlives it or that it holds. Moving it moves
// no value.
struct Constant {
  DataType type = DataType::kUndefined;
  std::vector<std::uint64_t> shape;
  std::uint64_t elements = 0;
  std::span<const std::byte> data;                // not of strings
  std::vector<std::uint64_t> text_offsets = {0};  // of strings
  std::vector<char> texts;
  std::unique_ptr<std::byte[]> owned;
  std::shared_ptr<const void> holder;  // what keeps the memory that `data` views, if anything does

  // Memory of its own for `data`.
  std::span<std::byte> Allocate(std::uint64_t bytes);
  void Append(std::string_view text);
  Strings strings() const { return {text_offsets, texts}; }
  TensorView view() const;
};

// Values that stand somewhere else: in a file, in the bytes of a model.
class TensorData {
 public:
  virtual ~TensorData() = default;
  // All of them; throws what its reader throws.
  virtual Constant Read() const = 0;
};

using core::ByteStore;

// A part of what stands somewhere else: the text of an attribute, a part of a model that is
// carried.
struct Blob {
  std::shared_ptr<const ByteStore> store;  // none: there are no bytes
  std::uint64_t begin = 0;
  std::uint64_t size = 0;

  // At most `most` of them, as text.
  std::string Text(std::uint64_t most = UINT64_MAX) const;
};

// Bytes of one's own.
Blob BlobOf(std::string_view bytes);

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_CONSTANT_H_
