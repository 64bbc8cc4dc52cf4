// Where temporary files go.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/open_options.h"

#include <utility>

#include "shell/process.h"

namespace tensorcast::tool {

io::OpenOptions ToolOpenOptions() {
  TemporaryPlace place = PlaceOfTemporaries();
  io::OpenOptions options;
  options.spool.directory = std::move(place.directory);
  options.spool.advice = std::move(place.advice);
  return options;
}

}  // namespace tensorcast::tool
