// How the readers match: compressed-tensors whole names, or regular expressions from a name's
// beginning; transformers' "fp8" a name's beginning or end, other readers of it whole names;
// ModelOpt's globs.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/layer_lists.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "json/ordered_json.h"
#include "naming/name_parts.h"
#include "naming/weight_roles.h"
#include "scale/config_json.h"

namespace tensorcast::scale {
namespace {

// Whether a layer that is scaled may be taken for a head: by transformers' "fp8" wherever the word
// begins or ends its name.
bool IsTaken(const QuantisedModules& modules, const naming::HeadName& head, bool is_whole_name) {
  const auto answers = [&](const std::string& module) {
    return is_whole_name ? module == head.word : module.find(head.word) != std::string::npos;
  };
  return std::ranges::any_of(modules.written,
                             [&](const WrittenGroup& group) {
                               return std::ranges::any_of(group.modules, answers);
                             }) ||
         std::ranges::any_of(modules.kept, answers, &KeptWeight::module);
}

// A name with "#" for each number, or as it is; from each of its parts on.
std::string WithAnyIndex(std::string_view name) {
  std::string text;
  naming::ForEachPart(name, ".", [&](std::string_view part, std::size_t) {
    text += text.empty() ? "" : ".";
    text += naming::IsNumber(part) ? "#" : part;
  });
  return text;
}

// Readers call modules otherwise than the file does: "visual.x" is "model.visual.x" then, and
// "model.layers.3.x" may be "layers.3.x". Patterns of what is left alone that hold for these too:
// the ends of names, as far as no layer that is scaled ends so, with any number where no layer of
// another number is scaled.
class EndPatterns {
 public:
  explicit EndPatterns(const QuantisedModules& modules) {
    const auto add = [&](const std::string& module) {
      const std::string any = WithAnyIndex(module);
      naming::ForEachPart(module, ".",
                          [&](std::string_view, std::size_t at) { AddEnd(module, at); });
      naming::ForEachPart(any, ".", [&](std::string_view, std::size_t at) { AddEnd(any, at); });
    };
    for (const WrittenGroup& group : modules.written) {
      for (const std::string& module : group.modules) add(module);
    }
    for (const KeptWeight& one : modules.kept) add(one.module);
    bool has_router = false;
    for (const std::string& module : modules.plain) {
      const naming::WeightRole role = RoleByName(module);
      has_router = has_router || role == naming::WeightRole::kRouter;
      if (role != naming::WeightRole::kHead) Add(module);  // heads have words of their own
    }
    // Routers are renamed, and always left alone but by name.
    for (const char* const word : {"gate", "router"}) {
      if (has_router && !IsScaled(word)) patterns_.insert(word);
    }
  }

  // "layers[.]\\d+[.]x|...", empty where there are none.
  std::string Text() const {
    std::string text;
    for (const std::string& pattern : patterns_) {
      text += text.empty() ? "" : "|";
      for (const char c : pattern) {
        if (c == '#') {
          text += "\\d+";
        } else if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   c == '_') {
          text += c;
        } else {
          text.append("[").append(1, c).append("]");
        }
      }
    }
    return text;
  }

 private:
  static constexpr std::size_t kMost = 1024;

  static naming::WeightRole RoleByName(const std::string& module) {
    constexpr std::uint64_t kMatrix[] = {2, 2};
    return naming::RoleOf(module + ".weight", kMatrix);
  }
  void AddEnd(std::string_view name, std::size_t at) {
    scaled_.insert(std::hash<std::string_view>()(name.substr(at)));
  }
  bool IsScaled(std::string_view end) const {
    return scaled_.contains(std::hash<std::string_view>()(end));
  }

  void Add(const std::string& module) {
    // No '#', '[' or the like stands in names that models have.
    if (patterns_.size() >= kMost || module.find_first_of("#[]^\\") != std::string::npos) return;
    for (const std::string& name : {WithAnyIndex(module), module}) {
      std::vector<std::size_t> ends;
      std::size_t list = 0;  // the part before the first number
      bool has_number = false;
      naming::ForEachPart(name, ".", [&](std::string_view part, std::size_t at) {
        if (!has_number && (part == "#" || naming::IsNumber(part))) {
          has_number = true;
          list = ends.empty() ? 0 : ends.size() - 1;
        }
        ends.push_back(at);
      });
      if (!has_number) list = ends.size() > 2 ? ends.size() - 2 : 0;
      for (std::size_t i = list + 1; i-- > 0;) {
        if (IsScaled(std::string_view(name).substr(ends[i]))) continue;
        patterns_.insert(name.substr(ends[i]));
        return;
      }
    }
  }

  std::unordered_set<std::size_t> scaled_;  // of each end of a scaled layer's name, by its hash
  std::set<std::string> patterns_;
};

}  // namespace

std::vector<std::string> IgnoredModules(LayerNames style, const QuantisedModules& modules) {
  const bool has_patterns = style == LayerNames::kWhole;
  std::vector<std::string> names = modules.plain;
  std::string pattern;  // of all modules that are called so
  for (const naming::HeadName& head : naming::HeadNames()) {
    const bool is_outside = head.use == naming::HeadNameUse::kOutsideOfLayers;
    if (IsTaken(modules, head, is_outside && style != LayerNames::kParts)) continue;
    std::string entry(head.word);
    if (!is_outside && has_patterns) {
      pattern += pattern.empty() ? "" : "|";
      pattern += head.use == naming::HeadNameUse::kEnding ? "[^.]*" + entry : entry;
      continue;
    }
    if (!is_outside && style == LayerNames::kGlobs) entry = "*" + entry + "*";
    names.push_back(std::move(entry));
  }
  if (style != LayerNames::kGlobs) {
    const std::string ends = EndPatterns(modules).Text();
    const std::string_view mark = has_patterns ? "re:" : "";  // the fp8 readers take any for one
    if (!ends.empty()) names.push_back(std::string(mark) + "(.*\\.)?(" + ends + ")$");
  }
  if (!pattern.empty()) names.push_back("re:(.*\\.)?(" + pattern + ")(\\..*)?$");
  return names;
}

void AddNames(json::OrderedJson& list, std::span<const std::string> names) {
  if (!list.is_array()) list = json::OrderedJson::array();
  std::unordered_set<std::string> known;
  for (const json::OrderedJson& one : list) {
    if (one.is_string()) known.insert(one.get<std::string>());
  }
  for (const std::string& name : names) {
    if (known.insert(name).second) list.push_back(name);
  }
}

void Forget(json::OrderedJson& layers, std::span<const std::string> names) {
  const std::unordered_set<std::string_view> gone(names.begin(), names.end());
  layers.get_ref<json::OrderedJson::object_t&>().EraseIf(
      [&](const std::string& layer) { return gone.contains(layer); });
}

// transformers leaves the head alone where there is no list, and nothing else where there is one.
WrittenConfig AddNotConverted(const QuantisedModules& modules, const QuantizationConfig& config) {
  json::OrderedJson json = *config.json;
  const bool has_list = Member(json, kNotConverted).is_array();
  AddNames(json[kNotConverted],
           has_list ? modules.freed : IgnoredModules(LayerNames::kParts, modules));
  return {.quantization_config = ConfigText(json)};
}

}  // namespace tensorcast::scale
