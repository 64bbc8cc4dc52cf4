/* The flat C interface: sessions, forward and backward. The expected codes are by hand: powers of
 * two and their neighbours.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tensorcast/session.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* x: float32 -> y: float16 (lda 0.5); s: string -> n: int32 -> t: string. */
static tensorcast_graph* make_graph(void) {
  tensorcast_graph* graph = NULL;
  int64_t x = 0, s = 0, y = 0, n = 0, t = 0;
  CHECK_INT(tensorcast_graph_create(0, 0, 0, &graph), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_input(graph, "x", TENSORCAST_FLOAT32, NULL, -1, NULL, &x),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_input(graph, "s", TENSORCAST_STRING, NULL, -1, NULL, &s),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_cast(graph, x, TENSORCAST_FLOAT16, 1, 0, "", "", 1, 0.5, &y),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_cast(graph, s, TENSORCAST_INT32, 1, 0, "", "", 1, 1, &n),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_cast(graph, n, TENSORCAST_STRING, 1, 0, "", "", 1, 1, &t),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_mark_output(graph, y, "y"), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_mark_output(graph, n, "n"), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_mark_output(graph, t, "t"), TENSORCAST_OK);
  return graph;
}

static tensorcast_session* make(int32_t backward, int32_t gives_zeros) {
  tensorcast_graph* const graph = make_graph();
  tensorcast_session* session = NULL;
  CHECK_INT(
      tensorcast_session_create(graph, backward, 0, gives_zeros, TENSORCAST_TARGET_BEST, &session),
      TENSORCAST_OK);
  tensorcast_graph_destroy(graph); /* the session lives on */
  return session;
}

static void check_told(const tensorcast_session* session) {
  char text[1024] = "", last[1024] = "";
  CHECK_INT(tensorcast_last_error(last, sizeof last, NULL), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_error(session, text, sizeof text, NULL), TENSORCAST_OK);
  CHECK(text[0] != '\0' && strchr(text, '\n') == NULL);
  CHECK_TEXT(text, last);
}

static void bind_both(tensorcast_session* session) {
  float x[2] = {1.0f, -65504.0f};
  char s[] = "12-7";
  int64_t two[1] = {2}, lengths[2] = {2, 2};
  CHECK_INT(tensorcast_session_bind_input(session, 0, NULL, x, sizeof x, two, 1, TENSORCAST_FLOAT32,
                                          NULL, 0, 1),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_session_bind_input(session, TENSORCAST_BY_NAME, "s", s, 4, two, 1,
                                          TENSORCAST_STRING, lengths, 2, 1),
            TENSORCAST_OK);
  memset(x, 0xFF, sizeof x); /* they were copied */
  memset(s, 'x', 4);
  two[0] = lengths[0] = 77;
}

static void test_values(void) {
  tensorcast_session* const session = make(0, 0);
  uint64_t count = 0, rank = 9;
  int64_t index = 9, declared = 9;
  int32_t type = 0, has_default = 9;
  char name[2] = "?";
  CHECK_INT(tensorcast_session_value_count(session, TENSORCAST_GRAPH_INPUTS, &count),
            TENSORCAST_OK);
  CHECK_INT(count, 2);
  CHECK_INT(tensorcast_session_value_count(session, TENSORCAST_GRAPH_OUTPUTS, &count),
            TENSORCAST_OK);
  CHECK_INT(count, 3);
  CHECK_INT(tensorcast_session_value_count(session, 2, &count), TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_session_value(session, TENSORCAST_GRAPH_OUTPUTS, TENSORCAST_BY_NAME, "t",
                                     &index, &type, &declared, &has_default),
            TENSORCAST_OK);
  CHECK(index == 2 && type == TENSORCAST_STRING && declared == -1 && has_default == 0);
  CHECK_INT(
      tensorcast_session_value_shape(session, TENSORCAST_GRAPH_INPUTS, 0, NULL, NULL, 0, &rank),
      TENSORCAST_OK);
  CHECK_INT(rank, 0);
  CHECK_INT(tensorcast_session_value_name(session, TENSORCAST_GRAPH_INPUTS, 1, name, 2, NULL),
            TENSORCAST_OK);
  CHECK_TEXT(name, "s");
  CHECK_INT(tensorcast_session_value_name(session, TENSORCAST_GRAPH_INPUTS, 2, name, 2, NULL),
            TENSORCAST_NO_SUCH_INDEX);
  check_told(session);
  CHECK_INT(tensorcast_session_value(session, TENSORCAST_GRAPH_INPUTS, TENSORCAST_BY_NAME, "y",
                                     NULL, NULL, NULL, NULL),
            TENSORCAST_NO_SUCH_NAME);
  check_told(session);
  tensorcast_session_destroy(session);
  tensorcast_session_destroy(NULL);
}

