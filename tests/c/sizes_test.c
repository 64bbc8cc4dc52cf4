/* The C interface: how sizes are asked for, by a room of 0 from every function that has one, and
 * counts that are wrong: they are refused before what they count is read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tensorcast/onnx.h"

enum { FAR = 1 << 24 }; /* items, which no array here has */

static tensorcast_graph* graph = NULL;
static tensorcast_session* session = NULL;
static tensorcast_session* loaded = NULL; /* of the same as a model */
static tensorcast_loss_meter* meter = NULL;
static int64_t x = 0, y = 0;

static const char* last_error(void) {
  static char text[1024];
  CHECK_INT(tensorcast_last_error(text, sizeof text, NULL), TENSORCAST_OK);
  return text;
}

/* x: float32 [rows, 2] -> Cast -> y: float16, run once with its profile kept. */
static tensorcast_graph* build(void) {
  const int64_t shape[2] = {-1, 2};
  tensorcast_graph* made = NULL;
  CHECK_INT(tensorcast_graph_create(0, 0, 0, &made), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_input(made, "x", TENSORCAST_FLOAT32, shape, 2, "rows", &x),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_cast(made, x, TENSORCAST_FLOAT16, 1, 0, "cast", "", 1, 1, &y),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_mark_output(made, y, "y"), TENSORCAST_OK);
  return made;
}

static void prepare(void) {
  static const float values[2] = {1, 2};
  static const int64_t one_row[2] = {1, 2};
  static unsigned char bytes[4096];
  uint64_t size = 0;
  graph = build();
  CHECK_INT(tensorcast_session_create(graph, 0, 0, 0, TENSORCAST_TARGET_BEST, &session),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_session_bind_input(session, 0, NULL, values, sizeof values, one_row, 2, 1,
                                          NULL, 0, 1),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run(session, NULL, NULL, 1), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_serialize(graph, 0, bytes, sizeof bytes, &size), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_parse(bytes, size, 0, 0, TENSORCAST_TARGET_BEST, &loaded),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_loss_meter_create(1, 10, NULL, &meter), TENSORCAST_OK);
}

/* --------------------------------------------------------------------------------- queries */

/* What each function that has one is asked by: `room` items at `to`; its size goes to `size`. */
typedef int32_t (*ask)(void* to, uint64_t room, uint64_t* size);

#define ASK(name, call) \
  static int32_t name(void* to, uint64_t room, uint64_t* size) { return call; }

static const float two_values[2] = {0.5f, 12.0f};
static const int64_t two = 2;

ASK(last_text, tensorcast_last_error(to, room, size))
ASK(graph_text, tensorcast_graph_error(graph, to, room, size))
ASK(session_text, tensorcast_session_error(session, to, room, size))
ASK(nearest, tensorcast_type_nearest("flot16", 6, to, room, size))
ASK(printed_value, tensorcast_print_value(1, 0, NULL, to, room, size))
ASK(targets, tensorcast_targets(to, room, size))
ASK(loaded_name, tensorcast_session_value_name(loaded, 0, 0, to, room, size))
ASK(loaded_shape, tensorcast_session_value_shape(loaded, 0, 0, NULL, to, room, size))
ASK(serialized, tensorcast_graph_serialize(graph, 0, to, room, size))
ASK(values, tensorcast_graph_values(graph, TENSORCAST_GRAPH_VALUES, to, room, size))
ASK(value_name, tensorcast_graph_value_name(graph, x, to, room, size))
ASK(value_shape, tensorcast_graph_value_shape(graph, x, to, room, size))
ASK(dim_name, tensorcast_graph_value_dim_name(graph, x, 0, to, room, size))
ASK(node_text, tensorcast_graph_node_text(graph, 0, NULL, TENSORCAST_NODE_NAME, to, room, size))
ASK(node_values, tensorcast_graph_node_values(graph, 0, NULL, 0, to, room, size))
ASK(casts, tensorcast_graph_get_casts(graph, TENSORCAST_CAST_TO, to, room,
                                      room == 0 ? NULL : (double*)to + room, room, size))
