// The flags that convert and loss share: types, rules, cast options, threads.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_CAST_FLAGS_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_CAST_FLAGS_H_

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/tensor_info.h"
#include "tensorcast/convert.hpp"
#include "tensorcast/explain.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::convert {
struct Decision;  // convert/selection.h
}

namespace tensorcast::tool {

class Command;  // command_line.h

// The flags as given. Each text is parsed, and refused, by the functions below.
struct CastFlags {
  std::vector<std::string> only;
  std::vector<std::string> excluded;
  std::vector<std::string> keep;
  std::string rules_file;  // empty: none
  bool all_types = false;
  std::string assume_type;
  bool allow_hard_links = false;
  std::array<std::string, kCastOptions> options;  // their values as given, by CastOption
  bool raw_scaled = false;
  std::string target = "best";
  std::string threads;  // empty: all cores
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::string progress = "auto";
};

// How scaled formats choose their scales.
void AddScaleFlag(Command command, std::string& scale);
// Registers the flags; `flags` outlives the CommandLine.
void AddCastFlags(Command command, CastFlags& flags);
// For commands that read models.
void AddHardLinksFlag(Command command, bool& allowed);
// Only those of CastOptions.
void AddCastOptionFlags(Command command, CastFlags& flags);

// The flag that sets an option, without its dashes: "round-mode".
std::string FlagName(CastOption option);

// Each throws io::Error (arguments) naming the flag, the value and the legal ones.
CastOptions ParseCastOptions(const CastFlags& flags);
std::optional<DataType> ParseAssumedType(const CastFlags& flags);
Target ParseTargetFlag(const std::string& name);
// All of a request but its files, its rules, its type and what AddRulesFile adds.
convert::Request ParseRequest(const CastFlags& flags);
// Adds what the file of --rules says, behind what the command line said.
void AddRulesFile(const CastFlags& flags, convert::Request& request);
// Splits "PATTERN=T" at the last '='.
convert::RequestedRule ParseRule(const std::string& text);
// nullptr for one thread.
std::unique_ptr<Executor> ParseThreads(const std::string& threads);

// Warns on stderr of casts from floating to integer types, which users mistake for quantisation.
void WarnOfIntegerCasts(const std::vector<io::TensorInfo>& tensors,
                        std::span<const convert::Decision> decisions);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_CAST_FLAGS_H_
