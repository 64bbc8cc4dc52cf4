// Short runs by loads and stores of single elements.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/brief_stages.h"

#include <cstring>
#include <type_traits>

#include "core/addresses.h"
#include "core/route.h"

namespace tensorcast::core {
namespace {

template <int kBits>
void CopyStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  const std::size_t bits = n * kBits;
  MoveBytes(out, in, bits / 8);
  if constexpr (kBits < 8) {  // the last byte's other elements stay
    if (bits % 8 == 0) return;
    const auto mask = static_cast<std::byte>((1u << bits % 8) - 1);
    std::byte* const last = out + bits / 8;
    *last = (*last & ~mask) | (in[bits / 8] & mask);
  }
}

// As many bytes of one word as `kBytes`.
template <std::size_t kBytes> std::uint64_t LoadBytes(const std::byte* from) {
  std::uint64_t word = 0;
  if constexpr (kBytes == 3) {
    word = LoadBytes<2>(from) | LoadBytes<1>(from + 2) << 16;
  } else {
    std::memcpy(&word, from, kBytes);  // the machine is little-endian
  }
  return word;
}
template <std::size_t kBytes> void StoreBytes(std::uint64_t word, std::byte* to) {
  std::memcpy(to, &word, kBytes);
}

template <int kBits> std::uint64_t Load(const std::byte* data, std::size_t i) {
  if constexpr (kBits < 8) return detail::LoadCode(data, i, kBits);
  return LoadBytes<kBits / 8>(data + i * (kBits / 8));
}
template <int kBits> void Store(std::uint64_t code, std::byte* data, std::size_t i) {
  if constexpr (kBits < 8) {
    detail::StoreCode(data, i, kBits, code);
  } else {
    StoreBytes<kBits / 8>(code, data + i * (kBits / 8));
  }
}

// The results of cast(code), which have nothing above their bits.
template <int kInBits, int kOutBits, class Cast>
void CastEach(const std::byte* in, std::byte* out, std::size_t n, const Cast& cast) {
  for (std::size_t i = 0; i < n; ++i) Store<kOutBits>(cast(Load<kInBits>(in, i)), out, i);
}

// The same, as many at once as begin and end with a byte on both sides.
template <int kInBits, int kOutBits, class Cast>
void CastTogether(const std::byte* in, std::byte* out, std::size_t n, const Cast& cast) {
  constexpr bool kHalves = kInBits == 4 || kOutBits == 4;
  constexpr bool kQuarters = kInBits % 4 != 0 || kOutBits % 4 != 0;
  constexpr std::size_t kTogether = kHalves && !kQuarters ? 2 : 4;
  for (; n >= kTogether; n -= kTogether) {
    std::uint64_t codes = 0, results = 0;
    if constexpr (kInBits < 8) codes = LoadBytes<kTogether * kInBits / 8>(in);
    for (std::size_t j = 0; j < kTogether; ++j) {
      std::uint64_t code;
      if constexpr (kInBits < 8) {
        code = codes >> (j * kInBits) & detail::LowMask(kInBits);
      } else {
        code = Load<kInBits>(in, j);
      }
      if constexpr (kOutBits < 8) {
        results |= cast(code) << (j * kOutBits);
      } else {
        Store<kOutBits>(cast(code), out, j);
      }
    }
    if constexpr (kOutBits < 8) StoreBytes<kTogether * kOutBits / 8>(results, out);
    in += kTogether * kInBits / 8;
    out += kTogether * kOutBits / 8;
  }
  CastEach<kInBits, kOutBits>(in, out, n, cast);
}

template <int kInBits, int kOutBits>
void LookUpStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs& args) {
  const std::uint64_t* const results = args.table->results;
  CastTogether<kInBits, kOutBits>(in, out, n,
                                  [results](std::uint64_t code) { return results[code]; });
}

// Integers and bool of whole bytes to others.
template <class In, int kOutBits>
void MoveStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  CastTogether<8 * int{sizeof(In)}, kOutBits>(in, out, n, [](std::uint64_t code) {
    return static_cast<std::uint64_t>(static_cast<In>(code)) & detail::LowMask(kOutBits);
  });
}
template <int kInBits, int kOutBits>
void TruthStage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  CastTogether<kInBits, kOutBits>(in, out, n,
                                  [](std::uint64_t code) { return std::uint64_t{code != 0}; });
}

// By the scalar codec, which needs no floating-point environment, made for one pair.
template <DataType kFrom, DataType kTo>
[[gnu::flatten]] void CodecStage(const std::byte* in, std::byte* out, std::size_t n,
                                 const EncodeArgs& args) {
  constexpr const TypeInfo& from = detail::Row(kFrom);
  constexpr const TypeInfo& to = detail::Row(kTo);
  CastEach<from.bits, to.bits>(in, out, n, [&args](std::uint64_t code) {
    return detail::CastCode(from, to, code, args.options);
  });
}

// ------------------------------------------------------------------------------ choosing one

// Calls use(std::integral_constant<int, kBits>()) with the width.
template <class Use> Stage WithBits(int bits, const Use& use) {
  switch (bits) {
    case 2: return use(std::integral_constant<int, 2>());
    case 4: return use(std::integral_constant<int, 4>());
    case 6: return use(std::integral_constant<int, 6>());
    case 8: return use(std::integral_constant<int, 8>());
    case 16: return use(std::integral_constant<int, 16>());
    case 32: return use(std::integral_constant<int, 32>());
    case 64: return use(std::integral_constant<int, 64>());
    default: return nullptr;
  }
}

