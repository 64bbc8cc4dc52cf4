// Kinds that are left alone unless they are named, and kinds that are written with a note.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/misread_weights.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

#include "convert/selection.h"
#include "convert/survey.h"
#include "files/error.h"
#include "naming/weight_roles.h"

namespace tensorcast::convert {
namespace {

using formats::TensorInfo;
using scale::WrittenForm;

// Their experts are stacked as [experts, inputs, outputs].
constexpr std::string_view kTransposedExperts[] = {"gpt_oss", "llama4",    "llama4_text",
                                                   "aria",    "aria_text", "openai_privacy_filter"};
// Their layers are transformers' Conv1D, whose weight is [inputs, outputs].
constexpr std::string_view kConv1dModels[] = {"gpt2", "gpt_bigcode", "openai-gpt", "imagegpt",
                                              "decision_transformer"};
// Of these models the one whose layers have become torch's Linear.
constexpr std::string_view kLinearNow = "gpt_bigcode";
constexpr std::string_view kConv1dModules[] = {"c_attn", "q_attn", "c_proj", "c_fc"};

template <class List, class Of> bool IsAmong(const List& list, const Of& one) {
  return std::ranges::find(list, one) != std::end(list);
}

bool IsStack(std::span<const std::uint64_t> shape) { return shape.size() >= 3; }

bool IsOfConv1d(std::string_view name) {
  const std::string_view module = naming::ModuleOf(name);
  return module.size() != name.size() &&
         IsAmong(kConv1dModules, module.substr(module.rfind('.') + 1));
}

// A layer of queries, keys and values in one has more outputs than inputs.
bool LiesTransposed(const TensorInfo& info) {
  return naming::ModuleOf(info.name).ends_with("c_attn") && info.shape.size() == 2 &&
         info.shape[1] > info.shape[0];
}

constexpr scale::ReaderNote kConv1dNote = {
    "weight",
    "transformers' Conv1D holds its weight as [inputs, outputs], and its scales are read as if it "
    "were [outputs, inputs]",
    [](const scale::MadeWeight& one) { return one.is_of_conv1d; }};

}  // namespace

MisreadWeights::MisreadWeights(const Survey& survey) : survey_(survey), models_(survey.parts()) {
  // If the model has no such layer, the name decides.
  std::vector<bool> has_fused(models_.size());
  for (std::size_t i = 0; i < survey.tensors().size(); ++i) {
    const TensorInfo& info = survey.tensors()[i];
    if (!naming::ModuleOf(info.name).ends_with("c_attn") || info.shape.size() != 2) continue;
    const std::uint32_t part = survey.PartOf(i);
    has_fused[part] = true;
    if (LiesTransposed(info)) models_[part].has_conv1d = true;
  }
  for (std::uint32_t part = 0; part < models_.size(); ++part) {
    const auto is_any = [&](const auto& names) {
      return std::ranges::any_of(survey.scales.ConfigOf(part).model_types,
                                 [&](const std::string& type) { return IsAmong(names, type); });
    };
    models_[part].has_transposed_experts = is_any(kTransposedExperts);
    if (!has_fused[part]) models_[part].has_conv1d = is_any(kConv1dModels);
  }
}

std::string_view MisreadWeights::KindOf(std::size_t tensor, std::string_view name,
                                        std::span<const std::uint64_t> shape,
                                        const WrittenForm& form) const {
  const Model& model = models_[survey_.PartOf(tensor)];
  const bool is_turned = form.layout != nullptr && form.layout->is_transposed;
  if (model.has_transposed_experts && !is_turned && IsStack(shape) &&
      name.find("experts") != std::string_view::npos) {
    return "stacked experts, [experts, inputs, outputs]: read wrongly as scaled weights";
  }
  const bool is_read = form.dialect != nullptr && form.dialect->reads_conv1d;
  if (model.has_conv1d && !is_read && shape.size() == 2 && IsOfConv1d(name)) {
    return "of a Conv1D, [inputs, outputs]: read wrongly as a scaled weight";
  }
  return {};
}

std::vector<std::string> MisreadNotes(const Survey& survey, std::span<const Decision> decisions) {
  const MisreadWeights model(survey);
  std::vector<scale::MadeWeight> made;
  std::vector<scale::ReaderNote> kinds = {kConv1dNote};
  const scale::Dialect* last = nullptr;
  auto weight = survey.scales.weights.weights.begin();
  const auto end = survey.scales.weights.weights.end();
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const WrittenForm& form = decisions[i].scaled;
    if (!form) continue;
    while (weight != end && weight->codes < i) ++weight;
    const scale::ScaledWeight* const was = weight != end && weight->codes == i ? &*weight : nullptr;
    const TensorInfo& info = survey.tensors()[i];
    const std::string& name = was != nullptr ? was->name : info.name;
    const std::vector<std::uint64_t>& shape = was != nullptr ? was->shape : info.shape;
    const bool is_of_model = !model.KindOf(i, name, shape, form).empty();
    const bool was_transposed = was != nullptr && was->reading.IsTransposed();
    made.push_back({name, shape, form, was, was_transposed || (IsStack(shape) && is_of_model),
                    !IsStack(shape) && is_of_model});
    if (form.dialect == nullptr || form.dialect == last) continue;
    last = form.dialect;
    for (const scale::ReaderNote& kind : last->reader_notes) {
      if (std::ranges::find(kinds, kind.fate, &scale::ReaderNote::fate) == kinds.end()) {
        kinds.push_back(kind);
      }
    }
  }
  std::vector<std::string> notes;
  for (const scale::ReaderNote& kind : kinds) {
    std::uint64_t count = 0;
    std::string_view first;
    bool any_had_scales = false;
    for (const scale::MadeWeight& one : made) {
      if (!kind.has(one)) continue;
      if (count++ == 0) first = one.name;
      any_had_scales = any_had_scales || one.was != nullptr;
    }
    if (count == 0) continue;
    notes.push_back(words::CountText(count, kind.noun) + " (" + words::EscapeName(first) +
                    (count == 1 ? "" : ", ...") + "): " + std::string(kind.fate) +
                    // Left out, they would keep scales of another layout beside these.
                    (any_had_scales ? "; if it is to load them, make all weights plain first"
                                    : "; leave them out if it is to load them"));
  }
  return notes;
}

