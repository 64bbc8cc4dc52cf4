// What a checkpoint's configuration says of the model, and of how its weights are quantised:
// config.json's "quantization_config", or the file that stands for it
// (checkpoint::kQuantizationFile), or GPTQ's quantize_config.json and the like; and the file of its
// dialect's own (ModelOpt's hf_quant_config.json).
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_QUANTIZATION_CONFIG_H_
#define TENSORCAST_SRC_SCALE_QUANTIZATION_CONFIG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "json/ordered_json_fwd.h"

namespace tensorcast::scale {

struct Dialect;  // scale/dialects/dialect.h

// One way in which weights are quantised. What is not said is empty or 0.
struct WeightScheme {
  std::string name;                 // of its group in "config_groups"
  int bits = 0;                     // of a code
  bool is_integer = false;          // else floating
  std::string strategy;             // "tensor", "channel", "group", "tensor_group", "block"
  std::uint64_t group = 0;          // of "group" and "tensor_group"
  std::uint64_t block_rows = 0;     // of "block"
  std::uint64_t block_columns = 0;  // of "block"
  bool is_symmetric = true;         // without zero points
  bool is_ordered = false;          // its groups have an order of their own

  // What is said and not understood: such a scheme fits no weight that has its bits.
  std::string misread;

  std::vector<std::string> targets;  // the layers that have it, as the configuration names them

  // "blocks of 128 × 128", "groups of 16", "8-bit floats" ...
  std::string Text() const;
};

struct QuantizationConfig {
  // Why a file of it is not understood, in a line that begins with its path; empty if all are.
  std::string problem;
  // Whether anything says that tensors are quantised. What cannot be read is taken to say so.
  bool says_quantised = false;
  // config.json's own, empty where it does not say: its first architecture or its type, the type
  // that the model is built in ("bfloat16"), and the types of the whole and of its parts.
  std::string architecture;
  std::string dtype;
  std::vector<std::string> model_types;
  std::string file;    // "config.json"; empty: nothing is said
  std::string method;  // "fp8", "compressed-tensors", "modelopt" ...
  // Whose method it is; null: nobody's who is known here.
  const Dialect* dialect = nullptr;
  // Its JSON, an object, in its order; null where only `beside` says it.
  std::shared_ptr<const json::OrderedJson> json;
  // What else says it in the same words: config.json a second time (MLX's), or the dialect's own
  // file (GPTQ's quantize_config.json), which `copy_file` names; or null.
  std::shared_ptr<const json::OrderedJson> copy;
  std::string copy_file;
  std::shared_ptr<const json::OrderedJson> beside;  // all of the dialect's own file
  std::vector<WeightScheme> schemes;
  std::vector<std::string> ignored;  // layers that have none, as the configuration names them
  // Whether weights have no other form than the schemes' (there are none if the method is not read
  // here). If not, the schemes bind only weights whose codes have their bits.
  bool is_complete = false;
  // Why none of the weights that it describes are read, as it goes on from a weight's name: "is of
  // layers that ..."; empty: they are.
  std::string refused;
  // Whether the method's weights are of no form that is read here, or of one that nobody knows.
  bool is_foreign = false;
};

// Reads that of the checkpoint at `path`, a file or a directory; without a path there is none. One
// that cannot be read says only that there is one. Throws files::Error (system).
QuantizationConfig ReadQuantizationConfig(const std::string& path);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_QUANTIZATION_CONFIG_H_
