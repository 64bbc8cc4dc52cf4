// A pipeline's components as the finders of scales see them: each is a checkpoint of its own, with
// its own names and its own configuration.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_COMPONENT_SCALES_H_
#define TENSORCAST_SRC_CONVERT_COMPONENT_SCALES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "checkpoint/checkpoint_reader.h"
#include "convert/survey.h"
#include "formats/tensor_reader.h"

namespace tensorcast::convert {

// The tensors of one component, by the names that they have in its files.
class ComponentReader final : public formats::TensorReader {
 public:
  ComponentReader(std::shared_ptr<const formats::TensorReader> all,
                  const checkpoint::CheckpointReader& pipeline, std::uint32_t part);

  // The index of its first tensor in the pipeline: they follow each other.
  std::size_t first() const { return first_; }
  const checkpoint::CheckpointPart& part() const { return part_; }

  const formats::FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override {
    all_->Read(first_ + tensor, offset, out);
  }
  std::shared_ptr<std::byte> Map(std::size_t tensor) const override {
    return all_->Map(first_ + tensor);
  }
  std::uint64_t file_bytes() const override { return all_->file_bytes(); }
  void CheckUnchanged() const override { all_->CheckUnchanged(); }

 private:
  std::shared_ptr<const formats::TensorReader> all_;
  const checkpoint::CheckpointPart& part_;
  std::size_t first_ = 0;
  formats::FileContents contents_;
};

// Adds what was found in a component to what was found in those before it, by the pipeline's
// indices and names.
void AddComponent(const std::shared_ptr<const ComponentReader>& component, InputScales found,
                  InputScales& all);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_COMPONENT_SCALES_H_
