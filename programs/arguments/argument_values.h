// Values of options as users write them: words of a set, numbers, types, scaled formats, sizes.
// Each function throws files::Error (arguments) that says `where` the value stands, as "--to", what
// it is and what would be legal.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_ARGUMENT_VALUES_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_ARGUMENT_VALUES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorcast/convert.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

using Words = std::vector<std::string_view>;

// "--fold: 'some' is not one of smaller, all".
[[noreturn]] void RefuseWord(std::string_view where, std::string_view word, const Words& words);
void RequireWord(std::string_view where, std::string_view word, const Words& words);

std::uint64_t ParseNumber(std::string_view where, std::string_view text, std::uint64_t least,
                          std::uint64_t most);

// The bytes that "5GB", "500 MB" or "1048576" stands for, with decimal units as huggingface_hub has
// them; at least 1.
std::uint64_t ParseSizeArgument(std::string_view where, std::string_view text);

// The type `name` stands for; a refusal lists the nearest names.
DataType ParseTypeArgument(std::string_view where, std::string_view name);
// The same, but for string, which is refused with the reason `why`.
DataType ParseNumberTypeArgument(std::string_view where, std::string_view name,
                                 std::string_view why);
// What a conversion makes: a type, or a scaled format ("fp8-block").
convert::Destination ParseDestination(std::string_view where, std::string_view name);

// "deepseek"; "up" (of scaled formats "pow2"); "small".
std::string ParseRepackArgument(std::string_view where, std::string_view name);
std::string ParseLayoutArgument(std::string_view where, std::string_view name);
// "128"; 0: "channel".
std::uint64_t ParseGroupArgument(std::string_view where, std::string_view name);
convert::ScaleRule ParseScaleRuleArgument(std::string_view where, std::string_view name);
convert::Keep ParseKeep(std::string_view where, std::string_view word);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_ARGUMENT_VALUES_H_
