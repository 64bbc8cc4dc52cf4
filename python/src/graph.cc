// A graph of casts is built, changed and saved here, node by node.
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
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "cast.h"
#include "errors.h"
#include "tensors.h"
#include "text_objects.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"input", "constant", "result"};

RoundingMode ModeOf(std::string_view word) {
  CastOptions options;
  SetWord(CastOption::kRoundMode, word, &options);
  return options.round_mode;
}

// Python holds a value as its graph's number and its own.
nb::tuple HandleOf(const GraphValue& value) { return nb::make_tuple(value.graph, value.index); }
GraphValue ValueOf(nb::handle handle) {
  return {nb::cast<std::uint32_t>(handle[0]), nb::cast<std::uint32_t>(handle[1])};
}

// Python names a node by its index or its name, and all nodes by None.
NodeKey KeyOf(nb::handle key) {
  if (key.is_none()) return NodeKey::All();
  std::size_t index = 0;
  if (PyBool_Check(key.ptr()) == 0 && nb::try_cast(key, index)) return NodeKey::Index(index);
  if (PyUnicode_Check(key.ptr()) == 0) {
    Raise(ErrorClass::kKind, "a node is named by its index or its name; None means all");
  }
  return NodeKey::Name(FromStr(key));
}

std::vector<GraphDimension> DimensionsOf(nb::handle shape) {
  std::vector<GraphDimension> dimensions;
  for (const nb::handle size : shape) {
    GraphDimension dimension;
    if (PyUnicode_Check(size.ptr()) != 0) {
      dimension.name = FromStr(size);
    } else if (!size.is_none()) {
      std::uint64_t value = 0;
      if (!nb::try_cast(size, value)) {
        Raise(ErrorClass::kValue, "a dimension must be a size, a name or None");
      }
      dimension.size = value;
    }
    dimensions.push_back(std::move(dimension));
  }
  return dimensions;
}

nb::object DimensionOf(const GraphDimension& dimension) {
  if (dimension.size) return nb::int_(*dimension.size);
  return dimension.name.empty() ? nb::none() : ToStr(dimension.name);
}

// These give the fields of the package's Node and ValueDetails, in their order.
nb::tuple NodeTuple(const GraphNode& node) {
  const auto mode = CastOptionValue(CastOption::kRoundMode, {.round_mode = node.round_mode});
  return nb::make_tuple(node.index, ToStr(node.name), ToStr(node.op_type), ToStr(node.domain),
                        TypeOrNone(node.from), TypeOrNone(node.to), node.is_cast, node.saturate,
                        ToStr(mode), node.training, node.lda_coeff, ListOf(node.inputs, HandleOf),
                        ListOf(node.outputs, HandleOf));
}
nb::tuple DetailsTuple(const GraphValueInfo& info) {
  return nb::make_tuple(
      HandleOf(info.value), ToStr(info.name), TypeOrNone(info.type),
      ToStr(kKinds[static_cast<std::size_t>(info.kind)]), info.is_output, info.readers,
      info.has_shape ? nb::object(nb::tuple(ListOf(info.shape, DimensionOf))) : nb::none());
}

// Makes a node of a tuple: saturate, round_mode, name, output_name or None, training, lda_coeff.
CastNode NodeOf(const nb::tuple& words) {
  CastNode node;
  node.saturate = nb::cast<bool>(words[0]);
  node.round_mode = ModeOf(FromStr(words[1]));
  node.name = FromStr(words[2]);
  if (!words[3].is_none()) node.output_names = {FromStr(words[3])};
  node.training = nb::cast<bool>(words[4]);
  node.lda_coeff = nb::cast<double>(words[5]);
  return node;
}

}  // namespace

// Gives the fields of the package's OptimizeReport, in their order (model.cc).
nb::tuple ReportTuple(const onnx::OptimizeReport& report);

