// Asks src/onnx what may be stored.
//
// SPDX-License-Identifier: Apache-2.0
#include "model_storage.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "onnx/storage_defaults.h"
#include "onnx/storage_model.h"

namespace tensorcast::tool {
namespace {

void Leave(Decision& decision, std::string why) {
  decision.to = DataType::kUndefined;
  decision.reason = std::move(why);
}

}  // namespace

const io::OnnxTensorReader* ModelToStore(const io::TensorReader& reader,
                                         const std::string& output) {
  if (!io::HasEnding(output, ".onnx")) return nullptr;
  const auto* const model = dynamic_cast<const io::OnnxTensorReader*>(&reader);
  if (model == nullptr) {
    throw io::Error(io::ErrorKind::kUnsupported,
                    fmt::format("{}: a model is written from a model only: tensors alone have no "
                                "graph; write a .safetensors, .npz, .npy or .pb file",
                                io::Escape(output)));
  }
  return model;
}

void LeaveUnstorable(const io::OnnxTensorReader& model, const io::ConversionOptions& options,
                     std::vector<Decision>& decisions) {
  const onnx::StorageRules rules(model);
  std::vector<DataType> by_default(decisions.size(), DataType::kUndefined);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    Decision& decision = decisions[i];
    if (decision.to == DataType::kUndefined) continue;
    if (std::string why = rules.WhyNotStored(i, decision.to); !why.empty()) {
      Leave(decision, std::move(why));
    } else {
      rules.CheckType(i, decision.to);
      if (!decision.by_name) by_default[i] = decision.to;
    }
  }
  std::vector<std::string> reasons = onnx::WhyLeftByDefault(model, by_default, options);
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (!reasons[i].empty()) Leave(decisions[i], std::move(reasons[i]));
  }
}

std::function<bool(const io::TensorInfo&, DataType)> StorableTypes(
    const io::OnnxTensorReader& model) {
  const auto rules = std::make_shared<onnx::StorageRules>(model);
  const io::TensorInfo* const first = model.contents().tensors.data();
  return [rules, first](const io::TensorInfo& info, DataType to) {
    try {
      rules->CheckType(static_cast<std::size_t>(&info - first), to);
    } catch (const io::Error&) {
      return false;
    }
    return true;
  };
}

std::vector<std::string> InputFiles(const io::TensorReader& reader, const std::string& path) {
  std::vector<std::string> paths{path};
  if (const auto* const model = dynamic_cast<const io::OnnxTensorReader*>(&reader)) {
    for (const auto& [location, file] : model->external_files()) paths.push_back(file->path());
  }
  return paths;
}

}  // namespace tensorcast::tool