ASK(session_name, tensorcast_session_value_name(session, 0, 0, to, room, size))
ASK(session_shape, tensorcast_session_value_shape(session, 0, 0, NULL, to, room, size))
ASK(profile_node, tensorcast_session_profile_node(session, 0, to, room, size))
ASK(summary, tensorcast_graph_summary(graph, session, 0, to, room, size))
ASK(cast_numbers, tensorcast_cast_tensor(two_values, 8, &two, 1, 1, NULL, 0, 10, 1, 0, NULL, NULL,
                                         to, room, NULL, 0, size))
ASK(cast_options,
    tensorcast_cast_tensor_with_options(two_values, 8, &two, 1, 1, NULL, 0, 10, 1, 0, 0, 0, 0, 0,
                                        NULL, NULL, to, room, NULL, 0, size))

static int32_t saved_meter(void* to, uint64_t room, uint64_t* size) {
  size_t bytes = 0;
  const int32_t status = tensorcast_loss_meter_save(meter, to, (size_t)room, &bytes);
  *size = bytes;
  return status;
}
static int32_t cast_texts(void* to, uint64_t room, uint64_t* size) {
  static int64_t lengths[2];
  return tensorcast_cast_tensor(two_values, 8, &two, 1, 1, NULL, 0, TENSORCAST_STRING, 1, 0, NULL,
                                NULL, to, room, room == 0 ? NULL : lengths, room == 0 ? 0 : 2,
                                size);
}
static int32_t copied_texts(void* to, uint64_t room, uint64_t* size) {
  static const int64_t given[2] = {1, 3};
  static int64_t lengths[2];
  return tensorcast_cast_tensor("1two", 4, &two, 1, TENSORCAST_STRING, given, 2, TENSORCAST_STRING,
                                1, 0, NULL, NULL, to, room, lengths, 2, size);
}
static int32_t profile(void* to, uint64_t room, uint64_t* size) {
  const int32_t status = tensorcast_session_profile(session, to, room, size);
  *size *= 3; /* numbers for each node */
  return status;
}

