// Indices are moved by those of the components before, names get the component's in front. A weight
// that decodes itself keeps its own indices, and with them the component's reader.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/component_scales.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace tensorcast::convert {
namespace {

class PackedInComponent final : public scale::PackedWeight {
 public:
  PackedInComponent(std::shared_ptr<const scale::PackedWeight> weight,
                    std::shared_ptr<const formats::TensorReader> component)
      : weight_(std::move(weight)), component_(std::move(component)) {}

  const Form& form() const override { return weight_->form(); }
  Place PlaceOf(std::uint64_t element) const override { return weight_->PlaceOf(element); }
  std::unique_ptr<const Part> Load(const formats::TensorReader&,
                                   std::uint64_t part) const override {
    return weight_->Load(*component_, part);
  }
  scale::ScaleFindings FindOddBlocks(const formats::TensorReader&) const override {
    return weight_->FindOddBlocks(*component_);
  }
  bool HasNegativeScales() const override { return weight_->HasNegativeScales(); }
  std::optional<scale::ScaleFindings> CountScales(const formats::TensorReader&) const override {
    return weight_->CountScales(*component_);
  }

 private:
  std::shared_ptr<const scale::PackedWeight> weight_;
  std::shared_ptr<const formats::TensorReader> component_;
};

template <class T> void Append(std::vector<T>& from, std::vector<T>& to) {
  std::ranges::move(from, std::back_inserter(to));
}

}  // namespace

ComponentReader::ComponentReader(std::shared_ptr<const formats::TensorReader> all,
                                 const checkpoint::CheckpointReader& pipeline, std::uint32_t part)
    : all_(std::move(all)), part_(pipeline.parts()[part]) {
  const std::vector<formats::TensorInfo>& tensors = pipeline.contents().tensors;
  const auto part_of = [&](const formats::TensorInfo& info) {
    return pipeline.shards()[info.shard].part;
  };
  const auto begin = std::ranges::lower_bound(tensors, part, {}, part_of);
  const auto end = std::ranges::upper_bound(tensors, part, {}, part_of);
  first_ = static_cast<std::size_t>(begin - tensors.begin());
  contents_.tensors.assign(begin, end);
  for (formats::TensorInfo& info : contents_.tensors) info.name.erase(0, part_.directory.size());
  for (const checkpoint::CheckpointShard& shard : pipeline.shards()) {
    if (shard.part == part) contents_.metadata.insert(shard.metadata.begin(), shard.metadata.end());
  }
}

void AddComponent(const std::shared_ptr<const ComponentReader>& component, InputScales found,
                  InputScales& all) {
  const std::string& directory = component->part().directory;
  const auto move = [&](std::size_t& tensor) { tensor += component->first(); };
  const auto move_any = [&](std::optional<std::size_t>& tensor) {
    if (tensor) move(*tensor);
  };
  const auto name = [&](std::string& text) { text.insert(0, directory); };
  scale::ScaleCompanions& companions = found.companions;
  for (scale::ScaledTensor& one : companions.scaled) {
    move(one.tensor);
    name(one.companion);
  }
  for (scale::Companion& one : companions.companions) {
    move(one.tensor);
    move_any(one.served);
    name(one.of);
  }
  for (std::size_t& one : companions.unscaled) move(one);
  for (scale::Misfit& one : companions.misfits) {
    move(one.tensor);
    move(one.companion);
  }
  for (scale::ScaledWeight& one : found.weights.weights) {
    move(one.codes);
    move(one.scale);
    move_any(one.global);
    move_any(one.zero_point);
    for (std::size_t& each : one.companions) move(each);
    name(one.name);
    name(one.reading.name);
    if (one.evidence.starts_with(found.weights.config.file)) name(one.evidence);
    if (one.reading.packed == nullptr) continue;
    one.reading.packed = std::make_shared<PackedInComponent>(one.reading.packed, component);
  }
  for (scale::UnreadWeight& one : found.weights.unread) {
    move(one.tensor);
    one.why.insert(0, words::EscapeName(directory.substr(0, directory.size() - 1)) + ": ");
  }
  for (scale::OpaqueTensor& one : found.weights.opaque) move(one.tensor);
  Append(companions.scaled, all.companions.scaled);
  Append(companions.companions, all.companions.companions);
  Append(companions.unscaled, all.companions.unscaled);
  Append(companions.misfits, all.companions.misfits);
  Append(found.weights.weights, all.weights.weights);
  Append(found.weights.unread, all.weights.unread);
  Append(found.weights.opaque, all.weights.opaque);
  all.component_configs.push_back(std::move(found.weights.config));
}

}  // namespace tensorcast::convert
