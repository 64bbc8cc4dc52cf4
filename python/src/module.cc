// The extension module tensorcast._core is what the package's Python is made of. Each file binds
// its own part; what users call stands in python/tensorcast.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <string>

#include "arrays.h"
#include "bindings.h"
#include "tensorcast/tensorcast.hpp"

NB_MODULE(_core_of_first_interpreter, m) {
  using namespace tensorcast::python;  // NOLINT(google-build-using-namespace): one line each
  ImportNumpy();
  m.attr("version") = std::string(tensorcast::Version()).c_str();
  BindErrors(m);
  BindTypes(m);
  BindLoss(m);
  BindCast(m);
  BindQuickCast(m);
  BindJax(m);
  BindArrays(m);
  BindTexts(m);
  BindExplain(m);
  BindExponents(m);
  BindFiles(m);
  BindFileSystem(m);
  BindNames(m);
  BindLentArrays(m);
  BindConversion(m);
  BindOutputs(m);
  BindWriter(m);
  BindDiff(m);
  BindModel(m);
  BindGraph(m);
  BindSession(m);
}

// Python calls this. What is remembered here (types.cc, errors.cc, nanobind) belongs to one
// interpreter, and nanobind would forget it before the module's own code could refuse another.
extern "C" NB_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError,
                    "tensorcast is not for subinterpreters: it has state of one");
    return nullptr;
  }
  return PyInit__core_of_first_interpreter();
}
