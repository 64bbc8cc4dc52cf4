// To bfloat16 by the instruction that some processors with the best target have beside it
// (AVX512_BF16): it rounds to nearest, whatever the floating-point environment says, and raises
// nothing. It takes subnormal float32 for zeros, so that it is only for sources that have none.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/bfloat16_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include "core/decode-inl.h"
#include "core/lanes-inl.h"
#include "core/stages-inl.h"
#if HWY_TARGET == HWY_AVX3_DL
#include <cpuid.h>
#endif

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX3_DL
namespace {

bool HasBfloat16() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 5 & 1) != 0;
}

template <DataType kFrom>
void Bfloat16Stage(const std::byte* in, std::byte* out, std::size_t n, const EncodeArgs&) {
  const auto step = [](const std::byte* from, std::byte* to) TENSORCAST_INLINED {
    for (std::size_t i = 0; i < 2; ++i) {
      const Float32s x = DecodeFloat32<kFrom, kKeepSignalling>(from + 64 * i);
      __m512i both;
      // The target's own flags do not name it.
      __asm__("vcvtne2ps2bf16 {%2, %1, %0|%0, %1, %2}"
              : "=v"(both)
              : "v"(x.high.raw), "v"(x.low.raw));
      _mm512_storeu_si512(to + 64 * i, both);
    }
  };
  ForEachStep<16, 16, 64>(in, out, n, step);
}

}  // namespace

void FillBfloat16Stages(Kernels* kernels) {
  if (!HasBfloat16()) return;
  const auto fill = [kernels](DataType from, Stage stage) {
    const auto row = static_cast<std::size_t>(detail::RowIndex(from));
    Stage& direct = kernels->direct[row][detail::RowIndex(DataType::kBfloat16)];
    kernels->instead_of_bfloat16[row] = direct;
    direct = stage;
  };
  fill(DataType::kFloat16, &Bfloat16Stage<DataType::kFloat16>);
  fill(DataType::kInt16, &Bfloat16Stage<DataType::kInt16>);
  fill(DataType::kUint16, &Bfloat16Stage<DataType::kUint16>);
}
#else
void FillBfloat16Stages(Kernels*) {}
#endif

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
