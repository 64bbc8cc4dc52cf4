// Graphs of casts, built and changed node by node.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/graph.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "tensors.h"
#include "text_objects.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

constexpr std::array<std::string_view, 3> kModes = {"up", "down", "nearest"};
constexpr std::array<std::string_view, 3> kKinds = {"input", "constant", "result"};

RoundingMode ModeOf(const std::string& word) {
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    if (kModes[i] == word) return static_cast<RoundingMode>(i);
  }
  Raise(ErrorClass::kValue, "round_mode is one of \"up\", \"down\", \"nearest\"");
}

// A value as Python holds it: the graph's number and its own.
nb::tuple HandleOf(const GraphValue& value) { return nb::make_tuple(value.graph, value.index); }
GraphValue ValueOf(nb::handle handle) {
  return {nb::cast<std::uint32_t>(handle[0]), nb::cast<std::uint32_t>(handle[1])};
}

// A node by its index or its name, or all (None). The name is kept by `text`.
NodeKey KeyOf(nb::handle key, std::string* text) {
  if (key.is_none()) return NodeKey::All();
  std::size_t index = 0;
  if (PyBool_Check(key.ptr()) == 0 && nb::try_cast(key, index)) return NodeKey::Index(index);
  if (PyUnicode_Check(key.ptr()) == 0) {
    Raise(ErrorClass::kKind, "a node is named by its index or its name; None is all");
  }
  *text = FromStr(key);
  return NodeKey::Name(*text);
}

nb::dict NodeDict(const GraphNode& node) {
  const auto handles = [](const std::vector<GraphValue>& values) {
    nb::list list;
    for (const GraphValue& value : values) list.append(HandleOf(value));
    return list;
  };
  const auto type = [](DataType of) {
    return of == DataType::kUndefined ? nb::none() : ToStr(TypeName(of));
  };
  nb::dict fields;
  fields["index"] = node.index;
  fields["name"] = ToStr(node.name);
  fields["op_type"] = ToStr(node.op_type);
  fields["domain"] = ToStr(node.domain);
  fields["from_type"] = type(node.from);
  fields["to_type"] = type(node.to);
  fields["is_cast"] = node.is_cast;
  fields["saturate"] = node.saturate;
  fields["round_mode"] = ToStr(kModes[static_cast<std::size_t>(node.round_mode)]);
  fields["training"] = node.training;
  fields["lda_coeff"] = node.lda_coeff;
  fields["inputs"] = handles(node.inputs);
  fields["outputs"] = handles(node.outputs);
  return fields;
}

nb::dict ValueDict(const GraphValueInfo& info) {
  nb::dict fields;
  fields["value"] = HandleOf(info.value);
  fields["name"] = ToStr(info.name);
  fields["type"] = info.type == DataType::kUndefined ? nb::none() : ToStr(TypeName(info.type));
  fields["kind"] = ToStr(kKinds[static_cast<std::size_t>(info.kind)]);
  fields["is_output"] = info.is_output;
  fields["readers"] = info.readers;
  fields["shape"] = info.has_shape ? ShapeTuple(info.shape) : nb::none();
  return fields;
}

CastNode NodeOf(int to, bool saturate, const std::string& round_mode, nb::handle name,
                nb::handle output_name, bool training, double lda_coeff) {
  CastNode node;
  node.to = static_cast<DataType>(to);
  node.saturate = saturate;
  node.round_mode = ModeOf(round_mode);
  node.name = FromStr(name);
  if (!output_name.is_none()) node.output_names = {FromStr(output_name)};
  node.training = training;
  node.lda_coeff = lda_coeff;
  return node;
}

}  // namespace

nb::dict OptimizeReportDict(const onnx::OptimizeReport& report);  // model.cc

