// Why a quotient rounded to nearest serves is told in cell_codes.cc.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scale_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "core/loss.h"
#include "core/round_to_odd.h"
#include "scale/cell_lanes.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

constexpr std::size_t kSums = core::kLossSums;

// The value that a float's code has, of a magnitude: signs have no part in an error, a code has its
// value's.
double MadeOf(double numerator, const ErrorStep& step) {
  const double size = std::min(numerator / step.divisor, step.most);
  const auto power =
      std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) & 0x7FF0000000000000u);
  const double one = std::max(power, step.least_normal) * step.unit;
  const double made = ((size + one) - one) * step.factor;
  return step.value_divisor != 1 ? made / step.value_divisor : made;
}

// Without lanes.
void AddErrors(const double* x, const double* numerators, std::size_t n, const ErrorStep& step,
               double* sums) {
  for (std::size_t i = 0; i < n; ++i) {
    double error = 0;
    if (step.is_integer) {
      const double size = std::max(std::min(numerators[i] / step.divisor, step.most), step.least);
      error = x[i] - ((size + kToInteger) - kToInteger) * step.factor;
    } else {
      error = std::fabs(x[i]) - MadeOf(std::fabs(numerators[i]), step);
    }
    sums[i % kSums] += error * error;
  }
}

// From last / unit down to first / unit.
template <int kFirst, int kLast, int kUnit> consteval auto Steps() {
  std::array<double, kLast - kFirst + 1> steps;
  for (int k = kLast; k >= kFirst; --k) {
    steps[static_cast<std::size_t>(kLast - k)] = static_cast<double>(k) / kUnit;
  }
  return steps;
}

template <std::size_t kA, std::size_t kB>
consteval auto Joined(const std::array<double, kA>& a, const std::array<double, kB>& b) {
  std::array<double, kA + kB> all;
  std::ranges::copy(b, std::ranges::copy(a, all.begin()).out);
  return all;
}

constexpr auto kOfFloats = Steps<32, 128, 64>();
constexpr auto kOfIntegers = Steps<40, 72, 64>();
// Eight bits tell steps of 1/64 apart near the plain scale.
constexpr auto kOfIntegersFine = Joined(Steps<448, 576, 512>(), Steps<40, 55, 64>());

double Stored(DataType type, double value) {
  return ValueOf(type, CastBits(DataType::kFloat64, type, std::bit_cast<std::uint64_t>(value)));
}

}  // namespace

double TriedScales::Best(SearchedErrors* gained) const {
  if (scales.empty()) {
    if (gained != nullptr) gained->Add(apart_error, apart_error);
    return plain;
  }
  std::size_t best = 0;
  double least = errors.front().Nearest();
  for (std::size_t i = 1; i < scales.size(); ++i) {
    const double error = errors[i].Nearest();
    if (error < least) {
      least = error;
      best = i;
    }
  }
  if (gained != nullptr) {
    const auto place = std::ranges::find(scales, plain) - scales.begin();
    gained->Add(apart ? apart_error : errors[static_cast<std::size_t>(place)], errors[best]);
  }
  return scales[best];
}

void TriedScales::Merge(const TriedScales& other) {
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i].Add(other.errors[i]);
  apart_error.Add(other.apart_error);
}

std::span<const double> TriedFactors(ScaleRule rule, bool is_integer) {
  if (!is_integer) return kOfFloats;
  return rule == ScaleRule::kMseFine ? std::span<const double>(kOfIntegersFine) : kOfIntegers;
}

AddSquaredErrors SquaredErrorsOf(Target target) {
  const CellLanes* const lanes = FindCellLanes(target);
  return lanes != nullptr ? lanes->add_squared_errors : AddErrors;
}

double LargestScale(const Scaling& scaling, ScaleRule rule) {
  return rule == ScaleRule::kFourOverSix ? 256 : LimitsOf(scaling.scale).greatest;
}

ScaleSearch::ScaleSearch(const Scaling& scaling, ScaleRule rule, bool has_many_bits, Target target)
    : scaling_(scaling), rule_(rule), has_many_bits_(has_many_bits), add_(SquaredErrorsOf(target)) {
  const TypeInfo& element = *FindType(scaling_.element);
  const TypeLimits limits = LimitsOf(scaling_.element);
  step_.is_integer = element.is_integer();
  step_.most = LargestCode(scaling_.element);
  step_.least = -step_.most;
  step_.least_normal = limits.least_normal;
  step_.unit = std::ldexp(1.0, 52 - element.mantissa_bits);
  const TypeLimits of_scales = LimitsOf(scaling_.scale);
  least_scale_ =
      scaling_.scale == DataType::kFloat8E8M0 ? of_scales.least_positive : of_scales.least_normal;
  most_scale_ = of_scales.greatest;
  if (scaling_.scale != DataType::kFloat8E4M3FN) return;
  constexpr int kMostCode = 0x7E;
  for (int code = kMostCode; code > 0; --code) {
    of_codes_.push_back(ValueOf(scaling_.scale, static_cast<std::uint64_t>(code)));
  }
}

