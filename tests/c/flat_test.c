/* The flat C interface: whole tasks in one call.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tensorcast/flat.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tensorcast/graph.h"

static const char* last_error(void) {
  static char text[1024];
  CHECK_INT(tensorcast_last_error(text, sizeof text, NULL), TENSORCAST_OK);
  return text;
}

static void test_cast(void) {
  const float values[4] = {0.5f, 512.0f, -2.0f, 1.0f};
  const unsigned char saturated[4] = {0x30, 0x7E, 0xC0, 0x38};
  const int64_t shape[2] = {2, 2}, four = 4, short_shape = 3, lengths[4] = {1, 3, 0, 2};
  const int64_t good_lengths[4] = {1, 1, 2, 2};
  unsigned char out[8] = {9, 9, 9, 9, 9, 9, 9, 9};
  int64_t out_lengths[4] = {9, 9, 9, 9};
  uint64_t needed = 0;
  int32_t numbers[4] = {0, 0, 0, 0};
  const int32_t expected[4] = {1, 2, -3, 45};
  CHECK_INT(tensorcast_cast_tensor(values, 16, shape, 2, 1, NULL, 0, 17, 1, 0, NULL, NULL, NULL, 0,
                                   NULL, 0, &needed),
            TENSORCAST_OK);
  CHECK_INT(needed, 4);
  CHECK_INT(tensorcast_cast_tensor(values, 16, shape, 2, 1, NULL, 0, 17, 1, 0, NULL, NULL, out, 3,
                                   NULL, 0, &needed),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(out[0], 9);
  CHECK_INT(tensorcast_cast_tensor(values, 16, shape, 2, 1, NULL, 0, 17, 1, 0, NULL, NULL, out, 5,
                                   NULL, 0, &needed),
            TENSORCAST_OK);
  CHECK(memcmp(out, saturated, 4) == 0 && out[4] == 9);
  CHECK_TEXT(last_error(), "");
  CHECK_INT(tensorcast_cast_tensor(values, 16, shape, 2, 1, NULL, 0, 17, 0, 0, NULL, NULL, out, 4,
                                   NULL, 0, NULL),
            TENSORCAST_OK);
  CHECK_INT(out[1], 0x7F); /* NaN */

  /* To text and back. */
  CHECK_INT(tensorcast_cast_tensor(expected, 16, &four, 1, 6, NULL, 0, 8, 1, 0, NULL, NULL, NULL, 0,
                                   NULL, 0, &needed),
            TENSORCAST_OK);
  CHECK_INT(needed, 6);
  CHECK_INT(tensorcast_cast_tensor(expected, 16, &four, 1, 6, NULL, 0, 8, 1, 0, NULL, NULL, out, 6,
                                   out_lengths, 3, &needed),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_cast_tensor(expected, 16, &four, 1, 6, NULL, 0, 8, 1, 0, NULL, NULL, out, 6,
                                   out_lengths, 4, &needed),
            TENSORCAST_OK);
  CHECK(memcmp(out, "12-345", 6) == 0 && memcmp(out_lengths, good_lengths, 32) == 0);
  CHECK_INT(tensorcast_cast_tensor("12-345", 6, &four, 1, 8, good_lengths, 4, 6, 1, 0, NULL, NULL,
                                   numbers, 16, NULL, 0, &needed),
            TENSORCAST_OK);
  CHECK(needed == 16 && memcmp(numbers, expected, 16) == 0);
  CHECK_INT(tensorcast_cast_tensor("12-345", 6, &four, 1, 8, good_lengths, 4, 8, 1, 0, NULL, NULL,
                                   out, 6, out_lengths, 4, &needed),
            TENSORCAST_OK);
  CHECK(memcmp(out, "12-345", 6) == 0 && memcmp(out_lengths, good_lengths, 32) == 0);
  CHECK_INT(tensorcast_cast_tensor("1two45", 6, &four, 1, 8, lengths, 4, 6, 1, 0, NULL, NULL,
                                   numbers, 16, NULL, 0, &needed),
            TENSORCAST_NOT_A_NUMBER);
  CHECK(strstr(last_error(), "string 1") != NULL && strstr(last_error(), "two") != NULL);
  CHECK_INT(needed, 0);

  CHECK_INT(tensorcast_cast_tensor(values, 16, &short_shape, 1, 1, NULL, 0, 17, 1, 0, NULL, NULL,
                                   out, 8, NULL, 0, NULL),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_cast_tensor("123456", 6, &four, 1, 8, good_lengths, 3, 6, 1, 0, NULL, NULL,
                                   numbers, 16, NULL, 0, NULL),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_cast_tensor(values, 16, &four, 1, 0, NULL, 0, 17, 1, 0, NULL, NULL, out, 8,
                                   NULL, 0, NULL),
            TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_cast_tensor(values, 16, &four, 1, 1, NULL, 0, 0, 1, 0, NULL, NULL, out, 8,
                                   NULL, 0, NULL),
            TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_cast_tensor(values, 16, &four, 1, 1, NULL, 0, 17, 1, 3, NULL, NULL, out, 8,
                                   NULL, 0, NULL),
            TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_cast_tensor(NULL, 16, &four, 1, 1, NULL, 0, 17, 1, 0, NULL, NULL, out, 8,
                                   NULL, 0, NULL),
            TENSORCAST_NULL_POINTER);
}

