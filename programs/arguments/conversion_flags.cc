// From flags to a request.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/conversion_flags.h"

#include <algorithm>

#include <fmt/format.h>

#include "arguments/argument_values.h"
#include "arguments/rules_file.h"
#include "files/error.h"
#include "shell/command_line.h"

namespace tensorcast::tool {

using core::ErrorKind;
using files::Error;

bool AsksForSomething(const convert::Request& request) {
  return request.to || !request.rules.empty() || !request.repack.empty();
}

bool SaysWhatBecomes(const ConversionFlags& flags, const convert::Request& request) {
  return flags.to == kSame || AsksForSomething(request);
}

void RequireTaken(const ConversionFlags& flags, std::initializer_list<std::string_view> taken,
                  std::string_view why) {
  for (const std::string& flag : flags.given) {
    if (std::ranges::find(taken, flag) != taken.end()) continue;
    throw Error(ErrorKind::kArguments, fmt::format("{}: {}", flag, why));
  }
}

void AddConversionFlags(Command command, ConversionFlags& flags) {
  command.AddOption("--to TYPE", flags.to,
                    "The type or scaled format that tensors become, unless a rule takes them; same "
                    "leaves them as they are");
  command.AddOption(fmt::format("--layout {}", fmt::join(convert::ScaledLayouts(), "|")),
                    flags.layout, "The library or format whose layout scaled weights get");
  AddScaleFlag(command, flags.scale);
  command.AddOption(fmt::format("--repack {}", fmt::join(convert::RepackLayouts(), "|")),
                    flags.repack,
                    "Put quantised weights into this layout, code for code, and cast nothing");
  command.AddOption(
      "--group 32|64|128|channel", flags.group,
      "For int4-group, int8-group: how many columns share a scale; channel: a whole row");
  command.AddFlag("--asymmetric", flags.asymmetric,
                  "For int4-group, int8-group: use zero points or biases");
  command.AddFlag("--rotate", flags.rotate,
                  "Rotate rows of int8-row in groups of 256 (ConvRot, layout comfyui)");
  command
      .AddOption("--rule 'PATTERN=TYPE'", flags.rules,
                 "Tensors that match become TYPE; the first rule that matches wins")
      .OneValue();
  command.AddOption("--like FILE.gguf", flags.like,
                    "For a .gguf output: take this file's keys, and its tensors in its order");
  command
      .AddOption("--select PATTERN", flags.select,
                 "Write only tensors that match, with their scales, and leave out all others; "
                 "repeatable")
      .OneValue();
  command
      .AddOption("--rename 'FROM=TO'", flags.renames,
                 "Write tensors whose names match FROM under the name TO; the first that matches "
                 "wins")
      .OneValue();
  AddCastFlags(command, flags.cast);
}

convert::Request RequestOf(const ConversionFlags& flags) {
  convert::Request request = ParseRequest(flags.cast);
  request.files = {{flags.input, flags.output}};
  if (!flags.to.empty() && flags.to != kSame) request.to = ParseDestination("--to", flags.to);
  if (!flags.layout.empty()) request.layout = ParseLayoutArgument("--layout", flags.layout);
  if (!flags.scale.empty()) request.scale_rule = ParseScaleRuleArgument("--scale", flags.scale);
  if (!flags.group.empty()) request.group = ParseGroupArgument("--group", flags.group);
  request.asymmetric = flags.asymmetric;
  request.rotate = flags.rotate;
  for (const std::string& pattern : flags.select) RequirePattern("--select", pattern);
  request.select = flags.select;
  for (const std::string& text : flags.renames) request.renames.push_back(ParseRename(text));
  for (const std::string& rule : flags.rules) request.rules.push_back(ParseRule(rule));
  if (!flags.cast.rules_file.empty()) ReadRulesFile(flags.cast.rules_file, request);
  if (flags.to == kSame) request.to.reset();  // the command line comes before the file
  if (!flags.repack.empty()) {
    request.repack = ParseRepackArgument("--repack", flags.repack);
    RequireTaken(flags,
                 {"IN",
                  "OUT",
                  "--output",
                  "--repack",
                  "--tensor",
                  "--exclude",
                  "--force",
                  "--dry-run",
                  "--write-plan",
                  "--no-report",
                  "--json",
                  "--threads",
                  "--target",
                  "--quiet",
                  "--verbose",
                  "--progress",
                  "--max-shard-size",
                  "--root",
                  "--rules",
                  "--assume-type",
                  "--allow-hard-links",
                  "--like",
                  "--record",
                  "--resume",
                  "--part",
                  "--join",
                  "--report"},
                 "--repack casts nothing; cast before it, or after");
  }
  if (flags.max_shard_size) {
    request.max_shard_bytes = ParseSizeArgument("--max-shard-size", *flags.max_shard_size);
  }
  if (flags.like) {
    request.like = *flags.like;
    if (request.like.empty()) throw Error(ErrorKind::kArguments, "--like: it names no file");
  }
  return request;
}

}  // namespace tensorcast::tool
