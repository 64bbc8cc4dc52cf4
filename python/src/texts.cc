// numpy's arrays of texts are parsed, printed and made here.
//
// SPDX-License-Identifier: Apache-2.0
#include "texts.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "bindings.h"
#include "cast.h"
#include "errors.h"
#include "threads.h"
#include "types.h"
#include "words/error_text.h"
#include "words/utf8.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// Names an element by its index in C's order: "x[1, 2]".
std::string ElementName(std::uint64_t index, const std::vector<std::uint64_t>& shape) {
  if (shape.empty()) return "x";
  std::string name = "]";
  for (std::size_t i = shape.size(); i-- > 0;) {
    name.insert(0, std::to_string(index % shape[i]));
    if (i != 0) name.insert(0, ", ");
    index /= shape[i];
  }
  return "x[" + name;
}

std::vector<std::uint64_t> ShapeOf(PyArrayObject* array) {
  return {PyArray_DIMS(array), PyArray_DIMS(array) + PyArray_NDIM(array)};
}

void AppendObject(PyObject* object, std::uint64_t index, PyArrayObject* array, Texts& texts) {
  if (PyUnicode_Check(object) != 0) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) {
      PyErr_Clear();
      Raise(ErrorClass::kValue,
            ElementName(index, ShapeOf(array)) + " has half of a surrogate pair, which is no text");
    }
    return texts.Append({text, static_cast<std::size_t>(size)});
  }
  if (PyBytes_Check(object) != 0) {
    return texts.Append({PyBytes_AsString(object), static_cast<std::size_t>(PyBytes_Size(object))});
  }
  const std::string kind =
      object == nullptr
          ? "nothing"
          : nb::cast<std::string>(nb::str(nb::handle(object).type().attr("__name__")));
  Raise(ErrorClass::kKind,
        ElementName(index, ShapeOf(array)) + " is " + words::EscapeName(kind) +
            ": an array of objects has to hold only numbers, or only str and bytes");
}

void AppendUnicode(const char* at, std::size_t width, std::uint64_t index, PyArrayObject* array,
                   Texts& texts) {
  std::size_t length = width / 4;
  const auto point_at = [at](std::size_t i) {
    std::uint32_t point = 0;
    std::memcpy(&point, at + 4 * i, 4);
    return point;
  };
  while (length > 0 && point_at(length - 1) == 0) --length;
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint32_t point = point_at(i);
    if (!words::IsUnicode(point)) {
      Raise(ErrorClass::kValue, ElementName(index, ShapeOf(array)) +
                                    " holds something that is not a character of Unicode");
    }
    char utf8[4];
    texts.bytes.insert(texts.bytes.end(), utf8, words::PutUtf8(point, utf8));
  }
  texts.offsets.push_back(texts.bytes.size());
}

// How many bytes of numbers take as long as these texts: a text takes some hundred times as long as
// a number.
std::uint64_t WorkOf(std::uint64_t bytes) { return bytes * 32; }

// Parses all texts, in numpy's layout or packed.
void Parse(const Texts& texts, std::span<std::byte> result, DataType to, const CastOptions& options,
           bool is_packed, std::optional<std::size_t> threads,
           const std::vector<std::uint64_t>& shape) {
  const std::uint64_t n = texts.offsets.size() - 1;
  CastPlan plan;
  Check(CastPlan::Bind(DataType::kString, to, options, &plan));
  const bool through_packed = FindType(to)->is_packed() && !is_packed && n != 0;
  if (is_packed && !result.empty()) result.back() = std::byte{0};
  Status status;
  ParseFailure failure;
  RunWith<RunOptions>(threads, WorkOf(texts.bytes.size()), [&](const RunOptions& run) {
    std::vector<std::byte> packed(through_packed ? *StorageBytes(to, n) : 0);
    status = plan.Parse(texts.view(), 0, through_packed ? packed : result, 0, n, run, &failure);
    if (status.ok() && through_packed) status = Unpack(to, packed, 0, result, n);
  });
  if (status.code() == StatusCode::kNotANumber || status.code() == StatusCode::kNotAnInteger) {
    Raise(ErrorClass::kValue, ElementName(failure.index, shape) + " is \"" + failure.text +
                                  "\", which is " +
                                  std::string(words::UnparsedText(status.code())));
  }
  Check(status);
}

Texts Print(std::span<const std::byte> source, DataType from, std::uint64_t n,
            const CastOptions& options, bool is_packed, std::optional<std::size_t> threads) {
  CastPlan plan;
  Check(CastPlan::Bind(from, DataType::kString, options, &plan));
  Texts texts;
  Status status;
  RunWith<RunOptions>(threads, WorkOf(source.size()), [&](const RunOptions& run) {
    std::vector<std::byte> packed;
    if (FindType(from)->is_packed() && !is_packed && n != 0) {
      packed.resize(*StorageBytes(from, n));
      status = Pack(from, source, packed, 0, n);
    }
    const std::span<const std::byte> elements = packed.empty() ? source : packed;
    std::uint64_t bytes = 0;
    if (status.ok()) status = plan.PrintedBytes(elements, 0, n, &bytes, run);
    if (!status.ok()) return;
    texts.offsets.resize(n + 1);
    texts.bytes.resize(bytes);
    status = plan.Print(elements, 0, n, texts.offsets, texts.bytes, run);
  });
  Check(status);
  return texts;
}

