// Type names as users write them: parsing, the spellings to show, and what was probably meant.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_TYPE_ARGUMENT_H_
#define TENSORCAST_PROGRAMS_TYPE_ARGUMENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// The type `name` stands for. Throws io::Error (arguments) that lists the nearest names; `where`
// is the option, as "--to".
DataType ParseTypeArgument(std::string_view where, std::string_view name);

// Other spellings of a type that ParseType takes, to show: those users meet most.
std::vector<std::string_view> KnownSpellings(DataType type);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_TYPE_ARGUMENT_H_
