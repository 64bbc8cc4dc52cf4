// Makes the edits and the report.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/optimise/optimise.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "files/error.h"
#include "onnx/model_edit.h"
#include "onnx/optimise/cast_rules.h"
#include "onnx/optimise/constant_rule.h"
#include "onnx/optimise/model_values.h"
#include "protobuf/onnx_fields.h"
#include "protobuf/onnx_model.h"

namespace tensorcast::onnx {
namespace {

// A graph that trains is differentiated node by node: one Cast for two gives other gradients.
constexpr std::string_view kTrainingKey = "tensorcast.training";

bool IsCastOperator(const protobuf::OnnxNode& node) {
  return node.domain.empty() && (node.op_type == "Cast" || node.op_type == "CastLike");
}

std::string BodyLabel(const ModelBody& body) {
  if (body.graph != nullptr) return body.graph->label;
  return (body.function->domain.empty() ? "" : body.function->domain + '.') + body.function->name;
}

class Optimiser {
 public:
  Optimiser(const protobuf::OnnxModel& model, const files::ByteSource& source,
            const OptimizeOptions& options, OptimizeReport& report)
      : model_(model), source_(source), options_(options), report_(report) {}

  void Run() {
    report_ = {};
    values_ = FindValues(model_, source_);
    report_.model_bytes_before = source_.size();
    report_.nodes_before = values_.nodes.size();
    for (const ModelNode& node : values_.nodes) {
      types_before_.push_back(node.cast ? values_.values[node.inputs[0]].type
                                        : DataType::kUndefined);
    }
    CountCasts(report_.casts_before, report_.bytes_moved_before, report_.unknown_before);
    if (model_.has_training_info || model_.metadata.contains(std::string(kTrainingKey))) {
      report_.untouched = "the model trains: its gradients go through every Cast";
      fates_.removed.resize(values_.nodes.size());
    } else {
      fates_ = ApplyCastRules(values_, options_.nan_payloads_may_change ? graph::NanBits::kMayChange
                                                                        : graph::NanBits::kKept);
      folded_ = FoldConstants(model_, source_, options_.fold_all, values_, fates_);
      for (std::size_t i = 0; i < values_.nodes.size(); ++i) EditNode(i);
      InsertConstants();
      RemoveDeclarations();
      ReportKept();
    }
    pieces_ = edit_.Finish(source_.size());
    if (!pieces_.empty()) report_.model_bytes_after = pieces_.back().at + pieces_.back().size;
    CheckSize();
    const auto stay = std::count(fates_.removed.begin(), fates_.removed.end(), std::nullopt);
    report_.nodes_after = static_cast<std::uint64_t>(stay);
    for (const NewConstant& each : folded_.constants) {
      report_.nodes_after += each.is_initializer ? 0 : 1;
    }
    CountCasts(report_.casts_after, report_.bytes_moved_after, report_.unknown_after);
  }

  std::vector<ModelPiece> TakePieces() { return std::move(pieces_); }
  std::vector<FoldedConstant> TakeConstants() {
    std::vector<FoldedConstant> constants;
    for (NewConstant& each : folded_.constants) constants.push_back(std::move(each.values));
    return constants;
  }

 private:
  std::vector<protobuf::WireField> PathOf(std::size_t body) const {
    const ModelBody& at = values_.bodies[body];
    if (at.graph != nullptr) return at.graph->path;
    return {at.function->field};
  }

