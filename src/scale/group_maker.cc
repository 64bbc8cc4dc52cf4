// A quotient of two numbers of at most 24 bits is never so near a tie of integers that the double
// nearest to it is one, unless it is one itself; of float64 it may be, and is looked at again.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/group_maker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/loss.h"
#include "core/round_to_odd.h"
#include "scale/cell_codes.h"
#include "scale/scale_search.h"
#include "scale/stretch.h"

namespace tensorcast::scale {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double Nearest(double x) { return (x + kToInteger) - kToInteger; }

// a / b of positive numbers rounded to odd; what is out of its range is scaled by a power of two
// that it has again afterwards, as far as a double does.
double Quotient(double a, double b) {
  if (a > 0x1p-800 && a < 0x1p800) return core::DivideToOdd(a, b);
  const double unit = a < 1 ? 0x1p300 : 0x1p-300;
  return core::DivideToOdd(a * unit, b) / unit;
}

// a - b of which b <= 0 <= a, rounded to odd: what is lost of the sum of two (Knuth).
double Difference(double a, double b) {
  const double sum = a - b;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (-b - part);
  return core::ToOdd(sum, error);
}

// The least and the largest of the finite values, at most 0 and at least 0.
GroupRange EndsOf(const double* x, std::size_t n) {
  constexpr std::size_t kParts = 4;
  std::array<double, kParts> low{}, high{};
  const auto take = [&](std::size_t part, double value) {
    const double finite = std::fabs(value) < kInfinite ? value : 0;
    low[part] = finite < low[part] ? finite : low[part];
    high[part] = finite > high[part] ? finite : high[part];
  };
  std::size_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (std::size_t part = 0; part < kParts; ++part) take(part, x[i + part]);
  }
  for (; i < n; ++i) take(0, x[i]);
  return {*std::ranges::min_element(low), *std::ranges::max_element(high)};
}

// What lanes take at once.
std::size_t RoundUpToSums(std::size_t n) {
  return (n + core::kLossSums - 1) / core::kLossSums * core::kLossSums;
}

// Whether x / scale is on a tie as a double, and above it or below it as a number: then what is to
// be added to the nearest integer of the double.
double TieError(double x, double scale, double quotient) {
  const double nearest = Nearest(quotient);
  if (std::fabs(quotient - nearest) != 0.5) return 0;
  const double product = quotient * scale;
  const double rest = (x - product) - core::ProductError(quotient, scale, product);
  if (rest == 0) return 0;
  const bool is_above = (rest > 0) == (scale > 0);
  return is_above && nearest < quotient ? 1 : !is_above && nearest > quotient ? -1 : 0;
}

std::byte ByteOf(double integer) {
  return static_cast<std::byte>(static_cast<int>(integer) & 0xFF);
}

}  // namespace

GroupMaker::GroupMaker(DataType source, const GroupRule& rule, Target target)
    : rule_(rule),
      has_many_bits_(source == DataType::kFloat64),
      least_normal_(detail::LimitsOf(*FindType(rule.scale)).least_normal),
      most_(detail::LimitsOf(*FindType(rule.scale)).greatest),
      add_(SquaredErrorsOf(target)) {
  CastOptions nearest;
  nearest.saturate = false;
  Require(CastPlan::Bind(DataType::kFloat64, rule.scale, nearest, &store_, target));
  Require(CastPlan::Bind(rule.scale, DataType::kFloat64, {}, &load_, target));
}

void GroupMaker::RoundToStored(std::span<double> numbers) const {
  constexpr std::size_t kAtOnce = 256;
  std::array<std::byte, kAtOnce * sizeof(double)> bytes;
  for (std::size_t i = 0; i < numbers.size(); i += kAtOnce) {
    const auto some = numbers.subspan(i, std::min(kAtOnce, numbers.size() - i));
    Store(some, bytes);
    Require(load_.Run(bytes, 0, std::as_writable_bytes(some), 0, some.size()));
  }
}

GroupRange GroupMaker::RangeOf(const double* x, std::size_t n) const {
  if (rule_.is_asymmetric) return EndsOf(x, n);
  return {0, LargestFinite(x, n, 0)};
}

