/* The flat C interface: graphs that are built, looked at, changed, saved and loaded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "tensorcast/graph.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tensorcast/session.h"

static const char* last_error(void) {
  static char text[1024];
  CHECK_INT(tensorcast_last_error(text, sizeof text, NULL), TENSORCAST_OK);
  return text;
}

/* The last call failed with a line of text, which the graph has too. */
static void check_told(const tensorcast_graph* graph) {
  char text[1024] = "?";
  CHECK(last_error()[0] != '\0' && strchr(last_error(), '\n') == NULL);
  CHECK_INT(tensorcast_graph_error(graph, text, sizeof text, NULL), TENSORCAST_OK);
  CHECK_TEXT(text, last_error());
}

/* x: float32 [rows, 3, ?] -> Cast_0 -> y: float16; w: a constant -> CastLike_0. */
typedef struct built {
  tensorcast_graph* graph;
  int64_t x, w, y, like;
} built;

static built build(void) {
  static const float weights[2] = {0.5f, 1e9f};
  const int64_t shape[3] = {-1, 3, -1};
  const int64_t two = 2;
  built made = {NULL, 0, 0, 0, 0};
  CHECK_INT(tensorcast_graph_create(0, 0, TENSORCAST_CONTRADICTIONS_TEXT, &made.graph),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_input(made.graph, "x", TENSORCAST_FLOAT32, shape, 3,
                                       "rows\nnot read", &made.x),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_constant(made.graph, "w", weights, sizeof weights, &two, 1,
                                          TENSORCAST_FLOAT32, NULL, 0, &made.w),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_cast(made.graph, made.x, TENSORCAST_FLOAT16, 1, 0, "", "", 1, 1.0,
                                      &made.y),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_mark_output(made.graph, made.y, "y"), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_cast_like(made.graph, made.w, made.y, 0, 2, "like", "narrow", 0,
                                           -0.5, &made.like),
            TENSORCAST_OK);
  CHECK_TEXT(last_error(), "");
  return made;
}

