// A scale's name is taken apart at dots and underscores, and belongs to the longest name of a
// module that it begins with.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/bare_weights.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "convert/survey.h"
#include "files/error.h"
#include "naming/name_parts.h"
#include "naming/weight_roles.h"
#include "scale/config_coverage.h"
#include "scale/scale_names.h"

namespace tensorcast::convert {
namespace {

using formats::TensorInfo;

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kParameter = "_weight";

bool IsNarrowInteger(const TensorInfo& info) {
  constexpr int kByteBits = 8;
  const TypeInfo* const type = FindType(info.type);
  return type != nullptr && type->is_integer() && type->bits <= kByteBits;
}

bool ContainsAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

// Whether `rest`, what a tensor is called behind its module's name, sounds like the scale of the
// module's weight: not that of its input or output, of a cache or of a norm. What names the weight
// is the weight's.
bool SoundsLikeScale(std::string_view as_written) {
  static const std::unordered_set<std::string_view> kOthers = {
      "input", "in",   "act",    "activation", "activations", "output", "out",     "k",     "v",
      "q",     "kv",   "key",    "value",      "cache",       "prob",   "softmax", "query", "norm",
      "bias",  "lora", "smooth", "layer",      "logit",       "logits", "attn"};
  const std::string rest = naming::Lower(as_written);
  if (!ContainsAny(rest, {"scale", "absmax", "amax"}) && !rest.ends_with("_inv")) return false;
  bool is_of_weight = false, is_of_other = false;
  naming::ForEachPart(rest, "._", [&](std::string_view part, std::size_t) {
    is_of_weight = is_of_weight || part == "weight" || part == "w";
    is_of_other = is_of_other || kOthers.contains(part);
  });
  return is_of_weight || !is_of_other;
}

// A name without the numbers that stand alone between dots and underscores: "layer_0" and "layer_1"
// are alike, "attn1" and "attn2" are not.
std::string WithoutNumbers(std::string_view name) {
  std::string like;
  naming::ForEachPart(name, "._", [&](std::string_view part, std::size_t begin) {
    if (begin > 0) like += name[begin - 1];
    if (!naming::IsNumber(part)) like += part;
  });
  return like;
}

// The module of a weight; empty where the file holds one module, without its name.
std::string_view OwnerOf(std::string_view weight) {
  return weight == kWeight.substr(1) ? std::string_view() : naming::ModuleOf(weight);
}

// The weight whose scale has this known name; empty if it is no such name.
std::string WeightOfScale(std::string_view name) {
  for (const scale::CompanionName& row : scale::CompanionNames()) {
    if (row.role != scale::CompanionRole::kScale || row.codes != scale::Codes::kNarrow ||
        !row.is_telling || !name.ends_with(row.companion)) {
      continue;
    }
    std::string weight(name.substr(0, name.size() - row.companion.size()));
    weight += row.tensor;
    if (weight.ends_with(kWeight)) return weight;
  }
  return {};
}

// Whether as many values can be a grid over the last two dimensions of a weight: one for all, for
// each row, column or block; of stacked matrices for each of them. None at all are a fault too.
bool CanBeGridOver(const TensorInfo& weight, std::uint64_t values) {
  constexpr std::uint64_t kBlocks[] = {1, 16, 32, 64, 128, 256, 512, 1024, UINT64_MAX};
  const std::vector<std::uint64_t>& shape = weight.shape;
  if (values <= 1) return true;
  if (shape.empty() || weight.elements == 0) return false;
  if (values == shape.front()) return true;  // of each output of a convolution
  const std::uint64_t columns = shape.back();
  const std::uint64_t rows = shape.size() > 1 ? shape[shape.size() - 2] : 1;
  const std::uint64_t matrices = weight.elements / (rows * columns);
  const auto pieces = [](std::uint64_t length, std::uint64_t block) {
    return length / block + (length % block != 0);
  };
  for (const std::uint64_t block_rows : kBlocks) {
    for (const std::uint64_t block_columns : kBlocks) {
      if (block_rows == 1 && block_columns == 1) continue;
      const std::uint64_t cells = pieces(rows, block_rows) * pieces(columns, block_columns);
      if (values == cells || values == cells * matrices) return true;
    }
  }
  return false;
}

class BareFinder {
 public:
  BareFinder(const std::vector<TensorInfo>& tensors, const std::string& path, bool is_directory,
             InputScales& scales)
      : tensors_(tensors), path_(path), is_directory_(is_directory), scales_(scales) {}

