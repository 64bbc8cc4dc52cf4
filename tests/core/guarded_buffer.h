// Memory between two pages that may not be touched: a read or write one byte too far ends the test.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_CORE_GUARDED_BUFFER_H_
#define TENSORCAST_TESTS_CORE_GUARDED_BUFFER_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <span>

namespace tensorcast::testing {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t capacity) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    usable_ = (capacity + page - 1) / page * page;
    mapped_ = usable_ + 2 * page;
    void* memory =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    mapping_ = static_cast<std::byte*>(memory);
    begin_ = mapping_ + page;
    if (mprotect(mapping_, page, PROT_NONE) != 0) std::abort();
    if (mprotect(begin_ + usable_, page, PROT_NONE) != 0) std::abort();
  }
  ~GuardedBuffer() { munmap(mapping_, mapped_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  std::span<std::byte> all() const { return {begin_, usable_}; }
  // `size` bytes that begin where the memory begins, end where it ends, or begin `offset` bytes
  // behind a 64-byte boundary in its middle.
  std::span<std::byte> AtBegin(std::size_t size) const { return all().first(size); }
  std::span<std::byte> AtEnd(std::size_t size) const { return all().last(size); }
  std::span<std::byte> AtOffset(std::size_t size, std::size_t offset) const {
    return all().subspan(usable_ / 4 / 64 * 64 + offset, size);
  }

 private:
  std::byte* mapping_;
  std::byte* begin_;
  std::size_t usable_;
  std::size_t mapped_;
};

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_CORE_GUARDED_BUFFER_H_
