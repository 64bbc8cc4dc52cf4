// One function for each dialect; a member of an unexpected kind is as if it were not there, but for
// sizes of blocks, without which other ones would be tried.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/quantization_config.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "io/checkpoint.h"
#include "io/ordered_json.h"
#include "io/system.h"
#include "io/tensor_file.h"

namespace tensorcast::scale {
namespace {

using Json = io::OrderedJson;

constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
constexpr std::size_t kDeepest = 32;  // of arrays and objects

// Methods whose weights are of no layout that is read here. Others that are not known may have
// scales like those of the methods that are (Quark's do).
constexpr std::string_view kOtherMethods[] = {
    "aqlm",   "auto-round", "awq",  "bitnet",  "bitsandbytes", "eetq",
    "exl2",   "fp_quant",   "gptq", "higgs",   "hqq",          "marlin",
    "quanto", "sinq",       "spqr", "torchao", "vptq",
};

// null where there is no such file, or it is no JSON.
Json ReadJson(const std::string& path) {
  if (!io::IsFile(path)) return nullptr;
  const io::InputFile file(path);
  if (file.size() > kMostBytes) return nullptr;
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.Read(0, std::as_writable_bytes(std::span(text)));
  file.CheckUnchanged();
  return io::ParseJson(text, kDeepest).value_or(nullptr);
}

const Json& Member(const Json& json, const char* key) {
  static const Json kNone;
  if (!json.is_object()) return kNone;
  const auto found = json.find(key);
  return found == json.end() ? kNone : *found;
}

std::string Text(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

// The texts of a list.
std::vector<std::string> Texts(const Json& json) {
  std::vector<std::string> texts;
  if (!json.is_array()) return texts;
  for (const Json& one : json) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

std::uint64_t Number(const Json& json) {
  return json.is_number_unsigned() ? json.get<std::uint64_t>() : 0;
}

// [rows, columns], both of 1 and more; null says nothing.
void ReadBlock(const Json& json, const char* key, WeightScheme& scheme) {
  constexpr std::size_t kShown = 40;
  const Json& size = Member(json, key);
  if (size.is_null()) return;
  scheme.strategy = "block";
  if (size.is_array() && size.size() == 2) {
    scheme.block_rows = Number(size[0]);
    scheme.block_columns = Number(size[1]);
  }
  if (scheme.block_rows != 0 && scheme.block_columns != 0) return;
  const std::string text = io::Dumped(size);
  scheme.misread = std::string(key) + " " + text.substr(0, kShown) +
                   (text.size() > kShown ? "..." : "") + ", which is not two sizes";
}

// "weights" of one of compressed-tensors' groups; ModelOpt writes the same.
std::optional<WeightScheme> SchemeOf(const Json& weights) {
  if (!weights.is_object()) return std::nullopt;
  WeightScheme scheme;
  scheme.bits = static_cast<int>(Number(Member(weights, "num_bits")) & 0xFF);
  scheme.is_integer = Text(Member(weights, "type")) == "int";
  scheme.strategy = Text(Member(weights, "strategy"));
  scheme.group = Number(Member(weights, "group_size"));
  if (scheme.strategy.empty() && scheme.group != 0) scheme.strategy = "group";
  if (scheme.strategy == "block") ReadBlock(weights, "block_structure", scheme);
  return scheme;
}

void ReadGroups(const Json& groups, QuantizationConfig& config) {
  if (!groups.is_object()) return;
  for (const auto& [name, group] : groups.items()) {
    const auto scheme = SchemeOf(Member(group, "weights"));
    if (!scheme) continue;
    config.schemes.push_back(*scheme);
    config.schemes.back().name = name;
    config.schemes.back().targets = Texts(Member(group, "targets"));
  }
}

// ModelOpt's words for a whole checkpoint; others (AWQ, a mixture) say nothing of each weight.
void ReadAlgorithm(const Json& json, QuantizationConfig& config) {
  const std::string algorithm = Text(Member(json, "quant_algo"));
  WeightScheme scheme;
  if (algorithm == "FP8") {
    scheme.bits = 8;
    scheme.strategy = "tensor";
  } else if (algorithm == "FP8_PER_CHANNEL_PER_TOKEN") {
    scheme.bits = 8;
    scheme.strategy = "channel";
  } else if (algorithm == "NVFP4") {
    scheme.bits = 4;
    scheme.strategy = "group";
    scheme.group = 16;
  } else {
    return;
  }
  config.schemes.push_back(scheme);
  config.is_complete = true;
}

// Each method has a word of its own for them.
void ReadIgnored(const Json& json, QuantizationConfig& config) {
  for (const char* const key : {"ignore", "modules_to_not_convert", "exclude_modules"}) {
    for (std::string& name : Texts(Member(json, key))) config.ignored.push_back(std::move(name));
  }
}

void ReadConfig(const Json& json, QuantizationConfig& config) {
  config.method = Text(Member(json, "quant_method"));
  ReadIgnored(json, config);
  WeightScheme scheme;
  if (config.method == "fp8" || config.method == "fbgemm_fp8") {
    scheme.bits = 8;
    if (config.method == "fbgemm_fp8") scheme.strategy = "channel";
    ReadBlock(json, "weight_block_size", scheme);
    config.schemes.push_back(scheme);
  } else if (config.method == "mxfp4") {
    scheme.bits = 4;
    scheme.strategy = "group";
    scheme.group = 32;
    config.schemes.push_back(scheme);
    config.is_complete = true;
  } else if (config.method == "compressed-tensors") {
    ReadGroups(Member(json, "config_groups"), config);
    config.is_complete = !config.schemes.empty();
  } else if (config.method == "modelopt") {
    ReadGroups(Member(json, "config_groups"), config);
    if (config.schemes.empty()) ReadAlgorithm(json, config);
  } else {
    config.is_complete = std::ranges::count(kOtherMethods, config.method) != 0;
    config.is_foreign = !config.method.empty();
  }
}

}  // namespace

std::string WeightScheme::Text() const {
  if (!misread.empty()) return misread;
  if (strategy == "block" && block_rows != 0) {
    return "blocks of " + std::to_string(block_rows) + " × " + std::to_string(block_columns);
  }
  if (group != 0) return "groups of " + std::to_string(group);
  if (strategy == "tensor") return "one scale for a tensor";
  if (strategy == "channel") return "one scale for a row";
  return std::to_string(bits) + (is_integer ? "-bit integers" : "-bit floats");
}

QuantizationConfig ReadQuantizationConfig(const std::string& path) {
  const std::string directory = io::IsFile(path) ? path.substr(0, io::NameBegin(path)) : path + "/";
  QuantizationConfig config;
  const auto text = [](const Json& one) { return one.is_null() ? std::string() : io::Dumped(one); };
  std::string name = "config.json";
  if (!io::IsFile(directory + name)) name = io::kQuantizationFile;
  const Json json = ReadJson(directory + name);
  const auto add_type = [&](const Json& model) {
    if (std::string type = Text(Member(model, "model_type")); !type.empty()) {
      config.model_types.push_back(std::move(type));
    }
  };
  add_type(json);
  if (json.is_object()) {
    for (const Json& part : json) add_type(part);
  }
  const Json* said = name == io::kQuantizationFile ? &json : &Member(json, "quantization_config");
  if (!said->is_object()) said = &Member(json, "compression_config");
  if (!said->is_object()) said = &Member(Member(json, "text_config"), "quantization_config");
  const Json beside = ReadJson(directory + "hf_quant_config.json");
  if (said->is_object()) {
    config.file = name;
    ReadConfig(*said, config);
    config.text = text(*said);
    if (config.method == "modelopt") config.beside = text(beside);
    return config;
  }
  if (const Json& inner = Member(beside, "quantization"); inner.is_object()) {
    config.file = "hf_quant_config.json";
    config.method = "modelopt";
    config.beside = text(beside);
    ReadIgnored(inner, config);
    ReadAlgorithm(inner, config);
  }
  return config;
}

}  // namespace tensorcast::scale