static void test_runs(void) {
  tensorcast_session* const session = make(0, 0);
  const uint16_t halves[2] = {0x3C00, 0xFBFF};
  const int32_t integers[2] = {12, -7};
  uint16_t y[3] = {9, 9, 9};
  int32_t n[2] = {0, 0};
  char t[4] = "?";
  int32_t type = 0;
  int64_t shape[2] = {9, 9}, lengths[2] = {9, 9};
  uint64_t rank = 0, elements = 0, bytes = 0, needed = 0, nodes = 0;
  double numbers[9];
  tensorcast_executor* executor = NULL;
  tensorcast_interrupt* interrupt = NULL;
  CHECK_INT(tensorcast_session_run(session, NULL, NULL, 0), TENSORCAST_BAD_INPUT); /* unbound */
  check_told(session);
  bind_both(session);
  CHECK_INT(tensorcast_session_output_size(session, 0, NULL, &type, &rank, &elements, &bytes),
            TENSORCAST_OK);
  CHECK(type == TENSORCAST_FLOAT16 && rank == 1 && elements == 2 && bytes == 4);
  CHECK_INT(tensorcast_session_copy_output(session, 0, NULL, y, 4, shape, 1, NULL, 0),
            TENSORCAST_BAD_INPUT); /* no run yet */
  CHECK_INT(tensorcast_session_run(session, NULL, NULL, 2), TENSORCAST_INVALID_OPTION);
#ifdef HAS_TBB
  CHECK_INT(tensorcast_executor_create(0, &executor), TENSORCAST_OK);
#endif
  CHECK_INT(tensorcast_interrupt_create(&interrupt), TENSORCAST_OK);
  for (int round = 0; round < 3; ++round) {
    CHECK_INT(tensorcast_session_run(session, round == 1 ? executor : NULL,
                                     round == 1 ? interrupt : NULL, round == 2),
              TENSORCAST_OK);
    CHECK_INT(tensorcast_session_copy_output(session, 0, NULL, y, 3, shape, 1, NULL, 0),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(tensorcast_session_copy_output(session, 0, NULL, y, 4, shape, 0, NULL, 0),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(y[0], round == 0 ? 9 : 0x3C00);
    CHECK_INT(tensorcast_session_copy_output(session, 0, NULL, y, 6, shape, 2, NULL, 0),
              TENSORCAST_OK);
    CHECK(memcmp(y, halves, 4) == 0 && y[2] == 9 && shape[0] == 2 && shape[1] == 9);
    CHECK_INT(tensorcast_session_copy_output(session, 1, NULL, n, 8, shape, 1, NULL, 0),
              TENSORCAST_OK);
    CHECK(memcmp(n, integers, 8) == 0);
    CHECK_INT(tensorcast_session_output_size(session, TENSORCAST_BY_NAME, "t", &type, &rank,
                                             &elements, &bytes),
              TENSORCAST_OK);
    CHECK(type == TENSORCAST_STRING && rank == 1 && elements == 2 && bytes == 4);
    CHECK_INT(tensorcast_session_copy_output(session, 2, NULL, t, 4, shape, 1, lengths, 1),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(tensorcast_session_copy_output(session, 2, NULL, t, 4, shape, 1, lengths, 2),
              TENSORCAST_OK);
    CHECK(memcmp(t, "12-7", 4) == 0 && lengths[0] == 2 && lengths[1] == 2);
    CHECK_INT(tensorcast_session_output_size(session, 3, NULL, NULL, NULL, NULL, NULL),
              TENSORCAST_NO_SUCH_INDEX);
  }
  CHECK_INT(tensorcast_session_profile(session, NULL, 0, &nodes), TENSORCAST_OK);
  CHECK_INT(nodes, 3);
  CHECK_INT(tensorcast_session_profile(session, numbers, 8, &nodes), TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_session_profile(session, numbers, 9, &nodes), TENSORCAST_OK);
  CHECK(numbers[0] >= 0 && numbers[1] == 8 && numbers[2] == 4);
  CHECK_INT(tensorcast_session_profile_node(session, 0, NULL, 0, &needed), TENSORCAST_OK);
  CHECK_INT(needed, sizeof "Cast_0");
  CHECK_INT(tensorcast_session_profile_node(session, 3, NULL, 0, NULL), TENSORCAST_NO_SUCH_INDEX);

  CHECK_INT(tensorcast_interrupt_set(interrupt, 1), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run(session, NULL, interrupt, 0), TENSORCAST_INTERRUPTED);
  CHECK_INT(tensorcast_session_copy_output(session, 0, NULL, y, 6, shape, 2, NULL, 0),
            TENSORCAST_BAD_INPUT);
  tensorcast_interrupt_destroy(interrupt);
  tensorcast_executor_destroy(executor);
  tensorcast_session_destroy(session);
}

/* A tensor that is refused leaves the one bound before. */
static void test_binding(void) {
  tensorcast_session* const session = make(0, 0);
  const float values[2] = {2.0f, 4.0f};
  const int64_t two = 2, negative = -2;
  const int64_t lengths[2] = {1, 3}, short_lengths[2] = {1, 2}, wrong_lengths[2] = {-1, 5};
  uint16_t y[2] = {0, 0};
  uint16_t bound[2] = {9, 9};
  bind_both(session);
  CHECK_INT(tensorcast_session_bind_input(session, 0, NULL, values, 7, &two, 1, 1, NULL, 0, 0),
            TENSORCAST_BAD_INPUT);
  check_told(session);
  CHECK_INT(tensorcast_session_bind_input(session, 0, NULL, values, 8, &negative, 1, 1, NULL, 0, 0),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_bind_input(session, 0, NULL, values, 8, &two, 1, 10, NULL, 0, 0),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_bind_input(session, 0, NULL, values, 8, &two, 1, 0, NULL, 0, 0),
            TENSORCAST_BAD_INPUT); /* no default */
  CHECK_INT(tensorcast_session_bind_input(session, 0, NULL, NULL, 8, &two, 1, 1, NULL, 0, 0),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_session_bind_input(session, 0, NULL, values, 8, NULL, 1, 1, NULL, 0, 0),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(
      tensorcast_session_bind_input(session, 0, NULL, values, 8,
                                    (const int64_t*)((const char*)&two + 1), 1, 1, NULL, 0, 0),
      TENSORCAST_MISALIGNED);
  CHECK_INT(tensorcast_session_bind_input(session, 0, NULL, values, 8, &two, 1, 1, NULL, 0, 2),
            TENSORCAST_INVALID_OPTION);
  CHECK_INT(
      tensorcast_session_bind_input(session, 1, NULL, "1234", 4, &two, 1, 8, short_lengths, 2, 1),
      TENSORCAST_BAD_INPUT);
  CHECK_INT(
      tensorcast_session_bind_input(session, 1, NULL, "1234", 4, &two, 1, 8, wrong_lengths, 2, 1),
      TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_bind_input(session, 1, NULL, "1234", 4, &two, 1, 8, lengths, 1, 1),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_bind_input(session, 2, NULL, values, 8, &two, 1, 1, NULL, 0, 0),
            TENSORCAST_NO_SUCH_INDEX);
  CHECK_INT(tensorcast_session_bind_input(session, -2, NULL, values, 8, &two, 1, 1, NULL, 0, 0),
            TENSORCAST_NO_SUCH_INDEX);
  CHECK_INT(tensorcast_session_bind_input(session, TENSORCAST_BY_NAME, "a\x01z", values, 8, &two, 1,
                                          1, NULL, 0, 0),
            TENSORCAST_NO_SUCH_NAME);
  check_told(session);
  CHECK_INT(tensorcast_session_run(session, NULL, NULL, 0), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_copy_output(session, 0, NULL, y, 4, (int64_t*)&bound, 0, NULL, 0),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_session_bind_output(session, 0, NULL, bound, 3), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run(session, NULL, NULL, 0), TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_session_bind_output(session, 0, NULL, bound, 4), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run(session, NULL, NULL, 0), TENSORCAST_OK);
  CHECK(bound[0] == 0x3C00 && bound[1] == 0xFBFF);
  CHECK_INT(tensorcast_session_bind_input(session, 0, NULL, values, 8, &two, 1, 1, NULL, 0, 0),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run(session, NULL, NULL, 0), TENSORCAST_OK);
  CHECK(bound[0] == 0x4000 && bound[1] == 0x4400);
  CHECK_INT(tensorcast_session_bind_output(session, 2, NULL, bound, 4), TENSORCAST_BAD_INPUT);
  tensorcast_session_destroy(session);
}

/* All tensors at once, by index and by name. */
static void test_arrays(void) {
  tensorcast_session* const session = make(0, 0);
  /* s: [1, 2] of "3" and "-45"; x: a scalar. */
  unsigned char bytes[8] = {'3', '-', '4', '5', 0, 0, 0, 0x40};
  const int64_t indices[2] = {1, 0}, twice[2] = {1, 1}, wrong[2] = {1, 2};
  const int64_t shapes[2] = {1, 2}, lengths[2] = {1, 3}, ranks[2] = {2, 0};
  const int32_t types[2] = {TENSORCAST_STRING, TENSORCAST_FLOAT32};
  const int64_t output = 2;
  uint64_t tensors = 0, size = 0, sizes = 0, texts = 0;
  unsigned char out[14];
  int64_t out_shapes[4], out_lengths[2], out_ranks[3];
  int32_t out_types[3];
  const int32_t integers[2] = {3, -45};
  const uint16_t half = 0x4000;
  for (int round = 0; round < 2; ++round) {
    CHECK_INT(tensorcast_session_bind_inputs(session, 2, indices, round == 0 ? 2 : 0,
                                             round == 0 ? NULL : "s\nx", bytes, 8, shapes, 2,
                                             lengths, 2, ranks, 2, types, 2, 1),
              TENSORCAST_OK);
    CHECK_INT(tensorcast_session_outputs_size(session, NULL, NULL, NULL, NULL),
              TENSORCAST_BAD_INPUT); /* no run since */
    CHECK_INT(tensorcast_session_run(session, NULL, NULL, 0), TENSORCAST_OK);
    CHECK_INT(tensorcast_session_outputs_size(session, &tensors, &size, &sizes, &texts),
              TENSORCAST_OK);
    CHECK(tensors == 3 && size == 14 && sizes == 4 && texts == 2);
    memset(out, 7, sizeof out);
    CHECK_INT(tensorcast_session_copy_outputs(session, out, 13, out_shapes, 4, out_lengths, 2,
                                              out_ranks, 3, out_types, 3),
              TENSORCAST_BUFFER_TOO_SMALL);
    check_told(session);
    CHECK_INT(tensorcast_session_copy_outputs(session, out, 14, out_shapes, 3, out_lengths, 2,
                                              out_ranks, 3, out_types, 3),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(tensorcast_session_copy_outputs(session, out, 14, out_shapes, 4, out_lengths, 1,
                                              out_ranks, 3, out_types, 3),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(tensorcast_session_copy_outputs(session, out, 14, out_shapes, 4, out_lengths, 2,
                                              out_ranks, 2, out_types, 3),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(tensorcast_session_copy_outputs(session, out, 14, out_shapes, 4, out_lengths, 2,
                                              out_ranks, 3, out_types, 2),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(out[0], 7);
    CHECK_INT(tensorcast_session_copy_outputs(session, out, 14, out_shapes, 4, out_lengths, 2,
                                              out_ranks, 3, out_types, 3),
              TENSORCAST_OK);
    CHECK(memcmp(out, &half, 2) == 0 && memcmp(out + 2, integers, 8) == 0 &&
          memcmp(out + 10, "3-45", 4) == 0);
    CHECK(out_shapes[0] == 1 && out_shapes[1] == 2 && out_shapes[2] == 1 && out_shapes[3] == 2);
    CHECK(out_ranks[0] == 0 && out_ranks[1] == 2 && out_ranks[2] == 2);
    CHECK(out_lengths[0] == 1 && out_lengths[1] == 3);
    CHECK(out_types[0] == 10 && out_types[1] == 6 && out_types[2] == 8);
  }
  /* Only what one output needs. */
  CHECK_INT(tensorcast_session_select_outputs(session, &output, 1, ""), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run(session, NULL, NULL, 0), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_outputs_size(session, &tensors, &size, &sizes, &texts),
            TENSORCAST_OK);
  CHECK(tensors == 1 && size == 4 && sizes == 2 && texts == 2);
  CHECK_INT(tensorcast_session_copy_output(session, 0, NULL, out, 14, out_shapes, 4, NULL, 0),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_select_outputs(session, NULL, 0, "y\nn\n"), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_select_outputs(session, &output, 1, "y"), TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_select_outputs(session, NULL, 0, "y\nnone"),
            TENSORCAST_NO_SUCH_NAME);

  CHECK_INT(tensorcast_session_bind_inputs(session, 2, twice, 2, NULL, bytes, 8, shapes, 2, lengths,
                                           2, ranks, 2, types, 2, 1),
            TENSORCAST_BAD_INPUT);
  check_told(session);
  CHECK_INT(tensorcast_session_bind_inputs(session, 2, NULL, 0, "x\nx", bytes, 8, shapes, 2,
                                           lengths, 2, ranks, 2, types, 2, 1),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_bind_inputs(session, 2, wrong, 2, NULL, bytes, 8, shapes, 2, lengths,
                                           2, ranks, 2, types, 2, 1),
            TENSORCAST_NO_SUCH_INDEX);
  CHECK_INT(tensorcast_session_bind_inputs(session, 1, indices, 2, NULL, bytes, 8, shapes, 2,
                                           lengths, 2, ranks, 2, types, 2, 1),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_bind_inputs(session, 2, indices, 2, NULL, bytes, 7, shapes, 2,
                                           lengths, 2, ranks, 2, types, 2, 1),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_bind_inputs(session, 2, indices, 2, NULL, bytes, 8, shapes, 1,
                                           lengths, 2, ranks, 2, types, 2, 1),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_bind_inputs(session, 2, indices, 2, NULL, bytes, 8, shapes, 2,
                                           lengths, 1, ranks, 2, types, 2, 1),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_bind_inputs(session, 2, indices, 2, NULL, bytes, 8, shapes, 2,
                                           lengths, 2, ranks, 1, types, 2, 1),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_session_bind_inputs(session, 1, indices, 1, NULL, bytes, 8, shapes, 2,
                                           lengths, 2, ranks, 1, types, 1, 1),
            TENSORCAST_BAD_INPUT); /* four bytes are left */
  CHECK_INT(tensorcast_session_bind_inputs(session, 0, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, 0,
                                           NULL, 0, NULL, 0, 1),
            TENSORCAST_OK);
  tensorcast_session_destroy(session);
}

static void test_backward(void) {
  const uint16_t dy[2] = {0x3C00, 0x4200}; /* 1, 3 */
  const float dx[2] = {0.5f, 1.5f};
  const int64_t two = 2, one = 1;
  float got[2] = {9, 9};
  int64_t shape = 9;
  int32_t has = 9, type = 9;
  uint64_t rank = 9, elements = 9, bytes = 9;
  for (int32_t zeros = 0; zeros < 2; ++zeros) {
    tensorcast_session* const session = make(1, zeros);
    bind_both(session);
    CHECK_INT(tensorcast_session_backward(session, NULL, NULL), TENSORCAST_BAD_INPUT); /* no run */
    CHECK_INT(tensorcast_session_run(session, NULL, NULL, 0), TENSORCAST_OK);
    CHECK_INT(tensorcast_session_gradient_size(session, 0, NULL, &has, NULL, NULL, NULL, NULL),
              TENSORCAST_BAD_INPUT);
    check_told(session);
    CHECK_INT(has, 0);
    CHECK_INT(tensorcast_session_backward(session, NULL, NULL), TENSORCAST_OK);
    CHECK_INT(tensorcast_session_gradient_size(session, 0, NULL, &has, NULL, NULL, NULL, NULL),
              TENSORCAST_OK);
    CHECK_INT(has, zeros); /* no gradient was given */
    CHECK_INT(tensorcast_session_bind_gradient(session, TENSORCAST_BY_NAME, "y", dy, 2, &one, 1,
                                               TENSORCAST_FLOAT16, 1),
              TENSORCAST_OK);
    CHECK_INT(tensorcast_session_backward(session, NULL, NULL), TENSORCAST_BAD_INPUT); /* shape */
    CHECK_INT(
        tensorcast_session_bind_gradient(session, 0, NULL, dy, 4, &two, 1, TENSORCAST_FLOAT16, 1),
        TENSORCAST_OK);
    CHECK_INT(
        tensorcast_session_bind_gradient(session, 0, NULL, dy, 3, &two, 1, TENSORCAST_FLOAT16, 1),
        TENSORCAST_BAD_INPUT);
    CHECK_INT(
        tensorcast_session_bind_gradient(session, 1, NULL, got, 8, &two, 1, TENSORCAST_INT32, 1),
        TENSORCAST_BAD_INPUT); /* integers have none */
    CHECK_INT(tensorcast_session_backward(session, NULL, NULL), TENSORCAST_OK);
    CHECK_INT(
        tensorcast_session_gradient_size(session, 0, NULL, &has, &type, &rank, &elements, &bytes),
        TENSORCAST_OK);
    CHECK(has == 1 && type == TENSORCAST_FLOAT32 && rank == 1 && elements == 2 && bytes == 8);
    CHECK_INT(tensorcast_session_copy_gradient(session, 0, NULL, got, 7, &shape, 1),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(tensorcast_session_copy_gradient(session, 0, NULL, got, 8, &shape, 0),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK_INT(tensorcast_session_copy_gradient(session, 0, NULL, got, 8, &shape, 1), TENSORCAST_OK);
    CHECK(memcmp(got, dx, 8) == 0 && shape == 2);
    /* Strings never have one. */
    CHECK_INT(
        tensorcast_session_gradient_size(session, 1, NULL, &has, &type, &rank, &elements, &bytes),
        TENSORCAST_OK);
    CHECK(has == 0 && type == 0 && rank == 0 && elements == 0 && bytes == 0);
    CHECK_INT(tensorcast_session_copy_gradient(session, 1, NULL, got, 8, &shape, 1),
              TENSORCAST_BAD_INPUT);
    CHECK_INT(tensorcast_session_bind_gradient(session, 0, NULL, NULL, 0, NULL, 0, 0, 0),
              TENSORCAST_OK);
    tensorcast_session_destroy(session);
  }
  {
    tensorcast_session* const session = make(0, 0);
    CHECK_INT(tensorcast_session_backward(session, NULL, NULL), TENSORCAST_UNSUPPORTED);
    CHECK_INT(
        tensorcast_session_bind_gradient(session, 0, NULL, dy, 4, &two, 1, TENSORCAST_FLOAT16, 1),
        TENSORCAST_UNSUPPORTED);
    tensorcast_session_destroy(session);
  }
}

static void test_refusals(void) {
  tensorcast_graph* graph = NULL;
  tensorcast_session* session = (tensorcast_session*)&graph;
  CHECK_INT(tensorcast_session_create(NULL, 0, 0, 0, 0, &session), TENSORCAST_NULL_POINTER);
  CHECK(session == NULL);
  CHECK_INT(tensorcast_graph_create(0, 0, 0, &graph), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_create(graph, 0, 0, 0, 0, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_session_create(graph, 2, 0, 0, 0, &session), TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_session_create(graph, 0, 0, 0, 99, &session), TENSORCAST_TARGET_UNAVAILABLE);
  CHECK_INT(tensorcast_session_run(NULL, NULL, NULL, 0), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_session_copy_output(NULL, 0, NULL, NULL, 0, NULL, 0, NULL, 0),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_session_error(NULL, NULL, 0, NULL), TENSORCAST_NULL_POINTER);
  tensorcast_graph_destroy(graph);
}

enum { MANY = 1 << 20 };

/* Runs of `session`, over the integers 1024 to 2047 again and again, from the first-th on. */
static int runs_right(tensorcast_session* session, int32_t first, tensorcast_executor* executor) {
  const int64_t shape = MANY, none = 0, wanted = 0;
  int64_t out_shape = 0;
  float* const x = malloc(MANY * sizeof *x);
  uint16_t* const y = malloc(MANY * sizeof *y);
  int right = x != NULL && y != NULL;
  for (int32_t i = 0; right && i < MANY; ++i) x[i] = (float)((i + first) % 1024 + 1024);
  right = right &&
          tensorcast_session_bind_input(session, 0, NULL, x, MANY * sizeof *x, &shape, 1,
                                        TENSORCAST_FLOAT32, NULL, 0, 0) == TENSORCAST_OK &&
          tensorcast_session_bind_input(session, 1, NULL, NULL, 0, &none, 1, TENSORCAST_STRING,
                                        NULL, 0, 1) == TENSORCAST_OK &&
          tensorcast_session_select_outputs(session, &wanted, 1, "") == TENSORCAST_OK &&
          tensorcast_session_run(session, executor, NULL, 0) == TENSORCAST_OK &&
          tensorcast_session_copy_output(session, 0, NULL, y, MANY * sizeof *y, &out_shape, 1, NULL,
                                         0) == TENSORCAST_OK &&
          out_shape == MANY;
  /* 1024 + k, k < 1024: an exponent of 10 and k as it is. */
  for (int32_t i = 0; right && i < MANY; ++i) {
    right = y[i] == (uint16_t)(0x6400 + (i + first) % 1024);
  }
  free(x);
  free(y);
  return right;
}

static void test_executor_and_interrupt(void) {
  tensorcast_session* const session = make(0, 0);
  tensorcast_executor* executor = NULL;
  tensorcast_interrupt* interrupt = NULL;
  uint16_t y[2] = {7, 7};
  int64_t shape = 0;
#ifdef HAS_TBB
  CHECK_INT(tensorcast_executor_create(4, &executor), TENSORCAST_OK);
#endif
  CHECK_INT(tensorcast_interrupt_create(&interrupt), TENSORCAST_OK);
  bind_both(session);
  CHECK_INT(tensorcast_session_run(session, executor, interrupt, 0), TENSORCAST_OK);
  CHECK_INT(tensorcast_interrupt_set(interrupt, 1), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run(session, executor, interrupt, 0), TENSORCAST_INTERRUPTED);
  check_told(session);
  CHECK_INT(tensorcast_session_copy_output(session, 0, NULL, y, sizeof y, &shape, 1, NULL, 0),
            TENSORCAST_BAD_INPUT); /* after a failure there are no outputs */
  CHECK_INT(y[0], 7);
  CHECK_INT(tensorcast_interrupt_set(interrupt, 0), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run(session, executor, interrupt, 0), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_copy_output(session, 0, NULL, y, sizeof y, &shape, 1, NULL, 0),
            TENSORCAST_OK);
  CHECK_INT(y[0], 0x3C00);
  CHECK(runs_right(session, 0, executor));
  tensorcast_interrupt_destroy(interrupt);
  tensorcast_executor_destroy(executor);
  tensorcast_session_destroy(session);
}

/* A session of its own, of a graph that other threads use at the same time. */
struct one_thread {
  const tensorcast_graph* graph;
  int32_t first;
  int right;
};

static void* run_one_thread(void* given) {
  struct one_thread* const self = given;
  tensorcast_session* session = NULL;
  self->right = tensorcast_session_create(self->graph, 0, 0, 0, TENSORCAST_TARGET_BEST, &session) ==
                TENSORCAST_OK;
  for (int i = 0; self->right && i < 3; ++i) self->right = runs_right(session, self->first, NULL);
  tensorcast_session_destroy(session);
  return NULL;
}

static void test_threads(void) {
  enum { THREADS = 4 };
  tensorcast_graph* const graph = make_graph();
  pthread_t threads[THREADS];
  struct one_thread each[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    each[i].graph = graph;
    each[i].first = i * 100;
    each[i].right = 0;
    CHECK_INT(pthread_create(&threads[i], NULL, run_one_thread, &each[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) {
    CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK(each[i].right);
  }
  tensorcast_graph_destroy(graph);
}

int main(void) {
  test_values();
  test_runs();
  test_binding();
  test_arrays();
  test_backward();
  test_refusals();
  test_executor_and_interrupt();
  test_threads();
  RETURN_FAILURES;
}
