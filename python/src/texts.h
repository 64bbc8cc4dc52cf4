// numpy's arrays of texts become the library's offsets and bytes here, and come back.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_TEXTS_H_
#define TENSORCAST_PYTHON_TEXTS_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>

#include "arrays.h"
#include "tensorcast/tensorcast.hpp"
#include "text/string_piece.h"

namespace tensorcast::python {

// Texts that were Python's are UTF-8.
using Texts = text::StringPiece;

// Reads a dense array of object, U or S; raises where an object is no text.
Texts ReadTexts(PyArrayObject* array);

// Makes an array of them, by `form` of 'O' (str), 'U' or 'S'. Raises where one is not UTF-8.
nanobind::object TextArray(const Strings& texts, std::span<const std::uint64_t> shape, char form);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_TEXTS_H_
