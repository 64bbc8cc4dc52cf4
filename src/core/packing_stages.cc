// Packed 6-, 4- and 2-bit elements to one code a byte and back, from any element on.
//
// Four elements of any of the widths end at a byte's end, so from a multiple of four on whole bytes
// are moved.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/packing_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include "core/packed-inl.h"
#include "core/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

template <int kBits> HWY_INLINE hn::VFromD<D8> CodeMask() {
  return hn::Set(D8(), static_cast<std::uint8_t>(detail::LowMask(kBits)));
}

template <int kBits>
void UnpackCodes(const std::byte* packed, std::uint64_t first, std::size_t n, std::byte* codes) {
  for (; n != 0 && first % kWholeBytes != 0; ++first, --n) {
    *codes++ = static_cast<std::byte>(detail::LoadCode(packed, first, kBits));
  }
  const auto step = [](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
    Store(hn::And(LoadCodes<kBits>(from), CodeMask<kBits>()), D8(), to);
  };
  ForEachStep<kBits, 8, kLanesOf<std::uint8_t>>(packed + first / kWholeBytes * (kBits / 2), codes,
                                                n, step);
}

template <int kBits>
void PackCodes(const std::byte* codes, std::size_t n, std::byte* packed, std::uint64_t first) {
  for (; n != 0 && first % kWholeBytes != 0; ++first, --n) {
    detail::StoreCode(packed, first, kBits, std::to_integer<std::uint64_t>(*codes++));
  }
  const auto step = [](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
    StoreCodes<kBits>(hn::And(Load(D8(), from), CodeMask<kBits>()), to);
  };
  ForEachStep<8, kBits, kLanesOf<std::uint8_t>>(codes, packed + first / kWholeBytes * (kBits / 2),
                                                n, step);
}

template <int kBits> void FillPacking(Kernels* kernels, std::size_t row) {
  static_assert(kWholeBytes * kBits == 8 * (kBits / 2));
  kernels->unpack[row] = &UnpackCodes<kBits>;
  kernels->pack[row] = &PackCodes<kBits>;
}

}  // namespace

// A packed type of another width needs its lanes in packed-inl.h, and its case below.
static_assert(std::all_of(detail::kTypeTable.begin(), detail::kTypeTable.end(),
                          [](const TypeInfo& row) {
                            return !row.is_packed() || row.bits == 2 || row.bits == 4 ||
                                   row.bits == 6;
                          }));

void FillPackingStages(Kernels* kernels) {
  for (std::size_t i = 0; i < kRows; ++i) {
    switch (detail::kTypeTable[i].bits) {
      case 2: FillPacking<2>(kernels, i); break;
      case 4: FillPacking<4>(kernels, i); break;
      case 6: FillPacking<6>(kernels, i); break;
      default: break;
    }
  }
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
