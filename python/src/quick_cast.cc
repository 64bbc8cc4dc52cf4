// The function `cast` itself stands here. It casts dense memory of numpy, torch and JAX, and copies
// of numpy's that is not dense, without any Python; tensorcast.casting.cast does the rest.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>

#include "arrays.h"
#include "bindings.h"
#include "cast.h"
#include "errors.h"
#include "jax_arrays.h"
#include "operands.h"
#include "torch_tensors.h"
#include "types.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

static_assert(std::is_same_v<npy_intp, std::int64_t>, "numpy's sizes are read as torch's");

PyObject* general_cast = nullptr;  // tensorcast.casting.cast does all that is not quick
PyObject* check_names = nullptr;   // raises for a name that is none of its options

// ---------------------------------------------------------------------------- arguments

// The arguments that are not options of the library, by their names.
enum Named { kOut, kThreads, kTo, kLike, kPacked, kFromType, kLoss, kShape, kX, kNames };
constexpr std::array<const char*, kNames> kNamedArguments = {
    "out", "threads", "to", "like", "packed", "from_type", "loss", "shape", "x"};

// Names as Python has them where they stand in a call: one object for each.
struct InternedNames {
  std::array<PyObject*, kNames + kCastOptions> names = {};
  InternedNames() {
    for (std::size_t i = 0; i < names.size(); ++i) {
      // The name is a literal, so it ends with a NUL.
      names[i] = PyUnicode_InternFromString(
          i < kNames ? kNamedArguments[i]
                     : CastOptionName(static_cast<CastOption>(i - kNames)).data());
    }
  }
};

struct Arguments {
  std::array<PyObject*, kNames> named = {};  // null where it was not given, and for None
  CastRequest request;
};

// Reads a call's arguments; false where one is not for the quick way.
bool ReadArguments(PyObject* const* given, Py_ssize_t count, PyObject* names,
                   Arguments* arguments) {
  static const InternedNames interned;
  if (count > 2) return false;
  auto& named = arguments->named;
  if (count > 0) named[kX] = given[0];
  if (count > 1) named[kTo] = given[1];
  const Py_ssize_t name_count = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < name_count; ++i) {
    PyObject* const name = PyTuple_GetItem(names, i);
    PyObject* const value = given[count + i];
    const auto* found = std::find(interned.names.begin(), interned.names.end(), name);
    if (found == interned.names.end()) {  // a name that was made at run time
      found = std::find_if(interned.names.begin(), interned.names.end(),
                           [&](PyObject* known) { return PyUnicode_Compare(known, name) == 0; });
      if (found == interned.names.end()) return false;
    }
    const auto number = static_cast<std::size_t>(found - interned.names.begin());
    if (number >= kNames) {
      SetOption(static_cast<CastOption>(number - kNames), value, &arguments->request.options);
    } else if (named[number] != nullptr) {
      return false;  // twice
    } else {
      named[number] = value;
    }
  }
  for (PyObject*& value : named) {
    if (value == Py_None) value = nullptr;
  }
  const auto is_false = [](PyObject* value) { return value == nullptr || value == Py_False; };
  if (named[kX] == nullptr || named[kShape] != nullptr || !is_false(named[kLoss])) return false;
  if (PyObject* const threads = named[kThreads]; threads != nullptr) {
    int overflow = 0;
    const long asked =
        PyLong_CheckExact(threads) != 0 ? PyLong_AsLongAndOverflow(threads, &overflow) : -1;
    if (asked < 0 || asked > 1024) return false;
    arguments->request.threads = static_cast<std::size_t>(asked);
  }
  if (!is_false(named[kPacked])) {
    // What is read is packed only where from_type says so.
    if (named[kPacked] != Py_True || named[kFromType] != nullptr) return false;
    arguments->request.result_is_packed = true;
  }
  return true;
}

// ----------------------------------------------------------------------------- operands

