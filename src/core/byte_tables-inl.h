// Codes of at most eight bits by byte tables, 64 at once, from elements of 16 bits. Included per
// target; AVX-512 VBMI alone permutes bytes over whole vectors.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_BYTE_TABLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_BYTE_TABLES_INL_H_
#undef TENSORCAST_SRC_CORE_BYTE_TABLES_INL_H_
#else
#define TENSORCAST_SRC_CORE_BYTE_TABLES_INL_H_
#endif

#include "core/halves-inl.h"
#include "core/packed-inl.h"

#if HWY_TARGET == HWY_AVX3_DL
HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

HWY_INLINE __m512i SetBytes(int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }

// The upper or lower bytes of 16-bit lanes.
HWY_INLINE __m512i UpperBytes(V16 a, V16 b) {
  constexpr auto kOdd = [](unsigned i) { return 2 * i + 1; };
  return _mm512_permutex2var_epi8(a.raw, ByteIndices<kOdd>(), b.raw);
}
HWY_INLINE __m512i LowerBytes(V16 a, V16 b) {
  constexpr auto kEven = [](unsigned i) { return 2 * i; };
  return _mm512_permutex2var_epi8(a.raw, ByteIndices<kEven>(), b.raw);
}

// 128 entries, by the low seven bits.
HWY_INLINE __m512i LookUp128(const std::uint8_t* table, __m512i at) {
  return _mm512_permutex2var_epi8(_mm512_load_si512(table), at, _mm512_load_si512(table + 64));
}

// A magnitude with the sign that stands at the top of the bytes of `upper`.
template <DataType kTo> HWY_INLINE V8 JoinSign(__m512i magnitude, __m512i upper) {
  constexpr const TypeInfo& row = detail::Row(kTo);
  __m512i sign = upper;
  if constexpr (row.bits < 8) sign = _mm512_srli_epi16(sign, 8 - row.bits);
  if constexpr (row.is_fnuz()) {
    sign = _mm512_maskz_mov_epi8(_mm512_test_epi8_mask(magnitude, magnitude), sign);
  }
  constexpr int kJoin = 0xF8;  // magnitude | (sign & its bit)
  return V8{_mm512_ternarylogic_epi32(magnitude, sign, SetBytes(1 << (row.bits - 1)), kJoin)};
}

// ----------------------------------------------------------------------------------- from bfloat16

// Narrow floats from bfloat16 rounded to odd. A code is what its exponent field begins with, plus
// the rounded mantissa; a subnormal code is its significand, rounded at the place that its exponent
// gives.
template <DataType kTo> struct NarrowTables {
  static constexpr const TypeInfo& row = detail::Row(kTo);
  static constexpr int m = row.mantissa_bits;
  // Exponents count from the least of which half a unit is left; from kNormal on codes are normal.
  static constexpr int kLeast = 127 - row.bias - m - 1;
  static constexpr int kNormal = m + 2;
  // A byte holds an exponent but its last bit. So that no byte has a normal and a subnormal one,
  // exponents are counted from one further down where the least normal one is odd.
  static constexpr bool kIsOdd = (kLeast + kNormal) % 2 != 0;
  // The code of an upper byte's even exponent, or of its odd one; 0 where not both are normal.
  alignas(64) std::uint8_t begins[128] = {};
  alignas(64) std::uint8_t rounded[kNormal][128] = {};  // by exponent from 1 on, kNormal last

  constexpr NarrowTables() {
    for (int upper = 0; upper < 128; ++upper) {
      const int even = 2 * upper - (kIsOdd ? 1 : 0);
      if (even < kLeast + kNormal || even >= 254) continue;
      const int code = (even - kLeast - kNormal + (kIsOdd ? 2 : 1)) << m;
      begins[upper] = static_cast<std::uint8_t>(std::min(code, 0xC0));
    }
    for (int e = 1; e <= kNormal; ++e) {
      const int place = e == kNormal ? 7 - m : 9 - e;  // bits that are cut off
      for (int mantissa = 0; mantissa < 128; ++mantissa) {
        const int significand = e == kNormal ? mantissa : mantissa + 128;
        const int kept = significand >> place, cut = significand - (kept << place);
        const int half = 1 << (place - 1);
        rounded[e - 1][mantissa] =
            static_cast<std::uint8_t>(kept + (cut > half || (cut == half && kept % 2 != 0)));
      }
    }
  }
};
template <DataType kTo> constexpr NarrowTables<kTo> kNarrowTables;

