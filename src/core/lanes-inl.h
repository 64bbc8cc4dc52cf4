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

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

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

// As many lanes of another type; as many bytes of half a vector.
template <class T, class D> using Like = hn::Rebind<T, D>;

// What a code of a type is carried in between stages: packed types one code a byte.
template <DataType kType>
using CodeOf =
    std::conditional_t<detail::Row(kType).bits <= 8, std::uint8_t,
                       std::conditional_t<detail::Row(kType).bits == 16, std::uint16_t,
                                          std::conditional_t<detail::Row(kType).bits == 32,
                                                             std::uint32_t, std::uint64_t>>>;

// Buffers of the library's callers are bytes without alignment.
template <class D> HWY_INLINE hn::VFromD<D> Load(D d, const std::byte* p) {
  return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(p));
}
template <class D> HWY_INLINE void Store(hn::VFromD<D> v, D d, std::byte* p) {
  hn::StoreU(v, d, reinterpret_cast<hn::TFromD<D>*>(p));
}

// Calls step(in, out) for each `lanes` elements of kInBytes and kOutBytes. A step reads all it
// needs of its elements before it writes.
template <std::size_t kInBytes, std::size_t kOutBytes, class Step>
HWY_INLINE void ForEachVector(const std::byte* in, std::byte* out, std::size_t n, std::size_t lanes,
                              const Step& step) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) step(in + i * kInBytes, out + i * kOutBytes);
  if (i == n) return;
  alignas(64) std::byte tail_in[HWY_MAX_BYTES * kInBytes];
  alignas(64) std::byte tail_out[HWY_MAX_BYTES * kOutBytes];
  std::memset(tail_in, 0, lanes * kInBytes);
  std::memcpy(tail_in, in + i * kInBytes, (n - i) * kInBytes);
  step(tail_in, tail_out);
  std::memcpy(out + i * kOutBytes, tail_out, (n - i) * kOutBytes);
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
