// The library's errors become the classes of tensorcast/errors.py here.
//
// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <array>
#include <cstddef>

#include "bindings.h"
#include "core/failure.h"
#include "files/error.h"
#include "text_objects.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// These stand in the order of ErrorClass. Their classes are set once, when the package is imported,
// and never given back.
constexpr std::array<const char*, 7> kNames = {"ArgumentError", "KindError",     "RangeError",
                                               "FileError",     "ContentsError", "UnsupportedError",
                                               "InternalError"};
std::array<PyObject*, kNames.size()>& Classes() {
  static std::array<PyObject*, kNames.size()> classes = {};
  return classes;
}

PyObject* of_system = nullptr;  // the function of tensorcast/errors.py

// Says in Python's words what lifts a refusal; it stands behind the library's own words.
std::string_view RemedyText(Remedy remedy) {
  switch (remedy) {
    case Remedy::kAllowOverwriting: return " with overwrite=True";
    case Remedy::kAllowHardLinks: return " with allow_hard_links=True";
    case Remedy::kAssumeType: return ": say which with assume_type";
    case Remedy::kIgnoreScales: return ": give ignore_scales=True for the bare codes";
    case Remedy::kTakeDirectory:
      return ": open the directory, or give ignore_scales=True for the bare codes";
    case Remedy::kKeepPacked: return ": pass them through as they are with keep=[\"packed\"]";
    default: return "";
  }
}

// Raises what the system refused, by a class that is Python's own for that too.
[[noreturn]] void RaiseRefusal(ErrorClass error, const std::string& line,
                               const core::SystemRefusal& refusal) {
  const nb::object made =
      nb::borrow(of_system)(nb::borrow(Classes()[static_cast<std::size_t>(error)]), ToStr(line),
                            refusal.error, nb::bytes(refusal.path.data(), refusal.path.size()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw nb::python_error();
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
    case StatusCode::kInternalError:
    case StatusCode::kExecutorFailed:
    case StatusCode::kCallbackFailed: return ErrorClass::kInternal;  // both are the package's own
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
  if (line.empty()) Raise(ClassOf(status.code()), status.message());
  const std::string whole = line + std::string(RemedyText(status.remedy()));
  // A refusal that a call got over is not what fails now: that one's file is in the text.
  const core::SystemRefusal refusal = core::LastRefusal();
  if (refusal.error != 0 && line.find(words::PathText(refusal.path)) != std::string::npos) {
    RaiseRefusal(ClassOf(status.code()), whole, refusal);
  }
  Raise(ClassOf(status.code()), whole);
}

void BindErrors(nb::module_& m) {
  m.def("set_errors", [](const nb::module_& errors) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      Classes()[i] = nb::object(errors.attr(kNames[i])).release().ptr();
    }
    of_system = nb::object(errors.attr("of_system")).release().ptr();
  });
}

}  // namespace tensorcast::python
