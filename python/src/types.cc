// The many names that Python has for element types are read here, and remembered.
//
// SPDX-License-Identifier: Apache-2.0
#include "types.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "formats/gguf_types.h"
#include "formats/npy_dtype.h"
#include "scale/scaled_format.h"
#include "text_objects.h"
#include "words/error_text.h"
#include "words/nearest_names.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

constexpr Py_ssize_t kMostRemembered = 1024;

// It is filled when the package is imported, and never given back.
struct Table {
  std::array<PyArray_Descr*, kTypeNumbers> descrs = {};
  std::array<int, kTypeNumbers> type_numbers = {};  // numpy's, of those that ml_dtypes registers
  PyObject* remembered = nullptr;                   // a dict: argument -> ONNX's number
  // The same of the last ones at each place, which are kept: dtypes of ml_dtypes have one hash.
  std::array<std::pair<PyObject*, DataType>, 256> recent = {};
};
Table& TheTable() {
  static Table table;
  return table;
}

DataType IntegerType(int bytes, bool is_signed) {
  switch (bytes) {
    case 1: return is_signed ? DataType::kInt8 : DataType::kUint8;
    case 2: return is_signed ? DataType::kInt16 : DataType::kUint16;
    case 4: return is_signed ? DataType::kInt32 : DataType::kUint32;
    case 8: return is_signed ? DataType::kInt64 : DataType::kUint64;
    default: return DataType::kUndefined;
  }
}

DataType RegisteredType(int number) {
  const Table& table = TheTable();
  for (std::size_t i = 0; i < kTypeNumbers; ++i) {
    if (table.type_numbers[i] != 0 && table.type_numbers[i] == number) {
      return static_cast<DataType>(i);
    }
  }
  return DataType::kUndefined;
}