/* What each option changes, by the tables of docs/semantics.md; and every number that is none. */
static void test_options(void) {
  const float big = 300, infinite = INFINITY, nan = NAN, small = 0.1f, above = 1.25f;
  const struct {
    const float* value;
    int32_t to, options[6]; /* saturate ... string_style */
    const char* result;
  } casts[] = {{&big, TENSORCAST_UINT8, {1, 0, 0, 0, 0, 0}, "\x2c"},
               {&big, TENSORCAST_UINT8, {1, 0, 1, 0, 0, 0}, "\xff"},
               {&infinite, TENSORCAST_FLOAT8E4M3FNUZ, {1, 0, 0, 0, 0, 0}, "\x7f"},
               {&infinite, TENSORCAST_FLOAT8E4M3FNUZ, {1, 0, 0, 1, 0, 0}, "\x80"},
               {&nan, TENSORCAST_FLOAT4E2M1, {1, 0, 0, 0, 0, 0}, "\x08"},
               {&nan, TENSORCAST_FLOAT4E2M1, {1, 0, 0, 0, 1, 0}, "\x07"},
               {&small, TENSORCAST_STRING, {1, 0, 0, 0, 0, 0}, "0.1"},
               {&small, TENSORCAST_STRING, {1, 0, 0, 0, 0, 1}, "0.1"},
               {&infinite, TENSORCAST_STRING, {1, 0, 0, 0, 0, 0}, "inf"},
               {&infinite, TENSORCAST_STRING, {1, 0, 0, 0, 0, 1}, "INF"},
               {&infinite, TENSORCAST_FLOAT8E5M2, {1, 0, 0, 0, 0, 0}, "\x7b"},
               {&infinite, TENSORCAST_FLOAT8E5M2, {0, 0, 0, 0, 0, 0}, "\x7c"},
               {&above, TENSORCAST_FLOAT8E8M0, {1, 0, 0, 0, 0, 0}, "\x80"},
               {&above, TENSORCAST_FLOAT8E8M0, {1, 1, 0, 0, 0, 0}, "\x7f"}};
  for (size_t i = 0; i < sizeof casts / sizeof casts[0]; ++i) {
    const int32_t* const o = casts[i].options;
    char out[8] = "";
    int64_t length = 0;
    uint64_t needed = 0;
    CHECK_INT(tensorcast_cast_tensor_with_options(casts[i].value, 4, NULL, 0, 1, NULL, 0,
                                                  casts[i].to, o[0], o[1], o[2], o[3], o[4], o[5],
                                                  NULL, NULL, out, sizeof out, &length, 1, &needed),
              TENSORCAST_OK);
    CHECK_INT(needed, strlen(casts[i].result));
    CHECK(memcmp(out, casts[i].result, needed) == 0);
  }
  for (int option = 0; option < 6; ++option) {
    for (int32_t wrong = -1; wrong < 4; wrong += 4) {
      int32_t o[6] = {1, 0, 0, 0, 0, 0};
      unsigned char out = 0;
      int64_t counts[TENSORCAST_COUNTS];
      double figures[TENSORCAST_FIGURES];
      uint64_t count = 0;
      o[option] = wrong;
      CHECK_INT(
          tensorcast_cast_tensor_with_options(&big, 4, NULL, 0, 1, NULL, 0, 2, o[0], o[1], o[2],
                                              o[3], o[4], o[5], NULL, NULL, &out, 1, NULL, 0, NULL),
          TENSORCAST_INVALID_OPTION);
      CHECK_INT(tensorcast_measure_loss_with_options(1, 2, o[0], o[1], o[2], o[3], o[4], o[5], &big,
                                                     4, 1, NULL, NULL, counts, TENSORCAST_COUNTS,
                                                     figures, TENSORCAST_FIGURES),
                TENSORCAST_INVALID_OPTION);
      CHECK_INT(tensorcast_store_model_with_options("a.onnx", "b.onnx", "", 10, o[0], o[1], o[2],
                                                    o[3], o[4], o[5], 0, 0, NULL, NULL, &count),
                TENSORCAST_INVALID_OPTION);
#ifdef HAS_CONVERT
      CHECK_INT(tensorcast_convert_file_with_options("a.npy", "b.npy", "", 10, o[0], o[1], o[2],
                                                     o[3], o[4], o[5], 0, 0, NULL, NULL, &count),
                TENSORCAST_INVALID_OPTION);
#endif
    }
  }
  int64_t counts[TENSORCAST_COUNTS];
  double figures[TENSORCAST_FIGURES];
  for (int32_t saturates = 0; saturates < 2; ++saturates) {
    CHECK_INT(tensorcast_measure_loss_with_options(1, 2, 1, 0, saturates, 0, 0, 0, &big, 4, 1, NULL,
                                                   NULL, counts, TENSORCAST_COUNTS, figures,
                                                   TENSORCAST_FIGURES),
              TENSORCAST_OK);
    CHECK_INT(counts[saturates ? TENSORCAST_LOSS_TO_LIMIT : TENSORCAST_LOSS_WRAPPED], 1);
  }
}

