// A block at a time: decoded by the library's own cast, divided cell by cell, encoded by a cast
// that rounds once, and, where measured, decoded again while it is in the first-level cache.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/quantiser.h"

#include <algorithm>
#include <string>

#include "core/failure.h"
#include "core/fp_environment.h"
#include "core/loss.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

CastOptions OptionsOf(DataType element) {
  CastOptions options;
  if (element == DataType::kInt8) options.integer_overflow = IntegerOverflow::kSaturate;
  return options;
}

bool IsSource(DataType type) {
  const TypeInfo* const row = FindType(type);
  return row != nullptr && row->is_float() && row->has_zero;
}

}  // namespace

Quantiser::Quantiser(DataType source, const Scaling& scaling, ScaleRule rule,
                     const Partition& partition, Target target)
    : source_(source),
      scaling_(CheckedWritten(scaling, rule)),
      rule_(rule),
      partition_(partition),
      target_(target),
      quotients_(scaling, source != DataType::kFloat64),
      values_(scaling, Rounding::kNearest) {
  if (!IsSource(source)) {
    throw core::Failure(StatusCode::kInvalidType, "scaled tensors are made of floats, not of " +
                                                      std::string(TypeName(source)));
  }
  const auto bind = [&](DataType from, DataType to, CastPlan* plan) {
    Require(CastPlan::Bind(from, to, OptionsOf(scaling.element), plan, target));
  };
  bind(source, DataType::kFloat64, &value_of_source_);
  bind(DataType::kFloat64, scaling.element, &code_of_value_);
  bind(scaling.element, DataType::kFloat64, &value_of_code_);
}

void Quantiser::GatherAmax(std::span<const std::byte> x, std::uint64_t x_first, std::uint64_t first,
                           std::uint64_t n, std::uint64_t first_cell,
                           std::span<double> amax) const {
  RequireStretch(partition_, first, n, first_cell, amax.size());
  const core::FpEnvironment environment;
  alignas(64) double values[kBlock];
  ForEachBlock(first, n, [&](std::uint64_t done, std::uint64_t some) {
    Require(value_of_source_.Run(x, x_first + done, std::as_writable_bytes(std::span(values)), 0,
                                 some));
    ForEachRun(partition_, first + done, some,
               [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
                 double& known = amax[cell - first_cell];
                 known = LargestFinite(values + at, length, known);
               });
  });
}

double Quantiser::GlobalScale(double amax) const {
  const core::FpEnvironment environment;
  return GlobalScaleOf(scaling_, amax);
}

void Quantiser::Scales(std::span<const double> amax, double global,
                       std::span<double> scales) const {
  if (scales.size() < amax.size()) Require(Status(StatusCode::kBufferTooSmall));
  const core::FpEnvironment environment;
  for (std::size_t i = 0; i < amax.size(); ++i) {
    scales[i] = CellScaleOf(scaling_, rule_, amax[i], global);
  }
}

void Quantiser::Encode(std::span<const std::byte> x, std::uint64_t x_first, std::uint64_t first,
                       std::uint64_t n, const CellScales& scales, std::span<std::byte> codes,
                       std::uint64_t codes_first, LossMeter* loss) const {
  RequireStretch(partition_, first, n, scales.first, scales.scales.size());
  const core::FpEnvironment environment;
  alignas(64) double values[kBlock];
  alignas(64) double quotients[kBlock];
  alignas(64) double beyond[kBlock];
  alignas(64) double least_normal[kBlock];
  const core::ScaledLimits limits = {quotients, beyond, least_normal};
  const auto bytes_of = [](double* block) {
    return std::as_writable_bytes(std::span<double>(block, kBlock));
  };
  ForEachBlock(first, n, [&](std::uint64_t done, std::uint64_t some) {
    const auto for_each_cell = [&](const auto& visit) {
      ForEachRun(partition_, first + done, some,
                 [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
                   visit(scales.scales[cell - scales.first], at, length);
                 });
    };
    Require(value_of_source_.Run(x, x_first + done, bytes_of(values), 0, some));
    for_each_cell([&](double scale, std::uint64_t at, std::uint64_t length) {
      quotients_.Run(values + at, quotients + at, length, scale, scales.global);
    });
    Require(code_of_value_.Run(bytes_of(quotients), 0, codes, codes_first + done, some));
    if (loss == nullptr) return;
    Require(value_of_code_.Run(codes, codes_first + done, bytes_of(quotients), 0, some));
    for_each_cell([&](double scale, std::uint64_t at, std::uint64_t length) {
      values_.Run(quotients + at, quotients + at, length, scale, scales.global, 0);
      const CellLimits cell = quotients_.Limits(scale, scales.global);
      std::fill_n(beyond + at, length, cell.beyond);
      std::fill_n(least_normal + at, length, cell.least_normal);
    });
    const core::LossView view = {
        FindType(source_), FindType(scaling_.element), x.data(), x_first + done,
        codes.data(),      codes_first + done,         &limits};
    Require(core::MeasureScaled(*loss, view, values, some, first + done, target_));
  });
}

LossMeter Quantiser::Meter() const {
  return LossMeter(source_, scaling_.element, OptionsOf(scaling_.element));
}

}  // namespace tensorcast::scale
