// The header of a GGUF file, its keys and the list of its tensors, read and checked in bounded
// memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_GGUF_HEADER_H_
#define TENSORCAST_SRC_FORMATS_GGUF_HEADER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "files/byte_source.h"
#include "formats/gguf_keys.h"
#include "formats/tensor_info.h"

namespace tensorcast::formats {

// What a file says of the model that it is a part of.
struct GgufSplit {
  std::optional<std::uint64_t> part;     // split.no, from 0
  std::optional<std::uint64_t> parts;    // split.count
  std::optional<std::uint64_t> tensors;  // split.tensors.count, of all parts
};

struct GgufHeader {
  // The tensors in the order of the header, the shape as numpy has it, the slowest dimension first,
  // and that which ComfyUI-GGUF's key says, where there is one. Those of blocks have no type, and
  // their type's name as dtype.
  FileContents contents;
  GgufKeys keys;
  std::vector<std::uint64_t> offsets;  // of each tensor's data in the file
  GgufSplit split;
};

// Throws Error unless everything that header and file size decide is right. Tensors stand in any
// order and may leave holes between them, as gguf-py allows; they do not overlap.
GgufHeader ReadGgufHeader(const files::ByteSource& file);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_GGUF_HEADER_H_