static void test_last_error(void) {
  char text[4] = "???";
  char all[1024];
  uint64_t needed = 0;
  CHECK_INT(tensorcast_cast_tensor(NULL, 0, NULL, 0, 99, NULL, 0, 1, 1, 0, NULL, NULL, NULL, 0,
                                   NULL, 0, NULL),
            TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_last_error(text, sizeof text, &needed), TENSORCAST_BUFFER_TOO_SMALL);
  CHECK(needed > 10 && needed <= sizeof all);
  CHECK_TEXT(text, "???");
  CHECK_INT(tensorcast_last_error(NULL, 4, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_last_error(all, needed, NULL), TENSORCAST_OK); /* asking keeps it */
  CHECK_INT(strlen(all) + 1, needed);
}

static void test_loss(void) {
  const float values[4] = {1.0f, 0.3f, 70000.0f, (float)NAN};
  int64_t counts[TENSORCAST_COUNTS];
  double figures[TENSORCAST_FIGURES];
  CHECK_INT(tensorcast_measure_loss(1, 10, 1, 0, values, 16, 4, NULL, NULL, counts,
                                    TENSORCAST_COUNTS, figures, TENSORCAST_FIGURES),
            TENSORCAST_OK);
  CHECK(counts[TENSORCAST_LOSS_EXACT] == 1 && counts[TENSORCAST_LOSS_ROUNDED] == 1 &&
        counts[TENSORCAST_LOSS_TO_INFINITY] == 1 && counts[TENSORCAST_LOSS_NAN] == 1);
  CHECK(counts[TENSORCAST_COUNT_ELEMENTS] == 4 && counts[TENSORCAST_COUNT_COMPARED] == 2 &&
        counts[TENSORCAST_COUNT_FINITE] == 3 && counts[TENSORCAST_COUNT_COMPARED_NONZERO] == 2);
  /* 0.3f is 10066330 / 2^25, and the nearest float16 1229 / 2^12. */
  CHECK(figures[TENSORCAST_FIGURE_MAX_ABS_ERROR] == 10066330.0 / 33554432 - 1229.0 / 4096 ||
        figures[TENSORCAST_FIGURE_MAX_ABS_ERROR] == 1229.0 / 4096 - 10066330.0 / 33554432);
  CHECK(figures[TENSORCAST_FIGURE_AMAX] == 70000 &&
        figures[TENSORCAST_FIGURE_SMALLEST_NONZERO] == (double)0.3f);
  CHECK_INT(tensorcast_measure_loss(1, 10, 1, 0, values, 15, 4, NULL, NULL, counts,
                                    TENSORCAST_COUNTS, figures, TENSORCAST_FIGURES),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_measure_loss(1, 10, 1, 0, values, 16, 4, NULL, NULL, counts,
                                    TENSORCAST_COUNTS - 1, figures, TENSORCAST_FIGURES),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_measure_loss(1, 10, 1, 0, values, 16, 4, NULL, NULL, counts,
                                    TENSORCAST_COUNTS, figures, TENSORCAST_FIGURES - 1),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_measure_loss(8, 10, 1, 0, NULL, 0, 0, NULL, NULL, counts, TENSORCAST_COUNTS,
                                    figures, TENSORCAST_FIGURES),
            TENSORCAST_UNSUPPORTED);
}

/* A model whose constant of 1 MiB is stored as float16, and a copy of the same by the other call.
 */
static void test_files(void) {
  static float weights[1 << 18];
  const int64_t shape = 1 << 18;
  tensorcast_graph* graph = NULL;
  int64_t w = 0, y = 0;
  uint64_t count = 9;
  for (int i = 0; i < 1 << 18; ++i) weights[i] = (float)i;
  CHECK_INT(tensorcast_graph_create(0, 0, 0, &graph), TENSORCAST_OK);
  CHECK_INT(
      tensorcast_graph_add_constant(graph, "w", weights, sizeof weights, &shape, 1, 1, NULL, 0, &w),
      TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_cast(graph, w, TENSORCAST_INT32, 1, 0, "", "", 1, 1, &y),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_mark_output(graph, y, "y"), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_save(graph, "flat_test.onnx", 0, 1), TENSORCAST_OK);
  tensorcast_graph_destroy(graph);
  CHECK_INT(tensorcast_store_model("flat_test.onnx", "flat_out.onnx", "nothing*", 16, 1, 0, 0, 1,
                                   NULL, NULL, &count),
            TENSORCAST_BAD_INPUT);
  CHECK(count == 0 && strstr(last_error(), "nothing*") != NULL);
  CHECK_INT(tensorcast_store_model("flat_test.onnx", "flat_out.onnx", "[w", 16, 1, 0, 0, 1, NULL,
                                   NULL, &count),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_store_model("flat_test.onnx", "flat_out.onnx", "w", 16, 1, 0, 0, 1, NULL,
                                   NULL, &count),
            TENSORCAST_OK);
  CHECK_INT(count, 1);
  CHECK_INT(tensorcast_store_model("flat_test.onnx", "flat_out.onnx", "*", 16, 1, 0, 0, 0, NULL,
                                   NULL, &count),
            TENSORCAST_BAD_INPUT); /* it exists */
  CHECK(strstr(last_error(), "or replace it with overwrite 1") != NULL);
  CHECK_INT(tensorcast_store_model(NULL, "flat_out.onnx", "*", 16, 1, 0, 0, 0, NULL, NULL, &count),
            TENSORCAST_NULL_POINTER);
#ifdef HAS_CONVERT
  CHECK_INT(tensorcast_convert_file("flat_test.onnx", "flat_out2.onnx", "", 16, 1, 0, 0, 1, NULL,
                                    NULL, &count),
            TENSORCAST_OK);
  CHECK_INT(count, 1);
  CHECK_INT(tensorcast_convert_file("flat_test.onnx", "flat_out2.onnx", "none", 16, 1, 0, 0, 1,
                                    NULL, NULL, &count),
            TENSORCAST_BAD_INPUT);
  {
    static unsigned char a[1 << 20], b[1 << 20];
    FILE* const first = fopen("flat_out.onnx", "rb");
    FILE* const second = fopen("flat_out2.onnx", "rb");
    CHECK(first != NULL && second != NULL);
    if (first != NULL && second != NULL) {
      const size_t size = fread(a, 1, sizeof a, first);
      CHECK(size > (1 << 19) && size < (1 << 19) + 1000);
      CHECK_INT(fread(b, 1, sizeof b, second), size);
      CHECK(memcmp(a, b, size) == 0);
      fclose(first);
      fclose(second);
    }
  }
  { /* the model's weight, 16 bits of it kept: equal to itself, and not to what it was */
    int64_t counts[TENSORCAST_DIFF_COUNTS];
    double snr = 0;
    CHECK_INT(tensorcast_diff_files("flat_out.onnx", "flat_out2.onnx", "", 0, NULL, NULL, counts,
                                    TENSORCAST_DIFF_COUNTS, &snr),
              TENSORCAST_OK);
    CHECK(counts[TENSORCAST_DIFF_SAME_BYTES] == 1 && counts[TENSORCAST_DIFF_VALUES] == 0);
    CHECK(snr > 1e300);
    CHECK_INT(tensorcast_diff_files("flat_out.onnx", "flat_out2.onnx", "none", 0, NULL, NULL,
                                    counts, TENSORCAST_DIFF_COUNTS, NULL),
              TENSORCAST_BAD_INPUT);
    CHECK_INT(tensorcast_diff_files("flat_out.onnx", "flat_out2.onnx", "", 0, NULL, NULL, counts, 6,
                                    NULL),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(tensorcast_diff_files("flat_out.onnx", NULL, "", 0, NULL, NULL, counts,
                                    TENSORCAST_DIFF_COUNTS, NULL),
              TENSORCAST_NULL_POINTER);
    CHECK_INT(tensorcast_diff_files("flat_out.onnx", "flat_out2.onnx", "", 2, NULL, NULL, counts,
                                    TENSORCAST_DIFF_COUNTS, NULL),
              TENSORCAST_INVALID_OPTION);
  }
  CHECK_INT(remove("flat_out2.onnx"), 0);
#else
  CHECK_INT(tensorcast_convert_file("flat_test.onnx", "flat_out2.onnx", "", 16, 1, 0, 0, 1, NULL,
                                    NULL, &count),
            TENSORCAST_UNSUPPORTED);
#endif
  CHECK_INT(remove("flat_test.onnx"), 0);
  CHECK_INT(remove("flat_out.onnx"), 0);
}

int main(void) {
  test_cast();
  test_options();
  test_last_error();
  test_loss();
  test_files();
  RETURN_FAILURES;
}
