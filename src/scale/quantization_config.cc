// Finds the configuration; what it says its dialect knows.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/quantization_config.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "files/error.h"
#include "files/named_file.h"
#include "files/system.h"
#include "files/system_directory.h"
#include "json/json_events.h"
#include "json/ordered_json.h"
#include "scale/config_json.h"
#include "scale/dialects/dialect.h"

namespace tensorcast::scale {
namespace {

using Json = json::OrderedJson;

// Reads the files of a configuration by the rules by which an output's are edited (WalkJson,
// Enclosure), so that what is understood here is what is written there.
class ConfigFiles {
 public:
  explicit ConfigFiles(const std::string& path) {
    if (files::IsDirectory(path)) {
      enclosure_ = files::EnclosureOfCheckpoint(path);
      directory_ = files::Joined(path, "");
    } else {
      directory_ = path.substr(0, files::NameBegin(path));
    }
  }

  bool Has(const std::string& name) const { return files::IsFile(directory_ + name); }
  // The JSON of a file; null if there is none, or it cannot be read as such, which problem() says.
  Json Read(const std::string& name) {
    if (!Has(name)) return nullptr;
    const std::string path = directory_ + name;
    const auto file =
        enclosure_ ? files::OpenNamedFile(path, *enclosure_, 0) : files::OpenFile(path);
    try {
      const std::string text = checkpoint::ReadText(*file, checkpoint::kMostConfigBytes);
      json::JsonEvents nothing;
      json::WalkJson(path, text, nothing);
      return json::ParseJson(text, json::kMostJsonDepth).value_or(nullptr);
    } catch (const files::Error& error) {
      if (error.kind() != core::ErrorKind::kContents) throw;
      if (problem_.empty()) problem_ = error.what();
      return nullptr;
    }
  }
  const std::string& problem() const { return problem_; }

