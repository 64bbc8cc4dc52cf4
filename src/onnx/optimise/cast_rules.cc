// Goes through the nodes once in their order, for what each Cast can read, and once backwards, for
// what nobody reads.
//
// SPDX-License-Identifier: Apache-2.0
#include "onnx/optimise/cast_rules.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace tensorcast::onnx {
namespace {

std::uint64_t Packed(const CastOptions& options) {
  return static_cast<std::uint64_t>(options.saturate) |
         static_cast<std::uint64_t>(options.round_mode) << 1 |
         static_cast<std::uint64_t>(options.integer_overflow) << 3 |
         static_cast<std::uint64_t>(options.fnuz_infinity) << 4 |
         static_cast<std::uint64_t>(options.finite_only_nan) << 5 |
         static_cast<std::uint64_t>(options.string_style) << 6;
}

// A value that was read elsewhere may not be any more once a pass is over. Models that mean harm
// could want a pass for each node.
constexpr int kMostPasses = 8;

class CastRules {
 public:
  CastRules(ModelValues& values, graph::NanBits nan) : model_(values), nan_(nan) {
    fates_.removed.resize(model_.nodes.size());
    fates_.rerouted.resize(model_.nodes.size());
    fates_.kept.resize(model_.nodes.size());
    passed_by_.resize(model_.nodes.size());
    stands_for_.resize(model_.values.size());
    std::iota(stands_for_.begin(), stands_for_.end(), ValueId{0});
  }

  NodeFates Apply() {
    bool go_on = true;
    for (int pass = 0; go_on && pass < kMostPasses; ++pass) {
      was_read_elsewhere_ = false;
      casts_.clear();
      for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
        if (!fates_.removed[i]) Visit(i);
      }
      const bool any_removed = RemoveUnread();
      go_on = was_read_elsewhere_ && any_removed;
    }
    return std::move(fates_);
  }

 private:
  ModelValue& At(ValueId id) { return model_.values[id]; }

  void Visit(std::size_t index) {
    ModelNode& node = model_.nodes[index];
    for (ValueId& input : node.inputs) {
      if (input != kNoValue) input = stands_for_[input];
    }
    if (!IsClear(node)) {
      node.cast.reset();
      const std::string_view op = node.message->op_type;
      if ((op == "Cast" || op == "CastLike") && node.message->domain.empty()) {
        fates_.kept[index] = KeptFor::kNotUnderstood;
      }
      return;
    }
    if (At(node.inputs[0]).type == DataType::kUndefined) {
      fates_.kept[index] = KeptFor::kUnknownType;
    } else if (Shorten(index)) {
      return;
    }
    Join(index);
  }

  // Whether it is a Cast whose values all have one meaning.
  bool IsClear(const ModelNode& node) {
    const auto is_clear = [&](ValueId id) { return id != kNoValue && !At(id).is_unclear; };
    return node.cast && std::all_of(node.inputs.begin(), node.inputs.end(), is_clear) &&
           is_clear(node.outputs[0]);
  }

  // Lets a Cast read the earliest value from which it gives the same. True where its result is
  // then that value itself, and it goes.
  bool Shorten(std::size_t index) {
    ModelNode& node = model_.nodes[index];
    const DataType to = node.cast->to;
    ValueId from = node.inputs[0];
    std::vector<std::size_t> passed;
    while (const std::optional<std::size_t> before = CastThatGives(from)) {
      const ValueId source = model_.nodes[*before].inputs[0];
      if (!CanRead(index, from, source)) break;
      passed.push_back(*before);
      from = source;
    }
    const bool is_copy = At(from).type == to;
    const OptimizeRule rule = passed.empty() ? OptimizeRule::kSameType
                              : is_copy      ? OptimizeRule::kRoundTrip
                                             : OptimizeRule::kChain;
    for (const std::size_t each : passed) passed_by_[each] = rule;
    node.inputs[0] = from;
    fates_.rerouted[index] = fates_.rerouted[index] || !passed.empty();
    if (!is_copy) return false;
    if (At(node.outputs[0]).is_fixed) {
      fates_.kept[index] = KeptFor::kOutput;
    } else if (MayHavePadBits(from)) {
      fates_.kept[index] = KeptFor::kPadBits;
    } else {
      stands_for_[node.outputs[0]] = from;
      fates_.removed[index] = rule;
      return true;
    }
    return false;
  }

  std::optional<std::size_t> CastThatGives(ValueId id) {
    const std::optional<std::size_t> node = At(id).node;
    return node && model_.nodes[*node].cast ? node : std::nullopt;
  }

