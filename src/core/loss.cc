// See loss.h. The scalar half of loss, exact for every pair (lanes, loss-inl.h, do the rest), and
// the public meter over it.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/loss.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include "core/element_loss.h"
#include "core/fp_environment.h"
#include "core/kernels.h"

namespace tensorcast::core {
namespace {

__extension__ using Int128 = __int128;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double ValueOf(std::uint64_t code, const TypeInfo& row) {
  return std::bit_cast<double>(
      detail::CastCode(row, detail::Row(DataType::kFloat64), code, CastOptions{}));
}

// A side of the comparison: an integer of up to 65 bits, or a double.
struct Exact {
  bool integer = false;
  Int128 whole = 0;
  double value = 0;  // the nearest double where `integer`
};

Exact ExactOf(std::uint64_t code, const TypeInfo& row) {
  Exact exact;
  exact.value = ValueOf(code, row);
  if (row.bits == 64 && row.is_integer()) {
    exact.integer = true;
    exact.whole = row.has_sign ? static_cast<Int128>(static_cast<std::int64_t>(code))
                               : static_cast<Int128>(code);
  }
  return exact;
}

constexpr double kTwo100 = 0x1p100;

bool Equal(const Exact& x, const Exact& y) {
  if (!x.integer && !y.integer) return x.value == y.value;
  const auto whole = [](const Exact& side, Int128* out) {
    if (side.integer) {
      *out = side.whole;
      return true;
    }
    if (!(std::fabs(side.value) < kTwo100) || std::trunc(side.value) != side.value) return false;
    *out = static_cast<Int128>(side.value);
    return true;
  };
  Int128 a = 0;
  Int128 b = 0;
  return whole(x, &a) && whole(y, &b) && a == b;
}

// x - y, exact, rounded once. Both are finite.
double Difference(const Exact& x, const Exact& y) {
  if (!x.integer && !y.integer) return x.value - y.value;
  const auto split = [](const Exact& side, Int128* whole, double* fraction) {
    *fraction = 0;
    *whole = side.whole;
    if (side.integer) return true;
    if (!(std::fabs(side.value) < kTwo100)) return false;
    const double truncated = std::trunc(side.value);
    *whole = static_cast<Int128>(truncated);
    *fraction = side.value - truncated;
    return true;
  };
  Int128 xw = 0;
  Int128 yw = 0;
  double xf = 0;
  double yf = 0;
  // Beyond 2^100 the integer is less than a quarter unit of the difference's last place.
  if (!split(x, &xw, &xf) || !split(y, &yw, &yf)) return x.value - y.value;
  const Int128 whole = xw - yw;
  // Only the side that is no integer has a fraction; a fraction next to a difference that a double
  // holds with all its bits is added exactly or rounded once by this one addition.
  const double fraction = xf - yf;
  if (fraction == 0) return static_cast<double>(whole);
  const Int128 limit = Int128{1} << 52;
  if (whole > -limit && whole < limit) return static_cast<double>(whole) + fraction;
  // Otherwise in units of 2^-20, what lies below them folded into the last bit (round to odd).
  const double scaled = fraction * 0x1p20;
  const auto floor = static_cast<Int128>(std::floor(scaled));
  Int128 fine = (whole << 20) + floor;
  if (std::floor(scaled) != scaled) fine |= 1;
  return static_cast<double>(fine) * 0x1p-20;
}

// 10 log10(signal / noise) from additions, multiplications and divisions alone: a C library's log10
// differs in its last bits from one machine to the next. Good to about 1e-15.
double DecibelsOfRatio(double signal, double noise) {
  if (noise == 0) return kInfinity;
  if (signal == 0) return -kInfinity;
  if (signal == kInfinity || noise == kInfinity)
    return signal == noise ? kNone : signal == kInfinity ? kInfinity : -kInfinity;
  int signal_exponent = 0;
  int noise_exponent = 0;
  double ratio = std::frexp(signal, &signal_exponent) / std::frexp(noise, &noise_exponent);
  int exponent = signal_exponent - noise_exponent;
  if (ratio > 1.4142135623730951) {
    ratio *= 0.5;
    ++exponent;
  } else if (ratio < 0.7071067811865476) {
    ratio *= 2;
    --exponent;
  }
  // ln(ratio) = 2 atanh(s), s = (ratio - 1) / (ratio + 1), |s| < 0.172: 13 terms reach 2^-60.
  const double s = (ratio - 1) / (ratio + 1);
  const double s2 = s * s;
  double series = 0;
  for (int k = 25; k >= 1; k -= 2) series = series * s2 + 1.0 / k;
  const double ln = 2 * s * series;
  return 10 * (exponent * 0.30102999566398119521 + ln * 0.43429448190325182765);
}

// Whether x counts as one that a limit, or a wrap, became of.
bool IsBeyond(double x, double y, const LossParams& params) {
  const bool high = x >= params.beyond_high, low = x <= params.beyond_low;
  if (!params.is_pair) return high || low;
  return std::fabs(x) == params.beyond_all || (high && y == params.end_high) ||
         (low && y == params.end_low);
}

// The kind an element counts under, of those up to kRounded; x and y are exact.
Loss Classify(double x, double y, const LossParams& params) {
  const bool x_nan = x != x;
  const bool y_nan = y != y;
  if (x_nan) return y_nan ? Loss::kNan : Loss::kNanLost;
  if (y_nan) return Loss::kToNan;
  if (x == y) return Loss::kExact;
  const bool x_infinite = std::fabs(x) == kInfinity;
  const bool beyond = IsBeyond(x, y, params);
  if (beyond && params.wraps && !x_infinite) return Loss::kWrapped;
  if (std::fabs(y) == kInfinity) return Loss::kToInfinity;
  if (beyond && !params.wraps) return Loss::kToLimit;
  return y == 0 ? Loss::kToZero : Loss::kRounded;
}

// Whether an element counts under a kind beside the partition, too.
bool IsBeside(Loss kind, double x, double y, const LossParams& params) {
  switch (kind) {
    case Loss::kToSubnormal: return y != 0 && std::fabs(y) < params.least_normal;
    case Loss::kZeroSignLost:
      return params.to_float && x == 0 && std::signbit(x) && y == 0 && !std::signbit(y);
    case Loss::kUndefined:
      return (params.nan_undefined && x != x) ||
             (params.beyond_undefined && (x >= params.beyond_high || x <= params.beyond_low)) ||
             (params.no_zero_undefined && x <= 0);
    default: return false;
  }
}

LossExample ExampleOf(const LossView& view, std::uint64_t i, std::uint64_t index) {
  return {index, detail::LoadCode(view.source, view.source_first + i, view.from->bits),
          detail::LoadCode(view.result, view.result_first + i, view.to->bits)};
}

// Whether an integer of 64 bits is the end of its type's range, and x beyond it.
bool IsBeyondInteger(const Exact& x, const Exact& y, const TypeInfo& to) {
  const Int128 high = to.has_sign ? Int128{INT64_MAX} : Int128{UINT64_MAX};
  const Int128 low = to.has_sign ? Int128{INT64_MIN} : 0;
  if (y.whole == high) return Difference(x, y) > 0;
  return y.whole == low && Difference(x, y) < 0;
}

}  // namespace

LossParams MakeLossParams(const TypeInfo& from, const TypeInfo& to, const CastOptions& options) {
  LossParams params;
  const detail::RangeEnds ends = detail::EndsOfRange(to, options.round_mode);
  params.beyond_high = ends.bounded ? detail::FirstBeyond(ends.high, true) : kNone;
  params.beyond_low = ends.bounded ? detail::FirstBeyond(ends.low, false) : kNone;
  params.wide = (from.bits == 64 && from.is_integer()) || (to.bits == 64 && to.is_integer());
  if (to.is_integer()) {
    params.wraps = !from.is_float() || options.integer_overflow == IntegerOverflow::kWrap;
    params.nan_undefined = from.is_float();
    params.beyond_undefined = from.is_float();
  } else if (to.is_float()) {
    params.to_float = true;
    params.no_zero_undefined = !to.has_zero;
    params.nan_undefined = !to.has_nan();
    params.least_normal =
        to.has_zero ? detail::LimitsOf(to).least_normal : detail::LimitsOf(to).least_positive;
  }
  return params;
}

ElementLoss MeasureElement(const LossExample& codes, const TypeInfo& from, const TypeInfo& to,
                           const LossParams& params, const double* scaled) {
  const Exact x = ExactOf(codes.source_code, from);
  const Exact y = scaled == nullptr ? ExactOf(codes.result_code, to) : Exact{.value = *scaled};
  ElementLoss element;
  const auto count = [&element](Loss loss) {
    element.kinds = static_cast<std::uint16_t>(element.kinds | 1u << static_cast<unsigned>(loss));
  };
  Loss loss = Classify(x.value, y.value, params);
  if (params.wide && x.value == x.value && y.value == y.value) {
    // Doubles may have rounded: equality is asked of the exact values.
    if (Equal(x, y)) {
      loss = Loss::kExact;
    } else if (loss == Loss::kExact || loss == Loss::kWrapped || loss == Loss::kToLimit ||
               loss == Loss::kRounded) {
      bool beyond = IsBeyond(x.value, y.value, params);
      if (params.is_pair && y.integer) {
        beyond = std::fabs(x.value) == kInfinity || IsBeyondInteger(x, y, to);
      } else if (x.integer && to.bits == 64 && to.is_integer()) {
        beyond = to.has_sign ? x.whole > Int128{INT64_MAX} : x.whole < 0;
      }
      loss = !beyond ? Loss::kRounded : params.wraps ? Loss::kWrapped : Loss::kToLimit;
    }
  }
  count(loss);
  for (const Loss kind : {Loss::kToSubnormal, Loss::kZeroSignLost, Loss::kUndefined}) {
    if (IsBeside(kind, x.value, y.value, params)) count(kind);
  }
  const double magnitude = std::fabs(x.value);
  if (!(magnitude < kInfinity)) return element;
  element.finite = true;
  element.magnitude = magnitude;
  if (!(std::fabs(y.value) < kInfinity)) return element;
  element.compared = true;
  element.error = std::fabs(Difference(x, y));
  return element;
}

namespace {

// Of two tensors of these types that no cast connects.
LossParams MakePairParams(const TypeInfo& from, const TypeInfo& to) {
  LossParams params = MakeLossParams(from, to, CastOptions());
  params.is_pair = true;
  params.beyond_all = to.is_integer() || to.is_float() ? kInfinity : kNone;
  params.wraps = params.nan_undefined = params.beyond_undefined = params.no_zero_undefined = false;
  if (to.is_integer()) {  // of 64 bits rounded to a double: the exact ends are asked for as well
    const double span = detail::PowerOfTwo(to.has_sign ? to.bits - 1 : to.bits);
    params.end_high = span - 1;
    params.end_low = to.has_sign ? -span : 0;
  } else if (to.is_float()) {
    params.end_high = detail::LimitsOf(to).greatest;
    params.end_low = detail::LimitsOf(to).lowest;
  }
  return params;
}

}  // namespace

LossState::LossState(DataType from_type, DataType to_type, const CastOptions& cast_options)
    : run_from(from_type), options(cast_options) {
  from = from_type;
  to = to_type;
  max_abs_error = max_rel_error = -1;
  const TypeInfo* from_row = FindType(from);
  const TypeInfo* to_row = FindType(to);
  if (from_row != nullptr && to_row != nullptr && from_row->bits != 0 && to_row->bits != 0) {
    const FpEnvironment environment;
    params = MakeLossParams(*from_row, *to_row, options);
  }
}

void LossState::Begin(std::uint64_t index) {
  if (index % kLossBlock == 0) CloseBlock();
  if (from != run_from) from = DataType::kUndefined;
}

void LossState::CloseBlock() {
  const auto close = [](double* s, SumOfMagnitudes* sum) {
    sum->Add(FoldSums(s));
    for (std::size_t i = 0; i < kLossSums; ++i) s[i] = 0;
  };
  close(open_squares, &squares);
  close(open_errors, &errors);
}

void LossState::Advance(std::size_t n, std::uint64_t index) {
  elements += n;
  next_index = index + n;
  if (next_index % kLossBlock == 0) CloseBlock();
}

LossParams LossState::ParamsOf(const LossView& view, std::uint64_t i) const {
  if (view.scaled == nullptr) return params;
  // No cast of ONNX's: nothing is left open.
  LossParams scaled;
  const CellLimits& limits = view.scaled->LimitsOf(static_cast<std::size_t>(i));
  scaled.beyond_high = limits.up;
  scaled.beyond_low = -limits.down;
  scaled.least_normal = limits.least_normal;
  scaled.to_float = params.to_float;
  return scaled;
}

void LossState::AddExactly(const LossView& view, std::uint64_t i, std::size_t n,
                           std::uint64_t index) {
  for (std::size_t k = 0; k < n; ++k) {
    const std::uint64_t at = index + k;
    const LossExample example = ExampleOf(view, i + k, at);
    const double* const scaled = view.scaled == nullptr ? nullptr : view.scaled->values + i + k;
    const ElementLoss element =
        MeasureElement(example, *view.from, *view.to, ParamsOf(view, i + k), scaled);
    for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
      if (!element.IsOf(static_cast<Loss>(kind))) continue;
      TakeFirst(kind, example);
      ++counts[kind];
    }
    if (!element.finite) continue;
    ++finite;
    GrowRange(element.magnitude, element.magnitude);
    if (!element.compared) continue;
    open_squares[at % kLossSums] += element.Square();
    open_errors[at % kLossSums] += element.SquaredError();
    ++compared;
    const auto this_one = [&] { return example; };
    TakeLarger(element.error, at, &max_abs_error, &max_abs_example, this_one);
    if (element.magnitude == 0) continue;
    ++compared_nonzero;
    TakeLarger(element.Relative(), at, &max_rel_error, &max_rel_example, this_one);
  }
  Advance(n, index);
}