  void EditNode(std::size_t index) {
    const ModelNode& node = values_.nodes[index];
    const protobuf::WireField& field = node.message->field;
    if (fates_.removed[index]) {
      ReportRemoved(index);
      for (const ValueId output : node.outputs) {
        if (output != kNoValue) gone_[node.body].insert(values_.values[output].name);
      }
      std::vector<protobuf::WireField> path = PathOf(node.body);
      const auto constant =
          std::lower_bound(folded_.constants.begin(), folded_.constants.end(), index,
                           [](const NewConstant& each, std::size_t at) { return each.node < at; });
      if (constant == folded_.constants.end() || constant->node != index ||
          constant->is_initializer) {
        edit_.Replace(path, field.offset, field.end, {});
      } else {
        edit_.ReplaceByValues(path, field.offset, field.end, constant->head,
                              static_cast<std::size_t>(constant - folded_.constants.begin()),
                              constant->values.bytes());
      }
      return;
    }
    const bool is_changed =
        !std::equal(node.inputs.begin(), node.inputs.end(), node.message->inputs.begin(),
                    [&](ValueId id, const std::string& name) {
                      return id == kNoValue || values_.values[id].name == name;
                    });
    if (!is_changed) return;
    if (fates_.rerouted[index]) ++report_.casts_rerouted;
    std::vector<protobuf::WireField> path = PathOf(node.body);
    path.push_back(field);
    protobuf::WireReader fields(source_, field.begin, field.end);
    std::size_t i = 0;
    for (protobuf::WireField part; fields.Next(&part);) {
      if (part.number != protobuf::FieldNumber("NodeProto.input")) continue;
      const ValueId id = node.inputs[i];
      if (id != kNoValue && values_.values[id].name != node.message->inputs[i]) {
        edit_.Replace(path, part.offset, part.end,
                      BytesFieldBytes(part.number, values_.values[id].name));
      }
      ++i;
    }
  }

  void InsertConstants() {
    for (std::size_t i = 0; i < folded_.constants.size(); ++i) {
      const NewConstant& constant = folded_.constants[i];
      if (!constant.is_initializer) continue;
      const std::vector<protobuf::WireField> path = PathOf(values_.nodes[constant.node].body);
      edit_.ReplaceByValues(path, path.back().end, path.back().end, constant.head, i,
                            constant.values.bytes());
    }
    const std::unordered_set<const protobuf::OnnxTensor*> unread(
        folded_.unread_initializers.begin(), folded_.unread_initializers.end());
    if (unread.empty()) return;
    for (std::size_t body = 0; body < values_.bodies.size(); ++body) {
      if (values_.bodies[body].graph == nullptr) continue;
      for (const protobuf::OnnxTensor& tensor : values_.bodies[body].graph->initializers) {
        if (!unread.contains(&tensor)) continue;
        gone_[body].insert(tensor.message.name);
        edit_.Replace(PathOf(body), tensor.field.offset, tensor.field.end, {});
      }
    }
  }

  // Values that are gone are declared no more; constants that took a Cast's place are what it was.
  void RemoveDeclarations() {
    for (const NewConstant& each : folded_.constants) {
      const ModelNode& node = values_.nodes[each.node];
      gone_[node.body].erase(values_.values[node.outputs[0]].name);
    }
    for (const auto& [body, names] : gone_) {
      const protobuf::OnnxGraph* const graph = values_.bodies[body].graph;
      if (graph == nullptr) continue;
      for (const protobuf::OnnxValue& value : graph->value_infos) {
        if (!names.contains(value.name)) continue;
        edit_.Replace(graph->path, value.field.offset, value.field.end, {});
      }
    }
  }

  // ------------------------------------------------------------------------------- report

  void ReportRemoved(std::size_t index) {
    const ModelNode& node = values_.nodes[index];
    RemovedNode& removed = report_.removed.emplace_back();
    removed.rule = *fates_.removed[index];
    removed.op_type = node.message->op_type;
    removed.node = node.message->name;
    if (!node.message->outputs.empty()) removed.output = node.message->outputs[0];
    removed.graph = BodyLabel(values_.bodies[node.body]);
    if (node.cast) {
      removed.from = types_before_[index];
      removed.to = node.cast->to;
    }
  }

  void ReportKept() {
    std::array<std::uint64_t, kKeptReasons.size()> counts{};
    for (std::size_t i = 0; i < values_.nodes.size(); ++i) {
      if (!fates_.removed[i] && fates_.kept[i]) {
        ++counts.at(static_cast<std::size_t>(*fates_.kept[i]));
      }
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const KeptReason& reason = kKeptReasons.at(i);
      if (counts.at(i) != 0) report_.kept.push_back({reason.text, counts.at(i), reason.remedy});
    }
  }

  // Counts the Casts that stay, what they move, and those of which that is not known.
  void CountCasts(std::uint64_t& casts, std::uint64_t& bytes, std::uint64_t& unknown) {
    for (std::size_t i = 0; i < values_.nodes.size(); ++i) {
      const ModelNode& node = values_.nodes[i];
      if (!IsCastOperator(*node.message) || (!fates_.removed.empty() && fates_.removed[i])) {
        continue;
      }
      ++casts;
      const std::optional<std::uint64_t> moved = BytesMoved(node);
      bytes += moved.value_or(0);
      unknown += moved ? 0 : 1;
    }
  }

