// Where temporary files go.
//
// SPDX-License-Identifier: Apache-2.0
#include "open_options.h"

#include <cstdlib>

namespace tensorcast::tool {

io::OpenOptions ToolOpenOptions() {
  const char* const named = std::getenv("TMPDIR");
  io::OpenOptions options;
  options.spool.directory = named != nullptr && *named != '\0' ? named : "/tmp";
  options.spool.advice = "; TMPDIR names another directory";
  return options;
}

}  // namespace tensorcast::tool