// False where an element is Inf or NaN, or near to them.
template <DataType kTo, bool kSpecials>
HWY_INLINE bool NarrowCodes(V16 a, V16 b, const EncodeArgs& args, V8* codes) {
  using Tables = NarrowTables<kTo>;
  constexpr const Tables& tables = kNarrowTables<kTo>;
  const __m512i mantissa = LowerBytes(a, b);
  const V16 one_exponent = hn::Set(D16(), std::uint16_t{0x80});
  __m512i upper = Tables::kIsOdd ? UpperBytes(hn::Add(a, one_exponent), hn::Add(b, one_exponent))
                                 : UpperBytes(a, b);
  const __mmask64 is_odd = _mm512_movepi8_mask(mantissa);
  const auto look_up = [&](int e) HWY_ATTR { return LookUp128(tables.rounded[e - 1], mantissa); };
  const __m512i begins = LookUp128(tables.begins, upper);
  const __m512i step = SetBytes(1 << Tables::m);
  __m512i magnitude = Tables::kIsOdd ? _mm512_mask_sub_epi8(begins, is_odd, begins, step)
                                     : _mm512_mask_add_epi8(begins, is_odd, begins, step);
  magnitude = _mm512_add_epi8(magnitude, look_up(Tables::kNormal));
  if (_mm512_testn_epi8_mask(begins, begins) != 0) {
    if constexpr (Tables::kIsOdd) upper = UpperBytes(a, b);
    const __m512i doubled = _mm512_add_epi8(upper, upper);
    const __m512i field = _mm512_mask_add_epi8(doubled, is_odd, doubled, SetBytes(1));
    if constexpr (kSpecials) {
      if (HWY_UNLIKELY(_mm512_cmpge_epu8_mask(field, SetBytes(0xFE)) != 0)) return false;
    }
    const __m512i exponent = _mm512_subs_epu8(field, SetBytes(Tables::kLeast));
    const __mmask64 normal = _mm512_cmpge_epu8_mask(exponent, SetBytes(Tables::kNormal));
    magnitude = _mm512_maskz_mov_epi8(normal, magnitude);
    for (int e = 1; e < Tables::kNormal; ++e) {
      const __mmask64 here = _mm512_cmpeq_epi8_mask(exponent, SetBytes(e));
      magnitude = _mm512_mask_mov_epi8(magnitude, here, look_up(e));
    }
  }
  magnitude = _mm512_min_epu8(magnitude, SetBytes(static_cast<int>(args.overflow)));
  *codes = JoinSign<kTo>(magnitude, upper);
  return true;
}

// ------------------------------------------------------------------------------------ from float16

// What magnitudes of float16 round to, by their upper byte: so much where the lower byte is zero,
// one more where it is beyond `first`, and two more beyond `second`.
struct Float16Table {
  alignas(64) std::uint8_t begins[128] = {};
  alignas(64) std::uint8_t first[128] = {};
  alignas(64) std::uint8_t second[128] = {};
  int steps = 0;  // the most that a lower byte adds
};

inline constexpr unsigned kFloat16Infinity = 0x7C;  // its upper byte

