// Pairs whose two stages run as one, values staying in registers: the same codecs, composed.
//
// A pair is on the list only where bench/fused_gain shows at least 1.25 times the two stages' speed
// on a target, for itself or its twin of the other sign (bench/results/fused.csv has the rows);
// everything else goes through the block.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/fused_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include "core/encode-inl.h"
#include "core/route.h"
#include "core/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

// Every value is a bfloat16: nothing is rounded, and NaN is canonical.
constexpr bool FitsBfloat16(const TypeInfo& row) {
  const TypeInfo& bf16 = detail::Row(DataType::kBfloat16);
  return row.is_float() ? row.bits <= 8 && row.mantissa_bits <= bf16.mantissa_bits
                        : row.bits <= bf16.mantissa_bits + 1;
}

constexpr bool IsFused(const TypeInfo& from, const TypeInfo& to) {
  switch (ChooseRoute(from, to)) {
    case Route::kFloat32:
      if (to.type == DataType::kBfloat16) return FitsBfloat16(from);
      return from.type == DataType::kBfloat16 && to.bits >= 8 && to.bits <= 16 &&
             (!to.is_float() || to.type == DataType::kFloat16 || to.type == DataType::kFloat8E5M2 ||
              to.type == DataType::kFloat8E8M0);
    case Route::kFloat64: return from.is_integer() && to.type == DataType::kFloat32;
    case Route::kOddFloat64: return true;
    case Route::kOddFloat32:
    case Route::kIdentity:
    case Route::kInteger: break;
  }
  return false;
}

HWY_INLINE void StoreUpperHalves(const Float32s& values, std::byte* out) {
  const D16 d;
  Store(hn::ConcatOdd(d, hn::BitCast(d, values.high), hn::BitCast(d, values.low)), d, out);
}

template <DataType kFrom, DataType kTo>
void FusedStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  constexpr const TypeInfo& from_row = detail::Row(kFrom);
  constexpr const TypeInfo& to_row = detail::Row(kTo);
  constexpr Route kRoute = ChooseRoute(from_row, to_row);
  constexpr std::size_t kLanes = kRoute == Route::kFloat32 ? kFloat32sLanes : 2 * kLanesOf<double>;
  const auto step = [&args](const std::byte* from, std::byte* to) HWY_ATTR {
    if constexpr (kRoute == Route::kFloat32) {
      // Every encoder quiets a NaN by itself.
      const Float32s values = DecodeFloat32<kFrom, kKeepSignalling>(from);
      if constexpr (kTo == DataType::kBfloat16 && FitsBfloat16(from_row)) {
        StoreUpperHalves(values, to);
      } else {
        EncodeFloat32<kTo>(values, to, args);
      }
    } else {
      constexpr bool kOdd = kRoute == Route::kOddFloat64;
      const std::size_t half = hn::Lanes(DF64());
      EncodeFloat64<kTo>(DecodeFloat64<kFrom, kOdd>(from),
                         DecodeFloat64<kFrom, kOdd>(from + half * sizeof(CodeOf<kFrom>)), to, args);
    }
  };
  ForEachVector<sizeof(CodeOf<kFrom>), sizeof(CodeOf<kTo>), kLanes>(in, out, n, step);
}

}  // namespace

void FillFusedStages(Kernels* kernels) {
  ForEachRow([kernels](auto from_index) {
    ForEachRow([kernels](auto to_index) {
      constexpr std::size_t from = decltype(from_index)::value;
      constexpr std::size_t to = decltype(to_index)::value;
      constexpr const TypeInfo& from_row = detail::kTypeTable[from];
      constexpr const TypeInfo& to_row = detail::kTypeTable[to];
      if constexpr (from_row.bits != 0 && to_row.bits != 0) {
        if constexpr (IsFused(from_row, to_row)) {
          kernels->fused[from][to] = &FusedStage<from_row.type, to_row.type>;
        }
      }
    });
  });
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