std::uint64_t CodePoints(std::string_view utf8) {
  return static_cast<std::uint64_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return !words::ContinuesUtf8(c); }));
}

// Makes a str; raises where the bytes are not UTF-8.
nb::object StrOf(std::string_view utf8) {
  PyObject* const text =
      PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), nullptr);
  if (text == nullptr) {
    PyErr_Clear();
    Raise(ErrorClass::kValue, words::Quoted(utf8) + " is not UTF-8, which a str needs");
  }
  return nb::steal(text);
}

}  // namespace

Texts ReadTexts(PyArrayObject* array) {
  Texts texts;
  const std::uint64_t n = ElementsOf(array);
  texts.offsets.reserve(n + 1);
  const auto width = static_cast<std::size_t>(PyArray_ITEMSIZE(array));
  const char* const data = static_cast<const char*>(PyArray_DATA(array));
  for (std::uint64_t i = 0; i < n; ++i) {
    const char* const at = data + i * width;
    switch (PyArray_DESCR(array)->kind) {
      case 'O': {
        PyObject* object = nullptr;
        std::memcpy(&object, at, sizeof(void*));
        AppendObject(object, i, array, texts);
        break;
      }
      case 'U': AppendUnicode(at, width, i, array, texts); break;
      case 'S': {
        std::string_view text(at, width);
        while (text.ends_with('\0')) text.remove_suffix(1);
        texts.Append(text);
        break;
      }
      default: Raise(ErrorClass::kKind, "an array of texts must be of object, U or S");
    }
  }
  return texts;
}

nb::object TextArray(const Strings& texts, std::span<const std::uint64_t> shape, char form) {
  const std::uint64_t n = texts.size();
  std::uint64_t width = 1;
  if (form != 'O') {
    for (std::uint64_t i = 0; i < n; ++i) {
      width = std::max<std::uint64_t>(width, form == 'S' ? texts[i].size() : CodePoints(texts[i]));
    }
  }
  if (width * 4 > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    Raise(ErrorClass::kRange, "a text is longer than numpy's U and S hold: ask for object");
  }
  const int number = form == 'O' ? NPY_OBJECT : form == 'S' ? NPY_STRING : NPY_UNICODE;
  nb::object descr = nb::steal(reinterpret_cast<PyObject*>(PyArray_DescrNewFromType(number)));
  if (form != 'O') {
    const auto bytes = static_cast<npy_intp>(form == 'S' ? width : 4 * width);
    PyDataType_SET_ELSIZE(reinterpret_cast<PyArray_Descr*>(descr.ptr()), bytes);
  }
  nb::object result = NewArray(reinterpret_cast<PyArray_Descr*>(descr.ptr()), shape);
  char* at = static_cast<char*>(PyArray_DATA(AsArray(result)));
  const auto item = static_cast<std::size_t>(PyArray_ITEMSIZE(AsArray(result)));
  if (form == 'S') std::memset(at, 0, item * n);
  for (std::uint64_t i = 0; i < n; ++i, at += item) {
    if (form == 'S') {
      std::memcpy(at, texts[i].data(), texts[i].size());
    } else if (form == 'O') {  // numpy has made these pointers null
      PyObject* const text = StrOf(texts[i]).release().ptr();
      std::memcpy(at, &text, sizeof(void*));
    } else if (PyArray_SETITEM(AsArray(result), at, StrOf(texts[i]).ptr()) != 0) {
      throw nb::python_error();
    }
  }
  return result;
}

void BindTexts(nb::module_& m) {
  nb::class_<Texts>(m, "Texts")
      .def("__init__",
           [](Texts* self, nb::handle array) {
             new (self) Texts(ReadTexts(DenseArgument(array, "texts")));
           })
      .def(
          "parse",
          [](const Texts& self, nb::handle result, int to, const nb::dict& options, bool is_packed,
             std::optional<std::size_t> threads, const std::vector<std::uint64_t>& shape) {
            const auto type = static_cast<DataType>(to);
            const auto written = WritableBytesOf(WritableArgument(result, "out"));
            CheckRoom(type, is_packed, self.offsets.size() - 1, written.size());
            Parse(self, written, type, OptionsOf(options), is_packed, threads, shape);
          },
          nb::arg("result"), nb::arg("to"), nb::arg("options"), nb::arg("is_packed"),
          nb::arg("threads").none(), nb::arg("shape"))
      .def("array",
           [](const Texts& self, const std::vector<std::uint64_t>& shape, const std::string& form) {
             return TextArray(self.view(), shape, form.empty() ? 'O' : form[0]);
           });
  m.def(
      "print_texts",
      [](nb::handle source, int from, std::uint64_t n, const nb::dict& options, bool is_packed,
         std::optional<std::size_t> threads) {
        const auto type = static_cast<DataType>(from);
        const auto read = BytesOf(DenseArgument(source, "source"));
        CheckRoom(type, is_packed, n, read.size());
        return Print(read, type, n, OptionsOf(options), is_packed, threads);
      },
      nb::arg("source"), nb::arg("from_"), nb::arg("n"), nb::arg("options"), nb::arg("is_packed"),
      nb::arg("threads").none());
}

}  // namespace tensorcast::python
