// Weights made of integers in groups: a scale, a zero point or a bias of each, and the codes. Rows
// come whole. docs/scales_writing.md has the rules.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_GROUP_QUANTISER_H_
#define TENSORCAST_SRC_SCALE_GROUP_QUANTISER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scale/code_lines.h"
#include "scale/error_lanes.h"
#include "scale/scale_rule.h"
#include "scale/searched_errors.h"
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
  // Whether groups are made by MLX's own rule.
  bool is_fitted() const { return has_biases && is_asymmetric; }
};

// Rows that are made.
struct MadeGroups {
  CodeLines codes;
  std::vector<std::byte> scales, biases;  // [rows, groups], as they are stored
  CodeLines zeros;                        // a line of a code for each group

  // Puts rows of as many columns behind these, or in the place of none.
  void Append(const MadeGroups& more);
};

// Holds no buffers: any number of threads may run one at once.
class GroupQuantiser {
 public:
  // From a tensor of `source`, a floating type with a zero, of rows of `columns` in groups of
  // `group`. Throws core::Failure: kInvalidType, kTargetUnavailable.
  GroupQuantiser(DataType source, const GroupRule& rule, std::uint64_t columns, std::uint64_t group,
                 Target target = Target::kBest);

  // Makes `rows` rows, the first of which begins with element `first` of the tensor, the element
  // x_first of `x`. `loss`, where given, is a Meter(); further rows follow those before. Gives the
  // first group, counted from the first row's, whose scale or bias its type does not hold; the rest
  // is not done then. `gained`, where given, gets what a search gained. Throws core::Failure
  // (kBufferTooSmall; kLossMismatch, kLossPosition).
  std::optional<std::uint64_t> Encode(std::span<const std::byte> x, std::uint64_t x_first,
                                      std::uint64_t first, std::uint64_t rows, MadeGroups& made,
                                      LossMeter* loss = nullptr,
                                      SearchedErrors* gained = nullptr) const;

  // A meter of what Encode loses; an example's result is the stored code less its middle alone.
  LossMeter Meter() const;

  std::uint64_t groups() const { return groups_; }

 private:
  // The numbers of a group's n values; nothing where their type does not hold them.
  std::optional<GroupNumbersMade> NumbersOf(const double* x, std::size_t n,
                                            SearchedErrors* gained) const;
  // The same by the plain rule.
  std::optional<GroupNumbersMade> PlainNumbersOf(const double* x, std::size_t n) const;
  // Those with the scale near a group's plain one that loses least.
  GroupNumbersMade BestNumbersOf(const double* x, std::size_t n, const GroupNumbersMade& plain,
                                 SearchedErrors* gained) const;
  // Multiples of a scale as they are stored.
  std::vector<double> StoredScales(double scale, std::span<const double> factors) const;
  // A group's numbers with another scale, as it is stored; nothing where a type does not hold it.
  std::optional<GroupNumbersMade> WithScale(const GroupNumbersMade& plain, double scale) const;
  // The code of 0 where codes are made by dividing.
  int ZeroCodeOf(const GroupNumbersMade& numbers) const {
    return rule_.has_biases ? rule_.codes() / 2 : numbers.zero;
  }
  // Gives a group its bias of its scale; false where its type does not hold it.
  bool SetMiddleBias(GroupNumbersMade& made) const;
  // The sum of squared errors of a group's values; `finite`: 0 where they are not, and for some
  // beyond the last.
  double ErrorOf(const double* x, const double* finite, std::size_t n,
                 const GroupNumbersMade& numbers) const;
  void AddErrors(const double* x, std::size_t n, const GroupNumbersMade& numbers,
                 double* sums) const;
  std::optional<GroupNumbersMade> MlxNumbersOf(const double* x, std::size_t n) const;
  // A number as it is stored; a scale (`is_scale`) is a normal one.
  std::optional<double> Stored(double number, bool is_scale) const;
  void CodesOf(const double* x, std::size_t n, const GroupNumbersMade& numbers,
               std::uint8_t* codes) const;
  void Measure(std::span<const std::byte> x, std::uint64_t x_first, std::uint64_t first,
               std::uint64_t rows, const std::vector<std::uint8_t>& codes,
               const std::vector<GroupNumbersMade>& numbers, LossMeter* loss) const;

  DataType source_;
  GroupRule rule_;
  std::uint64_t columns_, group_, groups_;
  Target target_;
  CastPlan value_of_source_, store_, load_;
  AddSquaredErrors add_;
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_GROUP_QUANTISER_H_
