/* The C interface: casts, plans, options and what is refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "check.h"
#include "published_vectors.h"
#include "tensorcast/tensorcast.h"

/* Buffers are bytes: nothing is aligned, whatever the type. */
enum { ELEMENTS = 21 };
static unsigned char source_bytes[1 + 8 * ELEMENTS];
static unsigned char result_bytes[1 + 8 * ELEMENTS];
static unsigned char* const source = source_bytes + 1;
static unsigned char* const result = result_bytes + 1;

static int bits_of(int32_t type) {
  tensorcast_type_info info;
  info.struct_size = sizeof info;
  CHECK_INT(tensorcast_type_find(type, &info), TENSORCAST_OK);
  return info.bits;
}

static void put_code(unsigned char* bytes, int bits, int i, uint64_t code) {
  for (int b = 0; b < bits; ++b) {
    const int at = i * bits + b;
    bytes[at / 8] = (unsigned char)((bytes[at / 8] & ~(1u << (at % 8))) |
                                    (unsigned)((code >> b) & 1) << (at % 8));
  }
}

static uint64_t get_code(const unsigned char* bytes, int bits, int i) {
  uint64_t code = 0;
  for (int b = 0; b < bits; ++b) {
    const int at = i * bits + b;
    code |= (uint64_t)((bytes[at / 8] >> (at % 8)) & 1) << b;
  }
  return code;
}

static void test_published_vectors(void) {
  for (int row = 0; row < PUBLISHED_VECTORS; ++row) {
    const published_vector v = published_vectors[row];
    const int from_bits = bits_of(v.from), to_bits = bits_of(v.to);
    uint64_t one = 0;
    CHECK_INT(tensorcast_cast_code(v.from, v.input, v.to, &v.options, &one), TENSORCAST_OK);
    CHECK_INT(one, v.expected);

    /* As a whole tensor: pad bits are zero, and nothing behind is touched. */
    for (int i = 0; i < ELEMENTS; ++i) put_code(source, from_bits, i, v.input);
    memset(result_bytes, 0xFF, sizeof result_bytes);
    uint64_t in = 0, out = 0;
    CHECK_INT(tensorcast_storage_bytes(v.from, ELEMENTS, &in), TENSORCAST_OK);
    CHECK_INT(tensorcast_storage_bytes(v.to, ELEMENTS, &out), TENSORCAST_OK);
    CHECK_INT(tensorcast_cast(v.from, source, in, v.to, result, out, ELEMENTS, &v.options, NULL),
              TENSORCAST_OK);
    for (int i = 0; i < ELEMENTS; ++i) CHECK_INT(get_code(result, to_bits, i), v.expected);
    const int used = ELEMENTS * to_bits % 8;
    if (used != 0) CHECK_INT(result[out - 1] >> used, 0);
    CHECK(out + 1 == sizeof result_bytes || result[out] == 0xFF);

    /* As elements 5 to 7 of a longer one: all other bits stay. */
    tensorcast_plan* plan = NULL;
    CHECK_INT(tensorcast_plan_create(v.from, v.to, &v.options, TENSORCAST_TARGET_BEST, &plan),
              TENSORCAST_OK);
    memset(result_bytes, 0xFF, sizeof result_bytes);
    CHECK_INT(tensorcast_plan_run(plan, source, in, 2, result, out, 5, 3, NULL), TENSORCAST_OK);
    for (int bit = 0; bit < ELEMENTS * to_bits; ++bit) {
      const int i = bit / to_bits;
      const int expected = i < 5 || i >= 8 ? 1 : (int)((v.expected >> (bit % to_bits)) & 1);
      CHECK_INT((result[bit / 8] >> (bit % 8)) & 1, expected);
    }
    CHECK_INT(result_bytes[0], 0xFF);
    tensorcast_plan_destroy(plan);
  }
}

