// The parts of error messages, as io's files name them: src/text/error_text.h.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_IO_ERROR_TEXT_H_
#define TENSORCAST_SRC_IO_ERROR_TEXT_H_

#include <string_view>

#include "text/error_text.h"

namespace tensorcast::io {

using text::CountText;
using text::PathText;
using text::PythonString;
using text::Quoted;
using text::ShapeText;

}  // namespace tensorcast::io

#endif  // TENSORCAST_SRC_IO_ERROR_TEXT_H_
