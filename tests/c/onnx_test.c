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

static tensorcast_model* load(int from, int to) {
  unsigned char bytes[MODEL_BYTES];
  char error[200] = "?";
  tensorcast_model* model = NULL;
  memcpy(bytes, cast_model, sizeof bytes);
  bytes[FROM_TYPE] = (unsigned char)from;
  bytes[TO] = bytes[TO_TYPE] = (unsigned char)to;
  CHECK_INT(
      tensorcast_model_create_from_bytes(bytes, sizeof bytes, NULL, &model, error, sizeof error),
      TENSORCAST_OK);
  CHECK_TEXT(error, "");
  memset(bytes, 0xFF, sizeof bytes); /* it was copied */
  return model;
}

static void test_values(void) {
  tensorcast_model* const model = load(1, 17);
  tensorcast_value_info info;
  char name[2] = "?";
  int64_t sizes[2] = {0, 0};
  int64_t opset = 0;
  uint64_t n = 0;
  CHECK_INT(tensorcast_model_opset(model, &opset), TENSORCAST_OK);
  CHECK_INT(opset, 25);
  for (int32_t side = TENSORCAST_MODEL_INPUTS; side <= TENSORCAST_MODEL_OUTPUTS; ++side) {
    const int is_input = side == TENSORCAST_MODEL_INPUTS;
    CHECK_INT(tensorcast_model_value_count(model, side, &n), TENSORCAST_OK);
    CHECK_INT(n, 1);
    info.struct_size = sizeof info;
    CHECK_INT(tensorcast_model_value_info(model, side, 0, &info), TENSORCAST_OK);
    CHECK_INT(info.struct_size, sizeof info);
    CHECK_INT(info.type, is_input ? 1 : 17);
    CHECK_INT(info.has_shape, is_input);
    CHECK_INT(info.has_default, 0);
    CHECK_INT(info.rank, is_input ? 2 : 0);
    CHECK_INT(tensorcast_model_value_name(model, side, 0, NULL, 0, &n), TENSORCAST_OK);
    CHECK_INT(n, 2);
    CHECK_INT(tensorcast_model_value_name(model, side, 0, name, sizeof name, NULL), TENSORCAST_OK);
    CHECK_TEXT(name, is_input ? "x" : "y");
    n = 9;
    CHECK_INT(tensorcast_model_value_find(model, side, name, 1, &n), TENSORCAST_OK);
    CHECK_INT(n, 0);
    CHECK_INT(tensorcast_model_value_find(model, side, "z", 1, &n), TENSORCAST_BAD_INPUT);
    CHECK_INT(tensorcast_model_value_info(model, side, 1, &info), TENSORCAST_BAD_INPUT);
  }
  CHECK_INT(tensorcast_model_value_shape(model, 0, 0, sizes, 1, &n), TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(n, 2);
  CHECK_INT(tensorcast_model_value_shape(model, 0, 0, sizes, 2, &n), TENSORCAST_OK);
  CHECK_INT(sizes[0], 2);
  CHECK_INT(sizes[1], -1);
  CHECK_INT(tensorcast_model_value_count(model, 2, &n), TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_model_value_count(NULL, 0, &n), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_model_value_info(model, 0, 0, NULL), TENSORCAST_NULL_POINTER);
  info.struct_size = 3;
  CHECK_INT(tensorcast_model_value_info(model, 0, 0, &info), TENSORCAST_BAD_STRUCT);
  CHECK_INT(tensorcast_model_opset(model, NULL), TENSORCAST_NULL_POINTER);
  tensorcast_model_destroy(model);
  tensorcast_model_destroy(NULL);
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
  tensorcast_model* const model = load(1, 17);
  tensorcast_model_outputs* outputs = NULL;
  const float values[4] = {1.0f, 448.0f, 1e9f, -0.0f};
  const unsigned char expected[4] = {0x38, 0x7E, 0x7E, 0x80};
  const uint64_t shape[2] = {2, 2};
  tensorcast_tensor input = tensor(1, shape, 2, values, sizeof values);
  tensorcast_tensor view = tensor(0, NULL, 0, NULL, 0);
  tensorcast_model_run_options run = TENSORCAST_MODEL_RUN_OPTIONS_INIT;
  char error[100] = "?";
  uint64_t n = 9;
  CHECK_INT(tensorcast_model_outputs_create(&outputs), TENSORCAST_OK);
  CHECK_INT(tensorcast_model_outputs_count(outputs, &n), TENSORCAST_OK);
  CHECK_INT(n, 0);
  for (int i = 0; i < 3; ++i) {
    CHECK_INT(
        tensorcast_model_run(model, &input, 1, i == 0 ? NULL : &run, outputs, error, sizeof error),
        TENSORCAST_OK);
    CHECK_TEXT(error, "");
    CHECK_INT(tensorcast_model_outputs_count(outputs, &n), TENSORCAST_OK);
    CHECK_INT(n, 1);
    CHECK_INT(tensorcast_model_outputs_view(outputs, 0, &view), TENSORCAST_OK);
    CHECK_INT(view.type, 17);
    CHECK_INT(view.rank, 2);
    CHECK(view.rank == 2 && view.shape[0] == 2 && view.shape[1] == 2);
    CHECK_INT(view.data_bytes, 4);
    CHECK(view.data_bytes == 4 && memcmp(view.data, expected, 4) == 0);
    CHECK(view.offsets == NULL);
  }
  CHECK_INT(tensorcast_model_outputs_view(outputs, 1, &view), TENSORCAST_BAD_INPUT);
  run.report = count_node;
  run.context = &nodes;
  CHECK_INT(tensorcast_model_run(model, &input, 1, &run, outputs, NULL, 0), TENSORCAST_OK);
  CHECK_INT(nodes, 1);
  CHECK_INT(tensorcast_model_run(model, NULL, 0, &run, outputs, NULL, 0), TENSORCAST_BAD_INPUT);
  CHECK_INT(nodes, 1);

  input.data_bytes = 15;
  CHECK_INT(tensorcast_model_run(model, &input, 1, NULL, outputs, error, sizeof error),
            TENSORCAST_BAD_INPUT);
  CHECK_TEXT(error, "input \"x\" has 15 bytes of data; the shape [2, 2] of float32 takes 16");
  CHECK_INT(tensorcast_model_run(model, &input, 1, NULL, outputs, error, 10), TENSORCAST_BAD_INPUT);
  CHECK_TEXT(error, "input \"x\"");
  CHECK_INT(tensorcast_model_run(model, &input, 1, NULL, outputs, NULL, 0), TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_model_run(model, &input, 1, NULL, outputs, NULL, 1),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_model_outputs_count(outputs, &n), TENSORCAST_OK);
  CHECK_INT(n, 0);
  input.data_bytes = 16;
  CHECK_INT(tensorcast_model_run(model, NULL, 0, NULL, outputs, error, sizeof error),
            TENSORCAST_BAD_INPUT);
  CHECK_TEXT(error, "0 inputs given; the model has 1");
  CHECK_INT(tensorcast_model_run(model, NULL, 1, NULL, outputs, error, sizeof error),
            TENSORCAST_NULL_POINTER);
  CHECK_TEXT(error, tensorcast_status_text(TENSORCAST_NULL_POINTER));
  CHECK_INT(tensorcast_model_run(NULL, &input, 1, NULL, outputs, NULL, 0), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_model_run(model, &input, 1, NULL, NULL, NULL, 0), TENSORCAST_NULL_POINTER);
  input.data = NULL;
  CHECK_INT(tensorcast_model_run(model, &input, 1, NULL, outputs, NULL, 0),
            TENSORCAST_NULL_POINTER);
  input.data = values;
  input.shape = (const uint64_t*)((const char*)shape + 4);
  CHECK_INT(tensorcast_model_run(model, &input, 1, NULL, outputs, NULL, 0), TENSORCAST_MISALIGNED);
  input.shape = shape;
  input.struct_size = 0;
  CHECK_INT(tensorcast_model_run(model, &input, 1, NULL, outputs, NULL, 0), TENSORCAST_BAD_STRUCT);
  input.struct_size = sizeof input;
  tensorcast_interrupt* interrupt = NULL;
  CHECK_INT(tensorcast_interrupt_create(&interrupt), TENSORCAST_OK);
  run.interrupt = interrupt;
  CHECK_INT(tensorcast_model_run(model, &input, 1, &run, outputs, NULL, 0), TENSORCAST_OK);
  CHECK_INT(tensorcast_interrupt_set(interrupt, 1), TENSORCAST_OK);
  CHECK_INT(tensorcast_model_run(model, &input, 1, &run, outputs, error, sizeof error),
            TENSORCAST_INTERRUPTED);
  CHECK_TEXT(error, "interrupted");
  tensorcast_interrupt_destroy(interrupt);
  run.interrupt = NULL;
  run.reserved = 1;
  CHECK_INT(tensorcast_model_run(model, &input, 1, &run, outputs, NULL, 0), TENSORCAST_BAD_STRUCT);
  tensorcast_model_outputs_destroy(outputs);
  tensorcast_model_outputs_destroy(NULL);
  tensorcast_model_destroy(model);
}

static void test_strings(void) {
  tensorcast_model* const parse = load(8, 1);
  tensorcast_model* const print = load(1, 8);
  tensorcast_model_outputs* outputs = NULL;
  const uint64_t shape[1] = {2};
  const uint64_t offsets[3] = {0, 3, 5};
  const float values[2] = {1.5f, -2.0f};
  tensorcast_tensor input = tensor(8, shape, 1, "1.5-2", 5);
  tensorcast_tensor view = tensor(0, NULL, 0, NULL, 0);
  char error[100] = "?";
  input.offsets = offsets;
  input.offsets_count = 3;
  CHECK_INT(tensorcast_model_outputs_create(&outputs), TENSORCAST_OK);
  CHECK_INT(tensorcast_model_run(parse, &input, 1, NULL, outputs, error, sizeof error),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_model_outputs_view(outputs, 0, &view), TENSORCAST_OK);
  CHECK(view.data_bytes == sizeof values && memcmp(view.data, values, sizeof values) == 0);
  /* Results as the next run's input. */
  CHECK_INT(tensorcast_model_run(print, &view, 1, NULL, outputs, error, sizeof error),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_model_outputs_view(outputs, 0, &view), TENSORCAST_OK);
  CHECK_INT(view.type, 8);
  CHECK_INT(view.offsets_count, 3);
  CHECK(view.offsets_count == 3 && view.offsets[1] == 3 && view.offsets[2] == 7);
  CHECK(view.data_bytes == 7 && memcmp(view.data, "1.5-2.0", 7) == 0);
  input.data = "one-2";
  CHECK_INT(tensorcast_model_run(parse, &input, 1, NULL, outputs, error, sizeof error),
            TENSORCAST_NOT_A_NUMBER);
  CHECK_TEXT(error, "node \"c\": the text at index 0, \"one\", is not a number");
  tensorcast_model_outputs_destroy(outputs);
  tensorcast_model_destroy(parse);
  tensorcast_model_destroy(print);
}

static void test_refusals(void) {
  tensorcast_model* model = NULL;
  tensorcast_model_options options = TENSORCAST_MODEL_OPTIONS_INIT;
  char error[400] = "?";
  unsigned char bytes[MODEL_BYTES];
  memcpy(bytes, cast_model, sizeof bytes);
  bytes[MODEL_BYTES - 1] = 18; /* an opset without float8 */
  CHECK_INT(
      tensorcast_model_create_from_bytes(bytes, sizeof bytes, NULL, &model, error, sizeof error),
      TENSORCAST_BAD_FILE);
  CHECK(strstr(error, "node \"c\" (Cast) has the attribute \"to\" = 17 (FLOAT8E4M3FN)") != NULL);
  CHECK(model == NULL);
  CHECK_INT(tensorcast_model_create_from_bytes(NULL, 1, NULL, &model, error, sizeof error),
            TENSORCAST_NULL_POINTER);
  CHECK_TEXT(error, tensorcast_status_text(TENSORCAST_NULL_POINTER));
  CHECK_INT(tensorcast_model_create_from_bytes(NULL, 0, NULL, &model, NULL, 0),
            TENSORCAST_BAD_FILE);
  /* A size that no model has is refused before it is taken for that of the array. */
  CHECK_INT(tensorcast_model_create_from_bytes(bytes, UINT64_C(3) << 30, NULL, &model, error,
                                               sizeof error),
            TENSORCAST_BAD_FILE);
  CHECK_TEXT(error, "the model: has 3221225472 bytes; protobuf allows 2147483647");
  CHECK_INT(tensorcast_model_create_from_bytes(bytes, 1, NULL, NULL, NULL, 0),
            TENSORCAST_NULL_POINTER);
  options.contradictions = 2;
  CHECK_INT(tensorcast_model_create_from_bytes(cast_model, MODEL_BYTES, &options, &model, NULL, 0),
            TENSORCAST_INVALID_OPTION);
  options.contradictions = TENSORCAST_CONTRADICTIONS_TESTS;
  options.target = 99;
  CHECK_INT(tensorcast_model_create_from_bytes(cast_model, MODEL_BYTES, &options, &model, NULL, 0),
            TENSORCAST_TARGET_UNAVAILABLE);
  options.struct_size = 1;
  CHECK_INT(tensorcast_model_create_from_bytes(cast_model, MODEL_BYTES, &options, &model, NULL, 0),
            TENSORCAST_BAD_STRUCT);
  CHECK_INT(
      tensorcast_model_create_from_file("/nonexistent", 12, NULL, &model, error, sizeof error),
      TENSORCAST_FILE_ERROR);
  CHECK(strstr(error, "/nonexistent") != NULL);
  CHECK_INT(tensorcast_model_create_from_file("a\0b", 3, NULL, &model, error, sizeof error),
            TENSORCAST_FILE_ERROR);
  CHECK_TEXT(error, "the path holds a NUL byte");
  CHECK_INT(tensorcast_model_create_from_file(NULL, 0, NULL, &model, error, sizeof error),
            TENSORCAST_NULL_POINTER);
  CHECK_TEXT(error, tensorcast_status_text(TENSORCAST_NULL_POINTER));
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
  tensorcast_model* model = NULL;
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
  CHECK_INT(
      tensorcast_model_create_from_file(output, strlen(output), NULL, &model, error, sizeof error),
      TENSORCAST_OK);
  CHECK_TEXT(error, "");
  tensorcast_model_destroy(model);
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
  test_storage();
  RETURN_FAILURES;
}
