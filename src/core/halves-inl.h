// Encoding in 16-bit lanes: float32 to bfloat16, and narrow floats from bfloat16 rounded to odd.
// Included per target.
//
// bfloat16 has float32's exponents and eight digits; a float of at most eight bits has at most
// four. Rounded to odd into bfloat16, a value keeps all that one rounding to the narrow float needs
// (OddIsExact in route.h), and twice as many elements fit a vector.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_HALVES_INL_H_
#undef TENSORCAST_SRC_CORE_HALVES_INL_H_
#else
#define TENSORCAST_SRC_CORE_HALVES_INL_H_
#endif

#include "core/lanes-inl.h"
#include "core/route.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

using V8 = hn::VFromD<D8>;
using V16 = hn::VFromD<D16>;
using V32 = hn::VFromD<D32>;
using V64 = hn::VFromD<D64>;
using VF32 = hn::VFromD<DF32>;
using VF64 = hn::VFromD<DF64>;

// ------------------------------------------------------------------------------------- narrowing

// AVX2 packs within its two blocks: elements that have been packed stand in another order until
// they are put back, once, before they are stored. Everywhere else lanes stay in order. Words stand
// in AVX2's order of the halves of 64 bits (wide_halves-inl.h) and have then been packed once. As
// packed: whoever asked for it puts them back.
enum class Order : std::uint8_t { kElements, kPackedOnce, kWords, kAsPacked };

// The low or upper halves of two vectors' lanes.
HWY_INLINE V16 LowHalves(V32 a, V32 b) {
#if HWY_TARGET == HWY_AVX2
  const __m256i zero = _mm256_setzero_si256();
  return V16{_mm256_packus_epi32(_mm256_blend_epi16(a.raw, zero, 0xAA),
                                 _mm256_blend_epi16(b.raw, zero, 0xAA))};
#else
  const D16 d;
  return hn::ConcatEven(d, hn::BitCast(d, b), hn::BitCast(d, a));
#endif
}
HWY_INLINE V16 UpperHalves(V32 a, V32 b) {
#if HWY_TARGET == HWY_AVX2
  return V16{_mm256_packus_epi32(_mm256_srli_epi32(a.raw, 16), _mm256_srli_epi32(b.raw, 16))};
#else
  const D16 d;
  return hn::ConcatOdd(d, hn::BitCast(d, b), hn::BitCast(d, a));
#endif
}
// Both.
struct HalfPlanes {
  V16 lower, upper;
};
HWY_INLINE HalfPlanes SplitHalves(V32 a, V32 b) {
#if HWY_TARGET == HWY_AVX2
  // Packing one and the other takes six steps.
  const __m256i apart = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  const __m256i first = _mm256_shuffle_epi8(a.raw, apart);
  const __m256i second = _mm256_shuffle_epi8(b.raw, apart);
  return {V16{_mm256_unpacklo_epi64(first, second)}, V16{_mm256_unpackhi_epi64(first, second)}};
#else
  return {LowHalves(a, b), UpperHalves(a, b)};
#endif
}
// What these leave behind, in order.
HWY_INLINE V16 InOrder(V16 packed_once) {
#if HWY_TARGET == HWY_AVX2
  return V16{_mm256_permute4x64_epi64(packed_once.raw, 0xD8)};
#else
  return packed_once;
#endif
}

#if TENSORCAST_PACKS
// Bytes packed from two vectors of 16-bit lanes, in order.
template <Order kOrder, class Raw> HWY_INLINE V8 BytesInOrder(Raw packed) {
  if constexpr (kOrder == Order::kAsPacked) return V8{packed};
#if TENSORCAST_AVX512
  static_assert(kOrder != Order::kWords);
  return V8{_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), packed)};
#else
  if constexpr (kOrder == Order::kPackedOnce) {
    return V8{_mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))};
  } else {
    const __m256i pairs = _mm256_permute4x64_epi64(packed, 0xD8);
    if constexpr (kOrder == Order::kElements) return V8{pairs};
    return V8{
        _mm256_shuffle_epi8(pairs, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                       0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15)))};
  }
