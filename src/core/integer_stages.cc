// Integers and bool among each other in lanes, modulo 2^width: kernels by width and sign.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/integer_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include <algorithm>
#include <type_traits>

#include "core/bool_steps-inl.h"
#include "core/halves-inl.h"
#include "core/packed-inl.h"
#include "core/route.h"
#include "core/stages-inl.h"
#include "core/wide_halves-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

// An integer as a kernel sees it: width and sign are all that matters. Sub-byte codes stand one a
// byte.
struct IntegerShape {
  int bits;
  bool has_sign;
  bool is_bool;
  constexpr int carrier_bits() const { return bits < 8 ? 8 : bits; }
};

template <int kBits>
using CarrierOf = std::conditional_t<
    kBits <= 8, std::uint8_t,
    std::conditional_t<kBits == 16, std::uint16_t,
                       std::conditional_t<kBits == 32, std::uint32_t, std::uint64_t>>>;

// Lanes of T widened to those of D, a step at a time where there is no single one.
template <bool kSigned, class D, class DFrom, class V>
HWY_INLINE hn::VFromD<D> Widen(D d, DFrom from, V v) {
  using T = hn::TFromD<D>;
  using TFrom = hn::TFromD<DFrom>;
  if constexpr (sizeof(T) == sizeof(TFrom)) {
    return v;
  } else if constexpr (sizeof(T) == 8 && sizeof(TFrom) < 4) {
    const Like<std::uint32_t, D> middle;
    return Widen<kSigned>(d, middle, Widen<kSigned>(middle, from, v));
  } else if constexpr (kSigned) {
    const hn::RebindToSigned<D> di;
    const hn::RebindToSigned<DFrom> from_signed;
    return hn::BitCast(d, hn::PromoteTo(di, hn::BitCast(from_signed, v)));
  } else {
    return hn::PromoteTo(d, v);
  }
}

// One vector of the wider side.
template <IntegerShape kFrom, IntegerShape kTo>
HWY_INLINE void ConvertIntegerStep(const std::byte* in, std::byte* out) {
  using From = CarrierOf<kFrom.carrier_bits()>;
  using To = CarrierOf<kTo.carrier_bits()>;
  using Wide = std::conditional_t<(sizeof(From) > sizeof(To)), From, To>;
  const hn::ScalableTag<Wide> d;
  const Like<From, decltype(d)> from;
  const Like<To, decltype(d)> to;
  auto code = Load(from, in);
  if constexpr (kFrom.is_bool) {
    code = hn::Min(code, hn::Set(from, From{1}));  // any byte but 0 is true
  } else if constexpr (kFrom.bits < 8 && kFrom.has_sign && !kTo.is_bool) {
    const auto sign = hn::Set(from, static_cast<From>(1 << (kFrom.bits - 1)));
    code = hn::Sub(hn::Xor(code, sign), sign);
  }
  if constexpr (kTo.is_bool) {
    const auto nonzero = hn::Ne(code, hn::Zero(from));
    const auto one = hn::IfThenElseZero(nonzero, hn::Set(from, From{1}));
    Store(Narrow<std::uint8_t>(from, one), to, out);
  } else {
    const auto wide = Widen<kFrom.has_sign>(d, from, code);
    auto result = Narrow<To>(d, wide);
    if constexpr (kTo.bits < 8) {
      result = hn::And(result, hn::Set(to, static_cast<To>((1 << kTo.bits) - 1)));
    }
    Store(result, to, out);
  }
}

#if HWY_TARGET == HWY_AVX2
// 32 integers to bool: zero gives all ones, which packing keeps at every width.
template <std::size_t kBytes> HWY_INLINE void TruthStep(const std::byte* in, std::byte* out) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i lanes[kBytes];
  for (std::size_t i = 0; i < kBytes; ++i) {
    const __m256i x = Load(D8(), in + 32 * i).raw;
    lanes[i] = kBytes == 8   ? _mm256_cmpeq_epi64(x, zero)
               : kBytes == 4 ? _mm256_cmpeq_epi32(x, zero)
                             : _mm256_cmpeq_epi16(x, zero);
  }
  for (std::size_t n = kBytes / 2; n != 0; n /= 2) {
    for (std::size_t i = 0; i < n; ++i) {
      lanes[i] = _mm256_packs_epi16(lanes[2 * i], lanes[2 * i + 1]);
    }
  }
  constexpr Order kOrder = kBytes == 8   ? Order::kWords
                           : kBytes == 4 ? Order::kPackedOnce
                                         : Order::kElements;
  const V8 is_zero = BytesInOrder<kOrder>(lanes[0]);
  Store(hn::Add(is_zero, hn::Set(D8(), std::uint8_t{1})), D8(), out);
}
#endif

