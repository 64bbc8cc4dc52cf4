// The decoding stages, instantiated for every type and target.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/decode_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include "core/encode-inl.h"
#include "core/route.h"
#include "core/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

template <DataType kType>
void DecodeFloat32Stage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  const auto step = [](const std::byte* from, std::byte* to)
                        TENSORCAST_INLINED { StoreFloat32s(DecodeFloat32<kType>(from), to); };
  ForEachVector<sizeof(CodeOf<kType>), 4, kFloat32sLanes>(in, out, n, step);
}

#if TENSORCAST_AVX512
// Floats of 16 bits to float64, so many at a time that nothing is taken apart.
template <DataType kType> HWY_INLINE hn::VFromD<DF64> HalvesToFloat64(const std::byte* in) {
  if constexpr (kType == DataType::kBfloat16) {
    return {_mm512_cvtps_pd(_mm256_castsi256_ps(LoadUpperHalves8(in)))};
  } else {
    return {_mm512_cvtps_pd(_mm256_cvtph_ps(Load(Like<std::uint16_t, DF64>(), in).raw))};
  }
}
#endif

// Values of the types that fit float32, as float64, conversion to which quietens NaN.
template <DataType kType>
void ValueFromFloat32Stage(const std::byte* in, std::byte* out, std::size_t n,
                           const EncodeArgs& args) {
  const auto step = [&args](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
#if TENSORCAST_AVX512
    if constexpr (detail::Row(kType).is_float() && detail::Row(kType).bits == 16) {
      for (std::size_t i = 0; i < 4; ++i) {
        Store(HalvesToFloat64<kType>(from + 16 * i), DF64(), to + 64 * i);
      }
      return;
    }
#endif
    EncodeFloat32<DataType::kFloat64>(DecodeFloat32<kType, kKeepSignalling>(from), to, args);
  };
  ForEachVector<sizeof(CodeOf<kType>), 8, kFloat32sLanes>(in, out, n, step);
}

template <DataType kType, bool kOdd>
void DecodeFloat64Stage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  const auto step = [](const std::byte* from, std::byte* to)
                        TENSORCAST_INLINED { Store(DecodeFloat64<kType, kOdd>(from), DF64(), to); };
  ForEachVector<sizeof(CodeOf<kType>), 8, kLanesOf<double>>(in, out, n, step);
}

template <DataType kType>
void DecodeOddFloat32Stage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  const auto step = [](const std::byte* from, std::byte* to)
                        TENSORCAST_INLINED { StoreFloat32s(DecodeOddFloat32<kType>(from), to); };
  ForEachVector<sizeof(CodeOf<kType>), 4, kFloat32sLanes>(in, out, n, step);
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
        if constexpr (row.is_float() && row.bits == 16) {
          constexpr auto kTo = static_cast<std::size_t>(detail::RowIndex(DataType::kFloat64));
          kernels->direct[i][kTo] = &ValueFromFloat32Stage<row.type>;
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