std::string TextOf(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

// What else a name may mean than a type of elements.
struct Meaning {
  std::string_view name;  // in lower case
  std::string_view said;
};
constexpr std::string_view kNarrowIntegers =
    " is not an element type: those of less than a byte are int2, int4, uint2 and uint4";
constexpr std::string_view kLayout =
    " is a layout of weights, which plan and convert write with to=\"int4-group\" and layout=";
constexpr std::string_view kQuantised =
    " has a scale beside its integers, and is not an element type: cast x.dequantize()";
constexpr Meaning kMeanings[] = {
    {"float8", " may be float8e4m3fn or float8e5m2: give one of these names"},
    {"f8", " may be float8e4m3fn or float8e5m2: give one of these names"},
    {"float6", " may be float6e2m3 or float6e3m2: give one of these names"},
    {"fp6", " may be float6e2m3 or float6e3m2: give one of these names"},
    {"f6", " may be float6e2m3 or float6e3m2: give one of these names"},
    {"nf4",
     " is a code with scales, and not an element type: the plain four-bit float is float4e2m1"},
    {"mxint8", " is a format of weights with scales that is not written; its elements are int8"},
    {"gptq", kLayout},
    {"awq", kLayout},
    {"qint8", kQuantised},
    {"quint8", kQuantised},
    {"qint32", kQuantised},
    {"tf32", " is not a stored type: the nearest are float32 and bfloat16"},
    {"complex32", " is not an element type: cast the real part and the imaginary one"},
    {"complex64", " is not an element type: cast the real part and the imaginary one"},
    {"complex128", " is not an element type: cast the real part and the imaginary one"},
    {"int1", kNarrowIntegers},
    {"int3", kNarrowIntegers},
    {"int5", kNarrowIntegers},
    {"int6", kNarrowIntegers},
    {"int7", kNarrowIntegers},
    {"uint1", kNarrowIntegers},
    {"uint3", kNarrowIntegers},
    {"uint5", kNarrowIntegers},
    {"uint6", kNarrowIntegers},
    {"uint7", kNarrowIntegers},
};

std::string Lower(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

// Gives what a name that no type has may mean; empty if nothing is known of it.
std::string MeaningOf(std::string_view name) {
  constexpr std::string_view kTensor = "tensor(";
  std::string lower = Lower(name.substr(0, 32));
  std::ranges::replace(lower, '-', '_');
  if (lower.starts_with(kTensor) && lower.ends_with(')')) {
    const std::string_view element =
        std::string_view(lower).substr(kTensor.size(), lower.size() - kTensor.size() - 1);
    const std::optional<DataType> type = ParseType(element);
    return type ? " is ONNX's word for tensors of " + std::string(TypeName(*type)) + ": give that"
                : std::string();
  }
  const std::string_view bare = std::string_view(lower).substr(lower.starts_with("torch.") ? 6 : 0);
  for (const Meaning& meaning : kMeanings) {
    if (meaning.name == bare) return std::string(meaning.said);
  }
  for (const scale::ScaledFormat& format : scale::ScaledFormats()) {
    std::string spelling(format.name);
    std::ranges::replace(spelling, '-', '_');
    if (spelling == bare) {
      return " is a format of weights with scales, which plan and convert write: it is not an "
             "element type";
    }
  }
  for (const formats::GgufType& type : formats::kGgufTypes) {
    if (type.type == DataType::kUndefined && bare.starts_with(Lower(type.name))) {  // "q4_k_m", too
      return " is a type of GGUF's, with codes and scales, which can be read but not written";
    }
  }
  return {};
}

[[noreturn]] void RaiseUnknownName(std::string_view name) {
  if (const std::string meaning = MeaningOf(name); !meaning.empty()) {
    Raise(ErrorClass::kValue, words::Quoted(name) + meaning);
  }
  std::string line = words::Quoted(name) + " is not an element type";
  std::vector<std::string> formats;
  for (const scale::ScaledFormat& format : scale::ScaledFormats()) {
    formats.emplace_back(format.name);
  }
  std::string asked(name);
  std::ranges::replace(asked, '_', '-');
  if (const auto near = words::NearestNames(formats, asked); !near.empty()) {
    Raise(ErrorClass::kValue,
          line + "; did you mean " + near.front() +
              ", a format of weights with scales, which plan and convert write?");
  }
  const auto [first, second, third] = NearestTypeNames(name);
  if (!first.empty()) line.append(second.empty() ? "; the nearest is " : "; the nearest are ");
  line.append(first);
  if (!second.empty()) line.append(third.empty() ? " and " : ", ").append(second);
  if (!third.empty()) line.append(" and ").append(third);
  Raise(ErrorClass::kValue, line);
}

DataType TypeNamed(std::string_view name) {
  const std::optional<DataType> type = ParseType(name);
  if (!type) RaiseUnknownName(name);
  return *type;
}

// Asks numpy for a dtype; invalid where it has none.
nb::object DescrFrom(nb::handle argument) {
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(argument.ptr(), &descr) == NPY_FAIL) {
    PyErr_Clear();
    return {};
  }
  return nb::steal(reinterpret_cast<PyObject*>(descr));
}

// Reads a str. A name by which numpy and the library mean different types is refused: "i8".
DataType TypeOfText(nb::handle argument) {
  Py_ssize_t size = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(argument.ptr(), &size);
  if (utf8 == nullptr) {
    PyErr_Clear();
    Raise(ErrorClass::kValue, "a type's name has half of a surrogate pair, which no type has");
  }
  const std::string_view name(utf8, static_cast<std::size_t>(size));
  const std::optional<DataType> named = ParseType(name);
  const nb::object descr = DescrFrom(argument);
  const DataType numpys = descr.is_valid() ? TypeOf(reinterpret_cast<PyArray_Descr*>(descr.ptr()))
                                           : DataType::kUndefined;
  if (numpys == DataType::kUndefined || named == numpys) return named ? *named : TypeNamed(name);
  const bool is_typestring = std::string_view("<>|=").find(name.front()) != std::string_view::npos;
  if (!named || is_typestring) return numpys;
  Raise(ErrorClass::kValue, words::Quoted(name) + " is " + std::string(TypeName(numpys)) +
                                " to numpy and " + std::string(TypeName(*named)) +
                                " to tensorcast: give one of these names");
}

DataType TypeNumbered(nb::handle number) {
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(number.ptr(), &overflow);
  const auto type = static_cast<DataType>(overflow == 0 && value > 0 && value < 1000 ? value : 0);
  if (FindType(type) == nullptr) {
    // An int of thousands of digits has no text.
    Raise(ErrorClass::kValue,
          (overflow == 0 ? std::to_string(value) : std::string("an int of more than 64 bits")) +
              " is not ONNX's number of an element type: those are 1 to " +
              std::to_string(static_cast<int>(Types().back().type)) +
              " without 14 and 15, which are complex");
  }
  return type;
}

DataType TypeOfDtype(nb::handle dtype) {
  const DataType type = TypeOf(reinterpret_cast<PyArray_Descr*>(dtype.ptr()));
  if (type == DataType::kUndefined) {
    Raise(ErrorClass::kKind,
          "numpy's " + words::EscapeName(TextOf(dtype)) + " is not an element type of ONNX");
  }
  return type;
}

DataType AskedType(nb::handle argument) {
  if (PyUnicode_Check(argument.ptr()) != 0) return TypeOfText(argument);
  if (PyBool_Check(argument.ptr()) == 0 && PyLong_Check(argument.ptr()) != 0)
    return TypeNumbered(argument);
  if (PyArray_IsScalar(argument.ptr(), Integer)) {
    return TypeNumbered(nb::steal(PyNumber_Index(argument.ptr())));
  }
  if (PyArray_DescrCheck(argument.ptr())) return TypeOfDtype(argument);
  const std::string module = TextOf(nb::getattr(argument.type(), "__module__", nb::str("")));
  if (module == "torch") return TypeNamed(TextOf(argument));  // "torch.float8_e4m3fn"
  // numpy's and ml_dtypes' classes, Python's float, and jax's, which have a dtype.
  if (PyType_Check(argument.ptr()) != 0 ||
      (nb::hasattr(argument, "dtype") && PyCallable_Check(argument.ptr()) != 0)) {
    // A class of dtypes (np.dtypes.StringDType) is asked by one of them; numpy makes object of any
    // other class that it does not know.
    const bool is_dtypes =
        PyType_Check(argument.ptr()) != 0 &&
        PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(argument.ptr()), &PyArrayDescr_Type) != 0;
    PyObject* const made = is_dtypes ? PyObject_CallNoArgs(argument.ptr()) : nullptr;
    if (is_dtypes && made == nullptr) PyErr_Clear();
    const nb::object descr = made != nullptr ? nb::steal(made) : DescrFrom(argument);
    const bool is_any_class = descr.is_valid() && made == nullptr &&
                              argument.ptr() != reinterpret_cast<PyObject*>(&PyBaseObject_Type) &&
                              reinterpret_cast<PyArray_Descr*>(descr.ptr())->kind == 'O';
    if (descr.is_valid() && !is_any_class) return TypeOfDtype(descr);
    if (PyType_Check(argument.ptr()) != 0) {
      Raise(ErrorClass::kKind, "the class " + words::EscapeName(TextOf(argument.attr("__name__"))) +
                                   " is not a type of elements");
    }
  }
  Raise(ErrorClass::kKind, "a type is named by a text, a dtype or ONNX's number, not by " +
                               words::EscapeName(TextOf(argument.type().attr("__name__"))));
}

}  // namespace

