// Bytes that stand somewhere else: in a file, in memory, in a part of either.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_BYTE_STORE_H_
#define TENSORCAST_SRC_CORE_BYTE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorcast::core {

class ByteStore {
 public:
  virtual ~ByteStore() = default;
  // Fills `out` from `offset`; all of it lies within the bytes. Safe to call from several threads.
  // Throws core::Failure.
  virtual void Read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  // Throws core::Failure where the bytes may have been rewritten since the store was opened: then
  // those read before and those read after belong to different contents.
  virtual void CheckUnchanged() const {}
};

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_BYTE_STORE_H_