// 0: all values are zero.
double GroupMaker::ExactScaleOf(const GroupRange& range) const {
  if (range.least == range.most) return 0;
  if (!rule_.is_asymmetric) {
    const double last = rule_.bits <= 4 ? rule_.middle() - 0.5 : rule_.middle() - 1;
    return Quotient(range.most, last);
  }
  // Halves: the difference of two large doubles may be none.
  const bool is_large = std::max(range.most, -range.least) > 0x1p1000;
  const double unit = is_large ? 0.5 : 1;
  return Quotient(Difference(range.most * unit, range.least * unit), rule_.codes() - 1) / unit;
}

std::optional<std::size_t> GroupMaker::FindPlain(std::span<const GroupRange> ranges,
                                                 std::span<GroupNumbersMade> numbers) const {
  std::vector<double> scales(ranges.size());
  std::ranges::transform(ranges, scales.begin(),
                         [this](const GroupRange& range) { return ExactScaleOf(range); });
  RoundToStored(scales);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    GroupNumbersMade& made = numbers[i];
    made = {};
    if (!std::isfinite(scales[i])) return i;
    // A scale is a normal number.
    if (ranges[i].least != ranges[i].most) made.scale = std::max(scales[i], least_normal_);
    if (!SetZero(ranges[i], made)) return i;
  }
  return std::nullopt;
}

bool GroupMaker::SetZero(const GroupRange& range, GroupNumbersMade& made) const {
  if (rule_.has_biases) return SetMiddleBias(made);
  if (!rule_.is_asymmetric) {
    made.zero = rule_.middle();
  } else if (range.least != range.most) {
    const double quotient = -range.least / made.scale;
    const double zero = Nearest(quotient) + TieError(-range.least, made.scale, quotient);
    made.zero = static_cast<int>(std::clamp<double>(zero, 0, rule_.codes() - 1));
  }
  return true;
}

// Symmetric codes have one that is 0: the bias is that of the middle, a power of two times the
// scale.
bool GroupMaker::SetMiddleBias(GroupNumbersMade& made) const {
  made.bias = -rule_.middle() * made.scale;
  return std::fabs(made.bias) <= most_;
}

// In its own steps and in float32; what is not finite has no part in it.
std::optional<GroupNumbersMade> GroupMaker::FindFitted(const double* x, std::size_t n) const {
  constexpr float kLeastScale = 1e-7f;
  float least = std::numeric_limits<float>::infinity(), most = -least;
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<float>(x[i]);
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (least > most) least = most = 0;
  GroupNumbersMade made;
  float scale = std::max((most - least) / static_cast<float>(rule_.codes() - 1), kLeastScale);
  const bool is_below = std::fabs(least) > std::fabs(most);
  if (!is_below) scale = -scale;
  const float edge = is_below ? least : most;
  const float steps = std::nearbyint(edge / scale);
  float bias = 0;
  if (steps != 0) {
    scale = edge / steps;
    bias = edge;
  }
  made.scale_of_codes = scale;
  made.bias_of_codes = bias;
  std::array<double, 2> stored = {scale, bias};
  RoundToStored(stored);
  if (!std::isfinite(stored[0]) || !std::isfinite(stored[1])) return std::nullopt;
  made.scale = stored[0];
  made.bias = stored[1];
  return made;
}

// A plain scale is always tried; MLX's may be subnormal, and its codes are made before it is
// rounded. Symmetric codes reach further down than up, and under a negative scale the other way
// round.
GroupNumbersMade GroupMaker::Search(const double* x, std::size_t n, const GroupNumbersMade& plain,
                                    SearchedErrors* gained) const {
  if (LargestFinite(x, n, 0) == 0) return plain;
  std::vector<double> finite(RoundUpToSums(n));
  std::transform(x, x + n, finite.begin(), [](double one) { return std::isfinite(one) ? one : 0; });
  double least = kInfinite, of_plain = kInfinite;
  GroupNumbersMade best = plain;
  const auto consider = [&](const GroupNumbersMade& tried) {
    const double error = ErrorOf(x, finite.data(), n, tried);
    if (error < least) {
      least = error;
      best = tried;
    }
    return error;
  };
  // Four bits gain by the sign, and eight by smaller steps.
  const bool is_fine = rule_.rule == ScaleRule::kMseFine, has_few_codes = rule_.bits <= 4;
  const bool is_signed = is_fine && has_few_codes && !rule_.is_asymmetric;
  const std::span<const double> factors =
      TriedFactors(has_few_codes ? ScaleRule::kMse : rule_.rule, true);
  std::vector<double> scales(factors.size());
  std::ranges::transform(factors, scales.begin(),
                         [&](double factor) { return plain.scale * factor; });
  RoundToStored(scales);
  double before = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] == 1) {
      of_plain = consider(plain);
    } else {
      if (scales[i] == before) continue;
      before = scales[i];
      if (scales[i] == plain.scale) continue;
      if (const auto tried = WithScale(plain, scales[i])) consider(*tried);
    }
    if (!is_signed) continue;
    if (const auto tried = WithScale(plain, -scales[i])) consider(*tried);
  }
  if (gained != nullptr) gained->Add(of_plain, least);
  return best;
}

