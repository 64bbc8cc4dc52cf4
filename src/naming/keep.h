// Which tensors a request keeps by their kind.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_NAMING_KEEP_H_
#define TENSORCAST_SRC_NAMING_KEEP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensorcast/convert.hpp"

namespace tensorcast::naming {

// The first of `keep` that a tensor belongs to by its name and shape; nothing where it belongs to
// none.
std::optional<convert::Keep> KeptBy(std::span<const convert::Keep> keep, std::string_view name,
                                    std::span<const std::uint64_t> shape);

}  // namespace tensorcast::naming

#endif  // TENSORCAST_SRC_NAMING_KEEP_H_
