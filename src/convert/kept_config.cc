// Layers that became plain are named where the layout's readers look for those that are left alone.
// What is made beside weights that stay must be of the same form, but for compressed-tensors, whose
// groups may differ.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/kept_config.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "convert/compressed_tensors_config.h"
#include "convert/ignored_modules.h"
#include "io/error_text.h"
#include "io/ordered_json.h"

namespace tensorcast::convert {
namespace {

using Json = io::OrderedJson;
using Modules = std::vector<std::string>;

constexpr const char* kNotConverted = "modules_to_not_convert";
constexpr const char* kExcluded = "exclude_modules";
constexpr const char* kLayers = "quantized_layers";

[[noreturn]] void RefuseConfig(const std::string& path, const std::string& why) {
  throw io::Error(io::ErrorKind::kUnsupported, io::PathText(path) + ": " + why);
}

// Adds names that a list has not; what is no list becomes one.
void AddNames(Json& list, const Modules& names) {
  if (!list.is_array()) list = Json::array();
  std::unordered_set<std::string> known;
  for (const Json& one : list) {
    if (one.is_string()) known.insert(one.get<std::string>());
  }
  for (const std::string& name : names) {
    if (known.insert(name).second) list.push_back(name);
  }
}

// transformers leaves the head alone where there is no list, and nothing else where there is one.
void AddNotConverted(Json& json, const QuantisedModules& modules) {
  const bool has_list = json.contains(kNotConverted) && json[kNotConverted].is_array();
  AddNames(json[kNotConverted],
           has_list ? modules.freed : IgnoredModules(ScaledLayout::kDeepSeek, modules));
}

// Takes away what is said of layers.
void Forget(Json& layers, const Modules& modules) {
  const std::unordered_set<std::string_view> gone(modules.begin(), modules.end());
  layers.get_ref<Json::object_t&>().EraseIf(
      [&](const std::string& layer) { return gone.contains(layer); });
}

// What ModelOpt's two files have in common: layers by name where they differ, else exceptions.
void ExcludeFromModelOpt(Json& json, const char* list, const QuantisedModules& modules) {
  if (!json.is_object()) return;
  if (json.contains(kLayers) && json[kLayers].is_object()) {
    Forget(json[kLayers], modules.freed);
    return;
  }
  AddNames(json[list], modules.freed);
}

// Names the layers that became plain; weights of no layer are made.
WrittenConfig Excluding(const QuantisedModules& modules, const scale::QuantizationConfig& config) {
  WrittenConfig edited;
  Json json = io::JsonOrNull(config.text);
  if (config.method == "compressed-tensors") {
    AddNames(json["ignore"], modules.freed);
  } else if (config.method == "fp8" || config.method == "fbgemm_fp8" || config.method == "mxfp4") {
    AddNotConverted(json, modules);
  } else if (config.method == "modelopt") {
    ExcludeFromModelOpt(json, json.contains(kExcluded) ? kExcluded : "ignore", modules);
    Json beside = io::JsonOrNull(config.beside);
    if (beside.is_object() && beside.contains("quantization")) {
      ExcludeFromModelOpt(beside["quantization"], kExcluded, modules);
      edited.hf_quant_config = ConfigText(beside) + "\n";
    }
  } else {
    return edited;  // how others name layers is not known
  }
  if (json.is_object()) edited.quantization_config = ConfigText(json);
  return edited;
}

// Whether weights are stored as the form that others are made in stores its own.
bool IsOfForm(const KeptWeight& kept, const scale::WrittenForm& form) {
  if (kept.weight == nullptr) return false;
  const scale::Reading& reading = kept.weight->reading;
  return reading.layout->method == scale::MethodName(form.layout->layout) &&
         reading.Name() == form.format->name &&
         (form.format->cells != scale::CellsBy::kBlocks ||
          (reading.partition.block_rows == form.format->block_rows &&
           reading.partition.block_columns == form.format->block_columns));
}

// Those of `names` that stand somewhere in one of the modules. They are looked up by their lengths,
// which are few: there may be as many names as modules.
std::unordered_set<std::string_view> NamesIn(const Modules& modules,
                                             std::span<const std::string> names) {
  std::map<std::size_t, std::unordered_set<std::string_view>> by_length;
  for (const std::string& name : names) by_length[name.size()].insert(name);
  std::unordered_set<std::string_view> found;
  for (const std::string_view module : modules) {
    for (const auto& [length, some] : by_length) {
      for (std::size_t begin = 0; begin + length <= module.size(); ++begin) {
        const auto name = some.find(module.substr(begin, length));
        if (name != some.end()) found.insert(*name);
      }
    }
  }
  return found;
}

// DeepSeek's says the size of all blocks; a layer is scaled unless its name is in the list. What of
// the old list may match a layer that is scaled now goes: all plain layers are named.
WrittenConfig WithBlocks(const QuantisedModules& modules, const scale::QuantizationConfig& config) {
  const scale::ScaledFormat& format = *modules.written.front().form.format;
  const auto& schemes = config.schemes;
  Json json = io::JsonOrNull(config.text);
  if (schemes.size() != 1 || schemes.front().block_rows != format.block_rows ||
      schemes.front().block_columns != format.block_columns ||
      json.value("activation_scheme", Json("dynamic")) != "dynamic") {
    return {};
  }
  Modules entries;
  if (json.contains(kNotConverted) && json[kNotConverted].is_array()) {
    for (const Json& entry : json[kNotConverted]) {
      if (!entry.is_string()) continue;
      auto name = entry.get<std::string>();
      if (name.find_first_of("*+?[](){}|\\^$") == std::string::npos) {
        entries.push_back(std::move(name));
      }
    }
  }
  const auto matching = NamesIn(modules.written.front().modules, entries);
  Json list = Json::array();
  for (const std::string& name : entries) {
    if (!matching.contains(name)) list.push_back(name);
  }
  AddNames(list, IgnoredModules(ScaledLayout::kDeepSeek, modules));
  json[kNotConverted] = std::move(list);
  WrittenConfig edited;
  edited.quantization_config = ConfigText(json);
  return edited;
}

}  // namespace

WrittenConfig KeptConfig(const std::string& path, const QuantisedModules& modules,
                         const scale::QuantizationConfig& config, WrittenConfig written) {
  const std::unordered_set<std::string_view> freed(modules.freed.begin(), modules.freed.end());
  for (const KeptWeight& kept : modules.kept) {
    if (config.file.empty() || !freed.contains(kept.module)) continue;
    RefuseConfig(path,
                 "one weight of " + io::EscapeName(kept.module) +
                     " keeps its scales and another does not; a configuration names the whole "
                     "layer: cast both or none");
  }
  if (modules.written.empty()) {
    return modules.freed.empty() || config.file.empty() ? WrittenConfig()
                                                        : Excluding(modules, config);
  }
  const scale::WrittenForm& form = modules.written.front().form;
  std::string unclear = modules.kept.front().module;
  if (config.method == "compressed-tensors" &&
      form.layout->layout == ScaledLayout::kCompressedTensors) {
    const Json json = CompressedTensorsConfig(modules, config, &unclear);
    if (json.is_object()) {
      written.quantization_config = ConfigText(json);
      return written;
    }
  } else if (config.method == "fp8" && form.layout->layout == ScaledLayout::kDeepSeek) {
    if (WrittenConfig edited = WithBlocks(modules, config); !edited.quantization_config.empty()) {
      return edited;
    }
  } else if (config.file.empty()) {
    const auto other = std::ranges::find_if(
        modules.kept, [&](const KeptWeight& kept) { return !IsOfForm(kept, form); });
    if (other == modules.kept.end() || form.layout->layout == ScaledLayout::kComfyUi) {
      return written;
    }
    unclear = other->module;
  }
  const auto found = std::ranges::find(modules.kept, unclear, &KeptWeight::module);
  RefuseConfig(path,
               io::EscapeName(unclear) + " stays " +
                   (found->weight != nullptr ? found->weight->LayoutText() : "as it is quantised") +
                   " and others become " + form.Text() +
                   "; one configuration cannot say both: cast all of them, or none" +
                   (found->weight != nullptr ? ", or make all plain (bfloat16) first" : ""));
}

std::string KeptDescriptions(const io::FileContents& contents, const QuantisedModules& modules,
                             const WrittenConfig& written) {
  const std::string key(scale::kMetadataMark);
  const auto old = contents.metadata.find(key);
  if (old == contents.metadata.end()) return {};
  Json json = io::JsonOrNull(old->second);
  if (!json.is_object() || !json.contains("layers") || !json["layers"].is_object()) return {};
  const std::size_t before = json["layers"].size();
  Forget(json["layers"], modules.freed);
  bool is_changed = json["layers"].size() != before;
  if (const auto made = written.metadata.find(key); made != written.metadata.end()) {
    json["layers"].update(io::JsonOrNull(made->second)["layers"]);
    is_changed = true;
  }
  return !is_changed ? std::string() : ConfigText(json, -1);
}

}  // namespace tensorcast::convert
