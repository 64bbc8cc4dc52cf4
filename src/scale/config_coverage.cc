// Where libraries differ in how they read an exception, more is left out here: a weight that is
// said to be covered and has no scale is refused.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/config_coverage.h"

#include <algorithm>

#include "files/error.h"
#include "naming/weight_roles.h"

namespace tensorcast::scale {
namespace {

constexpr int kBits = 8;
constexpr std::string_view kRegex = "re:";
constexpr std::string_view kLinearClass = "Linear";

}  // namespace

void ConfigCoverage::ModuleNames::Add(const QuantizationConfig& config, const std::string& entry) {
  try {
    const LayerNames style =
        config.dialect != nullptr ? config.dialect->layer_names : LayerNames::kWhole;
    if (style == LayerNames::kParts) {
      parts_.push_back(entry);
    } else if (entry.starts_with(kRegex)) {
      expressions_.emplace_back(std::string_view(entry).substr(kRegex.size()),
                                words::Quoted(entry));
    } else if (style == LayerNames::kGlobs) {
      globs_.emplace_back(entry);
    } else {
      whole_.insert(entry);
    }
  } catch (const files::Error& error) {
    throw files::Error(core::ErrorKind::kContents, config.file + ": " + error.what());
  }
}

bool ConfigCoverage::ModuleNames::Contain(std::string_view module) const {
  return whole_.contains(std::string(module)) ||
         std::ranges::any_of(parts_,
                             [&](const std::string& part) {
                               return module.find(part) != std::string_view::npos;
                             }) ||
         std::ranges::any_of(globs_, [&](const auto& one) { return one.Matches(module); }) ||
         std::ranges::any_of(expressions_,
                             [&](const auto& one) { return one.MatchesBeginning(module); });
}

ConfigCoverage::ConfigCoverage(const QuantizationConfig& config, bool integers) {
  if (config.dialect != nullptr) layouts_ = config.dialect->layouts;
  const bool says_targets = config.dialect != nullptr && config.dialect->has_targets;
  for (const WeightScheme& scheme : config.schemes) {
    if (scheme.bits != kBits || scheme.is_integer != integers) continue;
    if (!says_targets || scheme.targets.empty()) {
      takes_linear_ = true;
      continue;
    }
    for (const std::string& target : scheme.targets) {
      if (target == kLinearClass) {
        takes_linear_ = true;
      } else {
        targets_.Add(config, target);
      }
    }
  }
  for (const std::string& entry : config.ignored) ignored_.Add(config, entry);
}

std::string ConfigCoverage::PlainName(std::string_view codes) const {
  const auto layout = std::ranges::find_if(layouts_, [&](const Layout& one) {
    return !one.codes.empty() && codes.ends_with(one.codes);
  });
  if (layout == layouts_.end()) return std::string(codes);
  return std::string(codes.substr(0, codes.size() - layout->codes.size())).append(layout->plain);
}

bool ConfigCoverage::Excepts(const formats::TensorInfo& weight) const {
  const std::string name = PlainName(weight.name);
  return ignored_.Contain(naming::ModuleOf(name));
}

bool ConfigCoverage::Covers(const formats::TensorInfo& weight) const {
  const std::string name = PlainName(weight.name);
  const std::string_view module = naming::ModuleOf(name);
  // To a configuration heads and routers are linear layers too, unless it names them.
  const naming::WeightRole role = naming::RoleOf(name, weight.shape);
  const bool is_linear =
      takes_linear_ && (role == naming::WeightRole::kLinear ||
                        (weight.shape.size() == 2 && (role == naming::WeightRole::kHead ||
                                                      role == naming::WeightRole::kRouter)));
  return (is_linear || targets_.Contain(module)) && !Excepts(weight);
}

}  // namespace tensorcast::scale