 private:
  std::string directory_;
  std::optional<files::Enclosure> enclosure_;
  std::string problem_;
};

// An object that says how tensors are quantised, and where it stands: "text_config.quantization".
struct Said {
  std::string at;
  const Json* json;
};

// All, at any depth: a multimodal model has one for each of its parts. These are what is taken out
// of a configuration whose tensors have become plain (ModelConfig::RemoveQuantisation).
std::vector<Said> AllSaid(const Json& json, const std::string& at = {}) {
  std::vector<Said> all;
  if (!json.is_structured()) return all;
  for (const auto& member : json.items()) {
    const Json& value = member.value();
    std::string place = at.empty() ? member.key() : at + "." + member.key();
    if (value.is_object() && checkpoint::IsQuantisationKey(member.key())) {
      all.push_back({std::move(place), &value});
    } else {
      std::ranges::move(AllSaid(value, place), std::back_inserter(all));
    }
  }
  return all;
}

// Each method has a word of its own for them, and some have another's.
void ReadIgnored(const Json& json, QuantizationConfig& config) {
  std::set<std::string_view> keys;
  for (const Dialect* const dialect : Dialects()) {
    keys.insert(dialect->exceptions.begin(), dialect->exceptions.end());
  }
  for (const std::string_view key : keys) {
    for (std::string& name : Texts(Member(json, key.data()))) {
      config.ignored.push_back(std::move(name));
    }
  }
}

void ReadConfig(const Json& json, QuantizationConfig& config) {
  config.method = Text(Member(json, "quant_method"));
  config.dialect = config.method.empty() ? DialectOfConfig(json) : DialectOfMethod(config.method);
  ReadIgnored(json, config);
  if (config.dialect != nullptr && config.dialect->read_config != nullptr) {
    config.dialect->read_config(json, config);
  } else {
    config.is_complete = config.dialect != nullptr;
    config.is_foreign = !config.method.empty();
  }
}

// The type that a model is built in; transformers called it "torch_dtype" before.
std::string DtypeOf(const Json& model) {
  constexpr std::string_view kTorch = "torch.";
  std::string dtype = Text(Member(model, "dtype"));
  if (dtype.empty()) dtype = Text(Member(model, "torch_dtype"));
  if (dtype.starts_with(kTorch)) dtype.erase(0, kTorch.size());
  return dtype;
}

void ReadModel(const Json& json, QuantizationConfig& config) {
  const auto add_type = [&](const Json& model) {
    if (std::string type = Text(Member(model, "model_type")); !type.empty()) {
      config.model_types.push_back(std::move(type));
    }
  };
  add_type(json);
  if (json.is_object()) {
    for (const Json& part : json) add_type(part);
  }
  const std::vector<std::string> architectures = Texts(Member(json, "architectures"));
  config.architecture =
      !architectures.empty() ? architectures.front() : Text(Member(json, "model_type"));
  config.dtype = DtypeOf(json);
  if (config.dtype.empty()) config.dtype = DtypeOf(Member(json, "text_config"));
}

QuantizationConfig Understand(ConfigFiles& files) {
  QuantizationConfig config;
  std::string name = "config.json";
  if (!files.Has(name)) name = checkpoint::kQuantizationFile;
  const auto shared = [](Json json) { return std::make_shared<const Json>(std::move(json)); };
  const Json json = files.Read(name);
  ReadModel(json, config);
  const Json* said =
      name == checkpoint::kQuantizationFile ? &json : &Member(json, "quantization_config");
  // MLX's, whose "quantization_config" is a copy for others, or none.
  if (const Dialect* const own = DialectOfConfig(Member(json, "quantization")); own != nullptr) {
    if (DialectOfConfig(*said) == own) config.copy = shared(*said);
    said = &Member(json, "quantization");
  }
  if (!said->is_object()) said = &Member(json, "compression_config");
  const std::vector<Said> parts = AllSaid(json);
  if (!said->is_object() && !parts.empty()) {
    said = parts.front().json;
    const auto other =
        std::ranges::find_if(parts, [&](const Said& one) { return *one.json != *said; });
    if (other != parts.end()) {
      config.refused = "is described in two ways: " + name + " says one in " +
                       words::Escape(parts.front().at) + " and another in " +
                       words::Escape(other->at);
    }
  }
  const auto all = Dialects();
  const auto has_own = [&](const Dialect* one) {
    return one != nullptr && one->file.IsRead() && files.Has(std::string(one->file.name));
  };
  config.says_quantised =
      std::ranges::any_of(all, has_own) ||
      (files.Has(name) &&
       (json.is_null() || name == checkpoint::kQuantizationFile || !parts.empty()));
  if (said->is_object()) {
    config.file = name;
    ReadConfig(*said, config);
    config.json = shared(*said);
    if (!has_own(config.dialect)) return config;
    Json beside = files.Read(std::string(config.dialect->file.name));
    if (config.dialect->file.member.empty()) {
      if (beside.is_object()) config.copy = shared(std::move(beside));
      config.copy_file = config.dialect->file.name;
    } else if (!beside.is_null()) {
      config.beside = shared(std::move(beside));
    }
    return config;
  }
  for (const Dialect* const one : all) {
    if (!has_own(one)) continue;
    Json beside = files.Read(std::string(one->file.name));
    if (one->file.member.empty()) {
      if (!beside.is_object()) continue;
      config.file = one->file.name;
      if (Text(Member(beside, "quant_method")).empty()) beside["quant_method"] = one->Method();
      ReadConfig(beside, config);
      config.json = shared(std::move(beside));
      break;
    }
    const Json& inner = Member(beside, one->file.member.data());
    if (!inner.is_object()) continue;
    config.file = one->file.name;
    config.dialect = one;
    config.method = one->Method();
    ReadIgnored(inner, config);
    one->read_file(inner, config);
    config.beside = shared(std::move(beside));
    break;
  }
  return config;
}

}  // namespace

QuantizationConfig ReadQuantizationConfig(const std::string& path) {
  if (path.empty()) return {};
  ConfigFiles files(path);
  QuantizationConfig config = Understand(files);
  config.problem = files.problem();
  return config;
}

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

}  // namespace tensorcast::scale