// Integers and bool to integers of fewer than eight bits: their low bits.
template <std::size_t kBytes, int kBits, bool kFromBool>
HWY_INLINE void LowBitsStep(const std::byte* in, std::byte* out) {
  const D8 d8;
  const D16 d16;
  const D32 d32;
  constexpr auto kMask = static_cast<std::uint8_t>((1 << kBits) - 1);
  const auto load = [in](auto d, std::size_t i)
                        HWY_ATTR { return Load(d, in + i * HWY_MAX_BYTES); };
  V8 codes;
  if constexpr (kBytes == 1) {
    codes = kFromBool ? hn::Min(load(d8, 0), hn::Set(d8, std::uint8_t{1}))
                      : hn::And(load(d8, 0), hn::Set(d8, kMask));
  } else if constexpr (kBytes == 2) {
    const V16 mask = hn::Set(d16, std::uint16_t{kMask});
    codes = Bytes<Order::kElements>(hn::And(load(d16, 0), mask), hn::And(load(d16, 1), mask));
#if HWY_TARGET == HWY_AVX3_DL
  } else if constexpr (kBytes == 8) {
    // The low bytes of eight vectors into one lane after the other, then to their places.
    __m512i lanes[8];
    for (std::size_t i = 0; i < 8; ++i) lanes[i] = _mm512_loadu_si512(in + 64 * i);
    for (unsigned bits = 8; bits < 64; bits *= 2) {
      const __m512i above = _mm512_set1_epi64(static_cast<long long>(~0ull << bits));
      for (std::size_t i = 0; i < 32 / bits; ++i) {
        constexpr int kChoose = 0xD8;  // the second above, the first below
        const __m512i second = _mm512_slli_epi64(lanes[2 * i + 1], bits);
        lanes[i] = _mm512_ternarylogic_epi64(lanes[2 * i], second, above, kChoose);
      }
    }
    constexpr auto kPlace = [](unsigned i) { return i % 8 * 8 + i / 8; };
    codes.raw = _mm512_permutexvar_epi8(ByteIndices<kPlace>(), lanes[0]);
    codes = hn::And(codes, hn::Set(d8, kMask));
#endif
  } else {
    const auto word = [&](std::size_t i) HWY_ATTR {
      if constexpr (kBytes == 4)
        return load(d32, i);
      else
        return hn::ConcatEven(d32, load(d32, 2 * i + 1), load(d32, 2 * i));
    };
    const V16 mask = hn::Set(d16, std::uint16_t{kMask});
    codes = Bytes<Order::kPackedOnce>(hn::And(LowHalves(word(0), word(1)), mask),
                                      hn::And(LowHalves(word(2), word(3)), mask));
  }
  StoreCodes<kBits>(codes, out);
}

#if HWY_TARGET == HWY_AVX2
// Eight integers of 64 bits to their low 32.
HWY_INLINE void LowWordsStep(const std::byte* in, std::byte* out) {
  const __m256i words = LoadWordsOf64(in).low;
  Store(V32{_mm256_permute4x64_epi64(words, 0xD8)}, D32(), out);
}

// 16 integers of 64 or 32 bits to their low 16.
template <std::size_t kBytes> HWY_INLINE void LowHalvesStep(const std::byte* in, std::byte* out) {
  if constexpr (kBytes == 8) {
    const V32 first{LoadWordsOf64(in).low}, second{LoadWordsOf64(in + 64).low};
    Store(WordsInOrder(LowHalves(first, second)), D16(), out);
  } else {
    Store(InOrder(LowHalves(Load(D32(), in), Load(D32(), in + 32))), D16(), out);
  }
}

// As many elements as fill a vector.
template <std::size_t kBytes, int kBits, bool kFromBool>
HWY_INLINE void LowBitsVector(const std::byte* in, std::byte* out) {
  constexpr std::size_t kVectors = 8 / kBits;
  const auto load = [in](std::size_t i) HWY_ATTR { return Load(D8(), in + 32 * i).raw; };
  const auto low_bits = [](__m256i x) HWY_ATTR {
    constexpr int kMask = (1 << kBits) - 1;
    if constexpr (kBytes == 1) return _mm256_and_si256(x, _mm256_set1_epi8(kMask));
    if constexpr (kBytes == 2) return _mm256_and_si256(x, _mm256_set1_epi16(kMask));
    return _mm256_and_si256(x, _mm256_set1_epi32(kMask));
  };
  const auto half = [&](std::size_t i) HWY_ATTR {
    const auto word = [&](std::size_t j) HWY_ATTR {
      if constexpr (kBytes == 4) return low_bits(load(j));
      const __m256 first = _mm256_castsi256_ps(load(2 * j));
      const __m256 second = _mm256_castsi256_ps(load(2 * j + 1));
      return low_bits(_mm256_castps_si256(_mm256_shuffle_ps(first, second, 0x88)));
    };
    if constexpr (kBytes == 2) return low_bits(load(i));
    return _mm256_packus_epi32(word(2 * i), word(2 * i + 1));
  };
  const auto pairs = [](__m256i codes, int unit) HWY_ATTR {
    return _mm256_maddubs_epi16(codes, _mm256_set1_epi16(static_cast<short>(unit << 8 | 1)));
  };
  __m256i joined[kVectors];
  for (std::size_t i = 0; i < kVectors; ++i) {
    __m256i codes;
    if constexpr (kBytes == 1) {
      codes = kFromBool ? _mm256_min_epu8(load(i), _mm256_set1_epi8(1)) : low_bits(load(i));
    } else {
      codes = _mm256_packus_epi16(half(2 * i), half(2 * i + 1));
      // What is to be joined stands side by side.
      if constexpr (kBytes == 8 && kBits == 2) codes = UnitsInOrder<2>(codes);
    }
    joined[i] = kBits == 8 ? codes : pairs(codes, 1 << kBits);
  }
  // Packing leaves as many elements side by side as a block has of the source's width.
  constexpr std::size_t kElements = kBytes == 8 && kBits == 2 ? 16 : 16 / kBytes;
  __m256i bytes;
  if constexpr (kBits == 8) {
    bytes = joined[0];
  } else if constexpr (kBits == 4) {
    bytes = _mm256_packus_epi16(joined[0], joined[1]);
  } else {
    bytes = _mm256_packus_epi16(pairs(_mm256_packus_epi16(joined[0], joined[1]), 16),
                                pairs(_mm256_packus_epi16(joined[2], joined[3]), 16));
  }
  Store(V8{UnitsInOrder<kElements * kBits / 8>(bytes)}, D8(), out);
}
#endif

