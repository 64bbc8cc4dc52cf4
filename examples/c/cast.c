/* Casts four floats to float8e4m3fn, reports what that lost, prints the results, and reads a text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tensorcast/tensorcast.h"

static void check(int32_t status) {
  if (status == TENSORCAST_OK) return;
  fprintf(stderr, "tensorcast: %s\n", tensorcast_status_text(status));
  exit(1);
}

int main(void) {
  const float weights[4] = {0.1f, 448.f, 512.f, -1e-9f};
  uint8_t codes[4]; /* a float8 is a byte */

  /* Cast, and measure: without a meter, nothing is measured. */
  tensorcast_loss_meter* meter = NULL;
  check(tensorcast_loss_meter_create(TENSORCAST_FLOAT32, TENSORCAST_FLOAT8E4M3FN, NULL, &meter));
  tensorcast_run run = TENSORCAST_RUN_INIT;
  run.loss = meter;
  check(tensorcast_cast(TENSORCAST_FLOAT32, weights, sizeof weights, TENSORCAST_FLOAT8E4M3FN, codes,
                        sizeof codes, 4, NULL, &run));
  printf("codes: %02x %02x %02x %02x\n", codes[0], codes[1], codes[2], codes[3]);

  tensorcast_loss_report report;
  report.struct_size = sizeof report;
  check(tensorcast_loss_meter_report(meter, &report));
  tensorcast_loss_meter_destroy(meter);
  printf("of %" PRIu64 " values %" PRIu64 " went to the limit, SNR %.1f dB\n", report.elements,
         report.counts[TENSORCAST_LOSS_TO_LIMIT], report.snr_db);

  /* Print what they stand for: cast back, and ask how many bytes the texts take first. */
  float values[4];
  check(tensorcast_cast(TENSORCAST_FLOAT8E4M3FN, codes, sizeof codes, TENSORCAST_FLOAT32, values,
                        sizeof values, 4, NULL, NULL));
  uint64_t bytes = 0;
  check(tensorcast_printed_bytes(TENSORCAST_FLOAT32, values, sizeof values, 4, NULL, NULL, &bytes));
  char* texts = malloc(bytes + 1); /* malloc(0) may give a null pointer */
  uint64_t offsets[5];
  if (texts == NULL) check(TENSORCAST_OUT_OF_MEMORY);
  check(tensorcast_print_strings(TENSORCAST_FLOAT32, values, sizeof values, 4, offsets, 5, texts,
                                 bytes, NULL, NULL));
  printf("values:");
  for (int i = 0; i < 4; ++i) {
    printf(" %.*s", (int)(offsets[i + 1] - offsets[i]), texts + offsets[i]);
  }
  printf("\n");
  free(texts);

  /* Parse: string i is bytes starts[i] to starts[i + 1] - 1. */
  const char numbers[] = "1.51e400half";
  const uint64_t starts[4] = {0, 3, 8, 12};
  uint16_t halves[3]; /* a float16 is 16 bits */
  tensorcast_parse_failure failure;
  failure.struct_size = sizeof failure;
  int32_t status = tensorcast_parse_strings(starts, 4, numbers, 12, TENSORCAST_FLOAT16, halves,
                                            sizeof halves, NULL, NULL, &failure);
  printf("text %" PRIu64 ", \"%s\": %s\n", failure.index, failure.text,
         tensorcast_status_text(status));
  check(tensorcast_parse_strings(starts, 3, numbers, 12, TENSORCAST_FLOAT16, halves, sizeof halves,
                                 NULL, NULL, NULL));
  printf("float16: %04x %04x\n", halves[0], halves[1]);
  return 0;
}
