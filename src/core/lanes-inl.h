// The frame of a stage: whole vectors over n elements, the tail through a padded copy.
// Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_LANES_INL_H_
#undef TENSORCAST_SRC_CORE_LANES_INL_H_
#else
#define TENSORCAST_SRC_CORE_LANES_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/addresses.h"
#include "core/kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::ScalableTag<std::uint8_t>;
using D16 = hn::ScalableTag<std::uint16_t>;
using D32 = hn::ScalableTag<std::uint32_t>;
using D64 = hn::ScalableTag<std::uint64_t>;
using DF32 = hn::ScalableTag<float>;
using DF64 = hn::ScalableTag<double>;

// Where intrinsics of AVX-512 stand beside Highway's.
#undef TENSORCAST_AVX512
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define TENSORCAST_AVX512 1
#else
#define TENSORCAST_AVX512 0
#endif

#if TENSORCAST_AVX512
// Conversions and arithmetic that are told so round alike and raise nothing, whatever the
// floating-point environment.
inline constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
inline constexpr int kTowardZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
#endif

// Where intrinsics of AVX2 do: there, and with AVX-512.
#undef TENSORCAST_AVX2
#if HWY_TARGET == HWY_AVX2 || TENSORCAST_AVX512
#define TENSORCAST_AVX2 1
#else
#define TENSORCAST_AVX2 0
#endif

// Where nothing permutes bytes across blocks, so that two vectors become one by packing.
#undef TENSORCAST_PACKS
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define TENSORCAST_PACKS 1
#else
#define TENSORCAST_PACKS 0
#endif

// A step, where a stage calls it: a function of its own would make its constants anew each time.
#undef TENSORCAST_INLINED
#define TENSORCAST_INLINED HWY_ATTR __attribute__((always_inline))

// As many lanes of another type; as many bytes of half a vector.
template <class T, class D> using Like = hn::Rebind<T, D>;

// What a code of a type is carried in between stages: packed types one code a byte.
template <DataType kType>
using CodeOf =
    std::conditional_t<detail::Row(kType).bits <= 8, std::uint8_t,
                       std::conditional_t<detail::Row(kType).bits == 16, std::uint16_t,
                                          std::conditional_t<detail::Row(kType).bits == 32,
                                                             std::uint32_t, std::uint64_t>>>;

// Lanes of a whole vector. No target of ours has vectors of a length that is known only at run
// time.
template <class T> inline constexpr std::size_t kLanesOf = HWY_MAX_BYTES / sizeof(T);

// Buffers of the library's callers are bytes without alignment.
template <class D> HWY_INLINE hn::VFromD<D> Load(D d, const std::byte* p) {
  return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(p));
}
template <class D> HWY_INLINE void Store(hn::VFromD<D> v, D d, std::byte* p) {
  hn::StoreU(v, d, reinterpret_cast<hn::TFromD<D>*>(p));
}

#if TENSORCAST_AVX2
// The vector whose lane i of T is kAt(i), read as it is: g++ 12 broadcasts anew for every step what
// stands in 16 bytes.
template <class T, auto kAt> HWY_INLINE auto ConstantLanes() {
  alignas(64) static constexpr auto kLanes = [] {
    std::array<T, kLanesOf<T>> lanes{};
    for (unsigned i = 0; i < kLanesOf<T>; ++i) lanes[i] = static_cast<T>(kAt(i));
    return lanes;
  }();
  return hn::Load(hn::ScalableTag<T>(), kLanes.data()).raw;
}
#endif

#if HWY_TARGET == HWY_AVX3_DL
// The vector whose byte i is kAt(i).
template <auto kAt> HWY_INLINE __m512i ByteIndices() {
  alignas(64) static constexpr auto kBytes = [] {
    std::array<std::uint8_t, 64> bytes{};
    for (unsigned i = 0; i < 64; ++i) bytes[i] = static_cast<std::uint8_t>(kAt(i));
    return bytes;
  }();
  return _mm512_load_si512(kBytes.data());
}
#endif

