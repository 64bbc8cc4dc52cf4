// This file casts between the memories of arrays, and has the function `cast` itself, which does
// what is quick without any Python.
//
// SPDX-License-Identifier: Apache-2.0
#include "cast.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "errors.h"
#include "tensorcast/explain.hpp"
#include "text_objects.h"
#include "threads.h"
#include "types.h"
#include "words/error_text.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

constexpr std::uint64_t kKeepGilBytes = 1 << 14;  // for fewer, giving it back costs more
constexpr std::uint64_t kOneShot = 1024;          // so many elements are cast without a plan
constexpr std::uint64_t kPackedAtOnce = std::uint64_t{1} << 20;  // in elements

bool IsNarrow(DataType type) { return FindType(type)->is_packed(); }

// Gives a plan of default options, bound when it is first asked for. The caller holds the GIL.
const CastPlan& KeptPlan(DataType from, DataType to) {
  static std::array<std::unique_ptr<CastPlan>, kTypeNumbers * kTypeNumbers> plans;
  auto& plan = plans[static_cast<std::size_t>(from) * kTypeNumbers + static_cast<std::size_t>(to)];
  if (plan == nullptr) {
    auto bound = std::make_unique<CastPlan>();
    Check(CastPlan::Bind(from, to, {}, bound.get()));
    plan = std::move(bound);
  }
  return *plan;
}

}  // namespace

Status RunPieces(const CastPlan& plan, const CastRequest& request,
                 std::span<const std::byte> source, std::span<std::byte> result, std::uint64_t n,
                 const RunOptions& options) {
  const bool packs = IsNarrow(request.from) && !request.source_is_packed;
  const bool unpacks = IsNarrow(request.to) && !request.result_is_packed;
  if (!packs && !unpacks) return plan.Run(source, 0, result, 0, n, options);
  const std::uint64_t most = std::min(n, kPackedAtOnce);
  std::vector<std::byte> read(packs ? *StorageBytes(request.from, most) : 0);
  std::vector<std::byte> written(unpacks ? *StorageBytes(request.to, most) : 0);
  RunOptions run = options;
  Status status;
  for (std::uint64_t first = 0; first < n && status.ok(); first += kPackedAtOnce) {
    const std::uint64_t count = std::min(kPackedAtOnce, n - first);
    if (packs) status = Pack(request.from, source.subspan(first, count), read, 0, count);
    run.loss_index = options.loss_index + first;
    if (status.ok()) {
      status = plan.Run(packs ? std::span<const std::byte>(read) : source, packs ? 0 : first,
                        unpacks ? std::span(written) : result, unpacks ? 0 : first, count, run);
    }
    if (status.ok() && unpacks) {
      status = Unpack(request.to, written, 0, result.subspan(first, count), count);
    }
  }
  return status;
}

void CheckRoom(DataType type, bool is_packed, std::uint64_t n, std::size_t bytes) {
  const bool is_number = FindType(type) != nullptr && type != DataType::kString;
  const auto needed = is_number && is_packed ? StorageBytes(type, n) : std::nullopt;
  if (!is_number || (is_packed ? !needed || *needed > bytes : n > bytes / ElementBytes(type))) {
    Raise(ErrorClass::kValue, "an array is shorter than its elements need");
  }
}

void CastElements(const CastRequest& request, std::span<const std::byte> source,
                  std::span<std::byte> result, std::uint64_t n) {
  if (n == 0) return;
  const std::uint64_t bytes = source.size() + result.size();
  // The bits behind the last packed element are zero, and a cast leaves them as they are.
  if (request.result_is_packed && !result.empty()) result.back() = std::byte{0};

  CastPlan bound;
  const CastPlan* plan = &bound;
  if (request.options == CastOptions{} && n > kOneShot) {
    plan = &KeptPlan(request.from, request.to);
  } else if (n <= kOneShot && !IsNarrow(request.from) && !IsNarrow(request.to) &&
             request.loss == nullptr) {
    return Check(Cast(request.from, source, request.to, result, n, request.options));
  } else {
    Check(CastPlan::Bind(request.from, request.to, request.options, &bound));
  }

  RunOptions run;
  run.loss = request.loss;
  CallThreads threads(ThreadsFor(request.threads, bytes));
  if (threads.Concurrency() > 1) run.executor = &threads;
  Status status;
  if (bytes < kKeepGilBytes) {
    status = RunPieces(*plan, request, source, result, n, run);
  } else {
    RunWork(bytes, [&](const std::atomic<bool>& interrupted) {
      run.interrupted = &interrupted;
      status = RunPieces(*plan, request, source, result, n, run);
    });
  }
  Check(status);
}