  // Whether a Cast gives the same from `source` as from `between`, what a Cast makes of it.
  bool CanRead(std::size_t index, ValueId between, ValueId source) {
    const ModelNode& node = model_.nodes[index];
    const DataType a = At(source).type, b = At(between).type, c = node.cast->to;
    if (a == DataType::kUndefined) return false;
    const graph::CastVersion* const version =
        graph::FindVersion(node.cast->op, *model_.bodies[node.body].opset).row;
    if (!graph::AllowsType(*version, a)) return false;
    const auto is_one = [&](graph::NanBits nan) {
      return graph::AreOneCast(a, b, c, node.cast->options, nan);
    };
    if (!is_one(nan_)) {
      fates_.kept[index] = is_one(graph::NanBits::kMayChange) ? KeptFor::kNan : KeptFor::kResult;
      return false;
    }
    // A wider value is read only where the narrower one goes, or more would be moved than before.
    if (FindType(a)->bits <= FindType(b)->bits || At(between).reads == 1) return true;
    was_read_elsewhere_ = true;
    return false;
  }

  // A Cast writes pad bits as zero; what comes from elsewhere may have others.
  bool MayHavePadBits(ValueId id) {
    return FindType(At(id).type)->is_packed() && !CastThatGives(id);
  }

  // Where an equal Cast of the same value is there, that one serves.
  void Join(std::size_t index) {
    const ModelNode& node = model_.nodes[index];
    const DataType from = At(node.inputs[0]).type;
    const auto effect = [&](const CastOptions& options) {
      return Packed(from == DataType::kUndefined
                        ? options
                        : graph::OptionsInEffect(from, node.cast->to, options));
    };
    const std::uint64_t key = std::uint64_t{node.inputs[0]} << 32 |
                              static_cast<std::uint64_t>(node.cast->to) << 16 |
                              effect(node.cast->options) << 8 | effect(node.cast->as_tests);
    std::vector<ValueId>& equal = casts_[key];
    // Bodies are visited one within the other: one that was left is not seen again.
    while (!equal.empty() && !Sees(node.body, At(equal.back()).body)) equal.pop_back();
    if (equal.empty()) {
      equal.push_back(node.outputs[0]);
      return;
    }
    if (At(node.outputs[0]).is_fixed) {
      fates_.kept[index] = KeptFor::kOutput;
      return;
    }
    stands_for_[node.outputs[0]] = equal.back();
    fates_.removed[index] = OptimizeRule::kDuplicate;
  }

  bool Sees(std::size_t body, std::size_t other) const {
    for (std::optional<std::size_t> at = body; at; at = model_.bodies[*at].parent) {
      if (*at == other) return true;
    }
    return false;
  }

  // Whether a node went in this pass, for that or for another reason.
  bool RemoveUnread() {
    for (ModelValue& value : model_.values) value.reads = 0;
    const auto each_input = [&](const ModelNode& node, const auto& act) {
      for (const ValueId input : node.inputs) {
        if (input != kNoValue) act(At(input));
      }
    };
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      if (fates_.removed[i]) continue;
      each_input(model_.nodes[i], [](ModelValue& value) { ++value.reads; });
    }
    for (std::size_t i = model_.nodes.size(); i-- > 0;) {
      const ModelNode& node = model_.nodes[i];
      if (fates_.removed[i] || !node.cast) continue;
      const ModelValue& result = At(node.outputs[0]);
      if (result.reads != 0 || result.is_fixed) continue;
      const DataType from = At(node.inputs[0]).type;
      if (from == DataType::kUndefined) continue;  // counted already
      if (from == DataType::kString && node.cast->to != DataType::kString) {
        fates_.kept[i] = KeptFor::kMayFail;
        continue;
      }
      fates_.removed[i] = passed_by_[i].value_or(OptimizeRule::kUnread);
      each_input(node, [](ModelValue& value) { --value.reads; });
    }
    const auto removed =
        static_cast<std::size_t>(std::count_if(fates_.removed.begin(), fates_.removed.end(),
                                               [](const auto& each) { return each.has_value(); }));
    return std::exchange(removed_, removed) != removed;
  }

  ModelValues& model_;
  const graph::NanBits nan_;
  NodeFates fates_;
  std::size_t removed_ = 0;          // nodes, up to the last pass
  bool was_read_elsewhere_ = false;  // a wider value could not be read for that reason
  std::vector<ValueId> stands_for_;  // by value: itself, or what is read for it
  std::vector<std::optional<OptimizeRule>> passed_by_;             // by node: why a reader left it
  std::unordered_map<std::uint64_t, std::vector<ValueId>> casts_;  // by what they do
};

}  // namespace

NodeFates ApplyCastRules(ModelValues& values, graph::NanBits nan) {
  return CastRules(values, nan).Apply();
}

}  // namespace tensorcast::onnx