// Reads a numpy array; false if it is not one, or not of a type of ONNX of fixed width.
bool ReadArray(PyObject* object, Operand* operand) {
  if (!PyArray_CheckExact(object)) return false;
  auto* const array = reinterpret_cast<PyArrayObject*>(object);
  operand->type = TypeOf(PyArray_DESCR(array));
  if (operand->type == DataType::kUndefined || operand->type == DataType::kString) return false;
  operand->library = Library::kNumpy;
  operand->data = static_cast<std::byte*>(PyArray_DATA(array));
  operand->dimensions = static_cast<std::size_t>(PyArray_NDIM(array));
  operand->shape = PyArray_DIMS(array);
  operand->strides = PyArray_STRIDES(array);
  operand->stride_unit = PyArray_ITEMSIZE(array);
  operand->bytes = static_cast<std::size_t>(PyArray_NBYTES(array));
  if (PyArray_IS_C_CONTIGUOUS(array)) {
    operand->n = ElementsOf(array);
    operand->is_in_c_order = true;
    return PyArray_ISNOTSWAPPED(array);
  }
  return PyArray_ISNOTSWAPPED(array) && SetOrder(operand);
}

// Reads x; a numpy array that is not dense is copied, and so is one in Fortran's order if C's is
// needed.
bool ReadSource(PyObject* x, bool needs_c_order, Operand* operand) {
  if (!PyArray_CheckExact(x)) {
    if (IsTensor(x)) {
      return ReadTensor(x, operand) && (operand->is_in_c_order || !needs_c_order);
    }
    if (!IsJaxArray(x)) return false;
    const nb::object view = NumpyView(x);
    if (!view.is_valid() || !ReadSource(view.ptr(), true, operand)) return false;
    operand->library = Library::kJax;
    if (!operand->copy.is_valid()) operand->copy = view;
    return true;
  }
  if (ReadArray(x, operand) && (operand->is_in_c_order || !needs_c_order)) return true;
  if (operand->type == DataType::kUndefined || operand->type == DataType::kString) return false;
  operand->copy = DenseCopy(reinterpret_cast<PyArrayObject*>(x));
  return ReadArray(operand->copy.ptr(), operand);
}

// Reads `out`; false where it cannot take a result of x's shape as it is.
bool ReadResult(PyObject* out, const Operand& source, Operand* result) {
  if (PyArray_CheckExact(out)) {
    if (!PyArray_ISWRITEABLE(reinterpret_cast<PyArrayObject*>(out)) || !ReadArray(out, result)) {
      return false;
    }
  } else if (!IsTensor(out) || !ReadWritableTensor(out, result)) {
    return false;
  }
  if (!result->is_in_c_order || !std::ranges::equal(result->shape_span(), source.shape_span())) {
    return false;
  }
  // They are one memory, element by element, or have nothing in common.
  return (source.data == result->data && !source.is_packed &&
          ElementBytes(source.type) == ElementBytes(result->type)) ||
         source.data + source.bytes <= result->data || result->data + result->bytes <= source.data;
}

// Makes a result for the elements of `like`.
nb::object NewResult(Library library, DataType type, bool is_packed, const Operand& like,
                     Operand* result) {
  if (library == Library::kTorch) return NewTensor(type, is_packed, like, result);
  if (library == Library::kJax) {
    return is_packed || !like.is_in_c_order ? nb::object() : NewJaxMemory(type, like, result);
  }
  if (is_packed) {
    const npy_intp bytes = static_cast<npy_intp>(*StorageBytes(type, like.n));
    nb::object array = NewArray(DescrOf(DataType::kUint8), {&bytes, 1});
    result->data = WritableBytesOf(AsArray(array)).data();
    result->bytes = static_cast<std::size_t>(bytes);
    result->is_packed = true;
    return array;
  }
  const auto element = static_cast<npy_intp>(ElementBytes(type));
  std::array<npy_intp, kMostDimensions> strides;  // NOLINT: set where it is used
  if (!like.is_in_c_order) {
    std::transform(like.strides, like.strides + like.dimensions, strides.begin(),
                   [&](std::int64_t stride) { return stride / like.stride_unit * element; });
  }
  nb::object array =
      NewArray(DescrOf(type), like.shape_span(), like.is_in_c_order ? nullptr : strides.data());
  result->data = static_cast<std::byte*>(PyArray_DATA(AsArray(array)));
  result->bytes = static_cast<std::size_t>(PyArray_NBYTES(AsArray(array)));
  return array;
}

