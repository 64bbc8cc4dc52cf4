// Codes are decoded by the library's own cast, a block at a time, and multiplied while the block is
// in the first-level cache.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dequantiser.h"

#include "core/fp_environment.h"
#include "scale/stretch.h"

namespace tensorcast::scale {

Dequantiser::Dequantiser(const Scaling& scaling, const Partition& partition, Rounding rounding,
                         Target target)
    : partition_(partition), arithmetic_(Checked(scaling), rounding) {
  Require(CastPlan::Bind(scaling.element, DataType::kFloat64, {}, &decode_, target));
}

void Dequantiser::Run(std::span<const std::byte> codes, std::uint64_t codes_first,
                      std::uint64_t first, std::uint64_t n, const CellScales& scales,
                      std::span<double> values) const {
  const bool zero_point = arithmetic_.scaling.zero_point;
  RequireStretch(partition_, first, n, scales.first, scales.scales.size());
  if (zero_point) RequireStretch(partition_, first, n, scales.first, scales.zero_points.size());
  if (n > values.size()) Require(Status(StatusCode::kBufferTooSmall));
  const core::FpEnvironment environment;
  ForEachBlock(first, n, [&](std::uint64_t done, std::uint64_t some) {
    const std::span<double> block = values.subspan(done, some);
    Require(decode_.Run(codes, codes_first + done, std::as_writable_bytes(block), 0, some));
    ForEachRun(partition_, first + done, some,
               [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
                 const std::uint64_t i = cell - scales.first;
                 arithmetic_.Run(block.data() + at, length, scales.scales[i], scales.global,
                                 zero_point ? scales.zero_points[i] : 0);
               });
  });
}

}  // namespace tensorcast::scale
