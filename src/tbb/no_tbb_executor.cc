// What MakeTbbExecutor is in a build without oneTBB.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <memory>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

std::unique_ptr<Executor> MakeTbbExecutor(std::size_t) { return nullptr; }

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
