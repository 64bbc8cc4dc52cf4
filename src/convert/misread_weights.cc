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
#include "io/error_text.h"
#include "naming/weight_roles.h"

namespace tensorcast::convert {
namespace {

using io::TensorInfo;
using scale::WrittenForm;

// Their experts are stacked as [experts, inputs, outputs].
constexpr std::string_view kTransposedExperts[] = {"gpt_oss", "llama4",    "llama4_text",
                                                   "aria",    "aria_text", "openai_privacy_filter"};
// Their layers are transformers' Conv1D, whose weight is [inputs, outputs].
constexpr std::string_view kConv1dModels[] = {"gpt2", "gpt_bigcode", "openai-gpt", "imagegpt",
                                              "decision_transformer"};
constexpr std::string_view kConv1dModules[] = {"c_attn", "q_attn", "c_proj", "c_fc"};

template <class List, class Of> bool IsAmong(const List& list, const Of& one) {
  return std::ranges::find(list, one) != std::end(list);
}

bool HasLayout(const WrittenForm& form, ScaledLayout layout) {
  return form.layout != nullptr && form.layout->layout == layout;
}

bool IsStack(std::span<const std::uint64_t> shape) { return shape.size() >= 3; }

bool IsOfConv1d(std::string_view name) {
  const std::string_view module = naming::ModuleOf(name);
  return module.size() != name.size() &&
         IsAmong(kConv1dModules, module.substr(module.rfind('.') + 1));
}

// Of queries, keys and values in one layer there are more outputs than inputs.
bool LiesTransposed(const TensorInfo& info) {
  return naming::ModuleOf(info.name).ends_with("c_attn") && info.shape.size() == 2 &&
         info.shape[1] > info.shape[0];
}

// "layers.0.mlp.experts.3.up_proj.weight"
bool IsOfSeparateExpert(std::string_view name) {
  constexpr std::string_view kExperts = "experts.";
  const std::size_t at = name.find(kExperts);
  return at != std::string_view::npos && at + kExperts.size() < name.size() &&
         name[at + kExperts.size()] >= '0' && name[at + kExperts.size()] <= '9';
}

bool HasRaggedBlocks(const WrittenForm& form, std::span<const std::uint64_t> shape) {
  return form.format->cells == scale::CellsBy::kBlocks && shape.size() >= 2 &&
         (shape.end()[-2] % form.format->block_rows != 0 ||
          shape.end()[-1] % form.format->block_columns != 0);
}

// A weight that is written, by its plain name and shape.
struct Made {
  std::string_view name;
  std::span<const std::uint64_t> shape;
  const WrittenForm& form;
  const scale::ScaledWeight* was;  // null: it had no scales
};

// A kind of them, and what becomes of it.
struct MisreadKind {
  std::string_view noun;  // "stacked weight"
  std::string_view fate;  // "X takes ... for ..."
  std::function<bool(const Made&)> has;
};

}  // namespace

MisreadWeights::MisreadWeights(const std::vector<TensorInfo>& tensors,
                               std::span<const std::string> model_types) {
  const auto is_any = [&](const auto& names) {
    return std::ranges::any_of(model_types,
                               [&](const std::string& type) { return IsAmong(names, type); });
  };
  has_transposed_experts_ = is_any(kTransposedExperts);
  // Of a model that has no such layer its name decides.
  const auto is_fused = [](const TensorInfo& info) {
    return naming::ModuleOf(info.name).ends_with("c_attn") && info.shape.size() == 2;
  };
  const bool has_fused = std::ranges::any_of(tensors, is_fused);
  has_conv1d_ = has_fused ? std::ranges::any_of(tensors, LiesTransposed) : is_any(kConv1dModels);
}

std::string_view MisreadWeights::KindOf(std::string_view name, std::span<const std::uint64_t> shape,
                                        const WrittenForm& form) const {
  if (has_transposed_experts_ && IsStack(shape) && name.find("experts") != std::string_view::npos) {
    return "stacked experts, [experts, inputs, outputs]: read wrongly as scaled weights";
  }
  const bool is_read = HasLayout(form, ScaledLayout::kDeepSeek);
  if (has_conv1d_ && !is_read && shape.size() == 2 && IsOfConv1d(name)) {
    return "of a Conv1D, [inputs, outputs]: read wrongly as a scaled weight";
  }
  return {};
}

std::vector<std::string> MisreadNotes(const Survey& survey, std::span<const Decision> decisions) {
  std::vector<Made> made;
  auto weight = survey.scales.weights.weights.begin();
  const auto end = survey.scales.weights.weights.end();
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (!decisions[i].scaled) continue;
    while (weight != end && weight->codes < i) ++weight;
    const scale::ScaledWeight* const was = weight != end && weight->codes == i ? &*weight : nullptr;
    const TensorInfo& info = survey.tensors()[i];
    made.push_back({was != nullptr ? was->name : info.name,
                    was != nullptr ? was->shape : info.shape, decisions[i].scaled, was});
  }
  if (made.empty()) return {};
  const MisreadWeights model(survey.tensors(), survey.scales.weights.config.model_types);
  const auto is_of_model = [&](const Made& one) {
    return !model.KindOf(one.name, one.shape, one.form).empty();
  };
  const MisreadKind kinds[] = {
      {"stacked weight",
       "transformers reads compressed-tensors' scales of linear layers alone, and takes codes of "
       "stacked experts for values",
       [](const Made& one) {
         return HasLayout(one.form, ScaledLayout::kCompressedTensors) && IsStack(one.shape);
       }},
      {"stacked weight",
       "transformers takes experts in fp8 for [experts, outputs, inputs], and these are [experts, "
       "inputs, outputs]",
       [&](const Made& one) {
         return HasLayout(one.form, ScaledLayout::kDeepSeek) &&
                ((one.was != nullptr && one.was->reading.layout->is_transposed) ||
                 (IsStack(one.shape) && is_of_model(one)));
       }},
      {"weight",
       "transformers' Conv1D holds its weight as [inputs, outputs], and its scales are read as if "
       "it were [outputs, inputs]",
       [&](const Made& one) { return !IsStack(one.shape) && is_of_model(one); }},
      {"weight",
       "transformers stacks separate experts as it loads them, and reads them wrongly in nvfp4, "
       "int8-row and mxfp8",
       [](const Made& one) {
         return HasLayout(one.form, ScaledLayout::kCompressedTensors) &&
                IsOfSeparateExpert(one.name) &&
                IsAmong(std::initializer_list<std::string_view>{"nvfp4", "int8-row", "mxfp8"},
                        one.form.format->name);
       }},
      {"weight", "transformers reads blocks wrongly where a dimension is no multiple of 128",
       [](const Made& one) {
         return !one.form.IsOfModel() && HasRaggedBlocks(one.form, one.shape);
       }},
  };
  std::vector<std::string> notes;
  for (const MisreadKind& kind : kinds) {
    std::uint64_t count = 0;
    std::string_view first;
    bool any_had_scales = false;
    for (const Made& one : made) {
      if (!kind.has(one)) continue;
      if (count++ == 0) first = one.name;
      any_had_scales = any_had_scales || one.was != nullptr;
    }
    if (count == 0) continue;
    notes.push_back(io::CountText(count, kind.noun) + " (" + io::EscapeName(first) +
                    (count == 1 ? "" : ", ...") + "): " + std::string(kind.fate) +
                    // Left out, they would keep scales of another layout beside these.
                    (any_had_scales ? "; where it is to load them, make all weights plain first"
                                    : "; leave them out where it is to load them"));
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
    notes.push_back(io::CountText(left.size(), "weight") +
                    (left.size() == 1 ? " stays as it is (" : " stay as they are (") +
                    io::EscapeName(left.front()->name) + (left.size() == 1 ? "" : ", ...") + "), " +
                    std::string(kind) + "; a rule takes them all the same");
  }
  return notes;
}

}  // namespace tensorcast::convert