#endif
}

#if HWY_TARGET == HWY_AVX2
// Bytes whose first unit of kUnit is the lower block's first, the second the upper block's, and so
// on, in order.
template <std::size_t kUnit> HWY_INLINE __m256i UnitsInOrder(__m256i bytes) {
  if constexpr (kUnit == 4) return BytesInOrder<Order::kPackedOnce>(bytes).raw;
  if constexpr (kUnit == 2) return BytesInOrder<Order::kWords>(bytes).raw;
  const __m256i pairs = _mm256_permute4x64_epi64(bytes, 0xD8);
  if constexpr (kUnit == 8) return pairs;
  const __m128i order = _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  return _mm256_shuffle_epi8(pairs, _mm256_broadcastsi128_si256(order));
}
#endif

// The signs of two vectors of 16-bit lanes as those of bytes, packed.
HWY_INLINE V8 SignBytes(V16 a, V16 b) {
#if TENSORCAST_AVX512
  return V8{_mm512_packs_epi16(a.raw, b.raw)};
#else
  return V8{_mm256_packs_epi16(a.raw, b.raw)};
#endif
}

// Codes from magnitudes and from bytes that have their signs, both packed, in order.
template <DataType kType, Order kOrder> HWY_INLINE V8 JoinSignBytes(V8 magnitude, V8 sign) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const D8 d;
  const D16 d16;
  V8 sign_bit = hn::Set(d, std::uint8_t{0x80});
  if constexpr (row.is_fnuz()) {  // none where the magnitude is zero
#if HWY_TARGET == HWY_AVX2
    sign_bit.raw = _mm256_sign_epi8(sign_bit.raw, magnitude.raw);
#else
    sign_bit = hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(d)), sign_bit);
#endif
  }
  sign = hn::And(sign, sign_bit);
  if constexpr (row.bits < 8) {
    sign = hn::BitCast(d, hn::ShiftRight<8 - row.bits>(hn::BitCast(d16, sign)));
  }
  return BytesInOrder<kOrder>(hn::Or(magnitude, sign).raw);
}
#endif

#if TENSORCAST_AVX2
// Two vectors of signed integers to half the width, saturating to that width, of either sign; lanes
// as kPackedOnce has them.
template <bool kSigned> HWY_INLINE V16 PackWords(V32 a, V32 b) {
#if TENSORCAST_AVX512
  return V16{kSigned ? _mm512_packs_epi32(a.raw, b.raw) : _mm512_packus_epi32(a.raw, b.raw)};
#else
  return V16{kSigned ? _mm256_packs_epi32(a.raw, b.raw) : _mm256_packus_epi32(a.raw, b.raw)};
#endif
}
HWY_INLINE V16 PackedInOrder(V16 packed) {
#if TENSORCAST_AVX512
  return V16{_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), packed.raw)};
#else
  return InOrder(packed);
#endif
}
// Four vectors to bytes, in order.
template <bool kSigned> HWY_INLINE V8 PackToBytes(const V32* words) {
  const V16 a = PackWords<true>(words[0], words[1]), b = PackWords<true>(words[2], words[3]);
#if TENSORCAST_AVX512
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return V8{_mm512_permutexvar_epi32(
      order, kSigned ? _mm512_packs_epi16(a.raw, b.raw) : _mm512_packus_epi16(a.raw, b.raw))};
#else
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  return V8{_mm256_permutevar8x32_epi32(
      kSigned ? _mm256_packs_epi16(a.raw, b.raw) : _mm256_packus_epi16(a.raw, b.raw), order)};
#endif
}
#endif

