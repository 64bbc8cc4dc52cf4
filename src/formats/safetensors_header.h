// The header of a safetensors file, read and checked in bounded memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_SAFETENSORS_HEADER_H_
#define TENSORCAST_SRC_FORMATS_SAFETENSORS_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "files/byte_source.h"
#include "formats/tensor_info.h"

namespace tensorcast::formats {

// What stands first in the file: how long the JSON behind it is, little-endian.
inline constexpr std::uint64_t kHeaderLengthBytes = 8;
// The format's own limit on the header.
inline constexpr std::uint64_t kMostHeaderBytes = 100'000'000;
// Ours, so that a small file cannot fill the memory; far above what any file holds.
inline constexpr std::size_t kMostMetadataEntries = 65'536;

struct SafetensorsHeader {
  FileContents contents;               // the tensors in the order of their data
  std::vector<std::uint64_t> offsets;  // of each tensor's data in the file
};

// Throws Error unless everything that header and file size decide is right. The tensors named in
// __metadata__["tensorcast.types"] have the type and shape given there, and that entry is left out
// of the contents' metadata.
SafetensorsHeader ReadSafetensorsHeader(const files::ByteSource& file);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_SAFETENSORS_HEADER_H_
