// JSON of the form {name: {"dtype": text, "shape": [n ...], ...}}, parsed as a stream.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_SAFETENSORS_ENTRIES_H_
#define TENSORCAST_SRC_FORMATS_SAFETENSORS_ENTRIES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "files/byte_source.h"

namespace tensorcast::formats {

struct TensorEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  // of the data, relative to the end of the header
  std::uint64_t end = 0;
};

// Parses the `bytes` of a header at `offset` in its file: entries with data_offsets, and
// __metadata__. Calls `take` for each entry, in the order of the header; names may repeat there.
void ParseHeaderEntries(const files::ByteSource& file, std::uint64_t offset, std::uint64_t bytes,
                        const std::function<void(TensorEntry&&)>& take,
                        std::map<std::string, std::string>& metadata);

// Parses the value of __metadata__["tensorcast.types"]: entries without data_offsets.
void ParsePackedTypes(const std::string& path, const std::string& text,
                      const std::function<void(TensorEntry&&)>& take);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_SAFETENSORS_ENTRIES_H_
