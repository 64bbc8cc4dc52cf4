// The file that the system refused last, kept for each thread; see failure.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/failure.h"

#include <array>
#include <cstddef>

namespace tensorcast::core {
namespace {

// Plain bytes: a thread that ends has nothing to let go, wherever the library then is.
struct KeptRefusal {
  int error;
  std::size_t size;
  std::array<char, 4096> path;  // as long as paths are
};
thread_local KeptRefusal last_refusal = {};

}  // namespace

void KeepRefusal(const SystemRefusal& refusal) noexcept {
  const bool fits = refusal.path.size() <= last_refusal.path.size();
  last_refusal.error = fits ? refusal.error : 0;
  last_refusal.size = fits ? refusal.path.copy(last_refusal.path.data(), refusal.path.size()) : 0;
}

SystemRefusal LastRefusal() {
  return {last_refusal.error, {last_refusal.path.data(), last_refusal.size}};
}

}  // namespace tensorcast::core
