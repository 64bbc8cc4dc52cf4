/* The C interface: strings. Expected values are those of docs/semantics.md, as literals.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "check.h"
#include "tensorcast/tensorcast.h"

static const tensorcast_options ort = {sizeof(tensorcast_options), 0, 0, 0, 0, 0,
                                       TENSORCAST_STRING_STYLE_ORT};
static const tensorcast_options fnuz_nan = {sizeof(tensorcast_options),   0, 0, 0,
                                            TENSORCAST_FNUZ_INFINITY_NAN, 0, 0};

static void test_values(void) {
  const struct {
    const char* text;
    int32_t to;
    const tensorcast_options* options;
    uint64_t expected;
  } parsed[] = {
      {"1.000000059604644775390626", 1, NULL, 0x3F800001},
      {"1e5", 6, NULL, 100000},
      {"100.5", 6, NULL, 100},
      {"300", 3, NULL, 44},
      {"1.5", 22, NULL, 2},
      {"8", 22, NULL, 8},
      {" \t-inf\n", 1, NULL, 0xFF800000},
      {"1e400", 18, &fnuz_nan, 0x7F},
      {"inf", 18, &fnuz_nan, 0x80},
      {"True", 9, NULL, 1},
      {"0e999999999999", 9, NULL, 0},
      {"1e99999999999999999999", 10, NULL, 0x7C00},
  };
  for (size_t i = 0; i < sizeof parsed / sizeof parsed[0]; ++i) {
    uint64_t code = 7;
    CHECK_INT(tensorcast_parse_value(parsed[i].text, strlen(parsed[i].text), parsed[i].to,
                                     parsed[i].options, &code),
              TENSORCAST_OK);
    CHECK_INT(code, parsed[i].expected);
  }
  const struct {
    int32_t from;
    uint64_t code;
    const tensorcast_options* options;
    const char* expected;
  } printed[] = {
      {1, 0x3E979FB0, NULL, "0.2961402"},
      {1, 0x3E979FB0, &ort, "0.29614019"},
      {11, 0x3FD3333333333334, NULL, "0.30000000000000004"},
      {11, 0x3FD3333333333334, &ort, "0.3"},
      {1, 0x38D1B717, NULL, "1e-04"},
      {17, 0x3A, NULL, "1.2"},
      {17, 0x7E, NULL, "450.0"},
      {24, 0x00, NULL, "5.877472e-39"},
      {7, (uint64_t)INT64_MIN, NULL, "-9223372036854775808"},
      {9, 5, NULL, "True"},
      {9, 5, &ort, "1"},
      {1, 0xFFC00000, NULL, "nan"},
      {11, 1, NULL, "5e-324"},
  };
  for (size_t i = 0; i < sizeof printed / sizeof printed[0]; ++i) {
    const uint64_t size = strlen(printed[i].expected) + 1;
    char buffer[TENSORCAST_PRINTED_VALUE_BYTES];
    uint64_t needed = 0;
    memset(buffer, '#', sizeof buffer);
    CHECK_INT(tensorcast_print_value(printed[i].from, printed[i].code, printed[i].options, buffer,
                                     sizeof buffer, &needed),
              TENSORCAST_OK);
    CHECK_TEXT(buffer, printed[i].expected);
    CHECK_INT(needed, size);
    memset(buffer, '#', sizeof buffer);
    CHECK_INT(tensorcast_print_value(printed[i].from, printed[i].code, printed[i].options, buffer,
                                     size - 1, &needed),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(buffer[0], '#');
    CHECK_INT(tensorcast_print_value(printed[i].from, printed[i].code, printed[i].options, buffer,
                                     size, NULL),
              TENSORCAST_OK);
    CHECK_TEXT(buffer, printed[i].expected);
  }
}

static void test_values_refuse(void) {
  uint64_t code = 7;
  CHECK_INT(tensorcast_parse_value("1x", 2, 1, NULL, &code), TENSORCAST_NOT_A_NUMBER);
  CHECK_INT(tensorcast_parse_value("", 0, 1, NULL, &code), TENSORCAST_NOT_A_NUMBER);
  CHECK_INT(tensorcast_parse_value(NULL, 0, 1, NULL, &code), TENSORCAST_NOT_A_NUMBER);
  CHECK_INT(tensorcast_parse_value("1\0", 2, 1, NULL, &code), TENSORCAST_NOT_A_NUMBER);
  CHECK_INT(tensorcast_parse_value("inf", 3, 6, NULL, &code), TENSORCAST_NOT_AN_INTEGER);
  CHECK_INT(tensorcast_parse_value("1", 1, 14, NULL, &code), TENSORCAST_INVALID_TYPE);
  CHECK(tensorcast_parse_value("1", 1, 8, NULL, &code) != TENSORCAST_OK);
  CHECK_INT(tensorcast_parse_value(NULL, 1, 1, NULL, &code), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_parse_value("1", 1, 1, NULL, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(code, 0);
  char buffer[40];
  uint64_t needed = 7;
  const tensorcast_options bad = {0, 0, 0, 0, 0, 0, 0};
  CHECK_INT(tensorcast_print_value(15, 0, NULL, buffer, 40, &needed), TENSORCAST_INVALID_TYPE);
  CHECK(tensorcast_print_value(8, 0, NULL, buffer, 40, &needed) != TENSORCAST_OK);
  CHECK_INT(tensorcast_print_value(1, 0, NULL, NULL, 40, &needed), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_print_value(1, 0, &bad, buffer, 40, &needed), TENSORCAST_BAD_STRUCT);
  CHECK_INT(needed, 0);
  CHECK_INT(tensorcast_print_value(1, 0, NULL, NULL, 0, &needed), TENSORCAST_OK);
  CHECK_INT(needed, 4); /* "0.0" */
}

