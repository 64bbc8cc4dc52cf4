// An ONNX model as a sink: what of it may be stored in another type, and what had better not be.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "convert/model_defaults.h"
#include "convert/model_scales.h"
#include "convert/sink.h"
#include "files/error.h"
#include "onnx/store/storage_model.h"

namespace tensorcast::convert {
namespace {

void Leave(Decision& decision, std::string why) {
  decision.to = DataType::kUndefined;
  decision.scaled = {};
  decision.reason = Reason::kOutput;
  decision.text = std::move(why);
}

class ModelSink final : public Sink {
 public:
  ModelSink(std::string path, const formats::OnnxTensorReader& model)
      : path_(std::move(path)), model_(model), rules_(model) {}

  bool gives_types_back() const override { return true; }
  bool measures_texts() const override { return false; }  // they are copied as they stand
  bool holds_scaled_weights() const override { return true; }
  bool has_graph() const override { return true; }
  void Restrict(std::span<Decision> decisions, const JobOptions& options) const override {
    if (HasModelForms(decisions, path_)) {
      ModelScales(model_).Restrict(decisions);
    }
    std::vector<DataType> by_default(decisions.size(), DataType::kUndefined);
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      Decision& decision = decisions[i];
      if (decision.to == DataType::kUndefined) continue;
      if (std::string why = rules_.WhyNotStored(i, decision.to); !why.empty()) {
        Leave(decision, std::move(why));
      } else if (decision.scaled) {
        rules_.CheckScaled(i, decision.scaled.format->name, decision.to);
      } else {
        rules_.CheckType(i, decision.to);
        if (!decision.by_name) by_default[i] = decision.to;
      }
    }
    std::vector<std::string> reasons = WhyLeftByDefault(model_, by_default, options);
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      if (!reasons[i].empty()) Leave(decisions[i], std::move(reasons[i]));
    }
  }
  std::vector<std::string> NotesOn(std::span<const Decision> decisions) const override {
    return NotesOnScales(model_, rules_, decisions);
  }
  bool CanHold(std::size_t tensor, DataType to) const override {
    try {
      rules_.CheckType(tensor, to);
    } catch (const files::Error&) {
      return false;
    }
    return true;
  }
  std::uint64_t Check(const formats::FileContents& contents,
                      const files::CreateOptions& options) const override {
    return onnx::CheckStorageModel(path_, model_, contents, options);
  }
  std::unique_ptr<onnx::MadeModel> MadeInPlaceOf(const formats::OnnxTensorReader& found,
                                                 formats::FileContents contents) const override {
    return std::make_unique<onnx::MadeModel>(model_, std::move(contents), found);
  }
  std::unique_ptr<formats::TensorWriter> Create(
      formats::FileContents contents, const files::CreateOptions& options,
      const std::atomic<bool>* interrupted) const override {
    return onnx::CreateStorageModel(path_, model_, std::move(contents), options, interrupted);
  }

 private:
  const std::string path_;
  const formats::OnnxTensorReader& model_;
  const onnx::StorageRules rules_;
};

}  // namespace

std::unique_ptr<Sink> OpenModelSink(const std::string& path,
                                    const formats::OnnxTensorReader& model) {
  return std::make_unique<ModelSink>(path, model);
}

}  // namespace tensorcast::convert
