// Groups of P vectors in and Q vectors out, P : Q the ratio of the widths in lowest terms.
//
// SPDX-License-Identifier: Apache-2.0
#include "bench/copy_of_shape.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

namespace tensorcast::tool {
namespace {

// GCC's and Clang's generic vectors: lowered to the registers of the function they are inlined in.
template <std::size_t Bytes> using Vector [[gnu::vector_size(Bytes)]] = std::uint64_t;

template <class V> [[gnu::always_inline]] inline V Load(const std::byte* from) {
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}

template <class V> [[gnu::always_inline]] inline void Store(std::byte* to, V value) {
  std::memcpy(to, &value, sizeof(V));
}

// The q-th vector written is made of the vectors read that lie at its place in the group: one
// where the copy widens, the exclusive or of several where it narrows.
template <class V, std::size_t P, std::size_t Q, std::size_t... Qs>
[[gnu::always_inline]] inline void CopyGroup(const std::byte* __restrict source,
                                             std::byte* __restrict destination, V nothing,
                                             std::index_sequence<Qs...>) {
  const auto one = [&]<std::size_t q>() __attribute__((always_inline)) {
    constexpr std::size_t kFirst = q * P / Q;
    constexpr std::size_t kEnd = std::max(kFirst + 1, (q + 1) * P / Q);
    V value = Load<V>(source + kFirst * sizeof(V));
    for (std::size_t p = kFirst + 1; p < kEnd; ++p) value ^= Load<V>(source + p * sizeof(V));
    if constexpr (P == Q) value ^= nothing;
    Store(destination + q * sizeof(V), value);
  };
  (one.template operator()<Qs>(), ...);
}

template <class V, std::size_t P, std::size_t Q>
[[gnu::always_inline]] inline void CopyVectors(const std::byte* __restrict source,
                                               std::size_t in_bytes,
                                               std::byte* __restrict destination,
                                               std::size_t out_bytes) {
  // A compiler that knows it to be zero makes a copy of equal widths a call of memcpy, which on
  // some processors moves strings by other means than stores.
  volatile std::uint64_t zero = 0;
  const V nothing = V{} + zero;
  const std::size_t groups = std::min(in_bytes / (P * sizeof(V)), out_bytes / (Q * sizeof(V)));
  for (std::size_t g = 0; g < groups; ++g) {
    CopyGroup<V, P, Q>(source + g * P * sizeof(V), destination + g * Q * sizeof(V), nothing,
                       std::make_index_sequence<Q>());
  }
  const std::size_t read = groups * P * sizeof(V);
  const std::size_t written = groups * Q * sizeof(V);
  std::memcpy(destination + written, source + read, std::min(in_bytes - read, out_bytes - written));
}

// One compiled copy per instruction set; what the vectors become is decided by these attributes.
template <std::size_t P, std::size_t Q> struct Copy {
#if defined(__x86_64__)
  [[gnu::target("avx512f,avx512bw,avx512vl,prefer-vector-width=512")]] static void Wide(
      const std::byte* source, std::size_t in_bytes, std::byte* destination,
      std::size_t out_bytes) {
    CopyVectors<Vector<64>, P, Q>(source, in_bytes, destination, out_bytes);
  }
  [[gnu::target("avx2")]] static void Middle(const std::byte* source, std::size_t in_bytes,
                                             std::byte* destination, std::size_t out_bytes) {
    CopyVectors<Vector<32>, P, Q>(source, in_bytes, destination, out_bytes);
  }
#endif
  static void Base(const std::byte* source, std::size_t in_bytes, std::byte* destination,
                   std::size_t out_bytes) {
    CopyVectors<Vector<16>, P, Q>(source, in_bytes, destination, out_bytes);
  }

  static CopyOfShape Best() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl")) {
      return Wide;
    }
    if (__builtin_cpu_supports("avx2")) return Middle;
#endif
    return Base;
  }
};

constexpr int kWidths[] = {2, 4, 6, 8, 16, 32, 64};
constexpr std::size_t kWidthCount = std::size(kWidths);

template <std::size_t In, std::size_t Out> CopyOfShape Select() {
  constexpr int kIn = kWidths[In];
  constexpr int kOut = kWidths[Out];
  constexpr int kDivisor = std::gcd(kIn, kOut);
  return Copy<kIn / kDivisor, kOut / kDivisor>::Best();
}

template <std::size_t... Pairs>
CopyOfShape SelectAt(std::size_t pair, std::index_sequence<Pairs...>) {
  CopyOfShape copy = nullptr;
  (void)((Pairs == pair && (copy = Select<Pairs / kWidthCount, Pairs % kWidthCount>(), true)) ||
         ...);
  return copy;
}

std::size_t WidthIndex(int bits) {
  return static_cast<std::size_t>(std::find(std::begin(kWidths), std::end(kWidths), bits) -
                                  std::begin(kWidths));
}

}  // namespace

CopyOfShape CopyForWidths(int in_bits, int out_bits) {
  return SelectAt(WidthIndex(in_bits) * kWidthCount + WidthIndex(out_bits),
                  std::make_index_sequence<kWidthCount * kWidthCount>());
}

}  // namespace tensorcast::tool
