// SPDX-License-Identifier: Apache-2.0
#include "core/kernels.h"
namespace tensorcast::core {
std::span<const Kernels* const> AllKernels() {
  static const Kernels* const all[] = {ScalarKernels()};
  return all;
}
}  // namespace tensorcast::core
