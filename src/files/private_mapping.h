// The bytes of a file as memory, which the system reads when it is looked at.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_PRIVATE_MAPPING_H_
#define TENSORCAST_SRC_FILES_PRIVATE_MAPPING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace tensorcast::files {

// One mapping for many ranges: a process may have some 65,000 mappings. What is written to a range
// is this process's alone, and its owner's: no byte is given twice.
class PrivateMapping : public std::enable_shared_from_this<PrivateMapping> {
 public:
  // Null where the system maps no files, or not this one now.
  static std::shared_ptr<PrivateMapping> Of(int descriptor, std::uint64_t bytes);
  PrivateMapping(const PrivateMapping&) = delete;
  PrivateMapping& operator=(const PrivateMapping&) = delete;
  ~PrivateMapping();

  // A range of it, which stays as long as the pointer; null where some of it was given before. When
  // the pointer goes, so does the memory that what was written to it took.
  std::shared_ptr<std::byte> Take(std::uint64_t offset, std::uint64_t bytes);

 private:
  PrivateMapping(std::byte* memory, std::uint64_t bytes) : memory_(memory), bytes_(bytes) {}

  std::byte* const memory_;
  const std::uint64_t bytes_;
  std::mutex mutex_;                              // guards what follows
  std::map<std::uint64_t, std::uint64_t> given_;  // ranges: where each begins, and ends
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_PRIVATE_MAPPING_H_
