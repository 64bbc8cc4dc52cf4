// Finds companions by the names that checkpoints give them, and believes a name only where types
// and shapes fit: a norm's ".scale" beside a float weight is no companion.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scale_companions.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "formats/name_order.h"
#include "json/ordered_json.h"
#include "scale/dialects/dialect.h"
#include "scale/scale_names.h"

namespace tensorcast::scale {
namespace {

constexpr std::string_view kTensorMark = "scaled_fp8";

// If a configuration says that there are quantised tensors, these need no tensor beside them: a
// cache's scales have none, and that of a weight may be in a file that is not here.
constexpr CompanionName kOfLayers[] = {
    {"", ".weight_scale_inv", CompanionRole::kScale},
    {"", ".weight_scale", CompanionRole::kScale},
    {"", ".weight_scale_2", CompanionRole::kSecondScale},
    {"", ".weight_global_scale", CompanionRole::kSecondScale},
    {"", ".kv_scale", CompanionRole::kActivationScale},
    {"", ".k_scale", CompanionRole::kActivationScale},
    {"", ".v_scale", CompanionRole::kActivationScale},
    {"", ".q_scale", CompanionRole::kActivationScale},
    {"", ".input_scale", CompanionRole::kActivationScale},
    {"", ".act_scale", CompanionRole::kActivationScale},  // AutoFP8
    {"", ".output_scale", CompanionRole::kActivationScale},
};

// The empty tensor whose presence says that a file's float8 tensors are scaled.
bool IsMark(std::string_view name) {
  if (!name.ends_with(kTensorMark)) return false;
  name.remove_suffix(kTensorMark.size());
  return name.empty() || name.back() == '.';
}

// The row of kOfLayers whose name a tensor has, or nullptr.
const CompanionName* RowOfLayer(std::string_view name) {
  const auto* const row =
      std::find_if(std::begin(kOfLayers), std::end(kOfLayers),
                   [&](const CompanionName& one) { return name.ends_with(one.companion); });
  return row == std::end(kOfLayers) ? nullptr : row;
}

// Whether a name is one that companions have.
bool SoundsLikeCompanion(std::string_view name) {
  const auto rows = CompanionNames();
  return IsMark(name) || RowOfLayer(name) != nullptr ||
         std::any_of(rows.begin(), rows.end(),
                     [&](const CompanionName& row) { return name.ends_with(row.companion); });
}

// Whether a tensor has a type in which codes are kept.
bool CanBeScaled(const formats::TensorInfo& info) {
  static constexpr CompanionName kAnyName = {"", "", CompanionRole::kScale};
  return TensorFits(kAnyName, info, true);
}

// `name` with `ending` at its end replaced; empty where it does not end so.
std::string_view Replaced(std::string_view name, std::string_view ending, std::string_view by,
                          std::string& room) {
  if (!name.ends_with(ending)) return {};
  room.assign(name, 0, name.size() - ending.size());
  room += by;
  return room;
}

// Which tensors __metadata__["_quantization_metadata"] speaks of; what cannot be read is taken to
// speak of all.
class QuantizationMetadata {
 public:
  explicit QuantizationMetadata(const formats::FileContents& contents)
      : layers_(DescribedLayers(contents)) {}

  bool Covers(std::string_view tensor) const {
    if (!layers_.is_object() || layers_.contains(tensor)) return true;
    const std::size_t dot = tensor.rfind('.');
    return dot != std::string_view::npos && layers_.contains(tensor.substr(0, dot));
  }

 private:
  const json::OrderedJson layers_;
};

class CompanionFinder {
 public:
  CompanionFinder(const formats::FileContents& contents, const std::string& path,
                  const QuantizationConfig& config)
      : contents_(contents),
        tensors_(contents.tensors),
        path_(path),
        config_(config),
        by_name_(tensors_),
        places_(tensors_.size()) {
    if (contents_.metadata.contains(std::string(kMetadataMark))) metadata_.emplace(contents_);
  }

