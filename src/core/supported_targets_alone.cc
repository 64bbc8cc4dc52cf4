// What CPUID says, where there are Highway's headers but not its library: of SSE4, the one vector
// target of such builds (src/core/CMakeLists.txt).
//
// SPDX-License-Identifier: Apache-2.0
#include "core/kernels.h"

#include <cpuid.h>

#include "hwy/detect_targets.h"

static_assert((HWY_TARGETS & ~(HWY_SSE4 | HWY_SCALAR)) == 0,
              "a target of which CPUID is not asked");

namespace tensorcast::core {

std::int64_t SupportedTargets() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  // What Highway lets the compiler use for HWY_SSE4.
  constexpr unsigned kNeeded = bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_PCLMUL | bit_AES;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kNeeded) != kNeeded) return 0;
  return HWY_SSE4;
}

}  // namespace tensorcast::core