#if TENSORCAST_AVX512
// Integers brought to 0 to kMost, signed ones to -kMost - 1 to kMost.
template <bool kSigned, int kMost, class D, class V> HWY_INLINE V Clamped(D d, V x) {
  if constexpr (!kSigned) return hn::Min(x, hn::Set(d, kMost));
  const hn::RebindToSigned<D> di;
  const auto below = hn::Min(hn::BitCast(di, x), hn::Set(di, kMost));
  return hn::BitCast(d, hn::Max(below, hn::Set(di, -kMost - 1)));
}
// 16 integers of 32 or 64 bits, saturated to 32.
template <DataType kFrom> HWY_INLINE V32 SaturatedWords(const std::byte* in) {
  if constexpr (detail::Row(kFrom).bits == 32) {
    return Load(D32(), in);
  } else if constexpr (detail::Row(kFrom).has_sign) {
    const __m256i low = _mm512_cvtsepi64_epi32(_mm512_loadu_si512(in));
    const __m256i high = _mm512_cvtsepi64_epi32(_mm512_loadu_si512(in + 64));
    return V32{_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1)};
  } else {  // without inserting
    const D32 d;
    const auto least = [](V64 x) HWY_ATTR { return hn::Min(x, hn::Set(D64(), UINT32_MAX)); };
    return hn::ConcatEven(d, hn::BitCast(d, least(Load(D64(), in + 64))),
                          hn::BitCast(d, least(Load(D64(), in))));
  }
}
#endif

// 16-bit lanes below 256 as bytes, in order.
template <Order kOrder> HWY_INLINE V8 Bytes(V16 a, V16 b) {
#if TENSORCAST_AVX512
#if HWY_TARGET == HWY_AVX3_DL
  constexpr auto kEven = [](unsigned i) { return 2 * i; };
  return V8{_mm512_permutex2var_epi8(a.raw, ByteIndices<kEven>(), b.raw)};
#else
  return BytesInOrder<kOrder>(_mm512_packus_epi16(a.raw, b.raw));
#endif
#elif HWY_TARGET == HWY_AVX2
  return BytesInOrder<kOrder>(_mm256_packus_epi16(a.raw, b.raw));
#else
  const D8 d;
  return hn::ConcatEven(d, hn::BitCast(d, b), hn::BitCast(d, a));
#endif
}

// ------------------------------------------------------------------------------------- bfloat16

// float32 to bfloat16, cut, with the last bit set where something was cut.
HWY_INLINE V16 OddBfloat16(V16 upper, V16 lower) {
  return hn::Or(upper, hn::Min(lower, hn::Set(D16(), std::uint16_t{1})));
}
HWY_INLINE V16 OddBfloat16(V32 a, V32 b) {
  const HalfPlanes halves = SplitHalves(a, b);
  return OddBfloat16(halves.upper, halves.lower);
}

// float32 to bfloat16, to nearest with ties to even, where nothing is NaN: the half above grows
// where the half below, with the last bit kept joined to it, lies above the middle.
HWY_INLINE V16 NearestBfloat16(V16 upper, V16 low) {
  const D16 d;
#if TENSORCAST_AVX512
  const __m512i one = _mm512_set1_epi16(1);
  const __m512i above = _mm512_ternarylogic_epi32(low.raw, upper.raw, one, 0xF8);  // a | (b & c)
  const __mmask32 grows = _mm512_cmpgt_epu16_mask(above, _mm512_set1_epi16(-0x8000));
  return V16{_mm512_mask_add_epi16(upper.raw, grows, upper.raw, one)};
#else
  const hn::RebindToSigned<D16> di;
  const V16 above = hn::Or(hn::Xor(low, hn::Set(d, std::uint16_t{0x8000})),
                           hn::And(upper, hn::Set(d, std::uint16_t{1})));
  const auto grows = hn::Gt(hn::BitCast(di, above), hn::Zero(di));
  return hn::Sub(upper, hn::BitCast(d, hn::VecFromMask(di, grows)));
#endif
}
HWY_INLINE V16 NearestBfloat16(V32 a, V32 b) {
  const HalfPlanes halves = SplitHalves(a, b);
  return NearestBfloat16(halves.upper, halves.lower);
}

// bfloat16 magnitudes from this on are Inf or NaN.
inline constexpr std::uint16_t kBfloat16Infinity = 0x7F80;

