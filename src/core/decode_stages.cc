// The decoding stages, instantiated for every type and target.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/decode_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include "core/decode-inl.h"
#include "core/route.h"
#include "core/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

template <DataType kType>
void DecodeFloat32Stage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  ForEachVector<sizeof(CodeOf<kType>), 4>(in, out, n, DecodeFloat32Lanes<kType>(),
                                          DecodeFloat32Step<kType>);
}

// Values of the types that fit float32, as float64.
template <DataType kType>
void ValueFromFloat32Stage(const std::byte* in, std::byte* out, std::size_t n,
                           const EncodeArgs&) {
  const auto step = [](const std::byte* from, std::byte* to) HWY_ATTR {
    const DF64 df64;
    const Like<float, DF64> half;
    alignas(64) std::byte value[2 * HWY_MAX_BYTES];
    if constexpr (kType == DataType::kFloat32) {
      std::memcpy(value, from, hn::Lanes(DF32()) * 4);
    } else {
      DecodeFloat32Step<kType>(from, value);
    }
    const std::size_t lanes =
        kType == DataType::kFloat32 ? hn::Lanes(DF32()) : DecodeFloat32Lanes<kType>();
    for (std::size_t i = 0; i < lanes; i += hn::Lanes(df64)) {
      Store(hn::PromoteTo(df64, Load(half, value + i * 4)), df64, to + i * 8);
    }
  };
  ForEachVector<sizeof(CodeOf<kType>), 8>(
      in, out, n, kType == DataType::kFloat32 ? hn::Lanes(DF32()) : DecodeFloat32Lanes<kType>(),
      step);
}

template <DataType kType, bool kOdd>
void DecodeFloat64Stage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  const auto step = [](const std::byte* from, std::byte* to) HWY_ATTR {
    Store(DecodeFloat64<kType, kOdd>(from), DF64(), to);
  };
  ForEachVector<sizeof(CodeOf<kType>), 8>(in, out, n, hn::Lanes(DF64()), step);
}

template <DataType kType>
void DecodeOddFloat32Stage(const std::byte* in, std::byte* out, std::size_t n,
                           const EncodeArgs&) {
  constexpr const TypeInfo& row = detail::Row(kType);
  if constexpr (row.bits == 32) {
    const auto step = [](const std::byte* from, std::byte* to) HWY_ATTR {
      Store(OddFloat32FromInteger32<row.has_sign>(Load(D32(), from)), DF32(), to);
    };
    ForEachVector<4, 4>(in, out, n, hn::Lanes(D32()), step);
  } else {
    const auto step = [](const std::byte* from, std::byte* to) HWY_ATTR {
      Store(OddFloat32FromFloat64(DecodeFloat64<kType, true>(from)), Like<float, DF64>(), to);
    };
    ForEachVector<8, 4>(in, out, n, hn::Lanes(D64()), step);
  }
}

}  // namespace

void FillDecodeStages(Kernels* kernels) {
  ForEachRow([kernels](auto index) {
    constexpr std::size_t i = decltype(index)::value;
    constexpr const TypeInfo& row = detail::kTypeTable[i];
    if constexpr (row.bits != 0) {
      if constexpr (FitsFloat32(row)) {
        kernels->value_f64[i] = &ValueFromFloat32Stage<row.type>;
        if constexpr (row.type != DataType::kFloat32) {
          kernels->decode_f32[i] = &DecodeFloat32Stage<row.type>;
        }
      } else {
        kernels->decode_odd_f32[i] = &DecodeOddFloat32Stage<row.type>;
        if constexpr (row.type != DataType::kFloat64) {
          kernels->decode_f64[i] = &DecodeFloat64Stage<row.type, false>;
          kernels->decode_odd_f64[i] = &DecodeFloat64Stage<row.type, true>;
          kernels->value_f64[i] = &DecodeFloat64Stage<row.type, false>;
        }
      }
    }
  });
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
