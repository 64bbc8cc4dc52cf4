// The flags that say what is converted, and into what: of convert, and of verify, which does it
// again.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_CONVERSION_FLAGS_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_CONVERSION_FLAGS_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments/shared_flags.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::tool {

class Command;  // shell/command_line.h

// The word of --to for what the library has no type for.
inline constexpr std::string_view kSame = "same";

struct ConversionFlags {
  CastFlags cast;
  std::string input;
  std::string output;
  std::string to;      // kSame: tensors that no rule takes stay as they are
  std::string layout;  // of scaled formats
  std::string scale;
  std::string repack;  // the layout that weights go into as they are
  std::string group;   // of integers
  bool asymmetric = false;
  bool rotate = false;
  std::vector<std::string> rules;
  std::vector<std::string> select;
  std::vector<std::string> renames;
  std::optional<std::string> like;
  std::optional<std::string> max_shard_size;
  std::vector<std::string> given;  // the names of all flags that stand on the command line
};

// Registers them, but --max-shard-size and those that name the input and the output.
void AddConversionFlags(Command command, ConversionFlags& flags);

// Throws files::Error (arguments) naming the flag, the value and the legal ones.
convert::Request RequestOf(const ConversionFlags& flags);
// Whether a type, a rule or a layout is asked for.
bool AsksForSomething(const convert::Request& request);
// Whether the flags say what becomes of tensors: that, or that they stay as they are.
bool SaysWhatBecomes(const ConversionFlags& flags, const convert::Request& request);

// Refuses flags that are not among those that are taken: "--to: WHY".
void RequireTaken(const ConversionFlags& flags, std::initializer_list<std::string_view> taken,
                  std::string_view why);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_CONVERSION_FLAGS_H_
