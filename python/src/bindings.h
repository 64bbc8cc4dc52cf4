// Each file of the extension adds its part to the module by one of these, which module.cc calls.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_BINDINGS_H_
#define TENSORCAST_PYTHON_BINDINGS_H_

#include <nanobind/nanobind.h>

namespace tensorcast::python {

void BindErrors(nanobind::module_& m);
void BindTypes(nanobind::module_& m);
void BindLoss(nanobind::module_& m);
void BindCast(nanobind::module_& m);
void BindQuickCast(nanobind::module_& m);
void BindJax(nanobind::module_& m);
void BindArrays(nanobind::module_& m);
void BindTexts(nanobind::module_& m);
void BindExplain(nanobind::module_& m);
void BindExponents(nanobind::module_& m);
void BindFiles(nanobind::module_& m);
void BindFileSystem(nanobind::module_& m);
void BindNames(nanobind::module_& m);
void BindLentArrays(nanobind::module_& m);
void BindConversion(nanobind::module_& m);
void BindOutputs(nanobind::module_& m);
void BindWriter(nanobind::module_& m);
void BindDiff(nanobind::module_& m);
void BindModel(nanobind::module_& m);
void BindGraph(nanobind::module_& m);
void BindSession(nanobind::module_& m);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_BINDINGS_H_
