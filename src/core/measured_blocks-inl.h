// Measuring the loss of a block, or part of one, in float64 lanes: of a cast, of codes with scales,
// of two tensors that no cast connects. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_MEASURED_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_MEASURED_BLOCKS_INL_H_
#undef TENSORCAST_SRC_CORE_MEASURED_BLOCKS_INL_H_
#else
#define TENSORCAST_SRC_CORE_MEASURED_BLOCKS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/block_runs-inl.h"
#include "core/loss-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

const Kernels* TargetKernels();

namespace {

// n codes of a side from an element on, one a carrier: as they stand, or unpacked into `room`.
const std::byte* CodesAt(const TypeInfo& row, const std::byte* side, std::uint64_t first,
                         std::size_t n, std::byte* room) {
  const UnpackCodesOf unpack =
      TargetKernels()->unpack[static_cast<std::size_t>(detail::RowIndex(row.type))];
  if (unpack == nullptr) return side + first * BytesOf(row);
  unpack(side, first, n, room);
  return room;
}

// The values of codes, in `room` where the codes are no values that can be read where they stand.
template <class Value>
const Value* Values(Stage stage, const std::byte* codes, std::size_t n, const EncodeArgs& args,
                    bool stay, Value* room) {
  if (stage != nullptr) {
    stage(codes, reinterpret_cast<std::byte*>(room), n, args);
  } else if (stay && reinterpret_cast<std::uintptr_t>(codes) % alignof(Value) == 0) {
    return reinterpret_cast<const Value*>(codes);
  } else {
    std::memcpy(room, codes, n * sizeof(Value));
  }
  return room;
}

// Adds n elements of one block, those of `view`; x and y are their values.
template <class LimitsFrom>
void MeasureLanes(const LossView& view, const LossParams& params, const LimitsFrom& limits_from,
                  const double* x, const double* y, std::size_t n, std::uint64_t index,
                  LossState* loss) {
  // Lanes begin where a sum's first element stands.
  std::size_t head = static_cast<std::size_t>((kLossSums - index % kLossSums) % kLossSums);
  head = std::min(head, n);
  if (head != 0) loss->AddExactly(view, 0, head, index);
  const std::size_t body = (n - head) / kLossSums * kLossSums;
  if (body != 0) {
    LossStretch stretch = loss->StretchFrom(index + head);
    auto limits = limits_from(head, body);
    MeasureStretch(x + head, y + head, body, params, limits, Subtracted(), &stretch);
    loss->AddStretch(stretch, x + head, y + head, body, view, head, index + head);
  }
  const std::size_t done = head + body;
  if (done != n) loss->AddExactly(view, done, n - done, index + done);
}

// Looks for the first elements of the maxima by errors that are not the differences of x and y.
void FindMaxima(const double* x, const double* y, const double* errors, std::size_t n,
                LossStretch* stretch) {
  for (std::size_t k = n; k-- > 0;) {
    if (!(std::fabs(y[k]) < std::numeric_limits<double>::infinity())) continue;
    if (errors[k] == stretch->max_abs_error) stretch->max_abs_at = k;
    if (x[k] != 0 && errors[k] / std::fabs(x[k]) == stretch->max_rel_error) {
      stretch->max_rel_at = k;
    }
  }
}

// As MeasureBlock, for 64-bit integers that doubles may not hold; false where lanes cannot.
bool MeasureWide(const LossView& view, const double* x, const double* y, std::size_t n,
                 std::uint64_t index, LossState* loss) {
  // Results that doubles hold and that are whole numbers, float6e2m3's limit of 7.5 not being one.
  const bool are_whole = (view.to->bits < 64 ? view.to->has_zero : view.to->is_float()) &&
                         detail::NumbersOf(*view.to).greatest_exponent >= 0;
  if (view.from->bits != 64 || !view.from->is_integer() || !are_whole || index % kLossSums != 0 ||
      n % kLossSums != 0) {
    return false;
  }
  alignas(64) double errors[kBlock];
  const std::byte* const integers = view.source + view.source_first * 8;
  if (!(view.from->has_sign ? WideErrors<std::int64_t>(integers, y, n, errors)
                            : WideErrors<std::uint64_t>(integers, y, n, errors))) {
    return false;
  }
  LossStretch stretch = loss->StretchFrom(index);
  const UniformLimits limits(loss->params);
  MeasureStretch(x, y, n, loss->params, limits, Given{errors}, &stretch);
  if (loss->GivesExample(stretch, index)) FindMaxima(x, y, errors, n, &stretch);
  loss->AddStretch(stretch, x, y, n, view, 0, index);
  return true;
}

HWY_NOINLINE void MeasureBlock(const LossView& view, const double* x, const double* y,
                               std::size_t n, std::uint64_t index, LossState* loss) {
  const LossParams& params = loss->params;
  // From floats only what is beyond the range has a result that a double may not hold.
  if (params.wide &&
      (view.from->is_float() ? AnyBeyond(x, n, params) : AnyWide(x, n) || AnyWide(y, n))) {
    if (!MeasureWide(view, x, y, n, index, loss)) loss->AddExactly(view, 0, n, index);
    return;
  }
  const auto limits_from = [&params](std::size_t, std::size_t) { return UniformLimits(params); };
  MeasureLanes(view, params, limits_from, x, y, n, index, loss);
}

void MeasureScaledBlock(const LossView& view, const double* x, std::size_t n, std::uint64_t index,
                        LossState* loss) {
  const ScaledResults& scaled = *view.scaled;
  const auto limits_from = [&scaled](std::size_t first, std::size_t count) {
    return OwnLimits(scaled, first, count);
  };
  MeasureLanes(view, loss->ParamsOf(view, 0), limits_from, x, scaled.values, n, index, loss);
}

void MeasurePairBlock(const LossView& view, std::size_t n, std::uint64_t index, LossState* loss) {
  alignas(64) double x_room[kBlock];
  alignas(64) double y_room[kBlock];
  alignas(64) std::byte codes[kBlock];
  const auto values = [&](const TypeInfo& row, const std::byte* side, std::uint64_t first,
                          double* room) {
    const Stage stage =
        TargetKernels()->value_f64[static_cast<std::size_t>(detail::RowIndex(row.type))];
    return Values(stage, CodesAt(row, side, first, n, codes), n, EncodeArgs(), true, room);
  };
  const double* const x = values(*view.from, view.source, view.source_first, x_room);
  const double* const y = values(*view.to, view.result, view.result_first, y_room);
  const LossParams& params = loss->params;
  if (params.wide && (AnyWide(x, n) || AnyWide(y, n))) {
    loss->AddExactly(view, 0, n, index);
    return;
  }
  const auto limits_from = [&](std::size_t i, std::size_t) { return PairLimits(params, y + i); };
  MeasureLanes(view, params, limits_from, x, y, n, index, loss);
}

}  // namespace
}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_MEASURED_BLOCKS_INL_H_