// The type and library of an array; false where it is not one of those.
bool ReadModel(PyObject* model, DataType* type, Library* library) {
  if (PyArray_CheckExact(model)) {
    *type = TypeOf(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(model)));
    *library = Library::kNumpy;
    return true;
  }
  Operand operand;
  if (!IsTensor(model) || !ReadTensor(model, &operand)) return false;
  *type = operand.type;
  *library = Library::kTorch;
  return true;
}

// --------------------------------------------------------------------------------- cast

// Casts what needs no Python. For the rest it gives an invalid object, and general_cast does it.
nb::object QuickCast(PyObject* const* given, Py_ssize_t count, PyObject* names) {
  Arguments arguments;
  if (!ReadArguments(given, count, names, &arguments)) return {};
  CastRequest& request = arguments.request;
  const auto& named = arguments.named;
  PyObject* const out = named[kOut];
  Operand source;
  if (!ReadSource(named[kX], out != nullptr || request.result_is_packed, &source)) return {};
  if (source.library == Library::kTorch && out == nullptr && named[kFromType] == nullptr &&
      !request.result_is_packed && IsRecorded(named[kX])) {
    return {};
  }
  request.from = source.type;
  request.source_is_packed = source.is_packed;
  if (PyObject* const said = named[kFromType]; said != nullptr) {
    const DataType from = RememberedType(said);
    if (from == DataType::kUndefined || from == DataType::kString || source.is_packed ||
        ElementBytes(from) != ElementBytes(source.type)) {
      return {};
    }
    request.from = from;
  }
  if (named[kTo] != nullptr) {
    request.to = RememberedType(named[kTo]);
    if (request.to == DataType::kUndefined || request.to == DataType::kString) return {};
  }

  nb::object made;
  Operand result;
  Library library = source.library;
  if (out != nullptr) {
    if (named[kLike] != nullptr || request.result_is_packed || !ReadResult(out, source, &result) ||
        (named[kTo] != nullptr && result.type != request.to)) {
      return {};
    }
    request.to = result.type;
    made = nb::borrow(out);
  } else {
    if (PyObject* const like = named[kLike]; like != nullptr) {
      DataType type = DataType::kUndefined;
      if (!ReadModel(like, &type, &library) || (named[kTo] != nullptr && type != request.to)) {
        return {};
      }
      request.to = type;
    }
    if (request.to == DataType::kUndefined || request.to == DataType::kString) return {};
    const bool is_for_jax = source.library == Library::kJax && library == Library::kJax;
    if (is_for_jax && request.to == source.type && request.from == source.type &&
        !request.result_is_packed) {
      return nb::borrow(named[kX]);  // nothing can write to it
    }
    const bool packs = request.result_is_packed && FindType(request.to)->is_packed();
    made = NewResult(library, request.to, packs, source, &result);
    if (!made.is_valid()) return {};
    request.result_is_packed = result.is_packed;
  }
  CastElements(request, source.read(), result.written(), source.n);
  if (out != nullptr) {
    if (result.library == Library::kTorch) NoteWritten(out);
    return made;
  }
  return library == Library::kJax ? JaxArrayOf(made) : made;
}

// general_cast has raised a TypeError. If that was for an option that it does not have, check_names
// raises a better one.
void CheckNames(PyObject* names) {
  nb::python_error raised;  // takes the error
  const nb::object checked = nb::steal(CallWithOne(check_names, names));
  if (checked.is_valid()) raised.restore();
}

PyObject* CastCall(PyObject* /*self*/, PyObject* const* arguments, Py_ssize_t count,
                   PyObject* names) {
  try {
    nb::object result = QuickCast(arguments, count, names);
    if (result.is_valid()) return result.release().ptr();
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

void BindQuickCast(nb::module_& m) {
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
}

}  // namespace tensorcast::python
