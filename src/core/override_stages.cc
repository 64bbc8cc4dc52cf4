// Where an instruction set earned lanes of its own: what it puts in the place of the shared ones.
//
// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/override_stages.cc"
#include "hwy/foreach_target.h"

// g++ 12 adds a SCALAR pass; our scalar target is scalar_target.cc.
#if HWY_TARGET != HWY_SCALAR
#include "core/avx3_dl-inl.h"
#include "core/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tensorcast::core::HWY_NAMESPACE {

void OverrideStages([[maybe_unused]] Kernels* kernels) {
#if HWY_TARGET == HWY_AVX3_DL
  for (std::size_t i = 0; i < kRows; ++i) {
    const int bits = detail::kTypeTable[i].bits;
    if (bits == 8) kernels->look_up[i] = &VbmiLookUpStage<8>;
    if (bits != 6) continue;
    kernels->look_up[i] = &VbmiLookUpStage<6>;
    kernels->unpack[i] = &UnpackCodes<6, VbmiUnpackSix>;
    kernels->pack[i] = &PackCodes<6, VbmiPackSix>;
  }
#endif
}

}  // namespace tensorcast::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET != HWY_SCALAR