// ------------------------------------------------------------------------------ options

void SetWord(CastOption option, std::string_view word, CastOptions* options) {
  if (SetCastOption(option, word, options)) return;
  std::string line = std::string(CastOptionName(option)) + " is one of";
  std::string_view separator = " ";
  for (const std::string_view known : CastOptionValues(option)) {
    line.append(separator).append(words::Quoted(known));
    separator = ", ";
  }
  Raise(ErrorClass::kValue, line);
}

bool SetOption(PyObject* name, PyObject* value, CastOptions* options) {
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    // The name is a literal, so it ends with a NUL.
    if (PyUnicode_CompareWithASCIIString(name, CastOptionName(option).data()) != 0) continue;
    if (option == CastOption::kSaturate) {
      const bool is_number = PyLong_Check(value) != 0 || PyArray_IsScalar(value, Bool);
      const int truth = is_number ? PyObject_IsTrue(value) : -1;
      if (truth < 0) {
        PyErr_Clear();
        Raise(ErrorClass::kKind, "saturate is True or False");
      }
      options->saturate = truth != 0;
      return true;
    }
    Py_ssize_t size = 0;
    const char* const word =
        PyUnicode_Check(value) != 0 ? PyUnicode_AsUTF8AndSize(value, &size) : nullptr;
    if (word == nullptr) PyErr_Clear();  // SetWord raises then
    SetWord(option, word == nullptr ? "" : std::string_view(word, static_cast<std::size_t>(size)),
            options);
    return true;
  }
  return false;
}

CastOptions OptionsOf(const nb::dict& options) {
  CastOptions result;
  for (const auto& [name, value] : options) {
    if (PyUnicode_Check(name.ptr()) == 0 || !SetOption(name.ptr(), value.ptr(), &result)) {
      Raise(ErrorClass::kKind, "a cast has no option " + nb::cast<std::string>(nb::repr(name)));
    }
  }
  return result;
}

// ------------------------------------------------------------------------- the quick way

namespace {

PyObject* general_cast = nullptr;  // tensorcast.casting.cast does all that is not quick
PyObject* check_names = nullptr;   // raises for a name that is none of its options

// Says whether two memories are one, element by element, or have nothing in common.
bool AreApartOrOne(PyArrayObject* a, PyArrayObject* b) {
  const auto read = BytesOf(a);
  const auto written = BytesOf(b);
  if (read.data() == written.data() && PyArray_ITEMSIZE(a) == PyArray_ITEMSIZE(b)) return true;
  return read.data() + read.size() <= written.data() ||
         written.data() + written.size() <= read.data();
}

// Says whether `out` takes a result of an array's shape as it is.
bool Takes(PyObject* out, PyArrayObject* array) {
  if (!PyArray_CheckExact(out)) return false;
  auto* const result = reinterpret_cast<PyArrayObject*>(out);
  return IsDense(result) && PyArray_ISWRITEABLE(result) &&
         PyArray_NDIM(result) == PyArray_NDIM(array) &&
         std::equal(PyArray_DIMS(array), PyArray_DIMS(array) + PyArray_NDIM(array),
                    PyArray_DIMS(result)) &&
         AreApartOrOne(array, result);
}

// Casts a dense numpy array to a type that was named before, or into a dense `out`, with threads
// and options: what needs nothing of Python's. The rest gives null, and is for general_cast.
PyObject* QuickCast(PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  if (count < 1 || count > 2 || !PyArray_CheckExact(arguments[0])) return nullptr;
  auto* const array = reinterpret_cast<PyArrayObject*>(arguments[0]);
  if (!IsDense(array)) return nullptr;
  CastRequest request;
  PyObject* out = nullptr;
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const name = PyTuple_GetItem(names, i);
    PyObject* const value = arguments[count + i];
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
      out = value;
    } else if (PyUnicode_CompareWithASCIIString(name, "threads") == 0) {
      int overflow = 0;
      const long threads =
          PyLong_CheckExact(value) != 0 ? PyLong_AsLongAndOverflow(value, &overflow) : -1;
      if (threads < 0 || threads > 1024) return nullptr;
      request.threads = static_cast<std::size_t>(threads);
    } else if (!SetOption(name, value, &request.options)) {
      return nullptr;
    }
  }
  request.from = TypeOf(PyArray_DESCR(array));
  request.to = count == 2 ? RememberedType(arguments[1]) : DataType::kUndefined;
  if (out != nullptr) {
    if (!Takes(out, array)) return nullptr;
    const DataType held = TypeOf(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(out)));
    if (count == 2 && held != request.to) return nullptr;
    request.to = held;
  }
  if (request.from == DataType::kUndefined || request.from == DataType::kString ||
      request.to == DataType::kUndefined || request.to == DataType::kString) {
    return nullptr;
  }
  nb::object result =
      out != nullptr
          ? nb::borrow(out)
          : NewArray(DescrOf(request.to),
                     {PyArray_DIMS(array), static_cast<std::size_t>(PyArray_NDIM(array))});
  CastElements(request, BytesOf(array), WritableBytesOf(AsArray(result)), ElementsOf(array));
  return result.release().ptr();
}

