// MDF models in the commands on models: told from ONNX's, read, run, converted and shown.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_COMMANDS_MDF_MODEL_H_
#define TENSORCAST_PROGRAMS_COMMANDS_MDF_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "tensorcast/graph.hpp"
#include "tensorcast/onnx.hpp"
#include "tensorcast/session.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// Loads a model of either format, ready to run. Inputs to which an MDF model gives no type have
// that of the tensors that `inputs` (--input) bring. Throws as CheckStatus, files::Error
// (arguments).
Session LoadSession(const std::string& path, const onnx::LoadOptions& options,
                    const std::vector<std::string>& inputs);

// Which of two files is in which format, where one of them is MDF.
struct ModelPaths {
  std::string input;
  std::string output;
  bool is_mdf_input = false;
  bool is_mdf_output = false;
  bool has_mdf() const { return is_mdf_input || is_mdf_output; }
};
ModelPaths FormatsOf(const std::string& input, const std::string& output);

struct ModelConversion {
  std::optional<DataType> assume_type;  // of inputs that say none
  bool allow_hard_links = false;
  bool force = false;
};

// Reads a model of either format as a graph. Throws files::Error.
Graph ReadGraph(const ModelPaths& paths, const ModelConversion& options);
// Writes it in the format that the output's ending names: .onnx or one of MDF's. The size of the
// file. Throws files::Error.
std::uint64_t WriteGraph(const Graph& graph, const ModelPaths& paths,
                         const ModelConversion& options);

// tensorcast inspect of an MDF model.
void PrintMdf(const std::string& path, std::optional<DataType> assume_type, bool as_json);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_COMMANDS_MDF_MODEL_H_
