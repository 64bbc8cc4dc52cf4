// Floats to types of at most four bits on AVX2, two steps at once: their codes are joined to bytes
// as packing leaves them and put in order once, as lanes cross blocks at half the speed of other
// shuffles. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_JOINED_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_JOINED_STEPS_INL_H_
#undef TENSORCAST_SRC_CORE_JOINED_STEPS_INL_H_
#else
#define TENSORCAST_SRC_CORE_JOINED_STEPS_INL_H_
#endif

#include "core/float_steps-inl.h"
#include "core/integer_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

constexpr bool IsJoined(const TypeInfo& from, const TypeInfo& to) {
  return HWY_TARGET == HWY_AVX2 && from.is_float() && (from.bits == 16 || from.bits == 32) &&
         to.bits <= 4;
}

#if HWY_TARGET == HWY_AVX2
// Two vectors of codes, of which kUnit elements stand together in a block and as many more in the
// other one.
template <int kBits, std::size_t kUnit>
HWY_INLINE void StorePacked(const V8* codes, std::byte* out) {
  const __m256i a = JoinInLanes<kBits>(codes[0]), b = JoinInLanes<kBits>(codes[1]);
  if constexpr (kBits == 4) {
    Store(V8{UnitsInOrder<kUnit / 2>(_mm256_packus_epi16(a, b))}, D8(), out);
  } else {
    const __m256i halves = _mm256_packus_epi32(a, b);
    const __m256i bytes = UnitsInOrder<kUnit / 4>(_mm256_packus_epi16(halves, halves));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(bytes));
  }
}

// A step's integers. False where some are to be cast carefully.
template <DataType kFrom, DataType kTo>
HWY_INLINE bool PackedIntegers(const std::byte* in, const EncodeArgs& args, V8* codes) {
  constexpr const TypeInfo& to = detail::Row(kTo);
  static_assert(kBeyondIsZero<kFrom, kTo>);
  V32 words[4];
  LoadIntegers32<kFrom, true>(in, words);
  if (args.saturates) {
    const __m256i least = _mm256_min_epi32(_mm256_min_epi32(words[0].raw, words[1].raw),
                                           _mm256_min_epi32(words[2].raw, words[3].raw));
    const __m256i beyond = _mm256_cmpeq_epi32(least, _mm256_set1_epi32(INT32_MIN));
    if (HWY_UNLIKELY(!_mm256_testz_si256(beyond, beyond))) return false;
  } else {
    for (V32& word : words) word = hn::And(word, hn::Set(D32(), (1u << to.bits) - 1));
  }
  const V16 a = PackWords<true>(words[0], words[1]), b = PackWords<true>(words[2], words[3]);
  codes->raw = to.has_sign ? _mm256_packs_epi16(a.raw, b.raw) : _mm256_packus_epi16(a.raw, b.raw);
  if (args.saturates) *codes = ToFewerBits<kTo>(*codes, args);
  return true;
}

// Two steps' elements.
template <DataType kFrom, DataType kTo>
HWY_INLINE void JoinedStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  constexpr const TypeInfo& to = detail::Row(kTo);
  constexpr std::size_t kStep = kLanesOf<std::uint8_t>;
  constexpr std::size_t kInBytes = kStep * sizeof(CodeOf<kFrom>);
  constexpr std::size_t kUnit = sizeof(CodeOf<kFrom>) == 2 ? 8 : 4;
  V8 codes[2];
  const auto both = [&](const auto& cast) HWY_ATTR {
    return HWY_LIKELY(cast(in, &codes[0])) && HWY_LIKELY(cast(in + kInBytes, &codes[1]));
  };
  if constexpr (to.is_float()) {
    if (both([&args](const std::byte* from, V8* result) HWY_ATTR {
          if constexpr (kFrom == DataType::kFloat32) {
            return Float32KeyCodes<kTo, Order::kAsPacked>(from, args, result);
          } else {
            return KeyCodes<kFrom, kTo, Order::kAsPacked>(Load(D16(), from), Load(D16(), from + 32),
                                                          args, result);
          }
        })) {
      return StorePacked<to.bits, kUnit>(codes, out);
    }
  } else {
    if constexpr (kFrom == DataType::kBfloat16) {
      if (!args.saturates) {
        const V16 low = hn::Set(D16(), static_cast<std::uint16_t>((1 << to.bits) - 1));
        for (std::size_t i = 0; i < 2; ++i) {
          const std::byte* const from = in + kInBytes * i;
          const V16 a = Load(D16(), from), b = Load(D16(), from + 32);
          codes[i] = PackedBytes(hn::And(Bfloat16ToIntegers16<true>(a), low),
                                 hn::And(Bfloat16ToIntegers16<true>(b), low));
        }
        return StorePacked<to.bits, kUnit>(codes, out);
      }
    }
    if (both([&args](const std::byte* from, V8* result)
                 HWY_ATTR { return PackedIntegers<kFrom, kTo>(from, args, result); })) {
      return StorePacked<to.bits, 4>(codes, out);
    }
  }
  CarefulStep<kFrom, kTo>(in, out, args);
  CarefulStep<kFrom, kTo>(in + kInBytes, out + kStep * to.bits / 8, args);
}
#endif

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_SRC_CORE_JOINED_STEPS_INL_H_
