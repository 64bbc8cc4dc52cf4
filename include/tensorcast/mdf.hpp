// Models of ModECI's MDF, in JSON, YAML and BSON, as graphs of casts. docs/mdf.md says which parts
// of MDF are read, and what they mean.
//
//   tensorcast::Graph graph;
//   std::string error;
//   if (!tensorcast::mdf::Load("model.yaml", {}, &graph, &error).ok()) ...error...
//   if (!graph.Save("model.onnx", {}, &error).ok()) ...error...
//
// Nothing here throws or logs. A function that fails sets `error`, if given, to one line that says
// what is wrong, where and what to do; it escapes texts from files.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_MDF_HPP_
#define TENSORCAST_MDF_HPP_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tensorcast/graph.hpp"
#include "tensorcast/onnx.hpp"
#include "tensorcast/tensor_view.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::mdf {
inline namespace TENSORCAST_ABI {

struct LoadOptions {
  onnx::Contradictions contradictions = onnx::Contradictions::kText;
  // A port of MDF need not have a type: an input has that of its values. These are the types of
  // such inputs, by the names of their ports, and of all others.
  std::map<std::string, DataType> input_types = {};
  std::optional<DataType> other_inputs = {};
};

struct SaveOptions {
  bool overwrite = false;
  // Files that the output must not be the same as, under any name.
  std::vector<std::string> inputs = {};
};

// Whether a file is an MDF model: by its contents or, if these do not tell, by its ending (.json,
// .yaml, .yml, .bson). False if it cannot be read.
TENSORCAST_API bool IsModelFile(const std::string& path);
// Whether a path has one of those endings.
TENSORCAST_API bool IsModelName(const std::string& path);

// The inputs of a model. A type is kUndefined if the file leaves it to the values. Codes: those of
// Load, except that a model with other functions is not refused.
TENSORCAST_API Status Inputs(const std::string& path, std::vector<ValueInfo>* inputs,
                             std::string* error = nullptr);

// Reads a model of casts, constants and identities. Codes: kFileError (missing, unreadable),
// kBadFile (not MDF, or against its rules), kUnsupportedFile (another function, state, conditions,
// weights; an input without a type; YAML in a build without libyaml).
TENSORCAST_API Status Load(const std::string& path, const LoadOptions& options, Graph* graph,
                           std::string* error = nullptr);

// Writes a graph as MDF, in the syntax that the path's ending names, completely or not at all.
// Codes: kBadInput (a name or a file that cannot be; a graph without outputs), kUnsupportedFile
// (what MDF lacks: functions, operators other than those above, inputs with defaults, constants
// without dimensions), kFileError.
TENSORCAST_API Status Save(const Graph& graph, const std::string& path, const SaveOptions& options,
                           std::string* error = nullptr);

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::mdf

#endif  // TENSORCAST_MDF_HPP_