std::vector<std::string> LeftNotes(const std::vector<TensorInfo>& tensors,
                                   std::span<const Decision> decisions) {
  std::map<std::string_view, std::vector<const TensorInfo*>> kinds;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (decisions[i].reason == Reason::kMisread) kinds[decisions[i].text].push_back(&tensors[i]);
  }
  std::vector<std::string> notes;
  for (const auto& [kind, left] : kinds) {
    notes.push_back(words::CountText(left.size(), "weight") +
                    (left.size() == 1 ? " stays as it is (" : " stay as they are (") +
                    words::EscapeName(left.front()->name) + (left.size() == 1 ? "" : ", ...") +
                    "), " + std::string(kind) + "; a rule takes them all the same");
  }
  return notes;
}

std::string UnrotatedNote(const std::vector<TensorInfo>& tensors,
                          std::span<const Decision> decisions) {
  const auto first = std::ranges::find(decisions, true, &Decision::is_unrotated);
  if (first == decisions.end()) return {};
  const auto count =
      static_cast<std::uint64_t>(std::ranges::count(decisions, true, &Decision::is_unrotated));
  return words::CountText(count, "weight") + " (" +
         words::EscapeName(tensors[static_cast<std::size_t>(first - decisions.begin())].name) +
         (count == 1 ? ") is" : ", ...) are") +
         " int8-row without rotation: " + (count == 1 ? "its rows are" : "their rows are") +
         " not whole groups of " + std::to_string(first->scaled.layout->rotation) + " columns";
}

std::string TurnedNote(const Survey& survey, std::span<const Decision> decisions) {
  const scale::ScaledWeights& scales = survey.scales.weights;
  const auto has_conv1d = [&](std::size_t tensor) {
    return std::ranges::any_of(
        survey.scales.ConfigOf(survey.PartOf(tensor)).model_types,
        [](const std::string& type) { return type != kLinearNow && IsAmong(kConv1dModels, type); });
  };
  const scale::ScaledWeight* first = nullptr;
  std::uint64_t count = 0;
  bool is_turned = false;
  for (const scale::ScaledWeight& weight : scales.weights) {
    if (!decisions[weight.codes].applies_scales || weight.shape.size() != 2 ||
        !IsOfConv1d(weight.name) || !has_conv1d(weight.codes)) {
      continue;
    }
    if (count++ == 0) first = &weight;
    // These have more outputs than inputs; the others' shapes do not tell.
    const std::string_view module = naming::ModuleOf(weight.name);
    is_turned = is_turned || ((module.ends_with("c_attn") || module.ends_with("c_fc")) &&
                              weight.shape[0] > weight.shape[1]);
  }
  if (!is_turned) return {};
  return words::CountText(count, "weight") + " (" + words::EscapeName(first->name) +
         (count == 1 ? "" : ", ...") + (count == 1 ? ") is" : ") are") +
         " decoded as [outputs, inputs], and transformers' Conv1D has [inputs, outputs]: "
         "transpose " +
         (count == 1 ? "it" : "them") + " for it";
}

}  // namespace tensorcast::convert
