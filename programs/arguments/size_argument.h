// Sizes as users write them: 5GB, 500 MB, 1048576.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_SIZE_ARGUMENT_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_SIZE_ARGUMENT_H_

#include <cstdint>
#include <string_view>

namespace tensorcast::tool {

// The bytes that `text` stands for, with decimal units as huggingface_hub has them; at least 1.
// Throws io::Error (arguments); `where` is the option, as "--max-shard-size".
std::uint64_t ParseSizeArgument(std::string_view where, std::string_view text);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_SIZE_ARGUMENT_H_
