// Where a reader's bytes come from: a file, a part of one, what was inflated from one, or (in
// the fuzzers) memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_BYTE_SOURCE_H_
#define TENSORCAST_SRC_FILES_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tensorcast::io {

// Bytes of a known number, readable at any offset.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // How messages name it: the file's path, not escaped.
  virtual const std::string& path() const = 0;
  virtual std::uint64_t size() const = 0;
  // Fills `out` from `offset`; offset + out.size() <= size(). Safe to call from several threads.
  // Throws Error.
  virtual void Read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  // Throws Error where the bytes may have been rewritten since the source was opened: then those
  // read before and those read after belong to different contents.
  virtual void CheckUnchanged() const {}
};

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_FILES_BYTE_SOURCE_H_
