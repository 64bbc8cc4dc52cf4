// The extension module tensorcast._core: what the package's Python is made of. Each file binds its
// own part; what users call stands in python/tensorcast.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <string>

#include "arrays.h"
#include "bindings.h"
#include "tensorcast/tensorcast.hpp"

NB_MODULE(_core, m) {
  using namespace tensorcast::python;  // NOLINT(google-build-using-namespace): one line each
  // What is remembered here (types.cc, errors.cc) are objects of one interpreter.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError, "tensorcast is not for subinterpreters, as numpy is not");
    throw nanobind::python_error();
  }
  ImportNumpy();
  m.attr("version") = std::string(tensorcast::Version()).c_str();
  BindErrors(m);
  BindTypes(m);
  BindLoss(m);
  BindCast(m);
  BindTexts(m);
  BindExplain(m);
  BindFiles(m);
  BindConversion(m);
  BindModel(m);
  BindGraph(m);
  BindSession(m);
}
