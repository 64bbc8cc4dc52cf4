// A scale for each index of the axis on which the graph has the output channels.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/model_scales.h"

#include <cstdint>
#include <utility>

#include "files/error.h"

namespace tensorcast::convert {
namespace {

// Each thread holds all largest magnitudes of cells that are all over a tensor.
constexpr std::uint64_t kMostSharedCells = std::uint64_t{1} << 20;

void Leave(Decision& decision, Reason reason, std::string why) {
  decision.to = DataType::kUndefined;
  decision.scaled = {};
  decision.reason = reason;
  decision.text = std::move(why);
}

bool HasRows(const scale::WrittenForm& form) { return form.format->cells == scale::CellsBy::kRows; }

}  // namespace

bool HasModelForms(std::span<const Decision> decisions, const std::string& path) {
  bool is_any = false;
  for (const Decision& decision : decisions) {
    if (!decision.scaled) continue;
    is_any = true;
    if (scale::ModelLayoutOf(*decision.scaled.format) != nullptr) continue;
    throw files::Error(
        core::ErrorKind::kArguments,
        words::PathText(path) + ": " + scale::NotInModelsText(*decision.scaled.format), path);
  }
  return is_any;
}

ModelScales::ModelScales(const formats::OnnxTensorReader& model)
    : model_(model), rules_(model), uses_(onnx::FindWeightUses(model)) {}

scale::WrittenForm ModelScales::FormOf(std::size_t tensor, const scale::WrittenForm& asked) const {
  scale::WrittenForm form = asked;
  form.layout = scale::ModelLayoutOf(*asked.format);
  if (form.layout == nullptr) return asked;
  form.dialect = scale::DialectOfLayout(scale::kModelLayout);
  if (HasRows(form) && rules_.TakesAxis(tensor)) form.axis = uses_[tensor].axis;
  return form;
}

void ModelScales::Restrict(std::span<Decision> decisions) const {
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (decisions[i].scaled) RestrictOne(i, decisions[i]);
  }
}

void ModelScales::RestrictOne(std::size_t tensor, Decision& decision) const {
  const formats::TensorInfo& info = model_.contents().tensors[tensor];
  if (!decision.by_name && !uses_[tensor].axis) {
    return Leave(decision, Reason::kNotLinear, uses_[tensor].why_none);
  }
  if (!decision.by_name && info.elements < kFewScaledValues) {
    return Leave(decision, Reason::kNotLinear, "fewer than 1,024 values");
  }
  if (info.elements == 0) return Leave(decision, Reason::kMisfit, "it has no elements");
  decision.scaled = FormOf(tensor, decision.scaled);
  const scale::Partition partition = decision.scaled.PartitionOf(info.shape);
  if (partition.shares_cells && partition.cells() > kMostSharedCells) {
    Leave(decision, Reason::kMisfit,
          "it has " + std::to_string(partition.cells()) + " output channels, more than " +
              std::to_string(kMostSharedCells));
  }
}

std::vector<std::string> NotesOnScales(const formats::OnnxTensorReader& model,
                                       const onnx::StorageRules& rules,
                                       std::span<const Decision> decisions) {
  std::uint64_t by_opset = 0, by_use = 0;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const scale::WrittenForm& form = decisions[i].scaled;
    if (!form || !HasRows(form) || form.axis) continue;
    ++(rules.TakesAxis(i) ? by_use : by_opset);
  }
  std::vector<std::string> notes;
  const auto add = [&](std::uint64_t count, const std::string& why) {
    if (count == 0) return;
    notes.push_back(words::PathText(model.source().path()) + ": " +
                    words::CountText(count, "tensor") + (count == 1 ? " has" : " have") +
                    " one scale, not one for each row: " + why);
  };
  add(by_opset,
      "DequantizeLinear takes only one up to opset 12; "
      "onnx.version_converter.convert_version(model, 13) upgrades the model");
  add(by_use, "without a use as a weight, nothing tells which axis the rows are");
  return notes;
}

}  // namespace tensorcast::convert
