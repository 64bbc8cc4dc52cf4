/* The C interface: versions, status, types and targets. Expected values are those of
 * docs/semantics.md section 1, as literals.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "tensorcast/tensorcast.h"

enum {
  SIGN = TENSORCAST_TYPE_HAS_SIGN,
  ZERO = TENSORCAST_TYPE_HAS_ZERO,
  INFINITE = TENSORCAST_TYPE_HAS_INFINITY,
  NOT_A_NUMBER = TENSORCAST_TYPE_HAS_NAN,
  PACKED = TENSORCAST_TYPE_PACKED,
  FNUZ = TENSORCAST_TYPE_FNUZ,
  IEEE = SIGN | ZERO | INFINITE | NOT_A_NUMBER
};

static const tensorcast_type_info types[] = {
    {0, 1, TENSORCAST_CLASS_FLOAT, 32, 8, 23, 127, IEEE, "float32", "FLOAT"},
    {0, 2, TENSORCAST_CLASS_UNSIGNED, 8, 0, 0, 0, ZERO, "uint8", "UINT8"},
    {0, 3, TENSORCAST_CLASS_SIGNED, 8, 0, 0, 0, SIGN | ZERO, "int8", "INT8"},
    {0, 4, TENSORCAST_CLASS_UNSIGNED, 16, 0, 0, 0, ZERO, "uint16", "UINT16"},
    {0, 5, TENSORCAST_CLASS_SIGNED, 16, 0, 0, 0, SIGN | ZERO, "int16", "INT16"},
    {0, 6, TENSORCAST_CLASS_SIGNED, 32, 0, 0, 0, SIGN | ZERO, "int32", "INT32"},
    {0, 7, TENSORCAST_CLASS_SIGNED, 64, 0, 0, 0, SIGN | ZERO, "int64", "INT64"},
    {0, 8, TENSORCAST_CLASS_STRING, 0, 0, 0, 0, 0, "string", "STRING"},
    {0, 9, TENSORCAST_CLASS_BOOL, 8, 0, 0, 0, ZERO, "bool", "BOOL"},
    {0, 10, TENSORCAST_CLASS_FLOAT, 16, 5, 10, 15, IEEE, "float16", "FLOAT16"},
    {0, 11, TENSORCAST_CLASS_FLOAT, 64, 11, 52, 1023, IEEE, "float64", "DOUBLE"},
    {0, 12, TENSORCAST_CLASS_UNSIGNED, 32, 0, 0, 0, ZERO, "uint32", "UINT32"},
    {0, 13, TENSORCAST_CLASS_UNSIGNED, 64, 0, 0, 0, ZERO, "uint64", "UINT64"},
    {0, 16, TENSORCAST_CLASS_FLOAT, 16, 8, 7, 127, IEEE, "bfloat16", "BFLOAT16"},
    {0, 17, TENSORCAST_CLASS_FLOAT, 8, 4, 3, 7, SIGN | ZERO | NOT_A_NUMBER, "float8e4m3fn",
     "FLOAT8E4M3FN"},
    {0, 18, TENSORCAST_CLASS_FLOAT, 8, 4, 3, 8, SIGN | ZERO | NOT_A_NUMBER | FNUZ, "float8e4m3fnuz",
     "FLOAT8E4M3FNUZ"},
    {0, 19, TENSORCAST_CLASS_FLOAT, 8, 5, 2, 15, IEEE, "float8e5m2", "FLOAT8E5M2"},
    {0, 20, TENSORCAST_CLASS_FLOAT, 8, 5, 2, 16, SIGN | ZERO | NOT_A_NUMBER | FNUZ,
     "float8e5m2fnuz", "FLOAT8E5M2FNUZ"},
    {0, 21, TENSORCAST_CLASS_UNSIGNED, 4, 0, 0, 0, ZERO | PACKED, "uint4", "UINT4"},
    {0, 22, TENSORCAST_CLASS_SIGNED, 4, 0, 0, 0, SIGN | ZERO | PACKED, "int4", "INT4"},
    {0, 23, TENSORCAST_CLASS_FLOAT, 4, 2, 1, 1, SIGN | ZERO | PACKED, "float4e2m1", "FLOAT4E2M1"},
    {0, 24, TENSORCAST_CLASS_FLOAT, 8, 8, 0, 127, NOT_A_NUMBER, "float8e8m0", "FLOAT8E8M0"},
    {0, 25, TENSORCAST_CLASS_UNSIGNED, 2, 0, 0, 0, ZERO | PACKED, "uint2", "UINT2"},
    {0, 26, TENSORCAST_CLASS_SIGNED, 2, 0, 0, 0, SIGN | ZERO | PACKED, "int2", "INT2"},
    {0, 27, TENSORCAST_CLASS_FLOAT, 6, 2, 3, 1, SIGN | ZERO | PACKED, "float6e2m3", "FLOAT6E2M3"},
    {0, 28, TENSORCAST_CLASS_FLOAT, 6, 3, 2, 3, SIGN | ZERO | PACKED, "float6e3m2", "FLOAT6E3M2"},
};
enum { TYPES = sizeof types / sizeof types[0] };

static const int32_t no_types[] = {INT32_MIN, -1, 0, 14, 15, 1000, INT32_MAX};
enum { NO_TYPES = sizeof no_types / sizeof no_types[0] };

static void test_versions(void) {
  CHECK_INT(tensorcast_abi_version(), TENSORCAST_ABI_VERSION);
  CHECK_TEXT(tensorcast_version(), EXPECTED_VERSION);
  CHECK_TEXT(TENSORCAST_VERSION, EXPECTED_VERSION);
  CHECK_INT(tensorcast_version_number(), TENSORCAST_VERSION_NUMBER);
}

static void test_status_texts(void) {
  const char* unknown = tensorcast_status_text(-1);
  CHECK_TEXT(unknown, "unknown status");
  CHECK_TEXT(tensorcast_status_text(TENSORCAST_CALLBACK_FAILED + 1), unknown);
  CHECK_TEXT(tensorcast_status_text(INT32_MAX), unknown);
  CHECK_TEXT(tensorcast_status_text(INT32_MIN), unknown);
  for (int32_t a = 0; a <= TENSORCAST_CALLBACK_FAILED; ++a) {
    CHECK(strlen(tensorcast_status_text(a)) > 5);
    CHECK(strcmp(tensorcast_status_text(a), unknown) != 0);
    for (int32_t b = 0; b < a; ++b) {
      CHECK(strcmp(tensorcast_status_text(a), tensorcast_status_text(b)) != 0);
    }
  }
}

static void test_rows(void) {
  CHECK_INT(tensorcast_type_count(), TYPES);
  for (int32_t row = 0; row < TYPES; ++row) {
    tensorcast_type_info expected = types[row];
    tensorcast_type_info info;
    expected.struct_size = sizeof info;
    memset(&info, 0xAA, sizeof info);
    info.struct_size = sizeof info;
    CHECK_INT(tensorcast_type_at(row, &info), TENSORCAST_OK);
    CHECK(memcmp(&info, &expected, sizeof info) == 0);
    memset(&info, 0xAA, sizeof info);
    info.struct_size = sizeof info;
    CHECK_INT(tensorcast_type_find(expected.type, &info), TENSORCAST_OK);
    CHECK(memcmp(&info, &expected, sizeof info) == 0);
    CHECK_TEXT(tensorcast_type_name(expected.type), expected.name);
  }
  tensorcast_type_info info;
  memset(&info, 0xAA, sizeof info);
  info.struct_size = sizeof info;
  const tensorcast_type_info before = info;
  CHECK_INT(tensorcast_type_at(-1, &info), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_type_at(TYPES, &info), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_type_at(INT32_MIN, &info), TENSORCAST_INVALID_TYPE);
  for (int i = 0; i < NO_TYPES; ++i) {
    CHECK_INT(tensorcast_type_find(no_types[i], &info), TENSORCAST_INVALID_TYPE);
    CHECK_TEXT(tensorcast_type_name(no_types[i]), "undefined");
  }
  CHECK_INT(tensorcast_type_find(types[TYPES - 1].type + 1, &info), TENSORCAST_INVALID_TYPE);
  CHECK(memcmp(&info, &before, sizeof info) == 0);
  CHECK_INT(tensorcast_type_at(0, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_type_find(1, NULL), TENSORCAST_NULL_POINTER);
}

/* Structs of older and newer callers, and sizes that are none. */
static void test_struct_sizes(void) {
  union {
    tensorcast_type_info info;
    unsigned char bytes[4096];
  } given;
  const uint32_t bad[] = {0, 1, 3, 4097, 0x80000000u, UINT32_MAX};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
    memset(&given, 0xAA, sizeof given);
    given.info.struct_size = bad[i];
    CHECK_INT(tensorcast_type_find(17, &given.info), TENSORCAST_BAD_STRUCT);
    for (size_t b = 4; b < sizeof given; ++b) CHECK_INT(given.bytes[b], 0xAA);
  }
  tensorcast_type_info expected = types[14];
  for (uint32_t size = 4; size <= sizeof given; ++size) {
    memset(&given, 0xAA, sizeof given);
    given.info.struct_size = size;
    expected.struct_size = size;
    CHECK_INT(tensorcast_type_find(17, &given.info), TENSORCAST_OK);
    const size_t known = size < sizeof expected ? size : sizeof expected;
    CHECK(memcmp(&given, &expected, known) == 0);
    for (size_t b = known; b < sizeof given; ++b) CHECK_INT(given.bytes[b], b < size ? 0 : 0xAA);
  }
}

