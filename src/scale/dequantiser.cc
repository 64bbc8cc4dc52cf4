// Codes are decoded by the library's own cast, a block at a time, and multiplied while the block is
// in the first-level cache.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dequantiser.h"

#include <algorithm>
#include <string>

#include "core/failure.h"
#include "core/fp_environment.h"

namespace tensorcast::scale {
namespace {

constexpr std::uint64_t kBlock = 1024;

void Require(Status status) {
  if (!status.ok()) throw core::Failure(status.code(), std::string(status.message()));
}

}  // namespace

Dequantiser::Dequantiser(const Scaling& scaling, const Partition& partition, Rounding rounding,
                         Target target)
    : partition_(partition), arithmetic_(Checked(scaling), rounding) {
  Require(CastPlan::Bind(scaling.element, DataType::kFloat64, {}, &decode_, target));
}

void Dequantiser::Run(std::span<const std::byte> codes, std::uint64_t codes_first,
                      std::uint64_t first, std::uint64_t n, const CellScales& scales,
                      std::span<double> values) const {
  if (n == 0) return;
  if (first > partition_.elements() || n > partition_.elements() - first || n > values.size()) {
    Require(Status(StatusCode::kBufferTooSmall));
  }
  const CellRange cells = partition_.CellsOf(first, n);
  const auto has_cells = [&](std::span<const double> given) {
    return cells.first >= scales.first && cells.first - scales.first <= given.size() &&
           cells.count <= given.size() - (cells.first - scales.first);
  };
  const bool zero_point = arithmetic_.scaling.zero_point;
  if (!has_cells(scales.scales) || (zero_point && !has_cells(scales.zero_points))) {
    Require(Status(StatusCode::kBufferTooSmall));
  }
  const core::FpEnvironment environment;
  for (std::uint64_t done = 0; done < n; done += kBlock) {
    const std::uint64_t some = std::min(kBlock, n - done);
    const std::span<double> block = values.subspan(done, some);
    Require(decode_.Run(codes, codes_first + done, std::as_writable_bytes(block), 0, some));
    ForEachRun(partition_, first + done, some,
               [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
                 const std::uint64_t i = cell - scales.first;
                 arithmetic_.Run(block.data() + at, length, scales.scales[i], scales.global,
                                 zero_point ? scales.zero_points[i] : 0);
               });
  }
}

}  // namespace tensorcast::scale
