// What casts lose: the library's meter, and its report as a dict.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_LOSS_H_
#define TENSORCAST_PYTHON_LOSS_H_

#include <nanobind/nanobind.h>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::python {

void BindLoss(nanobind::module_& m);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_LOSS_H_