// To a narrow float; what is beyond its magnitudes is one more than the largest, or the largest.
template <DataType kTo> constexpr Float16Table MakeFloat16Table() {
  const auto round = [](unsigned code) {
    CastOptions options;
    options.saturate = false;
    constexpr const TypeInfo& row = detail::Row(kTo);
    const std::uint64_t result =
        detail::CastCode(detail::Row(DataType::kFloat16), row, code, options);
    const std::uint64_t largest = detail::MaxFiniteMagnitude(row);
    return static_cast<unsigned>(std::min(result, largest + 1));
  };
  Float16Table table;
  for (unsigned upper = 0; upper < kFloat16Infinity; ++upper) {
    const unsigned begins = round(upper << 8);
    const auto last_below = [&](unsigned result) {
      unsigned last = 0;
      for (unsigned bit = 0x80; bit != 0; bit /= 2) {
        if (round(upper << 8 | last | bit) < result) last |= bit;
      }
      return static_cast<std::uint8_t>(last);
    };
    table.begins[upper] = static_cast<std::uint8_t>(begins);
    table.first[upper] = last_below(begins + 1);
    table.second[upper] = last_below(begins + 2);
    table.steps = std::max(table.steps, static_cast<int>(round(upper << 8 | 0xFF) - begins));
  }
  return table;
}
template <DataType kTo> inline constexpr Float16Table kFloat16Table = MakeFloat16Table<kTo>();

template <DataType kTo> HWY_INLINE __m512i RoundedFloat16(__m512i upper, __m512i lower) {
  constexpr const Float16Table& kTable = kFloat16Table<kTo>;
  static_assert(kTable.steps <= 2);
  __m512i result = LookUp128(kTable.begins, upper);
  const auto step = [&](const std::uint8_t* beyond) HWY_ATTR {
    const __mmask64 grows = _mm512_cmpgt_epu8_mask(lower, LookUp128(beyond, upper));
    result = _mm512_mask_add_epi8(result, grows, result, SetBytes(1));
  };
  step(kTable.first);
  if constexpr (kTable.steps == 2) step(kTable.second);
  return result;
}

// False where an element is Inf or NaN.
template <DataType kTo>
HWY_INLINE bool Float16Codes(V16 a, V16 b, const EncodeArgs& args, V8* codes) {
  const __m512i upper = UpperBytes(a, b), lower = LowerBytes(a, b);
  const __mmask64 special = _mm512_cmpge_epu8_mask(
      _mm512_add_epi8(upper, upper), SetBytes(static_cast<int>(2 * kFloat16Infinity)));
  if (HWY_UNLIKELY(special != 0)) return false;
  const __m512i magnitude =
      _mm512_min_epu8(RoundedFloat16<kTo>(upper, lower), SetBytes(static_cast<int>(args.overflow)));
  *codes = JoinSign<kTo>(magnitude, upper);
  return true;
}

// False where an element is Inf, NaN or a positive subnormal.
HWY_INLINE bool Float16ToE8M0(V16 a, V16 b, const EncodeArgs& args, V8* codes) {
  const D16 d;
  const auto set = [d](std::uint32_t bits)
                       HWY_ATTR { return hn::Set(d, static_cast<std::uint16_t>(bits)); };
  const auto is_positive = [](V16 x) HWY_ATTR {
    return _mm512_cmpgt_epi16_mask(x.raw, _mm512_setzero_si512());
  };
  const __mmask32 positive[2] = {is_positive(a), is_positive(b)};
  const auto any_special = [&](V16 x, __mmask32 where) HWY_ATTR {
    return _mm512_mask_cmpge_epu16_mask(where, hn::Sub(x, set(0x400)).raw, set(0x7800).raw);
  };
  const __mmask32 special =
      any_special(a, positive[0]) | any_special(b, positive[1]) |
      _mm512_cmpgt_epu16_mask(hn::Max(a, b).raw, set(0xFC00).raw);  // NaN with a sign
  if (HWY_UNLIKELY(special != 0)) return false;
  const V16 bias = set(args.e8m0_bias16 << 3 | (args.e8m0_bias16 & 7));
  const auto exponent = [&](V16 x) HWY_ATTR { return hn::ShiftRight<10>(hn::Add(x, bias)); };
  const __m512i code = _mm512_mask_add_epi8(
      SetBytes(static_cast<int>(args.e8m0_below)), _mm512_kunpackd(positive[1], positive[0]),
      LowerBytes(exponent(a), exponent(b)), SetBytes(127 - 15));
  codes->raw = code;
  return true;
}