static void test_queries(void) {
  static const struct {
    const char* name;
    ask call;
    uint64_t size; /* what it takes, where that is known here */
  } all[] = {{"last_error", last_text, 0},
             {"graph_error", graph_text, 0},
             {"session_error", session_text, 1},
             {"type_nearest", nearest, sizeof "float16, bfloat16"},
             {"print_value", printed_value, sizeof "0.0"},
             {"targets", targets, 0},
             {"model_value_name", loaded_name, sizeof "x"},
             {"model_value_shape", loaded_shape, 2},
             {"graph_serialize", serialized, 0},
             {"graph_values", values, 2},
             {"graph_value_name", value_name, sizeof "x"},
             {"graph_value_shape", value_shape, 2},
             {"graph_value_dim_name", dim_name, sizeof "rows"},
             {"graph_node_text", node_text, sizeof "cast"},
             {"graph_node_values", node_values, 1},
             {"graph_get_casts", casts, 1},
             {"session_value_name", session_name, sizeof "x"},
             {"session_value_shape", session_shape, 2},
             {"session_profile_node", profile_node, sizeof "cast"},
             {"session_profile", profile, 3},
             {"graph_summary", summary, 0},
             {"cast_tensor, numbers", cast_numbers, 4},
             {"cast_tensor_with_options", cast_options, 4},
             {"cast_tensor, to strings", cast_texts, sizeof "0.512.0" - 1},
             {"cast_tensor, strings", copied_texts, 4},
             {"loss_meter_save", saved_meter, 0}};
  static _Alignas(8) unsigned char room[1 << 16];
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    const int before = failures;
    uint64_t size = 0, again = 0;
    /* A failure, so that texts of failures are longer than empty. */
    CHECK_INT(tensorcast_graph_rename_node(graph, 9, NULL, "z"), TENSORCAST_NO_SUCH_INDEX);
    CHECK_INT(all[i].call(NULL, 0, &size), TENSORCAST_OK);
    CHECK(size != 0 && size < sizeof room / 16 && (all[i].size == 0 || size == all[i].size));
    CHECK_INT(tensorcast_graph_rename_node(graph, 9, NULL, "z"), TENSORCAST_NO_SUCH_INDEX);
    memset(room, '#', sizeof room);
    CHECK_INT(all[i].call(room, 0, &again), TENSORCAST_OK); /* an array of no items may be there */
    CHECK_INT(again, size);
    CHECK_INT(room[0], '#');
    if (size > 1) {
      CHECK_INT(tensorcast_graph_rename_node(graph, 9, NULL, "z"), TENSORCAST_NO_SUCH_INDEX);
      CHECK_INT(all[i].call(room, size - 1, &again), TENSORCAST_BUFFER_TOO_SMALL);
      CHECK_INT(again, size);
      CHECK_INT(room[0], '#');
    }
    CHECK_INT(tensorcast_graph_rename_node(graph, 9, NULL, "z"), TENSORCAST_NO_SUCH_INDEX);
    CHECK_INT(all[i].call(room, size, &again), TENSORCAST_OK);
    CHECK_INT(again, size);
    if (failures != before) fprintf(stderr, "  of tensorcast_%s\n", all[i].name);
  }
  /* Without a place for the size there is nothing to ask. */
  CHECK_INT(tensorcast_last_error(NULL, 0, NULL), TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_graph_serialize(graph, 0, NULL, 0, NULL), TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(tensorcast_cast_tensor(two_values, 8, &two, 1, 1, NULL, 0, 10, 1, 0, NULL, NULL, NULL,
                                   0, NULL, 0, NULL),
            TENSORCAST_BUFFER_TOO_SMALL);
}

/* ---------------------------------------------------------------------------------- limits */

static int32_t refused(int32_t status, const char* words) {
  CHECK(strstr(last_error(), words) != NULL);
  if (strstr(last_error(), words) == NULL) fprintf(stderr, "  it says: %s\n", last_error());
  return status;
}

