// What a group of values that becomes integers gets: a scale, a zero point or a bias.
// docs/scales_writing.md has the rules. To be called in the default floating-point environment
// (core/fp_environment.h).
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_GROUP_MAKER_H_
#define TENSORCAST_SRC_SCALE_GROUP_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "scale/error_lanes.h"
#include "scale/scale_rule.h"
#include "scale/searched_errors.h"
#include "scale/stretch.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

// What a group of values becomes: (q - zero) * scale, or q * scale + bias, q being unsigned.
struct GroupNumbersMade {
  double scale = 1, bias = 0;
  int zero = 0;
  float scale_of_codes = 1, bias_of_codes = 0;  // by which codes are made in MLX's own rule
};

struct GroupRule {
  int bits = 4;  // 4 or 8
  bool is_asymmetric = false;
  // MLX's: every group has a bias; asymmetric ones are made by its own rule, in float32.
  bool has_biases = false;
  ScaleRule rule = ScaleRule::kAmax;    // or a search
  DataType scale = DataType::kFloat16;  // of scales and biases: float16, bfloat16 or float32

  int codes() const { return 1 << bits; }
  int middle() const { return codes() / 2; }
  // Whether groups are made by MLX's own rule.
  bool is_fitted() const { return has_biases && is_asymmetric; }
  // Whether a value is a scale times an integer of eight bits with a sign, a *multiple*: the code
  // less that of 0.
  bool has_multiples() const { return !is_asymmetric || (bits == 4 && !has_biases); }
  // The code of 0 where codes are made by dividing.
  int ZeroCodeOf(const GroupNumbersMade& numbers) const {
    return has_biases ? middle() : numbers.zero;
  }
};

// Of the finite values of a group: the largest magnitude, and 0, where codes are symmetric; else
// the largest value, at least 0, and the least, at most 0.
struct GroupRange {
  double least = 0, most = 0;
};

class GroupMaker {
 public:
  // Of values of `source`. Throws core::Failure: kTargetUnavailable.
  GroupMaker(DataType source, const GroupRule& rule, Target target);

  // The range of n values as the rule asks for it.
  GroupRange RangeOf(const double* x, std::size_t n) const;
  // The numbers of groups by the plain rule, which is not MLX's own. Gives the first group that has
  // one that its type does not hold.
  std::optional<std::size_t> FindPlain(std::span<const GroupRange> ranges,
                                       std::span<GroupNumbersMade> numbers) const;
  // The numbers of n values by MLX's own rule; nothing where their type does not hold them.
  std::optional<GroupNumbersMade> FindFitted(const double* x, std::size_t n) const;
  // A group's numbers by either rule, or those with the scale near theirs that loses least;
  // `gained`, where given, is added to.
  GroupNumbersMade Search(const double* x, std::size_t n, const GroupNumbersMade& plain,
                          SearchedErrors* gained) const;

  // The codes of n values, each a byte; multiples where the rule has such.
  void CodesOf(const double* x, std::size_t n, const GroupNumbersMade& numbers,
               std::byte* codes) const;
  // The value of such a code.
  double ValueOf(std::byte code, const GroupNumbersMade& numbers) const {
    if (rule_.has_multiples()) return static_cast<std::int8_t>(code) * numbers.scale;
    const int unsigned_code = std::to_integer<int>(code);
    return (unsigned_code - numbers.zero) * numbers.scale + numbers.bias;
  }

  // Scales or biases in the type that they are stored in.
  void Store(std::span<const double> numbers, std::span<std::byte> stored) const {
    Require(store_.Run(std::as_bytes(numbers), 0, stored, 0, numbers.size()));
  }

 private:
  // A group's scale before it is rounded to its type.
  double ExactScaleOf(const GroupRange& range) const;
  // Makes numbers those that are stored.
  void RoundToStored(std::span<double> numbers) const;
  // Gives a group its zero point, or its bias of its scale; false where the type does not hold it.
  bool SetZero(const GroupRange& range, GroupNumbersMade& made) const;
  bool SetMiddleBias(GroupNumbersMade& made) const;
  // A group's numbers with another scale, as it is stored; nothing where a type does not hold it.
  std::optional<GroupNumbersMade> WithScale(const GroupNumbersMade& plain, double scale) const;
  // The sum of squared errors of a group's values; `finite`: 0 where they are not, and for some
  // beyond the last.
  double ErrorOf(const double* x, const double* finite, std::size_t n,
                 const GroupNumbersMade& numbers) const;
  void AddErrors(const double* x, std::size_t n, const GroupNumbersMade& numbers,
                 double* sums) const;
  void FittedCodesOf(const double* x, std::size_t n, const GroupNumbersMade& numbers,
                     std::byte* codes) const;

  GroupRule rule_;
  bool has_many_bits_;          // values have more than 24
  double least_normal_, most_;  // of the scales' type
  CastPlan store_, load_;
  AddSquaredErrors add_;
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_GROUP_MAKER_H_
