// What a target gives: stages by type, packing, integer kernels, loss lanes; and the bound plan.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_KERNELS_H_
#define TENSORCAST_SRC_CORE_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "core/code_table.h"
#include "core/loss.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

inline constexpr std::size_t kBlock = kLossBlock;  // elements that pass through the stages at once
inline constexpr std::size_t kRows = detail::kTypeTable.size();
inline constexpr std::uint32_t kShortRun = 4096;  // elements, up to which a call's checks count
inline constexpr std::uint64_t kWholeBytes = 4;   // elements of any width that end with a byte

// A destination's options as constants for the lanes: options are data.
struct EncodeArgs {
  // Narrow floats: full codes for NaN by sign; magnitudes, to be joined with the sign, for a finite
  // value beyond the largest and for Inf.
  std::uint32_t nan_positive = 0;
  std::uint32_t nan_negative = 0;
  std::uint32_t overflow = 0;
  std::uint32_t infinity = 0;
  // The bfloat16 of the magnitude whose code is `overflow`, if codes went on in steps.
  std::uint32_t narrow_most = 0;
  // e8m0: added before the mantissa is cut; float32 magnitudes up to `e8m0_least` give code 0; what
  // zero, a negative or too small a value gives; what too large a value gives.
  std::uint32_t e8m0_bias = 0;
  std::uint32_t e8m0_least = 0;
  std::uint32_t e8m0_bias16 = 0;  // the same two for bfloat16
  std::uint32_t e8m0_least16 = 0;
  std::uint32_t e8m0_below = 0;
  std::uint32_t e8m0_above = 0;
  // Float to integer, integer_overflow=saturate: x >= high gives high_code, x <= low gives
  // low_code.
  bool saturates = false;
  float high32 = 0;
  float low32 = 0;
  double high64 = 0;
  double low64 = 0;
  std::uint64_t high_code = 0;
  std::uint64_t low_code = 0;
  // The source has at most eight bits: the result of every code, if that is how it runs.
  const CodeTable* table = nullptr;
  CastOptions options;  // as they are, for the scalar codec
};

// One stage over n elements of one code (or intermediate) each: uint8, 16, 32 or 64 by the row's
// width, packed types one code a byte. `in` and `out` need no alignment, and may be the same.
using Stage = void (*)(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args);

// Between packed bits and one code a byte. `first` counts elements from `packed`.
using UnpackCodesOf = void (*)(const std::byte* packed, std::uint64_t first, std::size_t n,
                               std::byte* codes);
using PackCodesOf = void (*)(const std::byte* codes, std::size_t n, std::byte* packed,
                             std::uint64_t first);

// A run on one thread.
struct Job {
  const std::byte* source;
  std::uint64_t source_first;
  std::byte* destination;
  std::uint64_t destination_first;
  std::uint64_t n;
  LossState* loss;  // or null
  std::uint64_t loss_index;
  bool streams = false;  // the whole run is larger than the caches
};

// Of a block of 16-bit floats, as float32.
struct HalfRange {
  std::uint32_t largest;  // magnitude, as bits; of Inf and NaN something beyond the type's largest
  std::uint32_t least;    // other than zero; 0: none
  float squares;          // about their sum, or more
};

struct Kernels;

struct Bound {
  const Kernels* kernels = nullptr;
  const TypeInfo* from = nullptr;
  const TypeInfo* to = nullptr;
  Stage first = nullptr;           // both null: a copy of codes
  Stage second = nullptr;          // null: `first` does it all
  Stage direct = nullptr;          // from the source's bytes to the destination's, packed too
  Stage brief = nullptr;           // the same for short runs of up to `brief_most` elements
  UnpackCodesOf unpack = nullptr;  // packed source
  PackCodesOf pack = nullptr;      // packed destination
  Stage source_value = nullptr;    // to float64, for loss
  Stage result_value = nullptr;
  bool floating = false;         // the stages need the floating-point environment
  bool direct_floating = false;  // the direct one does; `brief` never
  std::uint32_t brief_most = 0;
  std::uint32_t short_end = 0;  // runs of fewer elements are short: `brief` or `direct` does them
  std::uint32_t from_bits = 0;
  std::uint32_t to_bits = 0;
  EncodeArgs args;
};

