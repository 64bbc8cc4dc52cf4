// What was lost, as Python has it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_LOSS_H_
#define TENSORCAST_PYTHON_LOSS_H_

#include <nanobind/nanobind.h>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::python {

// Gives the fields of the package's LossReport.
nanobind::dict ReportDict(const LossReport& report);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_LOSS_H_
