// Parses the shared flags; every refusal is one line that lists what would be legal.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/shared_flags.h"

#include <algorithm>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "arguments/argument_values.h"
#include "files/error.h"
#include "formats/tensor_file.h"
#include "naming/tensor_pattern.h"
#include "shell/command_line.h"

namespace tensorcast::tool {
namespace {

using core::ErrorKind;
using files::Error;

// What the help says of each option of a cast, in the order of CastOption.
constexpr std::array<const char*, kCastOptions> kOptionHelp = {
    "Values beyond a float8's range become its limit (true) or its NaN or Inf (false)",
    "How to round to float8e8m0",
    "What floats beyond an integer's range become",
    "What Inf becomes in a FNUZ type",
    "What NaN becomes in float4 and float6",
    "How numbers become strings"};

}  // namespace

std::string FlagName(CastOption option) {
  std::string name(CastOptionName(option));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

Option AddInput(Command command, const std::string& name, std::string& path) {
  return command
      .AddOption(
          name, path,
          "A " + formats::JoinedEndings("or") + " file, a checkpoint's directory, or - (stdin)")
      .Required();
}

void AddCastOptionFlags(Command command, CastFlags& flags) {
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    flags.options[i] = CastOptionValue(option, {});
    command.Under("Cast options")
        .AddOption(
            fmt::format("--{} {}", FlagName(option), fmt::join(CastOptionValues(option), "|")),
            flags.options[i], kOptionHelp[i]);
  }
}

void AddTargetFlag(Command command, std::string& target) {
  command.AddOption("--target best|scalar|sse4|avx2|avx3|avx3_dl", target,
                    "Force an instruction set");
}

void AddHardLinksFlag(Command command, bool& allowed) {
  command.AddFlag("--allow-hard-links", allowed,
                  "Also read a model's data from files with hard links");
}

void AddContradictionsFlag(Command command, std::string& value) {
  command.AddOption("--contradictions text|tests", value,
                    "Inf to float8 FNUZ at opsets 19 to 23: follow the operator's text or the "
                    "tests (default: text)");
}

void AddScaleFlag(Command command, std::string& scale) {
  command.AddOption("--scale RULE", scale,
                    "How scaled formats choose scales: amax or pow2 (fp8-*, int8-row), round, up "
                    "or ocp (mx*), mse, mse-fine (int*), four-over-six (nvfp4)");
}

void AddRootFlag(Command command, std::string& root) {
  command.AddOption(
      "--root NAME", root,
      "The dict of a torch file that holds the tensors: a key, or keys joined by dots");
}

void AddPatternFlags(Command command, CastFlags& flags) {
  command.AddOption("--tensor PATTERN", flags.only, "Take only tensors that match; repeatable")
      .OneValue();
  command
      .AddOption("--exclude PATTERN", flags.excluded, "Do not take tensors that match; repeatable")
      .OneValue();
}

void AddReadingFlags(Command command, CastFlags& flags) {
  command.AddOption("--assume-type T", flags.assume_type,
                    "The type of an npy of <V1 (or <V2, <f1)");
  AddHardLinksFlag(command, flags.allow_hard_links);
}

void AddCastFlags(Command command, CastFlags& flags) {
  AddPatternFlags(command, flags);
  command
      .AddOption(
          "--keep small|norms|embeddings|head|packed", flags.keep,
          "Leave such tensors alone, unless a rule takes them; repeatable, or joined by commas")
      .OneValue()
      .Delimiter(',');
  command.AddOption("--rules FILE", flags.rules_file,
                    "A TOML file of rules, which come after those of the command line");
  command.AddFlag("--all-types", flags.all_types,
                  "Take every type, not only floating ones: integers, bool, strings, float8e8m0");
  AddReadingFlags(command, flags);
  AddRootFlag(command, flags.root);
  command.AddFlag("--raw-scaled", flags.raw_scaled,
                  "Cast tensors that have scales, ignoring the scales");
  AddCastOptionFlags(command, flags);
  AddRunningFlags(command, flags);
}

void AddFailFlag(Command command, CastFlags& flags) {
  command
      .AddOption("--fail-on KIND=LIMIT", flags.fail_on,
                 fmt::format("Exit with 1 if a count (to_limit=0) or share (to_zero=1%) is "
                             "above the limit, or snr below it; repeatable. KIND is one of {}",
                             fmt::join(LimitNames(), ", ")))
      .OneValue();
}

void AddReportFlag(Command command, CastFlags& flags) {
  command.AddOption(
      "--report FILE", flags.report,
      "Also write the report to a file: a page to look at (.html), or for programs all "
      "of it (.json) or a table (.csv)");
}

void AddReportFlags(Command command, CastFlags& flags, bool& replaces) {
  AddReportFlag(command, flags);
  command.AddFlag("--force", replaces, "Replace an existing report").Needs("--report");
}

void AddRunningFlags(Command command, CastFlags& flags) {
  Command running = command.Under("Running");
  running.AddOption("--threads N", flags.threads,
                    "Threads to use, at most one per core (default: all cores)");
  AddTargetFlag(running, flags.target);
  running.AddFlag("--json", flags.json, "Print the report as JSON");
  running.AddFlag("-q,--quiet", flags.quiet, "Print only errors on stderr");
  running.AddFlag("-v,--verbose", flags.verbose, "List every tensor in the report")
      .Excludes("--quiet");
  running.AddOption("--progress auto|always|never", flags.progress,
                    "Show progress; auto: a bar on a terminal, else a line now and then");
}

CastOptions ParseCastOptions(const CastFlags& flags) {
  CastOptions options;
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    const std::string& value = flags.options[i];
    if (SetCastOption(option, value, &options)) continue;
    const auto legal = CastOptionValues(option);
    RefuseWord("--" + FlagName(option), value, {legal.begin(), legal.end()});
  }
  return options;
}

