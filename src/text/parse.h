// One text to the code of an element.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_PARSE_H_
#define TENSORCAST_SRC_TEXT_PARSE_H_

#include <cstdint>
#include <string_view>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::text {

// Casts a text to any fixed-width type: one rounding from its exact decimal value. kOk,
// kNotANumber or kNotAnInteger; *code is set where it is kOk. The floating-point environment is
// the default one.
StatusCode ParseCode(std::string_view text, const TypeInfo& to, const CastOptions& options,
                     std::uint64_t* code);

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_PARSE_H_