// Copies n bytes, which do not overlap; the last of them by two moves of a power of two. A call of
// memcpy would take as long as a whole step, and so do masked stores on some processors.
HWY_INLINE void CopyBytes(const std::byte* from, std::size_t n, std::byte* to) {
  for (; n > 64; n -= 64, from += 64, to += 64) std::memcpy(to, from, 64);
  const auto twice = [=](auto move) HWY_ATTR {
    decltype(move) first, last;
    std::memcpy(&first, from, sizeof(move));
    std::memcpy(&last, from + n - sizeof(move), sizeof(move));
    std::memcpy(to, &first, sizeof(move));
    std::memcpy(to + n - sizeof(move), &last, sizeof(move));
  };
  struct Sixteen {
    std::uint64_t halves[2];
  };
#if TENSORCAST_AVX2
  using ThirtyTwo = __m256i;  // as wide a load then need not wait for it
#else
  struct ThirtyTwo {
    std::uint64_t quarters[4];
  };
#endif
  if (n >= 32) {
    twice(ThirtyTwo());
  } else if (n >= 16) {
    twice(Sixteen());
  } else if (n >= 8) {
    twice(std::uint64_t{});
  } else if (n >= 4) {
    twice(std::uint32_t{});
  } else if (n >= 2) {
    twice(std::uint16_t{});
  } else if (n == 1) {
    *to = *from;
  }
}

#if HWY_TARGET == HWY_AVX2
// Fewer than 32 bytes, the rest of the vector cleared. They come together in registers: a load of a
// whole vector would wait for parts of it that were stored one by one.
template <class D> HWY_NOINLINE hn::VFromD<D> LoadPart(D, const std::byte* from, std::size_t n) {
  if (n >= 16) {
    alignas(64) static constexpr auto kPlaces = [] {
      std::array<std::uint8_t, 32> places{};
      for (unsigned i = 0; i < 32; ++i) places[i] = static_cast<std::uint8_t>(i < 16 ? i : 0x80);
      return places;
    }();
    const auto at = [](const void* p)
                        HWY_ATTR { return _mm_loadu_si128(static_cast<const __m128i*>(p)); };
    // Without those that the first 16 have.
    const __m128i last = _mm_shuffle_epi8(at(from + n - 16), at(kPlaces.data() + 32 - n));
    return hn::VFromD<D>{_mm256_inserti128_si256(_mm256_castsi128_si256(at(from)), last, 1)};
  }
  // The first and the last ones of a power of two, in which some bytes may be the same.
  const auto two = [=](auto part) HWY_ATTR {
    decltype(part) first, last;
    std::memcpy(&first, from, sizeof(part));
    std::memcpy(&last, from + n - sizeof(part), sizeof(part));
    return first | std::uint64_t{last} << (8 * (n - sizeof(part)));
  };
  std::uint64_t lower, upper = 0;
  if (n >= 8) {
    std::memcpy(&lower, from, 8);
    std::memcpy(&upper, from + n - 8, 8);
    upper = upper >> 8 >> (8 * (15 - n));
  } else if (n >= 4) {
    lower = two(std::uint32_t{});
  } else if (n >= 2) {
    lower = two(std::uint16_t{});
  } else {
    lower = std::to_integer<std::uint64_t>(*from);
  }
  return hn::VFromD<D>{_mm256_zextsi128_si256(
      _mm_set_epi64x(static_cast<long long>(upper), static_cast<long long>(lower)))};
}
#endif

// The same into N vectors of 64 bytes, the rest of which is cleared; elements of kBits.
template <std::size_t N, int kBits>
HWY_INLINE void CopyTailIn(const std::byte* from, std::size_t n, std::byte* to) {
#if TENSORCAST_AVX512
  for (std::size_t i = 0; i < N; ++i) {
    __m512i vector = _mm512_setzero_si512();
    // A masked load of no bytes from an unmapped page takes as long as a hundred others.
    if (n > 64 * i) {
      const auto here = static_cast<unsigned>(std::min<std::size_t>(n - 64 * i, 64));
      vector = _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, here), from + 64 * i);
    }
    _mm512_store_si512(to + 64 * i, vector);
  }
#elif HWY_TARGET == HWY_AVX2
  if constexpr (kBits >= 32) {  // of which there are masked loads
    // Read from n bytes before its middle on.
    alignas(64) static constexpr auto kMasks = [] {
      std::array<std::int8_t, 2 * 64 * N> masks{};
      for (std::size_t i = 0; i < 64 * N; ++i) masks[i] = -1;
      return masks;
    }();
    const auto masks = reinterpret_cast<const std::byte*>(kMasks.data() + 64 * N - n);
    for (std::size_t i = 0; i < 64 * N; i += 32) {
      const __m256i mask = Load(D32(), masks + i).raw;
      const auto words = reinterpret_cast<const int*>(from + i);
      Store(hn::VFromD<D32>{_mm256_maskload_epi32(words, mask)}, D32(), to + i);
    }
    return;
  }
  for (std::size_t i = 0; i < 64 * N; i += 32) {
    const std::size_t here = n > i ? n - i : 0;
    Store(here >= 32  ? Load(D8(), from + i)
          : here != 0 ? LoadPart(D8(), from + i, here)
                      : hn::Zero(D8()),
          D8(), to + i);
  }
