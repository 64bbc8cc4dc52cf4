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

#include "convert/config_coverage.h"
#include "convert/scaled_tensors.h"
#include "convert/tensor_pattern.h"
#include "convert/weight_roles.h"
#include "io/error_text.h"

namespace tensorcast::convert {
namespace {

using io::TensorInfo;

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
// module's weight: not that of its input or output, of a cache or of a norm.
bool SoundsLikeScale(std::string rest) {
  static const std::unordered_set<std::string_view> kOthers = {
      "input", "in",   "act",  "activation", "activations", "output", "out",    "k",
      "v",     "q",    "kv",   "key",        "value",       "cache",  "prob",   "softmax",
      "norm",  "bias", "lora", "smooth",     "layer",       "logit",  "logits", "attn"};
  std::ranges::transform(rest, rest.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  if (!ContainsAny(rest, {"scale", "absmax", "amax"}) && !rest.ends_with("_inv")) return false;
  for (std::size_t begin = 0; begin <= rest.size();) {
    const std::size_t end = std::min(rest.find_first_of("._", begin), rest.size());
    if (kOthers.contains(std::string_view(rest).substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

// Whether as many values can be a grid over the last two dimensions of a weight: one for all, for
// each row, column or block; of stacked matrices for each of them. None at all are a fault too.
bool CanBeGridOver(const TensorInfo& weight, std::uint64_t values) {
  constexpr std::uint64_t kBlocks[] = {1, 16, 32, 64, 128, 256, 512, 1024, UINT64_MAX};
  const std::vector<std::uint64_t>& shape = weight.shape;
  if (values <= 1) return true;
  if (shape.empty() || weight.elements == 0) return false;
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
  BareFinder(const std::vector<TensorInfo>& tensors, bool is_directory, InputScales& scales)
      : tensors_(tensors), is_directory_(is_directory), scales_(scales) {}

  void Find() {
    const auto may_be_bare = [](const TensorInfo& info) {
      return IsNarrowInteger(info) && info.name.ends_with(".weight");
    };
    // Plain checkpoints are told apart before anything is kept of their tensors.
    if (scales_.companions.unscaled.empty() && std::ranges::none_of(tensors_, may_be_bare)) return;
    std::unordered_set<std::size_t> known;  // scaled, or serving what is
    for (const io::ScaledTensor& one : scales_.companions.scaled) known.insert(one.tensor);
    for (const io::Companion& one : scales_.companions.companions) known.insert(one.tensor);
    for (const io::Misfit& one : scales_.companions.misfits) known.insert(one.tensor);
    for (const scale::UnreadWeight& one : scales_.weights.unread) known.insert(one.tensor);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorInfo& info = tensors_[i];
      const bool is_weight = info.name.ends_with(".weight");
      if (io::IsNarrowFloat(info) ? is_weight || info.shape.size() > 1
                                  : is_weight && IsNarrowInteger(info)) {
        const bool is_bare = info.elements > 0 && !known.contains(i);
        modules_.try_emplace(ModuleOf(info.name), Module{i, is_bare});
      } else if (is_weight) {
        modules_.try_emplace(ModuleOf(info.name), Module{i, false});
      }
    }
    if (std::ranges::none_of(modules_, [](const auto& one) { return one.second.is_bare; })) return;
    FindScales(known);
    FindMissing();
    Add();
  }

 private:
  struct Module {
    std::size_t weight = 0;
    bool is_bare = false;
  };

  std::string Named(std::size_t tensor) const {
    return io::EscapeName(tensors_[tensor].name) + " (" +
           std::string(TypeName(tensors_[tensor].type)) + ")";
  }

  // Beside each bare weight what sounds like its scale.
  void FindScales(const std::unordered_set<std::size_t>& known) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorInfo& info = tensors_[i];
      const TypeInfo* const type = FindType(info.type);
      if (type == nullptr || !type->is_float() || known.contains(i)) continue;
      const std::string_view name = info.name;
      for (std::size_t end = name.find_last_of("._"); end != std::string_view::npos && end > 0;
           end = name.find_last_of("._", end - 1)) {
        const auto found = modules_.find(name.substr(0, end));
        if (found == modules_.end()) continue;
        const auto& [weight, is_bare] = found->second;
        if (is_bare && weight != i && SoundsLikeScale(std::string(name.substr(end + 1))) &&
            CanBeGridOver(tensors_[weight], info.elements)) {
          const std::string shape = info.shape.empty() ? "" : " " + io::ShapeText(info.shape);
          why_.try_emplace(weight, Named(weight) + " stands beside " + Named(i) + shape +
                                       ", which looks like its scale under a name not known here");
        }
        break;
      }
    }
  }

  // Float8 weights whose scale is not there and should be.
  void FindMissing() {
    if (scales_.companions.unscaled.empty()) return;
    const scale::QuantizationConfig& config = scales_.weights.config;
    std::unordered_map<std::string, std::size_t> scaled;  // by the name, its numbers left out
    for (const io::ScaledTensor& one : scales_.companions.scaled) {
      const TensorInfo& info = tensors_[one.tensor];
      if (io::IsNarrowFloat(info)) scaled.try_emplace(LayerGlob(info.name), one.tensor);
    }
    const bool is_all_bare = is_directory_ && config.method == "fp8" && scaled.empty();
    const ConfigCoverage coverage(config);
    for (const std::size_t i : scales_.companions.unscaled) {
      const TensorInfo& info = tensors_[i];
      const auto module = modules_.find(ModuleOf(info.name));
      if (module == modules_.end() || module->second.weight != i || why_.contains(i)) continue;
      const auto like = scaled.empty() ? scaled.end() : scaled.find(LayerGlob(info.name));
      if (coverage.Covers(info)) {
        why_[i] = Named(i) + " has no scale, and " + config.file + " says that it is quantised, " +
                  io::Quoted(config.method);
      } else if (like != scaled.end()) {
        why_[i] = Named(i) + " has no scale, and " + io::EscapeName(tensors_[like->second].name) +
                  " has one";
      } else if (is_all_bare) {
        why_[i] = Named(i) + " has no scale, nor has any other weight, and " + config.file +
                  " says " + io::Quoted(config.method);
      }
    }
  }

  void Add() {
    std::vector<scale::UnreadWeight>& unread = scales_.weights.unread;
    for (auto& [tensor, why] : why_) {
      unread.push_back({tensor, io::ErrorKind::kContents, std::move(why)});
      unread.back().is_known = false;
    }
    std::ranges::stable_sort(unread, {}, &scale::UnreadWeight::tensor);
    std::erase_if(scales_.companions.unscaled,
                  [&](std::size_t tensor) { return why_.contains(tensor); });
  }

  const std::vector<TensorInfo>& tensors_;
  const bool is_directory_;
  InputScales& scales_;
  std::unordered_map<std::string_view, Module> modules_;
  std::map<std::size_t, std::string> why_;  // by the weight
};

}  // namespace

void FindBareWeights(const std::vector<TensorInfo>& tensors, bool is_directory,
                     InputScales& scales) {
  BareFinder(tensors, is_directory, scales).Find();
}

}  // namespace tensorcast::convert