DataType TypeOf(PyArray_Descr* descr) {
  const int number = descr->type_num;
  switch (descr->kind) {
    case 'b': return DataType::kBool;
    case 'i':
    case 'u':
      if (number < NPY_USERDEF) {
        return IntegerType(static_cast<int>(PyDataType_ELSIZE(descr)), descr->kind == 'i');
      }
      break;
    case 'O':
    case 'S':
    case 'U':
    case 'T': return DataType::kString;
    default: break;
  }
  switch (number) {
    case NPY_HALF: return DataType::kFloat16;
    case NPY_FLOAT: return DataType::kFloat32;
    case NPY_DOUBLE: return DataType::kFloat64;
    default: return number > NPY_USERDEF - 1 ? RegisteredType(number) : DataType::kUndefined;
  }
}

PyArray_Descr* DescrOf(DataType type) { return TheTable().descrs[static_cast<std::size_t>(type)]; }

std::size_t ElementBytes(DataType type) {
  return static_cast<std::size_t>(std::max(8, FindType(type)->bits)) / 8;
}

namespace {

// Says whether an object is one of torch's dtypes, each of which is a single object.
bool IsTorchDtype(PyObject* argument) {
  static PyTypeObject* known = nullptr;
  if (known == nullptr) {
    PyObject* const torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
    PyObject* const dtype = torch == nullptr ? nullptr : PyObject_GetAttrString(torch, "dtype");
    if (dtype == nullptr || !PyType_Check(dtype)) {
      PyErr_Clear();
      Py_XDECREF(dtype);
      return false;
    }
    known = reinterpret_cast<PyTypeObject*>(dtype);
  }
  return Py_TYPE(argument) == known;
}

}  // namespace