LossStretch LossState::StretchFrom(std::uint64_t index) const {
  const auto to_exceed = [index](double error, const LossExample& example) {
    return index < example.index ? ALittleLess(error) : error;
  };
  LossStretch stretch;
  std::copy_n(open_squares, kLossSums, stretch.squares);
  std::copy_n(open_errors, kLossSums, stretch.errors);
  stretch.max_abs_error = to_exceed(max_abs_error, max_abs_example);
  stretch.max_rel_error = to_exceed(max_rel_error, max_rel_example);
  return stretch;
}

bool LossState::GivesKind(const LossStretch& stretch, std::uint64_t index) const {
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    if (stretch.counts[kind] != 0 && MayBeFirst(kind, index)) return true;
  }
  return false;
}

bool LossState::GivesExample(const LossStretch& stretch, std::uint64_t index) const {
  return GivesKind(stretch, index) ||
         (stretch.compared != 0 &&
          IsNews(stretch.max_abs_error, index, max_abs_error, max_abs_example)) ||
         (stretch.compared_nonzero != 0 &&
          IsNews(stretch.max_rel_error, index, max_rel_error, max_rel_example));
}

template <class Value>
void LossState::AddStretch(const LossStretch& stretch, const Value* x_values, const Value* y_values,
                           std::size_t n, const LossView& view, std::uint64_t i,
                           std::uint64_t index) {
  const auto x = [x_values](std::size_t k) { return static_cast<double>(x_values[k]); };
  const auto y = [y_values](std::size_t k) { return static_cast<double>(y_values[k]); };
  // Examples are looked for only where a count or a maximum moves for the first time.
  const auto first_where = [&](auto&& holds) {
    std::size_t k = 0;
    while (k + 1 < n && !holds(k)) ++k;
    return ExampleOf(view, i + k, index + k);
  };
  const auto is_kind = [&](Loss loss, std::size_t k) {
    const LossParams limits = ParamsOf(view, i + k);
    if (limits.wide) {  // x and y may have been rounded
      const LossExample codes = ExampleOf(view, i + k, index + k);
      return MeasureElement(codes, *view.from, *view.to, limits, nullptr).IsOf(loss);
    }
    return static_cast<std::size_t>(loss) < kLossPartition ? Classify(x(k), y(k), limits) == loss
                                                           : IsBeside(loss, x(k), y(k), limits);
  };
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    if (stretch.counts[kind] == 0) continue;
    if (MayBeFirst(kind, index)) {
      TakeFirst(kind,
                first_where([&](std::size_t k) { return is_kind(static_cast<Loss>(kind), k); }));
    }
    counts[kind] += stretch.counts[kind];
  }
  const auto finite_pair = [&](std::size_t k) {
    return std::fabs(x(k)) < kInfinity && std::fabs(y(k)) < kInfinity;
  };
  const auto example_at = [&](std::size_t at, const auto& holds) {
    return at == LossStretch::kNotLookedFor ? first_where(holds)
                                            : ExampleOf(view, i + at, index + at);
  };
  if (stretch.compared != 0) {
    TakeLarger(stretch.max_abs_error, index, &max_abs_error, &max_abs_example, [&] {
      return example_at(stretch.max_abs_at, [&](std::size_t k) {
        return finite_pair(k) && std::fabs(x(k) - y(k)) == stretch.max_abs_error;
      });
    });
  }
  if (stretch.compared_nonzero != 0) {
    TakeLarger(stretch.max_rel_error, index, &max_rel_error, &max_rel_example, [&] {
      return example_at(stretch.max_rel_at, [&](std::size_t k) {
        return finite_pair(k) && x(k) != 0 &&
               std::fabs(x(k) - y(k)) / std::fabs(x(k)) == stretch.max_rel_error;
      });
    });
  }
  compared += stretch.compared;
  compared_nonzero += stretch.compared_nonzero;
  finite += stretch.finite;
  GrowRange(stretch.amax, stretch.smallest_nonzero);
  for (std::size_t k = 0; k < stretch.ended; ++k) {
    squares.Add(stretch.ended_squares[k]);
    errors.Add(stretch.ended_errors[k]);
  }
  std::copy_n(stretch.squares, kLossSums, open_squares);
  std::copy_n(stretch.errors, kLossSums, open_errors);
  Advance(n, index);
}

