// From types of 16 bits and more to everything, and from eight bits where no table serves, in
// registers: decoded, encoded and packed without an intermediate in memory.
//
// A step casts as many elements as a vector has bytes, or half as many (kElementsOf). It takes the
// lanes of few instructions that are exact for what tensors mostly hold; where an element of it is
// Inf, NaN or beyond an integer's range, the step is done again by the codecs that are exact for
// everything.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/direct_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include "core/bool_steps-inl.h"
#include "core/byte_pieces-inl.h"
#include "core/float_steps-inl.h"
#include "core/integer_steps-inl.h"
#include "core/joined_steps-inl.h"
#include "core/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

// Whether all finite numbers of a float fit signed integers of 32 bits.
template <DataType kType>
inline constexpr bool kBelow2To31 =
    (1 << detail::Row(kType).exponent_bits) - detail::Row(kType).bias <= 31;

constexpr bool IsUint8ToNarrow(const TypeInfo& from, const TypeInfo& to) {
  return HWY_TARGET == HWY_AVX2 && from.type == DataType::kUint8 && to.is_float() && to.bits == 8 &&
         to.has_zero;
}

template <DataType kFrom, DataType kTo>
HWY_INLINE void Step(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& from = detail::Row(kFrom);
  constexpr const TypeInfo& to = detail::Row(kTo);
  if constexpr (kFrom == DataType::kBool && (to.bits <= 32 || HWY_TARGET == HWY_AVX2)) {
    constexpr auto kOne = static_cast<CodeOf<kTo>>(detail::CastCode(from, to, 1, CastOptions{}));
    BoolStep<CodeOf<kTo>, kOne>(in, out);
#if HWY_TARGET == HWY_AVX2
  } else if constexpr (IsUint8ToNarrow(from, to)) {
    Uint8ToNarrowStep<kTo>(in, out, args);
#endif
  } else if constexpr (to.is_float() && to.bits <= 8) {
    NarrowFloatStep<kFrom, kTo>(in, out, args);
  } else if constexpr (to.is_float() && to.bits == 16) {
    HalfFloatStep<kFrom, kTo>(in, out, args);
  } else if constexpr (kTo == DataType::kFloat32) {
#if HWY_TARGET == HWY_AVX2
    if constexpr (from.bits == 64) {
      if (HWY_LIKELY(Integers64ToFloat32<from.has_sign>(in, out))) return;
    }
#endif
    constexpr std::size_t kWords = kElementsOf<kFrom, kTo> / kLanesOf<float>;
    constexpr std::size_t kWordBytes = kLanesOf<float> * sizeof(CodeOf<kFrom>);
    hn::Vec<DF32> words[kWords];
    for (std::size_t i = 0; i < kWords; ++i) {
      words[i] = WideFloat32<kFrom, Through::kNearest>(in + i * kWordBytes);
    }
    for (std::size_t i = 0; i < kWords; ++i) Store(words[i], DF32(), out + i * HWY_MAX_BYTES);
  } else if constexpr (kTo == DataType::kFloat64) {
    constexpr std::size_t kVectorBytes = kLanesOf<double> * sizeof(CodeOf<kFrom>);
    for (std::size_t i = 0; i < kElementsOf<kFrom, kTo> / kLanesOf<double>; ++i) {
      Store(DecodeFloat64<kFrom, false>(in + i * kVectorBytes), DF64(), out + i * HWY_MAX_BYTES);
    }
  } else if constexpr (to.type_class == TypeClass::kBool) {
#if TENSORCAST_AVX512
    if constexpr (kFrom == DataType::kFloat64) return TruthStep64<INT64_MAX>(in, out);  // not -0
#endif
    if constexpr (from.bits == 16) HalfToBoolStep(in, out);
#if TENSORCAST_AVX512
  } else if constexpr (kTo == DataType::kUint32 || to.bits == 64) {
    WideIntegerStep<kFrom, kTo>(in, out, args);
#elif HWY_TARGET == HWY_AVX2
  } else if constexpr (kTo == DataType::kUint32 && !kBelow2To31<kFrom>) {
    Uint32Step<kFrom>(in, out, args);
#endif
  } else if constexpr (TENSORCAST_AVX2) {
    IntegerStep<kFrom, kTo>(in, out, args);
  }
}

