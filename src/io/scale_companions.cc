// Finds scales by the names that checkpoints give them, and checks that types and sizes fit: a
// norm's ".scale" beside a float weight is no companion.
//
// SPDX-License-Identifier: Apache-2.0
#include "io/scale_companions.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tensorcast::io {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadataMark = "_quantization_metadata";
constexpr std::string_view kTensorMark = "scaled_fp8";

// How a scale's name follows from its tensor's: `ending` is replaced by `scale`.
struct NamePair {
  std::string_view ending;
  std::string_view scale;
  bool says_weight;  // else the scale may be anything's, and integers of a byte do not count
};

constexpr NamePair kNamePairs[] = {
    {"", "_scale_inv", true},            // x.weight, x.weight_scale_inv (DeepSeek-V3)
    {"", "_scale", true},                // x.weight, x.weight_scale (compressed-tensors)
    {"", "_scales", true},               // x, x_scales
    {"", ".weight_scale", true},         // x, x.weight_scale
    {"", ".scale_weight", true},         // x, x.scale_weight
    {"", ".scale", false},               // x, x.scale
    {".weight", ".weight_scale", true},  // x.weight, x.weight_scale
    {".weight", ".scale_weight", true},  // x.weight, x.scale_weight (ComfyUI)
    {".weight", ".scales", true},        // x.weight, x.scales (MLX)
    {".weight", ".scale", false},        // x.weight, x.scale
    {"_blocks", "_scales", true},        // x_blocks, x_scales (gpt-oss)
    {".blocks", ".scales", true},        // x.blocks, x.scales
    {"_packed", "_scale", true},         // x.weight_packed, x.weight_scale
};

// float8e8m0 holds scales itself.
bool IsNarrowFloat(const TypeInfo& type) {
  return type.is_float() && type.bits <= 8 && type.type != DataType::kFloat8E8M0;
}

// Whether a tensor can be of quantised weights: narrow floats, integers of up to a byte, and what
// its own name calls packed.
bool CanBeQuantised(const TensorInfo& info) {
  const TypeInfo* const type = FindType(info.type);
  if (type == nullptr || info.elements == 0) return false;
  const std::string_view name = info.name;
  return IsNarrowFloat(*type) ||
         (type->is_integer() && (type->bits <= 8 || name.ends_with("_blocks") ||
                                 name.ends_with(".blocks") || name.ends_with("_packed")));
}

// The empty tensor whose presence says that a file's float8 tensors are scaled.
bool IsMark(std::string_view name) {
  if (!name.ends_with(kTensorMark)) return false;
  name.remove_suffix(kTensorMark.size());
  return name.empty() || name.back() == '.';
}

// Scales are floats; e8m0 ones may stand there as bytes.
bool CanScale(const TensorInfo& scale, const TensorInfo& of) {
  const TypeInfo* const type = FindType(scale.type);
  return (type == nullptr || type->is_float() || type->type == DataType::kUint8) &&
         scale.elements > 0 && scale.elements <= of.elements;
}

class ScaleFinder {
 public:
  explicit ScaleFinder(const std::vector<TensorInfo>& tensors)
      : tensors_(tensors), by_name_(tensors.size()) {
    std::iota(by_name_.begin(), by_name_.end(), 0u);
    std::sort(by_name_.begin(), by_name_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return tensors_[a].name < tensors_[b].name;
    });
  }

  // The scale of a tensor, or nullptr.
  const TensorInfo* ScaleOf(const TensorInfo& info) const {
    const TypeInfo& type = *FindType(info.type);
    std::string name;
    for (const NamePair& pair : kNamePairs) {
      if (!info.name.ends_with(pair.ending)) continue;
      if (!pair.says_weight && !type.is_float() && !type.is_packed()) continue;
      name.assign(info.name, 0, info.name.size() - pair.ending.size());
      name += pair.scale;
      const TensorInfo* const scale = Find(name);
      if (scale != nullptr && CanScale(*scale, info)) return scale;
    }
    return nullptr;
  }

 private:
  const TensorInfo* Find(std::string_view name) const {
    const auto place = std::lower_bound(
        by_name_.begin(), by_name_.end(), name,
        [&](std::uint32_t i, std::string_view value) { return tensors_[i].name < value; });
    if (place == by_name_.end() || tensors_[*place].name != name) return nullptr;
    return &tensors_[*place];
  }

  const std::vector<TensorInfo>& tensors_;
  std::vector<std::uint32_t> by_name_;
};

// Gathers the keys of {"layers": {KEY: ...}} while the JSON is parsed.
class LayerHandler : public nlohmann::json_sax<Json> {
 public:
  bool has_layers() const { return has_layers_; }
  std::set<std::string, std::less<>>& layers() { return layers_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == 2 && is_layers_) has_layers_ = true;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1) is_layers_ = name == "layers";
    if (depth_ == 2 && is_layers_) layers_.insert(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  int depth_ = 0;
  bool is_layers_ = false;
  bool has_layers_ = false;
  std::set<std::string, std::less<>> layers_;
};

// Which tensors __metadata__["_quantization_metadata"] speaks of; what cannot be read is taken to
// speak of all.
class QuantizationMetadata {
 public:
  explicit QuantizationMetadata(const std::string& text) {
    LayerHandler handler;
    covers_all_ = !Json::sax_parse(text, &handler) || !handler.has_layers();
    layers_ = std::move(handler.layers());
  }

  bool Covers(std::string_view tensor) const {
    if (covers_all_ || layers_.contains(tensor)) return true;
    const std::size_t dot = tensor.rfind('.');
    return dot != std::string_view::npos && layers_.contains(tensor.substr(0, dot));
  }

 private:
  bool covers_all_ = false;
  std::set<std::string, std::less<>> layers_;
};

}  // namespace

std::vector<ScaledTensor> FindScaledTensors(const FileContents& contents) {
  const std::vector<TensorInfo>& tensors = contents.tensors;
  if (std::none_of(tensors.begin(), tensors.end(), CanBeQuantised)) return {};

  const auto mark = std::find_if(tensors.begin(), tensors.end(),
                                 [](const TensorInfo& info) { return IsMark(info.name); });
  std::optional<QuantizationMetadata> metadata;
  if (const auto place = contents.metadata.find(std::string(kMetadataMark));
      place != contents.metadata.end()) {
    metadata.emplace(place->second);
  }

  const ScaleFinder finder(tensors);
  std::vector<ScaledTensor> found;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& info = tensors[i];
    if (!CanBeQuantised(info) || IsMark(info.name)) continue;
    if (const TensorInfo* const scale = finder.ScaleOf(info)) {
      found.push_back({i, scale->name});
    } else if (IsNarrowFloat(*FindType(info.type)) && mark != tensors.end()) {
      found.push_back({i, mark->name});
    } else if (metadata && IsNarrowFloat(*FindType(info.type)) && metadata->Covers(info.name)) {
      found.push_back({i, "__metadata__[\"" + std::string(kMetadataMark) + "\"]"});
    }
  }
  return found;
}

}  // namespace tensorcast::io
