// Errors as Python has them: the library's one line in an exception of the package.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_ERRORS_H_
#define TENSORCAST_PYTHON_ERRORS_H_

#include <nanobind/nanobind.h>

#include <functional>
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

// Raises one, as nanobind's functions raise: by a C++ exception.
[[noreturn]] void Raise(ErrorClass error, std::string_view line);

// Raises what a status that is not ok says, in the words of `line` where it has any.
// `line` by reference: a call that sets it may stand beside it among the arguments.
[[noreturn]] void RaiseStatus(Status status, const std::string& line = {});
inline void Check(Status status, const std::string& line = {}) {
  if (!status.ok()) RaiseStatus(status, line);
}

// Calls what says its error in a last argument, and raises that.
template <class Function, class... Arguments>
void Call(const Function& function, Arguments&&... arguments) {
  std::string error;
  Check(std::invoke(function, std::forward<Arguments>(arguments)..., &error), error);
}

// The same of what gives a result in the argument before.
template <class Result, class Function, class... Arguments>
Result Made(const Function& function, Arguments&&... arguments) {
  Result result;
  Call(function, std::forward<Arguments>(arguments)..., &result);
  return result;
}

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_ERRORS_H_
