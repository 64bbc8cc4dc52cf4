// The integer kernels, instantiated by width and sign for every target.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/integer_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include "core/integer-inl.h"
#include "core/route.h"
#include "core/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

// What of a row the kernel of a pair depends on; equal shapes share one instantiation. The source's
// sign matters only where it widens, the destination's never.
constexpr IntegerShape SourceShape(const TypeInfo& from, const TypeInfo& to) {
  const bool to_bool = to.type_class == TypeClass::kBool;
  return {from.bits, from.has_sign && from.bits < to.bits && !to_bool,
          from.type_class == TypeClass::kBool};
}
constexpr IntegerShape DestinationShape(const TypeInfo& to) {
  return {to.bits, false, to.type_class == TypeClass::kBool};
}

template <IntegerShape kFrom, IntegerShape kTo>
void ConvertIntegerStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  ForEachVector<kFrom.carrier_bits() / 8, kTo.carrier_bits() / 8>(
      in, out, n, ConvertIntegerLanes<kFrom, kTo>(), ConvertIntegerStep<kFrom, kTo>);
}

}  // namespace

void FillIntegerStages(Kernels* kernels) {
  ForEachRow([kernels](auto from_index) {
    ForEachRow([kernels](auto to_index) {
      constexpr std::size_t from = decltype(from_index)::value;
      constexpr std::size_t to = decltype(to_index)::value;
      constexpr const TypeInfo& from_row = detail::kTypeTable[from];
      constexpr const TypeInfo& to_row = detail::kTypeTable[to];
      if constexpr (IsInteger(from_row) && IsInteger(to_row) && from != to) {
        constexpr IntegerShape kFrom = SourceShape(from_row, to_row);
        constexpr IntegerShape kTo = DestinationShape(to_row);
        if constexpr (kFrom.bits != kTo.bits || kFrom.is_bool || kTo.is_bool) {
          kernels->integer[from][to] = &ConvertIntegerStage<kFrom, kTo>;
        }
      }
    });
  });
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