  ScaleCompanions Find() {
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) FindInThisFile(i);
    if (LeavesQuestions()) {
      checkpoint::ForEachInIndex(path_, [&](std::string_view name, std::string_view file) {
        if (!by_name_.Find(name)) FindInOtherFile(name, file);
      });
      if (IsSure()) {
        for (std::uint32_t i = 0; i < tensors_.size(); ++i) FindOfLayer(i);
      }
    }
    FindMarks();
    return Result();
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // What is known of a tensor.
  struct Place {
    const CompanionName* serves = nullptr;  // its row, where it is a companion
    std::uint32_t served = kNone;           // the tensor it serves; kNone: names_ says which
    std::uint32_t scale = kNone;            // its scale; kNone with scale_row: names_ says which
    const CompanionName* scale_row = nullptr;
  };

  // Whether something beside a name says that there are quantised tensors: a configuration, or a
  // weight of this file whose scale has been found.
  bool IsSure() const { return config_.says_quantised || has_scaled_; }

  // Whether the two can be what a row says.
  bool Fit(const CompanionName& row, const formats::TensorInfo& companion,
           const formats::TensorInfo& tensor) {
    if (!CompanionFits(row, companion, tensor)) return false;
    if (row.is_described && !IsDescribed(tensor.name)) return false;
    // A type that holds nothing but scales says what a name leaves open.
    return TensorFits(row, tensor, companion.type == DataType::kFloat8E8M0) ||
           (TensorFits(row, tensor, true) && IsSure());
  }

  // Whether the metadata or a tensor beside it describes its layer.
  bool IsDescribed(std::string_view tensor) const {
    const std::string layer(tensor.substr(0, tensor.rfind('.')));
    return (metadata_ && metadata_->Covers(tensor)) ||
           by_name_.Find(layer + std::string(kLayerMark));
  }

  // A weight read without such a companion would be another.
  bool IsMisfit(const CompanionName& row, const formats::TensorInfo& companion,
                const formats::TensorInfo& tensor) const {
    if (companion.elements == 0) {
      // Nothing where something must be.
      return TensorFits(row, tensor, false) &&
             (row.role == CompanionRole::kScale || row.role == CompanionRole::kSecondScale ||
              (row.role == CompanionRole::kZeroPoint && row.opaque.empty()));
    }
    // Of a type that none has.
    if (row.is_telling && row.opaque.empty() && row.role != CompanionRole::kState &&
        !CompanionTypeFits(row, companion) && TensorFits(row, tensor, false) &&
        (!row.is_described || IsDescribed(tensor.name))) {
      return true;
    }
    return row.role == CompanionRole::kScale && row.is_telling && IsNarrowFloat(tensor) &&
           tensor.elements > 0;
  }

  void FindInThisFile(std::uint32_t i) {
    std::string room;
    for (const CompanionName& row : CompanionNames()) {
      const std::string_view name = Replaced(tensors_[i].name, row.companion, row.tensor, room);
      if (name.empty()) continue;
      const std::optional<std::uint32_t> served = by_name_.Find(name);
      if (!served || *served == i) continue;
      if (!Fit(row, tensors_[i], tensors_[*served])) {
        // Several rows may be of the same two.
        if (IsMisfit(row, tensors_[i], tensors_[*served]) &&
            (misfits_.empty() || misfits_.back().companion != i)) {
          misfits_.push_back({*served, i, &row});
        }
        continue;
      }
      places_[i].serves = &row;
      places_[i].served = *served;
      Place& place = places_[*served];
      // If there are several scales, that of the first row is taken.
      if (row.role == CompanionRole::kScale &&
          (place.scale_row == nullptr || &row < place.scale_row)) {
        place.scale_row = &row;
        place.scale = i;
        // Nobody but who quantises has names like quanto's.
        has_scaled_ = has_scaled_ || IsNarrowFloat(tensors_[*served]) || !row.opaque.empty() ||
                      row.dialect->read_packed != nullptr;
      }
      return;
    }
    FindBesideZeroPoint(i);
  }