template void LossState::AddStretch(const LossStretch&, const double*, const double*, std::size_t,
                                    const LossView&, std::uint64_t, std::uint64_t);
template void LossState::AddStretch(const LossStretch&, const float*, const float*, std::size_t,
                                    const LossView&, std::uint64_t, std::uint64_t);

void LossState::GrowRange(double largest, double smallest) {
  amax = std::max(amax, largest);
  if (smallest != 0 && (smallest_nonzero == 0 || smallest < smallest_nonzero)) {
    smallest_nonzero = smallest;
  }
}

void LossState::Merge(const LossState& other) {
  if (other.elements == 0) return;
  LossState closed = other;
  closed.CloseBlock();
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    if (closed.counts[kind] == 0) continue;
    TakeFirst(kind, closed.first[kind]);
    counts[kind] += closed.counts[kind];
  }
  TakeLarger(closed.max_abs_error, closed.max_abs_example.index, &max_abs_error, &max_abs_example,
             [&] { return closed.max_abs_example; });
  TakeLarger(closed.max_rel_error, closed.max_rel_example.index, &max_rel_error, &max_rel_example,
             [&] { return closed.max_rel_example; });
  if (elements == 0) from = closed.from;
  if (from != closed.from) from = DataType::kUndefined;
  elements += closed.elements;
  compared += closed.compared;
  compared_nonzero += closed.compared_nonzero;
  finite += closed.finite;
  GrowRange(closed.amax, closed.smallest_nonzero);
  squares.Add(closed.squares);
  errors.Add(closed.errors);
}