constexpr bool IsDirect(const TypeInfo& from, const TypeInfo& to) {
  const Route route = ChooseRoute(from, to);
  if (from.bits < 8) return false;
  if (route == Route::kIdentity || route == Route::kInteger) return false;  // integer_stages.cc
  if (IsInteger(from) && from.bits <= 16 && to.type == DataType::kFloat64) return true;
  if (IsUint8ToNarrow(from, to)) return true;
  if (from.type == DataType::kBool && to.is_float() && to.bits >= 16) return true;
  if (from.bits == 8 && (HWY_TARGET == HWY_AVX3_DL || to.bits < 16 || to.bits > 32)) {
    return false;  // by table
  }
  if (to.is_float()) {
    if (to.bits == 64) return false;
    if (to.bits == 32) return from.is_integer() && from.bits >= 32;
    return from.type != DataType::kFloat32 || to.type != DataType::kFloat16;
  }
  if (!from.is_float()) return false;
  if (to.type_class == TypeClass::kBool) {
    return from.bits == 16 || (from.bits == 64 && TENSORCAST_AVX512);
  }
  return TENSORCAST_AVX2 && (TENSORCAST_AVX512 || to.bits != 64);
}

#if HWY_TARGET == HWY_AVX2
template <DataType kFrom, DataType kTo>
void JoinedStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args);
#endif

template <DataType kFrom, DataType kTo>
void DirectStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  constexpr int kInBits = detail::Row(kFrom).bits, kOutBits = detail::Row(kTo).bits;
#if HWY_TARGET == HWY_AVX2
  if constexpr (IsJoined(detail::Row(kFrom), detail::Row(kTo))) {
    if (n >= 4 * kElements) return JoinedStage<kFrom, kTo>(in, out, n, args);
  }
#endif
  const auto step = [&args](const std::byte* from, std::byte* to)
                        TENSORCAST_INLINED { Step<kFrom, kTo>(from, to, args); };
  ForEachStep<kInBits, kOutBits, kElementsOf<kFrom, kTo>>(in, out, n, step);
}

#if HWY_TARGET == HWY_AVX2
// Apart, so that a short run has none of it to set up.
template <DataType kFrom, DataType kTo>
HWY_NOINLINE void JoinedStage(const std::byte* in, std::byte* out, std::size_t n,
                              const EncodeArgs& args) {
  constexpr int kInBits = detail::Row(kFrom).bits, kOutBits = detail::Row(kTo).bits;
  const auto step = [&args](const std::byte* from, std::byte* to)
                        TENSORCAST_INLINED { JoinedStep<kFrom, kTo>(from, to, args); };
  const std::size_t rest = n % (2 * kElements), joined = n - rest;
  ForEachStep<kInBits, kOutBits, 2 * kElements>(in, out, joined, step);
  if (rest != 0) {
    DirectStage<kFrom, kTo>(in + joined * kInBits / 8, out + joined * kOutBits / 8, rest, args);
  }
}
#endif

}  // namespace

void FillDirectStages(Kernels* kernels) {
  ForEachPair([kernels](auto from, auto to) {
    constexpr const TypeInfo& from_row = detail::kTypeTable[decltype(from)::value];
    constexpr const TypeInfo& to_row = detail::kTypeTable[decltype(to)::value];
    kernels->needs_environment[from][to] = NeedsEnvironment(from_row, to_row);
    if constexpr (IsDirect(from_row, to_row)) {
      kernels->direct[from][to] = &DirectStage<from_row.type, to_row.type>;
    }
  });
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
