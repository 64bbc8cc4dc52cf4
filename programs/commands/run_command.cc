// tensorcast run: an ONNX or MDF model of Cast, CastLike, Identity and Constant, on tensors of
// files.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include "arguments/argument_values.h"
#include "arguments/shared_flags.h"
#include "arguments/tensor_files.h"
#include "checkpoint/open_tensor_file.h"
#include "commands/commands.h"
#include "commands/mdf_model.h"
#include "display/quantities.h"
#include "display/text_table.h"
#include "display/tool_json.h"
#include "files/error.h"
#include "files/output_options.h"
#include "files/system_output_directory.h"
#include "formats/output_files.h"
#include "formats/tensor_reader.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/process.h"
#include "shell/streams.h"
#include "shell/terminal.h"
#include "tensorcast/onnx.hpp"
#include "tensorcast/session.hpp"

namespace tensorcast::tool {
namespace {

using core::ErrorKind;
using files::Error;

struct RunFlags {
  std::string model;
  std::vector<std::string> inputs;
  std::string directory;
  std::string format = "npy";
  std::string contradictions = "text";
  std::string target = "best";
  std::string threads;
  bool allow_hard_links = false;
  bool optimize = false;
  bool profile = false;
  bool json = false;
  bool force = false;
  bool quiet = false;
};

constexpr const char* kRunDescription =
    R"(Run an ONNX or MDF model that consists of casts.

Examples:
  tensorcast run casts.onnx --input x=x.npy --output-dir out
  tensorcast run casts.onnx --input all.safetensors --output-dir out \
      --output-format safetensors
  tensorcast run model.yaml --input port=x.npy --output-dir out
  tensorcast run casts.onnx --input x=x.pb --input like=like.pb \
      --output-dir out --profile

A model may contain Cast, CastLike, Identity, Constant and functions of these; its opset defines what
a cast means (docs/onnx.md). Inputs are .npy, .pb, .npz or .safetensors files; one without NAME= gives
every input whose name it holds. An input with an initializer of its name need not be given. Each
output becomes a file of its name in DIR, as .npy or .pb, or all become one .safetensors file. Tensors
are held in memory.

Exit codes: 0 done; 2 wrong arguments; 3 bad contents of the model or of an input; 4 an error of the
system; 5 legal but not supported (any other node); 130 interrupted.
)";

// ----------------------------------------------------------------------------------- inputs

std::string InputNames(const Session& session) {
  std::string names;
  for (const ValueInfo& input : session.inputs()) {
    names += (names.empty() ? "" : ", ") + words::Quoted(input.name);
  }
  return names.empty() ? "it has none" : "its inputs are " + names;
}

// Where "NAME=FILE" is to be cut: names may hold an '=' themselves.
std::optional<std::pair<std::size_t, std::string>> SplitInput(const Session& session,
                                                              const std::string& argument) {
  for (std::size_t at = argument.find('='); at != std::string::npos;
       at = argument.find('=', at + 1)) {
    std::size_t input = 0;
    if (session.FindInput(argument.substr(0, at), &input).ok()) {
      return std::pair(input, argument.substr(at + 1));
    }
  }
  return std::nullopt;
}

class Inputs {
 public:
  explicit Inputs(const Session& session) : session_(session), held_(session.inputs().size()) {}

  void Take(const std::string& argument) {
    if (const auto named = SplitInput(session_, argument))
      return TakeOne(named->first, named->second);
    std::error_code none;
    if (argument.find('=') != std::string::npos && !std::filesystem::exists(argument, none)) {
      throw Error(
          ErrorKind::kArguments,
          fmt::format("--input {}: the model has no input {}; {}", words::EscapeName(argument),
                      words::Quoted(argument.substr(0, argument.find('='))), InputNames(session_)));
    }
    TakeAll(argument);
  }

