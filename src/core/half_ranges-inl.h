// The range of a block of 16-bit floats. Included once per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_HALF_RANGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_HALF_RANGES_INL_H_
#undef TENSORCAST_SRC_CORE_HALF_RANGES_INL_H_
#else
#define TENSORCAST_SRC_CORE_HALF_RANGES_INL_H_
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/lanes-inl.h"
#include "core/loss_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

// The sum of a block's squares, about.
template <class Source> float SumOfSquares(const std::byte* codes) {
  constexpr std::size_t kBeside = 4;  // so that no addition waits for the one before
  const DF32 d;
  hn::Vec<DF32> sums[kBeside];
  for (auto& sum : sums) sum = hn::Zero(d);
#pragma GCC unroll 1
  for (std::size_t i = 0; i < kBlock; i += kBeside * kFloatLanes) {
    Unrolled<kBeside>([&](auto at) HWY_ATTR __attribute__((always_inline)) {
      const auto x = Source::Load(codes, i + at * kFloatLanes);
      sums[at] = hn::MulAdd(x, x, sums[at]);
    });
  }
  return hn::GetLane(
      hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
}

// Where all elements but zeros lie in so many binades, the largest one's square is taken
// for that of all.
template <class Source> HalfRange RangeOf(const std::byte* codes, std::uint32_t binades) {
  const D16 d;
  const auto one = hn::Set(d, std::uint16_t{1});
  const auto digits = hn::Set(d, std::uint16_t{0x7FFF});
  auto largest = hn::Zero(d), below = digits;  // less one, so that zero is above all others
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kBlock; i += hn::Lanes(d)) {
    const auto magnitude = hn::And(Load(d, codes + i * sizeof(std::uint16_t)), digits);
    largest = hn::Max(largest, magnitude);
    below = hn::Min(below, hn::Sub(magnitude, one));
  }
  alignas(64) std::uint16_t ends[kFloatLanes] = {
      hn::GetLane(hn::MaxOfLanes(d, largest)),
      static_cast<std::uint16_t>((hn::GetLane(hn::MinOfLanes(d, below)) + 1) & 0x7FFF)};
  alignas(64) std::uint32_t values[kFloatLanes];
  hn::Store(hn::BitCast(D32(), Source::Load(reinterpret_cast<const std::byte*>(ends), 0)), D32(),
            values);
  HalfRange range = {values[0], values[1], 0};
  if (range.largest >> 23 < (range.least >> 23) + binades) {
    const auto most = std::bit_cast<float>(range.largest);
    range.squares = static_cast<float>(kBlock) * most * most;
  } else {
    range.squares = SumOfSquares<Source>(codes);
  }
  return range;
}

// In 21 binades less the digits behind the first, 1,024 of the largest square have 53 bits.
HalfRange RangeOfHalves(DataType type, const std::byte* codes) {
  return type == DataType::kBfloat16 ? RangeOf<AsBfloat16>(codes, 21 - 7)
                                     : RangeOf<AsFloat16>(codes, 21 - 10);
}

}  // namespace
}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_HALF_RANGES_INL_H_
