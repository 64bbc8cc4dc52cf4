// The parts of a target's Kernels table, each filled by the file of its name. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_STAGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_STAGES_INL_H_
#undef TENSORCAST_SRC_CORE_STAGES_INL_H_
#else
#define TENSORCAST_SRC_CORE_STAGES_INL_H_
#endif

#include <cstddef>
#include <utility>

#include "core/kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

void FillDecodeStages(Kernels* kernels);
void FillEncodeStages(Kernels* kernels);
void FillDirectStages(Kernels* kernels);
void FillIntegerStages(Kernels* kernels);
void FillPackingStages(Kernels* kernels);
void FillTableStages(Kernels* kernels);
void FillBfloat16Stages(Kernels* kernels);  // after the direct ones

// Calls fill(std::integral_constant<std::size_t, row>) for every row of the type table.
template <class Fill> void ForEachRow(const Fill& fill) {
  [&]<std::size_t... kRow>(std::index_sequence<kRow...>) {
    (fill(std::integral_constant<std::size_t, kRow>()), ...);
  }
  (std::make_index_sequence<kRows>());
}

// Calls fill with the rows of every pair whose types have a fixed width.
template <class Fill> void ForEachPair(const Fill& fill) {
  ForEachRow([&fill](auto from) {
    ForEachRow([&fill, from](auto to) {
      if constexpr (detail::kTypeTable[decltype(from)::value].bits != 0 &&
                    detail::kTypeTable[decltype(to)::value].bits != 0) {
        fill(from, to);
      }
    });
  });
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_STAGES_INL_H_
