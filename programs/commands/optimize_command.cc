// tensorcast optimize: a model without the Casts that change nothing.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include "arguments/argument_values.h"
#include "arguments/shared_flags.h"
#include "arguments/tensor_files.h"
#include "commands/commands.h"
#include "commands/mdf_model.h"
#include "display/quantities.h"
#include "display/text_table.h"
#include "display/tool_json.h"
#include "files/error.h"
#include "files/system.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/process.h"
#include "shell/streams.h"
#include "shell/terminal.h"
#include "tensorcast/onnx.hpp"

namespace tensorcast::tool {
namespace {

struct OptimizeFlags {
  std::string input;
  std::string output;
  std::string fold = "smaller";
  bool nan_payloads_may_change = false;
  bool allow_hard_links = false;
  bool json = false;
  bool force = false;
  bool is_mdf = false;  // the one model or the other: it is written anew
};

constexpr const char* kOptimizeDescription =
    R"(Remove the Casts of an ONNX model that change no bit of any output.

Examples:
  tensorcast optimize model.onnx -o fewer.onnx
  tensorcast optimize model.onnx -o fewer.onnx --fold all --json

A model may have any operators: what is not understood keeps its bytes, and the inputs and outputs of
the graph keep their names. These Casts are removed: those to the type that a value has; those back to
it, if nothing was lost; the first of two, if the second alone gives the same; equal Casts of one
value; those that nothing reads; and those of constants, if the file does not grow. docs/optimize.md
has the rules and their proofs.

The payloads of NaNs count as bits: Casts from float16 to float32 and back stay, as they make
signalling NaNs quiet. Data in other files stays as it is. A model that trains is copied unchanged. An
MDF model is read, optimised and written as docs/mdf.md says; either format may become the other.

Exit codes: 0 done; 2 wrong arguments; 3 bad contents of the model; 4 an error of the system; 5 legal
but not supported; 130 interrupted.
)";

std::string NodeText(const onnx::RemovedNode& node) {
  return words::Escape(node.node.empty() ? node.output : node.node);
}

// The flag, or what else does it; empty: nothing.
std::string_view RemedyText(onnx::KeptRemedy remedy) {
  switch (remedy) {
    case onnx::KeptRemedy::kNanPayloads: return "--nan-payloads-may-change";
    case onnx::KeptRemedy::kFoldAll: return "--fold all";
    case onnx::KeptRemedy::kInferShapes: return "onnx.shape_inference.infer_shapes(model)";
    case onnx::KeptRemedy::kNone: break;
  }
  return {};
}

// Casts first: what went with them only served them.
std::string RemovedTable(const onnx::OptimizeReport& report) {
  constexpr std::size_t kShown = 40;
  std::vector<const onnx::RemovedNode*> removed;
  for (const onnx::RemovedNode& node : report.removed) removed.push_back(&node);
  std::stable_partition(removed.begin(), removed.end(), [](const onnx::RemovedNode* node) {
    return node->to != DataType::kUndefined;
  });
  TextTable table(
      {{"removed", false, 20}, {"operator"}, {"from"}, {"to"}, {"rule"}, {"in", false, 20, 1}});
  for (std::size_t i = 0; i < removed.size() && i < kShown; ++i) {
    const onnx::RemovedNode& node = *removed[i];
    const bool is_cast = node.to != DataType::kUndefined;
    table.Add({NodeText(node), words::Escape(node.op_type),
               is_cast ? std::string(TypeName(node.from)) : "",
               is_cast ? std::string(TypeName(node.to)) : "",
               std::string(OptimizeRuleName(node.rule)), words::Escape(node.graph)});
  }
  std::string text = table.Render(Columns(stdout), false);
  if (removed.size() > kShown) {
    text += fmt::format("   … {} more (--json lists all)\n", removed.size() - kShown);
  }
  return text;
}

std::string MovedText(std::uint64_t bytes, std::uint64_t unknown) {
  std::string text = BytesText(bytes);
  if (unknown != 0) text += fmt::format(" and {} of unknown size", unknown);
  return text;
}

std::string ReportText(const OptimizeFlags& flags, const onnx::OptimizeReport& report) {
  std::string text;
  if (!report.untouched.empty()) {
    text = fmt::format(" nothing was changed: {}\n", report.untouched);
  } else if (!report.changed()) {
    text = flags.is_mdf ? " nothing to remove\n" : " nothing to remove: the bytes are the same\n";
  } else {
    text = RemovedTable(report) + '\n';
    text += fmt::format(" {} → {} Casts, {} → {} nodes", report.casts_before, report.casts_after,
                        report.nodes_before, report.nodes_after);
    if (report.casts_rerouted != 0) {
      text += fmt::format("; {} read an earlier value", report.casts_rerouted);
    }
    text += report.bytes_moved_before == 0
                ? std::string("\n no sizes are known: what Casts move in a run is not counted\n")
                : fmt::format("\n Casts of a run move {} → {}\n",
                              MovedText(report.bytes_moved_before, report.unknown_before),
                              MovedText(report.bytes_moved_after, report.unknown_after));
  }
  for (const onnx::KeptCasts& kept : report.kept) {
    std::string line = fmt::format("{}: {}", words::CountText(kept.casts, "Cast"), kept.reason);
    if (const std::string_view remedy = RemedyText(kept.remedy); !remedy.empty()) {
      line +=
          fmt::format("; {} {}", remedy,
                      kept.remedy == onnx::KeptRemedy::kInferShapes ? "may say it" : "allows that");
    }
    text += Wrapped(" left alone:", line, Columns(stdout));
  }
  return text + fmt::format(" {}, {} → {}, {}\n", words::Escape(flags.input),
                            BytesText(report.model_bytes_before), words::Escape(flags.output),
                            BytesText(report.model_bytes_after));
}

Json CountsJson(std::uint64_t nodes, std::uint64_t casts, std::uint64_t moved,
                std::uint64_t unknown, std::uint64_t bytes) {
  return {{"nodes", nodes},
          {"casts", casts},
          {"cast_bytes_moved", moved},
          {"casts_of_unknown_size", unknown},
          {"model_bytes", bytes}};
}

void PrintOptimizeJson(const OptimizeFlags& flags, const onnx::OptimizeReport& report) {
  JsonPrinter json("optimize");
  json.Member("input", flags.input);
  json.Member("output", flags.output);
  json.Member("changed", report.changed());
  json.Member("untouched", TextOrNull(report.untouched));
  json.Member("before",
              CountsJson(report.nodes_before, report.casts_before, report.bytes_moved_before,
                         report.unknown_before, report.model_bytes_before));
  json.Member("after", CountsJson(report.nodes_after, report.casts_after, report.bytes_moved_after,
                                  report.unknown_after, report.model_bytes_after));
  json.Member("casts_rerouted", report.casts_rerouted);
  json.Array("removed", report.removed, [](const onnx::RemovedNode& node) -> Json {
    return {{"node", node.node},
            {"operator", node.op_type},
            {"output", node.output},
            {"graph", node.graph},
            {"from", TypeJson(node.from)},
            {"to", TypeJson(node.to)},
            {"rule", OptimizeRuleName(node.rule)}};
  });
  json.Array("left_alone", report.kept, [](const onnx::KeptCasts& kept) -> Json {
    return {{"reason", kept.reason},
            {"casts", kept.casts},
            {"remedy", TextOrNull(RemedyText(kept.remedy))}};
  });
  json.End();
}

// A model that is MDF, or becomes it, goes by way of its graph. The sizes are those of the files.
void OptimizeMdf(const OptimizeFlags& flags, const ModelPaths& paths,
                 const onnx::OptimizeOptions& options, onnx::OptimizeReport& report) {
  const ModelConversion with{{}, flags.allow_hard_links, flags.force};
  Graph graph = ReadGraph(paths, with);
  std::string error;
  CheckStatus(graph.Optimize(options, &report, &error), error);
  report.model_bytes_before = files::FileBytes(flags.input, "cannot be accessed");
  report.model_bytes_after = WriteGraph(graph, paths, with);
}

int OptimizeModel(OptimizeFlags flags) {
  RequireWord("--fold", flags.fold, {"smaller", "all"});
  onnx::OptimizeOptions options;
  options.fold_all = flags.fold == "all";
  options.nan_payloads_may_change = flags.nan_payloads_may_change;
  options.overwrite = flags.force;
  options.allow_hard_links = flags.allow_hard_links;
  // Before the model is read: a refusal that --force lifts says so.
  files::CheckOutput(flags.output, 0, {flags.force, {flags.input}});
  options.interrupted = CatchInterrupts();
  onnx::OptimizeReport report;
  std::string error;
  const ModelPaths paths = FormatsOf(flags.input, flags.output);
  flags.is_mdf = paths.has_mdf();
  if (flags.is_mdf) {
    OptimizeMdf(flags, paths, options, report);
  } else {
    CheckStatus(onnx::Optimize(flags.input, flags.output, options, &report, &error), error);
  }
  ExitOnInterrupts(Leaves::kOutput);
  if (flags.json) {
    PrintOptimizeJson(flags, report);
  } else {
    Print(ReportText(flags, report));
  }
  for (const std::string& note : report.notes) SayNote(note);
  return kExitDone;
}

}  // namespace

void AddOptimizeCommand(CommandLine& line) {
  auto flags = std::make_shared<OptimizeFlags>();
  Command command = line.AddCommand("optimize", kOptimizeDescription);
  command
      .AddOption("INPUT FILE", flags->input,
                 "A .onnx model, or one of MDF: .json, .yaml, .yml, .bson")
      .Required();
  command.AddOption("-o,--output FILE", flags->output, "The model to write").Required();
  command.AddOption("--fold smaller|all", flags->fold,
                    "Which Casts of constants become their results: those that do not make the "
                    "model larger, or all (default: smaller)");
  command.AddFlag("--nan-payloads-may-change", flags->nan_payloads_may_change,
                  "Let NaNs change their payloads, and whether they signal");
  AddHardLinksFlag(command, flags->allow_hard_links);
  command.AddFlag("--json", flags->json, "Print the report as JSON");
  command.AddFlag("--force", flags->force, "Replace an existing output");
  command.Runs([flags] { return OptimizeModel(*flags); });
}

}  // namespace tensorcast::tool