static void test_packing(void) {
  for (int32_t type = 1; type <= 28; ++type) {
    if (type == TENSORCAST_STRING || type == 14 || type == 15) continue;
    const int bits = bits_of(type), width = bits < 8 ? 1 : bits / 8;
    unsigned char codes[8 * ELEMENTS];
    uint64_t stored = 0;
    CHECK_INT(tensorcast_storage_bytes(type, ELEMENTS, &stored), TENSORCAST_OK);
    for (uint64_t i = 0; i < stored; ++i) source[i] = (unsigned char)(37 * i + 11);
    CHECK_INT(tensorcast_unpack(type, source, stored, 2, codes, sizeof codes, ELEMENTS - 2),
              TENSORCAST_OK);
    for (int i = 0; i < ELEMENTS - 2; ++i) {
      const uint64_t expected = get_code(source, bits, i + 2);
      CHECK_INT(get_code(codes, 8 * width, i), expected);
      uint64_t one = 0;
      CHECK_INT(tensorcast_load_code(type, source, stored, (uint64_t)i + 2, &one), TENSORCAST_OK);
      CHECK_INT(one, expected);
    }
    memset(result_bytes, 0xFF, sizeof result_bytes);
    CHECK_INT(tensorcast_pack(type, codes, sizeof codes, result, stored, 1, ELEMENTS - 2),
              TENSORCAST_OK);
    for (int i = 0; i < ELEMENTS - 2; ++i) {
      CHECK_INT(get_code(result, bits, i + 1), get_code(source, bits, i + 2));
    }
    CHECK_INT(get_code(result, bits, 0), bits == 64 ? UINT64_MAX : (1ull << bits) - 1);
    CHECK_INT(tensorcast_store_code(type, result, stored, 3, 1), TENSORCAST_OK);
    CHECK_INT(get_code(result, bits, 3), 1);
    CHECK_INT(get_code(result, bits, 4), get_code(source, bits, 5));

    uint64_t one = 0;
    CHECK_INT(tensorcast_load_code(type, source, stored, ELEMENTS + 8, &one),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(tensorcast_load_code(type, NULL, stored, 0, &one), TENSORCAST_NULL_POINTER);
    CHECK_INT(tensorcast_load_code(type, source, stored, 0, NULL), TENSORCAST_NULL_POINTER);
    CHECK_INT(tensorcast_store_code(type, result, 0, 0, 1), TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(tensorcast_store_code(type, result, stored, UINT64_MAX, 1), TENSORCAST_SIZE_OVERFLOW);
    CHECK_INT(tensorcast_unpack(type, source, stored - 1, 0, codes, sizeof codes, ELEMENTS),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(
        tensorcast_pack(type, codes, (uint64_t)(width * ELEMENTS - 1), result, stored, 0, ELEMENTS),
        TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(tensorcast_pack(type, result, stored, result, stored, 0, 1), TENSORCAST_OVERLAP);
  }
  uint64_t one = 0;
  CHECK_INT(tensorcast_load_code(TENSORCAST_STRING, source, 8, 0, &one), TENSORCAST_WRONG_CALL);
  CHECK_INT(tensorcast_store_code(TENSORCAST_STRING, source, 8, 0, 1), TENSORCAST_WRONG_CALL);
  CHECK_INT(tensorcast_unpack(TENSORCAST_STRING, source, 8, 0, result, 8, 1),
            TENSORCAST_WRONG_CALL);
  CHECK_INT(tensorcast_pack(15, source, 8, result, 8, 0, 1), TENSORCAST_INVALID_TYPE);
}

static void test_targets(void) {
  int32_t targets[16];
  uint64_t count = 0;
  CHECK_INT(tensorcast_targets(targets, 16, &count), TENSORCAST_OK);
  for (int32_t target = 0; target <= TENSORCAST_TARGET_AVX3_DL; ++target) {
    int available = target == TENSORCAST_TARGET_BEST;
    for (uint64_t i = 0; i < count; ++i) available |= targets[i] == target;
    tensorcast_plan* plan = NULL;
    const int32_t status =
        tensorcast_plan_create(TENSORCAST_FLOAT32, TENSORCAST_INT4, NULL, target, &plan);
    CHECK_INT(status, available ? TENSORCAST_OK : TENSORCAST_TARGET_UNAVAILABLE);
    CHECK((plan != NULL) == available);
    if (plan == NULL) continue;
    int32_t bound = -7;
    CHECK_INT(tensorcast_plan_target(plan, &bound), TENSORCAST_OK);
    CHECK_INT(bound, target == TENSORCAST_TARGET_BEST ? targets[0] : target);
    CHECK_INT(tensorcast_plan_target(plan, NULL), TENSORCAST_NULL_POINTER);
    tensorcast_plan_destroy(plan);
  }
  int32_t bound = -7;
  tensorcast_plan* plan = NULL;
  CHECK_INT(tensorcast_plan_target(NULL, &bound), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_plan_create(1, 2, NULL, -1, &plan), TENSORCAST_TARGET_UNAVAILABLE);
  CHECK_INT(tensorcast_plan_create(1, 2, NULL, 1000, &plan), TENSORCAST_TARGET_UNAVAILABLE);
  CHECK(plan == NULL);
}

/* Every call that takes options sees this. */
static void check_options(const tensorcast_options* options, int32_t expected) {
  static const float value = 1;
  unsigned char byte = 0x5C;
  uint64_t code = 0;
  tensorcast_plan* plan = NULL;
  tensorcast_loss_meter* meter = NULL;
  CHECK_INT(tensorcast_cast(1, &value, 4, 3, &byte, 1, 1, options, NULL), expected);
  CHECK_INT(byte, expected == TENSORCAST_OK ? 1 : 0x5C);
  CHECK_INT(tensorcast_cast_code(1, 0x3F800000, 3, options, &code), expected);
  CHECK_INT(tensorcast_plan_create(1, 3, options, 0, &plan), expected);
  CHECK((plan != NULL) == (expected == TENSORCAST_OK));
  CHECK_INT(tensorcast_loss_meter_create(1, 3, options, &meter), expected);
  CHECK((meter != NULL) == (expected == TENSORCAST_OK));
  CHECK_INT(tensorcast_parse_value("1", 1, 3, options, &code), expected);
  tensorcast_plan_destroy(plan);
  tensorcast_loss_meter_destroy(meter);
}

static void test_options(void) {
  check_options(NULL, TENSORCAST_OK);
  const tensorcast_options good = TENSORCAST_OPTIONS_INIT;
  check_options(&good, TENSORCAST_OK);
  static const int32_t most[6] = {1, 2, 1, 1, 1, 1};
  for (int field = 0; field < 6; ++field) {
    for (int wrong = 0; wrong < 4; ++wrong) {
      const int32_t values[4] = {-1, most[field] + 1, INT32_MAX, INT32_MIN};
      tensorcast_options options = TENSORCAST_OPTIONS_INIT;
      memcpy((char*)&options + 4 + 4 * field, &values[wrong], 4);
      check_options(&options, TENSORCAST_INVALID_OPTION);
    }
    tensorcast_options options = TENSORCAST_OPTIONS_INIT;
    memcpy((char*)&options + 4 + 4 * field, &most[field], 4);
    check_options(&options, TENSORCAST_OK);
  }
}

/* An older struct ends earlier: what is behind its end, or only partly before it, is not read. A
 * newer one may say nothing that is not known. */
static void test_options_struct_sizes(void) {
  union {
    tensorcast_options options;
    unsigned char bytes[5000];
  } given;
  const float nan_value = 3e9f;
  for (uint32_t size = 0; size <= sizeof(tensorcast_options); ++size) {
    memset(&given, 0xFF, sizeof given);
    const tensorcast_options saturate = SATURATE_INTEGER;
    memcpy(&given, &saturate, size > 4 ? size : 4);
    given.options.struct_size = size;
    int32_t code = 0;
    const int32_t status = tensorcast_cast(TENSORCAST_FLOAT32, &nan_value, 4, TENSORCAST_INT32,
                                           &code, 4, 1, &given.options, NULL);
    CHECK_INT(status, size < 4 ? TENSORCAST_BAD_STRUCT : TENSORCAST_OK);
    CHECK_INT(code, size < 4 ? 0 : size < 16 ? -1294967296 : INT32_MAX);
  }
  memset(&given, 0, sizeof given);
  for (uint32_t size = sizeof(tensorcast_options) + 1; size <= 4096; size += 407) {
    given.options.struct_size = size;
    check_options(&given.options, TENSORCAST_OK);
    given.bytes[size] = 1;
    check_options(&given.options, TENSORCAST_OK);
    given.bytes[size] = 0;
    given.bytes[size - 1] = 1;
    check_options(&given.options, TENSORCAST_BAD_STRUCT);
    given.bytes[size - 1] = 0;
  }
  given.options.struct_size = 4097;
  check_options(&given.options, TENSORCAST_BAD_STRUCT);
  given.options.struct_size = UINT32_MAX;
  check_options(&given.options, TENSORCAST_BAD_STRUCT);
}

static void test_cast_refuses(void) {
  float values[4] = {1, 2, 3, 4};
  unsigned char bytes[4] = {9, 9, 9, 9};
  const struct {
    int32_t from;
    const void* in;
    uint64_t in_bytes;
    int32_t to;
    void* out;
    uint64_t out_bytes, n;
    int32_t expected;
  } calls[] = {
      {1, values, 16, 14, bytes, 4, 4, TENSORCAST_INVALID_TYPE},
      {0, values, 16, 3, bytes, 4, 4, TENSORCAST_INVALID_TYPE},
      {INT32_MIN, values, 16, 3, bytes, 4, 4, TENSORCAST_INVALID_TYPE},
      {1, NULL, 16, 3, bytes, 4, 4, TENSORCAST_NULL_POINTER},
      {1, NULL, 0, 3, bytes, 4, 4, TENSORCAST_NULL_POINTER},
      {1, values, 16, 3, NULL, 4, 4, TENSORCAST_NULL_POINTER},
      {1, values, 15, 3, bytes, 4, 4, TENSORCAST_BUFFER_TOO_SMALL},
      {1, values, 16, 3, bytes, 3, 4, TENSORCAST_BUFFER_TOO_SMALL},
      {1, values, 16, 3, bytes, 4, UINT64_MAX, TENSORCAST_SIZE_OVERFLOW},
      {1, values, 16, 3, bytes, 4, UINT64_MAX / 4 + 1, TENSORCAST_SIZE_OVERFLOW},
      {1, values, 16, 3, bytes, 4, UINT64_MAX / 64, TENSORCAST_BUFFER_TOO_SMALL},
      {1, values, 16, 10, values, 16, 4, TENSORCAST_OVERLAP},
      {1, values, 12, 12, (char*)values + 4, 12, 3, TENSORCAST_OVERLAP},
      {8, values, 16, 3, bytes, 4, 1, TENSORCAST_WRONG_CALL},
      {1, values, 16, 8, bytes, 4, 1, TENSORCAST_WRONG_CALL},
      {1, NULL, 0, 3, NULL, 0, 0, TENSORCAST_OK},
  };
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    CHECK_INT(tensorcast_cast(calls[i].from, calls[i].in, calls[i].in_bytes, calls[i].to,
                              calls[i].out, calls[i].out_bytes, calls[i].n, NULL, NULL),
              calls[i].expected);
  }
  for (int i = 0; i < 4; ++i) CHECK_INT(bytes[i], 9);
  CHECK(values[0] == 1 && values[3] == 4);
  /* Exactly in place is fine. */
  CHECK_INT(tensorcast_cast(1, values, 16, 6, values, 16, 4, NULL, NULL), TENSORCAST_OK);
  int32_t third = 0;
  memcpy(&third, &values[2], 4);
  CHECK_INT(third, 3);
}

static void test_cast_code_refuses(void) {
  uint64_t code = 7;
  CHECK_INT(tensorcast_cast_code(15, 0, 1, NULL, &code), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_cast_code(1, 0, 15, NULL, &code), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_cast_code(8, 0, 1, NULL, &code), TENSORCAST_WRONG_CALL);
  CHECK_INT(tensorcast_cast_code(1, 0, 8, NULL, &code), TENSORCAST_WRONG_CALL);
  CHECK_INT(tensorcast_cast_code(1, 0, 2, NULL, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(code, 0);
  /* Bits above the type's width are ignored. */
  CHECK_INT(tensorcast_cast_code(22, 0xFFF8, 7, NULL, &code), TENSORCAST_OK);
  CHECK_INT(code, -8);
}

static void test_plan_refuses(void) {
  float values[4] = {1, 2, 3, 4};
  unsigned char bytes[4] = {9, 9, 9, 9};
  tensorcast_plan* plan = NULL;
  CHECK_INT(tensorcast_plan_create(1, 14, NULL, 0, &plan), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_plan_create(-1, 3, NULL, 0, &plan), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_plan_create(1, 3, NULL, 0, NULL), TENSORCAST_NULL_POINTER);
  CHECK(plan == NULL);
  CHECK_INT(tensorcast_plan_run(NULL, values, 16, 0, bytes, 4, 0, 1, NULL),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_plan_create(1, 3, NULL, 0, &plan), TENSORCAST_OK);
  const struct {
    const void* in;
    uint64_t in_bytes, in_first;
    void* out;
    uint64_t out_bytes, out_first, n;
    int32_t expected;
  } calls[] = {
      {NULL, 16, 0, bytes, 4, 0, 1, TENSORCAST_NULL_POINTER},
      {values, 16, 0, NULL, 4, 0, 1, TENSORCAST_NULL_POINTER},
      {values, 16, 4, bytes, 4, 0, 1, TENSORCAST_BUFFER_TOO_SMALL},
      {values, 16, 0, bytes, 4, 4, 1, TENSORCAST_BUFFER_TOO_SMALL},
      {values, 16, UINT64_MAX, bytes, 4, 0, 1, TENSORCAST_SIZE_OVERFLOW},
      {values, 16, 0, bytes, 4, UINT64_MAX, 2, TENSORCAST_SIZE_OVERFLOW},
      {values, 16, UINT64_MAX / 8, bytes, 4, 0, 1, TENSORCAST_SIZE_OVERFLOW},
      {values, 16, 0, bytes, 4, 0, UINT64_MAX, TENSORCAST_SIZE_OVERFLOW},
      {values, 16, 0, values, 16, 0, 4, TENSORCAST_OVERLAP},
      {NULL, 0, 0, NULL, 0, 0, 0, TENSORCAST_OK},
  };
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    CHECK_INT(
        tensorcast_plan_run(plan, calls[i].in, calls[i].in_bytes, calls[i].in_first, calls[i].out,
                            calls[i].out_bytes, calls[i].out_first, calls[i].n, NULL),
        calls[i].expected);
  }
  /* The string calls are for string plans. */
  uint64_t offsets[2] = {0, 1};
  uint64_t count = 7;
  char text[8];
  CHECK_INT(tensorcast_plan_parse(plan, offsets, 2, "1", 1, 0, bytes, 4, 0, 1, NULL, NULL),
            TENSORCAST_WRONG_CALL);
  CHECK_INT(tensorcast_plan_printed_bytes(plan, values, 16, 0, 1, NULL, &count),
            TENSORCAST_WRONG_CALL);
  CHECK_INT(tensorcast_plan_print(plan, values, 16, 0, 1, offsets, 2, text, 8, NULL),
            TENSORCAST_WRONG_CALL);
  for (int i = 0; i < 4; ++i) CHECK_INT(bytes[i], 9);
  tensorcast_plan_destroy(plan);
  tensorcast_plan_destroy(NULL);
}

static void test_run_struct_sizes(void) {
  const float value = 1;
  unsigned char byte = 9;
  union {
    tensorcast_run run;
    unsigned char bytes[5000];
  } given;
  /* Pointers that lie beyond struct_size, in part or whole, are not followed. */
  for (uint32_t size = 0; size <= sizeof(tensorcast_run); ++size) {
    memset(&given, 0, sizeof given);
    memset(given.bytes + 16, 0xAA, sizeof given - 16);
    if (size >= offsetof(tensorcast_run, loss)) given.run.executor = NULL;
    if (size >= offsetof(tensorcast_run, interrupt)) given.run.loss = NULL;
    if (size >= sizeof(tensorcast_run)) given.run.interrupt = NULL;
    given.run.struct_size = size;
    CHECK_INT(tensorcast_cast(1, &value, 4, 3, &byte, 1, 1, NULL, &given.run),
              size < 4 ? TENSORCAST_BAD_STRUCT : TENSORCAST_OK);
  }
  memset(&given, 0, sizeof given);
  given.run.struct_size = 4096;
  CHECK_INT(tensorcast_cast(1, &value, 4, 3, &byte, 1, 1, NULL, &given.run), TENSORCAST_OK);
  given.bytes[4095] = 1;
  CHECK_INT(tensorcast_cast(1, &value, 4, 3, &byte, 1, 1, NULL, &given.run), TENSORCAST_BAD_STRUCT);
  given.run.struct_size = 4097;
  CHECK_INT(tensorcast_cast(1, &value, 4, 3, &byte, 1, 1, NULL, &given.run), TENSORCAST_BAD_STRUCT);
  tensorcast_run run = TENSORCAST_RUN_INIT;
  run.reserved = 1;
  CHECK_INT(tensorcast_cast(1, &value, 4, 3, &byte, 1, 1, NULL, &run), TENSORCAST_BAD_STRUCT);
  tensorcast_plan* plan = NULL;
  CHECK_INT(tensorcast_plan_create(1, 3, NULL, 0, &plan), TENSORCAST_OK);
  CHECK_INT(tensorcast_plan_run(plan, &value, 4, 0, &byte, 1, 0, 1, &run), TENSORCAST_BAD_STRUCT);
  tensorcast_plan_destroy(plan);
}

static void test_interrupt(void) {
  tensorcast_interrupt* interrupt = NULL;
  CHECK_INT(tensorcast_interrupt_create(NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_interrupt_create(&interrupt), TENSORCAST_OK);
  CHECK_INT(tensorcast_interrupt_set(NULL, 1), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_interrupt_set(interrupt, 2), TENSORCAST_INVALID_OPTION);
  const float value = 1.5f;
  double wide = 0;
  tensorcast_run run = TENSORCAST_RUN_INIT;
  run.interrupt = interrupt;
  const int32_t f32 = TENSORCAST_FLOAT32, f64 = TENSORCAST_FLOAT64;
  CHECK_INT(tensorcast_cast(f32, &value, 4, f64, &wide, 8, 1, NULL, &run), TENSORCAST_OK);
  CHECK(wide == 1.5);
  wide = 0;
  CHECK_INT(tensorcast_interrupt_set(interrupt, 1), TENSORCAST_OK);
  CHECK_INT(tensorcast_cast(f32, &value, 4, f64, &wide, 8, 1, NULL, &run), TENSORCAST_INTERRUPTED);
  CHECK(wide == 0);
  /* A run of a version that had no interrupts. */
  run.struct_size = offsetof(tensorcast_run, interrupt);
  CHECK_INT(tensorcast_cast(f32, &value, 4, f64, &wide, 8, 1, NULL, &run), TENSORCAST_OK);
  run.struct_size = sizeof run;
  tensorcast_plan* plan = NULL;
  CHECK_INT(tensorcast_plan_create(f32, f64, NULL, 0, &plan), TENSORCAST_OK);
  CHECK_INT(tensorcast_plan_run(plan, &value, 4, 0, &wide, 8, 0, 1, &run), TENSORCAST_INTERRUPTED);
  tensorcast_plan_destroy(plan);
  const uint64_t offsets[2] = {0, 3};
  CHECK_INT(tensorcast_parse_strings(offsets, 2, "1.5", 3, f64, &wide, 8, NULL, &run, NULL),
            TENSORCAST_INTERRUPTED);
  uint64_t printed = 7;
  CHECK_INT(tensorcast_printed_bytes(f32, &value, 4, 1, NULL, &run, &printed),
            TENSORCAST_INTERRUPTED);
  CHECK_INT(printed, 0);
  CHECK_INT(tensorcast_interrupt_set(interrupt, 0), TENSORCAST_OK);
  CHECK_INT(tensorcast_cast(f32, &value, 4, f64, &wide, 8, 1, NULL, &run), TENSORCAST_OK);
  tensorcast_interrupt_destroy(interrupt);
  tensorcast_interrupt_destroy(NULL);
}

int main(void) {
  test_published_vectors();
  test_packing();
  test_targets();
  test_options();
  test_options_struct_sizes();
  test_cast_refuses();
  test_cast_code_refuses();
  test_plan_refuses();
  test_run_struct_sizes();
  test_interrupt();
  RETURN_FAILURES;
}