void LossState::Append(const LossState& next) {
  LossState closed = next;
  std::fill_n(closed.open_squares, kLossSums, 0);
  std::fill_n(closed.open_errors, kLossSums, 0);
  Merge(closed);
  std::copy_n(next.open_squares, kLossSums, open_squares);
  std::copy_n(next.open_errors, kLossSums, open_errors);
  next_index = next.next_index;
}

LossReport LossState::Report() const {
  LossState closed = *this;
  closed.CloseBlock();
  LossReport report = closed;
  if (compared == 0) report.max_abs_error = 0;
  if (compared_nonzero == 0) report.max_rel_error = 0;
  report.sum_squares = closed.squares.Nearest();
  report.sum_squared_error = closed.errors.Nearest();
  if (compared != 0) {
    report.rmse = std::sqrt(report.sum_squared_error / static_cast<double>(compared));
  }
  report.snr_db = DecibelsOfRatio(report.sum_squares, report.sum_squared_error);
  return report;
}

namespace {

// Whether n elements of a view can be added to a meter from `index` on.
Status CheckMeasured(const Kernels* kernels, const LossState& state, const LossView& view,
                     std::uint64_t n, std::uint64_t index) {
  if (kernels == nullptr) return Status(StatusCode::kTargetUnavailable);
  if (state.run_from != view.from->type || state.to != view.to->type) {
    return Status(StatusCode::kLossMismatch);
  }
  if (index > UINT64_MAX - n) return Status(StatusCode::kSizeOverflow);
  if (!state.Continues(index)) return Status(StatusCode::kLossPosition);
  return Status();
}

}  // namespace

