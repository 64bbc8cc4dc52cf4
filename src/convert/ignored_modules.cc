// How the readers match: compressed-tensors whole names, or regular expressions from a name's
// beginning; transformers' "fp8" a name's beginning or end, other readers of it whole names;
// ModelOpt's globs.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/ignored_modules.h"

#include <algorithm>
#include <utility>

#include "convert/weight_roles.h"

namespace tensorcast::convert {
namespace {

// Whether a layer that is scaled may be taken for a head: by transformers' "fp8" wherever the word
// begins or ends its name.
bool IsTaken(const QuantisedModules& modules, const HeadName& head, bool is_whole_name) {
  const auto answers = [&](const std::string& module) {
    return is_whole_name ? module == head.word : module.find(head.word) != std::string::npos;
  };
  return std::ranges::any_of(modules.written,
                             [&](const WrittenGroup& group) {
                               return std::ranges::any_of(group.modules, answers);
                             }) ||
         std::ranges::any_of(modules.kept, answers, &KeptWeight::module);
}

}  // namespace

std::vector<std::string> IgnoredModules(ScaledLayout layout, const QuantisedModules& modules) {
  const bool has_patterns = layout == ScaledLayout::kCompressedTensors;
  std::vector<std::string> names = modules.plain;
  std::string pattern;  // of compressed-tensors: of all modules that are called so
  for (const HeadName& head : HeadNames()) {
    const bool is_outside = head.use == HeadNameUse::kOutsideOfLayers;
    if (IsTaken(modules, head, is_outside && layout != ScaledLayout::kDeepSeek)) continue;
    std::string entry(head.word);
    if (!is_outside && has_patterns) {
      pattern += pattern.empty() ? "" : "|";
      pattern += head.use == HeadNameUse::kEnding ? "[^.]*" + entry : entry;
      continue;
    }
    if (!is_outside && layout == ScaledLayout::kModelOpt) entry = "*" + entry + "*";
    names.push_back(std::move(entry));
  }
  if (!pattern.empty()) names.push_back("re:(.*\\.)?(" + pattern + ")(\\..*)?$");
  return names;
}

}  // namespace tensorcast::convert
