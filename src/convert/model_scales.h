// Scaled weights of a model: which of its tensors become codes and scales with a DequantizeLinear
// behind them, and which of their axes has a scale for each index.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_MODEL_SCALES_H_
#define TENSORCAST_SRC_CONVERT_MODEL_SCALES_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "convert/selection.h"
#include "formats/onnx_tensors.h"
#include "onnx/store/storage_model.h"
#include "onnx/store/weight_uses.h"
#include "scale/written_form.h"

namespace tensorcast::convert {

// Whether any is for a scaled weight. Throws files::Error (arguments), of `path`, if a format
// is not written into models.
bool HasModelForms(std::span<const Decision> decisions, const std::string& path);

class ModelScales {
 public:
  // `model` outlives this.
  explicit ModelScales(const formats::OnnxTensorReader& model);

  // The form that a tensor gets of a format that is asked for: of rows a scale for each output
  // channel, or one where the opset takes no more or no node's use says which axis has them. The
  // same where the format is not written into models.
  scale::WrittenForm FormOf(std::size_t tensor, const scale::WrittenForm& asked) const;

  // Takes back decisions for a scaled weight, with the reason: of a tensor that is not named where
  // it is not the weight of a Conv, ConvTranspose, Gemm or MatMul, or small; of any where the form
  // cannot be. Gives the others their form.
  void Restrict(std::span<Decision> decisions) const;

 private:
  void RestrictOne(std::size_t tensor, Decision& decision) const;

  const formats::OnnxTensorReader& model_;
  const onnx::StorageRules rules_;
  const std::vector<onnx::WeightUse> uses_;
};

// What the user should know of decisions that Restrict has seen: tensors of rows that have one
// scale. `rules` are the model's.
std::vector<std::string> NotesOnScales(const formats::OnnxTensorReader& model,
                                       const onnx::StorageRules& rules,
                                       std::span<const Decision> decisions);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_MODEL_SCALES_H_
