// tensorcast inspect: what a file holds, from its header alone, and how the values of single
// tensors lie.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arguments/shared_flags.h"
#include "arguments/tensor_files.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/open_tensor_file.h"
#include "commands/commands.h"
#include "commands/inspect_histogram.h"
#include "commands/mdf_model.h"
#include "convert/scaled_tensors.h"
#include "convert/survey.h"
#include "display/quantities.h"
#include "display/tensor_text.h"
#include "display/text_table.h"
#include "display/tool_json.h"
#include "formats/tensor_file.h"
#include "report/distinct_names.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/piped_files.h"
#include "shell/streams.h"
#include "shell/terminal.h"
#include "tensorcast/mdf.hpp"

namespace tensorcast::tool {
namespace {

struct InspectFlags {
  std::string input;
  std::string assume_type;
  std::string root;
  bool allow_hard_links = false;
  std::vector<std::string> histograms;  // of these tensors
  bool json = false;
};

constexpr const char* kInspectDescription =
    R"(List the tensors of a file or directory. Only headers are read.

Examples:
  tensorcast inspect model.safetensors
  tensorcast inspect model.safetensors --json
  tensorcast inspect arrays.npz
  tensorcast inspect Qwen3-8B
  tensorcast inspect model.yaml
  tensorcast inspect model.safetensors --histogram model.norm.weight

For a checkpoint's directory, it also shows how many parameters the model has, how many bits each
takes, and which architecture and type config.json names. For an MDF model (.json, .yaml, .yml,
.bson), it lists the inputs, nodes and outputs.

--histogram reads the tensor, applies its scales, and draws how many of its values lie between
successive powers of two, beside the ranges of floating types: ━ normal, ┄ subnormal values.
)";

struct DtypeTotal {
  std::string dtype;
  std::uint64_t tensors = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

// In the order in which the types first appear.
std::vector<DtypeTotal> TotalsByDtype(const std::vector<formats::TensorInfo>& tensors) {
  std::vector<DtypeTotal> totals;
  std::map<std::string, std::size_t> places;
  for (const formats::TensorInfo& info : tensors) {
    const auto [place, is_new] = places.try_emplace(TypeText(info), totals.size());
    if (is_new) totals.push_back({place->first});
    DtypeTotal& total = totals[place->second];
    ++total.tensors;
    total.elements += info.elements;
    total.bytes += info.bytes;
  }
  return totals;
}

// A survey, and what kept it from going further.
struct Inspected {
  convert::Survey survey;
  std::string problem;
};

Inspected OpenInspected(const std::string& path, const formats::OpenOptions& open) {
  const checkpoint::OpenedInput opened = checkpoint::OpenTensorFile(path, open);
  try {
    return {convert::SurveyOf(opened, path, false), {}};
  } catch (const files::Error& error) {  // of another file: this one can be inspected all the same
    return {{path, opened, {scale::FindScaleCompanions(opened.reader->contents(), {}, {}), {}}},
            error.what()};
  }
}

// All of it.
std::map<std::string, std::string> ShownMetadata(const formats::FileContents& contents) {
  std::map<std::string, std::string> shown = contents.shown_metadata;
  shown.insert(contents.metadata.begin(), contents.metadata.end());
  return shown;
}

// What a checkpoint's directory is, or a pipeline's component.
struct ModelFacts {
  // Values of the floating tensors, and of weights that are codes with scales; integers are no
  // parameters.
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;  // of all these, with what serves them
  std::size_t packed = 0;   // tensors of weights whose number of values is not known
  // As config.json has it, or its model_type; else the class that a pipeline says; empty: neither.
  std::string architecture;
  std::string dtype;  // the type that the model is built in, where it says so
};

// Tensors that are no plain values: what serves others, and what others serve.
enum class Part : std::uint8_t { kPlain, kServes, kWeight, kPacked };

std::optional<double> BitsPerWeight(const ModelFacts& facts) {
  if (facts.parameters == 0 || facts.packed != 0) return std::nullopt;
  return 8.0 * static_cast<double>(facts.bytes) / static_cast<double>(facts.parameters);
}

std::string ParametersText(std::uint64_t parameters) {
  constexpr double kBillion = 1e9;
  const auto count = static_cast<double>(parameters);
  return count < kBillion ? RoundedCount(parameters) : fmt::format("{:.2f} B", count / kBillion);
}

// Of each part of a checkpoint.
std::vector<ModelFacts> FactsOfParts(const convert::Survey& survey) {
  const std::vector<formats::TensorInfo>& tensors = survey.tensors();
  const convert::InputScales& scales = survey.scales;
  std::vector<Part> parts(tensors.size(), Part::kPlain);
  for (const scale::ScaledTensor& one : scales.companions.scaled) parts[one.tensor] = Part::kPacked;
  for (const scale::OpaqueTensor& one : scales.weights.opaque) parts[one.tensor] = Part::kPacked;
  for (const scale::Companion& one : scales.companions.companions)
    parts[one.tensor] = Part::kServes;
  std::vector<ModelFacts> all(survey.parts());
  for (const scale::ScaledWeight& one : scales.weights.weights) {
    parts[one.codes] = Part::kWeight;
    std::uint64_t values = 1;
    for (const std::uint64_t dim : one.shape) values *= dim;
    all[survey.PartOf(one.codes)].parameters += values;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ModelFacts& facts = all[survey.PartOf(i)];
    const TypeInfo* const type = FindType(tensors[i].type);
    if (parts[i] == Part::kPlain) {
      if (type == nullptr || !type->is_float() || !type->has_zero) continue;
      facts.parameters += tensors[i].elements;
    }
    facts.packed += parts[i] == Part::kPacked ? 1 : 0;
    facts.bytes += tensors[i].bytes;
  }
  for (std::uint32_t part = 0; part < survey.parts(); ++part) {
    const scale::QuantizationConfig& config = scales.ConfigOf(part);
    all[part].architecture = config.architecture;
    all[part].dtype = config.dtype;
    if (survey.IsPipeline() && config.architecture.empty()) {
      all[part].architecture = survey.opened.checkpoint->parts()[part].class_name;
    }
  }
  return all;
}

// Of a checkpoint, or of a pipeline as a whole, whose components have types of their own.
ModelFacts FactsOfAll(const std::vector<ModelFacts>& parts) {
  if (parts.size() == 1) return parts.front();
  ModelFacts all;
  for (const ModelFacts& part : parts) {
    all.parameters += part.parameters;
    all.bytes += part.bytes;
    all.packed += part.packed;
  }
  return all;
}

// "LlamaForCausalLM   bfloat16   8.03 B parameters   4.56 bits per weight".
std::string FactsText(const ModelFacts& facts) {
  std::vector<std::string> parts;
  for (const std::string& text : {facts.architecture, facts.dtype}) {
    if (!text.empty()) parts.push_back(words::Escape(text));
  }
  parts.push_back(ParametersText(facts.parameters) + " parameters");
  if (facts.packed != 0) {
    parts.back() += " and those of " + words::CountText(facts.packed, "packed tensor");
  }
  if (const std::optional<double> bits = BitsPerWeight(facts)) {
    parts.push_back(fmt::format("{:.4g} bits per weight", *bits));
  }
  return fmt::format("{}", fmt::join(parts, "   "));
}

// What is not known is null.
Json FactsJson(const ModelFacts& facts) {
  const std::optional<double> bits = BitsPerWeight(facts);
  return {{"architecture", TextOrNull(facts.architecture)},
          {"dtype", TextOrNull(facts.dtype)},
          {"parameters", facts.parameters},
          {"packed_tensors", facts.packed},
          {"bits_per_weight", bits ? Json(*bits) : Json()}};
}

// Null if no configuration says anything.
Json QuantizationConfigJson(const scale::QuantizationConfig& config) {
  if (config.file.empty()) return {};
  return {{"file", config.file}, {"method", config.method}};
}

// "unet", without the slash that its tensors' names have.
std::string ComponentName(const convert::Survey& survey, std::uint32_t part) {
  const std::string_view directory = survey.DirectoryOf(part);
  return std::string(directory.substr(0, directory.size() - 1));
}

// Of a pipeline, else empty.
std::string ComponentsText(const convert::Survey& survey, const std::vector<ModelFacts>& parts,
                           std::size_t columns) {
  if (!survey.IsPipeline()) return {};
  TextTable table({{"component", false, 12},
                   {"model", false, 12},
                   {"built in"},
                   {"parameters", true},
                   {"bits per weight", true},
                   {"quantised"}});
  const auto cell = [](const std::string& text) {
    return text.empty() ? "·" : words::Escape(text);
  };
  for (std::uint32_t part = 0; part < survey.parts(); ++part) {
    const ModelFacts& facts = parts[part];
    const std::optional<double> bits = BitsPerWeight(facts);
    table.Add({words::Escape(ComponentName(survey, part)), cell(facts.architecture),
               cell(facts.dtype), ParametersText(facts.parameters),
               bits ? fmt::format("{:.4g}", *bits) : "·",
               cell(survey.scales.ConfigOf(part).method)});
  }
  return "\n" + table.Render(columns, false);
}

// Those with companions, and those whose scales stand among their codes.
std::vector<scale::ScaledTensor> AllScaled(const convert::InputScales& scales) {
  std::vector<scale::ScaledTensor> all = scales.companions.scaled;
  const auto by_tensor = [](const auto& a, const auto& b) { return a.tensor < b.tensor; };
  for (const scale::ScaledWeight& weight : scales.weights.weights) {
    const scale::ScaledTensor lone = {weight.codes, {}, {}};
    if (!std::ranges::binary_search(scales.companions.scaled, lone, by_tensor)) all.push_back(lone);
  }
  std::ranges::sort(all, by_tensor);
  return all;
}

// The notes about weights with scales below the tables.
std::string ScalesText(const convert::Survey& survey, std::size_t columns) {
  std::string text;
  const convert::InputScales& scales = survey.scales;
  const std::vector<scale::ScaledTensor>& scaled = scales.companions.scaled;
  if (!scaled.empty()) {
    const scale::ScaledTensor& first = scaled.front();
    text +=
        "\n" + Wrapped(" scaled:",
                       fmt::format("{} with scales, the first {} by {}{}",
                                   words::CountText(scaled.size(), "tensor"),
                                   words::Escape(survey.tensors()[first.tensor].name),
                                   words::Escape(first.companion),
                                   first.file.empty() ? "" : " of " + words::Escape(first.file)),
                       columns);
  }
  for (const std::string& line : convert::AppliedText(survey, {})) {
    text += Wrapped("  ", line, columns);
  }
  std::map<std::string_view, std::size_t> opaque;
  for (const scale::OpaqueTensor& one : scales.weights.opaque) ++opaque[one.writer];
  for (const auto& [writer, count] : opaque) {
    text += fmt::format("   {} of {}, never touched\n", words::CountText(count, "tensor"), writer);
  }
  for (const scale::UnreadWeight& one : scales.weights.unread) {
    text += Wrapped("  ", one.why, columns);
  }
  for (const std::string& line : convert::ConfigTexts(survey)) {
    text += "\n" + Wrapped("", line, columns);
  }
  if (const std::string serving = convert::CompanionsText(survey); !serving.empty()) {
    text += Wrapped("", "serve the codes of scaled weights: " + serving, columns);
  }
  return text;
}

// A line for each reason why tensors are not read: "s (float32) is sparse: save its .to_dense()".
std::vector<std::string> UnreadTexts(const std::vector<formats::TensorInfo>& tensors) {
  struct Unread {
    const formats::TensorInfo* first = nullptr;
    std::size_t count = 0;
  };
  std::map<std::string_view, Unread> by_reason;
  for (const formats::TensorInfo& info : tensors) {
    if (info.why_not.empty()) continue;
    Unread& unread = by_reason[info.why_not];
    if (unread.count++ == 0) unread.first = &info;
  }
  std::vector<std::string> lines;
  for (const auto& [why, unread] : by_reason) {
    lines.push_back(fmt::format(
        "{} ({}) {}{}", words::Escape(unread.first->name), unread.first->dtype, why,
        unread.count == 1 ? "" : fmt::format("; and so are {} more", unread.count - 1)));
  }
  return lines;
}

void PrintInspectText(const InspectFlags& flags, const Inspected& inspected) {
  const convert::Survey& survey = inspected.survey;
  const formats::TensorReader& reader = survey.reader();
  const formats::FileContents& contents = reader.contents();
  Print(fmt::format("{}   {}   {}\n", words::Escape(flags.input),
                    words::CountText(contents.tensors.size(), "tensor"),
                    BytesText(reader.file_bytes())));
  const std::vector<ModelFacts> parts = FactsOfParts(survey);
  if (survey.opened.checkpoint != nullptr) Print(FactsText(FactsOfAll(parts)) + '\n');
  Print("\n");
  const auto row = [&](std::size_t i) -> TableRow {
    const formats::TensorInfo& info = contents.tensors[i];
    return {{words::Escape(info.name), TypeText(info),
             ExtentsText(info.shape) + (info.fortran_order ? " (Fortran)" : ""),
             RoundedCount(info.elements), BytesText(info.bytes)}};
  };
  PrintTable({{"tensor", false, 20, 0, report::EscapedNames(contents.tensors)},
              {"type"},
              {"shape", false, 8},
              {"values", true, 0, 1},
              {"bytes", true}},
             {contents.tensors.size(), row}, Columns(stdout), false);
  TextTable totals({{"total"}, {"tensors", true}, {"values", true}, {"bytes", true}});
  for (const DtypeTotal& total : TotalsByDtype(contents.tensors)) {
    totals.Add({total.dtype, RoundedCount(total.tensors), RoundedCount(total.elements),
                BytesText(total.bytes)});
  }
  std::string text = "\n" + totals.Render(Columns(stdout), false);
  text += ComponentsText(survey, parts, Columns(stdout));
  if (const checkpoint::CheckpointReader* const checkpoint = survey.opened.checkpoint) {
    TextTable files({{"file", false, 20}, {"tensors", true}, {"bytes", true}});
    for (const checkpoint::CheckpointShard& shard : checkpoint->shards()) {
      files.Add({words::Escape(shard.name), RoundedCount(shard.tensors), BytesText(shard.bytes)});
    }
    text += "\n" + files.Render(Columns(stdout), false);
  }
  if (const auto metadata = ShownMetadata(contents); !metadata.empty()) {
    text += "\n metadata\n";
    // A value may be a document: it is cut for a file too.
    const std::size_t width = std::min(Columns(stdout), kReportColumns);
    for (const auto& [key, value] : metadata) {
      text += fmt::format("   {} = {}\n", Shorten(words::Escape(key), width / 3),
                          Shorten(words::Escape(value), width * 3 / 5));
    }
  }
  text += ScalesText(survey, Columns(stdout));
  if (const std::string unscaled = convert::UnscaledText(survey, nullptr); !unscaled.empty()) {
    text += "\n" + Wrapped("", unscaled, Columns(stdout));
  }
  for (const std::string& line : UnreadTexts(contents.tensors)) {
    text += Wrapped(" not read:", line, Columns(stdout));
  }
  if (!inspected.problem.empty()) text += Wrapped(" note:", inspected.problem, Columns(stdout));
  for (const std::string& note : reader.notes()) text += Wrapped(" note:", note, Columns(stdout));
  Print(text);
}

void PrintInspectJson(const InspectFlags& flags, const Inspected& inspected) {
  const convert::Survey& survey = inspected.survey;
  const formats::TensorReader& reader = survey.reader();
  const formats::FileContents& contents = reader.contents();
  JsonPrinter json("inspect");
  json.Member("file", flags.input);
  json.Member("bytes", reader.file_bytes());
  const checkpoint::CheckpointReader* const checkpoint = survey.opened.checkpoint;
  const std::vector<ModelFacts> parts = FactsOfParts(survey);
  if (checkpoint != nullptr) json.Member("model", FactsJson(FactsOfAll(parts)));
  if (survey.IsPipeline()) {
    json.BeginArray("components");
    for (std::uint32_t part = 0; part < survey.parts(); ++part) {
      Json entry = {{"component", ComponentName(survey, part)}};
      entry.update(FactsJson(parts[part]));
      entry["quantization_config"] = QuantizationConfigJson(survey.scales.ConfigOf(part));
      json.Element(entry);
    }
    json.EndArray();
  }
  json.Array("tensors", contents.tensors, [&](const formats::TensorInfo& info) {
    Json entry = TensorJson(info);
    if (!info.why_not.empty()) entry["not_read"] = info.why_not;
    if (checkpoint != nullptr) entry["file"] = checkpoint->shards()[info.shard].name;
    return entry;
  });
  if (checkpoint != nullptr) {
    json.Array("files", checkpoint->shards(), [](const checkpoint::CheckpointShard& shard) -> Json {
      return {{"file", shard.name}, {"tensors", shard.tensors}, {"bytes", shard.bytes}};
    });
  }
  json.Array("totals", TotalsByDtype(contents.tensors), [](const DtypeTotal& total) -> Json {
    return {{"type", total.dtype},
            {"tensors", total.tensors},
            {"elements", total.elements},
            {"bytes", total.bytes}};
  });
  Json metadata = Json::object();
  for (const auto& [key, value] : ShownMetadata(contents)) metadata[key] = value;
  json.Member("metadata", metadata);
  const scale::ScaledWeights& weights = survey.scales.weights;
  const auto name_of = [&](std::size_t tensor) { return contents.tensors[tensor].name; };
  auto weight = weights.weights.begin();
  json.Array("scaled", AllScaled(survey.scales), [&](const scale::ScaledTensor& scaled) {
    Json entry = {{"tensor", name_of(scaled.tensor)}, {"companion", TextOrNull(scaled.companion)}};
    if (!scaled.file.empty()) entry["file"] = scaled.file;
    while (weight != weights.weights.end() && weight->codes < scaled.tensor) ++weight;
    if (weight != weights.weights.end() && weight->codes == scaled.tensor) {
      entry["layout"] = weight->reading.Name();
      entry["writer"] = weight->reading.Writer();
      entry["scales"] = weight->reading.PartitionText();
      entry["name"] = weight->name;
      entry["shape"] = weight->shape;
      entry["evidence"] = weight->evidence;
    }
    return entry;
  });
  json.Array("refused", weights.unread, [&](const scale::UnreadWeight& one) -> Json {
    return {{"tensor", name_of(one.tensor)}, {"reason", one.why}};
  });
  json.Array("never_touched", weights.opaque, [&](const scale::OpaqueTensor& one) -> Json {
    return {{"tensor", name_of(one.tensor)}, {"writer", one.writer}};
  });
  json.Array("without_scales", survey.scales.companions.unscaled, name_of);
  json.Member("quantization_config", QuantizationConfigJson(weights.config));
  json.Array("companions", survey.scales.companions.companions,
             [&](const scale::Companion& companion) -> Json {
               return {{"tensor", name_of(companion.tensor)},
                       {"role", companion.role},
                       {"of", companion.of}};
             });
  Json notes = reader.notes();
  if (!inspected.problem.empty()) notes.push_back(inspected.problem);
  for (const std::string& line : convert::ConfigTexts(survey)) notes.push_back(line);
  json.Member("notes", notes);
  json.End();
}

int Inspect(const InspectFlags& flags) {
  formats::OpenOptions open = ToolOpenOptions();
  open.allow_hard_links = flags.allow_hard_links;
  open.root = flags.root;
  open.assume_type = ParseAssumedType(flags.assume_type);
  if (mdf::IsModelFile(flags.input)) {
    if (!flags.histograms.empty()) {
      throw files::Error(core::ErrorKind::kArguments,
                         "--histogram: " + words::PathText(flags.input) +
                             " is an MDF model, which holds no tensors to draw");
    }
    PrintMdf(flags.input, open.assume_type, flags.json);
    return kExitDone;
  }
  const Inspected inspected = OpenInspected(flags.input, open);
  if (!flags.histograms.empty()) {
    PrintHistograms(inspected.survey, flags.histograms, flags.json);
  } else if (flags.json) {
    PrintInspectJson(flags, inspected);
  } else {
    PrintInspectText(flags, inspected);
  }
  return kExitDone;
}

}  // namespace

void AddInspectCommand(CommandLine& line) {
  auto flags = std::make_shared<InspectFlags>();
  Command command = line.AddCommand("inspect", kInspectDescription);
  AddInput(command, "FILE", flags->input);
  command.AddOption(
      "--assume-type T", flags->assume_type,
      "The type of an npy of <V1 (or <V2, <f1), and of inputs of an MDF model without one");
  AddRootFlag(command, flags->root);
  AddHardLinksFlag(command, flags->allow_hard_links);
  command
      .AddOption("--histogram NAME", flags->histograms,
                 "Draw the magnitudes of this tensor instead; repeatable")
      .OneValue();
  command.AddFlag("--json", flags->json, "Print JSON");
  command.Runs([flags] {
    flags->input = PathOfInput(flags->input);
    return Inspect(*flags);
  });
}

}  // namespace tensorcast::tool
