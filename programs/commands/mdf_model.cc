// MDF files become graphs, and graphs ONNX models: what runs, and what is optimised.
//
// SPDX-License-Identifier: Apache-2.0
#include "commands/mdf_model.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include "arguments/tensor_files.h"
#include "checkpoint/open_tensor_file.h"
#include "display/quantities.h"
#include "display/text_table.h"
#include "display/tool_json.h"
#include "files/error.h"
#include "files/system.h"
#include "formats/tensor_reader.h"
#include "shell/streams.h"
#include "shell/terminal.h"
#include "tensorcast/mdf.hpp"

namespace tensorcast::tool {
namespace {

using core::ErrorKind;
using files::Error;

// The type that a file brings to an input: that of the tensor of its name, or where the file is
// given for it (`is_its`), of its one tensor.
std::optional<DataType> TypeIn(const formats::TensorReader& reader, const std::string& name,
                               bool is_its) {
  const std::vector<formats::TensorInfo>& tensors = reader.contents().tensors;
  const auto held = std::ranges::find(tensors, name, &formats::TensorInfo::name);
  if (held != tensors.end()) return held->type;
  return is_its && tensors.size() == 1 ? std::optional(tensors.front().type) : std::nullopt;
}

// The file of "NAME=FILE" where NAME is this input's; nothing where it is another's.
std::optional<std::string> FileFor(const std::string& argument, const std::string& name) {
  if (!argument.starts_with(name) || argument.substr(name.size(), 1) != "=") return std::nullopt;
  return argument.substr(name.size() + 1);
}

std::map<std::string, DataType> TypesOfInputs(const std::string& path,
                                              const std::vector<std::string>& arguments) {
  std::vector<ValueInfo> inputs;
  std::string error;
  CheckStatus(mdf::Inputs(path, &inputs, &error), error);
  std::map<std::string, DataType> types;
  for (const ValueInfo& input : inputs) {
    if (input.type != DataType::kUndefined) continue;
    for (const std::string& argument : arguments) {
      const std::optional<std::string> named = FileFor(argument, input.name);
      std::error_code none;
      if (!named && !std::filesystem::exists(argument, none)) continue;
      const auto reader =
          checkpoint::OpenTensorFile(named.value_or(argument), ToolOpenOptions()).reader;
      const std::optional<DataType> type = TypeIn(*reader, input.name, named.has_value());
      if (type && FindType(*type) != nullptr) types[input.name] = *type;
    }
    if (types.contains(input.name)) continue;
    throw Error(ErrorKind::kArguments,
                fmt::format("the model needs input {}, of any type; give it with --input NAME=FILE",
                            words::Quoted(input.name)));
  }
  return types;
}

std::string TypeOrAny(DataType type) {
  return type == DataType::kUndefined ? "any" : std::string(TypeName(type));
}

std::string ShapeOf(bool has_shape, const std::vector<std::optional<std::uint64_t>>& shape) {
  if (!has_shape) return "any";
  std::string text;
  for (const auto& size : shape) {
    text += (text.empty() ? "" : ", ") + (size ? std::to_string(*size) : std::string("?"));
  }
  return "[" + text + "]";
}

Json ShapeJson(bool has_shape, const std::vector<std::optional<std::uint64_t>>& shape) {
  if (!has_shape) return nullptr;
  Json json = Json::array();
  for (const auto& size : shape) json.push_back(size ? Json(*size) : Json(nullptr));
  return json;
}

// What is shown of a model: its inputs as its file has them, and the graph that it is.
struct Shown {
  std::vector<ValueInfo> inputs;
  Graph graph;
  bool is_open = false;  // a type is up to the values: those that follow from it are not shown