template <std::size_t kBytes, int kBits, bool kFromBool>
void LowBitsStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  constexpr int kInBits = 8 * int{kBytes};
#if HWY_TARGET == HWY_AVX2
  ForWholeSteps<kInBits, kBits, 256 / kBits>(
      in, out, n, []() HWY_ATTR { return LowBitsVector<kBytes, kBits, kFromBool>; });
#endif
  ForEachStep<kInBits, kBits, kLanesOf<std::uint8_t>>(in, out, n,
                                                      LowBitsStep<kBytes, kBits, kFromBool>);
}

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
#if HWY_TARGET == HWY_AVX2
  if constexpr (kFrom.is_bool && kTo.bits >= 16) {
    using To = CarrierOf<kTo.bits>;
    return ForEachStep<8, kTo.bits, kBools>(in, out, n, BoolPartStep<To, To{1}>);
  }
  if constexpr (kFrom.bits == 64 && kTo.bits == 32) {
    return ForEachVector<8, 4, 8>(in, out, n, LowWordsStep);
  }
  if constexpr (kFrom.bits >= 32 && kTo.bits == 16) {
    constexpr auto kBytes = static_cast<std::size_t>(kFrom.bits) / 8;
    return ForEachVector<kBytes, 2, 16>(in, out, n, LowHalvesStep<kBytes>);
  }
  if constexpr (kFrom.bits >= 16 && kTo.bits == 8 && !kTo.is_bool) {
    constexpr auto kBytes = static_cast<std::size_t>(kFrom.bits) / 8;
    return ForEachVector<kBytes, 1, 32>(in, out, n, LowBitsVector<kBytes, 8, false>);
  }
  if constexpr (kTo.is_bool && kFrom.bits >= 16) {
    constexpr auto kBytes = static_cast<std::size_t>(kFrom.bits) / 8;
    return ForEachVector<kBytes, 1, 32>(in, out, n, TruthStep<kBytes>);
  }
#elif TENSORCAST_AVX512
  if constexpr (kTo.is_bool && kFrom.bits == 64) {
    return ForEachVector<8, 1, 64>(in, out, n, TruthStep64<-1>);
  }
#endif
  using Wide = CarrierOf<std::max(kFrom.carrier_bits(), kTo.carrier_bits())>;
  ForEachVector<kFrom.carrier_bits() / 8, kTo.carrier_bits() / 8, kLanesOf<Wide>>(
      in, out, n, ConvertIntegerStep<kFrom, kTo>);
}

}  // namespace

void FillIntegerStages(Kernels* kernels) {
  ForEachPair([kernels](auto from, auto to) {
    constexpr const TypeInfo& from_row = detail::kTypeTable[decltype(from)::value];
    constexpr const TypeInfo& to_row = detail::kTypeTable[decltype(to)::value];
    if constexpr (IsInteger(from_row) && IsInteger(to_row) && from_row.type != to_row.type) {
      constexpr IntegerShape kFrom = SourceShape(from_row, to_row);
      constexpr IntegerShape kTo = DestinationShape(to_row);
      if constexpr (kFrom.bits != kTo.bits || kFrom.is_bool || kTo.is_bool) {
        kernels->integer[from][to] = &ConvertIntegerStage<kFrom, kTo>;
      }
      if constexpr (kFrom.bits >= 8 && kTo.bits < 8) {
        kernels->direct[from][to] =
            &LowBitsStage<static_cast<std::size_t>(kFrom.bits) / 8, kTo.bits, kFrom.is_bool>;
      }
    }
  });
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
