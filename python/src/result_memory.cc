// Blocks are mapped from the system and kept in a list, oldest first.
//
// SPDX-License-Identifier: Apache-2.0
#include "result_memory.h"

#include <glob.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

#include "machine_memory.h"
#include "system_text.h"

namespace tensorcast::python {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kMostKept = 512;  // blocks

// The limit that a process starts with, unless the environment has one or the machine's memory
// makes it less. Whoever imports the package beside a model expects memory that he lets go of to be
// free: what is kept has to be small beside what a container may have.
constexpr std::size_t kUsualLimit = std::size_t{1} << 30;
constexpr std::size_t kShareOfMachine = 16;
// So much of what is kept stays the process's own on small pages, because letting the system choose
// (MADV_FREE) takes as long as a cast, page by page. What is kept beyond that the system may take.
constexpr std::size_t kOwn = std::size_t{512} << 20;
// If the host has to make each new huge page, no more than so much is on them.
constexpr std::size_t kMostDearPages = std::size_t{128} << 20;

// It stands directly before the memory that is given.
struct Header {
  void* begin;           // of what was allocated
  std::size_t capacity;  // behind the header
  bool is_mapped;
  bool is_huge;  // on huge pages
};
static_assert(sizeof(Header) <= kResultAlignment);

Header* HeaderOf(void* memory) { return static_cast<Header*>(memory) - 1; }

// A block's capacity: eight sizes for each power of two, so that results of nearly one size share
// blocks. What is not written to takes no memory.
std::size_t CapacityFor(std::size_t bytes) {
  const std::size_t step = std::max(kPage, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

// Says whether the system has huge pages for who asks.
bool HasHugePages() {
  static const bool has = [] {
    const std::string modes = SystemText("/sys/kernel/mm/transparent_hugepage/enabled");
    return !modes.empty() && modes.find("[never]") == std::string::npos;
  }();
  return has;
}

// Says whether this is a virtual machine whose host takes back every huge page that is free: each
// new one costs the host's making it, too, some milliseconds, where small pages come from what the
// machine has broken up already. That is bit 5 of virtio's balloon.
bool HostTakesFreePages() {
  static const bool takes = [] {
    glob_t balloons = {};
    bool found = false;
    if (glob("/sys/bus/virtio/drivers/virtio_balloon/*/features", 0, nullptr, &balloons) == 0) {
      for (std::size_t i = 0; i < balloons.gl_pathc; ++i) {
        const std::string bits = SystemText(balloons.gl_pathv[i]);
        if (bits.size() > 5 && bits[5] == '1') found = true;
      }
    }
    globfree(&balloons);
    return found;
  }();
  return takes;
}

// Bytes of all blocks that are mapped, given or kept.
std::atomic<std::size_t> mapped_bytes = 0;

// A page for the header stands before the memory. So the memory begins at a page, and lies to every
// source as pages do, or at a huge page if it fills some.
void* Map(std::size_t capacity, std::size_t kept_limit) {
  const bool is_huge =
      capacity >= 2 * kHugePage &&
      (mapped_bytes + capacity <= std::min(kept_limit, kMostDearPages) || !HostTakesFreePages());
  const std::size_t alignment = is_huge ? kHugePage : kPage;
  const std::size_t mapped = capacity + alignment + kPage;
  void* const got =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(got);
  const std::uintptr_t memory = (first + kPage + alignment - 1) / alignment * alignment;
  const std::uintptr_t begin = memory - kPage;
  const std::uintptr_t end = memory + capacity;
  if (begin > first) munmap(got, begin - first);
  if (end < first + mapped) munmap(reinterpret_cast<void*>(end), first + mapped - end);
  auto* const result = reinterpret_cast<void*>(memory);
#ifdef MADV_HUGEPAGE
  if (alignment == kHugePage) madvise(result, capacity, MADV_HUGEPAGE);
#endif
  *HeaderOf(result) = {reinterpret_cast<void*>(begin), capacity, true, is_huge};
  mapped_bytes += capacity;
  return result;
}

void Unmap(void* memory) {
  const Header header = *HeaderOf(memory);
  munmap(header.begin, kPage + header.capacity);
  mapped_bytes -= header.capacity;
}

// The limit that a process starts with.
std::size_t FirstLimit() {
  if (const char* const text = std::getenv("TENSORCAST_RESULT_MEMORY"); text != nullptr) {
    const std::string_view digits(text);
    std::size_t bytes = 0;
    const auto [end, error] = std::from_chars(text, text + digits.size(), bytes);
    if (error == std::errc() && end == text + digits.size()) return bytes;
  }
  return std::min(kUsualLimit, MachineMemory() / kShareOfMachine);
}

class KeptMemory {
 public:
  KeptMemory() : limit_(FirstLimit()) {}

  // Gives a block of the capacity, the one used last; null where none is kept.
  void* Take(std::size_t capacity) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = blocks_; i-- > 0;) {
      if (kept_[i].capacity != capacity) continue;
      void* const memory = kept_[i].memory;
      Forget(i);
      return memory;
    }
    return nullptr;
  }

  // Keeps a block, and gives back the oldest that are then too many.
  void Keep(void* memory) {
    const std::size_t capacity = HeaderOf(memory)->capacity;
    {
      const std::lock_guard lock(mutex_);
      if (capacity <= limit_) {
        while (blocks_ == kMostKept || bytes_ + capacity > limit_) UnmapOldest();
        kept_[blocks_++] = {memory, capacity};
        bytes_ += capacity;
        return;
      }
    }
    Unmap(memory);
  }

  void SetLimit(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
    while (bytes_ > limit_) UnmapOldest();
  }

  std::size_t limit() const { return limit_; }
  std::size_t bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }

