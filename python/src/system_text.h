// Small files in which the system says something of itself. A std::ifstream would bring all of the
// C++ library's locales into the wheel.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_SRC_SYSTEM_TEXT_H_
#define TENSORCAST_PYTHON_SRC_SYSTEM_TEXT_H_

#include <string>

namespace tensorcast::python {

// Gives what the file holds, or an empty text if it cannot be read.
std::string SystemText(const char* path);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_SRC_SYSTEM_TEXT_H_
