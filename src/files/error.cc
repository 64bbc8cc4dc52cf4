// How a file is refused.
//
// SPDX-License-Identifier: Apache-2.0
#include "files/error.h"

namespace tensorcast::io {

void FailFile(const ByteSource& file, const std::string& why, ErrorKind kind) {
  throw Error(kind, text::PathText(file.path()) + ": " + why, file.path());
}

}  // namespace tensorcast::io