  void CheckAll() const {
    std::string missing;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const ValueInfo& input = session_.inputs()[i];
      if (held_[i] || input.has_default) continue;
      missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", words::Quoted(input.name),
                             TypeName(input.type));
    }
    if (missing.empty()) return;
    throw Error(
        ErrorKind::kArguments,
        fmt::format("the model needs more inputs: {}; give each with --input NAME=FILE", missing));
  }

  std::vector<TensorView> Views() const {
    std::vector<TensorView> views(held_.size());
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (held_[i]) views[i] = held_[i]->view();
    }
    return views;
  }

  const std::vector<std::string>& paths() const { return paths_; }

 private:
  void TakeOne(std::size_t input, const std::string& path) {
    const ValueInfo& info = session_.inputs()[input];
    const std::shared_ptr<const formats::TensorReader> reader = OpenAs(path, info.type);
    const std::vector<formats::TensorInfo>& tensors = reader->contents().tensors;
    std::size_t tensor = 0;
    if (tensors.size() != 1) {
      const auto named = std::find_if(tensors.begin(), tensors.end(),
                                      [&](const auto& each) { return each.name == info.name; });
      if (named == tensors.end()) {
        throw Error(ErrorKind::kArguments,
                    fmt::format("{}: holds {} tensors, and none is named {}", words::PathText(path),
                                tensors.size(), words::Quoted(info.name)));
      }
      tensor = static_cast<std::size_t>(named - tensors.begin());
    }
    Hold(input, *reader, tensor, path);
  }

  void TakeAll(const std::string& path) {
    const auto reader = checkpoint::OpenTensorFile(path, ToolOpenOptions()).reader;
    bool is_any = false;
    const std::vector<formats::TensorInfo>& tensors = reader->contents().tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::size_t input = 0;
      if (!session_.FindInput(tensors[i].name, &input).ok()) continue;
      Hold(input, *reader, i, path);
      is_any = true;
    }
    if (is_any) return;
    throw Error(ErrorKind::kArguments,
                fmt::format("{}: holds no input of the model; {}; --input NAME=FILE takes the one "
                            "tensor of a file",
                            words::PathText(path), InputNames(session_)));
  }

  void Hold(std::size_t input, const formats::TensorReader& reader, std::size_t tensor,
            const std::string& path) {
    const ValueInfo& info = session_.inputs()[input];
    if (held_[input]) {
      throw Error(ErrorKind::kArguments,
                  fmt::format("input {} is given twice, the second time by {}",
                              words::Quoted(info.name), words::PathText(path)));
    }
    held_[input] = ReadHeld(reader, tensor, info.type, path, "input " + words::Quoted(info.name));
    paths_.push_back(path);
  }

  const Session& session_;
  std::vector<std::optional<HeldTensor>> held_;
  std::vector<std::string> paths_;
};

// ----------------------------------------------------------------------------------- outputs

// A name as a part of a path: other characters than these as %XX, so that no two names meet.
std::string FileName(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                          (c == '.' && !text.empty());
    text += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text.empty() ? "%" : text;
}

void WriteOutputs(const RunFlags& flags, const Session& session, const SessionResults& results,
                  files::CreateOptions create, const std::atomic<bool>* interrupted) {
  std::error_code failed;
  std::filesystem::create_directories(flags.directory, failed);
  if (failed) {
    throw Error(ErrorKind::kSystem,
                fmt::format("{}: cannot be made a directory: {}", words::PathText(flags.directory),
                            failed.message()));
  }
  std::vector<std::string> names;
  std::vector<TensorView> tensors;
  for (std::size_t i = 0; i < results.size(); ++i) {
    names.push_back(session.outputs()[i].name);
    tensors.push_back(results[i]);
  }
  const std::filesystem::path directory(flags.directory);
  // A model may have as many outputs as a process may not have files open.
  std::optional<files::StagingDirectory> staging;
  formats::OutputFiles files;
  const auto write = [&](const std::string& stem, const std::vector<std::string>& held,
                         const std::vector<TensorView>& values) {
    const std::string path = (directory / (stem + '.' + flags.format)).generic_string();
    files.emplace_back(path, WriteTensors(path, held, values, create));
  };
  if (flags.format == "safetensors") {
    write("outputs", names, tensors);
  } else {
    staging.emplace((directory / "outputs").generic_string(), tensors.size());
    create.staging = staging->ForFiles();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      files::StopIfInterrupted(interrupted);
      write(FileName(names[i]), {names[i]}, {tensors[i]});
    }
  }
  formats::CommitAll(files, interrupted, staging ? &*staging : nullptr);
  ExitOnInterrupts(Leaves::kOutput);
  if (flags.quiet) return;
  if (staging) {
    for (const std::string& note : staging->notes()) SayNote(note);
  }
  for (const auto& [path, writer] : files) {
    for (const std::string& note : writer->notes()) SayNote(note);
    Say(fmt::format(" wrote {}, {}\n", words::Escape(path), BytesText(writer->file_bytes())));
    if (const std::string hint = writer->reading_hint(); !hint.empty()) {
      Say(" read it with: " + hint + (hint.ends_with('\n') ? "" : "\n"));
    }
  }
}

// ----------------------------------------------------------------------------------- profile

std::string MicrosecondsText(double seconds) { return fmt::format("{:.1f}", seconds * 1e6); }

