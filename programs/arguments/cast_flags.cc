// Parses the shared flags; every refusal is one line that lists what would be legal.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/cast_flags.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "arguments/rules_file.h"
#include "arguments/type_argument.h"
#include "convert/selection.h"
#include "shell/command_line.h"
#include "shell/streams.h"

namespace tensorcast::tool {
namespace {

using io::Error;
using io::ErrorKind;

// What the help says of each option of a cast, in the order of CastOption.
constexpr std::array<const char*, kCastOptions> kOptionHelp = {
    "Beyond a float8's range: its limit (true) or its NaN or Inf (false)",
    "To float8e8m0",
    "Floats beyond an integer's range",
    "Inf to a FNUZ type",
    "NaN to float4 and float6",
    "How numbers become strings"};

// An option that takes one value each time it is given.
Option Repeated(Command command, const std::string& name, std::vector<std::string>& values,
                const std::string& help) {
  return command.AddOption(name, values, help).OneValue();
}

}  // namespace

std::string FlagName(CastOption option) {
  std::string name(CastOptionName(option));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void AddCastOptionFlags(Command command, CastFlags& flags) {
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    flags.options[i] = CastOptionValue(option, {});
    command.AddOption("--" + FlagName(option), flags.options[i], kOptionHelp[i])
        .Value(fmt::format("{}", fmt::join(CastOptionValues(option), "|")))
        .Group("Cast options");
  }
}

void AddHardLinksFlag(Command command, bool& allowed) {
  command.AddFlag("--allow-hard-links", allowed,
                  "Read a model's data from files with hard links too");
}

void AddScaleFlag(Command command, std::string& scale) {
  command
      .AddOption("--scale", scale,
                 "How scaled formats choose scales: amax or pow2 (fp8-*, int8-row), round, up or "
                 "ocp (mx*)")
      .Value("RULE");
}

void AddCastFlags(Command command, CastFlags& flags) {
  Repeated(command, "--tensor", flags.only, "Only tensors that match; repeatable").Value("PATTERN");
  Repeated(command, "--exclude", flags.excluded, "Not these tensors; repeatable").Value("PATTERN");
  Repeated(command, "--keep", flags.keep,
           "Leave these alone, unless a rule takes them; repeatable, or joined by commas")
      .Value("small|norms|embeddings|head|packed")
      .Delimiter(',');
  command
      .AddOption("--rules", flags.rules_file,
                 "A TOML file of rules, which come after those of the command line")
      .Value("FILE");
  command.AddFlag("--all-types", flags.all_types,
                  "Every type, not only floating ones: integers, bool, strings, float8e8m0");
  command.AddOption("--assume-type", flags.assume_type, "What an npy of <V1 (or <V2, <f1) holds")
      .Value("T");
  AddHardLinksFlag(command, flags.allow_hard_links);
  command.AddFlag("--raw-scaled", flags.raw_scaled,
                  "Cast tensors that have scales, ignoring the scales");
  AddCastOptionFlags(command, flags);

  const std::string running = "Running";
  command
      .AddOption("--threads", flags.threads, "Threads, at most one per core (default: all cores)")
      .Value("N")
      .Group(running);
  command.AddOption("--target", flags.target, "Force an instruction set")
      .Value("best|scalar|sse4|avx2|avx3|avx3_dl")
      .Group(running);
  command.AddFlag("--json", flags.json, "The report as JSON").Group(running);
  command.AddFlag("-q,--quiet", flags.quiet, "Nothing on stderr but errors").Group(running);
  command.AddFlag("-v,--verbose", flags.verbose, "Every tensor in the report")
      .Group(running)
      .Excludes("--quiet");
  command
      .AddOption("--progress", flags.progress,
                 "auto: a bar on a terminal, else a line now and then; always; never")
      .Value("auto|always|never")
      .Group(running);
}

CastOptions ParseCastOptions(const CastFlags& flags) {
  CastOptions options;
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    const std::string& value = flags.options[i];
    if (SetCastOption(option, value, &options)) continue;
    throw Error(ErrorKind::kArguments,
                fmt::format("--{}: '{}' is not one of {}", FlagName(option), io::Escape(value),
                            fmt::join(CastOptionValues(option), ", ")));
  }
  return options;
}

