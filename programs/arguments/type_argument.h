// Type names as users write them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_TYPE_ARGUMENT_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_TYPE_ARGUMENT_H_

#include <optional>
#include <string_view>

#include "tensorcast/convert.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// The type `name` stands for. Throws io::Error (arguments) that lists the nearest names; `where`
// is the option, as "--to".
DataType ParseTypeArgument(std::string_view where, std::string_view name);

// The same of what a conversion makes: a type, or a scaled format ("fp8-block").
convert::Destination ParseDestination(std::string_view where, std::string_view name);

// "deepseek", "up" (of scaled formats "pow2"). Throw io::Error (arguments).
std::string ParseLayoutArgument(std::string_view where, std::string_view name);
convert::ScaleRule ParseScaleRuleArgument(std::string_view where, std::string_view name);

// The same, but for string, which is refused with the reason `why`.
DataType ParseNumberTypeArgument(std::string_view where, std::string_view name,
                                 std::string_view why);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_TYPE_ARGUMENT_H_
