// The flags that convert and loss share: types, rules, cast options, threads.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_CAST_FLAGS_H_
#define TENSORCAST_PROGRAMS_CAST_FLAGS_H_

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "convert/selection.h"
#include "io/tensor_file.h"
#include "tensorcast/explain.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

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

// Registers the flags; `flags` outlives the app.
// How scaled formats choose their scales.
void AddScaleFlag(CLI::App& app, std::string& scale);

void AddCastFlags(CLI::App& app, CastFlags& flags);
// For commands that read models.
void AddHardLinksFlag(CLI::App& app, bool& allowed);
// Only those of CastOptions.
void AddCastOptionFlags(CLI::App& app, CastFlags& flags);

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

#endif  // TENSORCAST_PROGRAMS_CAST_FLAGS_H_