void BindGraph(nb::module_& m) {
  nb::class_<Graph>(m, "Graph")
      .def(
          "__init__",
          [](Graph* self, std::optional<std::int64_t> opset, bool raises_opset) {
            GraphOptions options;
            if (opset) options.opset = *opset;
            options.raises_opset = raises_opset;
            Graph graph;
            std::string error;
            Check(Graph::Create(options, &graph, &error), error);
            new (self) Graph(std::move(graph));
          },
          nb::arg("opset").none(), nb::arg("raises_opset"))
      .def_static(
          "load",
          [](nb::handle source, bool allow_hard_links) {
            onnx::LoadOptions options;
            options.allow_hard_links = allow_hard_links;
            Graph graph;
            std::string error;
            if (PyBytes_Check(source.ptr()) != 0) {
              const auto bytes = nb::borrow<nb::bytes>(source);
              Check(Graph::Parse({static_cast<const std::byte*>(bytes.data()), bytes.size()},
                                 options, &graph, &error),
                    error);
            } else {
              Check(Graph::Load(FromStr(source), options, &graph, &error), error);
            }
            return graph;
          },
          nb::arg("source"), nb::arg("allow_hard_links"))
      .def(
          "save",
          [](const Graph& self, nb::handle path, bool with_training, bool overwrite) {
            std::string error;
            Check(self.Save(FromStr(path), {.with_training = with_training, .overwrite = overwrite},
                            &error),
                  error);
          },
          nb::arg("path"), nb::arg("with_training"), nb::arg("overwrite"))
      .def(
          "serialize",
          [](const Graph& self, bool with_training) {
            std::vector<std::byte> bytes;
            std::string error;
            Check(self.Serialize({.with_training = with_training}, &bytes, &error), error);
            return nb::bytes(bytes.data(), bytes.size());
          },
          nb::arg("with_training"))
      .def(
          "optimize",
          [](Graph& self, bool fold_all, bool nan_payloads_may_change) {
            onnx::OptimizeOptions options;
            options.fold_all = fold_all;
            options.nan_payloads_may_change = nan_payloads_may_change;
            onnx::OptimizeReport report;
            std::string error;
            Check(self.Optimize(options, &report, &error), error);
            return OptimizeReportDict(report);
          },
          nb::arg("fold_all"), nb::arg("nan_payloads_may_change"))
      .def("opset", &Graph::opset)
      .def(
          "set_opset",
          [](Graph& self, std::optional<std::int64_t> opset) {
            std::string error;
            Check(opset ? self.SetOpset(*opset, &error) : self.SetLowestOpset(&error), error);
          },
          nb::arg("opset").none())
      .def(
          "add_input",
          [](Graph& self, nb::handle name, int type, nb::handle shape) {
            GraphValue value;
            std::string error;
            const auto kind = static_cast<DataType>(type);
            Check(shape.is_none()
                      ? self.AddInput(FromStr(name), kind, &value, &error)
                      : self.AddInput(FromStr(name), kind, DimensionsOf(shape), &value, &error),
                  error);
            return HandleOf(value);
          },
          nb::arg("name"), nb::arg("type"), nb::arg("shape").none())
      .def(
          "add_constant",
          [](Graph& self, nb::handle name, nb::handle tensor) {
            const HeldTensor held(tensor);
            GraphValue value;
            std::string error;
            Check(self.AddConstant(FromStr(name), held.view(), &value, &error), error);
            return HandleOf(value);
          },
          nb::arg("name"), nb::arg("tensor"))
      .def(
          "add_cast",
          [](Graph& self, nb::handle input, int to, bool saturate, const std::string& round_mode,
             nb::handle name, nb::handle output_name, bool training, double lda_coeff) {
            GraphValue value;
            std::string error;
            Check(self.AddCast(
                      ValueOf(input),
                      NodeOf(to, saturate, round_mode, name, output_name, training, lda_coeff),
                      &value, &error),
                  error);
            return HandleOf(value);
          },
          nb::arg("input"), nb::arg("to"), nb::arg("saturate"), nb::arg("round_mode"),
          nb::arg("name"), nb::arg("output_name").none(), nb::arg("training"), nb::arg("lda_coeff"))
      .def(
          "add_cast_like",
          [](Graph& self, nb::handle input, nb::handle target, bool saturate,
             const std::string& round_mode, nb::handle name, nb::handle output_name, bool training,
             double lda_coeff) {
            GraphValue value;
            std::string error;
            Check(self.AddCastLike(
                      ValueOf(input), ValueOf(target),
                      NodeOf(0, saturate, round_mode, name, output_name, training, lda_coeff),
                      &value, &error),
                  error);
            return HandleOf(value);
          },
          nb::arg("input"), nb::arg("target"), nb::arg("saturate"), nb::arg("round_mode"),
          nb::arg("name"), nb::arg("output_name").none(), nb::arg("training"), nb::arg("lda_coeff"))
      .def(
          "add_identity",
          [](Graph& self, nb::handle input, nb::handle name, nb::handle output_name) {
            GraphValue value;
            std::string error;
            Check(self.AddIdentity(ValueOf(input), FromStr(name), FromStr(output_name), &value,
                                   &error),
                  error);
            return HandleOf(value);
          },
          nb::arg("input"), nb::arg("name"), nb::arg("output_name"))
      .def(
          "mark_output",
          [](Graph& self, nb::handle value, nb::handle name) {
            std::string error;
            Check(self.MarkOutput(ValueOf(value), FromStr(name), &error), error);
          },
          nb::arg("value"), nb::arg("name"))
      .def("inputs",
           [](const Graph& self) {
             nb::list handles;
             for (const GraphValue& value : self.inputs()) handles.append(HandleOf(value));
             return handles;
           })
      .def("outputs",
           [](const Graph& self) {
             nb::list handles;
             for (const GraphValue& value : self.outputs()) handles.append(HandleOf(value));
             return handles;
           })
      .def("nodes",
           [](const Graph& self) {
             nb::list nodes;
             for (const GraphNode& node : self.Nodes()) nodes.append(NodeDict(node));
             return nodes;
           })
      .def(
          "node",
          [](const Graph& self, nb::handle key) {
            std::string text;
            std::string error;
            GraphNode node;
            Check(self.Node(KeyOf(key, &text), &node, &error), error);
            return NodeDict(node);
          },
          nb::arg("key").none())
      .def("values",
           [](const Graph& self) {
             nb::list values;
             for (const GraphValueInfo& info : self.Values()) values.append(ValueDict(info));
             return values;
           })
      .def(
          "value",
          [](const Graph& self, nb::handle handle) {
            GraphValueInfo info;
            std::string error;
            Check(self.Value(ValueOf(handle), &info, &error), error);
            return ValueDict(info);
          },
          nb::arg("value"))
      .def(
          "find_value",
          [](const Graph& self, nb::handle name) {
            GraphValue value;
            std::string error;
            Check(self.FindValue(FromStr(name), &value, &error), error);
            return HandleOf(value);
          },
          nb::arg("name"))
      .def(
          "set",
          [](Graph& self, nb::handle key, std::optional<int> to, std::optional<bool> saturate,
             const std::optional<std::string>& round_mode, std::optional<bool> training,
             std::optional<double> lda_coeff) {
            CastChange change;
            if (to) change.to = static_cast<DataType>(*to);
            change.saturate = saturate;
            if (round_mode) change.round_mode = ModeOf(*round_mode);
            change.training = training;
            change.lda_coeff = lda_coeff;
            std::string text;
            std::string error;
            Check(self.Set(KeyOf(key, &text), change, &error), error);
          },
          nb::arg("key").none(), nb::arg("to").none(), nb::arg("saturate").none(),
          nb::arg("round_mode").none(), nb::arg("training").none(), nb::arg("lda_coeff").none())
      .def(
          "rename_node",
          [](Graph& self, nb::handle key, nb::handle name) {
            std::string text;
            std::string error;
            Check(self.RenameNode(KeyOf(key, &text), FromStr(name), &error), error);
          },
          nb::arg("key").none(), nb::arg("name"))
      .def(
          "rename_value",
          [](Graph& self, nb::handle value, nb::handle name) {
            std::string error;
            Check(self.RenameValue(ValueOf(value), FromStr(name), &error), error);
          },
          nb::arg("value"), nb::arg("name"))
      .def(
          "remove_node",
          [](Graph& self, nb::handle key) {
            std::string text;
            std::string error;
            Check(self.RemoveNode(KeyOf(key, &text), &error), error);
          },
          nb::arg("key").none())
      .def(
          "summary",
          [](const Graph& self, bool csv) {
            return ToStr(self.Summary(csv ? SummaryFormat::kCsv : SummaryFormat::kText));
          },
          nb::arg("csv"));
}

}  // namespace tensorcast::python
