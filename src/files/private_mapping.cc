// Maps files, and knows which ranges were given.
//
// SPDX-License-Identifier: Apache-2.0
#include "files/private_mapping.h"

#include <iterator>

#include "files/system_calls.h"

namespace tensorcast::files {

std::shared_ptr<PrivateMapping> PrivateMapping::Of(int descriptor, std::uint64_t bytes) {
  std::byte* const memory = MapToCopy(descriptor, bytes);
  if (memory == nullptr) return nullptr;
  return std::shared_ptr<PrivateMapping>(new PrivateMapping(memory, bytes));
}

PrivateMapping::~PrivateMapping() { Unmap(memory_, bytes_); }

std::shared_ptr<std::byte> PrivateMapping::Take(std::uint64_t offset, std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto after = given_.lower_bound(offset);
    const bool is_given = (after != given_.end() && after->first < offset + bytes) ||
                          (after != given_.begin() && std::prev(after)->second > offset);
    if (is_given) return nullptr;
    given_.emplace_hint(after, offset, offset + bytes);
  }
  return {memory_ + offset,
          [mapping = shared_from_this(), bytes](std::byte* memory) { DropPages(memory, bytes); }};
}

}  // namespace tensorcast::files
