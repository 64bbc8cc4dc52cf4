// uint8 to floats of eight bits by pieces: among the numbers that share their upper four bits, a
// code is that of the first and what the lower four add. Included per target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_BYTE_PIECES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_BYTE_PIECES_INL_H_
#undef TENSORCAST_SRC_CORE_BYTE_PIECES_INL_H_
#else
#define TENSORCAST_SRC_CORE_BYTE_PIECES_INL_H_
#endif

#include "core/halves-inl.h"
#include "core/lanes-inl.h"

#if HWY_TARGET == HWY_AVX2
HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// What is asked of the pieces and their rows when this is compiled.
template <DataType kTo> struct BytePieces {
  // One more than the largest finite code where the type's range ends before 255.
  static constexpr unsigned Code(unsigned number) {
    CastOptions options;
    options.saturate = false;
    return static_cast<unsigned>(
        detail::CastCode(detail::Row(DataType::kUint8), detail::Row(kTo), number, options));
  }
  static constexpr unsigned kMost =
      static_cast<unsigned>(detail::MaxFiniteMagnitude(detail::Row(kTo)));
  static constexpr unsigned Added(unsigned piece, unsigned lower) {
    return Code(16 * piece + lower) - Code(16 * piece);
  }
  // In the upper pieces nothing is added up to some number, and one beyond it.
  static constexpr unsigned LastSame(unsigned piece) {
    unsigned lower = 0;
    while (lower < 15 && Added(piece, lower + 1) == 0) ++lower;
    return lower;
  }
  static constexpr bool AddsOne(unsigned piece) {
    for (unsigned lower = LastSame(piece) + 1; lower < 16; ++lower) {
      if (Added(piece, lower) != 1) return false;
    }
    return true;
  }
  static constexpr bool AddsAlike(unsigned piece, unsigned other) {
    for (unsigned lower = 0; lower < 16; ++lower) {
      if (Added(piece, lower) != Added(other, lower)) return false;
    }
    return true;
  }
  // Pieces 0, 1, 2 to 3, and 4 to 7 where one row serves them all.
  static constexpr bool kFourthRow = !(AddsOne(4) && AddsOne(5) && AddsOne(6) && AddsOne(7));
  static constexpr bool Serve() {
    for (unsigned piece = kFourthRow ? 8 : 4; piece < 16; ++piece) {
      if (!AddsOne(piece)) return false;
    }
    if (kFourthRow && !(AddsAlike(4, 5) && AddsAlike(4, 6) && AddsAlike(4, 7))) return false;
    return AddsAlike(2, 3) && Code(255) <= kMost + 1;
  }
};

template <DataType kTo>
HWY_INLINE void Uint8ToNarrowStep(const std::byte* in, std::byte* out, const EncodeArgs& args) {
  using Pieces = BytePieces<kTo>;
  static_assert(Pieces::Serve());
  const D8 d;
  const hn::RebindToSigned<D8> di;
  const auto look_up = [](V8 index, auto of) HWY_ATTR {
    constexpr auto kRow = [](unsigned i) { return decltype(of)()(i % 16); };
    return hn::TableLookupBytes(V8{ConstantLanes<std::uint8_t, kRow>()}, index);
  };
  const V8 numbers = Load(d, in);
  const V8 nibble = hn::Set(d, std::uint8_t{0x0F});
  const V8 lower = hn::And(numbers, nibble);
  const V8 piece = hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(D16(), numbers))), nibble);
  const V8 first = look_up(piece, [](unsigned i) { return Pieces::Code(16 * i); });
  const V8 last_same = look_up(piece, [](unsigned i) { return Pieces::LastSame(i); });
  // What is added, negated, as a comparison gives it.
  const auto row = [&](auto of) HWY_ATTR {
    return look_up(lower, [](unsigned i) { return 0u - Pieces::Added(decltype(of)::value, i); });
  };
  const V8 from_64 = hn::BitCast(
      d, hn::VecFromMask(di, hn::Gt(hn::BitCast(di, lower), hn::BitCast(di, last_same))));
  // A blend looks at the highest bit alone, to which additions bring the next one.
  const auto choose = [](V8 on_top, V8 yes, V8 no)
                          HWY_ATTR { return hn::IfThenElse(hn::MaskFromVec(on_top), yes, no); };
  const V8 bit6 = hn::Add(numbers, numbers), bit5 = hn::Add(bit6, bit6);
  const V8 bit4 = hn::Add(bit5, bit5);
  V8 added = choose(bit4, row(std::integral_constant<unsigned, 1>()),
                    row(std::integral_constant<unsigned, 0>()));
  added = choose(bit5, row(std::integral_constant<unsigned, 2>()), added);
  if constexpr (Pieces::kFourthRow) {
    added = choose(bit6, row(std::integral_constant<unsigned, 4>()), added);
    added = choose(numbers, from_64, added);
  } else {
    added = choose(hn::Or(numbers, bit6), from_64, added);
  }
  V8 codes = hn::Sub(first, added);
  if constexpr (Pieces::Code(255) > Pieces::kMost) {
    codes = hn::Min(codes, hn::Set(d, static_cast<std::uint8_t>(args.overflow)));
  }
  Store(codes, d, out);
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_AVX2

#endif  // TENSORCAST_SRC_CORE_BYTE_PIECES_INL_H_