  // A number and an integer called so are of what an ONNX model quantises as it runs.
  void FindBesideZeroPoint(std::uint32_t i) {
    static constexpr CompanionName kRow = {"_zero_point", "_scale", CompanionRole::kScale};
    std::string room;
    const std::string_view name = Replaced(tensors_[i].name, kRow.companion, kRow.tensor, room);
    if (name.empty()) return;
    const std::optional<std::uint32_t> zero = by_name_.Find(name);
    if (!zero || !Fit(kRow, tensors_[i], tensors_[*zero])) return;
    places_[i].serves = &kRow;
    names_.push_back({i, room.substr(0, room.size() - kRow.tensor.size()), {}});
  }

  bool LeavesQuestions() const {
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
      const Place& place = places_[i];
      if (place.serves != nullptr) continue;
      if (place.scale_row == nullptr && CanBeScaled(tensors_[i])) return true;
      if (SoundsLikeCompanion(tensors_[i].name)) return true;
    }
    return false;
  }

  // `name` stands in another file of the checkpoint; what it is there is not known.
  void FindInOtherFile(std::string_view name, std::string_view file) {
    std::string room;
    for (const CompanionName& row : CompanionNames()) {
      if (row.role == CompanionRole::kScale) {
        const std::string_view scaled = Replaced(name, row.companion, row.tensor, room);
        const std::optional<std::uint32_t> i = by_name_.Find(scaled);
        if (i && !scaled.empty() && places_[*i].serves == nullptr &&
            places_[*i].scale_row == nullptr && TensorFits(row, tensors_[*i], false)) {
          places_[*i].scale_row = &row;
          names_.push_back({*i, std::string(name), std::string(file)});
        }
      }
      const std::string_view companion = Replaced(name, row.tensor, row.companion, room);
      if (companion.empty()) continue;
      const std::optional<std::uint32_t> i = by_name_.Find(companion);
      if (i && places_[*i].serves == nullptr && places_[*i].scale_row == nullptr &&
          CompanionTypeFits(row, tensors_[*i]) &&
          (row.is_telling || tensors_[*i].type == DataType::kFloat8E8M0)) {
        places_[*i].serves = &row;
        names_.push_back({*i, std::string(name), {}});
      }
    }
  }

  void FindOfLayer(std::uint32_t i) {
    const formats::TensorInfo& info = tensors_[i];
    const CompanionName* const row = RowOfLayer(info.name);
    Place& place = places_[i];
    if (row == nullptr || place.serves != nullptr || place.scale_row != nullptr ||
        !CompanionTypeFits(*row, info)) {
      return;
    }
    place.serves = row;
    names_.push_back({i, info.name.substr(0, info.name.size() - row->companion.size()), {}, true});
  }

  // Marks say of tensors that have no scales of their own that they are scaled.
  void FindMarks() {
    const auto mark =
        std::find_if(tensors_.begin(), tensors_.end(),
                     [](const formats::TensorInfo& info) { return IsMark(info.name); });
    if (mark == tensors_.end() && !metadata_) return;
    static constexpr CompanionName kRow = {"", kTensorMark, CompanionRole::kState};
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
      const formats::TensorInfo& info = tensors_[i];
      Place& place = places_[i];
      if (IsMark(info.name)) {
        place.serves = &kRow;
        names_.push_back({i, "the file's float8 tensors", {}});
        continue;
      }
      if (place.serves != nullptr || place.scale_row != nullptr || !IsNarrowFloat(info) ||
          info.elements == 0) {
        continue;
      }
      if (mark != tensors_.end()) {
        place.scale_row = &kRow;
        names_.push_back({i, mark->name, {}});
      } else if (metadata_->Covers(info.name)) {
        place.scale_row = &kRow;
        names_.push_back({i, "__metadata__[\"" + std::string(kMetadataMark) + "\"]", {}});
      }
    }
  }

