// Where a reader's bytes come from: a file, a part of one, what was inflated from one, or (in
// the fuzzers) memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_BYTE_SOURCE_H_
#define TENSORCAST_SRC_FILES_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/byte_store.h"

namespace tensorcast::files {

// Bytes of a known number. What reading throws is an Error.
class ByteSource : public core::ByteStore {
 public:
  // How messages name it: the file's path, not escaped.
  virtual const std::string& path() const = 0;
  virtual std::uint64_t size() const = 0;
  // Bytes [offset, offset + bytes), which lie in it, as memory that the system reads from the file
  // when it is looked at. What is written to it is the caller's alone; what others write to the
  // file meanwhile may be seen in it. Null: they have to be read. Safe to call from several
  // threads.
  virtual std::shared_ptr<std::byte> Map(std::uint64_t offset, std::uint64_t bytes) const {
    (void)offset, (void)bytes;
    return nullptr;
  }
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_BYTE_SOURCE_H_