#else
  for (std::size_t i = 0; i < 64 * N; i += hn::Lanes(D8())) Store(hn::Zero(D8()), D8(), to + i);
  CopyBytes(from, n, to);
#endif
}

// The first n bytes of such vectors the other way; n >= 1.
template <std::size_t N>
HWY_INLINE void CopyTailOut(const std::byte* from, std::size_t n, std::byte* to) {
#if TENSORCAST_AVX512
  // A load waits unless one store has written all of it, from its beginning on: vectors as they
  // were stored, or their lower halves. Whole vectors have masks, too, which g++ does not see to be
  // full: it would make a string move of plain ones, which takes as long as a step.
  for (std::size_t i = 0; i + 1 < N && n > 64; ++i, n -= 64, from += 64, to += 64) {
    const __mmask64 mask = _bzhi_u64(~0ull, static_cast<unsigned>(std::min<std::size_t>(n, 64)));
    _mm512_mask_storeu_epi8(to, mask, _mm512_load_si512(from));
  }
  if (n <= 32) {
    const __mmask32 mask = _bzhi_u32(~0u, static_cast<unsigned>(n));
    const auto half = reinterpret_cast<const __m256i*>(from);
    _mm256_mask_storeu_epi8(to, mask, _mm256_load_si256(half));
  } else {
    const __mmask64 mask = _bzhi_u64(~0ull, static_cast<unsigned>(n));
    _mm512_mask_storeu_epi8(to, mask, _mm512_load_si512(from));
  }
#else
#if HWY_TARGET == HWY_AVX2
  // So that none of the two moves that are left crosses vectors.
  if (n > 32 && n < 64) {
    Store(Load(D8(), from), D8(), to);
    n -= 32, from += 32, to += 32;
  }
#endif
  CopyBytes(from, n, to);
#endif
}