std::optional<DataType> ParseAssumedType(const std::string& name) {
  if (name.empty()) return std::nullopt;
  return ParseNumberTypeArgument("--assume-type", name, "a file of strings names its type");
}

Target ParseTargetFlag(const std::string& name) {
  const std::optional<Target> target = ParseTarget(name);
  Words runnable;
  bool runs = target == Target::kBest;
  for (const Target known : Targets()) {
    runs = runs || known == target;
    runnable.push_back(TargetName(known));
  }
  if (target && runs) return *target;
  throw Error(
      ErrorKind::kArguments,
      fmt::format("--target: '{}' {}; this build has and this machine runs {}", words::Escape(name),
                  target ? "does not run here" : "is not an instruction set",
                  fmt::join(runnable, ", ")));
}

void RequirePattern(std::string_view flag, const std::string& text) {
  try {
    const naming::TensorPattern checked(text);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", flag, error.what()));
  }
}

convert::RequestedRule ParseRule(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(ErrorKind::kArguments, "--rule '" + words::EscapeName(text) +
                                           "' is not PATTERN=TYPE, as '*.w2.*=bfloat16'");
  }
  RequirePattern("--rule", text.substr(0, equals));
  return {text.substr(0, equals),
          ParseDestination("--rule", std::string_view(text).substr(equals + 1))};
}

convert::RequestedRename ParseRename(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(ErrorKind::kArguments,
                "--rename '" + words::EscapeName(text) + "' is not FROM=TO, as 'model.*=*'");
  }
  return {text.substr(0, equals), text.substr(equals + 1), "--rename"};
}

convert::Request ParseRequest(const CastFlags& flags) {
  convert::Request request;
  for (const std::string& pattern : flags.only) RequirePattern("--tensor", pattern);
  for (const std::string& pattern : flags.excluded) RequirePattern("--exclude", pattern);
  request.only = flags.only;
  request.excluded = flags.excluded;
  for (const std::string& word : flags.keep) request.keep.push_back(ParseKeep("--keep", word));
  request.all_types = flags.all_types;
  request.ignore_scales = flags.raw_scaled;
  request.cast = ParseCastOptions(flags);
  request.assume_type = ParseAssumedType(flags.assume_type);
  request.allow_hard_links = flags.allow_hard_links;
  request.root = flags.root;
  return request;
}

std::unique_ptr<Executor> ParseThreads(const std::string& threads) {
  constexpr unsigned kMost = 1024;
  unsigned count = 0;
  if (!threads.empty()) count = static_cast<unsigned>(ParseNumber("--threads", threads, 1, kMost));
  // More threads than processors only cost memory, and oneTBB warns of them on stderr.
  const unsigned processors = std::thread::hardware_concurrency();
  if (processors != 0) count = std::min(count, processors);
  return count == 1 ? nullptr : MakeTbbExecutor(count);
}

std::vector<LossLimit> ParseFailLimits(const std::vector<std::string>& texts) {
  std::vector<LossLimit> limits;
  for (const std::string& text : texts) {
    std::string problem;
    const std::optional<LossLimit> limit = ParseLossLimit(text, &problem);
    if (!limit) throw Error(ErrorKind::kArguments, "--fail-on: " + problem);
    limits.push_back(*limit);
  }
  return limits;
}

onnx::Contradictions ParseContradictions(const std::string& value) {
  RequireWord("--contradictions", value, {"text", "tests"});
  return value == "text" ? onnx::Contradictions::kText : onnx::Contradictions::kTests;
}

}  // namespace tensorcast::tool
