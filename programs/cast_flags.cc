// Parses the shared flags; every refusal is one line that lists what would be legal.
//
// SPDX-License-Identifier: Apache-2.0
#include "cast_flags.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "rules_file.h"
#include "streams.h"
#include "tensorcast/explain.hpp"
#include "type_argument.h"

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

// "--round-mode" of round_mode.
std::string FlagOf(CastOption option) {
  std::string flag = "--" + std::string(CastOptionName(option));
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// An option that takes one value each time it is given.
CLI::Option* Repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                      const std::string& help) {
  return app.add_option(name, values, help)->allow_extra_args(false);
}

}  // namespace

void AddCastOptionFlags(CLI::App& app, CastFlags& flags) {
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    flags.options[i] = CastOptionValue(option, {});
    app.add_option(FlagOf(option), flags.options[i], kOptionHelp[i])
        ->type_name(fmt::format("{}", fmt::join(CastOptionValues(option), "|")))
        ->group("Cast options");
  }
}

void AddHardLinksFlag(CLI::App& app, bool& allowed) {
  app.add_flag("--allow-hard-links", allowed, "Read a model's data from files with hard links too");
}

void AddScaleFlag(CLI::App& app, std::string& scale) {
  app.add_option("--scale", scale,
                 "How scaled formats choose scales: amax or pow2 (fp8-*, int8-row), ocp, up or "
                 "round (mx*)")
      ->type_name("RULE");
}

void AddCastFlags(CLI::App& app, CastFlags& flags) {
  Repeated(app, "--tensor", flags.only, "Only tensors that match; repeatable")
      ->type_name("PATTERN");
  Repeated(app, "--exclude", flags.excluded, "Not these tensors; repeatable")->type_name("PATTERN");
  Repeated(app, "--keep", flags.keep,
           "Leave these alone, unless a rule takes them; repeatable, or joined by commas")
      ->type_name("small|norms|embeddings|head")
      ->delimiter(',');
  app.add_option("--rules", flags.rules_file,
                 "A TOML file of rules, which come after those of the command line")
      ->type_name("FILE");
  app.add_flag("--all-types", flags.all_types,
               "Every type, not only floating ones: integers, bool, strings, float8e8m0");
  app.add_option("--assume-type", flags.assume_type, "What an npy of <V1 (or <V2, <f1) holds")
      ->type_name("T");
  AddHardLinksFlag(app, flags.allow_hard_links);
  app.add_flag("--raw-scaled", flags.raw_scaled,
               "Cast tensors that have scales, ignoring the scales");
  AddCastOptionFlags(app, flags);

  const std::string running = "Running";
  app.add_option("--threads", flags.threads, "Threads, at most one per core (default: all cores)")
      ->type_name("N")
      ->group(running);
  app.add_option("--target", flags.target, "Force an instruction set")
      ->type_name("best|scalar|sse4|avx2|avx3|avx3_dl")
      ->group(running);
  app.add_flag("--json", flags.json, "The report as JSON")->group(running);
  CLI::Option* quiet = app.add_flag("-q,--quiet", flags.quiet, "Nothing on stderr but errors");
  quiet->group(running);
  app.add_flag("-v,--verbose", flags.verbose, "Every tensor in the report")
      ->group(running)
      ->excludes(quiet);
  app.add_option("--progress", flags.progress,
                 "auto: a bar on a terminal, else a line now and then; always; never")
      ->type_name("auto|always|never")
      ->group(running);
}

CastOptions ParseCastOptions(const CastFlags& flags) {
  CastOptions options;
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    const std::string& value = flags.options[i];
    if (SetCastOption(option, value, &options)) continue;
    throw Error(ErrorKind::kArguments,
                fmt::format("{}: '{}' is not one of {}", FlagOf(option), io::Escape(value),
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
