// How one library keeps quantised weights: what it calls their tensors, how codes and scales fit
// together, what its configuration says, read and written, and what its readers get wrong. A file
// of this folder for each; docs/adding_a_layout.md shows how one more is added.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_DIALECTS_DIALECT_H_
#define TENSORCAST_SRC_SCALE_DIALECTS_DIALECT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "json/ordered_json_fwd.h"
#include "scale/scale_names.h"
#include "scale/scaled_tensor.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

struct PackedReading;       // scale/packed_tensors.h
struct PackedTensors;       // scale/packed_tensors.h
struct QuantisedModules;    // scale/quantised_modules.h
struct QuantizationConfig;  // scale/quantization_config.h
struct ScaledWeight;        // scale/scaled_weights.h
struct WrittenForm;         // scale/written_form.h

// ------------------------------------------------------------------------------- reading

// In what the codes stand.
enum class Storage : std::uint8_t {
  kFloat8,       // float8 of the tensor's own type
  kInt8,         // int8
  kPackedBytes,  // several codes in the bytes of uint8 or int8, or a tensor of the code's own type
};

// Which types scales have.
enum class ScaleType : std::uint8_t {
  kFloat,   // float32, bfloat16, float16
  kE8M0,    // float8e8m0, by that name or as uint8
  kE4M3FN,  // float8e4m3fn
};

// How codes and scales fit together. Endings of names, of which the codes' is replaced by `plain`
// in the weight's own.
struct Layout {
  std::string_view codes;
  std::string_view plain;
  std::string_view scale;
  std::string_view global = {};
  Storage storage = Storage::kFloat8;
  DataType element = DataType::kUndefined;  // of packed bytes
  ScaleType scale_type = ScaleType::kFloat;
  std::uint64_t group = 0;  // 0: any partition that fits
  Factor global_use = Factor::kNone;
  // The last two dimensions of the weight are those of the codes, swapped; the last dimension of
  // the codes is a group's bytes.
  bool is_transposed = false;
  std::string_view writer = {};  // where it is not the dialect's name
};

// How a configuration's lists of targets and exceptions name layers.
enum class LayerNames : std::uint8_t {
  kWhole,  // whole names, and regular expressions behind "re:"
  kParts,  // the beginning or end of a name, or its middle
  kGlobs,  // globs
};

// ------------------------------------------------------------------------------- writing

// The shape of a scale of the whole tensor.
enum class OneShape : std::uint8_t { kScalar, kVector };  // [], [1]

// Where integers in groups stand.
enum class GroupPlacing : std::uint8_t {
  kNone,
  kPackQuantized,  // compressed-tensors': words along the rows; zero points, where there are any
  kGptq,           // words down the rows of a transposed matrix; zero points as they are
  kAwq,            // words along the columns, shuffled
  kMlx,            // words along the rows; biases
};
// Whether the rows of a weight are columns there.
constexpr bool IsTurned(GroupPlacing placing) {
  return placing == GroupPlacing::kGptq || placing == GroupPlacing::kAwq;
}

// How a scaled format is written: endings of the names of codes and scales, in place of `plain` at
// the end of the weight's own. A weight whose name ends in something else is not written so.
struct WrittenLayout {
  std::string_view format;  // "fp8-block"
  std::string_view codes = {};
  std::string_view scale = {};
  std::string_view global = {};
  std::string_view plain = {};  // empty: the endings are appended
  Factor global_use = Factor::kNone;
  OneShape one = OneShape::kVector;
  bool packs_codes = false;            // several to a byte, or more of these in a word
  DataType packed = DataType::kUint8;  // of packed codes; words are little-endian
  bool is_high_first = false;          // of two codes in a byte
  bool splits_groups = false;          // the bytes of a group are a dimension of the codes
  bool has_scale_bytes = false;        // scales of eight bits as uint8
  bool has_tiled_scales = false;       // as ScaleTiles has them (reordered_cells.h), zeros between
  // Weights are [.., inputs, outputs], and what is written is [.., outputs, inputs].
  bool is_transposed = false;
  std::uint32_t rotation = 0;  // groups of columns that may be rotated (rotated_rows.h); 0: none
  // Why its readers do not take a weight of this name and shape: "it is ..."; empty: they do.
  std::string (*why_not)(std::string_view name, std::span<const std::uint64_t> shape) = nullptr;
  // Of integers in groups: how they are placed, and what else there is.
  GroupPlacing groups = GroupPlacing::kNone;
  std::string_view zeros = {}, biases = {}, shape = {}, order = {};
  // The blocks of GGUF's in which all of it stands, and then the rest is of no account.
  std::string_view block = {};
};

// JSON texts; empty: nothing is to be said.
struct WrittenConfig {
  std::string quantization_config = {};              // the member of config.json of that name
  std::map<std::string, std::string> files = {};     // whole files beside it, by name (ModelOpt's)
  std::map<std::string, std::string> metadata = {};  // of the .safetensors file (ComfyUI's)
};

