// The library's errors become the classes of tensorcast/errors.py here.
//
// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bindings.h"
#include "core/failure.h"
#include "text_objects.h"
#include "words/error_text.h"
#include "words/nearest_names.h"

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

PyObject* refused = nullptr;  // the function of tensorcast/errors.py

// A remedy in Python: its word, and what stands around the library's own words to say how it is
// asked for.
struct RemedyWords {
  const char* word;
  std::string_view before;
  std::string_view after;
};

// Nothing for what is no remedy. No default: the compiler says which member has no row.
std::optional<RemedyWords> WordsOf(Remedy remedy) {
  constexpr std::string_view kPatterns =
      " (patterns match whole names; list(tensorcast.open(path)) has them)";
  switch (remedy) {
    case Remedy::kNone: break;
    case Remedy::kAllowHardLinks: return {{"allow_hard_links", "", " with allow_hard_links=True"}};
    case Remedy::kAllowOverwriting: return {{"allow_overwriting", "", " with overwrite=True"}};
    case Remedy::kChooseOneTensor:
      return {{"choose_one_tensor", "", "; choose one with only=[\"NAME\"]"}};
    case Remedy::kLeaveOut: return {{"leave_out", "", "; or leave it with exclude=[\"NAME\"]"}};
    case Remedy::kIgnoreScales:
      return {{"ignore_scales", "", ": give ignore_scales=True for the bare codes"}};
    case Remedy::kTakeDirectory:
      return {{"take_directory", "",
               ": open the directory, or give ignore_scales=True for the bare codes"}};
    case Remedy::kKeepPacked:
      return {{"keep_packed", "", ": pass them through as they are with keep=[\"packed\"]"}};
    case Remedy::kAssumeType: return {{"assume_type", "", ": say which with assume_type"}};
    case Remedy::kMatchRule: return {{"match_rule", "in rules=: ", kPatterns}};
    case Remedy::kMatchChosen: return {{"match_chosen", "in only=: ", kPatterns}};
    case Remedy::kMatchExcluded: return {{"match_excluded", "in exclude=: ", kPatterns}};
    case Remedy::kMatchSelected: return {{"match_selected", "in select=: ", kPatterns}};
    case Remedy::kMatchNames: return {{"match_names", "", kPatterns}};
    case Remedy::kChooseRoot: return {{"choose_root", "", ": choose with root="}};
  }
  return std::nullopt;
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

void RaiseNotOneOf(std::string_view argument, std::span<const std::string> expected,
                   std::string_view given) {
  std::string line = std::string(argument) + " must be one of";
  std::string_view separator = " ";
  for (const std::string& word : expected) {
    line.append(separator).append(words::Quoted(word));
    separator = ", ";
  }
  if (!given.empty()) line += words::DidYouMean(expected, given);
  Raise(ErrorClass::kValue, line);
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
  const core::Failure failure(status, line.empty() ? std::string(status.message()) : line);
  const auto words = WordsOf(status.remedy());
  std::string text = failure.what();
  if (words) text = std::string(words->before) + text + std::string(words->after);
  const std::string& subject = failure.subject();
  const nb::object made = nb::borrow(refused)(
      nb::borrow(Classes()[static_cast<std::size_t>(ClassOf(status.code()))]), ToStr(text),
      static_cast<int>(status.code()), words ? nb::object(nb::str(words->word)) : nb::none(),
      nb::bytes(subject.data(), subject.size()), failure.system_error());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw nb::python_error();
}

void SetThrown() noexcept {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (...) {
    std::string line;
    const Status status = core::StatusOfThrown(&line);
    try {
      RaiseStatus(status, line);
    } catch (nb::python_error& error) {
      error.restore();
    } catch (...) {
      PyErr_NoMemory();
    }
  }
}

void BindErrors(nb::module_& m) {
  m.def("set_errors", [](const nb::module_& errors) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      Classes()[i] = nb::object(errors.attr(kNames[i])).release().ptr();
    }
    refused = nb::object(errors.attr("refused")).release().ptr();
  });
  // Each remedy's word, in the order of their numbers from 1.
  nb::list remedies;
  for (int number = 1; const auto words = WordsOf(static_cast<Remedy>(number)); ++number) {
    remedies.append(words->word);
  }
  m.attr("remedies") = nb::tuple(remedies);
  // Nothing thrown passes by here, out of whichever function of the module.
  nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*payload*/) {
    try {
      std::rethrow_exception(thrown);
    } catch (...) {
      SetThrown();
    }
  });
}

}  // namespace tensorcast::python
