/* The headers alone, and their initializers: compiled as C and as C++, never run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tensorcast/flat.h"
#include "tensorcast/graph.h"
#include "tensorcast/onnx.h"
#include "tensorcast/session.h"
#include "tensorcast/tensorcast.h"

int32_t header_test(void);

int32_t header_test(void) {
  const tensorcast_options options = TENSORCAST_OPTIONS_INIT;
  const tensorcast_run run = TENSORCAST_RUN_INIT;
  tensorcast_session* session = NULL;
  tensorcast_type_info info;
  info.struct_size = sizeof info;
  return tensorcast_cast(TENSORCAST_FLOAT32, NULL, 0, TENSORCAST_FLOAT16, NULL, 0, 0, &options,
                         &run) +
         tensorcast_type_at(0, &info) +
         tensorcast_session_parse(NULL, 0, TENSORCAST_CONTRADICTIONS_TEXT, 0,
                                  TENSORCAST_TARGET_BEST, &session) +
         tensorcast_session_run_tensors(session, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0);
}
