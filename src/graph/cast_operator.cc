// Reads what a Cast or CastLike node asks for.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/cast_operator.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>

#include "core/failure.h"
#include "core/onnx_numbers.h"
#include "graph/operator_versions.h"
#include "words/error_text.h"

namespace tensorcast::graph {
namespace {

using words::Quoted;

struct RoundModeName {
  RoundingMode mode;
  std::string_view name;
};
constexpr RoundModeName kRoundModes[] = {
    {RoundingMode::kUp, "up"}, {RoundingMode::kDown, "down"}, {RoundingMode::kNearest, "nearest"}};

// What messages show of a text.
constexpr std::uint64_t kMostShown = 256;

bool EqualWithoutCase(std::string_view a, std::string_view b) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [&](char x, char y) { return upper(x) == upper(y); });
}

// One node against one version of its operator.
class CastNode {
 public:
  CastNode(const NodePlace& place, std::span<const NodeAttribute> attributes, std::int64_t opset,
           CastOperator op)
      : place_(place), attributes_(attributes), opset_(opset), op_(op) {
    const VersionInForce version = FindVersion(op, opset);
    if (version.row == nullptr) {
      Fail("does not exist at opset " + std::to_string(opset) + "; it came with opset " +
           std::to_string(FirstOpset(op)) + ": upgrade the model with onnx.version_converter");
    }
    since_ = version.since;
    version_ = version.row;
  }

  CastOptions Options(DataType to, bool as_tests) const {
    return OptionsOf(*version_, to, as_tests);
  }

  // "Cast-13".
  std::string Operator() const { return place_.node.op_type + '-' + std::to_string(since_); }

  [[noreturn]] void Fail(const std::string& why) const { WrongNode(place_, why); }

  void CheckInputType(std::string_view what, DataType type) const {
    if (AllowsType(*version_, type)) return;
    Fail("has the " + std::string(what) + " of type " + std::string(TypeName(type)) +
         ", which its opset does not cast; " + Legal(type));
  }

  void CheckAttributes(bool has_to) const {
    for (std::size_t i = 0; i < attributes_.size(); ++i) {
      const std::string_view name = attributes_[i].name;
      // A node has at most three that are legal, so the loops end soon.
      for (std::size_t j = 0; j < i; ++j) {
        if (attributes_[j].name == name) Fail("has the attribute " + Quoted(name) + " twice");
      }
      if (has_to && name == "to") continue;
      if (version_->has_saturate && name == "saturate") continue;
      if (version_->has_round_mode && name == "round_mode") continue;
      Fail("has the attribute " + Quoted(name) + ValueText(*attributes_[i].value) + ", which " +
           Operator() + " does not have; " + Whose(name, has_to));
    }
  }

  DataType To() const {
    const Attribute* const to = Find("to");
    if (to == nullptr) Fail("has no attribute \"to\": the type to cast to; " + Legal({}));
    if (to->type == AttributeType::kString && opset_ <= version_->last_text_opset) {
      return ToOfText(to->s.Text(kMostShown));
    }
    if (to->type != AttributeType::kInt || !version_->to_is_int) {
      Fail("has the attribute \"to\"" + ValueText(*to) + ", " + AttributeTypeText(to->type) +
           "; that of " + Operator() + " is " +
           (version_->to_is_int ? "an INT, the number of a type" : "a STRING, a type's name"));
    }
    const auto type =
        to->i >= 0 && to->i <= INT32_MAX ? static_cast<DataType>(to->i) : DataType::kUndefined;
    if (!AllowsType(*version_, type)) RefuseTo(std::to_string(to->i), to->i, type);
    return type;
  }

  void ReadOptions(CastOptions& options) const {
    if (const Attribute* const saturate = Find("saturate")) {
      if (saturate->type != AttributeType::kInt) {
        Fail("has the attribute \"saturate\"" + ValueText(*saturate) + ", " +
             AttributeTypeText(saturate->type) + "; it is an INT, 0 or 1");
      }
      options.saturate = saturate->i != 0;
    }
    if (const Attribute* const mode = Find("round_mode")) {
      if (mode->type != AttributeType::kString) {
        Fail("has the attribute \"round_mode\"" + ValueText(*mode) + ", " +
             AttributeTypeText(mode->type) + "; it is a STRING: up, down or nearest");
      }
      const std::string text = mode->s.Text(kMostShown);
      const std::optional<RoundingMode> known = RoundModeOf(text);
      if (!known) {
        Fail("has the attribute \"round_mode\" = " + Quoted(text) +
             "; expected up, down or nearest, in lower case");
      }
      options.round_mode = *known;
    }
  }

 private:
  const Attribute* Find(std::string_view name) const {
    const auto found = std::find_if(attributes_.begin(), attributes_.end(),
                                    [&](const NodeAttribute& a) { return a.name == name; });
    return found == attributes_.end() ? nullptr : found->value;
  }

  DataType ToOfText(const std::string& text) const {
    for (const TypeInfo& info : Types()) {
      if (!EqualWithoutCase(text, info.onnx_name)) continue;
      if (AllowsType(*version_, info.type)) return info.type;
      RefuseTo(Quoted(text), static_cast<std::int64_t>(info.type), info.type);
    }
    RefuseTo(Quoted(text), -1, DataType::kUndefined);
  }

