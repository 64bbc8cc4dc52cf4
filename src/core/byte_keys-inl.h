// Rounding to narrow floats in bytes, where nothing looks up 64 of them at once: AVX2, and AVX-512
// without VBMI. Included per target.
//
// A magnitude is split into two bytes: a key, which is some bits of the exponent and as many of the
// mantissa as the narrow float has, and the rest, rounded to odd. A normal number's code is its
// key, which grows by one where the rest and the key's last bit say so, less a constant. All that
// rounding asks of a subnormal is its key, which is looked up, and whether there is a rest: the
// middles between two subnormals have no more digits than the key has.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_BYTE_KEYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_BYTE_KEYS_INL_H_
#undef TENSORCAST_SRC_CORE_BYTE_KEYS_INL_H_
#else
#define TENSORCAST_SRC_CORE_BYTE_KEYS_INL_H_
#endif

#include "core/halves-inl.h"

#if TENSORCAST_PACKS
HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// The keys that kFrom, float16 or bfloat16, has for kTo.
template <DataType kFrom, DataType kTo> struct Keys {
  static constexpr const TypeInfo& from = detail::Row(kFrom);
  static constexpr const TypeInfo& to = detail::Row(kTo);
  static constexpr int m = to.mantissa_bits;
  static constexpr bool kIsFloat16 = kFrom == DataType::kFloat16;
  // float16 to floats of its exponents, or one fewer below: subnormals are subnormal there, too.
  static constexpr bool kSameExponents = kIsFloat16 && to.exponent_bits == from.exponent_bits;
  static constexpr int kMantissaBits = std::max(m, 2);
  // With more bits than the code has, or where there are so few, every key is looked up.
  static constexpr bool kAllLookedUp = kMantissaBits != m;
  // Exponents are counted from that of half the least subnormal, whose keys begin at kFirst.
  static constexpr int kFirstExponent = from.bias - to.bias - m;
  static constexpr int kFirst = kIsFloat16 && !kSameExponents ? kFirstExponent << kMantissaBits : 0;
  // What a normal number's key has more than its code; what is looked up has it, too.
  static constexpr int kOffset = kSameExponents ? 0 : kAllLookedUp ? 1 : kFirst + (m << m);
  // The first key that is beyond the range, of a power of two or the largest code's successor.
  static constexpr int kBeyond = [] {
    const int code = static_cast<int>(detail::MaxFiniteMagnitude(to)) + 1;
    return kAllLookedUp ? kFirst + ((m + (code >> m)) << kMantissaBits) : code + kOffset;
  }();
  static constexpr int kLookedUp = kAllLookedUp ? kBeyond - kFirst + 1 : (m + 1) << m;

  // The bits that a magnitude shifted left by kLeft has below its key.
  template <int kLeft> static constexpr int kRestBits = kIsFloat16 ? 8 : 7 + kLeft - kMantissaBits;

  // Below this no key is Inf's or NaN's; a bfloat16's may be a number's that packing saturated.
  template <int kLeft>
  static constexpr int kFirstSpecialKey =
      !kIsFloat16 ? 255 : (0x7C << kLeft) + (kSameExponents && to.bias == 16 ? 4 : 0);

  static_assert(kIsFloat16 || (255 - kFirstExponent) << kMantissaBits >= 255);
  static_assert(kAllLookedUp || m == kMantissaBits);
  static_assert(!kAllLookedUp ||
                (static_cast<int>(detail::MaxFiniteMagnitude(to)) + 1) % (1 << m) == 0);
  static_assert(kSameExponents || (kFirstExponent > 0 && kLookedUp <= 32 && kBeyond < 255));
  static_assert(!kSameExponents || (m == 2 && (to.bias == 15 || to.bias == 16)));

  // Twice the code and the offset, less one; one less yet where the key itself is a middle that
  // goes down to an even code. The mean with 0 or 1 for the rest, rounded up, is the code.
  static constexpr auto kCodes = [] {
    std::array<std::uint8_t, 32> codes{};
    for (int key = 0; key < kLookedUp; ++key) {
      const int exponent = key >> kMantissaBits;
      const int power = std::max(exponent - (m + 1), 0);
      const int significand = (1 << kMantissaBits | (key & ((1 << kMantissaBits) - 1))) << exponent;
      const int shift = kMantissaBits + 1 + power;
      const int half = 1 << (shift - 1);
      const int code = (power << m) + ((significand + half) >> shift);
      const bool goes_down = significand % (2 * half) == half && (significand >> shift) % 2 == 0;
      codes[static_cast<std::size_t>(key)] =
          static_cast<std::uint8_t>(2 * (code + kOffset) - (goes_down ? 2 : 1));
    }
    return codes;
  }();
};