static const char bytes[] = "##1.5-0.25 300inf";
static const uint64_t offsets[5] = {2, 5, 10, 14, 17}; /* 1.5, -0.25, " 300", inf */

static void test_parse(void) {
  uint16_t halves[4] = {0};
  static const uint16_t expected[4] = {0x3E00, 0xB400, 0x5CB0, 0x7C00};
  CHECK_INT(tensorcast_parse_strings(offsets, 5, bytes, 17, TENSORCAST_FLOAT16, halves, 8, NULL,
                                     NULL, NULL),
            TENSORCAST_OK);
  CHECK(memcmp(halves, expected, 8) == 0);
  /* To a packed type, pad bits zero: 2, 0, 300 mod 4 = 0. */
  uint8_t packed = 0xFF;
  CHECK_INT(tensorcast_parse_strings(offsets, 4, bytes, 17, TENSORCAST_UINT2, &packed, 1, NULL,
                                     NULL, NULL),
            TENSORCAST_OK);
  CHECK_INT(packed, 0x02);
  /* No strings at all, said in two ways. */
  CHECK_INT(tensorcast_parse_strings(NULL, 0, NULL, 0, 1, NULL, 0, NULL, NULL, NULL),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_parse_strings(offsets, 1, NULL, 0, 1, NULL, 0, NULL, NULL, NULL),
            TENSORCAST_OK);

  tensorcast_plan* plan = NULL;
  CHECK_INT(tensorcast_plan_create(TENSORCAST_STRING, TENSORCAST_FLOAT16, NULL, 0, &plan),
            TENSORCAST_OK);
  uint16_t part[4] = {1, 1, 1, 1};
  CHECK_INT(tensorcast_plan_parse(plan, offsets, 5, bytes, 17, 1, part, 8, 2, 2, NULL, NULL),
            TENSORCAST_OK);
  CHECK(part[0] == 1 && part[1] == 1 && part[2] == 0xB400 && part[3] == 0x5CB0);
  CHECK_INT(tensorcast_plan_run(plan, bytes, 17, 0, part, 8, 0, 1, NULL), TENSORCAST_WRONG_CALL);
  CHECK_INT(tensorcast_plan_parse(NULL, offsets, 5, bytes, 17, 1, part, 8, 2, 2, NULL, NULL),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_plan_parse(plan, offsets, 5, bytes, 17, 4, part, 8, 0, 1, NULL, NULL),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(
      tensorcast_plan_parse(plan, offsets, 5, bytes, 17, UINT64_MAX, part, 8, 0, 1, NULL, NULL),
      TENSORCAST_SIZE_OVERFLOW);
  CHECK_INT(tensorcast_plan_parse(plan, offsets, 5, bytes, 17, 0, part, 8, 4, 1, NULL, NULL),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_plan_parse(plan, NULL, 5, bytes, 17, 0, part, 8, 0, 1, NULL, NULL),
            TENSORCAST_NULL_POINTER);
  tensorcast_plan_destroy(plan);
}

static void test_parse_failure(void) {
  int8_t bytes_out[4];
  union {
    tensorcast_parse_failure failure;
    unsigned char bytes[128];
  } given;
  memset(&given, 0xAA, sizeof given);
  given.failure.struct_size = sizeof given.failure;
  CHECK_INT(tensorcast_parse_strings(offsets, 5, bytes, 17, TENSORCAST_INT8, bytes_out, 4, NULL,
                                     NULL, &given.failure),
            TENSORCAST_NOT_AN_INTEGER);
  CHECK_INT(given.failure.index, 3);
  CHECK_TEXT(given.failure.text, "inf");
  /* Of an older and of a newer caller; of one that forgot the size. */
  memset(&given, 0xAA, sizeof given);
  given.failure.struct_size = 16;
  CHECK_INT(tensorcast_parse_strings(offsets, 5, bytes, 17, TENSORCAST_INT8, bytes_out, 4, NULL,
                                     NULL, &given.failure),
            TENSORCAST_NOT_AN_INTEGER);
  CHECK_INT(given.failure.index, 3);
  CHECK_INT(given.bytes[16], 0xAA);
  given.failure.struct_size = sizeof given;
  CHECK_INT(tensorcast_parse_strings(offsets, 5, bytes, 17, TENSORCAST_INT8, bytes_out, 4, NULL,
                                     NULL, &given.failure),
            TENSORCAST_NOT_AN_INTEGER);
  CHECK_INT(given.bytes[127], 0);
  given.failure.struct_size = 0;
  CHECK_INT(tensorcast_parse_strings(offsets, 5, bytes, 17, TENSORCAST_INT8, bytes_out, 4, NULL,
                                     NULL, &given.failure),
            TENSORCAST_BAD_STRUCT);
  /* Left alone where nothing failed, and where something else did. */
  memset(&given, 0xAA, sizeof given);
  given.failure.struct_size = sizeof given.failure;
  CHECK_INT(tensorcast_parse_strings(offsets, 4, bytes, 17, TENSORCAST_INT8, bytes_out, 4, NULL,
                                     NULL, &given.failure),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_parse_strings(offsets, 5, bytes, 17, TENSORCAST_INT8, bytes_out, 3, NULL,
                                     NULL, &given.failure),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(given.bytes[8], 0xAA);
}

static void test_parse_refuses(void) {
  uint16_t halves[4];
  static const uint64_t decreasing[3] = {0, 5, 4};
  static const uint64_t beyond[3] = {0, 5, 18};
  const uint64_t* misaligned = (const uint64_t*)(const void*)((const char*)offsets + 4);
  tensorcast_loss_meter* meter = NULL;
  CHECK_INT(tensorcast_loss_meter_create(1, 10, NULL, &meter), TENSORCAST_OK);
  tensorcast_run measured = TENSORCAST_RUN_INIT;
  measured.loss = meter;
  tensorcast_run bad = TENSORCAST_RUN_INIT;
  bad.struct_size = 3;
  const struct {
    const uint64_t* offsets;
    uint64_t count;
    const char* bytes;
    uint64_t size;
    int32_t to;
    void* out;
    uint64_t out_bytes;
    const tensorcast_run* run;
    int32_t expected;
  } calls[] = {
      {NULL, 5, bytes, 17, 10, halves, 8, NULL, TENSORCAST_NULL_POINTER},
      {offsets, 5, NULL, 17, 10, halves, 8, NULL, TENSORCAST_NULL_POINTER},
      {offsets, 5, NULL, 0, 10, halves, 8, NULL, TENSORCAST_BAD_OFFSETS},
      {offsets, 5, bytes, 17, 10, NULL, 8, NULL, TENSORCAST_NULL_POINTER},
      {offsets, 5, bytes, 17, 10, halves, 7, NULL, TENSORCAST_BUFFER_TOO_SMALL},
      {offsets, 5, bytes, 16, 10, halves, 8, NULL, TENSORCAST_BAD_OFFSETS},
      {decreasing, 3, bytes, 17, 10, halves, 8, NULL, TENSORCAST_BAD_OFFSETS},
      {beyond, 3, bytes, 17, 10, halves, 8, NULL, TENSORCAST_BAD_OFFSETS},
      {misaligned, 3, bytes, 17, 10, halves, 8, NULL, TENSORCAST_MISALIGNED},
      {offsets, 5, bytes, 17, 14, halves, 8, NULL, TENSORCAST_INVALID_TYPE},
      {offsets, 5, bytes, 17, 8, halves, 8, NULL, TENSORCAST_WRONG_CALL},
      {offsets, 5, bytes, 17, 10, halves, 8, &measured, TENSORCAST_UNSUPPORTED},
      {offsets, 5, bytes, 17, 10, halves, 8, &bad, TENSORCAST_BAD_STRUCT},
  };
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    CHECK_INT(tensorcast_parse_strings(calls[i].offsets, calls[i].count, calls[i].bytes,
                                       calls[i].size, calls[i].to, calls[i].out, calls[i].out_bytes,
                                       NULL, calls[i].run, NULL),
              calls[i].expected);
  }
  tensorcast_loss_meter_destroy(meter);
}

static void test_print(void) {
  static const uint16_t halves[4] = {0x3E00, 0xB400, 0x5CB0, 0x7C00};
  static const char expected[] = "1.5-0.25300.0inf";
  static const uint64_t expected_offsets[5] = {0, 3, 8, 13, 16};
  uint64_t size = 0;
  CHECK_INT(tensorcast_printed_bytes(10, halves, 8, 4, NULL, NULL, &size), TENSORCAST_OK);
  CHECK_INT(size, 16);
  char text[17] = "################";
  uint64_t starts[5];
  CHECK_INT(tensorcast_print_strings(10, halves, 8, 4, starts, 5, text, 16, NULL, NULL),
            TENSORCAST_OK);
  CHECK_TEXT(text, expected);
  CHECK(memcmp(starts, expected_offsets, sizeof starts) == 0);
  /* No elements are one offset. */
  starts[0] = 7;
  CHECK_INT(tensorcast_print_strings(10, NULL, 0, 0, starts, 1, NULL, 0, NULL, NULL),
            TENSORCAST_OK);
  CHECK_INT(starts[0], 0);

  CHECK_INT(tensorcast_print_strings(10, halves, 8, 4, starts, 5, text, 15, NULL, NULL),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_print_strings(10, halves, 8, 4, starts, 4, text, 16, NULL, NULL),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_print_strings(10, halves, 7, 4, starts, 5, text, 16, NULL, NULL),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_print_strings(10, NULL, 8, 4, starts, 5, text, 16, NULL, NULL),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_print_strings(10, halves, 8, 4, NULL, 5, text, 16, NULL, NULL),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_print_strings(10, halves, 8, 4, starts, 5, NULL, 16, NULL, NULL),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_print_strings(10, halves, 8, UINT64_MAX, starts, 5, text, 16, NULL, NULL),
            TENSORCAST_SIZE_OVERFLOW);
  CHECK_INT(tensorcast_print_strings(10, halves, 8, 4, (uint64_t*)(void*)((char*)starts + 4), 4,
                                     text, 16, NULL, NULL),
            TENSORCAST_MISALIGNED);
  CHECK_INT(tensorcast_print_strings(8, halves, 8, 4, starts, 5, text, 16, NULL, NULL),
            TENSORCAST_WRONG_CALL);
  CHECK_INT(tensorcast_print_strings(0, halves, 8, 4, starts, 5, text, 16, NULL, NULL),
            TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_printed_bytes(10, halves, 8, 4, NULL, NULL, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_printed_bytes(10, halves, 7, 4, NULL, NULL, &size),
            TENSORCAST_BUFFER_TOO_SMALL);
  tensorcast_run run = TENSORCAST_RUN_INIT;
  run.reserved = 1;
  CHECK_INT(tensorcast_printed_bytes(10, halves, 8, 4, NULL, &run, &size), TENSORCAST_BAD_STRUCT);
  CHECK_INT(tensorcast_print_strings(10, halves, 8, 4, starts, 5, text, 16, NULL, &run),
            TENSORCAST_BAD_STRUCT);

  tensorcast_plan* plan = NULL;
  CHECK_INT(tensorcast_plan_create(10, TENSORCAST_STRING, NULL, 0, &plan), TENSORCAST_OK);
  CHECK_INT(tensorcast_plan_printed_bytes(plan, halves, 8, 1, 2, NULL, &size), TENSORCAST_OK);
  CHECK_INT(size, 10);
  CHECK_INT(tensorcast_plan_print(plan, halves, 8, 1, 2, starts, 5, text, 16, NULL), TENSORCAST_OK);
  CHECK(memcmp(text, "-0.25300.0", 10) == 0);
  CHECK(starts[0] == 0 && starts[1] == 5 && starts[2] == 10);
  CHECK_INT(tensorcast_plan_printed_bytes(NULL, halves, 8, 1, 2, NULL, &size),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_plan_printed_bytes(plan, halves, 8, 4, 1, NULL, &size),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_plan_print(NULL, halves, 8, 1, 2, starts, 5, text, 16, NULL),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_plan_print(plan, halves, 8, 1, 2, NULL, 5, text, 16, NULL),
            TENSORCAST_NULL_POINTER);
  tensorcast_plan_destroy(plan);
}

static void test_copy(void) {
  uint64_t starts[5];
  char text[15];
  CHECK_INT(tensorcast_copy_strings(offsets, 5, bytes, 17, starts, 5, text, 15), TENSORCAST_OK);
  CHECK(memcmp(text, bytes + 2, 15) == 0);
  for (int i = 0; i < 5; ++i) CHECK_INT(starts[i], offsets[i] - 2);
  CHECK_INT(tensorcast_copy_strings(offsets, 5, bytes, 17, starts, 5, text, 14),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_copy_strings(offsets, 5, bytes, 17, starts, 4, text, 15),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_copy_strings(offsets, 5, bytes, 16, starts, 5, text, 15),
            TENSORCAST_BAD_OFFSETS);
  CHECK_INT(tensorcast_copy_strings(NULL, 5, bytes, 17, starts, 5, text, 15),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_copy_strings(offsets, 5, NULL, 17, starts, 5, text, 15),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_copy_strings(offsets, 5, bytes, 17, NULL, 5, text, 15),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_copy_strings(offsets, 5, bytes, 17, starts, 5, NULL, 15),
            TENSORCAST_NULL_POINTER);
}

/* Tasks in reverse on the calling thread, or all but the last. */
static void backwards(void* context, size_t tasks, tensorcast_task task, void* task_context) {
  const size_t* leave_out = context;
  for (size_t i = tasks; i-- != 0;) {
    if (i >= *leave_out) task(task_context, i);
  }
}

enum { MANY = 100003 };

static void test_executor(void) {
  size_t leave_out = 0;
  tensorcast_run run = TENSORCAST_RUN_INIT;
  CHECK_INT(tensorcast_executor_create_custom(4, backwards, &leave_out, &run.executor),
            TENSORCAST_OK);
  int32_t* numbers = malloc(MANY * sizeof *numbers);
  int32_t* back = malloc(MANY * sizeof *back);
  uint64_t* starts = malloc((MANY + 1) * sizeof *starts);
  if (numbers == NULL || back == NULL || starts == NULL) abort();
  uint64_t expected = 0;
  for (int i = 0; i < MANY; ++i) {
    numbers[i] = i - 50000;
    expected += (uint64_t)snprintf(NULL, 0, "%d", numbers[i]);
  }
  uint64_t size = 0;
  CHECK_INT(tensorcast_printed_bytes(6, numbers, 4 * MANY, MANY, NULL, &run, &size), TENSORCAST_OK);
  CHECK_INT(size, expected);
  char* text = malloc(size);
  if (text == NULL) abort();
  CHECK_INT(tensorcast_print_strings(6, numbers, 4 * MANY, MANY, starts, MANY + 1, text, size, NULL,
                                     &run),
            TENSORCAST_OK);
  CHECK_INT(
      tensorcast_parse_strings(starts, MANY + 1, text, size, 6, back, 4 * MANY, NULL, &run, NULL),
      TENSORCAST_OK);
  CHECK(memcmp(numbers, back, 4 * MANY) == 0);
  /* The lowest of two failures, though the tasks run backwards. */
  text[starts[90000]] = 'x';
  text[starts[30000]] = 'y';
  tensorcast_parse_failure failure;
  failure.struct_size = sizeof failure;
  CHECK_INT(tensorcast_parse_strings(starts, MANY + 1, text, size, 6, back, 4 * MANY, NULL, &run,
                                     &failure),
            TENSORCAST_NOT_A_NUMBER);
  CHECK_INT(failure.index, 30000);
  leave_out = 1;
  CHECK_INT(tensorcast_printed_bytes(6, numbers, 4 * MANY, MANY, NULL, &run, &size),
            TENSORCAST_EXECUTOR_FAILED);
  tensorcast_executor_destroy(run.executor);
  free(text);
  free(starts);
  free(back);
  free(numbers);
}

int main(void) {
  test_values();
  test_values_refuse();
  test_parse();
  test_parse_failure();
  test_parse_refuses();
  test_print();
  test_copy();
  test_executor();
  RETURN_FAILURES;
}