// float16 to bfloat16 rounded to odd, but for float16's Inf and NaN, and subnormals, which become
// other values of at most 2^-14: for destinations that round all of these to zero.
HWY_INLINE V16 OddBfloat16FromFloat16(V16 code) {
  const D16 d;
  const auto set = [d](std::uint16_t value) HWY_ATTR { return hn::Set(d, value); };
  const V16 sign = hn::And(code, set(0x8000));
  const V16 magnitude = hn::And(code, set(0x7FFF));
  const V16 cut = hn::Min(hn::And(code, set(7)), set(1));
  const V16 value = hn::Add(hn::Or(hn::ShiftRight<3>(magnitude), cut), set((127 - 15) << 7));
  return hn::Or(value, sign);
}

// ---------------------------------------------------------------------------------- narrow floats

// The magnitude of a bfloat16 rounded to odd, neither Inf nor NaN, to that of a narrow float's
// code, in 16-bit lanes.
//
// With the code's last bit at bit 8 a magnitude is (a - bias) << (1 + m) where the code is normal,
// and its significand shifted by its exponent where it is subnormal; both are rounded alike.
template <DataType kType> HWY_INLINE V16 NarrowMagnitude(V16 magnitude, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kType);
  constexpr int m = row.mantissa_bits;
  static_assert(row.has_zero && OddIsExact(detail::Row(DataType::kBfloat16), row));
  const D16 d;
  const auto set = [d](int bits) HWY_ATTR { return hn::Set(d, static_cast<std::uint16_t>(bits)); };
  constexpr int kRebias = (127 - row.bias) << 7;
  constexpr int kLeastNormal = kRebias + (1 << 7);
  // The exponent field at which the significand, 128 and more, already stands in its place.
  constexpr int kUnshifted = 127 - row.bias - m;
  const V16 a = hn::Min(magnitude, set(static_cast<int>(args.narrow_most)));
  const V16 normal = hn::ShiftLeft<1 + m>(hn::Sub(a, set(kRebias)));
  const V16 significand = hn::Or(hn::And(a, set(0x7F)), set(0x80));
  // Powers of two by a byte table: the upper bytes, and exponents below, look up zero.
  const D8 d8;
  alignas(16) static constexpr std::uint8_t kPowers[16] = {1, 2, 4, 8, 16, 32, 64, 128};
  const auto shift =
      hn::Sub(hn::BitCast(d8, hn::ShiftRight<7>(a)), hn::BitCast(d8, set(0x8000 | kUnshifted)));
  const auto power = hn::TableLookupBytesOr0(hn::LoadDup128(d8, kPowers), shift);
  const hn::RebindToSigned<D16> di;
  const V16 subnormal =
      hn::BitCast(d, hn::Mul(hn::BitCast(di, significand), hn::BitCast(di, hn::BitCast(d, power))));
  const auto is_normal = hn::Gt(hn::BitCast(di, a), hn::Set(di, std::int16_t{kLeastNormal - 1}));
  const V16 fields = hn::IfThenElse(hn::RebindMask(d, is_normal), normal, subnormal);
  const V16 last = hn::And(hn::ShiftRight<8>(fields), set(1));
  return hn::ShiftRight<8>(hn::Add(hn::Add(fields, set(0x7F)), last));
}

#if TENSORCAST_PACKS
// The same where zero and numbers of at least 1 are all there is, none of which a narrow float has
// as a subnormal.
template <DataType kType> HWY_INLINE V16 NarrowInteger(V16 magnitude, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kType);
  static_assert(row.has_zero && row.bias >= 1);
  constexpr int kShift = 7 - row.mantissa_bits;
  const D16 d;
  const auto set = [d](int bits) HWY_ATTR { return hn::Set(d, static_cast<std::uint16_t>(bits)); };
  const V16 most = set(static_cast<int>(args.narrow_most));
  const V16 fields = hn::SaturatedSub(hn::Min(magnitude, most), set((127 - row.bias) << 7));
  const V16 last = hn::And(hn::ShiftRight<kShift>(fields), set(1));
  return hn::ShiftRight<kShift>(hn::Add(hn::Add(fields, set((1 << (kShift - 1)) - 1)), last));
}

