// The largest magnitudes of cells: one cell after the other, or in AVX2 and AVX-512 a vector of
// each of many cells, which are reduced at once. Included once per target, after quotients-inl.h.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_SCALE_LARGEST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_SCALE_LARGEST_INL_H_
#undef TENSORCAST_SRC_SCALE_LARGEST_INL_H_
#else
#define TENSORCAST_SRC_SCALE_LARGEST_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/lanes-inl.h"
#include "hwy/highway.h"
#include "scale/quotients-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::scale::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX2
// What an unsigned maximum of vectors is made of.
template <std::size_t kBytes> struct Maxima {
  using Lane = std::conditional_t<kBytes == 2, std::uint16_t, std::uint32_t>;
  using Bits = decltype(hn::Zero(hn::ScalableTag<Lane>()).raw);

  static HWY_INLINE Bits Of(Bits a, Bits b) {
    using V = hn::Vec<hn::ScalableTag<Lane>>;
    return hn::Max(V{a}, V{b}).raw;
  }
  // Of the lanes of a and those of b, in turn: half as many of each.
  static HWY_INLINE Bits Of16(Bits a, Bits b) { return OfLanes<std::uint16_t>(a, b); }
  static HWY_INLINE Bits Of32(Bits a, Bits b) { return OfLanes<std::uint32_t>(a, b); }
  static HWY_INLINE Bits Of64(Bits a, Bits b) { return OfLanes<std::uint64_t>(a, b); }
  static HWY_INLINE Bits Of128(Bits a, Bits b) {
#if HWY_TARGET <= HWY_AVX3
    return Of(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xDD));
#else
    return Of(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
#endif
  }

 private:
  template <class T> static HWY_INLINE Bits OfLanes(Bits a, Bits b) {
    const hn::ScalableTag<T> d;
    const hn::Vec<decltype(d)> from_a{a}, from_b{b};
    return Of(hn::InterleaveLower(d, from_a, from_b).raw,
              hn::InterleaveUpper(d, from_a, from_b).raw);
  }
};

template <std::size_t kBytes> HWY_INLINE auto MagnitudesAt(const std::byte* x) {
  using Lane = typename Maxima<kBytes>::Lane;
  const hn::ScalableTag<Lane> d;
  const auto bits = hn::LoadU(d, reinterpret_cast<const Lane*>(x));
  return hn::And(bits, hn::Set(d, static_cast<Lane>(std::numeric_limits<Lane>::max() / 2))).raw;
}

// The largest lanes of as many vectors as vector(i) gives ones of, in order: of 128 bits each one
// lane of every vector, then of two such, then of four.
template <std::size_t kBytes, class Vector> HWY_INLINE auto LargestOfBlocks(const Vector& vector) {
  using M = Maxima<kBytes>;
  if constexpr (kBytes == 2) {
    const auto two = [&](std::size_t i) HWY_ATTR { return M::Of16(vector(i), vector(i + 1)); };
    const auto four = [&](std::size_t i) HWY_ATTR { return M::Of32(two(i), two(i + 2)); };
    return M::Of64(four(0), four(4));
  } else {
    const auto two = [&](std::size_t i) HWY_ATTR { return M::Of32(vector(i), vector(i + 1)); };
    return M::Of64(two(0), two(2));
  }
}
#endif

#if HWY_TARGET <= HWY_AVX3
// The largest lane of each of kVectors vectors, as many as lanes or half of them, in order.
template <std::size_t kBytes, std::size_t kVectors, class Vector>
HWY_INLINE __m512i LargestOfVectors(const Vector& vector) {
  using M = Maxima<kBytes>;
  constexpr std::size_t kBlock = 16 / kBytes;
  const auto blocks = [&](std::size_t b) HWY_ATTR {
    return LargestOfBlocks<kBytes>([&](std::size_t i) HWY_ATTR { return vector(b * kBlock + i); });
  };
  const __m512i first = M::Of128(blocks(0), blocks(1));
  if constexpr (kVectors * kBytes == 64) {
    return M::Of128(first, M::Of128(blocks(2), blocks(3)));
  } else {
    return M::Of128(first, _mm512_setzero_si512());
  }
}

