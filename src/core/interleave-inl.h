// Codes so placed that bytes looked up by them interleave to wider results in order. Included per
// target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_INTERLEAVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_INTERLEAVE_INL_H_
#undef TENSORCAST_SRC_CORE_INTERLEAVE_INL_H_
#else
#define TENSORCAST_SRC_CORE_INTERLEAVE_INL_H_
#endif

#include <array>

#include "core/halves-inl.h"
#include "core/packed-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

inline constexpr std::size_t kCodes = kLanesOf<std::uint8_t>;  // looked up at once
inline constexpr std::size_t kBlocks = kCodes / 16;  // of 16 bytes, within which bytes interleave

// Interleaving works within blocks. So that results of kWidth bytes come out in order, the codes
// of block L, vector v stand at 16 L + (16 / kWidth) v before it. The element whose code stands
// somewhere:
template <std::size_t kWidth> constexpr std::size_t ElementAt(std::size_t at) {
  constexpr std::size_t kPiece = 16 / kWidth;
  const std::size_t block = at / 16, vector = at % 16 / kPiece;
  return kCodes / kWidth * vector + kPiece * block + at % kPiece;
}

template <std::size_t kWidth> HWY_INLINE V8 Spread(V8 codes) {
  [[maybe_unused]] constexpr std::size_t kPiece = 16 / kWidth;
  const D8 d8;
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (kWidth == 1) return codes;
  constexpr auto kFrom = [](unsigned at) { return ElementAt<kWidth>(at); };
  return V8{_mm512_permutexvar_epi8(ByteIndices<kFrom>(), codes.raw)};
#else
  if constexpr (kBlocks == 1) {
    return codes;
  } else {
    // Whole lanes of four codes move between blocks; shorter pieces are joined to lanes first.
    constexpr std::size_t kLanePiece = kPiece < 4 ? 16 / kBlocks : kPiece;
    if constexpr (kPiece < 4) {
      alignas(16) static constexpr auto kJoin = [] {
        std::array<std::uint8_t, 16> join{};
        for (std::size_t e = 0; e < 16; ++e) {
          const std::size_t vector = e / (kPiece * kBlocks), block = e / kPiece % kBlocks;
          join[16 / kBlocks * block + kPiece * vector + e % kPiece] = static_cast<std::uint8_t>(e);
        }
        return join;
      }();
      codes = hn::TableLookupBytes(codes, hn::LoadDup128(d8, kJoin.data()));
    }
    alignas(64) static constexpr auto kFrom = [] {
      std::array<std::int32_t, kCodes / 4> from{};
      for (std::size_t at = 0; at < kCodes / 4; ++at) {
        const std::size_t block = at * 4 / 16, byte = at * 4 % 16;
        const std::size_t vector = byte / kLanePiece;
        const std::size_t element = kPiece < 4
                                        ? 16 * vector + kLanePiece * block + byte % kLanePiece
                                        : ElementAt<kWidth>(4 * at);
        from[at] = static_cast<std::int32_t>(element / 4);
      }
      return from;
    }();
    const D32 d32;
    return hn::BitCast(
        d8, hn::TableLookupLanes(hn::BitCast(d32, codes), hn::SetTableIndices(d32, kFrom.data())));
  }
#endif
}

// A vector of codes so spread.
template <int kBits, std::size_t kWidth> HWY_INLINE V8 LoadSpread(const std::byte* in) {
#if HWY_TARGET == HWY_AVX2
  if constexpr (kBits == 4) {
    // Packed bytes move to the lanes of their codes before these are separated.
    alignas(32) static constexpr auto kFrom = [] {
      std::array<std::uint8_t, 32> from{};
      for (std::size_t at = 0; at < 32; ++at) {
        from[at] = static_cast<std::uint8_t>(at % 2 == 0 ? ElementAt<kWidth>(at) / 2 : 0x80);
      }
      return from;
    }();
    const auto place = _mm256_load_si256(reinterpret_cast<const __m256i*>(kFrom.data()));
    const __m256i read =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
    return CodesOfBytes<kBits>(hn::VFromD<LaneOfByte<kBits>>{_mm256_shuffle_epi8(read, place)});
  }
  // Bytes read from elsewhere stand in the block that they go to: nothing crosses.
  if constexpr (kBits == 8 && kWidth <= 4) {
    const __m256i all = Load(D8(), in).raw;
    if constexpr (kWidth == 2) return V8{_mm256_blend_epi32(all, LoadToBothBlocks(in + 8), 0x3C)};
    if constexpr (kWidth == 4) {
      const __m256i others =
          _mm256_blend_epi32(LoadToBothBlocks(in + 12), LoadToBothBlocks(in + 4), 0xF0);
      return V8{_mm256_shuffle_epi32(_mm256_blend_epi32(all, others, 0x5A), 0xD8)};
    }
  }
#elif HWY_TARGET == HWY_AVX3_DL
  if constexpr (kBits == 6 && kWidth <= 4) return LoadSixBits<ElementAt<kWidth>>(in);
#endif
  return Spread<kWidth>(LoadCodes<kBits>(in));
}

// The bytes of two planes side by side, and so on for wider lanes: the lower and upper halves of
// each block.
template <class D, class V> HWY_INLINE hn::VFromD<hn::RepartitionToWide<D>> Lower(D d, V a, V b) {
  return hn::BitCast(hn::RepartitionToWide<D>(), hn::InterleaveLower(d, a, b));
}
template <class D, class V> HWY_INLINE hn::VFromD<hn::RepartitionToWide<D>> Upper(D d, V a, V b) {
  return hn::BitCast(hn::RepartitionToWide<D>(), hn::InterleaveUpper(d, a, b));
}

// Lanes widened by their sign to two vectors.
template <class D, class V>
HWY_INLINE void ExtendSign(D d, V v, hn::VFromD<hn::RepartitionToWide<D>>* out) {
  const V sign = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(hn::RebindToSigned<D>(), v)));
  out[0] = Lower(d, v, sign);
  out[1] = Upper(d, v, sign);
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TENSORCAST_SRC_CORE_INTERLEAVE_INL_H_