template <class Visit>
void ScaleSearch::ForEachTried(double plain, double amax, double global, const Visit& visit) const {
  if (rule_ == ScaleRule::kFourOverSix) {
    // The largest value becomes 4 where the scale is half as large again.
    const bool is_ordinary = amax > 0x1p-800 && amax < 0x1p800;
    const double larger = is_ordinary ? core::MultiplyToOdd(amax, 1.5) : amax * 1.5;
    visit(plain);
    visit(CellScaleOf(scaling_, ScaleRule::kAmax, larger, global));
    return;
  }
  if (!of_codes_.empty()) {
    const auto first = std::ranges::lower_bound(of_codes_, plain * 2, std::ranges::greater());
    for (auto scale = first; scale != of_codes_.end() && *scale >= plain / 2; ++scale) {
      visit(*scale);
    }
    return;
  }
  if (scaling_.scale == DataType::kFloat8E8M0) {
    for (const double scale : {plain * 2, plain, plain / 2}) {
      if (scale >= least_scale_ && scale <= most_scale_) visit(scale);
    }
    return;
  }
  double before = 0;
  for (const double factor : TriedFactors(rule_, step_.is_integer)) {
    const double scale = Stored(scaling_.scale, plain * factor);
    if (scale < least_scale_ || scale > most_scale_ || scale == before) continue;
    visit(scale);
    before = scale;
  }
}

TriedScales ScaleSearch::Begin(double plain, double amax, const GlobalScales& globals,
                               bool is_gain_asked) const {
  TriedScales tried;
  ForEachTried(plain, amax, globals.made, [&](double scale) { tried.scales.push_back(scale); });
  tried.errors.resize(tried.scales.size());
  tried.plain = plain;
  tried.globals = globals;
  const bool is_tried =
      globals.plain == globals.made && std::ranges::find(tried.scales, plain) != tried.scales.end();
  if (is_gain_asked && !is_tried) tried.apart = PlainUnderItsOwn(plain, amax, globals);
  return tried;
}

double ScaleSearch::PlainUnderItsOwn(double plain, double amax, const GlobalScales& globals) const {
  return globals.plain == globals.made
             ? plain
             : CellScaleOf(scaling_, ScaleRule::kAmax, amax, globals.plain);
}

ErrorStep ScaleSearch::StepOf(double scale, double global) const {
  ErrorStep step = step_;
  step.divisor = step.factor = scaling_.global_use == Factor::kMultiplies ? scale * global : scale;
  if (scaling_.global_use == Factor::kDivides) step.value_divisor = global;
  return step;
}

double ScaleSearch::ErrorOf(const double* x, const double* numerators, std::size_t n,
                            const ErrorStep& step) const {
  double sums[kSums] = {};
  add_(x, numerators, n, step, sums);
  return core::FoldSums(sums);
}

std::size_t ScaleSearch::Prepare(std::span<const double> x, double global, double* values,
                                 double* numerators) const {
  const std::size_t n = (x.size() + kSums - 1) / kSums * kSums;
  for (std::size_t i = 0; i < x.size(); ++i) values[i] = std::isfinite(x[i]) ? x[i] : 0;
  std::fill(values + x.size(), values + n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    numerators[i] = values[i];
    if (scaling_.global_use != Factor::kDivides) continue;
    numerators[i] = values[i] * global;
    const double magnitude = std::fabs(values[i]);
    if (has_many_bits_ && magnitude > 0x1p-400 && magnitude < 0x1p400) {
      numerators[i] = core::MultiplyToOdd(values[i], global);
    }
  }
  return n;
}

double ScaleSearch::PlainErrorOf(std::span<const double> x, double plain, double global) const {
  alignas(64) double values[kBlock], numerators[kBlock];
  const std::size_t n = Prepare(x, global, values, numerators);
  ErrorStep step = StepOf(plain, global);
  // Under a scale of 0 everything is 0.
  if (step.divisor == 0) step.divisor = 1;
  return ErrorOf(values, numerators, n, step);
}

void ScaleSearch::Add(std::span<const double> x, TriedScales& tried) const {
  alignas(64) double values[kBlock], numerators[kBlock];
  for (std::size_t done = 0; done < x.size(); done += kBlock) {
    const auto some = std::min<std::size_t>(kBlock, x.size() - done);
    const double global = tried.globals.made;
    const std::size_t n = Prepare(x.subspan(done, some), global, values, numerators);
    for (std::size_t i = 0; i < tried.scales.size(); ++i) {
      tried.errors[i].Add(ErrorOf(values, numerators, n, StepOf(tried.scales[i], global)));
    }
    if (!tried.apart) continue;
    tried.apart_error.Add(PlainErrorOf(x.subspan(done, some), *tried.apart, tried.globals.plain));
  }
}

double ScaleSearch::Find(std::span<const double> x, double plain, double amax,
                         const GlobalScales& globals, SearchedErrors* gained) const {
  if (amax == 0) return plain;
  if (x.size() > kBlock) {
    TriedScales tried = Begin(plain, amax, globals, gained != nullptr);
    Add(x, tried);
    return tried.Best(gained);
  }
  const double global = globals.made;
  // One block: its sum is the error.
  alignas(64) double values[kBlock], numerators[kBlock];
  const std::size_t n = Prepare(x, global, values, numerators);
  double best = plain, least = std::numeric_limits<double>::infinity();
  std::optional<double> of_plain;
  ForEachTried(plain, amax, global, [&](double scale) {
    const double error = ErrorOf(values, numerators, n, StepOf(scale, global));
    if (scale == plain && globals.plain == global) of_plain = error;
    if (error < least) {
      least = error;
      best = scale;
    }
  });
  if (gained != nullptr) {
    if (!of_plain) {
      of_plain = PlainErrorOf(x, PlainUnderItsOwn(plain, amax, globals), globals.plain);
    }
    gained->Add(*of_plain, std::isinf(least) ? *of_plain : least);
  }
  return best;
}

}  // namespace tensorcast::scale
