// The flags that several commands share: types, rules, cast options, threads, limits, models.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_SHARED_FLAGS_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_SHARED_FLAGS_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorcast/convert.hpp"
#include "tensorcast/explain.hpp"
#include "tensorcast/onnx.hpp"
#include "tensorcast/report.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

class Command;  // command_line.h
class Option;

// What convert and loss share, as given. Each text is parsed, and refused, by the functions below.
struct CastFlags {
  std::vector<std::string> only;
  std::vector<std::string> excluded;
  std::vector<std::string> keep;
  std::string rules_file;  // empty: none
  bool all_types = false;
  std::string assume_type;
  std::string root;
  bool allow_hard_links = false;
  std::array<std::string, kCastOptions> options;  // their values as given, by CastOption
  bool raw_scaled = false;
  std::string target = "best";
  std::string threads;  // empty: all cores
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::string progress = "auto";
  std::vector<std::string> fail_on;
  std::string report;  // a file; empty: none
};

// Each registers flags; what they are read into outlives the CommandLine.
Option AddInput(Command command, const std::string& name, std::string& path);  // of tensors
void AddCastFlags(Command command, CastFlags& flags);
// Parts of them, for commands that cast nothing: which tensors, how files are understood, how it
// runs.
void AddPatternFlags(Command command, CastFlags& flags);
void AddReadingFlags(Command command, CastFlags& flags);
void AddRunningFlags(Command command, CastFlags& flags);
void AddFailFlag(Command command, CastFlags& flags);    // limits of what may be lost
void AddReportFlag(Command command, CastFlags& flags);  // a file with what was found
// The same, and --force for it alone, of commands that write nothing else.
void AddReportFlags(Command command, CastFlags& flags, bool& replaces);
void AddScaleFlag(Command command, std::string& scale);      // how scaled formats choose scales
void AddCastOptionFlags(Command command, CastFlags& flags);  // only those of CastOptions
void AddTargetFlag(Command command, std::string& target);
void AddHardLinksFlag(Command command, bool& allowed);  // for commands that read models
void AddRootFlag(Command command, std::string& root);   // for those that read torch's files
void AddContradictionsFlag(Command command, std::string& value);

// The flag that sets an option, without its dashes: "round-mode".
std::string FlagName(CastOption option);

// Each throws files::Error (arguments) naming the flag, the value and the legal ones.
CastOptions ParseCastOptions(const CastFlags& flags);
std::optional<DataType> ParseAssumedType(const std::string& name);  // none: it is empty
Target ParseTargetFlag(const std::string& name);
std::unique_ptr<Executor> ParseThreads(const std::string& threads);  // null: one thread
std::vector<LossLimit> ParseFailLimits(const std::vector<std::string>& texts);
onnx::Contradictions ParseContradictions(const std::string& value);
// Throws files::Error (arguments) where it is not legal, with the flag before it.
void RequirePattern(std::string_view flag, const std::string& text);
// "PATTERN=T", split at the last '='.
convert::RequestedRule ParseRule(const std::string& text);
// "FROM=TO", split at the last '='.
convert::RequestedRename ParseRename(const std::string& text);
// All of a request but its files, its rules, its type and what a file of --rules adds.
convert::Request ParseRequest(const CastFlags& flags);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_SHARED_FLAGS_H_
