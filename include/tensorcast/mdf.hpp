// Models of ModECI's MDF, in JSON, YAML and BSON, as graphs of casts. docs/mdf.md says what of MDF
// is read, and what it means.
//
//   tensorcast::Graph graph;
//   std::string error;
//   if (!tensorcast::mdf::Load("model.yaml", {}, &graph, &error).ok()) ...error...
//   if (!graph.Save("model.onnx", {}, &error).ok()) ...error...
//
// Nothing here throws or logs. A function that fails says in `error`, where one is given, what is
// wrong, where and what to do, in one line; texts from a file are escaped.
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
  // MDF's ports need not say a type: an input has that of its values. Types of such inputs by the
  // names of their ports, and of all others.
  std::map<std::string, DataType> input_types = {};
  std::optional<DataType> other_inputs = {};
};

struct SaveOptions {
  bool overwrite = false;
  // Files that the output must not be, by any name.
  std::vector<std::string> inputs = {};
};

// Whether a file is an MDF model: by what it holds or, where that does not say, its ending (.json,
// .yaml, .yml, .bson). False where it cannot be read.
TENSORCAST_API bool IsModelFile(const std::string& path);
// Whether the ending of a path is one of those.
TENSORCAST_API bool IsModelName(const std::string& path);

// The inputs of a model: a type is kUndefined where the file leaves it to the values. Codes: as
// Load, but that a model of other functions is not refused.
TENSORCAST_API Status Inputs(const std::string& path, std::vector<ValueInfo>* inputs,
                             std::string* error = nullptr);

// Reads a model of casts, constants and identities. Codes: kFileError (missing, unreadable),
// kBadFile (no MDF, or what breaks its rules), kUnsupportedFile (another function, state,
// conditions, weights; an input without a type; YAML in a build without libyaml).
TENSORCAST_API Status Load(const std::string& path, const LoadOptions& options, Graph* graph,
                           std::string* error = nullptr);

// Writes a graph as MDF, in the syntax of the path's ending, whole or not at all. Codes: kBadInput
// (a name or a file that cannot be; a graph without outputs), kUnsupportedFile (what MDF does not
// have: functions, operators but those above, inputs with defaults, constants without dimensions),
// kFileError.
TENSORCAST_API Status Save(const Graph& graph, const std::string& path, const SaveOptions& options,
                           std::string* error = nullptr);

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::mdf

#endif  // TENSORCAST_MDF_HPP_