  std::optional<std::uint64_t> BytesMoved(const ModelNode& node) const {
    if (!node.cast || node.inputs.empty() || node.inputs[0] == kNoValue) return std::nullopt;
    const ModelValue& from = values_.values[node.inputs[0]];
    const ModelValue& to = values_.values[node.outputs[0]];
    const std::optional<std::uint64_t> elements = to.elements ? to.elements : from.elements;
    if (!elements || *elements > UINT32_MAX * std::uint64_t{1 << 20}) return std::nullopt;
    const auto read = StorageBytes(from.type, *elements);
    const auto written = StorageBytes(node.cast->to, *elements);
    if (!read || !written) return std::nullopt;
    return *read + *written;
  }

  void CheckSize() const {
    if (report_.model_bytes_after <= std::max(kMostModelBytes, report_.model_bytes_before)) return;
    throw files::Error(core::ErrorKind::kUnsupported,
                       words::PathText(source_.path()) + ": would take " +
                           words::CountText(report_.model_bytes_after, "byte") +
                           " with all its constants cast; protobuf allows " +
                           std::to_string(kMostModelBytes) + "; cast fewer",
                       source_.path());
  }

  const protobuf::OnnxModel& model_;
  const files::ByteSource& source_;
  const OptimizeOptions& options_;
  OptimizeReport& report_;
  ModelValues values_;
  std::vector<DataType> types_before_;  // by node: of what a Cast read in the model as it was
  NodeFates fates_;
  FoldedConstants folded_;
  ModelEdit edit_;
  std::vector<ModelPiece> pieces_;
  std::unordered_map<std::size_t, std::unordered_set<std::string_view>> gone_;  // values, by body
};

// A model after changes, as bytes that are put together where they are read: what stayed from the
// model as it was, what is new, and constants that are cast. It has the path of the model as it
// was: external data is found from there.
class EditedModel final : public files::ByteSource {
 public:
  // `pieces` of `source`, whose tensors are those of `constants`, which are read from it.
  EditedModel(std::unique_ptr<const files::ByteSource> source, std::vector<ModelPiece> pieces,
              std::vector<FoldedConstant> constants)
      : source_(std::move(source)), pieces_(std::move(pieces)), constants_(std::move(constants)) {
    if (!pieces_.empty()) size_ = pieces_.back().at + pieces_.back().size;
  }

  const std::string& path() const override { return source_->path(); }
  std::uint64_t size() const override { return size_; }
  void Read(std::uint64_t offset, std::span<std::byte> out) const override;
  void CheckUnchanged() const override { source_->CheckUnchanged(); }

 private:
  std::unique_ptr<const files::ByteSource> source_;
  std::vector<ModelPiece> pieces_;
  std::vector<FoldedConstant> constants_;
  std::uint64_t size_ = 0;
};

void EditedModel::Read(std::uint64_t offset, std::span<std::byte> out) const {
  auto piece =
      std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                       [](std::uint64_t at, const ModelPiece& each) { return at < each.at; });
  if (piece != pieces_.begin()) piece = std::prev(piece);
  for (; !out.empty(); ++piece) {
    const std::uint64_t skipped = offset - piece->at;
    const std::span<std::byte> part = out.first(
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), piece->size - skipped)));
    if (piece->source) {
      source_->Read(*piece->source + skipped, part);
    } else if (piece->tensor) {
      constants_[*piece->tensor].Read(skipped, part);
    } else {
      const auto bytes = std::as_bytes(std::span(piece->bytes));
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(skipped), part.size(), part.begin());
    }
    out = out.subspan(part.size());
    offset += part.size();
  }
}

}  // namespace

std::unique_ptr<files::ByteSource> OptimiseModel(std::unique_ptr<const files::ByteSource> source,
                                                 const OptimizeOptions& options,
                                                 OptimizeReport& report) {
  const protobuf::OnnxModel model = protobuf::ReadOnnxModel(*source);
  Optimiser optimiser(model, *source, options, report);
  optimiser.Run();
  return std::make_unique<EditedModel>(std::move(source), optimiser.TakePieces(),
                                       optimiser.TakeConstants());
}

}  // namespace tensorcast::onnx
