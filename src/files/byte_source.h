// Where a reader's bytes come from: a file, a part of one, what was inflated from one, or (in
// the fuzzers) memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_BYTE_SOURCE_H_
#define TENSORCAST_SRC_FILES_BYTE_SOURCE_H_

#include <cstdint>
#include <string>

#include "core/byte_store.h"

namespace tensorcast::files {

// Bytes of a known number. What reading throws is an Error.
class ByteSource : public core::ByteStore {
 public:
  // How messages name it: the file's path, not escaped.
  virtual const std::string& path() const = 0;
  virtual std::uint64_t size() const = 0;
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_BYTE_SOURCE_H_