bool MeasureScaledCodes(LossMeter& meter, const LossView& view, std::size_t n, std::uint64_t index,
                        Target target) {
  const Kernels* kernels = FindKernels(target);
  LossState& state = MeterAccess::StateOf(meter);
  if (kernels == nullptr || kernels->measure_scaled_codes == nullptr || n != kLossBlock ||
      index % kLossBlock != 0 || index > UINT64_MAX - n || state.run_from != view.from->type ||
      state.to != view.to->type) {
    return false;
  }
  state.Begin(index);
  return kernels->measure_scaled_codes(view, index, &state);
}

Status MeasureScaled(LossMeter& meter, const LossView& view, const double* x, std::size_t n,
                     std::uint64_t index, Target target) {
  const Kernels* kernels = FindKernels(target);
  LossState& state = MeterAccess::StateOf(meter);
  const Status status = CheckMeasured(kernels, state, view, n, index);
  if (!status.ok() || n == 0) return status;
  state.Begin(index);
  kernels->measure_scaled(view, x, n, index, &state);
  return Status();
}

void MoveExamples(LossMeter& meter, const std::function<std::uint64_t(std::uint64_t)>& place_of) {
  LossState& state = MeterAccess::StateOf(meter);
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    if (state.counts[kind] != 0) state.first[kind].index = place_of(state.first[kind].index);
  }
  if (state.compared != 0) state.max_abs_example.index = place_of(state.max_abs_example.index);
  if (state.compared_nonzero != 0) {
    state.max_rel_example.index = place_of(state.max_rel_example.index);
  }
}