DataType RememberedType(PyObject* argument) noexcept {
  auto& recent = TheTable().recent;
  auto& [known, its_type] =
      recent[(reinterpret_cast<std::uintptr_t>(argument) >> 4) % recent.size()];
  if (known == argument) return its_type;
  if (PyLong_CheckExact(argument) != 0) {  // ONNX's number; -1 where it is beyond long
    const auto type = static_cast<DataType>(PyLong_AsLong(argument));
    PyErr_Clear();
    return FindType(type) != nullptr ? type : DataType::kUndefined;
  }
  // Other objects may be equal and name different types: 1 == True == numpy.int8(1).
  if (PyUnicode_CheckExact(argument) == 0 && PyType_Check(argument) == 0 &&
      !PyArray_DescrCheck(argument) && !IsTorchDtype(argument)) {
    return DataType::kUndefined;
  }
  PyObject* const number = PyDict_GetItemWithError(TheTable().remembered, argument);
  if (number == nullptr) {
    PyErr_Clear();
    return DataType::kUndefined;
  }
  const auto type = static_cast<DataType>(PyLong_AsLong(number));
  Py_INCREF(argument);
  Py_XDECREF(std::exchange(known, argument));
  its_type = type;
  return type;
}

namespace {

// Says whether this is a str that names the type alone, and not also an order of bytes or a kind of
// text.
bool IsName(nb::handle argument, DataType type) {
  if (PyUnicode_CheckExact(argument.ptr()) == 0) return false;
  Py_ssize_t size = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(argument.ptr(), &size);
  return utf8 != nullptr && ParseType({utf8, static_cast<std::size_t>(size)}) == type;
}

const TypeInfo& RowOf(int number) {
  const TypeInfo* const row = FindType(static_cast<DataType>(number));
  if (row == nullptr) Raise(ErrorClass::kValue, "there is no such type");
  return *row;
}

// Gives a row of the table by the names that tensorcast.finfo has for it; all limits are doubles.
nb::dict RowDict(const TypeInfo& row) {
  constexpr std::array kClasses = {"bool", "unsigned", "signed", "float", "string"};
  const TypeLimits limits = LimitsOf(row.type);
  nb::dict fields;
  fields["name"] = ToStr(row.name);
  fields["onnx_number"] = static_cast<int>(row.type);
  fields["onnx_name"] = ToStr(row.onnx_name);
  fields["dtype"] = nb::borrow(reinterpret_cast<PyObject*>(DescrOf(row.type)));
  fields["kind"] = kClasses[static_cast<std::size_t>(row.type_class)];
  fields["bits"] = row.bits;
  fields["exponent_bits"] = row.exponent_bits;
  fields["mantissa_bits"] = row.mantissa_bits;
  fields["bias"] = row.bias;
  fields["max"] = limits.greatest;
  fields["min"] = limits.lowest;
  fields["smallest_normal"] = limits.least_normal;
  fields["smallest_subnormal"] = limits.least_positive;
  fields["has_sign"] = row.has_sign;
  fields["has_zero"] = row.has_zero;
  fields["has_infinity"] = row.has_infinity();
  fields["has_nan"] = row.has_nan();
  return fields;
}

}  // namespace

