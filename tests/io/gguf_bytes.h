// GGUF files byte by byte, right and wrong ones.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_IO_GGUF_BYTES_H_
#define TENSORCAST_TESTS_IO_GGUF_BYTES_H_

#include <algorithm>
#include <string>
#include <vector>

#include "test_files.h"

namespace tensorcast::io {

inline std::string GgufText(const std::string& text) { return LittleEndian(text.size(), 8) + text; }
// A key whose value is a number of some bytes: u16 2, u32 4, i32 5, f32 6 ...
inline std::string GgufKey(const std::string& key, int type, std::uint64_t value, int bytes) {
  return GgufText(key) + LittleEndian(static_cast<std::uint64_t>(type), 4) +
         LittleEndian(value, bytes);
}
inline std::string GgufKey(const std::string& key, const std::string& value) {
  return GgufText(key) + LittleEndian(8, 4) + GgufText(value);
}
inline std::string GgufArray(const std::string& key, int type, std::uint64_t count,
                             const std::string& elements) {
  return GgufText(key) + LittleEndian(9, 4) + LittleEndian(static_cast<std::uint64_t>(type), 4) +
         LittleEndian(count, 8) + elements;
}
// The dimensions as they stand in the file, the fastest first.
inline std::string GgufInfo(const std::string& name, const std::vector<std::uint64_t>& dimensions,
                            int type, std::uint64_t offset) {
  std::string info = GgufText(name) + LittleEndian(dimensions.size(), 4);
  for (const std::uint64_t n : dimensions) info += LittleEndian(n, 8);
  return info + LittleEndian(static_cast<std::uint64_t>(type), 4) + LittleEndian(offset, 8);
}

struct GgufParts {
  std::vector<std::string> keys = {};
  std::vector<std::string> infos = {};
  std::string data = {};
  std::uint64_t version = 3;
  std::size_t alignment = 32;
};
inline std::string Gguf(const GgufParts& parts) {
  std::string file = "GGUF" + LittleEndian(parts.version, 4) + LittleEndian(parts.infos.size(), 8) +
                     LittleEndian(parts.keys.size(), 8);
  for (const std::string& key : parts.keys) file += key;
  for (const std::string& info : parts.infos) file += info;
  file.resize((file.size() + parts.alignment - 1) / parts.alignment * parts.alignment, '\0');
  return file + parts.data;
}

}  // namespace tensorcast::io

#endif  // TENSORCAST_TESTS_IO_GGUF_BYTES_H_
