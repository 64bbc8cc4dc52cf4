/* The C interface: loss meters and executors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "tensorcast/tensorcast.h"

static tensorcast_loss_meter* new_meter(int32_t from, int32_t to) {
  tensorcast_loss_meter* meter = NULL;
  CHECK_INT(tensorcast_loss_meter_create(from, to, NULL, &meter), TENSORCAST_OK);
  return meter;
}

static tensorcast_loss_report report_of(const tensorcast_loss_meter* meter) {
  tensorcast_loss_report report;
  memset(&report, 0xAA, sizeof report);
  report.struct_size = sizeof report;
  CHECK_INT(tensorcast_loss_meter_report(meter, &report), TENSORCAST_OK);
  return report;
}

/* Figures of docs/semantics.md section 7, worked out by hand. */
static void test_report(void) {
  const float values[10] = {NAN, 0.5f, 512, 1e-9f, 1.0625f, -0.0f, 448, INFINITY, -1000, 0.001f};
  uint8_t codes[10];
  tensorcast_loss_meter* meter = new_meter(TENSORCAST_FLOAT32, TENSORCAST_FLOAT8E4M3FN);
  tensorcast_run run = TENSORCAST_RUN_INIT;
  run.loss = meter;
  CHECK_INT(tensorcast_cast(1, values, sizeof values, 17, codes, sizeof codes, 10, NULL, &run),
            TENSORCAST_OK);
  static const uint8_t expected[10] = {0x7F, 0x30, 0x7E, 0x00, 0x38, 0x80, 0x7E, 0x7E, 0xFE, 0x01};
  CHECK(memcmp(codes, expected, 10) == 0);

  const tensorcast_loss_report report = report_of(meter);
  CHECK_INT(report.struct_size, sizeof report);
  CHECK_INT(report.kinds, TENSORCAST_LOSS_KINDS);
  CHECK_INT(report.from, 1);
  CHECK_INT(report.to, 17);
  CHECK_INT(report.elements, 10);
  /* nan 0; exact 1 5 6; to_limit 2 7 8; to_zero 3; rounded 4 9; to_subnormal 9 */
  static const uint64_t counts[TENSORCAST_LOSS_SLOTS] = {1, 0, 0, 3, 0, 0, 3, 1, 2, 1, 0, 0};
  for (int kind = 0; kind < TENSORCAST_LOSS_SLOTS; ++kind) {
    CHECK_INT(report.counts[kind], counts[kind]);
  }
  CHECK_INT(report.first[TENSORCAST_LOSS_TO_LIMIT].index, 2);
  CHECK_INT(report.first[TENSORCAST_LOSS_TO_LIMIT].source_code, 0x44000000);
  CHECK_INT(report.first[TENSORCAST_LOSS_TO_LIMIT].result_code, 0x7E);
  CHECK_INT(report.first[TENSORCAST_LOSS_ROUNDED].index, 4);
  CHECK_INT(report.compared, 8); /* all but NaN and Inf */
  CHECK(report.max_abs_error == 552);
  CHECK_INT(report.max_abs_example.index, 8);
  CHECK_INT(report.compared_nonzero, 7);
  CHECK(report.max_rel_error == 1);
  CHECK_INT(report.max_rel_example.index, 3);
  CHECK_INT(report.finite, 8);
  CHECK(report.amax == 1000);
  CHECK(report.smallest_nonzero == (double)1e-9f);
  CHECK(fabs(report.rmse - sqrt(report.sum_squared_error / 8)) < 1e-9 * report.rmse);
  CHECK(fabs(report.snr_db - 10 * log10(report.sum_squares / report.sum_squared_error)) < 1e-9);
  CHECK(fabs(report.sum_squared_error - (552.0 * 552 + 64 * 64 + 0.0625 * 0.0625)) < 1e-4);

  /* A shorter struct of an older caller gets what it has room for. */
  tensorcast_loss_report part;
  memset(&part, 0xAA, sizeof part);
  part.struct_size = 24;
  CHECK_INT(tensorcast_loss_meter_report(meter, &part), TENSORCAST_OK);
  CHECK_INT(part.elements, 10);
  CHECK_INT(part.counts[0], 0xAAAAAAAAAAAAAAAA);
  CHECK_INT(part.struct_size, 24);
  part.struct_size = 0;
  CHECK_INT(tensorcast_loss_meter_report(meter, &part), TENSORCAST_BAD_STRUCT);
  CHECK_INT(tensorcast_loss_meter_report(meter, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_loss_meter_report(NULL, &part), TENSORCAST_NULL_POINTER);
  tensorcast_loss_meter_destroy(meter);
  tensorcast_loss_meter_destroy(NULL);
}

static void test_names(void) {
  static const char* const names[] = {"nan",     "nan_lost",     "to_nan",         "exact",
                                      "wrapped", "to_infinity",  "to_limit",       "to_zero",
                                      "rounded", "to_subnormal", "zero_sign_lost", "undefined"};
  for (int32_t kind = 0; kind < TENSORCAST_LOSS_KINDS; ++kind) {
    CHECK_TEXT(tensorcast_loss_name(kind), names[kind]);
  }
  CHECK_TEXT(tensorcast_loss_name(-1), "unknown");
  CHECK_TEXT(tensorcast_loss_name(TENSORCAST_LOSS_KINDS), "unknown");
}

static void test_merge(void) {
  const float values[4] = {0.5f, 512, 1e-9f, -1000};
  uint8_t codes[4];
  tensorcast_loss_meter* meters[3];
  for (int m = 0; m < 3; ++m) {
    meters[m] = new_meter(1, 17);
    tensorcast_run run = TENSORCAST_RUN_INIT;
    run.loss = meters[m];
    CHECK_INT(tensorcast_cast(1, values, 16, 17, codes, 4, 4, NULL, &run), TENSORCAST_OK);
  }
  CHECK_INT(tensorcast_loss_meter_merge(meters[0], meters[1]), TENSORCAST_OK);
  CHECK_INT(tensorcast_loss_meter_merge(meters[2], meters[2]), TENSORCAST_OK); /* with itself */
  const tensorcast_loss_report two = report_of(meters[0]);
  const tensorcast_loss_report same = report_of(meters[2]);
  CHECK_INT(two.elements, 8);
  CHECK_INT(two.counts[TENSORCAST_LOSS_TO_LIMIT], 4);
  CHECK(memcmp(&two, &same, sizeof two) == 0);

  tensorcast_loss_meter* other = new_meter(1, 19);
  CHECK_INT(tensorcast_loss_meter_merge(meters[0], other), TENSORCAST_LOSS_MISMATCH);
  CHECK_INT(tensorcast_loss_meter_merge(meters[0], NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_loss_meter_merge(NULL, meters[0]), TENSORCAST_NULL_POINTER);
  CHECK_INT(report_of(meters[0]).elements, 8);

  /* As bytes: the size first, then the bytes, then a meter that reports the same. */
  size_t size = 0;
  unsigned char bytes[4096];
  CHECK_INT(tensorcast_loss_meter_save(meters[0], NULL, 0, &size), TENSORCAST_OK);
  CHECK_INT(size <= sizeof bytes, 1);
  CHECK_INT(tensorcast_loss_meter_save(meters[0], bytes, size - 1, &size),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_loss_meter_save(meters[0], bytes, sizeof bytes, &size), TENSORCAST_OK);
  size_t cleared = size;
  CHECK_INT(tensorcast_loss_meter_save(NULL, bytes, size, &cleared), TENSORCAST_NULL_POINTER);
  CHECK_INT(cleared, 0);
  CHECK_INT(tensorcast_loss_meter_save(meters[0], bytes, size, NULL), TENSORCAST_NULL_POINTER);
  tensorcast_loss_meter* loaded = NULL;
  CHECK_INT(tensorcast_loss_meter_load(bytes, size, &loaded), TENSORCAST_OK);
  const tensorcast_loss_report again = report_of(loaded);
  const tensorcast_loss_report before = report_of(meters[0]);
  CHECK_INT(memcmp(&again, &before, sizeof again), 0);
  tensorcast_loss_meter_destroy(loaded);
  bytes[0] ^= 1;
  CHECK_INT(tensorcast_loss_meter_load(bytes, size, &loaded), TENSORCAST_BAD_FILE);
  CHECK_INT(loaded == NULL, 1);
  CHECK_INT(tensorcast_loss_meter_load(NULL, size, &loaded), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_loss_meter_load(bytes, size, NULL), TENSORCAST_NULL_POINTER);

  tensorcast_loss_meter_destroy(other);
  for (int m = 0; m < 3; ++m) tensorcast_loss_meter_destroy(meters[m]);
}

static void test_meter_refuses(void) {
  tensorcast_loss_meter* meter = NULL;
  CHECK_INT(tensorcast_loss_meter_create(0, 17, NULL, &meter), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_loss_meter_create(1, 14, NULL, &meter), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_loss_meter_create(8, 17, NULL, &meter), TENSORCAST_UNSUPPORTED);
  CHECK_INT(tensorcast_loss_meter_create(1, 8, NULL, &meter), TENSORCAST_UNSUPPORTED);
  CHECK_INT(tensorcast_loss_meter_create(1, 17, NULL, NULL), TENSORCAST_NULL_POINTER);
  CHECK(meter == NULL);

  float values[2048] = {0};
  uint8_t codes[2048];
  memset(codes, 9, sizeof codes);
  meter = new_meter(1, 19);
  tensorcast_run run = TENSORCAST_RUN_INIT;
  run.loss = meter;
  CHECK_INT(tensorcast_cast(1, values, 4096, 17, codes, 1024, 1024, NULL, &run),
            TENSORCAST_LOSS_MISMATCH);
  tensorcast_loss_meter_destroy(meter);
  meter = new_meter(1, 17);
  run.loss = meter;
  run.loss_index = 100;
  CHECK_INT(tensorcast_cast(1, values, 4096, 17, codes, 1024, 1024, NULL, &run),
            TENSORCAST_LOSS_POSITION);
  run.loss_index = UINT64_MAX - 1023;
  CHECK_INT(tensorcast_cast(1, values, 8192, 17, codes, 2048, 2048, NULL, &run),
            TENSORCAST_SIZE_OVERFLOW);
  CHECK_INT(codes[0], 9);
  CHECK_INT(report_of(meter).elements, 0);
  /* It goes on where it stopped, off the grid. */
  run.loss_index = 0;
  CHECK_INT(tensorcast_cast(1, values, 400, 17, codes, 100, 100, NULL, &run), TENSORCAST_OK);
  run.loss_index = 100;
  CHECK_INT(tensorcast_cast(1, values, 400, 17, codes, 100, 100, NULL, &run), TENSORCAST_OK);
  CHECK_INT(report_of(meter).elements, 200);
  tensorcast_loss_meter_destroy(meter);
}

/* A pool of the caller's own: each task on a thread of its own, some at once; or one that fails. */
typedef struct pool {
  size_t calls;
  size_t tasks;
  size_t leave_out;
} pool;

typedef struct work {
  tensorcast_task task;
  void* context;
  size_t index;
} work;

static void* run_work(void* argument) {
  const work* w = argument;
  w->task(w->context, w->index);
  return NULL;
}

static void pool_parallel_for(void* context, size_t tasks, tensorcast_task task,
                              void* task_context) {
  pool* p = context;
  ++p->calls;
  p->tasks = tasks;
  const size_t run = tasks - p->leave_out;
  pthread_t* threads = malloc(run * sizeof *threads);
  work* works = malloc(run * sizeof *works);
  if (threads == NULL || works == NULL) abort();
  for (size_t i = run; i-- != 0;) {
    works[i] = (work){task, task_context, i};
    if (pthread_create(&threads[i], NULL, run_work, &works[i]) != 0) abort();
  }
  for (size_t i = 0; i < run; ++i) pthread_join(threads[i], NULL);
  free(works);
  free(threads);
}

enum { MANY = 2000003 };

static void fill(float* values) {
  uint32_t state = 1;
  for (int i = 0; i < MANY; ++i) {
    state = state * 1664525 + 1013904223;
    values[i] = (float)(int32_t)state * 1e-6f;
  }
}

static void test_executors(void) {
  float* values = malloc(MANY * sizeof *values);
  uint8_t* alone = malloc(MANY);
  uint8_t* together = malloc(MANY);
  if (values == NULL || alone == NULL || together == NULL) abort();
  fill(values);
  tensorcast_run run = TENSORCAST_RUN_INIT;
  run.loss = new_meter(1, 17);
  CHECK_INT(tensorcast_cast(1, values, 4 * MANY, 17, alone, MANY, MANY, NULL, &run), TENSORCAST_OK);
  const tensorcast_loss_report report = report_of(run.loss);
  CHECK_INT(report.elements, MANY);
  tensorcast_loss_meter_destroy(run.loss);

  pool p = {0, 0, 0};
  tensorcast_executor* executors[3] = {NULL, NULL, NULL};
#ifdef HAS_TBB
  CHECK_INT(tensorcast_executor_create(3, &executors[0]), TENSORCAST_OK);
#else
  CHECK_INT(tensorcast_executor_create(3, &executors[0]), TENSORCAST_NO_THREADS);
#endif
  CHECK_INT(tensorcast_executor_create_custom(3, pool_parallel_for, &p, &executors[1]),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_executor_create_custom(0, pool_parallel_for, &p, &executors[2]),
            TENSORCAST_OK);
  for (int e = 0; e < 3; ++e) {
    memset(together, 0, MANY);
    run.executor = executors[e];
    run.loss = new_meter(1, 17);
    CHECK_INT(tensorcast_cast(1, values, 4 * MANY, 17, together, MANY, MANY, NULL, &run),
              TENSORCAST_OK);
    CHECK(memcmp(alone, together, MANY) == 0);
    const tensorcast_loss_report same = report_of(run.loss);
    CHECK(memcmp(&report, &same, sizeof report) == 0);
    tensorcast_loss_meter_destroy(run.loss);
  }
  CHECK_INT(p.calls, 1); /* a concurrency of 0 counts as 1, which needs no pool */
  CHECK(p.tasks > 1);

  /* A pool that gives up. */
  p.leave_out = 1;
  run.executor = executors[1];
  run.loss = NULL;
  CHECK_INT(tensorcast_cast(1, values, 4 * MANY, 17, together, MANY, MANY, NULL, &run),
            TENSORCAST_EXECUTOR_FAILED);
  p.leave_out = 0;
  CHECK_INT(tensorcast_cast(1, values, 4 * MANY, 17, together, MANY, MANY, NULL, &run),
            TENSORCAST_OK);
  CHECK(memcmp(alone, together, MANY) == 0);

  CHECK_INT(tensorcast_executor_create(1, NULL), TENSORCAST_NULL_POINTER);
  tensorcast_executor* none = NULL;
  CHECK_INT(tensorcast_executor_create_custom(1, NULL, NULL, &none), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_executor_create_custom(1, pool_parallel_for, NULL, NULL),
            TENSORCAST_NULL_POINTER);
  CHECK(none == NULL);
  for (int e = 0; e < 3; ++e) tensorcast_executor_destroy(executors[e]);
  tensorcast_executor_destroy(NULL);
  free(together);
  free(alone);
  free(values);
}

int main(void) {
  test_report();
  test_names();
  test_merge();
  test_meter_refuses();
  test_executors();
  RETURN_FAILURES;
}