DataType TypeArgument(nb::handle argument) {
  DataType type = RememberedType(argument.ptr());
  if (type != DataType::kUndefined) return type;
  type = AskedType(argument);
  PyObject* const remembered = TheTable().remembered;
  // A dtype says more than a type where its bytes are swapped or it holds texts.
  const bool is_dtype = PyArray_DescrCheck(argument.ptr());
  const bool says_more =
      is_dtype && (type == DataType::kString ||
                   PyArray_ISNBO(reinterpret_cast<PyArray_Descr*>(argument.ptr())->byteorder) == 0);
  if (IsName(argument, type) || PyType_Check(argument.ptr()) != 0 || (is_dtype && !says_more) ||
      IsTorchDtype(argument.ptr())) {
    if (PyDict_Size(remembered) >= kMostRemembered) PyDict_Clear(remembered);
    const nb::object number = nb::int_(static_cast<int>(type));
    if (PyDict_SetItem(remembered, argument.ptr(), number.ptr()) != 0) throw nb::python_error();
  }
  return type;
}

void BindTypes(nb::module_& m) {
  TheTable().remembered = PyDict_New();
  if (TheTable().remembered == nullptr) throw nb::python_error();

  // Takes the dtype of each type, by ONNX's number.
  m.def("set_dtypes", [](const nb::dict& dtypes) {
    for (const auto& [number, dtype] : dtypes) {
      const auto index = nb::cast<std::size_t>(number);
      if (index >= kTypeNumbers || !PyArray_DescrCheck(dtype.ptr())) {
        Raise(ErrorClass::kKind, "set_dtypes takes numbers of types and dtypes");
      }
      auto* const descr =
          reinterpret_cast<PyArray_Descr*>(nb::object(nb::borrow(dtype)).release().ptr());
      TheTable().descrs[index] = descr;
      if (descr->type_num >= NPY_USERDEF) TheTable().type_numbers[index] = descr->type_num;
    }
  });
  m.def(
      "type_number", [](nb::handle argument) { return static_cast<int>(TypeArgument(argument)); },
      nb::arg("type").none());
  // Gives the name in ml_dtypes, or nothing where numpy itself has the type, or text stands for it.
  m.def("ml_dtypes_name", [](int number) {
    return std::string(formats::MlDtypesName(static_cast<DataType>(number)));
  });
  // Gives 0 where there is no type.
  m.def("dtype_number", [](nb::handle dtype) {
    if (!PyArray_DescrCheck(dtype.ptr())) return 0;
    return static_cast<int>(TypeOf(reinterpret_cast<PyArray_Descr*>(dtype.ptr())));
  });
  m.def("type_dtype", [](int number) {
    return nb::borrow(reinterpret_cast<PyObject*>(DescrOf(RowOf(number).type)));
  });
  m.def("type_row", [](int number) { return RowDict(RowOf(number)); });
  m.def("type_name", [](int number) { return ToStr(RowOf(number).name); });
  m.def("type_numbers", [] {
    return ListOf(Types(), [](const TypeInfo& row) { return static_cast<int>(row.type); });
  });
}

}  // namespace tensorcast::python
