// Tensors whose codes mean nothing without a scale, and the tensors that hold such scales.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_SCALE_COMPANIONS_H_
#define TENSORCAST_SRC_SCALE_SCALE_COMPANIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_info.h"
#include "json/ordered_json_fwd.h"
#include "scale/quantization_config.h"
#include "scale/scale_names.h"

namespace tensorcast::scale {

// The key of safetensors' __metadata__ under which ComfyUI describes layers.
inline constexpr std::string_view kMetadataMark = "_quantization_metadata";
// What it appends to a layer's name for a tensor that describes the layer.
inline constexpr std::string_view kLayerMark = ".comfy_quant";

// A quantised tensor and what says so.
struct ScaledTensor {
  std::size_t tensor = 0;  // its index in the contents
  // The name of the tensor that holds its scales, or of the mark that covers the whole file
  // ("scaled_fp8", "__metadata__[\"_quantization_metadata\"]"); escape before showing.
  std::string companion;
  std::string file;  // of the checkpoint, where the companion is; empty: this one
};

// A tensor that only serves another: its scale, its zero point ...
struct Companion {
  std::size_t tensor = 0;  // its index in the contents
  std::string_view role;   // "scale", "zero point" ...
  // The name of the tensor it serves, which may stand in another file of the checkpoint, or of the
  // layer; escape before showing.
  std::string of;
  // If names told it: their row, and the tensor's index if it stands in the same contents.
  const CompanionName* row = nullptr;
  std::optional<std::size_t> served = {};
  bool is_of_layer = false;  // `of` is a layer: no tensor by which it is told stands anywhere

  std::string Text() const { return std::string(role) + " of " + of; }
};

// Two tensors whose names are those of a weight and of its scale, where the shapes do not fit, or
// of a weight and of what it needs, where that has a type that no such tensor has.
struct Misfit {
  std::size_t tensor = 0;
  std::size_t companion = 0;
  const CompanionName* row = nullptr;
};

struct ScaleCompanions {
  // In the order of the contents, each once. Cast as if its codes were its values, such a tensor
  // comes out wrong by its scale.
  std::vector<ScaledTensor> scaled;
  // In the order of the contents, each once. Cast by itself, such a tensor makes the one it serves
  // wrong: a scale of 2e-4 is 0 in float8.
  std::vector<Companion> companions;
  // Tensors of float8 and narrower types that are neither: nothing says that they have a scale.
  std::vector<std::size_t> unscaled;
  // In the order of what does not fit, which is among the companions; their tensors are in no list
  // above.
  std::vector<Misfit> misfits;
};

// Tells them by names, types and shapes, and by what stands beside the file at `path` (see
// checkpoint.h), which is looked at only if the contents leave a question; empty: nothing stands
// there. Throws Error if the index beside it cannot be read.
ScaleCompanions FindScaleCompanions(const formats::FileContents& contents, const std::string& path,
                                    const QuantizationConfig& config);

// What __metadata__["_quantization_metadata"] says of each layer, by its name; null if there is no
// such text, and no object if it cannot be read.
json::OrderedJson DescribedLayers(const formats::FileContents& contents);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_SCALE_COMPANIONS_H_