static void test_counts(void) {
  const float one = 1;
  const int64_t sizes[2] = {2, 2}, ranks[1] = {FAR};
  const int32_t types[1] = {TENSORCAST_FLOAT32};
  int64_t value = 9;
  uint64_t needed = 9;
  /* A rank: there are 64 dimensions at most. Between them and the array's end nothing is read. */
  CHECK_INT(refused(tensorcast_graph_add_input(graph, "z", 1, sizes, FAR, NULL, &value),
                    "has 16777216 dimensions; at most 64"),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(value, 0);
  CHECK_INT(tensorcast_graph_add_input(graph, "z", 1, sizes, 65, NULL, NULL), TENSORCAST_BAD_INPUT);
  CHECK_INT(
      refused(tensorcast_graph_add_constant(graph, "c", &one, 4, sizes, FAR, 1, NULL, 0, &value),
              "at most 64"),
      TENSORCAST_BAD_INPUT);
  CHECK_INT(refused(tensorcast_cast_tensor(&one, 4, sizes, FAR, 1, NULL, 0, 10, 1, 0, NULL, NULL,
                                           NULL, 0, NULL, 0, &needed),
                    "at most 64"),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(
      refused(tensorcast_session_bind_input(session, 0, NULL, &one, 4, sizes, FAR, 1, NULL, 0, 1),
              "at most 64"),
      TENSORCAST_BAD_INPUT);
  CHECK_INT(refused(tensorcast_session_bind_inputs(session, 1, NULL, 0, "x", &one, 4, sizes, FAR,
                                                   NULL, 0, ranks, 1, types, 1, 1),
                    "ranks are 0 to 64"),
            TENSORCAST_BAD_INPUT);

  /* Indices: as many as there are inputs or outputs. */
  CHECK_INT(refused(tensorcast_session_bind_inputs(session, FAR, sizes, FAR, NULL, &one, 4, sizes,
                                                   2, NULL, 0, ranks, 1, types, 1, 1),
                    "indices has 16777216 items; at most 1"),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(refused(tensorcast_session_select_outputs(session, sizes, FAR, NULL), "at most 1"),
            TENSORCAST_BAD_INPUT);
  /* Ranks and types: one for each tensor. */
  CHECK_INT(refused(tensorcast_session_bind_inputs(session, 1, NULL, 0, "x", &one, 4, sizes, 2,
                                                   NULL, 0, ranks, FAR, types, FAR, 1),
                    "16777216 ranks"),
            TENSORCAST_BAD_INPUT);

  /* Lengths: as many as the shape says. */
  CHECK_INT(refused(tensorcast_cast_tensor("ab", 2, &two, 1, TENSORCAST_STRING, sizes, FAR, 1, 1, 0,
                                           NULL, NULL, NULL, 0, NULL, 0, &needed),
                    "takes 2 lengths; 16777216 are given"),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(refused(tensorcast_graph_add_constant(graph, "c", "ab", 2, &two, 1, TENSORCAST_STRING,
                                                  sizes, FAR, &value),
                    "takes 2 lengths"),
            TENSORCAST_BAD_INPUT);

  /* Bytes: those that the shape takes are copied, or none. */
  CHECK_INT(
      refused(tensorcast_session_bind_input(session, 0, NULL, &one, FAR, sizes, 2, 1, NULL, 0, 1),
              "16777216 bytes of data"),
      TENSORCAST_BAD_INPUT);

  /* Tensors of a run. */
  tensorcast_results* results = NULL;
  const uint64_t shape[1] = {1};
  const tensorcast_tensor tensor = {sizeof tensor, 1, shape, FAR, &one, 4, NULL, 0};
  char error[200];
  CHECK_INT(tensorcast_results_create(&results), TENSORCAST_OK);
  CHECK_INT(tensorcast_session_run_tensors(loaded, &tensor, FAR, NULL, NULL, NULL, NULL, results,
                                           error, sizeof error),
            TENSORCAST_BAD_INPUT);
  CHECK_TEXT(error, "16777216 inputs given; the model has 1");
  CHECK_INT(tensorcast_session_run_tensors(loaded, &tensor, 1, NULL, NULL, NULL, NULL, results,
                                           error, sizeof error),
            TENSORCAST_BAD_INPUT);
  CHECK(strstr(error, "16777216 dimensions; at most 64") != NULL);
  tensorcast_results_destroy(results);
}

static void test_summary_of_another_graph(void) {
  tensorcast_graph* other = build();
  char text[2000];
  CHECK_INT(tensorcast_graph_summary(graph, session, 1, text, sizeof text, NULL), TENSORCAST_OK);
  CHECK(strstr(text, "seconds") != NULL || strchr(text, '\n') != NULL);
  memset(text, '#', sizeof text);
  CHECK_INT(tensorcast_graph_summary(other, session, 1, text, sizeof text, NULL),
            TENSORCAST_BAD_INPUT);
  CHECK(strstr(last_error(), "another graph") != NULL);
  CHECK_INT(text[0], '#');
  CHECK_INT(tensorcast_graph_summary(other, NULL, 1, text, sizeof text, NULL), TENSORCAST_OK);
  tensorcast_graph_destroy(other);
}

int main(void) {
  prepare();
  test_queries();
  test_counts();
  test_summary_of_another_graph();
  tensorcast_loss_meter_destroy(meter);
  tensorcast_session_destroy(loaded);
  tensorcast_session_destroy(session);
  tensorcast_graph_destroy(graph);
  RETURN_FAILURES;
}