// general_cast has raised a TypeError. Where it was given an option that it does not have,
// check_names raises a better one.
void CheckNames(PyObject* names) {
  nb::python_error raised;  // takes the error
  const nb::object checked = nb::steal(PyObject_CallOneArg(check_names, names));
  if (checked.is_valid()) raised.restore();
}

PyObject* CastCall(PyObject* /*self*/, PyObject* const* arguments, Py_ssize_t count,
                   PyObject* names) {
  try {
    PyObject* const result = QuickCast(arguments, count, names);
    if (result != nullptr) return result;
    PyObject* const made =
        PyObject_Vectorcall(general_cast, arguments, static_cast<std::size_t>(count), names);
    if (made == nullptr && names != nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
      CheckNames(names);
    }
    return made;
  } catch (...) {
    SetThrown();
  }
  return nullptr;
}

}  // namespace

void BindCast(nb::module_& m) {
  m.attr("cast_options") =
      nb::tuple(ListOf(std::views::iota(std::size_t{0}, kCastOptions), [](std::size_t i) {
        return ToStr(CastOptionName(static_cast<CastOption>(i)));
      }));

  // Makes the function cast. It calls `general` for what is not quick, and `check` with the names
  // of the options where that has raised a TypeError.
  m.def("make_cast", [](nb::object general, nb::object check, const std::string& signature,
                        const std::string& documentation) {
    static std::string text;
    static PyMethodDef method = {};
    text = "cast" + signature + "\n--\n\n" + documentation;
    method = {"cast", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(CastCall)),
              METH_FASTCALL | METH_KEYWORDS, text.c_str()};
    Py_XDECREF(general_cast);
    general_cast = general.release().ptr();
    Py_XDECREF(check_names);
    check_names = check.release().ptr();
    const nb::str module("tensorcast");
    return nb::steal(PyCFunction_NewEx(&method, nullptr, module.ptr()));
  });

  // Casts n elements from one dense array's memory into another's.
  m.def(
      "cast_into",
      [](nb::handle source, int from, nb::handle result, int to, std::uint64_t n,
         const nb::dict& options, bool source_is_packed, bool result_is_packed,
         std::optional<std::size_t> threads, LossMeter* loss) {
        CastRequest request;
        request.from = static_cast<DataType>(from);
        request.to = static_cast<DataType>(to);
        request.options = OptionsOf(options);
        request.source_is_packed = source_is_packed;
        request.result_is_packed = result_is_packed;
        request.threads = threads;
        request.loss = loss;
        const auto read = BytesOf(DenseArgument(source, "source"));
        const auto written = WritableBytesOf(WritableArgument(result, "out"));
        CheckRoom(request.from, source_is_packed, n, read.size());
        CheckRoom(request.to, result_is_packed, n, written.size());
        CastElements(request, read, written, n);
      },
      nb::arg("source"), nb::arg("from_"), nb::arg("result"), nb::arg("to"), nb::arg("n"),
      nb::arg("options"), nb::arg("source_is_packed"), nb::arg("result_is_packed"),
      nb::arg("threads").none(), nb::arg("loss").none());
}

}  // namespace tensorcast::python
