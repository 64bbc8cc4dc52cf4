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
#include <vector>

#include "core/loss.h"
#include "scale/cell_lanes.h"
#include "scale/code_lines.h"
#include "scale/group_maker.h"
#include "scale/scaled_tensor.h"
#include "scale/searched_errors.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

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
  // A row's values, and the buffers they are in: as lanes read them, float32s or bfloat16s, and as
  // doubles, which are made where something asks for them.
  struct SourceRow {
    std::span<const std::byte> source;
    std::uint64_t first;  // of the source's elements
    const std::byte* elements = nullptr;
    std::vector<float> floats = {};
    std::vector<double> values = {};
    bool has_values = false;
  };
  // What Encode makes of one row after the other, for Measure.
  struct MadeRows {
    std::vector<GroupNumbersMade> numbers;
    std::vector<std::byte> codes;  // as GroupMaker gives them; unmeasured, of the last row
  };
  // A block of the tensor's own among them, from an element of theirs on.
  struct MadeBlock {
    std::uint64_t first;
    std::size_t n;
    const std::byte* codes;
  };

  std::span<const double> ValuesOf(SourceRow& row) const;
  void FindElements(SourceRow& row) const;
  // Calls visit(group, begin, count) for each.
  template <class Visit> void ForEachGroup(const Visit& visit) const;
  void FindRanges(SourceRow& row, std::span<GroupRange> ranges) const;
  void FindRangesInLanes(const SourceRow& row, std::span<GroupRange> ranges) const;
  // Gives the first group of the row that has a number that its type does not hold.
  std::optional<std::uint64_t> FindNumbers(SourceRow& row, std::span<GroupRange> ranges,
                                           std::span<GroupNumbersMade> numbers,
                                           SearchedErrors* gained) const;
  void MakeCodes(SourceRow& row, std::span<const GroupNumbersMade> numbers, std::byte* codes) const;
  bool DivideInLanes(const SourceRow& row, std::span<const GroupNumbersMade> numbers,
                     std::byte* codes) const;
  // Keeps codes within their range, and packs them into a line, whose bits are zero.
  void ClampAndPack(std::span<const GroupNumbersMade> numbers, std::byte* codes,
                    std::byte* line) const;
  void Store(const std::vector<GroupNumbersMade>& made, double GroupNumbersMade::*number,
             std::vector<std::byte>& to) const;
  void Measure(std::span<const std::byte> x, std::uint64_t x_first, std::uint64_t first,
               const MadeRows& made, LossMeter* loss) const;
  // What of a group's values is beyond its codes; and what makes its values of multiples.
  core::ScaledResults::Cell CellOf(const GroupNumbersMade& numbers, std::size_t end) const;
  // The values of a block's codes, and the codes as a tensor of integers has them.
  void FindResults(const Partition& partition, const MadeBlock& block,
                   const std::vector<GroupNumbersMade>& numbers, double* results,
                   std::span<std::byte> stored) const;

  DataType source_;
  GroupRule rule_;
  std::uint64_t columns_, group_, groups_;
  // As lanes read the source: bfloat16, or float32, which others become.
  bool is_bfloat16_;
  std::size_t element_bytes_;
  Target target_;
  GroupMaker maker_;
  CastPlan value_of_source_, float_of_source_;
  const CellLanes* lanes_ = nullptr;  // null: rows are done in double
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_GROUP_QUANTISER_H_