// 16-bit lanes, below 2^15, to bytes, saturating, packed once.
HWY_INLINE V8 PackedBytes(V16 a, V16 b) {
#if TENSORCAST_AVX512
  return V8{_mm512_packus_epi16(a.raw, b.raw)};
#else
  return V8{_mm256_packus_epi16(a.raw, b.raw)};
#endif
}

// The lower bytes of two vectors of 16-bit lanes, and the upper ones, packed once.
struct BytePlanes {
  V8 lower, upper;
};
HWY_INLINE BytePlanes SplitBytes(V16 a, V16 b) {
  const D8 d8;
  const D64 d64;
  constexpr auto kApart = [](unsigned i) { return i % 8 * 2 + i / 8 % 2; };
  const auto split = [&](V16 x) HWY_ATTR {
    const V8 apart{ConstantLanes<std::uint8_t, kApart>()};
    return hn::BitCast(d64, hn::TableLookupBytes(hn::BitCast(d8, x), apart));
  };
  const auto low = split(a), high = split(b);
  return {hn::BitCast(d8, hn::InterleaveLower(d64, low, high)),
          hn::BitCast(d8, hn::InterleaveUpper(d64, low, high))};
}

// Whether a key is no less than the limit.
HWY_INLINE bool AnyKeyFrom(V8 key, int limit) {
#if TENSORCAST_AVX512
  return _mm512_cmpge_epu8_mask(key.raw, _mm512_set1_epi8(static_cast<char>(limit))) != 0;
#else
  const __m256i beyond = _mm256_subs_epu8(key.raw, _mm256_set1_epi8(static_cast<char>(limit - 1)));
  return !_mm256_testz_si256(beyond, beyond);
#endif
}

// Two vectors of magnitudes, shifted left by kLeft, to their keys and rests. kMarks: of bfloat16
// shifted by one the last bit is set in those that are not below the first key.
template <DataType kFrom, DataType kTo, int kLeft, bool kMarks>
HWY_INLINE BytePlanes KeysAndRests(V16 low, V16 high) {
  using K = Keys<kFrom, kTo>;
  const D16 d;
  const auto set = [d](int bits) HWY_ATTR { return hn::Set(d, static_cast<std::uint16_t>(bits)); };
  if constexpr (K::kIsFloat16) {
    static_assert(kLeft == K::kMantissaBits - 2);
    const auto key = [&](V16 magnitude) HWY_ATTR {
      if constexpr (K::kSameExponents && K::to.bias == 16) {
        return hn::Add(magnitude, hn::Min(magnitude, set(0x400)));
      }
      return magnitude;
    };
    return SplitBytes(key(low), key(high));
  } else {
    // Packing leaves 255 of a key that is beyond everything.
    constexpr int kRestBits = K::template kRestBits<kLeft>;
    const V16 first = set((K::kFirstExponent << (7 + kLeft)) - (kMarks ? 1 : 0));
    const V16 rest = set((1 << kRestBits) - 1);
    low = hn::SaturatedSub(low, first);
    high = hn::SaturatedSub(high, first);
    return {PackedBytes(hn::And(low, rest), hn::And(high, rest)),
            PackedBytes(hn::ShiftRight<kRestBits>(low), hn::ShiftRight<kRestBits>(high))};
  }
}

// One more where bytes below 128 are above the middle; no byte is 255.
HWY_INLINE V8 GrowAbove(V8 bytes, V8 rest, std::uint32_t middle) {
#if TENSORCAST_AVX512
  const __mmask64 grows =
      _mm512_cmpgt_epi8_mask(rest.raw, _mm512_set1_epi8(static_cast<char>(middle)));
  return V8{_mm512_mask_add_epi8(bytes.raw, grows, bytes.raw, _mm512_set1_epi8(1))};
#else
  const __m256i grows = _mm256_cmpgt_epi8(rest.raw, _mm256_set1_epi8(static_cast<char>(middle)));
  return V8{_mm256_sub_epi8(bytes.raw, grows)};
#endif
}

