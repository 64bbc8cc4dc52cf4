// What a tensor of a model must be to be stored in another type, and what its opset allows.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <string>

#include "core/onnx_numbers.h"
#include "files/error.h"
#include "graph/operator_versions.h"
#include "onnx/store/storage_model.h"

namespace tensorcast::onnx {
namespace {

using core::ErrorKind;
using files::Error;

// The opsets from which on DequantizeLinear has these.
constexpr std::int64_t kFirstOfInt8 = 10, kFirstOfAxis = 13, kFirstOfFloat8 = 19;

// What to do about an opset that came too early.
std::string UpgradeText(std::int64_t opset) {
  return "upgrade the model with onnx.version_converter.convert_version(model, " +
         std::to_string(opset) + ")";
}

}  // namespace

StorageRules::StorageRules(const formats::OnnxTensorReader& model) : model_(model) {
  graphs_.reserve(model.model().graphs.size());
  for (const protobuf::OnnxGraph& graph : model.model().graphs) {
    Names& names = graphs_.emplace_back();
    for (const protobuf::OnnxTensor& tensor : graph.initializers) {
      ++names.initializers[tensor.message.name];
    }
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      names.inputs.emplace(graph.inputs[i].name, i);
    }
  }
}

std::string StorageRules::WhyNotStored(std::size_t tensor, DataType to) const {
  const formats::TensorInfo& info = model_.contents().tensors.at(tensor);
  const formats::OnnxTensorPlace& place = model_.place(tensor);
  if (info.type == DataType::kUndefined) return "not a type tensorcast knows";
  if (info.type == DataType::kString) return "a string, which no Cast brings back";
  if (to == DataType::kString) return "a model stores no numbers as strings";
  if (to == info.type) return "already " + std::string(TypeName(to));
  if (place.initializer) {
    const std::string& name = model_.tensor(tensor).message.name;
    const Names& names = graphs_.at(*place.graph);
    if (name.empty()) return "no name";
    if (names.initializers.at(name) != 1) return "its graph holds two of its name";
    if (model_.model().ir_version >= protobuf::kFirstIrOfConstants &&
        names.inputs.count(name) != 0) {
      return "an input of its name can override it";
    }
    return {};
  }
  const protobuf::OnnxNode& node = formats::NodeOf(model_.model(), place);
  const protobuf::OnnxAttribute& attribute = node.attributes.at(place.attribute);
  if (node.op_type != "Constant" || !node.domain.empty() || attribute.name != "value" ||
      attribute.type != core::AttributeType::kTensor) {
    return "an attribute of " + words::Quoted(node.op_type);
  }
  const auto values =
      std::count_if(node.attributes.begin(), node.attributes.end(),
                    [](const protobuf::OnnxAttribute& each) { return each.name == "value"; });
  if (values != 1 || attribute.tensors.size() != 1) return "its Constant has several values";
  if (node.outputs.size() != 1 || node.outputs.front().empty()) {
    return "its Constant has no output";
  }
  return {};
}

void StorageRules::Fail(std::size_t tensor, std::string_view to, const std::string& why,
                        Remedy remedy) const {
  throw Error(ErrorKind::kArguments,
              words::PathText(model_.source().path()) + ": tensor " +
                  words::Quoted(model_.contents().tensors.at(tensor).name) +
                  " cannot be stored as " + std::string(to) + ": " + why,
              remedy, model_.contents().tensors.at(tensor).name);
}

std::int64_t StorageRules::OpsetFor(std::size_t tensor, std::string_view to,
                                    std::string_view behind) const {
  const formats::OnnxTensorPlace& place = model_.place(tensor);
  const auto opset = graph::OpsetOf(formats::ImportsOf(model_.model(), place));
  if (opset) return *opset;
  Fail(tensor, to,
       "the " + std::string(behind) + " behind it needs an opset of ai.onnx, and " +
           std::string(place.function ? "its function" : "the model") +
           " imports none; add one to opset_import");
}

void StorageRules::CheckCast(std::size_t tensor, std::string_view to, std::int64_t opset,
                             std::span<const DataType> types) const {
  const graph::CastVersion* const version =
      graph::FindVersion(graph::CastOperator::kCast, opset).row;
  if (version == nullptr) {
    Fail(tensor, to,
         "the model's opset " + std::to_string(opset) + " has no Cast; opsets begin at 1");
  }
  for (const DataType type : types) {
    if (graph::AllowsType(*version, type)) continue;
    const std::int64_t first = graph::FirstOpsetOf(graph::CastOperator::kCast, type);
    Fail(tensor, to,
         "Cast has " + std::string(TypeName(type)) +
             (first == 0 ? " at no opset"
                         : " from opset " + std::to_string(first) + " on, and the model's is " +
                               std::to_string(opset)) +
             ", whose types are " + graph::TypesText(*version) +
             (first == 0 ? "" : "; choose one of these, or " + UpgradeText(first)));
  }
}

void StorageRules::CheckType(std::size_t tensor, DataType to) const {
  const std::int64_t opset = OpsetFor(tensor, TypeName(to), "Cast");
  const DataType types[] = {to, model_.contents().tensors.at(tensor).type};
  CheckCast(tensor, TypeName(to), opset, types);
  if (!model_.place(tensor).initializer && opset < graph::kFirstConstantOfAllTypes &&
      to != DataType::kFloat16 && to != DataType::kFloat32 && to != DataType::kFloat64) {
    Fail(tensor, TypeName(to),
         "it is a Constant's, and Constant holds float16, float32 and float64 up to opset 8; "
         "choose one of these, or " +
             UpgradeText(graph::kFirstConstantOfAllTypes),
         Remedy::kLeaveOut);
  }
}

void StorageRules::CheckScaled(std::size_t tensor, std::string_view format, DataType codes) const {
  const std::int64_t opset = OpsetFor(tensor, format, "DequantizeLinear");
  const std::int64_t first = codes == DataType::kInt8 ? kFirstOfInt8 : kFirstOfFloat8;
  if (opset < first) {
    Fail(tensor, format,
         "DequantizeLinear has " + std::string(TypeName(codes)) + " from opset " +
             std::to_string(first) + " on, and the model's is " + std::to_string(opset) + "; " +
             (codes != DataType::kInt8 && opset >= kFirstOfInt8 ? "int8 can be had, or " : "") +
             UpgradeText(std::max(first, kFirstOfAxis)));
  }
  const DataType back[] = {model_.contents().tensors.at(tensor).type};
  if (back[0] != DataType::kFloat32) CheckCast(tensor, format, opset, back);
}

bool StorageRules::TakesAxis(std::size_t tensor) const {
  const auto opset = graph::OpsetOf(formats::ImportsOf(model_.model(), model_.place(tensor)));
  // Earlier than that a model has to be upgraded first.
  return !opset || *opset < kFirstOfInt8 || *opset >= kFirstOfAxis;
}

}  // namespace tensorcast::onnx