Status MeasurePair(LossMeter& meter, const LossView& view, std::uint64_t n, std::uint64_t index,
                   Target target) {
  const Kernels* kernels = FindKernels(target);
  LossState& state = MeterAccess::StateOf(meter);
  const Status status = CheckMeasured(kernels, state, view, n, index);
  if (!status.ok() || n == 0) return status;
  const FpEnvironment environment;
  if (!state.params.is_pair) state.params = MakePairParams(*view.from, *view.to);
  state.Begin(index);
  for (std::uint64_t done = 0; done < n;) {
    const std::uint64_t at = index + done;
    const auto some =
        static_cast<std::size_t>(std::min<std::uint64_t>(n - done, kLossBlock - at % kLossBlock));
    LossView block = view;
    block.source_first += done;
    block.result_first += done;
    kernels->measure_pair(block, some, at, &state);
    done += some;
  }
  return Status();
}

}  // namespace tensorcast::core

namespace tensorcast {
inline namespace TENSORCAST_ABI {

LossMeter::LossMeter(DataType from, DataType to, const CastOptions& options)
    : state_(std::make_unique<core::LossState>(from, to, options)) {}
LossMeter::LossMeter(const LossMeter& other)
    : state_(std::make_unique<core::LossState>(*other.state_)) {}
LossMeter& LossMeter::operator=(const LossMeter& other) {
  if (this != &other) *state_ = *other.state_;
  return *this;
}
LossMeter::LossMeter(LossMeter&&) noexcept = default;
LossMeter& LossMeter::operator=(LossMeter&&) noexcept = default;
LossMeter::~LossMeter() = default;

Status LossMeter::Merge(const LossMeter& other) {
  if (state_->to != other.state_->to || !(state_->options == other.state_->options)) {
    return Status(StatusCode::kLossMismatch);
  }
  const core::FpEnvironment environment;
  state_->Merge(*other.state_);
  return Status();
}

LossReport LossMeter::Report() const {
  const core::FpEnvironment environment;
  return state_->Report();
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
