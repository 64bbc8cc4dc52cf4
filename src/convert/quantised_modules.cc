// Sorts the jobs of a plan by what becomes of each layer's weight.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/quantised_modules.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "convert/file_plan.h"
#include "convert/scaled_tensors.h"
#include "convert/weight_roles.h"

namespace tensorcast::convert {
namespace {

constexpr std::string_view kWeightEnding = ".weight";
// Where it shares the embedding's weight it has no tensor, and is a linear layer all the same.
constexpr std::string_view kLmHead = "lm_head";

// Of a weight that is stored transposed the module is the experts' own, of which it is a parameter.
std::string ModuleOf(const scale::ScaledWeight& weight) {
  if (!weight.reading.layout->is_transposed) return QuantisedModules::ModuleOf(weight.name);
  return weight.name.substr(0, std::min(weight.name.rfind('.'), weight.name.size()));
}

bool IsLmHead(std::string_view module) { return module == kLmHead || module.ends_with(".lm_head"); }

bool IsLinear(const io::TensorInfo& info) {
  if (!info.name.ends_with(kWeightEnding) || info.shape.size() != 2) return false;
  const WeightRole role = RoleOf(info.name, info.shape);
  return role == WeightRole::kLinear || role == WeightRole::kHead || role == WeightRole::kRouter;
}

void AddOnce(std::vector<std::string>& modules, const std::string& module) {
  if (modules.empty() || modules.back() != module) modules.push_back(module);
}

}  // namespace

std::string QuantisedModules::ModuleOf(std::string_view weight) {
  if (weight.ends_with(kWeightEnding)) weight.remove_suffix(kWeightEnding.size());
  return std::string(weight);
}

QuantisedModules ModulesOf(const io::TensorReader& reader, const InputScales& scales,
                           const FilePlan& plan) {
  std::unordered_map<std::size_t, const scale::ScaledWeight*> scaled;  // by codes
  for (const io::ScaledTensor& one : scales.companions.scaled) scaled.emplace(one.tensor, nullptr);
  for (const scale::ScaledWeight& one : scales.weights.weights) scaled[one.codes] = &one;
  QuantisedModules modules;
  bool has_head = false;
  for (const TensorJob& job : plan.jobs) {
    const io::TensorInfo& info = reader.contents().tensors[job.tensor];
    const auto found = scaled.find(job.tensor);
    const scale::ScaledWeight* const weight = found != scaled.end() ? found->second : nullptr;
    const std::string module =
        weight != nullptr ? ModuleOf(*weight) : QuantisedModules::ModuleOf(info.name);
    if (job.scaled) {
      auto group = std::ranges::find(modules.written, job.scaled, &WrittenGroup::form);
      if (group == modules.written.end()) {
        group = modules.written.insert(group, {job.scaled, {}});
      }
      group->modules.push_back(module);
    } else if (found != scaled.end() && job.to.empty()) {
      modules.kept.push_back({module, weight});
    } else if (found != scaled.end()) {
      AddOnce(modules.freed, module);
      AddOnce(modules.plain, module);
    } else if (IsLinear(info)) {
      modules.plain.push_back(module);
    } else {
      continue;
    }
    has_head = has_head || IsLmHead(module);
  }
  if (!has_head) modules.plain.emplace_back(kLmHead);
  return modules;
}

}  // namespace tensorcast::convert