// Calls step(in, out) for each kLanes elements of kInBits and kOutBits, which begin at a byte's
// beginning on both sides. A step reads all it needs of its elements before it writes. Long runs
// are begun so that the vectors of the wider side are aligned, which is worth up to a third, and go
// from the end to the beginning where loads would wait for stores, worth up to a half. What is left
// at the end is cast with elements before it, which are cast once more, or in a copy.
template <int kInBits, int kOutBits, std::size_t kLanes, class Step>
HWY_INLINE void ForEachStep(const std::byte* in, std::byte* out, std::size_t n, const Step& step) {
  constexpr std::size_t kInBytes = kLanes * kInBits / 8;
  constexpr std::size_t kOutBytes = kLanes * kOutBits / 8;
  static_assert(kLanes * kInBits % 8 == 0 && kLanes * kOutBits % 8 == 0);
  if (n >= kLanes) {
    const bool apart = in != out;
    std::size_t next = kLanes;  // elements from this step's beginning to the next one's
    std::ptrdiff_t ahead = 1;   // or -1, from the end to the beginning
    const auto move = [&](std::size_t elements, std::ptrdiff_t direction) TENSORCAST_INLINED {
      in += static_cast<std::ptrdiff_t>(elements * kInBits / 8) * direction;
      out += static_cast<std::ptrdiff_t>(elements * kOutBits / 8) * direction;
    };
    const auto go_on = [&](std::size_t elements) TENSORCAST_INLINED {
      move(elements, ahead);
      n -= elements;
    };
    constexpr std::size_t kWidth = static_cast<std::size_t>(std::max(kInBits, kOutBits)) / 8;
    // Measured: neither shorter vectors nor what the first cache holds gain.
    constexpr bool kMayTurn = TENSORCAST_AVX512 && kInBits == kOutBits && kInBits % 8 == 0;
    if (kMayTurn && n * kWidth >= (std::size_t{1} << 15) && FollowsClosely(in, out)) {
      const std::size_t over = reinterpret_cast<std::uintptr_t>(out + n * kWidth) % 64;
      if (over != 0 && over % kWidth == 0 && over / kWidth <= kLanes) next = over / kWidth;
      move(n - kLanes, 1);
      ahead = -1;
    } else if constexpr (kWidth != 0) {
      const auto address = reinterpret_cast<std::uintptr_t>(kInBits > kOutBits ? in : out);
      const std::size_t first = (64 - address % 64) % 64 / kWidth;  // elements up to a line
      if (n >= 16 * kLanes && apart && first != 0 && address % kWidth == 0 && first <= kLanes &&
          first * kInBits % 8 == 0 && first * kOutBits % 8 == 0) {
        next = first;
      }
    }
    // Short steps are repeated: what a loop costs would count.
    constexpr std::size_t kRepeats = kInBytes + kOutBytes <= 128   ? 4
                                     : kInBytes + kOutBytes <= 192 ? 2
                                                                   : 1;
    if constexpr (kRepeats != 1) {
      if (next != kLanes) {
        step(in, out);
        go_on(next);
        next = kLanes;
      }
      for (; ahead > 0 && n >= kRepeats * kLanes; go_on(kRepeats * kLanes)) {
        for (std::size_t i = 0; i < kRepeats; ++i) step(in + i * kInBytes, out + i * kOutBytes);
      }
    }
    for (;;) {
      if (n < kLanes) {
        if (n == 0) return;
        // Without those that end inside a byte.
        constexpr std::size_t kWhole = kInBits % 8 == 0 && kOutBits % 8 == 0 ? 1 : kWholeBytes;
        if (!apart || n < kWhole) break;
        const std::size_t before = kLanes - n / kWhole * kWhole;
        move(before, -ahead);
        n += before;
      }
      step(in, out);
      go_on(next);
      next = kLanes;
    }
  } else if (n == 0) {
    return;
  }
  constexpr std::size_t kInVectors = (kInBytes + 63) / 64;
  constexpr std::size_t kOutVectors = (kOutBytes + 63) / 64;
  alignas(64) std::byte tail_in[64 * kInVectors];
  alignas(64) std::byte tail_out[64 * kOutVectors];
  CopyTailIn<kInVectors, kInBits>(in, (n * kInBits + 7) / 8, tail_in);
  step(tail_in, tail_out);
  if constexpr (kOutBits >= 8) {
    CopyTailOut<kOutVectors>(tail_out, n * kOutBits / 8, out);
  } else {  // the last byte's other elements stay
    CopyBytes(tail_out, n * kOutBits / 8, out);
    const std::size_t bits = n * kOutBits % 8;
    if (bits == 0) return;
    const auto mask = static_cast<std::byte>((1u << bits) - 1);
    const std::size_t last = n * kOutBits / 8;
    out[last] = (out[last] & ~mask) | (tail_out[last] & mask);
  }
}

// The same as far as whole steps go, by what make_step() gives where there are some; the rest is
// what is left of in, out and n.
template <int kInBits, int kOutBits, std::size_t kLanes, class MakeStep>
HWY_INLINE void ForWholeSteps(const std::byte*& in, std::byte*& out, std::size_t& n,
                              const MakeStep& make_step) {
  const std::size_t whole = n / kLanes * kLanes;
  if (whole == 0) return;
  ForEachStep<kInBits, kOutBits, kLanes>(in, out, whole, make_step());
  in += whole * kInBits / 8;
  out += whole * kOutBits / 8;
  n -= whole;
}

// The same for codes of whole bytes.
template <std::size_t kInBytes, std::size_t kOutBytes, std::size_t kLanes, class Step>
HWY_INLINE void ForEachVector(const std::byte* in, std::byte* out, std::size_t n,
                              const Step& step) {
  ForEachStep<8 * int{kInBytes}, 8 * int{kOutBytes}, kLanes>(in, out, n, step);
}

// Integer lanes narrowed to their low bits, as unsigned lanes.
template <class T, class D, class V> HWY_INLINE hn::VFromD<Like<T, D>> Narrow(D, V v) {
  if constexpr (sizeof(T) == sizeof(hn::TFromD<D>)) {
    return v;
  } else {
#if HWY_TARGET == HWY_AVX3_DL
    // Highway 1.0.3 goes wrong here: it moves 32-bit lanes by the indices of bytes.
    if constexpr (sizeof(T) == 1 && sizeof(hn::TFromD<D>) == 4) {
      return hn::VFromD<Like<T, D>>{_mm512_cvtepi32_epi8(v.raw)};
    }
#endif
    return hn::TruncateTo(Like<T, D>(), v);
  }
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_LANES_INL_H_
