// Every text of a list and every key is looked at: a name of a layer, or of what layers are in, is
// changed; anything else may be a pattern, and is tried on all layers by their old and new names.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/renamed_config.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "convert/file_plan.h"
#include "convert/survey.h"
#include "files/error.h"
#include "json/ordered_json.h"
#include "naming/name_pattern.h"
#include "naming/regular_expression.h"
#include "naming/weight_roles.h"
#include "scale/config_json.h"

namespace tensorcast::convert {
namespace {

using Json = json::OrderedJson;

struct RenamedLayer {
  std::string old, made;
};

// What stands before a regular expression: compressed-tensors', GPTQ's.
constexpr std::string_view kBeforeRegex[] = {"re:", "-:", "+:"};

class LayerRenamer {
 public:
  LayerRenamer(std::vector<RenamedLayer> layers, scale::LayerNames style, std::string path)
      : layers_(std::move(layers)), style_(style), path_(std::move(path)) {
    for (const RenamedLayer& one : layers_) exact_.try_emplace(one.old, one.made);
  }

  // Whether anything is another.
  bool Rename(Json& json) {
    bool is_other = false;
    if (json.is_array()) {
      for (Json& one : json) is_other = (one.is_string() ? InList(one) : Rename(one)) || is_other;
    } else if (json.is_object()) {
      Json made = Json::object();
      for (auto& [key, value] : json.items()) {
        std::string name = NameOf(key, false);
        is_other = Rename(value) || name != key || is_other;
        made[std::move(name)] = std::move(value);
      }
      json = std::move(made);
    }
    return is_other;
  }

 private:
  bool InList(Json& text) {
    const std::string old = text.get<std::string>();
    std::string made = NameOf(old, style_ == scale::LayerNames::kParts);
    const bool is_other = made != old;
    text = std::move(made);
    return is_other;
  }

  std::string NameOf(const std::string& text, bool may_be_part) const {
    const auto found = exact_.find(text);
    std::string made =
        found != exact_.end() ? std::string(found->second) : AboveLayers(text).value_or(text);
    RequireSameLayers(text, made, may_be_part);
    return made;
  }

  // The new name of what has layers in it, if all of them tell the same.
  std::optional<std::string> AboveLayers(const std::string& text) const {
    const std::string above = text + ".";
    std::optional<std::string> made;
    for (const RenamedLayer& one : layers_) {
      if (!one.old.starts_with(above)) continue;
      const std::string_view rest = std::string_view(one.old).substr(text.size());
      if (!one.made.ends_with(rest) || one.made.size() == rest.size()) return std::nullopt;
      std::string name = one.made.substr(0, one.made.size() - rest.size());
      if (made && *made != name) return std::nullopt;
      made = std::move(name);
    }
    return made;
  }

  // Each layer has to be meant by `text` under its old name as by `made` under its new one.
  void RequireSameLayers(const std::string& text, const std::string& made, bool may_be_part) const {
    std::optional<naming::RegularExpression> expression;
    std::optional<naming::NamePattern> glob;
    for (const std::string_view before : kBeforeRegex) {
      if (!text.starts_with(before)) continue;
      expression.emplace(std::string_view(text).substr(before.size()), words::Quoted(text));
    }
    if (!expression && style_ == scale::LayerNames::kGlobs && text.find('*') != std::string::npos) {
      glob.emplace(text);
    }
    const auto is_meant = [&](const std::string& by, std::string_view layer) {
      if (expression) return expression->MatchesBeginning(layer);
      if (glob) return glob->Matches(layer);
      return layer == by || (may_be_part && layer.find(by) != std::string_view::npos);
    };
    for (const RenamedLayer& one : layers_) {
      if (is_meant(text, one.old) == is_meant(made, one.made)) continue;
      throw files::Error(core::ErrorKind::kUnsupported,
                         words::PathText(path_) + ": weights stay quantised, and " +
                             words::Quoted(text) + " of their configuration would " +
                             (is_meant(text, one.old) ? "not mean " : "mean ") +
                             words::EscapeName(one.old) + " by its new name, " +
                             words::EscapeName(one.made) + ": cast them, or give it another",
                         path_);
    }
  }

  const std::vector<RenamedLayer> layers_;
  const scale::LayerNames style_;
  const std::string path_;
  std::unordered_map<std::string_view, std::string_view> exact_;
};

std::vector<RenamedLayer> LayersOf(const Survey& survey, const FilePlan& plan, std::uint32_t part,
                                   const NewNames& names) {
  std::unordered_map<std::size_t, std::string_view> weights;  // their names, by codes
  for (const scale::ScaledWeight& one : survey.scales.weights.weights) {
    weights[one.codes] = one.name;
  }
  const auto module_of = [&](std::size_t tensor, std::string_view name) {
    return std::string(naming::ModuleOf(survey.OwnName(tensor, name)));
  };
  std::vector<RenamedLayer> layers;
  for (const TensorJob& job : plan.jobs) {
    if (survey.PartOf(job.tensor) != part) continue;
    const auto weight = weights.find(job.tensor);
    const std::string_view old =
        weight != weights.end() ? weight->second : plan.reader->contents().tensors[job.tensor].name;
    RenamedLayer layer = {module_of(job.tensor, old),
                          module_of(job.tensor, names.Plain(job.tensor))};
    if (layers.empty() || layers.back().old != layer.old) layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace

void RenameLayers(const Survey& survey, const FilePlan& plan, std::uint32_t part,
                  const NewNames& names, const std::string& path, scale::WrittenConfig& texts) {
  const scale::QuantizationConfig& config = survey.scales.ConfigOf(part);
  LayerRenamer renamer(
      LayersOf(survey, plan, part, names),
      config.dialect != nullptr ? config.dialect->layer_names : scale::LayerNames::kWhole, path);
  const auto rename = [&](std::string& text, const Json* unsaid, int indent) {
    Json json = !text.empty() ? json::JsonOrNull(text) : unsaid != nullptr ? *unsaid : Json();
    if (renamer.Rename(json)) text = scale::ConfigText(json, indent);
  };
  constexpr int kIndent = 2;
  rename(texts.quantization_config, config.json.get(), kIndent);
  if (config.beside != nullptr) {
    const std::string name(config.dialect->file.name);
    std::string text = texts.files.contains(name) ? texts.files[name] : std::string();
    rename(text, config.beside.get(), kIndent);
    if (!text.empty()) texts.files[name] = std::move(text);
  }
  for (const scale::Dialect* const dialect : scale::Dialects()) {
    const std::string key(dialect->metadata_key);
    if (key.empty()) continue;
    const std::map<std::string, std::string>& metadata = plan.reader->contents().metadata;
    const auto old = metadata.find(key);
    std::string text = texts.metadata.contains(key) ? texts.metadata[key] : std::string();
    const Json said = old != metadata.end() ? json::JsonOrNull(old->second) : Json();
    rename(text, &said, json::kOneLine);
    if (!text.empty()) texts.metadata[key] = std::move(text);
  }
}

}  // namespace tensorcast::convert