// ---------------------------------------------------------------------------------- from integers

// Floats of fewer than eight bits whose largest is below 32: integers are brought to six bits.
template <DataType kFrom, DataType kTo>
inline constexpr bool kByClamping =
    detail::Row(kFrom).is_integer() && detail::Row(kFrom).bits >= 16 &&
    detail::Row(kTo).is_float() && detail::Row(kTo).bits < 8 &&
    detail::CastCode(detail::Row(kFrom), detail::Row(kTo), 31,
                     {}) == detail::MaxFiniteMagnitude(detail::Row(kTo));

template <DataType kFrom, DataType kTo> HWY_INLINE V8 ClampedCodes(const std::byte* in) {
  constexpr auto kCode = [](unsigned i) {
    constexpr const TypeInfo& from = detail::Row(kFrom);
    constexpr std::uint64_t kMask = detail::LowMask(from.bits);
    const std::uint64_t value = from.has_sign && i >= 32 ? i | kMask << 6 : i;
    return detail::CastCode(from, detail::Row(kTo), value & kMask, {});
  };
  constexpr bool kSigned = detail::Row(kFrom).has_sign;
  const auto word = [in](std::size_t i) HWY_ATTR {
    return Clamped<kSigned, 31>(D32(), SaturatedWords<kFrom>(in + 16 * sizeof(CodeOf<kFrom>) * i));
  };
  const auto half = [&](std::size_t i) HWY_ATTR {
    if constexpr (detail::Row(kFrom).bits == 16) {
      return Clamped<kSigned, 31>(D16(), Load(D16(), in + 64 * i));
    } else {
      return LowHalves(word(2 * i), word(2 * i + 1));
    }
  };
  return V8{_mm512_permutexvar_epi8(LowerBytes(half(0), half(1)), ByteIndices<kCode>())};
}

// Floats of eight bits, whose codes repeat from one power of two to the next: a magnitude is looked
// up by its low byte or, where it has more bits, by eight further up. What these leave below makes
// their last bit one; there are bits enough that this rounds as the whole magnitude does.
template <DataType kFrom, DataType kTo>
inline constexpr bool kByWindows =
    detail::Row(kFrom).is_integer() && detail::Row(kFrom).bits == 16 &&
    detail::Row(kTo).is_float() && detail::Row(kTo).bits == 8;

template <DataType kTo> struct Windows {
  static constexpr int m = detail::Row(kTo).mantissa_bits;
  static constexpr int kShift = 6 - m;  // of the second window; the third is the upper byte
  static constexpr bool Overflows(std::uint64_t value) {
    CastOptions options;
    options.saturate = false;
    return detail::CastCode(detail::Row(DataType::kUint16), detail::Row(kTo), value, options) >
           detail::MaxFiniteMagnitude(detail::Row(kTo));
  }
  static constexpr bool kSecond = !Overflows(255);
  static constexpr bool kThird = !Overflows((256 << kShift) - 1);
  static constexpr int kLeastInSecond = 256 >> kShift, kLeastInThird = 1 << kShift;
  static_assert(kLeastInSecond >= 1 << (m + 2) && (!kThird || kLeastInThird >= 1 << (m + 2)));
};