// How many elements of a run go through the stages before the direct one begins: it does where both
// sides begin at a byte's beginning.
inline std::uint64_t ElementsBeforeDirect(const Bound& bound, const Job& job) {
  if (bound.direct == nullptr) return job.n;
  const auto begins = [](const TypeInfo& row, std::uint64_t first) {
    return first * static_cast<std::uint64_t>(row.bits) % 8 == 0;
  };
  for (std::uint64_t i = 0; i < kWholeBytes && i < job.n; ++i) {
    if (begins(*bound.from, job.source_first + i) && begins(*bound.to, job.destination_first + i)) {
      return i;
    }
  }
  return job.n;
}

// Everything one target was compiled to.
struct Kernels {
  Target target;
  // Runs a bound plan; returns the target it was compiled for.
  Target (*run)(const Bound& bound, const CastOptions& options, const Job& job);
  // Adds n elements of a block with scales, which are the tensor's from `index` on: the sources are
  // x, the rest is view.scaled's.
  void (*measure_scaled)(const LossView& view, const double* x, std::size_t n, std::uint64_t index,
                         LossState* loss);
  // As measure_scaled, by codes and factors; false where it adds nothing. Null without FMA or
  // float16's conversion.
  bool (*measure_scaled_codes)(const LossView& view, std::uint64_t index, LossState* loss);
  // Adds n elements of a block that no cast connects, which are the tensors' from `index` on.
  void (*measure_pair)(const LossView& view, std::size_t n, std::uint64_t index, LossState* loss);
  // The direct stage by EncodeArgs::table for the source's and the results' bits, or null.
  Stage (*table_stage)(int in_bits, int out_bits, const CodeTable& table);
  // Of kBlock codes of bfloat16 or float16; null in the scalar target.
  HalfRange (*range_of_halves)(DataType type, const std::byte* codes);
  // The rest is null in the scalar target, whose run needs no stage. Indexed by row.
  Stage decode_f32[kRows];      // exact; null for float32 itself
  Stage decode_odd_f32[kRows];  // rounded to odd: float64 and 32/64-bit integers
  Stage decode_f64[kRows];      // exact, or the pair's one rounding (64-bit integers)
  Stage decode_odd_f64[kRows];  // rounded to odd: 64-bit integers
  Stage encode_f32[kRows];      // null for float32 itself
  Stage encode_f64[kRows];      // float32, integers, bool; null for float64 itself
  Stage integer[kRows][kRows];  // integers and bool modulo 2^width; equal widths: null
  Stage direct[kRows][kRows];   // both stages in one and packed; null where two are as good
  // To bfloat16: what does the same where the processor lacks an instruction that the direct stage
  // has; else null.
  Stage instead_of_bfloat16[kRows];
  bool needs_environment[kRows][kRows];  // the floating-point one, for a pair of one stage
  Stage value_f64[kRows];                // to float64 from any type; null for float64 itself
  UnpackCodesOf unpack[kRows];
  PackCodesOf pack[kRows];
};

// Those compiled for a target of Highway's; one specialization each, by targets.cc.
template <std::int64_t kHighwayTarget> const Kernels* KernelsOf();

// The bits of HWY_TARGETS that this processor and its system run; the best target is the lowest
// bit.
std::int64_t SupportedTargets();

// The targets of this build that run on this machine, best first. The last is the scalar one.
std::span<const Kernels* const> AllKernels();
const Kernels* ScalarKernels();
// Those of a target, or of the best one; null where it is not to be had.
const Kernels* FindKernels(Target target);

}  // namespace tensorcast::core

namespace tensorcast {
inline namespace TENSORCAST_ABI {

inline core::Bound* CastPlan::bound() {
  return std::launder(reinterpret_cast<core::Bound*>(bound_));
}
inline const core::Bound* CastPlan::bound() const {
  return std::launder(reinterpret_cast<const core::Bound*>(bound_));
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_SRC_CORE_KERNELS_H_