static void test_values(void) {
  const built g = build();
  int64_t values[4] = {0, 0, 0, 0};
  int64_t found = 0, rank = 0, sizes[3] = {9, 9, 9};
  int32_t type = 0, kind = 9, is_output = 9;
  uint64_t count = 0, readers = 0, needed = 0;
  char name[5] = "?";
  CHECK(g.x != 0 && g.w != 0 && g.y != 0 && g.like != 0 && g.x != g.y);
  CHECK_INT(tensorcast_graph_values(g.graph, TENSORCAST_GRAPH_VALUES, values, 3, &count),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(count, 4);
  CHECK_INT(tensorcast_graph_values(g.graph, TENSORCAST_GRAPH_VALUES, values, 4, &count),
            TENSORCAST_OK);
  CHECK_INT(values[0] + values[1] + values[2] + values[3], g.x + g.w + g.y + g.like);
  CHECK_INT(tensorcast_graph_values(g.graph, TENSORCAST_GRAPH_INPUTS, values, 4, &count),
            TENSORCAST_OK);
  CHECK(count == 1 && values[0] == g.x);
  CHECK_INT(tensorcast_graph_values(g.graph, TENSORCAST_GRAPH_OUTPUTS, values, 4, &count),
            TENSORCAST_OK);
  CHECK(count == 1 && values[0] == g.y);
  CHECK_INT(tensorcast_graph_values(g.graph, 3, values, 4, &count), TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_graph_find_value(g.graph, "narrow", &found), TENSORCAST_OK);
  CHECK_INT(found, g.like);
  CHECK_INT(tensorcast_graph_find_value(g.graph, "z", &found), TENSORCAST_NO_SUCH_NAME);
  check_told(g.graph);
  CHECK_INT(found, 0);

  CHECK_INT(tensorcast_graph_value(g.graph, g.x, &type, &kind, &is_output, &readers, &rank),
            TENSORCAST_OK);
  CHECK(type == TENSORCAST_FLOAT32 && kind == TENSORCAST_VALUE_INPUT && is_output == 0 &&
        readers == 1 && rank == 3);
  CHECK_INT(tensorcast_graph_value(g.graph, g.w, NULL, &kind, NULL, NULL, NULL), TENSORCAST_OK);
  CHECK_INT(kind, TENSORCAST_VALUE_CONSTANT);
  CHECK_INT(tensorcast_graph_value(g.graph, g.y, &type, &kind, &is_output, &readers, NULL),
            TENSORCAST_OK);
  CHECK(type == TENSORCAST_FLOAT16 && kind == TENSORCAST_VALUE_RESULT && is_output == 1 &&
        readers == 1);
  CHECK_INT(tensorcast_graph_value_shape(g.graph, g.x, sizes, 2, &needed),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK(needed == 3 && sizes[0] == 9);
  CHECK_INT(tensorcast_graph_value_shape(g.graph, g.x, sizes, 3, &needed), TENSORCAST_OK);
  CHECK(sizes[0] == -1 && sizes[1] == 3 && sizes[2] == -1);
  CHECK_INT(tensorcast_graph_value_dim_name(g.graph, g.x, 0, name, 4, &needed),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(needed, 5);
  CHECK_INT(tensorcast_graph_value_dim_name(g.graph, g.x, 0, name, 5, NULL), TENSORCAST_OK);
  CHECK_TEXT(name, "rows");
  CHECK_INT(tensorcast_graph_value_dim_name(g.graph, g.x, 2, name, 5, NULL), TENSORCAST_OK);
  CHECK_TEXT(name, "");
  CHECK_INT(tensorcast_graph_value_dim_name(g.graph, g.x, 3, name, 5, NULL),
            TENSORCAST_NO_SUCH_INDEX);
  CHECK_INT(tensorcast_graph_rename_value(g.graph, g.x, "in"), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_value_name(g.graph, g.x, name, 2, &needed),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(needed, 3);
  CHECK_INT(tensorcast_graph_value_name(g.graph, g.x, name, 3, NULL), TENSORCAST_OK);
  CHECK_TEXT(name, "in");
  CHECK_INT(tensorcast_graph_rename_value(g.graph, g.x, "w"), TENSORCAST_BAD_INPUT);
  tensorcast_graph_destroy(g.graph);
}

static double setting(const tensorcast_graph* graph, const char* name, int32_t what) {
  double number = -9;
  CHECK_INT(tensorcast_graph_get_cast(graph, TENSORCAST_BY_NAME, name, what, &number),
            TENSORCAST_OK);
  return number;
}

static void test_nodes(void) {
  const built g = build();
  int64_t index = 9, values[2] = {0, 0}, indices[2] = {9, 9};
  int32_t is_cast = 0, from = 0, to = 0;
  uint64_t count = 0, inputs = 0, outputs = 0;
  double numbers[2] = {9, 9};
  char text[9] = "?";
  CHECK_INT(tensorcast_graph_node_count(g.graph, &count), TENSORCAST_OK);
  CHECK_INT(count, 2);
  CHECK_INT(tensorcast_graph_node(g.graph, TENSORCAST_BY_NAME, "like", &index, &is_cast, &from, &to,
                                  &inputs, &outputs),
            TENSORCAST_OK);
  CHECK(index == 1 && is_cast == 1 && from == TENSORCAST_FLOAT32 && to == TENSORCAST_FLOAT16 &&
        inputs == 2 && outputs == 1);
  CHECK_INT(tensorcast_graph_node_text(g.graph, 1, NULL, TENSORCAST_NODE_OP_TYPE, text, 9, NULL),
            TENSORCAST_OK);
  CHECK_TEXT(text, "CastLike");
  CHECK_INT(tensorcast_graph_node_text(g.graph, 0, NULL, TENSORCAST_NODE_NAME, text, 9, NULL),
            TENSORCAST_OK);
  CHECK_TEXT(text, "Cast_0");
  CHECK_INT(tensorcast_graph_node_text(g.graph, 0, NULL, TENSORCAST_NODE_DOMAIN, text, 9, NULL),
            TENSORCAST_OK);
  CHECK_TEXT(text, "");
  CHECK_INT(tensorcast_graph_node_text(g.graph, 0, NULL, 3, text, 9, NULL),
            TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_graph_node_values(g.graph, 1, NULL, 0, values, 2, &count), TENSORCAST_OK);
  CHECK(count == 2 && values[0] == g.w && values[1] == g.y);
  CHECK_INT(tensorcast_graph_node_values(g.graph, 1, NULL, 1, values, 2, &count), TENSORCAST_OK);
  CHECK(count == 1 && values[0] == g.like);

  CHECK(setting(g.graph, "like", TENSORCAST_CAST_TO) == TENSORCAST_FLOAT16);
  CHECK(setting(g.graph, "like", TENSORCAST_CAST_TRAINING) == 0);
  CHECK(setting(g.graph, "like", TENSORCAST_CAST_LDA_COEFF) == -0.5);
  CHECK(setting(g.graph, "Cast_0", TENSORCAST_CAST_SATURATE) == 1);
  CHECK(setting(g.graph, "Cast_0", TENSORCAST_CAST_ROUND_MODE) == 0);
  CHECK_INT(
      tensorcast_graph_set_cast(g.graph, 0, NULL, TENSORCAST_CAST_TO, TENSORCAST_FLOAT8E4M3FN),
      TENSORCAST_OK);
  CHECK_INT(
      tensorcast_graph_set_cast(g.graph, TENSORCAST_BY_NAME, "Cast_0", TENSORCAST_CAST_SATURATE, 0),
      TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_set_cast(g.graph, TENSORCAST_ALL_NODES, NULL,
                                      TENSORCAST_CAST_LDA_COEFF, 0.25),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_get_casts(g.graph, TENSORCAST_CAST_LDA_COEFF, indices, 2, numbers, 2,
                                       &count),
            TENSORCAST_OK);
  CHECK(count == 2 && indices[0] == 0 && indices[1] == 1 && numbers[0] == 0.25 &&
        numbers[1] == 0.25);
  CHECK_INT(tensorcast_graph_get_casts(g.graph, TENSORCAST_CAST_TO, indices, 2, numbers, 1, &count),
            TENSORCAST_BUFFER_TOO_SMALL);
  CHECK_INT(count, 2);
  CHECK(setting(g.graph, "Cast_0", TENSORCAST_CAST_SATURATE) == 0);
  /* The CastLike follows the type of what it is like. */
  CHECK(setting(g.graph, "like", TENSORCAST_CAST_TO) == TENSORCAST_FLOAT8E4M3FN);

  CHECK_INT(tensorcast_graph_set_cast(g.graph, 0, NULL, TENSORCAST_CAST_TO, 1.5),
            TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_graph_set_cast(g.graph, 0, NULL, TENSORCAST_CAST_TO, 999),
            TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_graph_set_cast(g.graph, 0, NULL, TENSORCAST_CAST_TO, TENSORCAST_FLOAT6E2M3),
            TENSORCAST_BAD_INPUT); /* not at opset 26 */
  check_told(g.graph);
  CHECK_INT(tensorcast_graph_set_cast(g.graph, 0, NULL, TENSORCAST_CAST_TRAINING, 2),
            TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_graph_set_cast(g.graph, 0, NULL, TENSORCAST_CAST_ROUND_MODE, 3),
            TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_graph_set_cast(g.graph, 0, NULL, 5, 0), TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_graph_set_cast(g.graph, 2, NULL, TENSORCAST_CAST_TRAINING, 1),
            TENSORCAST_NO_SUCH_INDEX);
  CHECK_INT(tensorcast_graph_set_cast(g.graph, -3, NULL, TENSORCAST_CAST_TRAINING, 1),
            TENSORCAST_NO_SUCH_INDEX);
  CHECK_INT(
      tensorcast_graph_set_cast(g.graph, TENSORCAST_BY_NAME, "none", TENSORCAST_CAST_TRAINING, 1),
      TENSORCAST_NO_SUCH_NAME);
  CHECK_INT(tensorcast_graph_get_cast(g.graph, TENSORCAST_ALL_NODES, NULL, 0, numbers),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_remove_node(g.graph, 0, NULL), TENSORCAST_BAD_INPUT); /* is read */
  CHECK_INT(tensorcast_graph_rename_node(g.graph, 1, NULL, "other"), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_remove_node(g.graph, TENSORCAST_BY_NAME, "other"), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_node_count(g.graph, &count), TENSORCAST_OK);
  CHECK_INT(count, 1);
  CHECK_INT(tensorcast_graph_value_name(g.graph, g.like, text, 9, NULL), TENSORCAST_BAD_INPUT);
  tensorcast_graph_destroy(g.graph);
}

static void test_refusals(void) {
  const built g = build();
  const built other = build();
  const int64_t one = 1, negative = -1;
  const float value = 1;
  int64_t added = 9;
  tensorcast_graph* none = (tensorcast_graph*)&added;
  CHECK_INT(tensorcast_graph_add_cast(g.graph, g.x, 0, 1, 0, "", "", 1, 1, &added),
            TENSORCAST_BAD_INPUT); /* to is not set */
  CHECK_INT(added, 0);
  CHECK_INT(tensorcast_graph_add_cast(g.graph, g.x, 99, 1, 0, "", "", 1, 1, &added),
            TENSORCAST_INVALID_TYPE);
  CHECK_INT(tensorcast_graph_add_cast(g.graph, g.x, 10, 2, 0, "", "", 1, 1, &added),
            TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_graph_add_cast(g.graph, g.x, 10, 1, -1, "", "", 1, 1, &added),
            TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_graph_add_cast(g.graph, other.x, 10, 1, 0, "", "", 1, 1, &added),
            TENSORCAST_BAD_INPUT);
  check_told(g.graph);
  CHECK_INT(tensorcast_graph_add_cast(g.graph, 0, 10, 1, 0, "", "", 1, 1, &added),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_add_cast(g.graph, INT64_MIN, 10, 1, 0, "", "", 1, 1, &added),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_add_cast(g.graph, g.x, 10, 1, 0, "", "x", 1, 1, &added),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_add_cast(g.graph, g.x, 10, 1, 0, "\xFF", "", 1, 1, &added),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_add_input(g.graph, "", 1, NULL, 0, NULL, NULL), TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_add_input(g.graph, NULL, 1, NULL, 0, NULL, NULL),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_add_input(g.graph, "a", 1, NULL, 1, NULL, NULL),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_graph_add_input(g.graph, "a", 1, &one, -2, NULL, NULL),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_add_input(g.graph, "a", 1, &one, INT64_MAX, NULL, NULL),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_add_constant(g.graph, "a", &value, 3, &one, 1, 1, NULL, 0, NULL),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_add_constant(g.graph, "a", &value, 4, &negative, 1, 1, NULL, 0, NULL),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_add_constant(g.graph, "a", NULL, 4, &one, 1, 1, NULL, 0, NULL),
            TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_graph_mark_output(g.graph, g.y, "narrow"), TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_set_opset(g.graph, 29), TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_set_opset(g.graph, -1), TENSORCAST_BAD_INPUT);
  CHECK_INT(tensorcast_graph_create(29, 0, 0, &none), TENSORCAST_BAD_INPUT);
  CHECK(none == NULL);
  CHECK(last_error()[0] != '\0');
  CHECK_INT(tensorcast_graph_create(0, 2, 0, &none), TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_graph_create(0, 0, 2, &none), TENSORCAST_INVALID_OPTION);
  CHECK_INT(tensorcast_graph_create(0, 0, 0, NULL), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_graph_load("/no/such/file.onnx", 0, 0, &none), TENSORCAST_FILE_ERROR);
  CHECK_INT(tensorcast_graph_load(NULL, 0, 0, &none), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_graph_parse("not a model", 11, 0, &none), TENSORCAST_BAD_FILE);
  /* A size that no model has is refused before it is taken for that of the array. */
  CHECK_INT(tensorcast_graph_parse("not a model", UINT64_C(3) << 30, 0, &none),
            TENSORCAST_BAD_FILE);
  CHECK_TEXT(last_error(), "the model: has 3221225472 bytes; protobuf allows 2147483647");
  CHECK_INT(tensorcast_graph_node_count(NULL, NULL), TENSORCAST_NULL_POINTER);
  CHECK(last_error()[0] != '\0');
  CHECK_INT(tensorcast_graph_error(NULL, NULL, 0, NULL), TENSORCAST_NULL_POINTER);
  tensorcast_graph_destroy(NULL);
  tensorcast_graph_destroy(g.graph);
  tensorcast_graph_destroy(other.graph);
}

/* Saved with and without training, and loaded; then the same bytes again. */
static void test_models(void) {
  static unsigned char bytes[4096], again[4096];
  const built g = build();
  tensorcast_graph* loaded = NULL;
  tensorcast_session* session = NULL;
  uint64_t size = 0, same = 0;
  int64_t opset = 0, rank = 0;
  char text[2000] = "?";
  CHECK_INT(tensorcast_graph_opset(g.graph, &opset), TENSORCAST_OK);
  CHECK_INT(opset, 26);
  for (int32_t with_training = 0; with_training < 2; ++with_training) {
    CHECK_INT(tensorcast_graph_serialize(g.graph, with_training, NULL, 0, &size), TENSORCAST_OK);
    CHECK(size > 50 && size <= sizeof bytes);
    memset(bytes, 7, sizeof bytes);
    CHECK_INT(tensorcast_graph_serialize(g.graph, with_training, bytes, size - 1, &same),
              TENSORCAST_BUFFER_TOO_SMALL);
    CHECK(same == size && bytes[0] == 7);
    CHECK_INT(tensorcast_graph_serialize(g.graph, with_training, bytes, size, NULL), TENSORCAST_OK);
    CHECK_INT(bytes[size], 7);
    CHECK_INT(tensorcast_graph_parse(bytes, size, 0, &loaded), TENSORCAST_OK);
    CHECK(setting(loaded, "like", TENSORCAST_CAST_LDA_COEFF) == (with_training ? -0.5 : 1));
    CHECK(setting(loaded, "like", TENSORCAST_CAST_TRAINING) == (with_training ? 0 : 1));
    CHECK_INT(tensorcast_graph_serialize(loaded, with_training, again, sizeof again, &same),
              TENSORCAST_OK);
    CHECK_INT(same, size);
    tensorcast_graph_destroy(loaded);
    /* The fields of what was loaded have their own order, which stays. */
    CHECK_INT(tensorcast_graph_parse(again, size, 0, &loaded), TENSORCAST_OK);
    CHECK_INT(tensorcast_graph_serialize(loaded, with_training, bytes, sizeof bytes, &same),
              TENSORCAST_OK);
    CHECK(same == size && memcmp(bytes, again, size) == 0);
    tensorcast_graph_destroy(loaded);
  }
  CHECK_INT(tensorcast_graph_save(g.graph, "graph_test.onnx", 0, 1), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_save(g.graph, "graph_test.onnx", 0, 0), TENSORCAST_BAD_INPUT);
  check_told(g.graph);
  CHECK_INT(tensorcast_graph_save(g.graph, "/no/such/folder/x.onnx", 0, 0), TENSORCAST_FILE_ERROR);
  CHECK_INT(tensorcast_graph_save(g.graph, NULL, 0, 0), TENSORCAST_NULL_POINTER);
  CHECK_INT(tensorcast_graph_load("graph_test.onnx", 0, 0, &loaded), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_set_opset(loaded, 0), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_opset(loaded, &opset), TENSORCAST_OK);
  CHECK_INT(opset, 15); /* CastLike came with it */
  CHECK_INT(tensorcast_graph_set_opset(loaded, 14), TENSORCAST_BAD_INPUT);
  CHECK_INT(remove("graph_test.onnx"), 0);

  CHECK_INT(tensorcast_graph_summary(loaded, NULL, TENSORCAST_SUMMARY_CSV, NULL, 0, &size),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_summary(loaded, NULL, TENSORCAST_SUMMARY_CSV, text, size, NULL),
            TENSORCAST_OK);
  CHECK_TEXT(text,
             "index,name,op,from,to,saturate,round_mode,training,lda_coeff\r\n"
             "0,Cast_0,Cast,float32,float16,true,up,true,1\r\n"
             "1,like,CastLike,float32,float16,true,up,true,1\r\n");
  CHECK_INT(tensorcast_graph_summary(loaded, NULL, 2, text, sizeof text, NULL),
            TENSORCAST_INVALID_OPTION);
  tensorcast_graph_destroy(loaded);

  /* An input of unknown rank; a graph without outputs. */
  CHECK_INT(tensorcast_graph_create(26, 1, 1, &loaded), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_input(loaded, "x", TENSORCAST_STRING, NULL, -1, NULL, &opset),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_value(loaded, opset, NULL, NULL, NULL, NULL, &rank), TENSORCAST_OK);
  CHECK_INT(rank, -1);
  CHECK_INT(
      tensorcast_graph_add_cast(loaded, opset, TENSORCAST_FLOAT6E2M3, 1, 0, NULL, NULL, 1, 1, NULL),
      TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_opset(loaded, &opset), TENSORCAST_OK);
  CHECK_INT(opset, 28); /* raised: the type came with it */
  CHECK_INT(tensorcast_graph_serialize(loaded, 0, bytes, sizeof bytes, &size),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(size, 0);
  CHECK_INT(tensorcast_session_create(loaded, 0, 0, 0, 0, &session), TENSORCAST_BAD_INPUT);
  CHECK(session == NULL);
  tensorcast_graph_destroy(loaded);
  tensorcast_graph_destroy(g.graph);
}

/* Of int32 -> int64 -> int32 nothing is left. */
static void test_optimize(void) {
  tensorcast_graph* graph = NULL;
  int64_t x = 0, wide = 0, y = 0;
  uint64_t removed = 9, nodes = 0;
  CHECK_INT(tensorcast_graph_create(0, 0, 0, &graph), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_input(graph, "x", TENSORCAST_FLOAT16, NULL, 0, NULL, &x),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_cast(graph, x, TENSORCAST_INT32, 1, 0, "", "", 1, 1, &wide),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_cast(graph, wide, TENSORCAST_INT64, 1, 0, "", "", 1, 1, &y),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_cast(graph, y, TENSORCAST_INT32, 1, 0, "", "", 1, 1, &y),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_add_cast(graph, y, TENSORCAST_FLOAT64, 1, 0, "", "", 1, 1, &y),
            TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_mark_output(graph, y, "y"), TENSORCAST_OK);
  CHECK_INT(tensorcast_graph_optimize(graph, 2, 0, &removed), TENSORCAST_INVALID_OPTION);
  CHECK_INT(removed, 0);
  CHECK_INT(tensorcast_graph_save(graph, "optimize_test.onnx", 0, 1), TENSORCAST_OK);
  CHECK_INT(tensorcast_optimize_model("optimize_test.onnx", "optimized_test.onnx", 0, 0, 1, NULL,
                                      &removed),
            TENSORCAST_OK);
  CHECK_INT(removed, 2);
  CHECK_INT(tensorcast_optimize_model("optimize_test.onnx", "optimized_test.onnx", 0, 0, 0, NULL,
                                      &removed),
            TENSORCAST_BAD_INPUT);
  CHECK_INT(removed, 0);
  CHECK_INT(remove("optimize_test.onnx") + remove("optimized_test.onnx"), 0);
  CHECK_INT(tensorcast_graph_optimize(graph, 0, 0, &removed), TENSORCAST_OK);
  CHECK_INT(removed, 2);
  CHECK_INT(tensorcast_graph_node_count(graph, &nodes), TENSORCAST_OK);
  CHECK_INT(nodes, 2);
  CHECK_INT(tensorcast_graph_find_value(graph, "y", &y), TENSORCAST_OK);
  tensorcast_graph_destroy(graph);
}

int main(void) {
  test_optimize();
  test_values();
  test_nodes();
  test_refusals();
  test_models();
  RETURN_FAILURES;
}
