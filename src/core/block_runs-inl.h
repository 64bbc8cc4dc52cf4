// A plan's stages over one block of a run. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_BLOCK_RUNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_BLOCK_RUNS_INL_H_
#undef TENSORCAST_SRC_CORE_BLOCK_RUNS_INL_H_
#else
#define TENSORCAST_SRC_CORE_BLOCK_RUNS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

// Buffers of a block between stages; small enough for the first-level cache.
struct BlockBuffers {
  alignas(64) std::byte source_codes[kBlock];  // unpacked
  alignas(64) std::byte intermediate[kBlock * 8];
  alignas(64) std::byte result_codes[kBlock];  // to be packed
};

HWY_INLINE std::uint64_t BytesOf(const TypeInfo& row) {
  return static_cast<std::uint64_t>(row.bits) / 8;
}

// Element i of a run as the codes its stages read; unpacks n of them where the type is packed.
HWY_INLINE const std::byte* SourceCodes(const Bound& bound, const Job& job, std::uint64_t i,
                                        std::size_t n, BlockBuffers* buffers) {
  if (bound.unpack == nullptr) return job.source + (job.source_first + i) * BytesOf(*bound.from);
  bound.unpack(job.source, job.source_first + i, n, buffers->source_codes);
  return buffers->source_codes;
}

HWY_INLINE void RunStages(const Bound& bound, const std::byte* codes, std::size_t n,
                          std::byte* results, std::byte* intermediate) {
  if (bound.second != nullptr) {
    bound.first(codes, intermediate, n, bound.args);
    bound.second(intermediate, results, n, bound.args);
  } else if (bound.first != nullptr) {
    bound.first(codes, results, n, bound.args);
  } else {
    std::memmove(results, codes, n * static_cast<std::size_t>(std::max(bound.to->bits, 8)) / 8);
  }
}

// Casts elements [i, i + n), at most a block; gives their codes, one a carrier.
HWY_INLINE const std::byte* CastBlock(const Bound& bound, const Job& job, const std::byte* codes,
                                      std::uint64_t i, std::size_t n, BlockBuffers* buffers) {
  if (bound.pack != nullptr) {
    RunStages(bound, codes, n, buffers->result_codes, buffers->intermediate);
    bound.pack(buffers->result_codes, n, job.destination, job.destination_first + i);
    return buffers->result_codes;
  }
  std::byte* results = job.destination + (job.destination_first + i) * BytesOf(*bound.to);
  RunStages(bound, codes, n, results, buffers->intermediate);
  return results;
}

}  // namespace
}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_BLOCK_RUNS_INL_H_
