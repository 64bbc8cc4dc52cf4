// What casts of one 16-bit float tensor to several types lose, without casting it: its codes are
// counted once for all of them, and what each type makes of a code is worked out once for all
// tensors.
//
// Blocks are counted whose sums hold all their digits, so that neither the order of their eight nor
// rounding says anything (loss.h), and whose elements are in the range of every type; nearly all
// blocks of weights are such. The others are left to runs with meters.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_COUNTED_LOSS_H_
#define TENSORCAST_SRC_CORE_COUNTED_LOSS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/element_loss.h"
#include "core/kernels.h"
#include "core/loss.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

class CountedLoss {
 public:
  // Whether a pair's loss can be counted.
  static bool Serves(DataType from, DataType to);
  // Whether counting is faster than measuring casts to types that it serves.
  static bool Pays(std::span<const DataType> to, Target target);

  // Of types that are served. Throws std::bad_alloc, as all here.
  CountedLoss(DataType from, std::span<const DataType> to, const CastOptions& options,
              Target target);

  bool IsOf(DataType from, std::span<const DataType> to) const;

  // Counts blocks of kLossBlock elements, which are the tensor's from `index` on, a multiple of
  // that; calls rest(first, n) for runs of blocks that are not counted, by their places among
  // these. Of one tensor in the order of their indices.
  void Add(const std::byte* codes, std::uint64_t blocks, std::uint64_t index,
           const std::function<void(std::uint64_t first, std::uint64_t n)>& rest);
  // Adds what was counted to meters, one for each type, and forgets the tensor.
  void MoveTo(std::span<LossMeter* const> meters);

 private:
  static constexpr std::size_t kCodes = std::size_t{1} << 16;
  // Blocks whose codes are looked at for news together.
  static constexpr std::uint64_t kSlice = 512;
  // With squares of at most 11 digits a count times a square is a double.
  static constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 31;

  // A destination.
  struct Cast {
    const TypeInfo* to;
    LossParams params;
    std::vector<ElementLoss> losses;  // in the order of known_
    LossState state;                  // of the tensor
    unsigned kinds = 0;               // that have an example, a bit each
  };

  bool IsExact(const HalfRange& range) const;
  void Count(const std::byte* codes, std::uint64_t blocks, std::uint64_t index,
             const std::function<void(std::uint64_t first, std::uint64_t n)>& rest);
  // Codes of magnitudes from `least` to `largest`, and zeros, that the tensor did not have before.
  void FindFresh(std::uint32_t least, std::uint32_t largest);
  void Learn(std::uint32_t code);
  bool HasNews(std::uint32_t code) const;
  void TakeNews(std::uint32_t code, std::uint64_t index);
  // Takes the news of fresh codes from their first elements.
  void FindExamples(const std::byte* codes, std::uint64_t index);
  // Adds the counts to the states.
  void Fold();

  const TypeInfo& from_;
  const CastOptions options_;
  HalfRange (*const range_of_)(DataType type, const std::byte* codes);
  double end_;  // magnitudes from here on may be beyond a type's range
  std::vector<Cast> casts_;
  std::vector<std::uint32_t> place_;  // of each code in `losses`, plus one; 0: none yet
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint8_t> is_seen_, is_wanted_;  // of each code: in the tensor; with news
  std::vector<std::uint32_t> seen_;                // in the order in which the tensor had them
  std::size_t fresh_ = 0;                          // of seen_: from here on
  std::vector<std::uint64_t> taken_;               // blocks of a slice that were counted
  std::uint64_t counted_ = 0;
};

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_COUNTED_LOSS_H_