std::optional<GroupNumbersMade> GroupMaker::WithScale(const GroupNumbersMade& plain,
                                                      double scale) const {
  if (!std::isfinite(scale) || std::fabs(scale) < least_normal_) return std::nullopt;
  GroupNumbersMade made = plain;
  made.scale = scale;
  if (rule_.has_biases && !rule_.is_asymmetric && !SetMiddleBias(made)) return std::nullopt;
  made.scale_of_codes = static_cast<float>(made.scale);
  made.bias_of_codes = static_cast<float>(made.bias);
  return made;
}

// As a search of other formats adds them up (scale_search.h). A float64's code may be another than
// its quotient's, and MLX's own are made in float32.
double GroupMaker::ErrorOf(const double* x, const double* finite, std::size_t n,
                           const GroupNumbersMade& numbers) const {
  const bool is_in_lanes = !has_many_bits_ && !rule_.is_fitted();
  ErrorStep step;
  step.divisor = step.factor = numbers.scale;
  step.is_integer = true;
  const int zero = rule_.ZeroCodeOf(numbers);
  step.least = -zero;
  step.most = rule_.codes() - 1 - zero;
  core::SumOfMagnitudes all;
  for (std::size_t done = 0; done < n; done += kBlock) {
    const auto some = std::min<std::size_t>(kBlock, n - done);
    double sums[core::kLossSums] = {};
    if (is_in_lanes) {
      add_(finite + done, finite + done, RoundUpToSums(some), step, sums);
    } else {
      AddErrors(x + done, some, numbers, sums);
    }
    const double sum = core::FoldSums(sums);
    if (n <= kBlock) return sum;
    all.Add(sum);
  }
  return all.Nearest();
}

void GroupMaker::AddErrors(const double* x, std::size_t n, const GroupNumbersMade& numbers,
                           double* sums) const {
  std::byte codes[kBlock];
  CodesOf(x, n, numbers, codes);
  for (std::size_t i = 0; i < n; ++i) {
    const double error = x[i] - ValueOf(codes[i], numbers);
    sums[i % core::kLossSums] += std::isfinite(x[i]) ? error * error : 0;
  }
}

void GroupMaker::FittedCodesOf(const double* x, std::size_t n, const GroupNumbersMade& numbers,
                               std::byte* codes) const {
  const float scale = numbers.scale_of_codes, bias = numbers.bias_of_codes;
  const auto last = static_cast<float>(rule_.codes() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    const float value = x[i] == x[i] ? static_cast<float>(x[i]) : 0;
    codes[i] = ByteOf(std::clamp(std::nearbyint((value - bias) / scale), 0.0f, last));
  }
}

void GroupMaker::CodesOf(const double* x, std::size_t n, const GroupNumbersMade& numbers,
                         std::byte* codes) const {
  if (rule_.is_fitted()) return FittedCodesOf(x, n, numbers, codes);
  const double scale = numbers.scale;
  const int zero = rule_.ZeroCodeOf(numbers);
  const double least = -zero, most = rule_.codes() - 1 - zero;
  const double added = rule_.has_multiples() ? 0 : zero;
  for (std::size_t i = 0; i < n; ++i) {
    double multiple = Nearest(x[i] / scale);
    multiple = x[i] == x[i] ? multiple : 0;
    multiple = multiple > least ? multiple : least;
    multiple = multiple < most ? multiple : most;
    codes[i] = ByteOf(multiple + added);
  }
  if (!has_many_bits_) return;
  for (std::size_t i = 0; i < n; ++i) {
    const double quotient = x[i] / scale;
    if (!(std::fabs(quotient) < 1024)) continue;
    const double error = TieError(x[i], scale, quotient);
    if (error == 0) continue;
    codes[i] = ByteOf(std::clamp(Nearest(quotient) + error, least, most) + added);
  }
}

}  // namespace tensorcast::scale