// How many of the cells were done: sixteen at once, or 32 of 16 bits, of vectors or halves of them.
// What is not finite counts as well, and *most becomes the largest of all.
template <std::size_t kBytes>
HWY_INLINE std::size_t LargestOfMany(const std::byte* x, std::size_t cells, std::size_t width,
                                     std::uint32_t* largest, std::uint32_t* most) {
  constexpr std::size_t kLanes = 64 / kBytes;
  const std::size_t bytes = width * kBytes;
  __m512i all = _mm512_setzero_si512();
  std::size_t cell = 0;
  const auto store = [&](__m512i found, std::size_t count) HWY_ATTR {
    const auto some = [&](__m512i wide, std::size_t at) HWY_ATTR {
      all = _mm512_max_epu32(all, wide);
      _mm512_storeu_si512(largest + cell + at, wide);
    };
    if constexpr (kBytes == 4) {
      some(found, 0);
    } else {
      some(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(found)), 0);
      if (count > 16) some(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(found, 1)), 16);
    }
    cell += count;
    x += count * bytes;
  };
  if (kBytes == 2 && bytes == 32) {
    // Two cells a vector: even ones, odd ones.
    constexpr auto kPlace = [](unsigned i) { return i / 16 * 16 + i % 2 * 8 + i % 16 / 2; };
    const __m512i in_order = core::HWY_NAMESPACE::ConstantLanes<std::uint16_t, kPlace>();
    while (cell + 32 <= cells) {
      const auto blocks = [&](std::size_t b) HWY_ATTR {
        return LargestOfBlocks<kBytes>(
            [&](std::size_t i) HWY_ATTR { return MagnitudesAt<kBytes>(x + (b * 8 + i) * 64); });
      };
      store(_mm512_permutexvar_epi16(in_order, Maxima<kBytes>::Of128(blocks(0), blocks(1))), 32);
    }
  } else if (bytes % 64 == 0) {
    const auto of_cell = [&](std::size_t i) HWY_ATTR {
      const std::byte* const from = x + i * bytes;
      __m512i found = MagnitudesAt<kBytes>(from);
      for (std::size_t at = 64; at < bytes; at += 64) {
        found = Maxima<kBytes>::Of(found, MagnitudesAt<kBytes>(from + at));
      }
      return found;
    };
    while (cell + kLanes <= cells) store(LargestOfVectors<kBytes, kLanes>(of_cell), kLanes);
    if (kBytes == 2 && cell + 16 <= cells) store(LargestOfVectors<kBytes, 16>(of_cell), 16);
  }
  *most = _mm512_reduce_max_epu32(all);
  return cell;
}
#elif HWY_TARGET == HWY_AVX2
// The largest of as many cells at once as a vector has lanes, each of kVectors vectors. What is not
// finite counts as well, and *most becomes the largest of all.
template <std::size_t kBytes, std::size_t kVectors>
HWY_INLINE std::size_t LargestOfMany(const std::byte* x, std::size_t cells, std::uint32_t* largest,
                                     std::uint32_t* most) {
  constexpr std::size_t kLanes = 32 / kBytes, kBlock = 16 / kBytes, kCell = 32 * kVectors;
  __m256i all = _mm256_setzero_si256();
  const auto store = [&](__m256i wide, std::uint32_t* to) HWY_ATTR {
    all = _mm256_max_epu32(all, wide);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), wide);
  };
  std::size_t cell = 0;
  for (; cell + kLanes <= cells; cell += kLanes) {
    const auto blocks = [&](std::size_t b) HWY_ATTR {
      const std::byte* const from = x + (cell + b * kBlock) * kCell;
      return LargestOfBlocks<kBytes>([&](std::size_t i) HWY_ATTR {
        __m256i found = MagnitudesAt<kBytes>(from + i * kCell);
        for (std::size_t v = 1; v < kVectors; ++v) {
          found = Maxima<kBytes>::Of(found, MagnitudesAt<kBytes>(from + i * kCell + 32 * v));
        }
        return found;
      });
    };
    const __m256i found = Maxima<kBytes>::Of128(blocks(0), blocks(1));
    if constexpr (kBytes == 4) {
      store(found, largest + cell);
    } else {
      store(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(found)), largest + cell);
      store(_mm256_cvtepu16_epi32(_mm256_extracti128_si256(found, 1)), largest + cell + 8);
    }
  }
  alignas(32) std::uint32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), all);
  *most = *std::max_element(lanes, lanes + 8);
  return cell;
}

// How many of the cells were done: those of 16 and 32 elements.
template <std::size_t kBytes>
HWY_INLINE std::size_t LargestOfMany(const std::byte* x, std::size_t cells, std::size_t width,
                                     std::uint32_t* largest, std::uint32_t* most) {
  if (width == 16) return LargestOfMany<kBytes, kBytes / 2>(x, cells, largest, most);
  if (width == 32) return LargestOfMany<kBytes, kBytes>(x, cells, largest, most);
  return 0;
}
#endif

