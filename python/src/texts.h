// Casts from and to string: numpy's arrays of texts as the library's offsets and bytes, and back.
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

// Texts, as UTF-8 where they were Python's.
using Texts = text::StringPiece;

// The texts of a dense array of object, U or S; raises where an object is no text.
Texts ReadTexts(PyArrayObject* array);

// A new array of them: `form` is 'O' (str), 'U' or 'S'. Raises where one is not UTF-8.
nanobind::object TextArray(const Strings& texts, std::span<const std::uint64_t> shape, char form);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_TEXTS_H_
