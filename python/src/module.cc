// The extension module tensorcast._core: what the package's Python is made of. Each file binds its
// own part; what users call stands in python/tensorcast.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <string>

#include "arrays.h"
#include "cast.h"
#include "errors.h"
#include "loss.h"
#include "tensorcast/tensorcast.hpp"
#include "texts.h"
#include "types.h"

NB_MODULE(_core, m) {
  using namespace tensorcast::python;  // NOLINT(google-build-using-namespace): one line each
  ImportNumpy();
  m.attr("version") = std::string(tensorcast::Version()).c_str();
  BindErrors(m);
  BindTypes(m);
  BindLoss(m);
  BindCast(m);
  BindTexts(m);
}