 private:
  struct Block {
    void* memory;
    std::size_t capacity;  // as its header has it, which stands on a page of its own
  };

  void Forget(std::size_t i) {
    bytes_ -= kept_[i].capacity;
    std::copy(kept_.begin() + i + 1, kept_.begin() + blocks_, kept_.begin() + i);
    --blocks_;
  }
  void UnmapOldest() {
    void* const oldest = kept_[0].memory;
    Forget(0);
    Unmap(oldest);
  }

  std::mutex mutex_;
  std::array<Block, kMostKept> kept_ = {};
  std::size_t blocks_ = 0;
  std::size_t bytes_ = 0;
  std::atomic<std::size_t> limit_;  // read without the lock, as every small result asks for it
};

// It is never destroyed: arrays are given back until the process ends.
KeptMemory& Kept() {
  static KeptMemory& kept = [&]() -> KeptMemory& {
    auto* const made = new KeptMemory;
    // A child of fork has one thread, which must not wait for another of its parent's.
    pthread_atfork([] { Kept().Lock(); }, [] { Kept().Unlock(); }, [] { Kept().Unlock(); });
    return *made;
  }();
  return kept;
}

// The last block that the C library made which was given back, for the next result of about its
// size: the library takes as long over some KiB as a cast of them. Null where there is none.
std::atomic<void*> spare = nullptr;
constexpr std::size_t kSpareFrom = 4096;

// Results of so many bytes begin at a page in the C library's memory, too. Sources as large mostly
// begin 16 bytes behind one, and where a result begins a few bytes behind its source but for whole
// pages, loads wait for stores whose addresses have the same last 12 bits (docs/performance.md).
constexpr std::size_t kPagesFrom = std::size_t{64} << 10;

void Free(void* memory) {
  if (memory != nullptr) std::free(HeaderOf(memory)->begin);
}

void* TakeSmall(std::size_t bytes) {
  if (bytes >= kSpareFrom) {
    void* const kept = spare.exchange(nullptr);
    if (kept != nullptr && bytes <= HeaderOf(kept)->capacity &&
        HeaderOf(kept)->capacity <= 2 * bytes) {
      return kept;
    }
    Free(kept);
  }
  const std::size_t alignment = bytes >= kPagesFrom ? kPage : kResultAlignment;
  const std::size_t room = kResultAlignment + alignment;  // for the header, and to align
  void* const begin = std::malloc(bytes + room);
  if (begin == nullptr) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  auto* const memory = reinterpret_cast<void*>((first + room) / alignment * alignment);
  *HeaderOf(memory) = {begin, bytes, false, false};
  return memory;
}

}  // namespace

void* TakeMemory(std::size_t bytes) noexcept {
  if (bytes > PTRDIFF_MAX - 2 * kHugePage) return nullptr;
  if (bytes < kKeptFrom) return TakeSmall(bytes);
  const std::size_t capacity = CapacityFor(bytes);
  void* const kept = Kept().Take(capacity);
  return kept != nullptr ? kept : Map(capacity, Kept().limit());
}

void GiveMemory(void* memory) noexcept {
  if (memory == nullptr) return;
  const Header header = *HeaderOf(memory);
  if (!header.is_mapped) {
    const bool is_kept = header.capacity >= kSpareFrom && Kept().limit() != 0;
    return Free(is_kept ? spare.exchange(memory) : memory);
  }
#ifdef MADV_FREE
  // Before another thread may have the memory.
  if (header.is_huge ? HasHugePages() : Kept().bytes() + header.capacity > kOwn) {
    madvise(memory, header.capacity, MADV_FREE);
  }
#endif
  Kept().Keep(memory);
}

void* GrowMemory(void* memory, std::size_t bytes) noexcept {
  void* const grown = TakeMemory(bytes);
  if (grown == nullptr || memory == nullptr) return grown;
  std::memcpy(grown, memory, std::min(bytes, HeaderOf(memory)->capacity));
  GiveMemory(memory);
  return grown;
}

std::size_t KeptLimit() noexcept { return Kept().limit(); }
std::size_t KeptBytes() noexcept { return Kept().bytes(); }
void SetKeptLimit(std::size_t bytes) noexcept {
  Kept().SetLimit(bytes);
  if (bytes == 0) Free(spare.exchange(nullptr));
}

}  // namespace tensorcast::python
