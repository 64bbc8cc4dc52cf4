// ONNX models: their Casts taken out.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "tensorcast/onnx.hpp"
#include "text_objects.h"
#include "threads.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

std::vector<std::byte> CopyOf(const nb::bytes& bytes) {
  const auto* const data = static_cast<const std::byte*>(bytes.data());
  return {data, data + bytes.size()};
}

// What stands behind the reason.
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

nb::dict OptimizeReportDict(const onnx::OptimizeReport& report) {
  nb::list removed;
  for (const onnx::RemovedNode& node : report.removed) {
    nb::dict fields;
    fields["rule"] = ToStr(onnx::OptimizeRuleName(node.rule));
    fields["op_type"] = ToStr(node.op_type);
    fields["node"] = ToStr(node.node);
    fields["output"] = ToStr(node.output);
    fields["graph"] = ToStr(node.graph);
    fields["from_type"] =
        node.from == DataType::kUndefined ? nb::none() : ToStr(TypeName(node.from));
    fields["to_type"] = node.to == DataType::kUndefined ? nb::none() : ToStr(TypeName(node.to));
    removed.append(fields);
  }
  nb::dict kept;
  for (const onnx::KeptCasts& casts : report.kept) {
    kept[ToStr(std::string(casts.reason).append(RemedyText(casts.remedy)))] = casts.casts;
  }
  nb::list notes;
  for (const std::string& note : report.notes) notes.append(ToStr(note));
  nb::dict fields;
  fields["removed"] = removed;
  fields["kept"] = kept;
  fields["untouched"] = ToStr(report.untouched);
  fields["nodes_before"] = report.nodes_before;
  fields["nodes_after"] = report.nodes_after;
  fields["casts_before"] = report.casts_before;
  fields["casts_after"] = report.casts_after;
  fields["bytes_moved_before"] = report.bytes_moved_before;
  fields["bytes_moved_after"] = report.bytes_moved_after;
  fields["model_bytes_before"] = report.model_bytes_before;
  fields["model_bytes_after"] = report.model_bytes_after;
  fields["casts_rerouted"] = report.casts_rerouted;
  fields["notes"] = notes;
  return fields;
}

void BindModel(nb::module_& m) {
  // A model in memory gives another; one in a file is written to another.
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
        if (PyBytes_Check(source.ptr()) != 0) {
          const std::vector<std::byte> model = CopyOf(nb::borrow<nb::bytes>(source));
          RunInterruptibly([&](std::atomic<bool>& interrupted) {
            options.interrupted = &interrupted;
            status = onnx::Optimize(std::span<const std::byte>(model), options, &optimized, &report,
                                    &error);
          });
        } else {
          const std::string read = FromStr(source);
          const std::string written = FromStr(output);
          RunInterruptibly([&](std::atomic<bool>& interrupted) {
            options.interrupted = &interrupted;
            status = onnx::Optimize(read, written, options, &report, &error);
          });
        }
        Check(status, error);
        return nb::make_tuple(nb::bytes(optimized.data(), optimized.size()),
                              OptimizeReportDict(report));
      },
      nb::arg("source"), nb::arg("output").none(), nb::arg("fold_all"),
      nb::arg("nan_payloads_may_change"), nb::arg("overwrite"), nb::arg("allow_hard_links"));
}

}  // namespace tensorcast::python
