// What a dialect is asked about a weight that decodes itself, and what it answers.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_PACKED_TENSORS_H_
#define TENSORCAST_SRC_SCALE_PACKED_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/error.h"
#include "formats/tensor_reader.h"
#include "json/ordered_json_fwd.h"
#include "scale/packed_weight.h"
#include "scale/quantization_config.h"
#include "scale/scale_companions.h"

namespace tensorcast::scale {

// The tensors of one weight, by their indices in the reader's contents.
struct PackedTensors {
  const formats::TensorReader& reader;
  const QuantizationConfig& config;
  std::size_t codes = 0;
  std::span<const Companion* const> companions = {};
  // What the file's metadata says of its layer; null: nothing.
  const json::OrderedJson* description = nullptr;
  // Gets what Find and Use are asked for: what else is there has no part in the values.
  std::vector<std::size_t>* used = nullptr;

  const formats::TensorInfo& Info(std::size_t tensor) const {
    return reader.contents().tensors[tensor];
  }
  // The companion whose name's row ends so ("_zero_point"), or nothing.
  std::optional<std::size_t> Find(std::string_view ending) const;
  // Takes a companion that was found otherwise.
  std::size_t Use(std::size_t tensor) const {
    if (used != nullptr) used->push_back(tensor);
    return tensor;
  }
  // The codes' name less an ending that it has.
  std::string Stem(std::string_view ending) const;
};

// Goes on from the codes' name and shape: "has zero points in x.zeros, which is float32; it has to
// be int32".
std::string WrongType(std::string_view what, const formats::TensorInfo& info,
                      std::string_view wanted);

// One of three: a weight; why the dialect's weight is not read; or nothing, as the tensors are not
// the dialect's.
struct PackedReading {
  std::shared_ptr<const PackedWeight> weight = nullptr;
  std::string name = {};  // of the plain weight
  std::vector<std::uint64_t> shape = {};
  // What the configuration says of it, "4-bit integers, groups of 128"; where there is none, what
  // else tells what it is.
  std::string said = {};
  // What says so, where that is not the configuration: "comfy_quant", of each weight its own.
  std::string said_by = {};

  // One line that goes on from the codes' name and shape: "has zero points of ...".
  std::string why_not = {};
  core::ErrorKind kind = core::ErrorKind::kContents;
  // It is one of a kind that is known and not read: who writes it, as OpaqueTensor has it.
  std::string opaque = {};

  bool Fits() const { return weight != nullptr || !why_not.empty() || !opaque.empty(); }
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_PACKED_TENSORS_H_