// The codes of two vectors of magnitudes and of lanes that have their signs, in order.
template <DataType kType, Order kOrder>
HWY_INLINE V8 JoinSigns(V16 low, V16 high, V16 low_sign, V16 high_sign) {
#if TENSORCAST_AVX512
  const V8 magnitude = {_mm512_packus_epi16(low.raw, high.raw)};
#else
  const V8 magnitude = {_mm256_packus_epi16(low.raw, high.raw)};
#endif
  return JoinSignBytes<kType, kOrder>(magnitude, SignBytes(low_sign, high_sign));
}
#endif

// The code itself.
template <DataType kType> HWY_INLINE V16 Bfloat16ToNarrow(V16 value, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kType);
  const D16 d;
  const auto set = [d](int bits) HWY_ATTR { return hn::Set(d, static_cast<std::uint16_t>(bits)); };
  const V16 code = NarrowMagnitude<kType>(hn::And(value, set(0x7FFF)), args);
  constexpr int kSign = 1 << (row.bits - 1);
  V16 sign = hn::And(hn::ShiftRight<16 - row.bits>(value), set(kSign));
  if constexpr (row.is_fnuz()) sign = hn::IfThenZeroElse(hn::Eq(code, hn::Zero(d)), sign);
  return hn::Or(code, sign);
}

// float16, neither Inf nor NaN, to the narrow floats with its exponents or one fewer below: the
// upper byte, rounded.
template <DataType kType> HWY_INLINE V16 Float16ToFiveExponents(V16 value, const EncodeArgs& args) {
  constexpr const TypeInfo& row = detail::Row(kType);
  static_assert(row.mantissa_bits == 2 && (row.bias == 15 || row.bias == 16));
  const D16 d;
  const auto set = [d](std::uint32_t bits)
                       HWY_ATTR { return hn::Set(d, static_cast<std::uint16_t>(bits)); };
  V16 fields = hn::And(value, set(0x7FFF));
  if constexpr (row.bias == 16) fields = hn::Add(fields, hn::Min(fields, set(0x400)));
  fields = hn::Min(fields, set(args.overflow << 8));
  const V16 last = hn::And(hn::ShiftRight<8>(fields), set(1));
  const V16 code = hn::ShiftRight<8>(hn::Add(hn::Add(fields, set(0x7F)), last));
  V16 sign = hn::And(hn::ShiftRight<8>(value), set(0x80));
  if constexpr (row.is_fnuz()) sign = hn::IfThenZeroElse(hn::Eq(code, hn::Zero(d)), sign);
  return hn::Or(code, sign);
}

// bfloat16 rounded to odd, NaN too, to float8e8m0: Float32ToE8M0 in 16 bits.
HWY_INLINE V16 Bfloat16ToE8M0(V16 value, const EncodeArgs& args) {
  const D16 d;
  const hn::RebindToSigned<D16> di;
  const auto set = [d](std::uint32_t bits)
                       HWY_ATTR { return hn::Set(d, static_cast<std::uint16_t>(bits)); };
  const V16 magnitude = hn::And(value, set(0x7FFF));
  // Signed, which magnitudes are too: AVX2 and SSE compare no others.
  const auto above = [&](std::uint32_t bits) HWY_ATTR {
    const auto limit = hn::BitCast(di, set(bits));
    return hn::RebindMask(d, hn::Gt(hn::BitCast(di, magnitude), limit));
  };
  V16 code = hn::ShiftRight<7>(hn::Add(magnitude, set(args.e8m0_bias16)));
  code = hn::IfThenElseZero(above(args.e8m0_least16), code);
  code = hn::IfThenElse(above((127 + 127) << 7), set(args.e8m0_above), code);
  const auto below =
      hn::RebindMask(d, hn::Lt(hn::BitCast(di, value), hn::Set(di, std::int16_t{0x40})));
  code = hn::IfThenElse(below, set(args.e8m0_below), code);
  return hn::IfThenElse(above(kBfloat16Infinity), set(0xFF), code);
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_HALVES_INL_H_
