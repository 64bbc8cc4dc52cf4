// The encoding stages, instantiated for every type and target.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/encode_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include "core/encode-inl.h"
#include "core/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
namespace {

template <DataType kType>
void EncodeFloat32Stage(const std::byte* in, std::byte* out, std::size_t n,
                        const EncodeArgs& args) {
  const auto step = [&args](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
    const Float32s x = LoadFloat32s(from);
    if constexpr (kType == DataType::kFloat16 && kHasFloat16) {
      // One store for two: what comes from the third-level cache is done a tenth faster.
      Store(hn::Combine(D16(), ToFloat16(x.high), ToFloat16(x.low)), D16(), to);
    } else {
      EncodeFloat32<kType>(x, to, args);
    }
  };
  ForEachVector<4, sizeof(CodeOf<kType>), kFloat32sLanes>(in, out, n, step);
}

template <DataType kType>
void EncodeFloat64Stage(const std::byte* in, std::byte* out, std::size_t n,
                        const EncodeArgs& args) {
  const auto step = [&args](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
    const DF64 d;
    EncodeFloat64<kType>(Load(d, from), Load(d, from + hn::Lanes(d) * 8), to, args);
  };
  ForEachVector<8, sizeof(CodeOf<kType>), 2 * kLanesOf<double>>(in, out, n, step);
}

}  // namespace

void FillEncodeStages(Kernels* kernels) {
  ForEachRow([kernels](auto index) {
    constexpr std::size_t i = decltype(index)::value;
    constexpr const TypeInfo& row = detail::kTypeTable[i];
    if constexpr (row.bits != 0) {
      if constexpr (row.type != DataType::kFloat32) {
        kernels->encode_f32[i] = &EncodeFloat32Stage<row.type>;
      }
      if constexpr (!row.is_float() || row.type == DataType::kFloat32) {
        kernels->encode_f64[i] = &EncodeFloat64Stage<row.type>;
      }
    }
  });
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