  // `number`: ONNX's, of a type that tensorcast does not know too.
  [[noreturn]] void RefuseTo(const std::string& value, std::int64_t number, DataType type) const {
    std::string what = ", which is not a type";
    if (const TypeInfo* const info = FindType(type)) {
      what = " (" + std::string(info->onnx_name) + ")";
    } else if (const std::string_view name =
                   core::NameOfUnknownType(static_cast<std::uint64_t>(number));
               !name.empty()) {
      what = " (" + std::string(name) + ")";
    }
    Fail("has the attribute \"to\" = " + value + what + "; " + Legal(type));
  }

  // What is legal, and for a type that a later version has, what to do.
  std::string Legal(DataType type) const {
    std::string text =
        Operator() + " at opset " + std::to_string(opset_) + " casts " + TypesText(*version_);
    const std::int64_t first = FirstOpsetOf(op_, type);
    if (first > opset_) {
      text += "; " + std::string(TypeName(type)) + " needs opset " + std::to_string(first) +
              ": upgrade the model with onnx.version_converter";
    }
    return text;
  }

  std::string Whose(std::string_view name, bool has_to) const {
    if (name == "saturate" || name == "round_mode") {
      return "it came with opset " + std::to_string(FirstOpsetOf(name));
    }
    if (!has_to && !version_->has_saturate) return "it has no attributes";
    std::string text = "it has ";
    if (has_to) text += "\"to\"";
    if (version_->has_saturate) text += std::string(has_to ? ", " : "") + "\"saturate\"";
    if (version_->has_round_mode) text += ", \"round_mode\"";
    return text;
  }

  // " = 7", for an attribute whose value fits a message.
  std::string ValueText(const Attribute& attribute) const {
    switch (attribute.type) {
      case AttributeType::kInt: return " = " + std::to_string(attribute.i);
      case AttributeType::kFloat: return " = " + std::to_string(attribute.f);
      case AttributeType::kString: return " = " + Quoted(attribute.s.Text(kMostShown));
      default: return {};
    }
  }

  const NodePlace& place_;
  std::span<const NodeAttribute> attributes_;
  std::int64_t opset_;
  CastOperator op_;
  std::int64_t since_ = 0;
  const CastVersion* version_ = nullptr;
};

}  // namespace

void FailNode(const NodePlace& place, ErrorKind kind, const std::string& why) {
  std::string what =
      place.body.NodeText(place.node) + " (" + words::Escape(place.node.op_type.substr(0, 120));
  if (place.function != nullptr) what += ", in the function " + Quoted(place.function->name);
  if (place.caller != nullptr) {
    what += " called by " + place.caller->body.NodeText(place.caller->node);
  }
  throw Error(kind, what + ") " + why);
}

std::string_view RoundModeText(RoundingMode mode) {
  for (const RoundModeName& each : kRoundModes) {
    if (each.mode == mode) return each.name;
  }
  throw core::Failure(StatusCode::kInvalidOption, "a rounding mode is none of up, down, nearest");
}

std::optional<RoundingMode> RoundModeOf(std::string_view text) {
  for (const RoundModeName& each : kRoundModes) {
    if (each.name == text) return each.mode;
  }
  return std::nullopt;
}

std::string AttributeTypeText(AttributeType type) {
  constexpr std::array<std::string_view, 15> kNames = {
      "without a value", "a FLOAT",         "an INT",         "a STRING",     "a TENSOR",
      "a GRAPH",         "FLOATS",          "INTS",           "STRINGS",      "TENSORS",
      "GRAPHS",          "a SPARSE_TENSOR", "SPARSE_TENSORS", "a TYPE_PROTO", "TYPE_PROTOS"};
  const auto index = static_cast<std::size_t>(type);
  return index < kNames.size() ? std::string(kNames[index])
                               : "of the unknown type " + std::to_string(index);
}

std::vector<NodeAttribute> AttributesOf(const Node& node) {
  std::vector<NodeAttribute> attributes;
  for (const Attribute& attribute : node.attributes) {
    attributes.push_back({attribute.name, &attribute});
  }
  return attributes;
}

CastRequest ReadCast(const NodePlace& place, std::span<const NodeAttribute> attributes,
                     std::int64_t opset, DataType from, bool as_tests) {
  const CastNode node(place, attributes, opset, CastOperator::kCast);
  node.CheckAttributes(true);
  CastRequest request;
  request.to = node.To();
  node.CheckInputType("input", from);
  request.options = node.Options(request.to, as_tests);
  node.ReadOptions(request.options);
  return request;
}

CastRequest ReadCastLike(const NodePlace& place, std::span<const NodeAttribute> attributes,
                         std::int64_t opset, DataType from, DataType like, bool as_tests) {
  const CastNode node(place, attributes, opset, CastOperator::kCastLike);
  node.CheckAttributes(false);
  node.CheckInputType("first input", from);
  node.CheckInputType("second input", like);
  CastRequest request{like, node.Options(like, as_tests)};
  node.ReadOptions(request.options);
  return request;
}

}  // namespace tensorcast::graph
