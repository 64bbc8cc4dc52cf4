// Weights made into GGUF's blocks, by the rules and in the float32 operations of ggml's reference
// quantisers, so that the bytes are those that gguf-py writes. docs/scales_writing.md has the
// rules, and what becomes of values that these leave open (Inf, NaN).
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_GGUF_QUANTISER_H_
#define TENSORCAST_SRC_SCALE_GGUF_QUANTISER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "scale/gguf_blocks.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

struct GgufEncoder;  // gguf_quantiser.cc
struct GgufLanes;    // scale/gguf_lanes.h

// Whether blocks of that type are written.
bool IsGgufWritten(std::string_view type);

// Holds no buffers: any number of threads may run one at once.
class GgufQuantiser {
 public:
  // From a tensor of `source`, a floating type, to blocks of GGUF's `type`, which is written.
  // Throws core::Failure: kInvalidType, kTargetUnavailable.
  GgufQuantiser(DataType source, std::string_view type, Target target = Target::kBest);

  // The blocks of elements [first, first + n), which are whole ones: `x` from index x_first on.
  // `first` is a multiple of 1024 where there is a `loss`, which is a Meter(). Gives the first
  // block, counted from `first`, with numbers that float16 does not hold; the rest is not done
  // then. Throws core::Failure (kBufferTooSmall; of the meter kLossMismatch, kLossPosition).
  std::optional<std::uint64_t> Encode(std::span<const std::byte> x, std::uint64_t x_first,
                                      std::uint64_t first, std::uint64_t n,
                                      std::span<std::byte> blocks, LossMeter* loss) const;

  // A meter of what Encode loses; an example's result is the code alone.
  LossMeter Meter() const;

 private:
  DataType source_;
  Target target_;
  const GgufEncoder& encoder_;
  const GgufBlocks& blocks_;
  const GgufLanes* lanes_;
  CastPlan float_of_source_, value_of_source_;
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_GGUF_QUANTISER_H_
