// Errors as Python has them; see errors.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <array>
#include <cstddef>

#include "bindings.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// In the order of ErrorClass; set once, when the package is imported, and never given back.
constexpr std::array<const char*, 6> kNames = {
    "ArgumentError", "KindError", "RangeError", "FileError", "ContentsError", "UnsupportedError"};
std::array<PyObject*, kNames.size()>& Classes() {
  static std::array<PyObject*, kNames.size()> classes = {};
  return classes;
}

ErrorClass ClassOf(StatusCode code) {
  switch (code) {
    case StatusCode::kFileError: return ErrorClass::kFile;
    case StatusCode::kBadFile: return ErrorClass::kContents;
    case StatusCode::kNotAnInteger:
    case StatusCode::kSizeOverflow: return ErrorClass::kRange;
    case StatusCode::kUnsupported:
    case StatusCode::kUnsupportedFile:
    case StatusCode::kTargetUnavailable: return ErrorClass::kUnsupported;
    default: return ErrorClass::kValue;
  }
}

}  // namespace

void Raise(ErrorClass error, std::string_view line) {
  // Lines are ASCII but for names of files, which need not be UTF-8.
  PyObject* text =
      PyUnicode_DecodeUTF8(line.data(), static_cast<Py_ssize_t>(line.size()), "surrogateescape");
  if (text != nullptr) {
    PyErr_SetObject(Classes()[static_cast<std::size_t>(error)], text);
    Py_DECREF(text);
  }
  throw nb::python_error();
}

void RaiseStatus(Status status, const std::string& line) {
  if (PyErr_Occurred() != nullptr) throw nb::python_error();  // Ctrl-C, or out of a callback
  if (status.code() == StatusCode::kOutOfMemory) {
    PyErr_NoMemory();
    throw nb::python_error();
  }
  if (status.code() == StatusCode::kInterrupted) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  Raise(ClassOf(status.code()), line.empty() ? status.message() : std::string_view(line));
}

void BindErrors(nb::module_& m) {
  m.def(
      "set_errors",
      [](const nb::module_& errors) {
        for (std::size_t i = 0; i < kNames.size(); ++i) {
          Classes()[i] = nb::object(errors.attr(kNames[i])).release().ptr();
        }
      },
      nb::arg("errors"));
}

}  // namespace tensorcast::python