// A weight that is written, by its plain name and shape.
struct MadeWeight {
  std::string_view name;
  std::span<const std::uint64_t> shape;
  const WrittenForm& form;
  const ScaledWeight* was;  // null: it had no scales
  bool is_transposed;       // stacked experts, [experts, inputs, outputs]
  bool is_of_conv1d;        // of transformers' Conv1D, [inputs, outputs]
};

// A kind of weights that the dialect's readers take for others, though every number is right.
struct ReaderNote {
  std::string_view noun;  // "stacked weight"
  std::string_view fate;  // "X takes ... for ..."
  bool (*has)(const MadeWeight& weight);
};

bool HasRaggedBlocks(const MadeWeight& weight);
inline constexpr ReaderNote kRaggedBlocksNote = {
    "weight", "transformers reads blocks wrongly if a dimension is not a multiple of 128",
    HasRaggedBlocks};

// ------------------------------------------------------------------------------- dialects

// That of models.
inline constexpr std::string_view kModelLayout = "onnx";

// A file beside config.json in which a library says how it quantised.
struct ConfigFile {
  std::string_view name = {};  // empty: it has none
  // The member that says it, in the dialect's own words; empty: the whole file is what would be
  // config.json's "quantization_config".
  std::string_view member = {};
  // It says more: of weights that are no longer as it says, only what is of that goes.
  bool says_more = false;

  bool IsRead() const { return !name.empty() && !says_more; }
};

// Packed codes that are told by name, type and shape alone, without their scales.
struct PackedCodes {
  std::string_view name = {};  // "MXFP4", in messages
  bool (*are)(const formats::TensorInfo& info) = nullptr;
};

struct Dialect {
  std::string_view name;  // "DeepSeek", in messages; empty: no library's

  std::span<const CompanionName> names = {};
  // Neither layouts nor read_packed: it is recognised, and never touched.
  std::span<const Layout> layouts = {};
  // Its weights that decode themselves; asked where the names of codes and companions are its own,
  // or where it describes the layer.
  PackedReading (*read_packed)(const PackedTensors& tensors) = nullptr;
  // Tells such weights which need no companion, by their types.
  bool (*holds_codes)(const formats::TensorInfo& info) = nullptr;
  PackedCodes packed = {};
  // Its "quant_method"s; the first is the one that it writes.
  std::span<const std::string_view> methods = {};
  // Whether a configuration that names no method is its own.
  bool (*has_config)(const json::OrderedJson& json) = nullptr;
  void (*read_config)(const json::OrderedJson& json, QuantizationConfig& config) = nullptr;
  // The members of a configuration that list the layers which are left as they are.
  std::span<const char* const> exceptions = {};
  ConfigFile file = {};
  // The member of its file, where config.json says nothing.
  void (*read_file)(const json::OrderedJson& json, QuantizationConfig& config) = nullptr;
  LayerNames layer_names = LayerNames::kWhole;
  // Its configuration names the layers that are quantised; else it is of all linear ones.
  bool has_targets = false;

  std::string_view layout = {};  // its name as --layout; empty: it is not written
  std::span<const WrittenLayout> written = {};
  // The configuration of modules all of which are made, in one form each.
  WrittenConfig (*write_config)(const QuantisedModules& modules) = nullptr;
  // The input's configuration, edited: some modules are kept and others become plain.
  WrittenConfig (*edit_config)(const QuantisedModules& modules,
                               const QuantizationConfig& config) = nullptr;
  // The same where others are made beside those; nothing where it cannot say both, and then
  // `unclear` may name the module that is in the way.
  std::optional<WrittenConfig> (*join_config)(const QuantisedModules& modules,
                                              const QuantizationConfig& config,
                                              std::string* unclear) = nullptr;
  bool says_several_formats = false;  // one configuration may say several
  // A key of safetensors' __metadata__ under which layers are described one by one; and its text
  // less the layers that became plain, with those that are made. Empty: nothing changes.
  std::string_view metadata_key = {};
  std::string (*edit_metadata)(const std::string& old, const QuantisedModules& modules,
                               const std::string& made) = nullptr;
  // An ending of the one format whose files its readers take; empty: directories too.
  std::string_view only_format = {};

  std::span<const ReaderNote> reader_notes = {};
  bool is_read_by_transformers = false;  // by the configuration that write_config makes
  bool reads_conv1d = false;             // its readers know that a Conv1D's weight is transposed
  std::string_view directory_note = {};  // said of a directory that is written in it

  bool IsRead() const { return !layouts.empty() || read_packed != nullptr; }
  std::string_view Method() const { return methods.empty() ? std::string_view() : methods[0]; }
};

// All, in the order in which they are tried: where several fit, the first is taken.
std::span<const Dialect* const> Dialects();
// The dialect by whose name, type and shape a tensor is packed codes; null: nobody's.
const Dialect* DialectOfPacked(const formats::TensorInfo& info);
// These give null if no dialect has the name.
const Dialect* DialectOfMethod(std::string_view method);
// That which has a configuration of this form, by no method's name.
const Dialect* DialectOfConfig(const json::OrderedJson& json);
const Dialect* DialectOfLayout(std::string_view layout);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_DIALECTS_DIALECT_H_
