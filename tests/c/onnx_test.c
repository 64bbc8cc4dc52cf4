/* The C interface: ONNX models. The model is written byte by byte, by the field numbers of
 * onnx.proto: x -> Cast -> y at opset 25, and where wanted an initializer w.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tensorcast/onnx.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { GRAPH_LENGTH = 3, TO = 28, FROM_TYPE = 45, TO_TYPE = 67, MODEL_BYTES = 72, TAIL_BYTES = 4 };

static const unsigned char cast_model[MODEL_BYTES] = {
    0x08, 0x0A,                                                    /* ir_version 10 */
    0x3A, 0x40,                                                    /* graph */
    0x0A, 0x1A, 0x0A, 1,    'x',  0x12, 1,    'y',                 /* node: input, output, */
    0x1A, 1,    'c',  0x22, 4,    'C',  'a',  's',  't',           /* name, op_type, */
    0x2A, 9,    0x0A, 2,    't',  'o',  0x18, 17,   0xA0, 0x01, 2, /* attribute to = FLOAT8E4M3FN */
    0x12, 1,    'g',                                               /* name */
    0x5A, 0x14, 0x0A, 1,    'x',  0x12, 0x0F, 0x0A, 0x0D, 0x08, 1, /* input: FLOAT of [2, N] */
    0x12, 9,    0x0A, 2,    0x08, 2,    0x0A, 3,    0x12, 1,    'N', /* its shape */
    0x62, 9,    0x0A, 1,    'y',  0x12, 4,    0x0A, 2,    0x08, 17,  /* output: FLOAT8E4M3FN */
    0x42, 2,    0x10, 25};                                           /* opset_import */

/* w: FLOAT of [2], 0.5 and -2. */
static const unsigned char initializer[] = {0x2A, 0x11, 0x08, 2, 0x10, 1, 0x42, 1, 'w', 0x4A,
                                            8,    0,    0,    0, 0x3F, 0, 0,    0, 0xC0};

static const char* last_error(void) {
  static char text[1024];
  CHECK_INT(tensorcast_last_error(text, sizeof text, NULL), TENSORCAST_OK);
  return text;
}

static tensorcast_session* load(int from, int to) {
  unsigned char bytes[MODEL_BYTES];
  tensorcast_session* session = NULL;
  memcpy(bytes, cast_model, sizeof bytes);
  bytes[FROM_TYPE] = (unsigned char)from;
  bytes[TO] = bytes[TO_TYPE] = (unsigned char)to;
  CHECK_INT(tensorcast_session_parse(bytes, sizeof bytes, 0, 0, TENSORCAST_TARGET_BEST, &session),
            TENSORCAST_OK);
  CHECK_TEXT(last_error(), "");
  memset(bytes, 0xFF, sizeof bytes); /* it was copied */
  return session;
}

