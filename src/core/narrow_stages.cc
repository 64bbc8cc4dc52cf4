// Codes of at most eight bits: packed 6-, 4- and 2-bit elements to one code a byte and back, and
// codes to codes by table.
//
// Element i stands in bits i*w to i*w + w - 1 from the least significant bit of byte 0. Four
// elements of any of the widths end at a byte's end, so from a multiple of four on whole bytes are
// moved.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/narrow_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include <algorithm>
#include <type_traits>

#include "core/lanes-inl.h"
#include "core/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

// ---------------------------------------------------------------------------------------- packing

// A lane with room for a code in each byte for all elements of one packed byte.
template <int kBits> using LaneOfByte = std::conditional_t<kBits == 4, D16, D32>;

// One byte of packed elements to a lane of 8/kBits codes: the byte, and copies of it shifted so
// that each element reaches its own byte.
template <int kBits>
std::size_t UnpackWhole(const std::byte* packed, std::size_t n, std::byte* codes) {
  std::size_t i = 0;
  if constexpr (kBits != 6) {
    const LaneOfByte<kBits> d;
    const Like<std::uint8_t, LaneOfByte<kBits>> d8;
    const std::size_t step = hn::Lanes(D8());
    const auto mask = hn::Set(d, kBits == 4 ? 0x0F0F : 0x03030303);
    for (; i + step <= n; i += step) {
      auto spread = hn::PromoteTo(d, Load(d8, packed + i / (8 / kBits)));
      spread = hn::Or(spread, hn::ShiftLeft<8 - kBits>(spread));
      if constexpr (kBits == 2) spread = hn::Or(spread, hn::ShiftLeft<12>(spread));
      Store(hn::And(spread, mask), d, codes + i);
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
  if constexpr (kBits != 6) {
    const LaneOfByte<kBits> d;
    const Like<std::uint8_t, LaneOfByte<kBits>> d8;
    const std::size_t step = hn::Lanes(D8());
    for (; i + step <= n; i += step) {
      auto joined = Load(d, codes + i);
      joined = hn::Or(joined, hn::ShiftRight<8 - kBits>(joined));
      if constexpr (kBits == 2) joined = hn::Or(joined, hn::ShiftRight<12>(joined));
      Store(Narrow<std::uint8_t>(d, joined), d8, packed + i / (8 / kBits));
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

// ----------------------------------------------------------------------------------------- tables

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

// ---------------------------------------------------------------------------------------- AVX3_DL

#if HWY_TARGET == HWY_AVX3_DL
// AVX-512 VBMI has byte permutations over whole vectors, for tables of 64 and 256 entries and for
// 6-bit packing.

// table[code] for 64 codes below 2^kBits, kBits 6 or 8.
template <int kBits> class VbmiTable {
 public:
  explicit VbmiTable(const std::uint8_t* table) {
    for (int i = 0; i < kRows; ++i) rows_[i] = _mm512_loadu_si512(table + 64 * i);
  }
  HWY_INLINE __m512i operator()(__m512i code) const {
    if constexpr (kBits == 6) {
      return _mm512_permutexvar_epi8(code, rows_[0]);
    } else {
      // The permutation reads the low seven bits; the eighth chooses between the halves.
      return _mm512_mask_blend_epi8(_mm512_movepi8_mask(code),
                                    _mm512_permutex2var_epi8(rows_[0], code, rows_[1]),
                                    _mm512_permutex2var_epi8(rows_[2], code, rows_[3]));
    }
  }

 private:
  static constexpr int kRows = 1 << (kBits - 6);
  __m512i rows_[kRows];
};

// out[i] = table[in[i]] for codes below 2^kBits.
template <int kBits>
void VbmiLookUpStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  const VbmiTable<kBits> table(args.table);
  const auto look_up = [&](const std::byte* from, std::byte* to)
                           HWY_ATTR { _mm512_storeu_si512(to, table(_mm512_loadu_si512(from))); };
  ForEachVector<1, 1>(in, out, n, hn::Lanes(D8()), look_up);
}

constexpr std::size_t kVbmiCodes = 64;  // packed or unpacked at once
constexpr __mmask64 kVbmiSixMask = 0xFFFFFFFFFFFF;

// The vector whose byte i is at(i).
template <class At> HWY_INLINE __m512i VbmiBytes(const At& at) {
  alignas(64) std::uint8_t bytes[64];
  for (unsigned i = 0; i < 64; ++i) bytes[i] = static_cast<std::uint8_t>(at(i));
  return _mm512_load_si512(bytes);
}

// Six packed bytes to a lane of eight codes: six bytes moved to each, then eight shifted windows.
std::size_t VbmiUnpackSix(const std::byte* packed, std::size_t n, std::byte* codes) {
  const __m512i spread = VbmiBytes([](unsigned i) { return i % 8 < 6 ? i / 8 * 6 + i % 8 : 63; });
  const __m512i shifts = VbmiBytes([](unsigned i) { return i % 8 * 6; });
  const __m512i mask = _mm512_set1_epi8(0x3F);
  std::size_t i = 0;
  for (; i + kVbmiCodes <= n; i += kVbmiCodes) {
    const __m512i bytes = _mm512_maskz_loadu_epi8(kVbmiSixMask, packed + i / 4 * 3);
    const __m512i windows =
        _mm512_multishift_epi64_epi8(shifts, _mm512_permutexvar_epi8(spread, bytes));
    _mm512_storeu_si512(codes + i, _mm512_and_si512(windows, mask));
  }
  return i + UnpackWhole<6>(packed + i / 4 * 3, n - i, codes + i);
}

// Two codes to 12 bits, two of those to 24 by multiply and add; then three bytes of each four.
std::size_t VbmiPackSix(const std::byte* codes, std::size_t n, std::byte* packed) {
  const __m512i gather = VbmiBytes([](unsigned i) { return i < 48 ? i / 3 * 4 + i % 3 : 0; });
  const __m512i mask = _mm512_set1_epi8(0x3F);
  const __m512i pairs = _mm512_set1_epi16(64 << 8 | 1);
  const __m512i fours = _mm512_set1_epi32(4096 << 16 | 1);
  std::size_t i = 0;
  for (; i + kVbmiCodes <= n; i += kVbmiCodes) {
    const __m512i code = _mm512_and_si512(_mm512_loadu_si512(codes + i), mask);
    const __m512i four = _mm512_madd_epi16(_mm512_maddubs_epi16(code, pairs), fours);
    _mm512_mask_storeu_epi8(packed + i / 4 * 3, kVbmiSixMask,
                            _mm512_permutexvar_epi8(gather, four));
  }
  return i + PackWhole<6>(codes + i, n - i, packed + i / 4 * 3);
}
#endif  // HWY_TARGET == HWY_AVX3_DL

template <int kBits> void FillPacking(Kernels* kernels, std::size_t row) {
  kernels->unpack[row] = &UnpackCodes<kBits>;
  kernels->pack[row] = &PackCodes<kBits>;
  kernels->look_up[row] = &LookUpStage<std::max(kBits, 4)>;
}

}  // namespace

// A packed type of another width needs its lanes above, and its case below.
static_assert(std::all_of(detail::kTypeTable.begin(), detail::kTypeTable.end(),
                          [](const TypeInfo& row) {
                            return !row.is_packed() ||
                                   ((row.bits == 2 || row.bits == 4 || row.bits == 6) &&
                                    kWholeBytes * static_cast<unsigned>(row.bits) % 8 == 0);
                          }));

void FillNarrowStages(Kernels* kernels) {
  for (std::size_t i = 0; i < kRows; ++i) {
    switch (detail::kTypeTable[i].bits) {
      case 2: FillPacking<2>(kernels, i); break;
      case 4: FillPacking<4>(kernels, i); break;
#if HWY_TARGET == HWY_AVX3_DL
      case 6:
        kernels->unpack[i] = &UnpackCodes<6, VbmiUnpackSix>;
        kernels->pack[i] = &PackCodes<6, VbmiPackSix>;
        kernels->look_up[i] = &VbmiLookUpStage<6>;
        break;
      case 8: kernels->look_up[i] = &VbmiLookUpStage<8>; break;
#else
      case 6: FillPacking<6>(kernels, i); break;
      case 8: kernels->look_up[i] = &LookUpStage<8>; break;
#endif
      default: break;
    }
  }
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
