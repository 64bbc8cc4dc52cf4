// The oracle of the loss report: docs/semantics.md section 7, element by element, with mpfr for
// every figure. Includes nothing of the library.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_ORACLE_LOSS_H_
#define TENSORCAST_TESTS_ORACLE_LOSS_H_

#include <mpfr.h>

#include <array>
#include <cstdint>

#include "oracle/cast.h"

namespace oracle {

// Section 7's names in its order; the first nine are the partition.
inline constexpr std::array<const char*, 12> kLossNames = {
    "nan",      "nan_lost", "to_nan",  "exact",        "wrapped",        "to_infinity",
    "to_limit", "to_zero",  "rounded", "to_subnormal", "zero_sign_lost", "undefined"};

struct Example {
  std::uint64_t index = 0;
  std::uint64_t source = 0;
  std::uint64_t result = 0;
};

struct LossFigures {
  std::uint64_t elements = 0;
  std::array<std::uint64_t, 12> counts = {};
  std::array<Example, 12> first = {};
  std::uint64_t compared = 0;
  double max_abs_error = 0;
  Example max_abs;
  std::uint64_t compared_nonzero = 0;
  double max_rel_error = 0;
  Example max_rel;
  double sum_squares = 0;
  double sum_squared_error = 0;
  double rmse = 0;
  double snr_db = 0;
  std::uint64_t finite = 0;
  double amax = 0;
  double smallest_nonzero = 0;
};

class LossOracle {
 public:
  LossOracle(const Row& from, const Row& to, const Options& options);
  // Of two tensors that no cast connects: what became a limit is one, nothing wraps and nothing is
  // undefined.
  static LossOracle OfPair(const Row& from, const Row& to) { return LossOracle(from, to); }
  ~LossOracle();
  LossOracle(const LossOracle&) = delete;
  LossOracle& operator=(const LossOracle&) = delete;

  // The elements of one tensor in order, from index 0 without a gap.
  void Add(std::uint64_t source_code, std::uint64_t result_code);
  // What holds of the elements so far.
  LossFigures Figures();

 private:
  LossOracle(const Row& from, const Row& to);

  int KindOf(const Value& x, const Value& y) const;
  bool BecameEnd(const Value& x, const Value& y) const;
  bool BeyondRange(const Value& x) const;
  bool Undefined(const Value& x) const;
  void Count(int kind, std::uint64_t source_code, std::uint64_t result_code);
  void AddErrors(const Value& x, const Value& y, std::uint64_t source_code,
                 std::uint64_t result_code);
  void EndBlock();

  const Row& from_;
  const Row& to_;
  Options options_;
  bool is_pair_ = false;
  LossFigures figures_;
  double squares_[8] = {};
  double squared_errors_[8] = {};
  mpfr_t x_, y_, total_squares_, total_errors_;
};

}  // namespace oracle

#endif  // TENSORCAST_TESTS_ORACLE_LOSS_H_