  ScaleCompanions Result() {
    // A scale that was found to be another tensor's is none of these.
    std::erase_if(misfits_, [&](const Misfit& one) {
      return places_[one.companion].serves != nullptr ||
             (one.row->role == CompanionRole::kScale && places_[one.tensor].scale_row != nullptr &&
              tensors_[one.companion].elements != 0);
    });
    std::set<std::size_t> misfits;
    std::map<std::size_t, const Misfit*> by_companion;
    for (const Misfit& one : misfits_) {
      misfits.insert(one.tensor);
      by_companion.emplace(one.companion, &one);
    }
    std::stable_sort(names_.begin(), names_.end(),
                     [](const Name& a, const Name& b) { return a.tensor < b.tensor; });
    auto name = names_.begin();
    ScaleCompanions result;
    for (std::uint32_t i = 0; i < tensors_.size(); ++i) {
      const Place& place = places_[i];
      if (place.serves != nullptr) {
        Companion& companion = result.companions.emplace_back();
        companion.tensor = i;
        companion.role = RoleText(place.serves->role);
        companion.row = place.serves;
        if (place.served != kNone) {
          companion.of = tensors_[place.served].name;
          companion.served = place.served;
        } else {
          companion.of = name->text;
          companion.is_of_layer = name->is_layer;
        }
      } else if (const auto misfit = by_companion.find(i); misfit != by_companion.end()) {
        const std::size_t served = misfit->second->tensor;
        result.companions.push_back(
            {i, RoleText(misfit->second->row->role), tensors_[served].name, nullptr, served});
      } else if (place.scale_row != nullptr) {
        if (place.scale != kNone) {
          result.scaled.push_back({i, tensors_[place.scale].name, {}});
        } else {
          result.scaled.push_back({i, name->text, name->file});
        }
      } else if (IsNarrowFloat(tensors_[i]) && tensors_[i].elements > 0 && !misfits.contains(i)) {
        result.unscaled.push_back(i);
      }
      while (name != names_.end() && name->tensor == i) ++name;
    }
    result.misfits = std::move(misfits_);
    return result;
  }

  // What a tensor serves or is scaled by, where that is no tensor of this file.
  struct Name {
    std::uint32_t tensor;
    std::string text;
    std::string file;
    bool is_layer = false;
  };

  const formats::FileContents& contents_;
  const std::vector<formats::TensorInfo>& tensors_;
  const std::string& path_;
  const QuantizationConfig& config_;
  formats::NameOrder<formats::TensorInfo> by_name_;
  std::vector<Place> places_;
  std::vector<Name> names_;
  std::vector<Misfit> misfits_;
  std::optional<QuantizationMetadata> metadata_;
  // A float8 or narrower weight, or one of a writer with names of its own, has its scale in this
  // file.
  bool has_scaled_ = false;
};

}  // namespace

json::OrderedJson DescribedLayers(const formats::FileContents& contents) {
  const auto found = contents.metadata.find(std::string(kMetadataMark));
  if (found == contents.metadata.end()) return nullptr;
  json::OrderedJson json = json::JsonOrNull(found->second);
  return json.is_object() && json.contains("layers") ? std::move(json["layers"])
                                                     : json::OrderedJson("unreadable");
}

ScaleCompanions FindScaleCompanions(const formats::FileContents& contents, const std::string& path,
                                    const QuantizationConfig& config) {
  const auto concerned = [](const formats::TensorInfo& info) {
    return CanBeScaled(info) || SoundsLikeCompanion(info.name);
  };
  if (std::none_of(contents.tensors.begin(), contents.tensors.end(), concerned)) return {};
  return CompanionFinder(contents, path, config).Find();
}

}  // namespace tensorcast::scale
