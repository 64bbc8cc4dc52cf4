// Stands before Highway's own answer, for scripts/avx512: the emulated processor executes every
// instruction of AVX3_DL and does not list all of them in CPUID. Without the other instruction sets
// the run takes half the time.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "hwy/detect_targets.h"

namespace hwy {

__attribute__((visibility("default"))) std::int64_t SupportedTargets() {
  return HWY_AVX3 | HWY_AVX3_DL;
}

}  // namespace hwy
