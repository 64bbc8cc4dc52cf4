// The options that a numeric cast looks at, as a number: tables by options are found by it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_OPTION_SET_H_
#define TENSORCAST_SRC_CORE_OPTION_SET_H_

#include <cstddef>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

inline constexpr std::size_t kOptionSets = 2 * 3 * 2 * 2 * 2;

// Below kOptionSets.
inline std::size_t OptionSet(const CastOptions& options) {
  std::size_t set = options.saturate ? 1 : 0;
  set = set * 3 + static_cast<std::size_t>(options.round_mode);
  set = set * 2 + static_cast<std::size_t>(options.integer_overflow);
  set = set * 2 + static_cast<std::size_t>(options.fnuz_infinity);
  return set * 2 + static_cast<std::size_t>(options.finite_only_nan);
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_OPTION_SET_H_