  DataType TypeOf(const GraphNode& node, DataType type) const {
    return is_open && node.op_type != "Cast" ? DataType::kUndefined : type;
  }
  std::string NameOf(const GraphValue& value) const {
    GraphValueInfo info;
    (void)graph.Value(value, &info);
    return info.name;
  }
};

void PrintMdfText(const std::string& path, const Shown& shown) {
  std::string text =
      fmt::format("{}   MDF, opset {}   {}   {}\n\n", words::Escape(path), shown.graph.opset(),
                  words::CountText(shown.graph.node_count(), "node"),
                  BytesText(files::FileBytes(path, "cannot be accessed")));
  TextTable inputs({{"input", false, 20}, {"type"}, {"shape", false, 8}});
  for (const ValueInfo& input : shown.inputs) {
    inputs.Add(
        {words::Escape(input.name), TypeOrAny(input.type), ShapeOf(input.has_shape, input.shape)});
  }
  TextTable nodes({{"node", false, 20}, {"operator"}, {"from"}, {"to"}, {"options"}});
  for (const GraphNode& node : shown.graph.Nodes()) {
    std::string options;
    if (node.is_cast && !node.saturate) options = "saturate=0";
    if (node.is_cast && node.round_mode != RoundingMode::kUp) {
      options += node.round_mode == RoundingMode::kDown ? "round_mode=down" : "round_mode=nearest";
    }
    nodes.Add({words::Escape(node.name), node.op_type,
               TypeOrAny(shown.is_open ? DataType::kUndefined : node.from),
               TypeOrAny(shown.TypeOf(node, node.to)), options});
  }
  TextTable outputs({{"output", false, 20}});
  for (const GraphValue& output : shown.graph.outputs()) {
    outputs.Add({words::Escape(shown.NameOf(output))});
  }
  if (!shown.inputs.empty()) text += inputs.Render(Columns(stdout), false) + "\n";
  if (shown.graph.node_count() != 0) text += nodes.Render(Columns(stdout), false) + "\n";
  Print(text + outputs.Render(Columns(stdout), false));
}

void PrintMdfJson(const std::string& path, const Shown& shown) {
  JsonPrinter json("inspect");
  json.Member("file", path);
  json.Member("bytes", files::FileBytes(path, "cannot be accessed"));
  json.Member("format", "mdf");
  json.Member("opset", shown.graph.opset());
  json.Array("inputs", shown.inputs, [](const ValueInfo& input) -> Json {
    return {{"name", input.name},
            {"type", TypeJson(input.type)},
            {"shape", ShapeJson(input.has_shape, input.shape)},
            {"has_default", input.has_default}};
  });
  json.Array("nodes", shown.graph.Nodes(), [&](const GraphNode& node) -> Json {
    return {{"node", node.name},
            {"operator", node.op_type},
            {"from", TypeJson(shown.is_open ? DataType::kUndefined : node.from)},
            {"to", TypeJson(shown.TypeOf(node, node.to))},
            {"saturate", node.saturate}};
  });
  json.Array("outputs", shown.graph.outputs(), [&](const GraphValue& output) -> Json {
    return {{"name", shown.NameOf(output)}};
  });
  json.End();
}

}  // namespace

Session LoadSession(const std::string& path, const onnx::LoadOptions& options,
                    const std::vector<std::string>& inputs) {
  Session session;
  std::string error;
  if (!mdf::IsModelFile(path)) {
    CheckStatus(Session::Load(path, options, &session, &error), error);
    return session;
  }
  mdf::LoadOptions load;
  load.contradictions = options.contradictions;
  load.input_types = TypesOfInputs(path, inputs);
  Graph graph;
  CheckStatus(mdf::Load(path, load, &graph, &error), error);
  if (options.optimize) CheckStatus(graph.Optimize({}, nullptr, &error), error);
  CheckStatus(Session::Create(graph, {.target = options.target}, &session, &error), error);
  return session;
}

ModelPaths FormatsOf(const std::string& input, const std::string& output) {
  return {input, output, mdf::IsModelFile(input), mdf::IsModelName(output)};
}

Graph ReadGraph(const ModelPaths& paths, const ModelConversion& options) {
  // Before the model is read: a refusal that overwriting lifts says so.
  files::CheckOutput(paths.output, 0, {options.force, {paths.input}});
  Graph graph;
  std::string error;
  if (paths.is_mdf_input) {
    mdf::LoadOptions load;
    load.other_inputs = options.assume_type;
    CheckStatus(mdf::Load(paths.input, load, &graph, &error), error);
    return graph;
  }
  if (checkpoint::OpenTensorFile(paths.input, ToolOpenOptions()).model == nullptr) {
    throw Error(ErrorKind::kArguments,
                words::PathText(paths.output) +
                    ": MDF is written from a model only: tensors alone have no graph");
  }
  onnx::LoadOptions load;
  load.allow_hard_links = options.allow_hard_links;
  CheckStatus(Graph::Load(paths.input, load, &graph, &error), error);
  return graph;
}

std::uint64_t WriteGraph(const Graph& graph, const ModelPaths& paths,
                         const ModelConversion& options) {
  std::string error;
  if (paths.is_mdf_output) {
    const mdf::SaveOptions save{options.force, {paths.input}};
    CheckStatus(mdf::Save(graph, paths.output, save, &error), error);
  } else if (std::filesystem::path(paths.output).extension() == ".onnx") {
    CheckStatus(graph.Save(paths.output, {false, options.force}, &error), error);
  } else {
    throw Error(ErrorKind::kArguments,
                words::PathText(paths.output) +
                    ": an MDF model becomes another model: .onnx, .json, .yaml, .yml or .bson");
  }
  return files::FileBytes(paths.output, "was written, but its size cannot be accessed");
}

void PrintMdf(const std::string& path, std::optional<DataType> assume_type, bool as_json) {
  Shown shown;
  std::string error;
  CheckStatus(mdf::Inputs(path, &shown.inputs, &error), error);
  for (ValueInfo& input : shown.inputs) {
    if (input.type == DataType::kUndefined && assume_type) input.type = *assume_type;
    shown.is_open = shown.is_open || input.type == DataType::kUndefined;
  }
  // It does not matter which one an open type of a node is: it is not shown.
  mdf::LoadOptions load;
  load.other_inputs = assume_type.value_or(DataType::kFloat32);
  CheckStatus(mdf::Load(path, load, &shown.graph, &error), error);
  if (as_json) {
    PrintMdfJson(path, shown);
  } else {
    PrintMdfText(path, shown);
  }
}

}  // namespace tensorcast::tool