  void Find() {
    const auto may_be_bare = [](const TensorInfo& info) {
      return IsNarrowInteger(info) && (info.shape.size() > 1 || info.name.ends_with(kWeight));
    };
    // Plain checkpoints are told apart before anything is kept of their tensors.
    if (scales_.companions.unscaled.empty() && std::ranges::none_of(tensors_, may_be_bare)) return;
    std::unordered_set<std::size_t> known;  // scaled, or serving what is
    for (const scale::ScaledTensor& one : scales_.companions.scaled) known.insert(one.tensor);
    for (const scale::Companion& one : scales_.companions.companions) known.insert(one.tensor);
    for (const scale::Misfit& one : scales_.companions.misfits) {
      known.insert({one.tensor, one.companion});
    }
    for (const scale::UnreadWeight& one : scales_.weights.unread) known.insert(one.tensor);
    for (const scale::OpaqueTensor& one : scales_.weights.opaque) known.insert(one.tensor);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorInfo& info = tensors_[i];
      const std::string_view name = info.name;
      const bool is_weight = name.ends_with(kWeight) || name == kWeight.substr(1);
      const bool is_narrow = scale::IsNarrowFloat(info) || IsNarrowInteger(info);
      if (is_narrow ? is_weight || info.shape.size() > 1 : is_weight) {
        const bool is_bare = is_narrow && info.elements > 0 && !known.contains(i);
        modules_.try_emplace(OwnerOf(name), Module{i, is_bare});
        if (is_bare && name.ends_with(kParameter)) {  // "in_proj_weight", and "in_proj_scale"
          modules_.try_emplace(name.substr(0, name.size() - kParameter.size()), Module{i, true});
        }
      }
    }
    if (std::ranges::none_of(modules_, [](const auto& one) { return one.second.is_bare; })) return;
    FindScales(known);
    FindScalesInOtherFiles();
    if (!scales_.is_ignored) FindMissing();
    Add();
  }

 private:
  struct Module {
    std::size_t weight = 0;
    bool is_bare = false;
  };
  // A tensor that sounds like the scale of a bare weight.
  struct LikelyScale {
    std::size_t weight = 0;
    std::size_t module_size = 0;  // of its name, what is the module's
  };

  std::string Named(std::size_t tensor) const {
    return words::EscapeName(tensors_[tensor].name) + " (" +
           std::string(TypeName(tensors_[tensor].type)) + ")";
  }

  // The weight of the longest module of this file that the name begins with.
  std::optional<LikelyScale> WeightFor(std::string_view name) const {
    for (std::size_t end = name.find_last_of("._"); end != std::string_view::npos && end > 0;
         end = name.find_last_of("._", end - 1)) {
      const auto found = modules_.find(name.substr(0, end));
      if (found == modules_.end()) continue;
      if (!found->second.is_bare || !SoundsLikeScale(name.substr(end + 1))) {
        return std::nullopt;
      }
      return LikelyScale{found->second.weight, end};
    }
    // The file may hold one layer, whose tensors are called "weight" and "scale".
    const auto found = modules_.find(std::string_view());
    if (found == modules_.end() || !found->second.is_bare ||
        name.find('.') != std::string_view::npos || !SoundsLikeScale(name)) {
      return std::nullopt;
    }
    return LikelyScale{found->second.weight, 0};
  }

  void AddWhy(std::size_t weight, const std::string& beside) {
    why_.try_emplace(weight, Named(weight) + " stands beside " + beside +
                                 ", which looks like its scale under a name not known here");
  }