std::string ProfileTable(const std::vector<NodeProfile>& profile) {
  constexpr std::size_t kShown = 40;
  std::vector<const NodeProfile*> nodes;
  double seconds = 0;
  std::uint64_t read = 0, written = 0;
  for (const NodeProfile& node : profile) {
    nodes.push_back(&node);
    seconds += node.seconds;
    read += node.bytes_read;
    written += node.bytes_written;
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const auto* a, const auto* b) { return a->seconds > b->seconds; });
  TextTable table({{"node", false, 20},
                   {"operator"},
                   {"from"},
                   {"to"},
                   {"read", true},
                   {"written", true},
                   {"µs", true},
                   {"of all", true}});
  for (std::size_t i = 0; i < nodes.size() && i < kShown; ++i) {
    const NodeProfile& node = *nodes[i];
    table.Add({words::Escape(node.node), words::Escape(node.op_type),
               std::string(TypeName(node.from)), std::string(TypeName(node.to)),
               BytesText(node.bytes_read), BytesText(node.bytes_written),
               MicrosecondsText(node.seconds),
               seconds > 0 ? fmt::format("{:.1f} %", 100 * node.seconds / seconds) : "·"});
  }
  std::string text = table.Render(Columns(stdout), false);
  if (nodes.size() > kShown) text += fmt::format("   … {} more\n", nodes.size() - kShown);
  return text + fmt::format("\n {} nodes took {}, read {} and wrote {}\n",
                            RoundedCount(nodes.size()), SecondsText(seconds), BytesText(read),
                            BytesText(written));
}

void PrintProfileJson(const RunFlags& flags, const Session& session,
                      const std::vector<NodeProfile>& profile) {
  JsonPrinter json("run");
  json.Member("model", flags.model);
  json.Member("opset", session.opset());
  json.Array("nodes", profile, [](const NodeProfile& node) -> Json {
    return {{"node", node.node},
            {"operator", node.op_type},
            {"from", TypeName(node.from)},
            {"to", TypeName(node.to)},
            {"seconds", node.seconds},
            {"bytes_read", node.bytes_read},
            {"bytes_written", node.bytes_written}};
  });
  json.End();
}

int RunModel(const RunFlags& flags) {
  RequireWord("--output-format", flags.format, {"npy", "pb", "safetensors"});
  onnx::LoadOptions load;
  load.contradictions = ParseContradictions(flags.contradictions);
  load.target = ParseTargetFlag(flags.target);
  load.allow_hard_links = flags.allow_hard_links;
  load.optimize = flags.optimize;
  const std::unique_ptr<Executor> executor = ParseThreads(flags.threads);
  const Session session = LoadSession(flags.model, load, flags.inputs);
  std::string error;
  Inputs inputs(session);
  for (const std::string& argument : flags.inputs) inputs.Take(argument);
  inputs.CheckAll();

  std::vector<NodeProfile> profile;
  GraphRun run;
  run.executor = executor.get();
  run.interrupted = CatchInterrupts();
  if (flags.profile) run.profile = &profile;
  SessionResults results;
  const std::vector<TensorView> views = inputs.Views();
  CheckStatus(session.Run(views, run, &results, &error), error);
  files::CreateOptions create{flags.force, inputs.paths()};
  create.inputs.push_back(flags.model);
  WriteOutputs(flags, session, results, std::move(create), run.interrupted);
  if (flags.profile && flags.json) {
    PrintProfileJson(flags, session, profile);
  } else if (flags.profile) {
    Print(ProfileTable(profile));
  }
  return kExitDone;
}

}  // namespace

void AddRunCommand(CommandLine& line) {
  auto flags = std::make_shared<RunFlags>();
  Command command = line.AddCommand("run", kRunDescription);
  command
      .AddOption("MODEL FILE", flags->model,
                 "A .onnx model, or one of MDF: .json, .yaml, .yml, .bson")
      .Required();
  command
      .AddOption("--input NAME=FILE", flags->inputs,
                 "The tensor of an input, or a file of several by name; repeatable")
      .OneValue();
  command
      .AddOption("--output-dir DIR", flags->directory, "Where the outputs go; created if missing")
      .Required();
  command.AddOption("--output-format npy|pb|safetensors", flags->format,
                    "The format of the outputs (default: npy)");
  AddContradictionsFlag(command, flags->contradictions);
  AddHardLinksFlag(command, flags->allow_hard_links);
  command.AddFlag("--optimize", flags->optimize,
                  "Leave out the Casts that change nothing, as optimize does");
  command.AddFlag("--profile", flags->profile, "Print time and bytes of each node");
  command.AddFlag("--json", flags->json, "Print the profile as JSON").Needs("--profile");
  command.AddOption("--threads N", flags->threads, "Threads to use (default: all cores)");
  command.AddOption("--target best|scalar|sse4|avx2|avx3|avx3_dl", flags->target,
                    "Instruction set to use (default: best)");
  command.AddFlag("--force", flags->force, "Replace existing outputs");
  command.AddFlag("-q,--quiet", flags->quiet, "Print only errors");
  command.Runs([flags] { return RunModel(*flags); });
}

}  // namespace tensorcast::tool
