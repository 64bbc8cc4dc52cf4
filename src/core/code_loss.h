// Loss of sources of at most eight bits, worked out once for each code: what is measured of a
// tensor then is how often it has which codes. A table is made at the first run that wants it and
// is shared from then on by all runs of its types and options.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_CODE_LOSS_H_
#define TENSORCAST_SRC_CORE_CODE_LOSS_H_

#include <cstddef>
#include <cstdint>

#include "core/element_loss.h"
#include "core/loss.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

// A block's sums of terms of so many bits, in one unit, hold all their digits, whatever the order.
inline constexpr int kTermBits = 53 - 10;
static_assert(kLossBlock == 1 << 10);

// Elements whose codes are counted together, at most: their totals are numbers of 64 bits.
inline constexpr std::size_t kCodeStretch = 16 * kLossBlock;

// A byte for each code. Types of fewer than eight bits repeat.
struct CodeBytes {
  alignas(64) std::uint8_t of_code[256] = {};
  bool is_signless = false;  // those of a code and of its opposite, one bit apart, are the same
};

// The squares of all codes, of sources or of errors, as whole numbers of one unit.
struct CodeTerms {
  int unit = 0;  // its exponent
  std::uint64_t of_code[256] = {};
  std::size_t planes = 0;  // bytes of the largest
  CodeBytes plane[(kTermBits + 7) / 8];
};

struct CodeLoss {
  // Codes that count alike.
  struct Group {
    std::uint16_t kinds = 0;
    bool finite = false;
    bool compared = false;
    bool compared_nonzero = false;
    bool operator==(const Group&) const = default;
  };
  static constexpr std::size_t kMostGroups = 16;

  bool is_usable = false;  // sums hold all their digits
  std::size_t group_count = 0;
  Group groups[kMostGroups];
  CodeBytes group_of;
  CodeTerms squares, errors;
  ElementLoss elements[256];
};

// What lanes find in elements that have no news.
struct CodeTotals {
  std::uint64_t of_group[CodeLoss::kMostGroups] = {};
  std::uint64_t squares = 0;
  std::uint64_t errors = 0;
};

// The table of a pair, or null where the source has more bits, sums may need their order, or memory
// is short. In the default floating-point environment. Safe to call from several threads.
const CodeLoss* FindCodeLoss(const TypeInfo& from, const TypeInfo& to,
                             const CastOptions& options) noexcept;

// Whether elements of each code, from `index` on, have an example or change a maximum or a minimum.
void FindNews(const CodeLoss& table, std::uint64_t index, const LossState& loss,
              std::uint8_t* news);
// Adds n elements, whole blocks and at most kCodeStretch, which are the tensor's from `index` on
// and have no news.
void AddTotals(const CodeLoss& table, const CodeTotals& totals, std::size_t n, std::uint64_t index,
               LossState* loss);
// Adds the elements of a view, which may have news: so many of each code. `codes` are those of the
// sources.
void AddCounts(const CodeLoss& table, const std::uint32_t* counts, const std::uint8_t* codes,
               std::size_t n, const LossView& view, std::uint64_t index, LossState* loss);

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_CODE_LOSS_H_