void BindGraph(nb::module_& m) {
  nb::class_<Graph>(m, "Graph")
      .def(
          "__init__",
          [](Graph* self, std::optional<std::int64_t> opset, bool raises_opset) {
            GraphOptions options;
            if (opset) options.opset = *opset;
            options.raises_opset = raises_opset;
            new (self) Graph(Made<Graph>(&Graph::Create, options));
          },
          nb::arg("opset").none(), nb::arg("raises_opset"))
      .def_static("load",
                  [](nb::handle source, bool allow_hard_links) {
                    onnx::LoadOptions options;
                    options.allow_hard_links = allow_hard_links;
                    const auto bytes = ModelBytes(source);
                    return bytes ? Made<Graph>(&Graph::Parse, *bytes, options)
                                 : Made<Graph>(&Graph::Load, FromStr(source), options);
                  })
      .def("save",
           [](const Graph& self, nb::handle path, bool with_training, bool overwrite) {
             Call(&Graph::Save, self, FromStr(path),
                  SaveOptions{.with_training = with_training, .overwrite = overwrite});
           })
      .def("serialize",
           [](const Graph& self, bool with_training) {
             const auto bytes = Made<std::vector<std::byte>>(
                 &Graph::Serialize, self, SaveOptions{.with_training = with_training});
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("optimize",
           [](Graph& self, bool fold_all, bool nan_payloads_may_change) {
             onnx::OptimizeOptions options;
             options.fold_all = fold_all;
             options.nan_payloads_may_change = nan_payloads_may_change;
             return ReportTuple(Made<onnx::OptimizeReport>(&Graph::Optimize, self, options));
           })
      .def("opset", &Graph::opset)
      .def("set_opset",
           [](Graph& self, std::int64_t opset) { Call(&Graph::SetOpset, self, opset); })
      .def("set_lowest_opset", [](Graph& self) { Call(&Graph::SetLowestOpset, self); })
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
      .def("add_constant",
           [](Graph& self, nb::handle name, nb::handle tensor) {
             const HeldTensor held(tensor);
             return HandleOf(
                 Made<GraphValue>(&Graph::AddConstant, self, FromStr(name), held.view()));
           })
      .def("add_cast",
           [](Graph& self, nb::handle input, int to, const nb::tuple& words) {
             CastNode node = NodeOf(words);
             node.to = static_cast<DataType>(to);
             return HandleOf(Made<GraphValue>(&Graph::AddCast, self, ValueOf(input), node));
           })
      .def("add_cast_like",
           [](Graph& self, nb::handle input, nb::handle target, const nb::tuple& words) {
             return HandleOf(Made<GraphValue>(&Graph::AddCastLike, self, ValueOf(input),
                                              ValueOf(target), NodeOf(words)));
           })
      .def("add_identity",
           [](Graph& self, nb::handle input, nb::handle name, nb::handle output_name) {
             return HandleOf(Made<GraphValue>(&Graph::AddIdentity, self, ValueOf(input),
                                              FromStr(name), FromStr(output_name)));
           })
      .def("mark_output",
           [](Graph& self, nb::handle value, nb::handle name) {
             Call(&Graph::MarkOutput, self, ValueOf(value), FromStr(name));
           })
      .def("inputs", [](const Graph& self) { return ListOf(self.inputs(), HandleOf); })
      .def("outputs", [](const Graph& self) { return ListOf(self.outputs(), HandleOf); })
      .def("nodes", [](const Graph& self) { return ListOf(self.Nodes(), NodeTuple); })
      .def(
          "node",
          [](const Graph& self, nb::handle key) {
            return NodeTuple(Made<GraphNode>(&Graph::Node, self, KeyOf(key)));
          },
          nb::arg("key").none())
      .def("values", [](const Graph& self) { return ListOf(self.Values(), DetailsTuple); })
      .def("value",
           [](const Graph& self, nb::handle handle) {
             return DetailsTuple(Made<GraphValueInfo>(&Graph::Value, self, ValueOf(handle)));
           })
      .def("find_value",
           [](const Graph& self, nb::handle name) {
             return HandleOf(Made<GraphValue>(&Graph::FindValue, self, FromStr(name)));
           })
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
            Call(&Graph::Set, self, KeyOf(key), change);
          },
          nb::arg("key").none(), nb::arg("to").none(), nb::arg("saturate").none(),
          nb::arg("round_mode").none(), nb::arg("training").none(), nb::arg("lda_coeff").none())
      .def(
          "rename_node",
          [](Graph& self, nb::handle key, nb::handle name) {
            Call(&Graph::RenameNode, self, KeyOf(key), FromStr(name));
          },
          nb::arg("key").none(), nb::arg("name"))
      .def("rename_value",
           [](Graph& self, nb::handle value, nb::handle name) {
             Call(&Graph::RenameValue, self, ValueOf(value), FromStr(name));
           })
      .def(
          "remove_node",
          [](Graph& self, nb::handle key) { Call(&Graph::RemoveNode, self, KeyOf(key)); },
          nb::arg("key").none())
      .def("summary", [](const Graph& self, bool csv) {
        return ToStr(self.Summary(csv ? SummaryFormat::kCsv : SummaryFormat::kText));
      });
}

}  // namespace tensorcast::python