// What bytes become; one more than the largest where that is beyond it.
template <DataType kTo, RoundingMode kMode> constexpr std::array<std::uint8_t, 256> FromBytes() {
  CastOptions options;
  options.saturate = false;
  options.round_mode = kMode;
  std::array<std::uint8_t, 256> codes{};
  for (unsigned i = 0; i < 256; ++i) {
    const TypeInfo& row = detail::Row(kTo);
    const std::uint64_t code = detail::CastCode(detail::Row(DataType::kUint8), row, i, options);
    codes[i] = static_cast<std::uint8_t>(std::min(code, detail::MaxFiniteMagnitude(row) + 1));
  }
  return codes;
}
template <DataType kTo> struct BytesToNarrow {
  static constexpr bool kModes = !detail::Row(kTo).has_zero;
  // By what is added to round: 0 down, 64 to nearest, 127 up.
  alignas(64) std::array<std::uint8_t, 256> modes[kModes ? 3 : 1] = {};
  constexpr BytesToNarrow() {
    modes[0] = FromBytes<kTo, RoundingMode::kDown>();
    if constexpr (kModes) {
      modes[1] = FromBytes<kTo, RoundingMode::kNearest>();
      modes[2] = FromBytes<kTo, RoundingMode::kUp>();
    }
  }
  const std::uint8_t* Of(const EncodeArgs& args) const {
    return modes[kModes ? (args.e8m0_bias16 + 1) / 64 : 0].data();
  }
};
template <DataType kTo> constexpr BytesToNarrow<kTo> kBytesToNarrow;

template <DataType kFrom, DataType kTo>
HWY_INLINE V8 WindowCodes(V16 a, V16 b, const EncodeArgs& args) {
  using W = Windows<kTo>;
  constexpr bool kSigned = detail::Row(kFrom).has_sign;
  constexpr bool kHasZero = detail::Row(kTo).has_zero;
  const auto magnitude = [](V16 x) HWY_ATTR {
    if constexpr (kSigned && kHasZero) x.raw = _mm512_abs_epi16(x.raw);
    if constexpr (!W::kThird) {
      constexpr short kMost = W::kSecond ? (256 << W::kShift) - 1 : 255;
      x.raw = _mm512_min_epu16(x.raw, _mm512_set1_epi16(kMost));
    }
    return x;
  };
  const V16 x = magnitude(a), y = magnitude(b);
  const __m512i low = LowerBytes(x, y);
  __m512i window = low;
  __mmask64 second = 0, third = 0;
  const auto with_rest = [&](__m512i bytes, __m512i rest) HWY_ATTR {
    return _mm512_or_si512(bytes, _mm512_min_epu8(rest, SetBytes(1)));
  };
  if constexpr (W::kSecond) {
    const __m512i bytes = LowerBytes(hn::ShiftRight<W::kShift>(x), hn::ShiftRight<W::kShift>(y));
    const __m512i upper = UpperBytes(x, y);
    second = _mm512_test_epi8_mask(upper, upper);
    const __m512i rest = _mm512_and_si512(low, SetBytes((1 << W::kShift) - 1));
    window = _mm512_mask_mov_epi8(window, second, with_rest(bytes, rest));
    if constexpr (W::kThird) {
      third = _mm512_cmpge_epu8_mask(upper, SetBytes(W::kLeastInThird));
      window = _mm512_mask_mov_epi8(window, third, with_rest(upper, low));
    }
  }
  const std::uint8_t* const table = kBytesToNarrow<kTo>.Of(args);
  V8 code = {_mm512_mask_blend_epi8(_mm512_movepi8_mask(window), LookUp128(table, window),
                                    LookUp128(table + 128, window))};
  const auto further = [&](__mmask64 where, int powers) HWY_ATTR {
    code.raw = _mm512_mask_add_epi8(code.raw, where, code.raw, SetBytes(powers << W::m));
  };
  if constexpr (W::kSecond) further(second, W::kShift);
  if constexpr (W::kThird) further(third, 8 - W::kShift);
  if constexpr (!kHasZero) {
    __mmask64 below = _mm512_testn_epi8_mask(window, window);
    if constexpr (kSigned) below |= _mm512_movepi8_mask(UpperBytes(a, b));
    code.raw = _mm512_mask_mov_epi8(code.raw, below, SetBytes(static_cast<int>(args.e8m0_below)));
    return code;
  }
  code.raw = _mm512_min_epu8(code.raw, SetBytes(static_cast<int>(args.overflow)));
  return kSigned ? JoinSign<kTo>(code.raw, UpperBytes(a, b)) : code;
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_AVX3_DL

#endif  // TENSORCAST_SRC_CORE_BYTE_TABLES_INL_H_
