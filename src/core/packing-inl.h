// Between packed 6-, 4- and 2-bit elements and one code a byte. Included once per target.
//
// Element i stands in bits i*w to i*w + w - 1 from the least significant bit of byte 0. Four
// elements of any of the widths end at a byte's end, so from a multiple of four on whole bytes are
// moved.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_PACKING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_PACKING_INL_H_
#undef TENSORCAST_SRC_CORE_PACKING_INL_H_
#else
#define TENSORCAST_SRC_CORE_PACKING_INL_H_
#endif

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

inline constexpr std::uint64_t kWholeBytes = 4;  // elements

// One byte of packed elements to a lane of 8/kBits codes: the byte, and copies of it shifted so
// that each element reaches its own byte.
template <int kBits>
std::size_t UnpackWhole(const std::byte* packed, std::size_t n, std::byte* codes) {
  std::size_t i = 0;
  if constexpr (kBits == 4) {
    const D16 d;
    const Like<std::uint8_t, D16> d8;
    const std::size_t step = hn::Lanes(D8());
    const auto mask = hn::Set(d, std::uint16_t{0x0F0F});
    for (; i + step <= n; i += step) {
      const auto bytes = hn::PromoteTo(d, Load(d8, packed + i / 2));
      Store(hn::And(hn::Or(bytes, hn::ShiftLeft<4>(bytes)), mask), d, codes + i);
    }
  } else if constexpr (kBits == 2) {
    const D32 d;
    const Like<std::uint8_t, D32> d8;
    const std::size_t step = hn::Lanes(D8());
    const auto mask = hn::Set(d, 0x03030303u);
    for (; i + step <= n; i += step) {
      const auto bytes = hn::PromoteTo(d, Load(d8, packed + i / 4));
      const auto two = hn::Or(bytes, hn::ShiftLeft<6>(bytes));
      Store(hn::And(hn::Or(two, hn::ShiftLeft<12>(two)), mask), d, codes + i);
    }
  } else {
    // Three bytes to a lane of four codes, 16 codes at a time: wider vectors, put together from
    // pieces of twelve bytes, were measured to be slower.
    static_assert(kBits == 6);
    const hn::FixedTag<std::uint8_t, 16> d8;
    const hn::FixedTag<std::uint32_t, 4> d32;
    alignas(16) static constexpr std::uint8_t kSpread[16] = {0, 1, 2, 0x80, 3, 4,  5,  0x80,
                                                             6, 7, 8, 0x80, 9, 10, 11, 0x80};
    const auto spread = hn::Load(d8, kSpread);
    // Loads 16 bytes for 12: stop where that would pass the end.
    for (; i + 24 <= n; i += 16) {
      const auto bytes =
          hn::BitCast(d32, hn::TableLookupBytesOr0(Load(d8, packed + i / 4 * 3), spread));
      const auto first = hn::And(bytes, hn::Set(d32, 0x3Fu));
      const auto second = hn::And(hn::ShiftLeft<2>(bytes), hn::Set(d32, 0x3F00u));
      const auto third = hn::And(hn::ShiftLeft<4>(bytes), hn::Set(d32, 0x3F0000u));
      const auto fourth = hn::And(hn::ShiftLeft<6>(bytes), hn::Set(d32, 0x3F000000u));
      Store(hn::Or(hn::Or(first, second), hn::Or(third, fourth)), d32, codes + i);
    }
  }
  return i;
}

template <int kBits>
std::size_t PackWhole(const std::byte* codes, std::size_t n, std::byte* packed) {
  std::size_t i = 0;
  if constexpr (kBits == 4) {
    const D16 d;
    const Like<std::uint8_t, D16> d8;
    const std::size_t step = hn::Lanes(D8());
    for (; i + step <= n; i += step) {
      const auto pair = Load(d, codes + i);
      Store(hn::TruncateTo(d8, hn::Or(pair, hn::ShiftRight<4>(pair))), d8, packed + i / 2);
    }
  } else if constexpr (kBits == 2) {
    const D32 d;
    const Like<std::uint8_t, D32> d8;
    const std::size_t step = hn::Lanes(D8());
    for (; i + step <= n; i += step) {
      const auto four = Load(d, codes + i);
      const auto two = hn::Or(four, hn::ShiftRight<6>(four));
      Store(Narrow<std::uint8_t>(d, hn::Or(two, hn::ShiftRight<12>(two))), d8, packed + i / 4);
    }
  } else {
    static_assert(kBits == 6);
    const hn::FixedTag<std::uint8_t, 16> d8;
    const hn::FixedTag<std::uint32_t, 4> d32;
    alignas(16) static constexpr std::uint8_t kGather[16] = {
        0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0x80, 0x80, 0x80, 0x80};
    const auto gather = hn::Load(d8, kGather);
    // Stores 16 bytes for 12: stop where that would pass the end.
    for (; i + 24 <= n; i += 16) {
      const auto four = Load(d32, codes + i);
      const auto first = hn::And(four, hn::Set(d32, 0x3Fu));
      const auto second = hn::And(hn::ShiftRight<2>(four), hn::Set(d32, 0xFC0u));
      const auto third = hn::And(hn::ShiftRight<4>(four), hn::Set(d32, 0x3F000u));
      const auto fourth = hn::And(hn::ShiftRight<6>(four), hn::Set(d32, 0xFC0000u));
      const auto bits = hn::Or(hn::Or(first, second), hn::Or(third, fourth));
      Store(hn::TableLookupBytesOr0(hn::BitCast(d8, bits), gather), d8, packed + i / 4 * 3);
    }
  }
  return i;
}

// Elements before the first multiple of four.
HWY_INLINE std::size_t HeadElements(std::uint64_t first, std::size_t n) {
  const auto head = static_cast<std::size_t>((kWholeBytes - first % kWholeBytes) % kWholeBytes);
  return head < n ? head : n;
}

// Elements [first, first + n): the first and the last ones singly, the rest by `kWhole`, which
// begins at a byte's beginning and returns how many it did; a target may have its own.
template <int kBits, auto kWhole = UnpackWhole<kBits>>
void UnpackCodes(const std::byte* packed, std::uint64_t first, std::size_t n, std::byte* codes) {
  const std::size_t head = HeadElements(first, n);
  const auto one = [&](std::size_t i) {
    codes[i] = static_cast<std::byte>(detail::LoadCode(packed, first + i, kBits));
  };
  for (std::size_t i = 0; i < head; ++i) one(i);
  const std::byte* whole = packed + (first + head) * kBits / 8;
  const std::size_t done = n == head ? n : head + kWhole(whole, n - head, codes + head);
  for (std::size_t i = done; i < n; ++i) one(i);
}

template <int kBits, auto kWhole = PackWhole<kBits>>
void PackCodes(const std::byte* codes, std::size_t n, std::byte* packed, std::uint64_t first) {
  const std::size_t head = HeadElements(first, n);
  const auto one = [&](std::size_t i) {
    detail::StoreCode(packed, first + i, kBits, std::to_integer<std::uint64_t>(codes[i]));
  };
  for (std::size_t i = 0; i < head; ++i) one(i);
  std::byte* whole = packed + (first + head) * kBits / 8;
  const std::size_t done = n == head ? n : head + kWhole(codes + head, n - head, whole);
  for (std::size_t i = done; i < n; ++i) one(i);
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_PACKING_INL_H_