static void test_values(void) {
  tensorcast_session* const session = load(1, 17);
  char name[2] = "?";
  int64_t sizes[2] = {0, 0};
  int64_t opset = 0, index = 0, rank = 0;
  int32_t type = 0, has_default = 9;
  uint64_t n = 0;
  CHECK_INT(tensorcast_session_opset(session, &opset), TENSORCAST_OK);
  CHECK_INT(opset, 25);
  for (int32_t side = TENSORCAST_GRAPH_INPUTS; side <= TENSORCAST_GRAPH_OUTPUTS; ++side) {
    const int is_input = side == TENSORCAST_GRAPH_INPUTS;
    CHECK_INT(tensorcast_session_value_count(session, side, &n), TENSORCAST_OK);
    CHECK_INT(n, 1);
    CHECK_INT(tensorcast_session_value(session, side, 0, NULL, &index, &type, &rank, &has_default),
              TENSORCAST_OK);
    CHECK_INT(index, 0);
    CHECK_INT(type, is_input ? 1 : 17);
    CHECK_INT(rank, is_input ? 2 : -1);
    CHECK_INT(has_default, 0);
    CHECK_INT(tensorcast_session_value_name(session, side, 0, NULL, 0, &n), TENSORCAST_OK);
    CHECK_INT(n, 2);
    CHECK_INT(tensorcast_session_value_name(session, side, 0, name, sizeof name, NULL),
              TENSORCAST_OK);
    CHECK_TEXT(name, is_input ? "x" : "y");
    index = 9;
    CHECK_INT(
        tensorcast_session_value(session, side, TENSORCAST_BY_NAME, name, &index, NULL, NULL, NULL),
        TENSORCAST_OK);
    CHECK_INT(index, 0);
    CHECK_INT(
        tensorcast_session_value(session, side, TENSORCAST_BY_NAME, "z", &index, NULL, NULL, NULL),
        TENSORCAST_NO_SUCH_NAME);
    CHECK_INT(tensorcast_session_value(session, side, 1, NULL, &index, NULL, NULL, NULL),
              TENSORCAST_NO_SUCH_INDEX);
  }
  CHECK_INT(tensorcast_session_value_shape(session, 0, 0, NULL, sizes, 1, &n),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(n, 2);
  CHECK_INT(tensorcast_session_value_shape(session, 0, 0, NULL, sizes, 2, &n), TENSORCAST_OK);
  CHECK_INT(sizes[0], 2);
  CHECK_INT(sizes[1], -1);
  CHECK_INT(tensorcast_session_value_count(session, 2, &n), TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_session_value_count(NULL, 0, &n), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_session_opset(session, NULL), TENSORCAST_NULL_POINTER);
  tensorcast_session_destroy(session);
  tensorcast_session_destroy(NULL);
}

static tensorcast_tensor tensor(int type, const uint64_t* shape, uint64_t rank, const void* data,
                                uint64_t bytes) {
  tensorcast_tensor result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.type = type;
  result.shape = shape;
  result.rank = rank;
  result.data = data;
  result.data_bytes = bytes;
  return result;
}

static void count_node(void* context, const char* node, uint64_t node_bytes, const char* op_type,
                       uint64_t op_type_bytes, int32_t from, int32_t to, double seconds,
                       uint64_t bytes_read, uint64_t bytes_written) {
  ++*(int*)context;
  CHECK(node_bytes == 1 && memcmp(node, "c", 1) == 0);
  CHECK(op_type_bytes == 4 && memcmp(op_type, "Cast", 4) == 0);
  CHECK_INT(from, 1);
  CHECK_INT(to, 17);
  CHECK(seconds >= 0);
  CHECK_INT(bytes_read, 16);
  CHECK_INT(bytes_written, 4);
}

static void test_runs(void) {
  int nodes = 0;
  tensorcast_session* const session = load(1, 17);
  tensorcast_results* results = NULL;
  const float values[4] = {1.0f, 448.0f, 1e9f, -0.0f};
  const unsigned char expected[4] = {0x38, 0x7E, 0x7E, 0x80};
  const uint64_t shape[2] = {2, 2};
  tensorcast_tensor input = tensor(1, shape, 2, values, sizeof values);
  tensorcast_tensor view = tensor(0, NULL, 0, NULL, 0);
  tensorcast_tensor short_view = view;
  char error[100] = "?";
  uint64_t n = 9;
  CHECK_INT(tensorcast_results_create(&results), TENSORCAST_OK);
  CHECK_INT(tensorcast_results_count(results, &n), TENSORCAST_OK);
  CHECK_INT(n, 0);
  for (int i = 0; i < 3; ++i) {
    CHECK_INT(tensorcast_session_run_tensors(session, &input, 1, NULL, NULL, NULL, NULL, results,
                                             error, sizeof error),
              TENSORCAST_OK);
    CHECK_TEXT(error, "");
    CHECK_INT(tensorcast_results_count(results, &n), TENSORCAST_OK);
    CHECK_INT(n, 1);
    CHECK_INT(tensorcast_results_view(results, 0, &view), TENSORCAST_OK);
    CHECK_INT(view.type, 17);
    CHECK_INT(view.rank, 2);
    CHECK(view.rank == 2 && view.shape[0] == 2 && view.shape[1] == 2);
    CHECK_INT(view.data_bytes, 4);
    CHECK(view.data_bytes == 4 && memcmp(view.data, expected, 4) == 0);
    CHECK(view.offsets == NULL);
  }
  CHECK_INT(tensorcast_results_view(results, 1, &view), TENSORCAST_BAD_INPUT);
  short_view.struct_size = 3;
  CHECK_INT(tensorcast_results_view(results, 0, &short_view), TENSORCAST_BAD_STRUCT);
  CHECK_INT(tensorcast_results_view(results, 0, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_session_run_tensors(session, &input, 1, NULL, NULL, count_node, &nodes,
                                           results, NULL, 0),
            TENSORCAST_OK);
  CHECK_INT(nodes, 1);
  CHECK_INT(tensorcast_session_run_tensors(session, NULL, 0, NULL, NULL, count_node, &nodes,
                                           results, NULL, 0),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(nodes, 1);

  input.data_bytes = 15;
  CHECK_INT(tensorcast_session_run_tensors(session, &input, 1, NULL, NULL, NULL, NULL, results,
                                           error, sizeof error),
            TENSORCAST_BAD_INPUT);
  CHECK_TEXT(error, "input \"x\" has 15 bytes of data; the shape [2, 2] of float32 takes 16");
  CHECK_INT(tensorcast_session_run_tensors(session, &input, 1, NULL, NULL, NULL, NULL, results,
                                           error, 10),
            TENSORCAST_BAD_INPUT);
  CHECK_TEXT(error, "input \"x\"");
  CHECK_INT(
      tensorcast_session_run_tensors(session, &input, 1, NULL, NULL, NULL, NULL, results, NULL, 0),
      TENSORCAST_BAD_INPUT);
  CHECK_INT(
      tensorcast_session_run_tensors(session, &input, 1, NULL, NULL, NULL, NULL, results, NULL, 1),
      TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_results_count(results, &n), TENSORCAST_OK);
  CHECK_INT(n, 0);
  input.data_bytes = 16;
  CHECK_INT(tensorcast_session_run_tensors(session, NULL, 0, NULL, NULL, NULL, NULL, results, error,
                                           sizeof error),
            TENSORCAST_BAD_INPUT);
  CHECK_TEXT(error, "0 inputs given; the model has 1");
  CHECK_INT(tensorcast_session_run_tensors(session, NULL, 1, NULL, NULL, NULL, NULL, results, error,
                                           sizeof error),
            TENSORCAST_NULL_POINTER);
  CHECK_TEXT(error, tensorcast_status_text(TENSORCAST_NULL_POINTER));
  CHECK_INT(
      tensorcast_session_run_tensors(NULL, &input, 1, NULL, NULL, NULL, NULL, results, NULL, 0),
      TENSORCAST_NULL_POINTER);
  CHECK_INT(
      tensorcast_session_run_tensors(session, &input, 1, NULL, NULL, NULL, NULL, NULL, NULL, 0),
      TENSORCAST_NULL_POINTER);
  input.data = NULL;
  CHECK_INT(
      tensorcast_session_run_tensors(session, &input, 1, NULL, NULL, NULL, NULL, results, NULL, 0),
      TENSORCAST_NULL_POINTER);
  input.data = values;
  input.shape = (const uint64_t*)((const char*)shape + 4);
  CHECK_INT(
      tensorcast_session_run_tensors(session, &input, 1, NULL, NULL, NULL, NULL, results, NULL, 0),
      TENSORCAST_MISALIGNED);
  input.shape = shape;
  input.struct_size = 0;
  CHECK_INT(
      tensorcast_session_run_tensors(session, &input, 1, NULL, NULL, NULL, NULL, results, NULL, 0),
      TENSORCAST_BAD_STRUCT);
  input.struct_size = sizeof input;
  tensorcast_interrupt* interrupt = NULL;
  CHECK_INT(tensorcast_interrupt_create(&interrupt), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run_tensors(session, &input, 1, NULL, interrupt, NULL, NULL, results,
                                           NULL, 0),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_interrupt_set(interrupt, 1), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run_tensors(session, &input, 1, NULL, interrupt, NULL, NULL, results,
                                           error, sizeof error),
            TENSORCAST_INTERRUPTED);
  CHECK_TEXT(error, "interrupted");
  tensorcast_interrupt_destroy(interrupt);
  tensorcast_results_destroy(results);
  tensorcast_results_destroy(NULL);
  tensorcast_session_destroy(session);
}

static void test_strings(void) {
  tensorcast_session* const parse = load(8, 1);
  tensorcast_session* const print = load(1, 8);
  tensorcast_results* results = NULL;
  const uint64_t shape[1] = {2};
  const uint64_t offsets[3] = {0, 3, 5};
  const float values[2] = {1.5f, -2.0f};
  tensorcast_tensor input = tensor(8, shape, 1, "1.5-2", 5);
  tensorcast_tensor view = tensor(0, NULL, 0, NULL, 0);
  char error[100] = "?";
  input.offsets = offsets;
  input.offsets_count = 3;
  CHECK_INT(tensorcast_results_create(&results), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run_tensors(parse, &input, 1, NULL, NULL, NULL, NULL, results, error,
                                           sizeof error),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_results_view(results, 0, &view), TENSORCAST_OK);
  CHECK(view.data_bytes == sizeof values && memcmp(view.data, values, sizeof values) == 0);
  /* Results as the next run's input. */
  CHECK_INT(tensorcast_session_run_tensors(print, &view, 1, NULL, NULL, NULL, NULL, results, error,
                                           sizeof error),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_results_view(results, 0, &view), TENSORCAST_OK);
  CHECK_INT(view.type, 8);
  CHECK_INT(view.offsets_count, 3);
  CHECK(view.offsets_count == 3 && view.offsets[1] == 3 && view.offsets[2] == 7);
  CHECK(view.data_bytes == 7 && memcmp(view.data, "1.5-2.0", 7) == 0);
  input.data = "one-2";
  CHECK_INT(tensorcast_session_run_tensors(parse, &input, 1, NULL, NULL, NULL, NULL, results, error,
                                           sizeof error),
            TENSORCAST_NOT_A_NUMBER);
  CHECK_TEXT(error, "node \"c\": the text at index 0, \"one\", is not a number");
  tensorcast_results_destroy(results);
  tensorcast_session_destroy(parse);
  tensorcast_session_destroy(print);
}

static int32_t parse_bytes(const void* bytes, uint64_t size, tensorcast_session** session) {
  return tensorcast_session_parse(bytes, size, 0, 0, TENSORCAST_TARGET_BEST, session);
}

static int32_t load_file(const char* path, tensorcast_session** session) {
  return tensorcast_session_load(path, 0, 0, 0, TENSORCAST_TARGET_BEST, session);
}

static void test_refusals(void) {
  tensorcast_session* session = NULL;
  unsigned char bytes[MODEL_BYTES];
  memcpy(bytes, cast_model, sizeof bytes);
  bytes[MODEL_BYTES - 1] = 18; /* an opset without float8 */
  CHECK_INT(parse_bytes(bytes, sizeof bytes, &session), TENSORCAST_BAD_FILE);
  CHECK(strstr(last_error(), "node \"c\" (Cast) has the attribute \"to\" = 17 (FLOAT8E4M3FN)") !=
        NULL);
  CHECK(session == NULL);
  CHECK_INT(parse_bytes(NULL, 1, &session), TENSORCAST_NULL_POINTER);
  CHECK(strstr(last_error(), "bytes") != NULL);
  CHECK_INT(parse_bytes(NULL, 0, &session), TENSORCAST_BAD_FILE);
  /* A size that no model has is refused before it is taken for that of the array. */
  CHECK_INT(parse_bytes(bytes, UINT64_C(3) << 30, &session), TENSORCAST_BAD_FILE);
  CHECK_TEXT(last_error(), "the model: has 3221225472 bytes; protobuf allows 2147483647");
  CHECK_INT(parse_bytes(bytes, 1, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_session_parse(cast_model, MODEL_BYTES, 2, 0, 0, &session),
            TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_session_parse(cast_model, MODEL_BYTES, 0, 2, 0, &session),
            TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_session_parse(cast_model, MODEL_BYTES, TENSORCAST_CONTRADICTIONS_TESTS, 0,
                                     99, &session),
            TENSORCAST_TARGET_UNAVAILABLE);
  CHECK_INT(tensorcast_session_load("/nonexistent", 0, 2, 0, 0, &session),
            TENSORCAST_INVALID_OPTION);
  CHECK_INT(load_file("/nonexistent", &session), TENSORCAST_FILE_ERROR);
  CHECK(strstr(last_error(), "/nonexistent") != NULL);
  CHECK_INT(load_file(NULL, &session), TENSORCAST_NULL_POINTER);
  CHECK(strstr(last_error(), "path") != NULL);
  CHECK(session == NULL);
}

/* A session of a model is bound and run as one of a graph is, but not backward. */
static void test_bound(void) {
  tensorcast_session* const session = load(1, 17);
  const float values[2] = {1.0f, 448.0f};
  const int64_t shape[2] = {1, 2};
  const unsigned char expected[2] = {0x38, 0x7E};
  unsigned char made[2] = {0, 0};
  int64_t made_shape[2] = {0, 0};
  CHECK_INT(tensorcast_session_bind_input(session, TENSORCAST_BY_NAME, "x", values, sizeof values,
                                          shape, 2, 1, NULL, 0, 1),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run(session, NULL, NULL, 0), TENSORCAST_OK);
  CHECK_INT(
      tensorcast_session_copy_output(session, 0, NULL, made, sizeof made, made_shape, 2, NULL, 0),
      TENSORCAST_OK);
  CHECK(memcmp(made, expected, sizeof made) == 0);
  CHECK_INT(tensorcast_session_backward(session, NULL, NULL), TENSORCAST_UNSUPPORTED);
  tensorcast_session_destroy(session);
}

typedef struct seen_tensors {
  int chosen;
  int reported;
  int left; /* small tensors are left alone */
} seen_tensors;

static int32_t choose(void* context, const char* name, uint64_t name_bytes, int32_t type,
                      const uint64_t* shape, uint64_t rank) {
  ++((seen_tensors*)context)->chosen;
  CHECK(name_bytes == 1 && name[0] == 'w');
  CHECK_INT(type, TENSORCAST_FLOAT32);
  CHECK(rank == 1 && shape[0] == 2);
  return TENSORCAST_FLOAT16;
}

static void report(void* context, const char* name, uint64_t name_bytes, int32_t from, int32_t to,
                   const char* reason, const tensorcast_loss_report* loss) {
  ++((seen_tensors*)context)->reported;
  CHECK(name_bytes == 1 && name[0] == 'w');
  CHECK_INT(from, TENSORCAST_FLOAT32);
  if (((seen_tensors*)context)->left) {
    CHECK_INT(to, 0);
    CHECK_TEXT(reason, "1024 bytes or fewer");
    return;
  }
  CHECK_INT(to, TENSORCAST_FLOAT16);
  CHECK_TEXT(reason, "");
  CHECK_INT(loss->elements, 2);
  CHECK_INT(loss->counts[TENSORCAST_LOSS_EXACT], 2);
}

static void test_storage(void) {
  const char* const input = "c_onnx_test_input.onnx";
  const char* const output = "c_onnx_test_output.onnx";
  seen_tensors seen = {0, 0, 0};
  tensorcast_storage_options options;
  tensorcast_session* session = NULL;
  char error[300] = "?";
  FILE* const file = fopen(input, "wb");
  unsigned char head[MODEL_BYTES];
  CHECK(file != NULL);
  if (file == NULL) return;
  memcpy(head, cast_model, sizeof head);
  head[GRAPH_LENGTH] = (unsigned char)(head[GRAPH_LENGTH] + sizeof initializer);
  fwrite(head, 1, MODEL_BYTES - TAIL_BYTES, file);
  fwrite(initializer, 1, sizeof initializer, file);
  fwrite(head + MODEL_BYTES - TAIL_BYTES, 1, TAIL_BYTES, file);
  fclose(file);

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.overwrite = 1;
  options.context = &seen;
  CHECK_INT(tensorcast_model_convert_storage(input, strlen(input), output, strlen(output), &options,
                                             error, sizeof error),
            TENSORCAST_NULL_POINTER);
  options.choose = choose;
  options.report = report;
  options.all_chosen = 1;
  CHECK_INT(tensorcast_model_convert_storage(input, strlen(input), output, strlen(output), &options,
                                             error, sizeof error),
            TENSORCAST_OK);
  CHECK_TEXT(error, "");
  CHECK_INT(seen.chosen, 1);
  CHECK_INT(seen.reported, 1);
  CHECK_INT(load_file(output, &session), TENSORCAST_OK);
  tensorcast_session_destroy(session);
  options.all_chosen = 0;
  seen.left = 1;
  CHECK_INT(tensorcast_model_convert_storage(input, strlen(input), output, strlen(output), &options,
                                             error, sizeof error),
            TENSORCAST_OK);
  CHECK_INT(seen.reported, 2);
  options.overwrite = 0;
  CHECK_INT(tensorcast_model_convert_storage(input, strlen(input), output, strlen(output), &options,
                                             error, sizeof error),
            TENSORCAST_BAD_INPUT);
  options.overwrite = 2;
  CHECK_INT(tensorcast_model_convert_storage(input, strlen(input), output, strlen(output), &options,
                                             error, sizeof error),
            TENSORCAST_INVALID_OPTION);
  options.overwrite = 1;
  options.all_chosen = 2;
  CHECK_INT(tensorcast_model_convert_storage(input, strlen(input), output, strlen(output), &options,
                                             error, sizeof error),
            TENSORCAST_INVALID_OPTION);
  options.all_chosen = 0;
  options.allow_hard_links = 2;
  CHECK_INT(tensorcast_model_convert_storage(input, strlen(input), output, strlen(output), &options,
                                             error, sizeof error),
            TENSORCAST_INVALID_OPTION);
  options.allow_hard_links = 0;
  CHECK_INT(tensorcast_model_convert_storage("a\0b", 3, output, strlen(output), &options, error,
                                             sizeof error),
            TENSORCAST_FILE_ERROR);
  CHECK_TEXT(error, "the path holds a NUL byte");
  options.all_chosen = 1;
  remove(output);
  tensorcast_interrupt* interrupt = NULL;
  CHECK_INT(tensorcast_interrupt_create(&interrupt), TENSORCAST_OK);
  CHECK_INT(tensorcast_interrupt_set(interrupt, 1), TENSORCAST_OK);
  options.interrupt = interrupt;
  CHECK_INT(tensorcast_model_convert_storage(input, strlen(input), output, strlen(output), &options,
                                             error, sizeof error),
            TENSORCAST_INTERRUPTED);
  FILE* const written = fopen(output, "rb");
  CHECK(written == NULL);
  tensorcast_interrupt_destroy(interrupt);
  remove(input);
}

int main(void) {
  test_values();
  test_runs();
  test_strings();
  test_refusals();
  test_bound();
  test_storage();
  RETURN_FAILURES;
}
