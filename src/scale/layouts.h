// The layouts in which checkpoints keep scaled weights, one row for each, and how codes and scales
// fit into one. docs/scales.md has them as a table.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_LAYOUTS_H_
#define TENSORCAST_SRC_SCALE_LAYOUTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_file.h"
#include "scale/quantization_config.h"
#include "scale/scaled_tensor.h"

namespace tensorcast::scale {

// In what the codes stand.
enum class Storage : std::uint8_t {
  kFloat8,       // float8 of the tensor's own type
  kInt8,         // int8
  kPackedBytes,  // several codes in the bytes of uint8 or int8, or a tensor of the code's own type
};

// Which types scales have.
enum class ScaleType : std::uint8_t {
  kFloat,   // float32, bfloat16, float16
  kE8M0,    // float8e8m0, by that name or as uint8
  kE4M3FN,  // float8e4m3fn
};

struct Layout {
  std::string_view writer;  // "DeepSeek"
  std::string_view method;  // its quant_method in a configuration; empty: none
  // Endings of names, of which the codes' is replaced by `plain` in the weight's own.
  std::string_view codes;
  std::string_view plain;
  std::string_view scale;
  std::string_view global = {};
  Storage storage = Storage::kFloat8;
  DataType element = DataType::kUndefined;  // of packed bytes
  ScaleType scale_type = ScaleType::kFloat;
  std::uint64_t group = 0;  // 0: any partition that fits
  Factor global_use = Factor::kNone;
  // The last two dimensions of the weight are those of the codes, swapped; the last dimension of
  // the codes is a group's bytes.
  bool is_transposed = false;
};

// The tensors of one weight.
struct WeightTensors {
  const io::TensorInfo* codes = nullptr;
  const io::TensorInfo* scale = nullptr;
  const io::TensorInfo* global = nullptr;
  const io::TensorInfo* zero_point = nullptr;
};

// Codes and scales understood in one way.
struct Reading {
  const Layout* layout = nullptr;
  Scaling scaling;
  Partition partition;
  std::vector<std::uint64_t> shape;  // of the codes, as elements; not transposed

  // "fp8-block", "mxfp4", "int8-row" ...; static storage.
  std::string_view Name() const;
  // "blocks of 128 × 128", "groups of 32", "one scale for a row", "one scale for the tensor".
  std::string PartitionText() const;
  // Whether both give the same values.
  bool Means(const Reading& other) const;
};

// Every reading that names, types and shapes allow, the configuration's sizes of blocks and the
// usual ones tried; readings that mean the same once, by the row of the configuration's writer
// where there is one.
std::vector<Reading> ReadingsOf(const WeightTensors& tensors, const QuantizationConfig& config);

// Whether a reading is what a scheme says.
bool Allows(const WeightScheme& scheme, const Reading& reading);
// Whether a scheme of the configuration has this reading; true also where it says nothing of it.
bool Allows(const QuantizationConfig& config, const Reading& reading);
// What it says instead, for messages: the first scheme with codes of as many bits, or the first.
std::string SchemeText(const QuantizationConfig& config, const Reading& reading);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_LAYOUTS_H_
