// An error of the library is raised as an exception of the package, with its one line.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_ERRORS_H_
#define TENSORCAST_PYTHON_ERRORS_H_

#include <nanobind/nanobind.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::python {

// The classes of tensorcast/errors.py.
enum class ErrorClass {
  kValue,        // what was asked for cannot be; also a ValueError
  kKind,         // also a TypeError
  kRange,        // also an OverflowError
  kFile,         // the system refused; also an OSError
  kContents,     // what a file holds is wrong; also a ValueError
  kUnsupported,  // legal, but not done; also a ValueError
  kInternal,     // a fault of ours; also a RuntimeError
};

// Raises an error as nanobind's functions do, by a C++ exception.
[[noreturn]] void Raise(ErrorClass error, std::string_view line);

// Raises what a status that is not ok says, in the words of `line` where it has any. `line` is
// taken by reference, since a call that sets it may stand beside it among the arguments.
[[noreturn]] void RaiseStatus(Status status, const std::string& line = {});
inline void Check(Status status, const std::string& line = {}) {
  if (!status.ok()) RaiseStatus(status, line);
}

// Raises what is said of an argument that is not one of some words; `given` is empty where it was
// not a text.
[[noreturn]] void RaiseNotOneOf(std::string_view argument, std::span<const std::string> expected,
                                std::string_view given);

// Sets Python's error for the exception that is being handled, whatever it is.
void SetThrown() noexcept;

// Calls a function that says its error in its last argument, and raises that error.
template <class Function, class... Arguments>
void Call(const Function& function, Arguments&&... arguments) {
  std::string error;
  Check(std::invoke(function, std::forward<Arguments>(arguments)..., &error), error);
}

// Does the same for a function that gives a result in the argument before, and returns the result.
template <class Result, class Function, class... Arguments>
Result Made(const Function& function, Arguments&&... arguments) {
  Result result;
  Call(function, std::forward<Arguments>(arguments)..., &result);
  return result;
}

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_ERRORS_H_
