// Texts of the library, any bytes, as Python's str and back, losslessly.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_TEXT_OBJECTS_H_
#define TENSORCAST_PYTHON_TEXT_OBJECTS_H_

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace tensorcast::python {

// As os.fsdecode: bytes that are not UTF-8 become half surrogates.
inline nanobind::object ToStr(std::string_view text) {
  PyObject* const made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (made == nullptr) throw nanobind::python_error();
  return nanobind::steal(made);
}

// The reverse of it.
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

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_TEXT_OBJECTS_H_
