// How a file is refused.
//
// SPDX-License-Identifier: Apache-2.0
#include "files/error.h"

namespace tensorcast::files {

void FailFile(const ByteSource& file, const std::string& why, core::ErrorKind kind) {
  throw Error(kind, words::PathText(file.path()) + ": " + why, file.path());
}

}  // namespace tensorcast::files