std::optional<DataType> ParseAssumedType(const CastFlags& flags) {
  if (flags.assume_type.empty()) return std::nullopt;
  return ParseNumberTypeArgument("--assume-type", flags.assume_type,
                                 "a file of strings names its type");
}

Target ParseTargetFlag(const std::string& name) {
  const std::optional<Target> target = ParseTarget(name);
  std::string runnable;
  bool runs = target == Target::kBest;
  for (const Target known : Targets()) {
    runs = runs || known == target;
    runnable.append(runnable.empty() ? "" : ", ").append(TargetName(known));
  }
  if (!target || !runs) {
    throw Error(ErrorKind::kArguments,
                fmt::format("--target: {}; this build has and this machine runs {}",
                            target ? "'" + name + "' does not run here"
                                   : "'" + io::Escape(name) + "' is not an instruction set",
                            runnable));
  }
  return *target;
}

convert::RequestedRule ParseRule(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(ErrorKind::kArguments,
                "--rule '" + io::EscapeName(text) + "' is not PATTERN=TYPE, as '*.w2.*=bfloat16'");
  }
  return {text.substr(0, equals),
          ParseDestination("--rule", std::string_view(text).substr(equals + 1))};
}

convert::Request ParseRequest(const CastFlags& flags) {
  convert::Request request;
  request.only = flags.only;
  request.excluded = flags.excluded;
  for (const std::string& word : flags.keep) request.keep.push_back(ParseKeep("--keep", word));
  request.all_types = flags.all_types;
  request.ignore_scales = flags.raw_scaled;
  request.cast = ParseCastOptions(flags);
  request.assume_type = ParseAssumedType(flags);
  request.allow_hard_links = flags.allow_hard_links;
  return request;
}

void AddRulesFile(const CastFlags& flags, convert::Request& request) {
  if (!flags.rules_file.empty()) ReadRulesFile(flags.rules_file, request);
}

std::unique_ptr<Executor> ParseThreads(const std::string& threads) {
  constexpr unsigned kMost = 1024;
  unsigned count = 0;
  if (!threads.empty()) {
    const char* end = threads.data() + threads.size();
    const auto [stop, error] = std::from_chars(threads.data(), end, count);
    if (error != std::errc() || stop != end || count == 0 || count > kMost) {
      throw Error(ErrorKind::kArguments, fmt::format("--threads: '{}' is not a number from 1 to {}",
                                                     io::Escape(threads), kMost));
    }
  }
  // More threads than processors only cost memory, and oneTBB warns of them on stderr.
  const unsigned processors = std::thread::hardware_concurrency();
  if (processors != 0) count = std::min(count, processors);
  return count == 1 ? nullptr : MakeTbbExecutor(count);
}

void WarnOfIntegerCasts(const std::vector<io::TensorInfo>& tensors,
                        std::span<const convert::Decision> decisions) {
  std::set<std::string_view> types;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TypeInfo* from = FindType(tensors[i].type);
    if (decisions[i].scaled) continue;
    const TypeInfo* to = FindType(decisions[i].to);
    if (from != nullptr && to != nullptr && from->is_float() && to->is_integer()) {
      types.insert(to->name);
    }
  }
  for (const std::string_view type : types) {
    const TypeInfo* to = FindType(*ParseType(type));
    SayWarning(
        fmt::format("a cast to {} is not quantisation: it {} and scales nothing; "
                    "weights within ±1 become mostly zeros",
                    type, to->bits < 8 ? "rounds to integers" : "truncates toward zero"));
  }
}

}  // namespace tensorcast::tool