// The largest lane, of magnitudes.
template <class D> HWY_INLINE std::uint32_t LargestLane(D d, hn::VFromD<D> magnitudes) {
#if HWY_TARGET == HWY_AVX2
  if constexpr (sizeof(hn::TFromD<D>) == 2) {
    // The least of what they leave of 2^16 - 1, which one instruction finds among eight.
    const __m128i eight = _mm_max_epi16(_mm256_castsi256_si128(magnitudes.raw),
                                        _mm256_extracti128_si256(magnitudes.raw, 1));
    const __m128i least = _mm_minpos_epu16(_mm_xor_si128(eight, _mm_set1_epi16(-1)));
    return ~static_cast<std::uint32_t>(_mm_cvtsi128_si32(least)) & 0xFFFF;
  }
#endif
  return static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(d, magnitudes)));
}

// kAny: where it does not matter what is not finite, which then counts as well.
template <class T, bool kAny, class D>
HWY_INLINE void Largest(D d, const std::byte* x, std::size_t cells, std::size_t width, T infinity,
                        std::uint32_t* largest) {
  const std::size_t lanes = hn::Lanes(d);
  const auto magnitude_bits = hn::Set(d, static_cast<T>(~(T{1} << (8 * sizeof(T) - 1))));
  const auto least_not_finite = hn::Set(d, infinity);
  const auto at = [&](const std::byte* p) HWY_ATTR {
    const auto bits = hn::And(hn::LoadU(d, reinterpret_cast<const T*>(p)), magnitude_bits);
    if constexpr (kAny) return bits;
    return hn::IfThenElseZero(hn::Lt(bits, least_not_finite), bits);
  };
  for (std::size_t cell = 0; cell < cells; ++cell, x += width * sizeof(T)) {
    auto most = at(x), other = hn::Zero(d);
    std::size_t i = lanes;
    for (; i + 2 * lanes <= width; i += 2 * lanes) {
      most = hn::Max(most, at(x + i * sizeof(T)));
      other = hn::Max(other, at(x + (i + lanes) * sizeof(T)));
    }
    for (; i + lanes <= width; i += lanes) most = hn::Max(most, at(x + i * sizeof(T)));
    // Some twice, rather than too few.
    if (i < width) most = hn::Max(most, at(x + (width - lanes) * sizeof(T)));
    most = hn::Max(most, other);
    largest[cell] = LargestLane(d, most);
  }
}

// As one() does it for some cells, and for what is not finite in them: of many narrow ones at once,
// where the target has that, elsewhere without a look at each element, and anew where there is
// such.
template <std::size_t kBytes, class One>
HWY_INLINE void LargestOfCells(const std::byte* x, std::size_t cells, std::size_t width,
                               std::uint32_t infinity, std::uint32_t* largest, const One& one) {
#if HWY_TARGET <= HWY_AVX2
  std::uint32_t most = 0;
  const std::size_t done = LargestOfMany<kBytes>(x, cells, width, largest, &most);
  for (std::size_t i = 0; most >= infinity && i < done; ++i) {
    if (largest[i] >= infinity) one(x + i * width * kBytes, 1, largest + i, std::false_type());
  }
  x += done * width * kBytes;
  cells -= done;
  largest += done;
#endif
#if HWY_TARGET <= HWY_AVX3
  one(x, cells, largest, std::false_type());
#else
  one(x, cells, largest, std::true_type());
  for (std::size_t i = 0; i < cells; ++i) {
    if (largest[i] >= infinity) one(x + i * width * kBytes, 1, largest + i, std::false_type());
  }
#endif
}

void Largest32(const std::byte* x, std::size_t cells, std::size_t width, std::uint32_t* largest) {
  constexpr std::int32_t kInfinity = 0x7F800000;
  LargestOfCells<4>(
      x, cells, width, kInfinity, largest,
      [&](const std::byte* from, std::size_t some, std::uint32_t* to, auto any) HWY_ATTR {
        Largest<std::int32_t, decltype(any)::value>(DI32(), from, some, width, kInfinity, to);
      });
}

void Largest16(const std::byte* x, std::size_t cells, std::size_t width, std::uint16_t infinity,
               std::uint32_t* largest) {
  // Signed lanes have a comparison on every target.
  const hn::CappedTag<std::int16_t, kLeastCell> few;
  const hn::ScalableTag<std::int16_t> many;
  const auto top = static_cast<std::int16_t>(infinity);
  LargestOfCells<2>(x, cells, width, infinity, largest,
                    [&](const std::byte* from, std::size_t some, std::uint32_t* to, auto any)
                        HWY_ATTR {
                          constexpr bool kAny = decltype(any)::value;
                          if (width < hn::Lanes(many)) {
                            return Largest<std::int16_t, kAny>(few, from, some, width, top, to);
                          }
                          Largest<std::int16_t, kAny>(many, from, some, width, top, to);
                        });
}

}  // namespace
}  // namespace tensorcast::scale::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_SCALE_LARGEST_INL_H_
