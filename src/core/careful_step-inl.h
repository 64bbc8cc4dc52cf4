// A step of a direct stage (direct_stages.cc), for everything its types hold: by the codecs.
// Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_CAREFUL_STEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_CAREFUL_STEP_INL_H_
#undef TENSORCAST_SRC_CORE_CAREFUL_STEP_INL_H_
#else
#define TENSORCAST_SRC_CORE_CAREFUL_STEP_INL_H_
#endif

#include "core/encode-inl.h"
#include "core/fp_environment.h"
#include "core/packed-inl.h"
#include "core/route.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

inline constexpr std::size_t kElements = kLanesOf<std::uint8_t>;  // of a step

// Whether a pair's has half as many: results of 32 bits and more fill so many vectors of AVX-512
// that the rest of a run, which takes a whole step, would be computed for long. bool is chosen by
// masks of a whole step.
constexpr bool HasHalfSteps(const TypeInfo& from, const TypeInfo& to) {
  return TENSORCAST_AVX512 && to.bits >= 32 && from.type_class != TypeClass::kBool;
}
template <DataType kFrom, DataType kTo>
inline constexpr std::size_t kElementsOf = HasHalfSteps(detail::Row(kFrom), detail::Row(kTo))
                                               ? kElements / 2
                                               : kElements;

template <DataType kFrom, DataType kTo>
HWY_INLINE void CarefulCodes(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& from_row = detail::Row(kFrom);
  constexpr const TypeInfo& to_row = detail::Row(kTo);
  using Code = CodeOf<kTo>;
  alignas(64) std::byte codes[kElementsOf<kFrom, kTo> * sizeof(Code)];
  constexpr Route kRoute = ChooseRoute(from_row, to_row);
  if constexpr (kRoute == Route::kFloat32 || kRoute == Route::kOddFloat32) {
    for (std::size_t i = 0; i < kElementsOf<kFrom, kTo>; i += kFloat32sLanes) {
      const std::byte* from = in + i * sizeof(CodeOf<kFrom>);
      std::byte* to = codes + i * sizeof(Code);
      if constexpr (kRoute == Route::kFloat32) {
        EncodeFloat32<kTo>(DecodeFloat32<kFrom>(from), to, args);
      } else {
        EncodeFloat32<kTo>(DecodeOddFloat32<kFrom>(from), to, args);
      }
    }
  } else {
    static_assert(kFrom == DataType::kFloat64 && kRoute == Route::kFloat64);
    constexpr std::size_t kLanes = kLanesOf<double>;
    for (std::size_t i = 0; i < kElementsOf<kFrom, kTo>; i += 2 * kLanes) {
      EncodeFloat64<kTo>(Load(DF64(), in + i * 8), Load(DF64(), in + (i + kLanes) * 8),
                         codes + i * sizeof(Code), args);
    }
  }
  if constexpr (to_row.bits < 8) {
    StoreCodes<to_row.bits>(Load(D8(), codes), out);
  } else {
    std::memcpy(out, codes, sizeof(codes));
  }
}

// Whether exponents-inl.h casts a pair.
constexpr bool MovesExponents(const TypeInfo& from, const TypeInfo& to) {
  if (from.has_zero == to.has_zero) return false;
  if (to.has_zero) return HWY_TARGET == HWY_AVX2 && to.type == DataType::kFloat16;
  return TENSORCAST_PACKS && from.bits == 16 && from.type != DataType::kBfloat16;
}

// Whether a pair's steps need the floating-point environment, saving and restoring which takes
// longer than a short run. With AVX-512 only those do that read or write float32's subnormals,
// which a caller's FTZ or DAZ turns into zeros; also float16 to float64, as the conversion of half
// a vector has no {sae}, and narrow floats without a table.
constexpr bool NeedsEnvironment(const TypeInfo& from, const TypeInfo& to) {
  if (ChooseRoute(from, to) == Route::kInteger) return false;
  if (TENSORCAST_AVX512) {
    if (!from.is_float()) return false;
    if (from.bits <= 8) return true;
    if (from.bits < 64) return to.type == DataType::kFloat64;
    return to.is_float() && (to.bits == 32 || to.type == DataType::kBfloat16 || !to.has_zero);
  }
  // Elsewhere those do not that compute with integers alone.
  const bool is_upper_half = from.type == DataType::kFloat32 || from.type == DataType::kBfloat16;
  if (MovesExponents(from, to)) return false;
  if (to.type_class == TypeClass::kBool) return from.bits == 64;
  if (to.is_float() && to.bits <= 8) {
    const bool looked_up = HWY_TARGET == HWY_AVX2 && from.is_integer() && to.bits < 8;
    return !(is_upper_half || (from.type == DataType::kFloat16 && to.has_zero) || looked_up);
  }
  if (from.type == DataType::kBfloat16 && to.type == DataType::kFloat32) return false;
  // Nor do integers that are converted exactly, be it by an addition; but uint32 is converted by a
  // subtraction, and the rounding mode decides the sign of its zero.
  return !IsInteger(from) || from.type == DataType::kUint32 || !detail::Contains(to, from);
}

template <DataType kFrom, DataType kTo>
HWY_NOINLINE void CarefulStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& from_row = detail::Row(kFrom);
  constexpr const TypeInfo& to_row = detail::Row(kTo);
  if constexpr (!NeedsEnvironment(from_row, to_row)) {
    const FpEnvironment environment;
    CarefulCodes<kFrom, kTo>(in, out, args);
  } else {
    CarefulCodes<kFrom, kTo>(in, out, args);
  }
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_SRC_CORE_CAREFUL_STEP_INL_H_
