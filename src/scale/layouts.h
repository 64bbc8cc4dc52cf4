// How codes and scales fit into the layouts of the dialects. docs/scales.md has these as a table.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_LAYOUTS_H_
#define TENSORCAST_SRC_SCALE_LAYOUTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_info.h"
#include "scale/dialects/dialect.h"
#include "scale/packed_weight.h"
#include "scale/quantization_config.h"
#include "scale/scaled_tensor.h"

namespace tensorcast::scale {

// The tensors of one weight.
struct WeightTensors {
  const formats::TensorInfo* codes = nullptr;
  const formats::TensorInfo* scale = nullptr;
  const formats::TensorInfo* global = nullptr;
  const formats::TensorInfo* zero_point = nullptr;
};

// Codes and scales understood in one way.
struct Reading {
  const Dialect* dialect = nullptr;
  std::string name;                  // the plain weight's
  std::vector<std::uint64_t> shape;  // of the codes, as elements; not transposed
  // Either a weight that decodes itself, whose shape is the plain weight's ...
  std::shared_ptr<const PackedWeight> packed = nullptr;
  // ... or codes and scales over cells, in a layout of the dialect's.
  const Layout* layout = nullptr;
  Scaling scaling = {};
  Partition partition = {};

  std::string_view Writer() const;  // "DeepSeek"
  bool IsTransposed() const { return layout != nullptr && layout->is_transposed; }
  // "fp8-block", "mxfp4", "int8-row" ...; static storage.
  std::string_view Name() const;
  // The columns that its rows are rotated in; 0: they are not.
  std::uint64_t Rotation() const;
  // "blocks of 128 × 128", "groups of 32", "one scale for a row", "one scale for the tensor".
  std::string PartitionText() const;
  // Whether both give the same values.
  bool Means(const Reading& other) const;
};

// Every reading that names, types and shapes allow, the configuration's sizes of blocks and the
// usual ones tried. Codes and scales have the same name but for their endings. Readings that mean
// the same stand there once, by the row of the dialect that the configuration names where it has
// one.
std::vector<Reading> ReadingsOf(const WeightTensors& tensors, const QuantizationConfig& config,
                                std::span<const Dialect* const> dialects = Dialects());

// Whether a reading is what a scheme says.
bool Allows(const WeightScheme& scheme, const Reading& reading);
// Whether a scheme of the configuration has this reading; true also where it says nothing of it.
bool Allows(const QuantizationConfig& config, const Reading& reading);
// What it says instead, for messages: the first scheme with codes of as many bits, or the first.
std::string SchemeText(const QuantizationConfig& config, const Reading& reading);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_LAYOUTS_H_
