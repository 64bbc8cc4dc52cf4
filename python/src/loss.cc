// The library's meter counts what casts lose; its report becomes a dict here.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bindings.h"
#include "cast.h"
#include "errors.h"
#include "loss.h"
#include "tensorcast/report.hpp"
#include "text_objects.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// Gives the index, the two values as doubles, and their codes.
nb::object ExampleDict(const LossReport& report, const LossExample& example) {
  nb::dict fields;
  fields["index"] = example.index;
  fields["source_code"] = example.source_code;
  fields["result_code"] = example.result_code;
  if (report.from != DataType::kUndefined) {
    fields["source"] = ValueOf(report.from, example.source_code);
    fields["result"] = ValueOf(report.to, example.result_code);
  }
  return fields;
}

}  // namespace

nb::dict ReportDict(const LossReport& report) {
  constexpr std::array kVerdicts = {"lost", "poor", "good"};
  nb::dict counts;
  nb::dict first;
  for (std::size_t i = 0; i < kLossKinds; ++i) {
    const std::string name(LossName(static_cast<Loss>(i)));
    counts[name.c_str()] = report.counts[i];
    if (report.counts[i] != 0) first[name.c_str()] = ExampleDict(report, report.first[i]);
  }
  nb::dict fields;
  fields["from_type"] = TypeOrNone(report.from);
  fields["to_type"] = TypeOrNone(report.to);
  fields["elements"] = report.elements;
  fields["counts"] = counts;
  fields["first"] = first;
  // Without elements there is no figure, as in the tool.
  const auto figure = [](std::uint64_t elements, double value) {
    return elements == 0 ? std::numeric_limits<double>::quiet_NaN() : value;
  };
  fields["compared"] = report.compared;
  fields["max_abs_error"] = figure(report.compared, report.max_abs_error);
  fields["max_abs_example"] =
      report.compared == 0 ? nb::none() : ExampleDict(report, report.max_abs_example);
  fields["max_rel_error"] = figure(report.compared_nonzero, report.max_rel_error);
  fields["max_rel_example"] =
      report.compared_nonzero == 0 ? nb::none() : ExampleDict(report, report.max_rel_example);
  fields["sum_squares"] = report.sum_squares;
  fields["sum_squared_error"] = report.sum_squared_error;
  fields["rmse"] = figure(report.compared, report.rmse);
  fields["snr_db"] = figure(report.compared, report.snr_db);
  fields["finite"] = report.finite;
  fields["amax"] = figure(report.finite, report.amax);
  fields["smallest_nonzero"] = figure(report.smallest_nonzero > 0, report.smallest_nonzero);
  fields["verdict"] = kVerdicts[static_cast<std::size_t>(Judge(report))];
  return fields;
}

void BindLoss(nb::module_& m) {
  nb::class_<LossMeter>(m, "LossMeter")
      .def("__init__",
           [](LossMeter* self, int from, int to, const nb::dict& options) {
             new (self) LossMeter(static_cast<DataType>(from), static_cast<DataType>(to),
                                  OptionsOf(options));
           })
      .def("merge", [](LossMeter& self, const LossMeter& other) { Check(self.Merge(other)); })
      .def("copy", [](const LossMeter& self) { return LossMeter(self); })
      .def("report", [](const LossMeter& self) { return ReportDict(self.Report()); })
      .def("save",
           [](const LossMeter& self) {
             std::vector<std::byte> bytes(LossMeter::SavedBytes());
             Check(self.Save(bytes));
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def_static("load", [](const nb::bytes& bytes) {
        LossMeter meter(DataType::kFloat32, DataType::kFloat32, {});
        Check(meter.Load({static_cast<const std::byte*>(bytes.data()), bytes.size()}));
        return meter;
      });
}

}  // namespace tensorcast::python