Stage CopyOf(int bits) {
  return WithBits(bits, [](auto width) -> Stage { return &CopyStage<width>; });
}

Stage LookUpOf(const TypeInfo& from, const TypeInfo& to) {
  return WithBits(from.bits, [&to](auto in) -> Stage {
    if constexpr (decltype(in)::value <= 8) {
      return WithBits(to.bits,
                      [](auto out) -> Stage { return &LookUpStage<decltype(in)::value, out>; });
    } else {
      return nullptr;
    }
  });
}

template <class In> Stage MoveTo(const TypeInfo& to) {
  if (to.type_class == TypeClass::kBool) return &TruthStage<8 * int{sizeof(In)}, 8>;
  return WithBits(to.bits, [](auto out) -> Stage { return &MoveStage<In, out>; });
}

Stage MoveOf(const TypeInfo& from, const TypeInfo& to) {
  if (from.type_class == TypeClass::kBool) {
    return WithBits(to.bits, [](auto out) -> Stage { return &TruthStage<8, out>; });
  }
  const bool repeats_sign = from.has_sign && to.bits > from.bits;
  switch (from.bits) {
    case 8: return repeats_sign ? MoveTo<std::int8_t>(to) : MoveTo<std::uint8_t>(to);
    case 16: return repeats_sign ? MoveTo<std::int16_t>(to) : MoveTo<std::uint16_t>(to);
    case 32: return repeats_sign ? MoveTo<std::int32_t>(to) : MoveTo<std::uint32_t>(to);
    case 64: return MoveTo<std::uint64_t>(to);
    default: return nullptr;
  }
}

constexpr bool HasCodec(const TypeInfo& from, const TypeInfo& to) {
  return from.bits > 8 && to.bits != 0 && from.type != to.type &&
         ChooseRoute(from, to) != Route::kInteger;
}

Stage CodecOf(const TypeInfo& from, const TypeInfo& to) {
  Stage stage = nullptr;
  const auto with_row = [](const TypeInfo& row, const auto& use) {
    [&]<std::size_t... kRow>(std::index_sequence<kRow...>) {
      ((row.type == detail::kTypeTable[kRow].type ? use(std::integral_constant<std::size_t, kRow>())
                                                  : void()),
       ...);
    }
    (std::make_index_sequence<kRows>());
  };
  with_row(from, [&](auto in) {
    with_row(to, [&](auto out) {
      constexpr const TypeInfo& in_row = detail::kTypeTable[decltype(in)::value];
      constexpr const TypeInfo& out_row = detail::kTypeTable[decltype(out)::value];
      if constexpr (HasCodec(in_row, out_row)) stage = &CodecStage<in_row.type, out_row.type>;
    });
  });
  return stage;
}

// The longest runs that take no longer so than by vectors, of all pairs alike or of most. They are
// longer where the rest of a vector comes and goes through memory: without masked moves of bytes,
// which AVX-512 has.
std::uint32_t MostLookedUp(const TypeInfo& from, const TypeInfo& to, bool has_masks) {
  if (has_masks) {
    switch (to.bits) {
      case 16: return from.bits == 8 ? 16 : 6;
      case 32: return from.bits == 8 ? 24 : 20;
      case 64: return 63;
      default: return from.bits == 8 ? 10 : 4;
    }
  }
  if (from.bits == 6) return to.bits == 16 ? 20 : 28;
  if (to.bits >= 32) return IsInteger(from) && IsInteger(to) ? 16 : 31;
  return from.bits == 8 ? 16 : 14;
}

std::uint32_t MostMoved(const TypeInfo& to, bool has_masks) {
  if (has_masks) return to.bits < 8 ? 4 : 0;
  return 14;
}

// The floating-point environment, if vectors need it, costs as much as an element.
std::uint32_t MostByCodec(const TypeInfo& from, const TypeInfo& to, bool has_masks,
                          bool needs_environment) {
  if (to.is_integer() && to.bits >= 32) {
    if (has_masks) return from.bits > 16 && to.bits == 64 ? 3 : 2;
    if (to.bits == 64) return from.bits == 16 ? 14 : 4;
    return 5;
  }
  const bool is_long_step = to.is_float() && to.bits <= 8;
  return has_masks && !needs_environment && !is_long_step ? 1 : 2;
}

}  // namespace

BriefStage FindBriefStage(const Bound& bound) {
  const TypeInfo& from = *bound.from;
  const TypeInfo& to = *bound.to;
  const Target target = bound.kernels->target;
  const bool has_masks = target == Target::kAvx3 || target == Target::kAvx3Dl;
  if (bound.first == nullptr) return {CopyOf(from.bits), kShortRun};
  if (bound.args.table != nullptr) return {LookUpOf(from, to), MostLookedUp(from, to, has_masks)};
  if (HasCodec(from, to)) {
    const bool needs_environment = bound.direct != nullptr ? bound.direct_floating : bound.floating;
    return {CodecOf(from, to), MostByCodec(from, to, has_masks, needs_environment)};
  }
  if (ChooseRoute(from, to) == Route::kInteger && from.bits >= 8) {
    return {MoveOf(from, to), MostMoved(to, has_masks)};
  }
  return {};
}

}  // namespace tensorcast::core
