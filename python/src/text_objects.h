// What the library says becomes Python's objects here: texts, which may be any bytes, become str
// and come back without loss, and ranges become lists.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_TEXT_OBJECTS_H_
#define TENSORCAST_PYTHON_TEXT_OBJECTS_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::python {

// Bytes that are not UTF-8 become half surrogates, as with os.fsdecode.
inline nanobind::object ToStr(std::string_view text) {
  PyObject* const made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (made == nullptr) throw nanobind::python_error();
  return nanobind::steal(made);
}

inline nanobind::object TypeOrNone(DataType type) {
  return type == DataType::kUndefined ? nanobind::none() : ToStr(TypeName(type));
}

// Makes a list of what `make` gives for each.
template <class Range, class Make> nanobind::list ListOf(const Range& range, const Make& make) {
  nanobind::list list;
  for (const auto& one : range) list.append(make(one));
  return list;
}

// Reverses ToStr.
inline std::string FromStr(nanobind::handle text) {
  const nanobind::object bytes =
      nanobind::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (!bytes.is_valid() || PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) {
    throw nanobind::python_error();
  }
  return {data, static_cast<std::size_t>(size)};
}

// Gives the ModelProto of a model that is given as bytes, which the caller keeps, and nothing of a
// path.
inline std::optional<std::span<const std::byte>> ModelBytes(nanobind::handle source) {
  if (PyBytes_Check(source.ptr()) == 0) return std::nullopt;
  const auto bytes = nanobind::borrow<nanobind::bytes>(source);
  return std::span(static_cast<const std::byte*>(bytes.data()), bytes.size());
}

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_TEXT_OBJECTS_H_
