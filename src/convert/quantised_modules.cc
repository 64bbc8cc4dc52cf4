// Sorts the jobs of a plan by what becomes of each layer's weight.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/quantised_modules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "convert/file_plan.h"
#include "convert/survey.h"
#include "naming/weight_roles.h"

namespace tensorcast::convert {
namespace {

// Where it shares the embedding's weight it has no tensor, and is a linear layer all the same.
constexpr std::string_view kLmHead = "lm_head";

// What stands before the last dot; without one all of it.
std::string ParentOf(const std::string& name) {
  return name.substr(0, std::min(name.rfind('.'), name.size()));
}

// A weight that is stored transposed is a parameter of the experts' own module.
std::string ModuleOfScaled(const scale::ScaledWeight& weight, const std::string& name) {
  if (!weight.reading.IsTransposed()) return std::string(naming::ModuleOf(name));
  return ParentOf(name);
}

bool IsLmHead(std::string_view module) { return module == kLmHead || module.ends_with(".lm_head"); }

// Some of what is called an embedding is a linear layer ("embeddings_project"), and nothing but the
// model's code tells which.
bool MayBeLinear(std::string_view name, std::span<const std::uint64_t> shape) {
  if (naming::ModuleOf(name) == name || shape.size() != 2) return false;
  const naming::WeightRole role = naming::RoleOf(name, shape);
  return role == naming::WeightRole::kLinear || role == naming::WeightRole::kHead ||
         role == naming::WeightRole::kRouter || role == naming::WeightRole::kEmbedding;
}

// The module of stacked experts, "mlp.experts" of "mlp.experts.down_proj"; empty if it is of none.
std::string ExpertsModule(const std::string& name, std::span<const std::uint64_t> shape) {
  if (shape.size() < 3 || naming::RoleOf(name, shape) != naming::WeightRole::kLinear) return {};
  return ParentOf(name);
}

void AddOnce(std::vector<std::string>& modules, const std::string& module) {
  if (modules.empty() || modules.back() != module) modules.push_back(module);
}

// Experts of which some are made scaled are no module that is left alone.
void RemoveParents(scale::QuantisedModules& modules) {
  std::unordered_map<std::string, const scale::Dialect*> parents;
  for (const scale::WrittenGroup& group : modules.written) {
    for (const std::string& one : group.modules) parents[ParentOf(one)] = group.form.dialect;
  }
  std::erase_if(modules.plain, [&](const std::string& one) {
    if (!parents.contains(one)) return false;
    modules.halved.push_back(one);
    return true;
  });
  for (const scale::KeptWeight& one : modules.kept) {
    const auto parent = parents.find(ParentOf(one.module));
    if (parent == parents.end()) continue;
    if (one.weight != nullptr && one.weight->reading.dialect == parent->second) continue;
    AddOnce(modules.halved, parent->first);
  }
}

}  // namespace

scale::QuantisedModules ModulesOf(const Survey& survey, const FilePlan& plan, std::uint32_t part,
                                  bool by_new_names) {
  const InputScales& scales = survey.scales;
  std::unordered_map<std::size_t, const scale::ScaledWeight*> scaled;  // by codes
  for (const scale::ScaledTensor& one : scales.companions.scaled)
    scaled.emplace(one.tensor, nullptr);
  for (const scale::ScaledWeight& one : scales.weights.weights) scaled[one.codes] = &one;
  std::unordered_set<std::size_t> companions;  // which are no layer's own weight
  for (const scale::Companion& one : scales.companions.companions) companions.insert(one.tensor);
  scale::QuantisedModules modules;
  bool has_head = false;
  for (const TensorJob& job : plan.jobs) {
    if (survey.PartOf(job.tensor) != part) continue;
    const formats::TensorInfo& info = plan.reader->contents().tensors[job.tensor];
    const auto found = scaled.find(job.tensor);
    const scale::ScaledWeight* const weight = found != scaled.end() ? found->second : nullptr;
    const std::string name(survey.OwnName(job.tensor, by_new_names        ? plan.NameOf(job.tensor)
                                                      : weight != nullptr ? weight->name
                                                                          : info.name));
    const std::string module =
        weight != nullptr ? ModuleOfScaled(*weight, name) : std::string(naming::ModuleOf(name));
    if (job.repacked != nullptr) {
      auto group =
          std::ranges::find(modules.written, job.repacked->form(), &scale::WrittenGroup::form);
      if (group == modules.written.end()) {
        group = modules.written.insert(group, {job.repacked->form(), {}});
      }
      group->modules.emplace_back(
          naming::ModuleOf(survey.OwnName(job.tensor, job.repacked->name())));
    } else if (job.scaled) {
      auto group = std::ranges::find(modules.written, job.scaled, &scale::WrittenGroup::form);
      if (group == modules.written.end()) {
        group = modules.written.insert(group, {job.scaled, {}});
      }
      group->modules.push_back(module);
    } else if (found != scaled.end() && job.to.empty()) {
      modules.kept.push_back({module, weight});
    } else if (found != scaled.end()) {
      AddOnce(modules.freed, module);
      AddOnce(modules.plain, module);
    } else if (MayBeLinear(name, info.shape)) {
      modules.plain.push_back(module);
    } else if (companions.contains(job.tensor)) {
      continue;
    } else {
      if (const std::string experts = ExpertsModule(name, info.shape); !experts.empty()) {
        AddOnce(modules.plain, experts);
      }
      continue;
    }
    has_head = has_head || IsLmHead(module);
  }
  RemoveParents(modules);
  if (!has_head) modules.plain.emplace_back(kLmHead);
  return modules;
}

}  // namespace tensorcast::convert
