// Names alone tell, so a weight is refused where one might mean it.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/stray_parts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "files/error.h"
#include "formats/name_order.h"
#include "json/ordered_json.h"
#include "scale/missing_parts.h"
#include "scale/scale_companions.h"

namespace tensorcast::scale {

using core::ErrorKind;
using formats::TensorInfo;
namespace {

constexpr std::string_view kWeightEnding = ".weight";

class StrayScales {
 public:
  explicit StrayScales(const std::vector<TensorInfo>& tensors) : tensors_(tensors) {}

  // One that would stand beside the plain weight under a name by which readers take it for the
  // weight's scale.
  const TensorInfo* Of(const ScaledWeight& weight) {
    // All such tensors of one that keeps its name are its companions.
    if (weight.name == tensors_[weight.codes].name) return nullptr;
    if (!by_name_) by_name_.emplace(tensors_);
    std::string name;
    for (const CompanionName& row : CompanionNames()) {
      const bool is_scale =
          row.role == CompanionRole::kScale || row.role == CompanionRole::kSecondScale;
      if (!is_scale || row.codes != Codes::kNarrow || !row.is_telling ||
          !weight.name.ends_with(row.tensor)) {
        continue;
      }
      name.assign(weight.name, 0, weight.name.size() - row.tensor.size());
      const std::optional<std::uint32_t> found = by_name_->Find(name.append(row.companion));
      if (found && *found != weight.codes && std::ranges::count(weight.companions, *found) == 0) {
        return &tensors_[*found];
      }
    }
    return nullptr;
  }

 private:
  const std::vector<TensorInfo>& tensors_;
  std::optional<formats::NameOrder<TensorInfo>> by_name_;
};

// Layers that are described and not here: they may be others', that have a prefix more or less
// ("model.diffusion_model.").
class MissingLayers {
 public:
  MissingLayers(const std::vector<TensorInfo>& tensors, const json::OrderedJson& described) {
    std::unordered_set<std::string_view> layers;
    for (const TensorInfo& info : tensors) {
      if (info.name.ends_with(kWeightEnding)) layers.insert(LayerOf(info.name));
    }
    const auto add = [&](std::string_view layer) {
      if (!layers.contains(layer)) Add(layer);
    };
    if (described.is_object()) {
      for (const auto& one : described.items()) add(one.key());
    }
    for (const TensorInfo& info : tensors) {
      if (!info.name.ends_with(kLayerMark)) continue;
      marked_.insert(LayerOf(info.name));
      add(LayerOf(info.name));
    }
  }

  bool IsMarked(std::string_view layer) const { return marked_.contains(layer); }

  // The layer that `layer` may be; null: none.
  const std::string* Of(std::string_view layer) const {
    if (by_end_.empty()) return nullptr;
    for (std::size_t begin = 0; begin < layer.size();) {
      const auto found = by_end_.find(std::string(layer.substr(begin)));
      // An end that both have is the name of neither.
      if (found != by_end_.end() && (begin == 0 || found->second == found->first)) {
        return &found->second;
      }
      const std::size_t dot = layer.find('.', begin);
      if (dot == std::string_view::npos) break;
      begin = dot + 1;
    }
    return nullptr;
  }

  static std::string_view LayerOf(std::string_view name) { return name.substr(0, name.rfind('.')); }

 private:
  // By its name, and by its ends of two parts and more.
  void Add(std::string_view layer) {
    by_end_.insert_or_assign(std::string(layer), std::string(layer));
    std::size_t dot = layer.rfind('.');
    while (dot != std::string_view::npos && dot > 0) {
      dot = layer.rfind('.', dot - 1);
      if (dot == std::string_view::npos) break;
      by_end_.emplace(layer.substr(dot + 1), layer);
    }
  }

  std::unordered_map<std::string, std::string> by_end_;
  std::unordered_set<std::string_view> marked_;
};

}  // namespace

std::vector<UnreadWeight> FindStrayParts(const std::vector<TensorInfo>& tensors,
                                         const json::OrderedJson& described,
                                         std::span<const ScaledWeight> weights) {
  std::vector<UnreadWeight> refused;
  if (weights.empty()) return refused;
  StrayScales scales(tensors);
  const MissingLayers missing(tensors, described);
  for (const ScaledWeight& weight : weights) {
    const TensorInfo& codes = tensors[weight.codes];
    if (const TensorInfo* const stray = scales.Of(weight)) {
      refused.push_back({weight.codes, ErrorKind::kContents,
                         ShapedName(codes) + " is the weight " + words::EscapeName(weight.name) +
                             ", beside which " + words::EscapeName(stray->name) +
                             " would be taken for its scale",
                         Remedy::kKeepPacked});
      continue;
    }
    const std::string_view own = MissingLayers::LayerOf(codes.name);
    const bool is_described =
        missing.IsMarked(own) || (described.is_object() && described.contains(std::string(own)));
    if (is_described || !codes.name.ends_with(kWeightEnding)) continue;
    const std::string* const layer = missing.Of(own);
    if (layer == nullptr) continue;
    refused.push_back({weight.codes, ErrorKind::kContents,
                       ShapedName(codes) + " is described by nothing, and the layer " +
                           words::EscapeName(*layer) +
                           ", which is not here, is: one of them has another name than it had"});
  }
  return refused;
}

}  // namespace tensorcast::scale