// Two vectors of keys, none of them kFirstSpecialKey or beyond, and rests to the magnitudes of
// codes, packed once.
template <DataType kFrom, DataType kTo, int kLeft>
HWY_INLINE V8 RoundKeys(const BytePlanes& planes, const EncodeArgs& args) {
  using K = Keys<kFrom, kTo>;
  const D8 d;
  const auto set = [d](std::uint32_t bits)
                       HWY_ATTR { return hn::Set(d, static_cast<std::uint8_t>(bits)); };
  const V8 rest = planes.lower;
  V8 key = planes.upper;
  V8 code;
  if constexpr (!K::kAllLookedUp) {
    constexpr std::uint32_t kMiddle = 1u << (K::template kRestBits<kLeft> - 1);
    const V8 last = hn::Or(rest, hn::And(key, set(1)));
    if constexpr (K::kIsFloat16) {
      code = hn::Add(key, hn::Min(hn::SaturatedSub(last, set(kMiddle)), set(1)));
    } else {
      code = GrowAbove(key, last, kMiddle);
    }
  } else {
    key = hn::Min(key, set(K::kBeyond));
  }
  if constexpr (!K::kSameExponents) {
    // Rows of 16: what is below a row finds zero, and what is above it no more than its own code.
    const auto look_up = [&]<int kRow>() HWY_ATTR {
      constexpr int kFirst = K::kFirst + 16 * kRow;
      constexpr auto kCode = [](unsigned i) { return K::kCodes[16 * kRow + i % 16]; };
      const V8 index = kFirst == 0 ? key : hn::Sub(key, set(static_cast<std::uint32_t>(kFirst)));
      return hn::TableLookupBytesOr0(V8{ConstantLanes<std::uint8_t, kCode>()}, index);
    };
    V8 looked_up = look_up.template operator()<0>();
    if constexpr (K::kLookedUp > 16) {
      looked_up = hn::Max(looked_up, look_up.template operator()<1>());
    }
    looked_up = hn::AverageRound(looked_up, hn::Min(rest, set(1)));
    code = K::kAllLookedUp ? looked_up : hn::Max(code, looked_up);
  }
  if constexpr (K::kOffset != 0) code = hn::SaturatedSub(code, set(K::kOffset));
  return hn::Min(code, set(args.overflow));
}

// Two vectors of magnitudes, shifted left by kLeft, to those of codes, packed once. False where one
// is Inf or NaN. kIsCut: bfloat16 is not odd, but what was cut, if not zero, has been packed to
// `cut`; it counts where a magnitude is not below the first key.
template <DataType kFrom, DataType kTo, int kLeft, bool kIsCut = false>
HWY_INLINE bool KeyMagnitudes(V16 low, V16 high, const EncodeArgs& args, V8* magnitudes,
                              V8 cut = hn::Zero(D8())) {
  using K = Keys<kFrom, kTo>;
  BytePlanes planes = KeysAndRests<kFrom, kTo, kLeft, kIsCut>(low, high);
  if constexpr (kIsCut) {
    static_assert(!K::kIsFloat16 && kLeft == 1);
    const D8 d;
    const V8 kept =
        hn::Or(hn::Min(cut, hn::Set(d, std::uint8_t{1})), hn::Set(d, std::uint8_t{0xFE}));
    planes.lower = hn::And(planes.lower, kept);
  }
  if (HWY_UNLIKELY(AnyKeyFrom(planes.upper, K::template kFirstSpecialKey<kLeft>))) {
    constexpr int kInfinity = K::kIsFloat16 ? 0x7C00 : kBfloat16Infinity;
    constexpr auto kMost = static_cast<std::uint16_t>((kInfinity << kLeft) - 1);
    if (K::kIsFloat16 || AnyAbove(hn::Max(low, high), kMost)) return false;
    planes.upper = hn::Min(planes.upper, hn::Set(D8(), std::uint8_t{254}));
  }
  *magnitudes = RoundKeys<kFrom, kTo, kLeft>(planes, args);
  return true;
}

// Two vectors of float16, or of bfloat16 rounded to odd or cut (KeyMagnitudes), to codes. False
// where one is Inf or NaN.
template <DataType kFrom, DataType kTo, Order kOrder, bool kIsCut = false>
HWY_INLINE bool KeyCodes(V16 a, V16 b, const EncodeArgs& args, V8* codes, V8 cut = hn::Zero(D8())) {
  using K = Keys<kFrom, kTo>;
  const D16 d;
  // Doubling drops the sign.
  constexpr int kLeft = K::kIsFloat16 ? K::kMantissaBits - 2 : 1;
  static_assert(kLeft == 0 || kLeft == 1);
  const auto magnitude = [d](V16 x) HWY_ATTR {
    return kLeft == 1 ? hn::Add(x, x) : hn::And(x, hn::Set(d, std::uint16_t{0x7FFF}));
  };
  V8 magnitudes;
  if (HWY_UNLIKELY((!KeyMagnitudes<kFrom, kTo, kLeft, kIsCut>(magnitude(a), magnitude(b), args,
                                                              &magnitudes, cut)))) {
    return false;
  }
  *codes = JoinSignBytes<kTo, kOrder>(magnitudes, SignBytes(a, b));
  return true;
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_PACKS

#endif  // TENSORCAST_SRC_CORE_BYTE_KEYS_INL_H_