static void test_names(void) {
  int32_t type = -7;
  for (int i = 0; i < TYPES; ++i) {
    CHECK_INT(tensorcast_type_parse(types[i].name, strlen(types[i].name), &type), TENSORCAST_OK);
    CHECK_INT(type, types[i].type);
    CHECK_INT(tensorcast_type_parse(types[i].onnx_name, strlen(types[i].onnx_name), &type),
              TENSORCAST_OK);
    CHECK_INT(type, types[i].type);
  }
  CHECK_INT(tensorcast_type_parse("torch.bfloat16 and more", 14, &type), TENSORCAST_OK);
  CHECK_INT(type, TENSORCAST_BFLOAT16);
  type = -7;
  CHECK_INT(tensorcast_type_parse("float17", 7, &type), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_type_parse("half\0", 5, &type), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_type_parse("", 0, &type), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_type_parse(NULL, 0, &type), TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_type_parse(NULL, 4, &type), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_type_parse("half", 4, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(type, 0);
}

static void test_nearest(void) {
  static const char expected[] = "float16, bfloat16";
  char buffer[128];
  uint64_t needed = 0;
  memset(buffer, '#', sizeof buffer);
  CHECK_INT(tensorcast_type_nearest("flot16", 6, buffer, sizeof buffer, &needed), TENSORCAST_OK);
  CHECK_TEXT(buffer, expected);
  CHECK_INT(needed, sizeof expected);
  CHECK_INT(buffer[sizeof expected], '#');
  memset(buffer, '#', sizeof buffer);
  CHECK_INT(tensorcast_type_nearest("flot16", 6, buffer, sizeof expected - 1, &needed),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(buffer[0], '#');
  CHECK_INT(tensorcast_type_nearest("flot16", 6, buffer, sizeof expected, NULL), TENSORCAST_OK);
  CHECK_TEXT(buffer, expected);
  needed = 0;
  CHECK_INT(tensorcast_type_nearest("flot16", 6, NULL, 0, &needed), TENSORCAST_OK);
  CHECK_INT(needed, sizeof expected);
  CHECK_INT(tensorcast_type_nearest("flot16", 6, NULL, 1, &needed), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_type_nearest(NULL, 6, buffer, sizeof buffer, &needed),
            TENSORCAST_NULL_POINTER);
  /* Anything is a name: 100,000 bytes of it, and none. */
  static char long_name[100000];
  memset(long_name, 0xFF, sizeof long_name);
  CHECK_INT(tensorcast_type_nearest(long_name, sizeof long_name, buffer, sizeof buffer, &needed),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_type_nearest(NULL, 0, buffer, sizeof buffer, &needed), TENSORCAST_OK);
  CHECK_TEXT(buffer, "");
  CHECK_INT(needed, 1);
  CHECK_INT(tensorcast_type_nearest("diff", 4, buffer, sizeof buffer, &needed), TENSORCAST_OK);
  CHECK_TEXT(buffer, "");
}

static void test_storage_bytes(void) {
  uint64_t bytes = 7;
  const struct {
    int32_t type;
    uint64_t n, bytes;
  } sizes[] = {{TENSORCAST_FLOAT64, 3, 24}, {TENSORCAST_FLOAT6E2M3, 5, 4},
               {TENSORCAST_INT4, 5, 3},     {TENSORCAST_UINT2, 9, 3},
               {TENSORCAST_BOOL, 0, 0},     {TENSORCAST_UINT8, UINT64_MAX / 8, UINT64_MAX / 8}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    CHECK_INT(tensorcast_storage_bytes(sizes[i].type, sizes[i].n, &bytes), TENSORCAST_OK);
    CHECK_INT(bytes, sizes[i].bytes);
  }
  bytes = 7;
  CHECK_INT(tensorcast_storage_bytes(TENSORCAST_FLOAT64, UINT64_MAX / 8, &bytes),
            TENSORCAST_SIZE_OVERFLOW);
  CHECK_INT(tensorcast_storage_bytes(TENSORCAST_STRING, 1, &bytes), TENSORCAST_UNSUPPORTED);
  for (int i = 0; i < NO_TYPES; ++i) {
    CHECK_INT(tensorcast_storage_bytes(no_types[i], 1, &bytes), TENSORCAST_INVALID_TYPE);
  }
  CHECK_INT(tensorcast_storage_bytes(TENSORCAST_FLOAT32, 1, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(bytes, 0);
}

static void test_targets(void) {
  uint64_t count = 0;
  int32_t targets[16];
  CHECK_INT(tensorcast_targets(NULL, 0, &count), TENSORCAST_OK);
  CHECK(count >= 1 && count <= 16);
  if (count > 1) {
    CHECK_INT(tensorcast_targets(targets, count - 1, &count), TENSORCAST_BUFFER_TOO_SMALL);
  }
  CHECK_INT(tensorcast_targets(targets, 16, &count), TENSORCAST_OK);
  CHECK_INT(targets[count - 1], TENSORCAST_TARGET_SCALAR);
  CHECK_INT(tensorcast_targets(targets, 16, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_targets(NULL, 16, &count), TENSORCAST_NULL_POINTER);

  static const char* const names[] = {"best", "scalar", "sse4", "avx2", "avx3", "neon", "avx3_dl"};
  for (int32_t target = 0; target <= TENSORCAST_TARGET_AVX3_DL; ++target) {
    CHECK_TEXT(tensorcast_target_name(target), names[target]);
    int32_t parsed = -7;
    CHECK_INT(tensorcast_target_parse(names[target], strlen(names[target]), &parsed),
              TENSORCAST_OK);
    CHECK_INT(parsed, target);
  }
  CHECK_TEXT(tensorcast_target_name(-1), "unknown");
  CHECK_TEXT(tensorcast_target_name(7), "unknown");
  int32_t parsed = -7;
  CHECK_INT(tensorcast_target_parse("AVX2", 4, &parsed), TENSORCAST_TARGET_UNAVAILABLE);
  CHECK_INT(tensorcast_target_parse(NULL, 4, &parsed), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_target_parse("avx2", 4, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(parsed, 0);
}

int main(void) {
  test_versions();
  test_status_texts();
  test_rows();
  test_struct_sizes();
  test_names();
  test_nearest();
  test_storage_bytes();
  test_targets();
  RETURN_FAILURES;
}
