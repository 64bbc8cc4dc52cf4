// Codes of at most eight bits to codes of at most eight bits by table, in lanes. Included per
// target.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(TENSORCAST_SRC_CORE_TABLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSORCAST_SRC_CORE_TABLE_INL_H_
#undef TENSORCAST_SRC_CORE_TABLE_INL_H_
#else
#define TENSORCAST_SRC_CORE_TABLE_INL_H_
#endif

#include "core/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

// Entries [16 * kFirst, 16 * (kFirst + kCount)) of the table looked up by the low four bits, then
// chosen among by the higher ones: the upper half where the highest of them is set.
template <std::size_t kFirst, std::size_t kCount, class V, class M>
HWY_INLINE V LookUpRows(const V* rows, V low_bits, const M* bit_set) {
  if constexpr (kCount == 1) {
    return hn::TableLookupBytes(rows[kFirst], low_bits);
  } else {
    constexpr std::size_t kHalf = kCount / 2;
    constexpr std::size_t kBit = kHalf == 1 ? 0 : kHalf == 2 ? 1 : kHalf == 4 ? 2 : 3;
    return hn::IfThenElse(bit_set[kBit], LookUpRows<kFirst + kHalf, kHalf>(rows, low_bits, bit_set),
                          LookUpRows<kFirst, kHalf>(rows, low_bits, bit_set));
  }
}

// out[i] = table[in[i]] for codes below 2^kBits, kBits 4, 6 or 8.
template <int kBits>
void LookUpStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  const D8 d;
  constexpr std::size_t kRows16 = (std::size_t{1} << kBits) / 16;
  hn::VFromD<D8> rows[kRows16];
  for (std::size_t i = 0; i < kRows16; ++i) rows[i] = hn::LoadDup128(d, args.table + 16 * i);
  const auto step = [&](const std::byte* from, std::byte* to) HWY_ATTR {
    const auto code = Load(d, from);
    hn::Mask<D8> bit_set[4] = {};
    if constexpr (kBits > 4) {
      bit_set[0] = hn::TestBit(code, hn::Set(d, std::uint8_t{0x10}));
      bit_set[1] = hn::TestBit(code, hn::Set(d, std::uint8_t{0x20}));
    }
    if constexpr (kBits > 6) {
      bit_set[2] = hn::TestBit(code, hn::Set(d, std::uint8_t{0x40}));
      bit_set[3] = hn::TestBit(code, hn::Set(d, std::uint8_t{0x80}));
    }
    const auto low_bits = hn::And(code, hn::Set(d, std::uint8_t{0x0F}));
    Store(LookUpRows<0, kRows16>(rows, low_bits, bit_set), d, to);
  };
  ForEachVector<1, 1>(in, out, n, hn::Lanes(d), step);
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENSORCAST_SRC_CORE_TABLE_INL_H_
