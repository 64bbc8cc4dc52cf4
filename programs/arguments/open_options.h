// How the tool opens tensor files.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_ARGUMENTS_OPEN_OPTIONS_H_
#define TENSORCAST_PROGRAMS_ARGUMENTS_OPEN_OPTIONS_H_

#include "formats/tensor_file.h"

namespace tensorcast::tool {

// What bounds the tool's memory: deflated members go to a file where the system wants
// temporary files.
io::OpenOptions ToolOpenOptions();

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_ARGUMENTS_OPEN_OPTIONS_H_
