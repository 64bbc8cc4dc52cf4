/* A bound plan run many times from C, so that what a call from Python takes is not counted as the
 * cast's: bench/peers.py builds it and hands it tensorcast_plan_run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

typedef int32_t plan_run(const void* plan, const void* source, uint64_t source_bytes,
                         uint64_t source_first, void* destination, uint64_t destination_bytes,
                         uint64_t destination_first, uint64_t n, const void* run);

int32_t repeat_plan(plan_run* run, const void* plan, const void* source, uint64_t source_bytes,
                    void* destination, uint64_t destination_bytes, uint64_t n, uint64_t times) {
  int32_t status = 0;
  for (uint64_t i = 0; i < times && status == 0; ++i) {
    status = run(plan, source, source_bytes, 0, destination, destination_bytes, 0, n, 0);
  }
  return status;
}
