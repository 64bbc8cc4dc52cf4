// Models are handled here: ONNX models lose the Casts that can go, MDF models are read as graphs
// and written.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "tensorcast/graph.hpp"
#include "tensorcast/mdf.hpp"
#include "tensorcast/onnx.hpp"
#include "text_objects.h"
#include "threads.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

nb::dict RemovedDict(const onnx::RemovedNode& node) {
  nb::dict fields;
  fields["rule"] = ToStr(onnx::OptimizeRuleName(node.rule));
  fields["op_type"] = ToStr(node.op_type);
  fields["node"] = ToStr(node.node);
  fields["output"] = ToStr(node.output);
  fields["graph"] = ToStr(node.graph);
  fields["from_type"] = TypeOrNone(node.from);
  fields["to_type"] = TypeOrNone(node.to);
  return fields;
}

// Says what would let the Casts go; this stands behind the reason.
std::string_view RemedyText(onnx::KeptRemedy remedy) {
  switch (remedy) {
    case onnx::KeptRemedy::kNanPayloads: return "; nan_payloads_may_change=True allows that";
    case onnx::KeptRemedy::kFoldAll: return "; fold_all=True allows that";
    case onnx::KeptRemedy::kInferShapes:
      return "; onnx.shape_inference.infer_shapes(model) may say it";
    case onnx::KeptRemedy::kNone: break;
  }
  return {};
}

}  // namespace

nb::tuple ReportTuple(const onnx::OptimizeReport& report) {
  nb::dict kept;
  for (const onnx::KeptCasts& casts : report.kept) {
    kept[ToStr(std::string(casts.reason).append(RemedyText(casts.remedy)))] = casts.casts;
  }
  return nb::make_tuple(ListOf(report.removed, RemovedDict), kept, ToStr(report.untouched),
                        report.nodes_before, report.nodes_after, report.casts_before,
                        report.casts_after, report.bytes_moved_before, report.bytes_moved_after,
                        report.model_bytes_before, report.model_bytes_after, report.casts_rerouted,
                        ListOf(report.notes, ToStr));
}

void BindModel(nb::module_& m) {
  // A model in memory gives another one; a model in a file is written to another file.
  m.def(
      "optimize",
      [](nb::handle source, nb::handle output, bool fold_all, bool nan_payloads_may_change,
         bool overwrite, bool allow_hard_links) {
        onnx::OptimizeOptions options;
        options.fold_all = fold_all;
        options.nan_payloads_may_change = nan_payloads_may_change;
        options.overwrite = overwrite;
        options.allow_hard_links = allow_hard_links;
        onnx::OptimizeReport report;
        std::string error;
        Status status;
        std::vector<std::byte> optimized;
        const auto model = ModelBytes(source);
        const std::string read = model ? "" : FromStr(source);
        const std::string written = model ? "" : FromStr(output);
        RunInterruptibly([&](std::atomic<bool>& interrupted) {
          options.interrupted = &interrupted;
          status = model ? onnx::Optimize(*model, options, &optimized, &report, &error)
                         : onnx::Optimize(read, written, options, &report, &error);
        });
        Check(status, error);
        return nb::make_tuple(nb::bytes(optimized.data(), optimized.size()), ReportTuple(report));
      },
      nb::arg("source"), nb::arg("output").none(), nb::arg("fold_all"),
      nb::arg("nan_payloads_may_change"), nb::arg("overwrite"), nb::arg("allow_hard_links"));

  m.def("is_mdf_file", [](nb::handle path) { return mdf::IsModelFile(FromStr(path)); });
  m.def(
      "load_mdf",
      [](nb::handle path, const nb::dict& input_types, std::optional<int> other_inputs) {
        mdf::LoadOptions options;
        for (const auto [name, number] : input_types) {
          options.input_types[FromStr(name)] = static_cast<DataType>(nb::cast<int>(number));
        }
        if (other_inputs) options.other_inputs = static_cast<DataType>(*other_inputs);
        return Made<Graph>(&mdf::Load, FromStr(path), options);
      },
      nb::arg("path"), nb::arg("input_types"), nb::arg("other_inputs").none());
  m.def("save_mdf", [](const Graph& graph, nb::handle path, bool overwrite) {
    Call(&mdf::Save, graph, FromStr(path), mdf::SaveOptions{.overwrite = overwrite});
  });
}

}  // namespace tensorcast::python
