// What decides as an output does and is never made.
//
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include "convert/model_scales.h"
#include "convert/sink.h"
#include "formats/onnx_tensors.h"

namespace tensorcast::convert {
namespace {

class MeasureSink final : public Sink {
 public:
  // `model`: null where the tensors are no model's.
  explicit MeasureSink(const formats::OnnxTensorReader* model) : model_(model) {}

  bool has_graph() const override { return model_ != nullptr; }
  void Restrict(std::span<Decision> decisions, const JobOptions&) const override {
    if (model_ != nullptr && HasModelForms(decisions, model_->source().path())) {
      Scales().Restrict(decisions);
    }
  }
  scale::WrittenForm FormOf(std::size_t tensor, const scale::WrittenForm& asked) const override {
    return model_ != nullptr ? Scales().FormOf(tensor, asked) : asked;
  }
  std::uint64_t Check(const formats::FileContents&, const files::CreateOptions&) const override {
    return 0;
  }
  std::unique_ptr<formats::TensorWriter> Create(formats::FileContents, const files::CreateOptions&,
                                                const std::atomic<bool>*) const override {
    return nullptr;
  }

 private:
  // Made once: it goes through the graph.
  const ModelScales& Scales() const {
    if (!scales_) scales_.emplace(*model_);
    return *scales_;
  }

  const formats::OnnxTensorReader* const model_;
  mutable std::optional<ModelScales> scales_;
};

}  // namespace

std::unique_ptr<Sink> OpenMeasure(const formats::OnnxTensorReader* model) {
  return std::make_unique<MeasureSink>(model);
}

}  // namespace tensorcast::convert
