// Loss figures by mpfr; see loss.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "oracle/loss.h"

#include <bit>
#include <cmath>
#include <limits>

namespace oracle {
namespace {

enum LossKind {
  kNan,
  kNanLost,
  kToNan,
  kExact,
  kWrapped,
  kToInfinity,
  kToLimit,
  kToZero,
  kRounded,
  kToSubnormal,
  kZeroSignLost,
  kUndefined
};

// Holds any sum of doubles and any difference of two values exactly: 2^-1074 to 2^1024 and room
// for 2^60 addends.
constexpr mpfr_prec_t kExactBits = 2240;

void Set(mpfr_ptr to, const Value& value) {
  mpfr_set_ui_2exp(to, value.digits, value.exponent, MPFR_RNDN);
  if (value.negative) mpfr_neg(to, to, MPFR_RNDN);
}

// "Then pairs": neighbours, twice.
double Fold(const double (&sums)[8]) {
  const double a = sums[0] + sums[4];
  const double b = sums[1] + sums[5];
  const double c = sums[2] + sums[6];
  const double d = sums[3] + sums[7];
  return (a + b) + (c + d);
}

bool SameNumber(const Value& x, const Value& y) {
  if (x.is != y.is) return false;
  if (x.zero() && y.zero()) return true;
  if (x.negative != y.negative) return false;
  return x.is == Value::Is::kInfinite || Compare(x.digits, x.exponent, y.digits, y.exponent) == 0;
}

}  // namespace

LossOracle::LossOracle(const Row& from, const Row& to, const Options& options)
    : from_(from), to_(to), options_(options) {
  mpfr_inits2(kExactBits, x_, y_, total_squares_, total_errors_, static_cast<mpfr_ptr>(nullptr));
  mpfr_set_zero(total_squares_, 1);
  mpfr_set_zero(total_errors_, 1);
}

LossOracle::LossOracle(const Row& from, const Row& to) : LossOracle(from, to, Options()) {
  is_pair_ = true;
}

LossOracle::~LossOracle() {
  mpfr_clears(x_, y_, total_squares_, total_errors_, static_cast<mpfr_ptr>(nullptr));
}

bool LossOracle::BeyondRange(const Value& x) const {
  if (to_.kind != Kind::kPowerOfTwo) {
    return !RoundFinite(to_, from_.floating(), x, options_.round_mode).inside;
  }
  if (x.negative || x.digits == 0) return true;
  int power = x.exponent + std::bit_width(x.digits) - 1;
  const bool exact = std::has_single_bit(x.digits);
  const bool upper_half = Compare(x.digits, x.exponent, 3, power - 1) >= 0;
  if (options_.round_mode == RoundingMode::kUp
          ? !exact
          : options_.round_mode == RoundingMode::kNearest && upper_half) {
    ++power;
  }
  return power < -127 || power > 127;
}

// Whether x, which is finite, is beyond the range, and y the end of it on that side: what a
// saturating cast gives, or where that is Inf the code before it.
bool LossOracle::BecameEnd(const Value& x, const Value& y) const {
  if (to_.integer() ? Fits(to_, x.negative, ToWhole(to_, x)) : !to_.floating() || !BeyondRange(x)) {
    return false;
  }
  Options saturating;
  saturating.integer_saturate = true;
  std::uint64_t end = Outside(from_, to_, x, saturating);
  if (Decode(to_, end).is == Value::Is::kInfinite) --end;
  return SameNumber(y, Decode(to_, end));
}

int LossOracle::KindOf(const Value& x, const Value& y) const {
  using Is = Value::Is;
  if (x.is == Is::kNan) return y.is == Is::kNan ? kNan : kNanLost;
  if (y.is == Is::kNan) return kToNan;
  if (SameNumber(x, y)) return kExact;
  if (is_pair_) {
    if (y.is == Is::kInfinite) return kToInfinity;
    const bool has_ends = to_.integer() || to_.floating();
    if (x.is == Is::kInfinite ? has_ends : BecameEnd(x, y)) return kToLimit;
    return y.zero() ? kToZero : kRounded;
  }
  if (to_.integer()) {
    if (x.is == Is::kInfinite) return options_.integer_saturate ? kToLimit : kToZero;
    if (!Fits(to_, x.negative, ToWhole(to_, x))) {
      return from_.floating() && options_.integer_saturate ? kToLimit : kWrapped;
    }
  } else if (to_.floating()) {
    if (y.is == Is::kInfinite) return kToInfinity;
    if (x.is == Is::kInfinite || BeyondRange(x)) return kToLimit;
  }
  return y.zero() ? kToZero : kRounded;
}

bool LossOracle::Undefined(const Value& x) const {
  if (from_.floating() && to_.integer()) {
    return x.is != Value::Is::kFinite || !Fits(to_, x.negative, ToWhole(to_, x));
  }
  if (to_.finite_only()) return x.is == Value::Is::kNan;
  if (to_.kind == Kind::kPowerOfTwo) {
    return x.is != Value::Is::kNan && (x.negative || x.zero());
  }
  return false;
}

void LossOracle::Count(int kind, std::uint64_t source_code, std::uint64_t result_code) {
  if (figures_.counts[static_cast<std::size_t>(kind)]++ == 0) {
    figures_.first[static_cast<std::size_t>(kind)] = {figures_.elements, source_code, result_code};
  }
}

void LossOracle::AddErrors(const Value& x, const Value& y, std::uint64_t source_code,
                           std::uint64_t result_code) {
  Set(x_, x);
  const double source = mpfr_get_d(x_, MPFR_RNDN);
  Set(y_, y);
  mpfr_sub(y_, x_, y_, MPFR_RNDN);
  const double error = std::fabs(mpfr_get_d(y_, MPFR_RNDN));
  const Example example = {figures_.elements, source_code, result_code};

  if (figures_.compared++ == 0 || error > figures_.max_abs_error) {
    figures_.max_abs_error = error;
    figures_.max_abs = example;
  }
  if (!x.zero()) {
    const double relative = error / std::fabs(source);
    if (figures_.compared_nonzero++ == 0 || relative > figures_.max_rel_error) {
      figures_.max_rel_error = relative;
      figures_.max_rel = example;
    }
  }
  squares_[figures_.elements % 8] += source * source;
  squared_errors_[figures_.elements % 8] += error * error;
}

void LossOracle::EndBlock() {
  mpfr_add_d(total_squares_, total_squares_, Fold(squares_), MPFR_RNDN);
  mpfr_add_d(total_errors_, total_errors_, Fold(squared_errors_), MPFR_RNDN);
  for (double& sum : squares_) sum = 0;
  for (double& sum : squared_errors_) sum = 0;
}

void LossOracle::Add(std::uint64_t source_code, std::uint64_t result_code) {
  const Value x = Decode(from_, source_code);
  const Value y = Decode(to_, result_code);
  Count(KindOf(x, y), source_code, result_code);
  if (to_.kind == Kind::kFloating && y.is == Value::Is::kFinite && y.digits != 0 &&
      y.digits < 1ull << (to_.precision - 1)) {
    Count(kToSubnormal, source_code, result_code);
  }
  if (x.zero() && x.negative && to_.floating() && y.zero() && !y.negative) {
    Count(kZeroSignLost, source_code, result_code);
  }
  if (!is_pair_ && Undefined(x)) Count(kUndefined, source_code, result_code);

  if (x.is == Value::Is::kFinite) {
    Set(x_, x);
    const double magnitude = std::fabs(mpfr_get_d(x_, MPFR_RNDN));
    ++figures_.finite;
    if (magnitude > figures_.amax) figures_.amax = magnitude;
    if (!x.zero() && (figures_.smallest_nonzero == 0 || magnitude < figures_.smallest_nonzero)) {
      figures_.smallest_nonzero = magnitude;
    }
    if (y.is == Value::Is::kFinite) AddErrors(x, y, source_code, result_code);
  }
  if (++figures_.elements % 1024 == 0) EndBlock();
}

LossFigures LossOracle::Figures() {
  mpfr_t squares, errors;
  mpfr_inits2(kExactBits, squares, errors, static_cast<mpfr_ptr>(nullptr));
  mpfr_add_d(squares, total_squares_, Fold(squares_), MPFR_RNDN);
  mpfr_add_d(errors, total_errors_, Fold(squared_errors_), MPFR_RNDN);
  LossFigures figures = figures_;
  figures.sum_squares = mpfr_get_d(squares, MPFR_RNDN);
  figures.sum_squared_error = mpfr_get_d(errors, MPFR_RNDN);
  mpfr_clears(squares, errors, static_cast<mpfr_ptr>(nullptr));
  if (figures.compared != 0) {
    figures.rmse = std::sqrt(figures.sum_squared_error / static_cast<double>(figures.compared));
  }
  figures.snr_db = figures.sum_squared_error == 0
                       ? std::numeric_limits<double>::infinity()
                       : 10 * std::log10(figures.sum_squares / figures.sum_squared_error);
  return figures;
}

}  // namespace oracle
