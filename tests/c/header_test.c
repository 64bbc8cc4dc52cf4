/* The header alone, twice, and its initializers: compiled as C and as C++, never run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tensorcast/tensorcast.h"

int32_t header_test(void);

int32_t header_test(void) {
  const tensorcast_options options = TENSORCAST_OPTIONS_INIT;
  const tensorcast_run run = TENSORCAST_RUN_INIT;
  tensorcast_type_info info;
  info.struct_size = sizeof info;
  return tensorcast_cast(TENSORCAST_FLOAT32, NULL, 0, TENSORCAST_FLOAT16, NULL, 0, 0, &options,
                         &run) +
         tensorcast_type_at(0, &info);
}
