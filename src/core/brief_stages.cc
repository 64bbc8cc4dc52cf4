// Short runs by loads and stores of single elements.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/brief_stages.h"

#include <cstring>

namespace tensorcast::core {
namespace {

template <int kBits>
void CopyStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  const std::size_t bits = n * kBits;
  std::memcpy(out, in, bits / 8);
  if constexpr (kBits < 8) {  // the last byte's other elements stay
    if (bits % 8 == 0) return;
    const auto mask = static_cast<std::byte>((1u << bits % 8) - 1);
    std::byte* const last = out + bits / 8;
    *last = (*last & ~mask) | (in[bits / 8] & mask);
  }
}

template <int kInBits, class Result>
void LookUpEach(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  const std::uint64_t* const results = args.table->results;
  const auto look_up = [&](std::size_t i, std::uint64_t code) {
    const auto result = static_cast<Result>(results[code]);
    std::memcpy(out + i * sizeof(Result), &result, sizeof(Result));
  };
  // As many as end with a byte, those of fewer bits out of one word.
  constexpr std::size_t kTogether = kInBits == 4 ? 2 : 4;
  std::size_t i = 0;
  for (; i + kTogether <= n; i += kTogether) {
    const std::byte* const at = in + i * kInBits / 8;
    std::uint64_t word = 0;
    if constexpr (kInBits < 8) word = detail::LoadCode(at, 0, kTogether * kInBits);
    for (std::size_t j = 0; j < kTogether; ++j) {
      look_up(i + j, kInBits < 8 ? word >> (j * kInBits) & detail::LowMask(kInBits)
                                 : std::to_integer<std::uint64_t>(at[j]));
    }
  }
  for (; i < n; ++i) look_up(i, detail::LoadCode(in, i, kInBits));
}

template <class Result> Stage LookUpTo(int in_bits) {
  switch (in_bits) {
    case 2: return &LookUpEach<2, Result>;
    case 4: return &LookUpEach<4, Result>;
    case 6: return &LookUpEach<6, Result>;
    case 8: return &LookUpEach<8, Result>;
    default: return nullptr;
  }
}

}  // namespace

Stage BriefCopy(int bits) {
  switch (bits) {
    case 2: return &CopyStage<2>;
    case 4: return &CopyStage<4>;
    case 6: return &CopyStage<6>;
    case 8: return &CopyStage<8>;
    case 16: return &CopyStage<16>;
    case 32: return &CopyStage<32>;
    case 64: return &CopyStage<64>;
    default: return nullptr;
  }
}

Stage BriefLookUp(const TypeInfo& from, const TypeInfo& to, std::uint32_t* most) {
  switch (to.bits) {
    case 16: *most = from.bits == 8 ? 12 : 6; return LookUpTo<std::uint16_t>(from.bits);
    case 32: *most = from.bits == 8 ? 24 : 20; return LookUpTo<std::uint32_t>(from.bits);
    case 64: *most = 63; return LookUpTo<std::uint64_t>(from.bits);
    default: return nullptr;
  }
}

}  // namespace tensorcast::core