  // Beside each bare weight what sounds like its scale: floats, or the bytes of float8e8m0.
  void FindScales(const std::unordered_set<std::size_t>& known) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorInfo& info = tensors_[i];
      const TypeInfo* const type = FindType(info.type);
      if (type == nullptr || !(type->is_float() || info.type == DataType::kUint8) ||
          known.contains(i)) {
        continue;
      }
      const std::optional<LikelyScale> likely = WeightFor(info.name);
      if (!likely || likely->weight == i ||
          !CanBeGridOver(tensors_[likely->weight], info.elements)) {
        continue;
      }
      AddWhy(likely->weight,
             Named(i) + (info.shape.empty() ? "" : " " + words::ShapeText(info.shape)));
      found_.push_back({i, likely->weight});
    }
  }

  // The same where they stand in other files of the checkpoint, of which the index tells no more
  // than the names. A module there may have a longer name that a scale begins with.
  void FindScalesInOtherFiles() {
    if (is_directory_) return;
    struct Other {
      std::string name, file;
      LikelyScale likely;
    };
    std::vector<Other> others;
    std::unordered_set<std::string_view> here;
    for (const TensorInfo& info : tensors_) here.insert(info.name);
    checkpoint::ForEachInIndex(path_, [&](std::string_view name, std::string_view file) {
      if (here.contains(name)) return;
      if (const std::optional<LikelyScale> likely = WeightFor(name);
          likely && !why_.contains(likely->weight)) {
        others.push_back({std::string(name), std::string(file), *likely});
      }
    });
    if (others.empty()) return;
    std::unordered_map<std::string, bool> is_module;
    const auto any_longer = [&](const Other& one, const auto& use) {
      for (std::size_t end = one.name.find_last_of("._"); end > one.likely.module_size;
           end = one.name.find_last_of("._", end - 1)) {
        if (use(one.name.substr(0, end))) return true;
      }
      return false;
    };
    for (const Other& one : others) {
      any_longer(one,
                 [&](std::string name) { return is_module.try_emplace(std::move(name)), false; });
    }
    checkpoint::ForEachInIndex(path_, [&](std::string_view name, std::string_view) {
      if (!name.ends_with(kWeight)) return;
      const auto found = is_module.find(std::string(naming::ModuleOf(name)));
      if (found != is_module.end()) found->second = true;
    });
    for (const Other& one : others) {
      if (any_longer(one, [&](const std::string& name) { return is_module.at(name); })) continue;
      AddWhy(one.likely.weight, words::EscapeName(one.name) + " of " + words::EscapeName(one.file));
      in_other_files_.push_back({one.likely.weight, one.name, one.file});
    }
  }

  // Float8 weights whose scale is not there and should be.
  void FindMissing() {
    if (scales_.companions.unscaled.empty()) return;
    const scale::QuantizationConfig& config = scales_.weights.config;
    std::unordered_map<std::string, std::string> scaled;  // by the name without numbers, the first
    for (const std::size_t i : scales_.companions.unscaled) {
      scaled.try_emplace(WithoutNumbers(tensors_[i].name));
    }
    const auto keep = [&](const std::string& name) {
      const auto like = scaled.find(WithoutNumbers(name));
      if (like != scaled.end() && like->second.empty()) like->second = name;
    };
    bool is_all_bare = is_directory_ && config.method == "fp8";
    for (const scale::ScaledTensor& one : scales_.companions.scaled) {
      const TensorInfo& info = tensors_[one.tensor];
      if (!scale::IsNarrowFloat(info)) continue;
      is_all_bare = false;
      keep(info.name);
    }
    if (!is_directory_) {
      checkpoint::ForEachInIndex(path_, [&](std::string_view name, std::string_view) {
        if (const std::string weight = WeightOfScale(name); !weight.empty()) keep(weight);
      });
    }
    const scale::ConfigCoverage coverage(config);
    for (const std::size_t i : scales_.companions.unscaled) {
      const TensorInfo& info = tensors_[i];
      const auto module = modules_.find(OwnerOf(info.name));
      if (module == modules_.end() || module->second.weight != i || why_.contains(i)) continue;
      const std::string& like = scaled.at(WithoutNumbers(info.name));
      if (coverage.Covers(info)) {
        why_[i] = Named(i) + " has no scale, and " + config.file + " says that it is quantised, " +
                  words::Quoted(config.method);
      } else if (!like.empty() && !coverage.Excepts(info)) {
        why_[i] = Named(i) + " has no scale, and " + words::EscapeName(like) + " has one";
      } else if (is_all_bare) {
        why_[i] = Named(i) + " has no scale, nor has any other weight, and " + config.file +
                  " says " + words::Quoted(config.method);
      }
    }
  }

  void Add() {
    const auto sort = [](auto& list) {
      std::ranges::stable_sort(list, {}, [](const auto& one) { return one.tensor; });
    };
    scale::ScaleCompanions& companions = scales_.companions;
    std::erase_if(companions.unscaled, [&](std::size_t tensor) { return why_.contains(tensor); });
    // What looks like a scale is left alone as one, whatever becomes of its weight.
    std::unordered_set<std::size_t> scaled;
    for (const auto& [scale, weight] : found_) {
      const std::string& name = tensors_[scale].name;
      companions.companions.push_back({scale, scale::RoleText(scale::CompanionRole::kScale),
                                       tensors_[weight].name, nullptr, weight});
      if (scaled.insert(weight).second) companions.scaled.push_back({weight, name, {}});
    }
    for (scale::ScaledTensor& one : in_other_files_) {
      if (scaled.insert(one.tensor).second) companions.scaled.push_back(std::move(one));
    }
    sort(companions.companions);
    sort(companions.scaled);
    if (scales_.is_ignored) return;
    std::vector<scale::UnreadWeight>& unread = scales_.weights.unread;
    for (auto& [tensor, why] : why_) {
      unread.push_back({tensor, core::ErrorKind::kContents, std::move(why)});
      unread.back().is_known = false;
    }
    sort(unread);
  }

  const std::vector<TensorInfo>& tensors_;
  const std::string& path_;
  const bool is_directory_;
  InputScales& scales_;
  std::unordered_map<std::string_view, Module> modules_;
  std::map<std::size_t, std::string> why_;                  // by the weight
  std::vector<std::pair<std::size_t, std::size_t>> found_;  // scales of this file, their weights
  std::vector<scale::ScaledTensor> in_other_files_;
};

}  // namespace

void FindBareWeights(const std::vector<TensorInfo>& tensors, const std::string& path,
                     bool is_directory, InputScales& scales) {
  BareFinder(tensors, path, is_directory, scales).Find();
}

}  // namespace tensorcast::convert
