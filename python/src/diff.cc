// Two inputs are compared as Python asks for it; what is found becomes tuples.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/diff.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "bindings.h"
#include "errors.h"
#include "loss.h"
#include "progress.h"
#include "text_objects.h"
#include "threads.h"
#include "types.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// Makes a request of a dict of diff()'s arguments.
DiffRequest DiffRequestOf(const nb::dict& words) {
  DiffRequest request;
  request.a = FromStr(words["a"]);
  request.b = FromStr(words["b"]);
  for (const nb::handle rename : words["rename"]) {
    request.renames.push_back({FromStr(rename[0]), FromStr(rename[1]), "in rename="});
  }
  for (const nb::handle text : words["only"]) request.only.push_back(FromStr(text));
  for (const nb::handle text : words["exclude"]) request.excluded.push_back(FromStr(text));
  request.ignore_scales = nb::cast<bool>(words["ignore_scales"]);
  if (!words["assume_type"].is_none()) request.assume_type = TypeArgument(words["assume_type"]);
  request.allow_hard_links = nb::cast<bool>(words["allow_hard_links"]);
  if (!words["root"].is_none()) request.root = FromStr(words["root"]);
  if (!words["root_of_b"].is_none()) request.root_of_b = FromStr(words["root_of_b"]);
  return request;
}

// Gives the fields of the package's DiffSide, in their order; None where there is none.
nb::object SideTuple(const std::optional<DiffSide>& side) {
  if (!side) return nb::none();
  return nb::make_tuple(ToStr(side->name), ToStr(side->dtype),
                        side->layout.empty() ? TypeOrNone(side->type) : nb::none(),
                        side->layout.empty() ? nb::none() : ToStr(side->layout),
                        nb::tuple(ListOf(side->shape, std::identity())), side->bytes);
}

nb::tuple DiffTuple(const TensorDiff& diff) {
  return nb::make_tuple(ToStr(DiffKindName(diff.kind)), SideTuple(diff.a), SideTuple(diff.b),
                        diff.elements, diff.different,
                        diff.different != 0 ? nb::object(nb::int_(diff.first)) : nb::none(),
                        diff.loss ? nb::object(ReportDict(*diff.loss)) : nb::none());
}

// Gives whether the two are equal, the tensors, and what should be known of them.
nb::tuple Compare(const nb::dict& words, std::optional<std::size_t> asked, nb::handle progress) {
  const DiffRequest request = DiffRequestOf(words);
  ProgressTeller teller(progress);
  DiffReport report;
  std::string error;
  Status status;
  RunInterruptibly([&](std::atomic<bool>& interrupted) {
    CallThreads threads(ThreadsFor(asked, kBytesThatPay));  // none begins where there is little
    convert::RunSettings settings;
    if (threads.Concurrency() > 1) settings.executor = &threads;
    settings.interrupted = &interrupted;
    settings.progress = teller.For(interrupted);
    status = Diff(request, settings, &report, &error);
  });
  teller.Raise();
  Check(status, error);
  return nb::make_tuple(report.equal(), ListOf(report.tensors, DiffTuple),
                        ListOf(report.notes, ToStr));
}

}  // namespace

void BindDiff(nb::module_& m) {
  m.def("diff", &Compare, nb::arg("words"), nb::arg("threads").none(), nb::arg("progress").none());
}

}  // namespace tensorcast::python
