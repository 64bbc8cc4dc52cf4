/* Builds a graph of casts, saves it as a model, runs it, and runs it backward: what docs/labview.md
 * does in LabVIEW, call by call.
 *
 *   graph [MODEL]     (graph.onnx, which is replaced)
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tensorcast/session.h"

static void check(int32_t status) {
  char text[1024];
  if (status == TENSORCAST_OK) return;
  if (tensorcast_last_error(text, sizeof text, NULL) == TENSORCAST_OK) {
    fprintf(stderr, "graph: %s\n", text);
  }
  exit(1);
}

int main(int argc, char** argv) {
  const char* const path = argc > 1 ? argv[1] : "graph.onnx";

  /* x, float32 of [rows, 2], to float16, whose gradient is halved, and on to text. */
  tensorcast_graph* graph = NULL;
  const int64_t input_shape[2] = {-1, 2};
  int64_t x = 0, half = 0, text = 0;
  check(tensorcast_graph_create(0, 0, 0, &graph));
  check(tensorcast_graph_add_input(graph, "x", TENSORCAST_FLOAT32, input_shape, 2, "rows", &x));
  check(tensorcast_graph_add_cast(graph, x, TENSORCAST_FLOAT16, 1, 0, "narrow", "", 1, 0.5, &half));
  check(tensorcast_graph_add_cast(graph, half, TENSORCAST_STRING, 1, 0, "", "", 1, 1.0, &text));
  check(tensorcast_graph_mark_output(graph, half, "y"));
  check(tensorcast_graph_mark_output(graph, text, "text"));
  check(tensorcast_graph_save(graph, path, 1, 1));
  tensorcast_graph_destroy(graph);

  /* The model again, ready to run forward and backward. */
  tensorcast_session* session = NULL;
  check(tensorcast_graph_load(path, 0, 0, &graph));
  check(tensorcast_session_create(graph, 1, 0, 0, TENSORCAST_TARGET_BEST, &session));

  /* All inputs at once, as five arrays; here there is one. They are copied. */
  const float values[4] = {0.1f, 1.0f, -2.5f, 65520.0f};
  const int64_t shapes[2] = {2, 2}, ranks[1] = {2};
  const int32_t types[1] = {TENSORCAST_FLOAT32};
  check(tensorcast_session_bind_inputs(session, 1, NULL, 0, "x", values, sizeof values, shapes, 2,
                                       NULL, 0, ranks, 1, types, 1, 1));
  check(tensorcast_session_run(session, NULL, NULL, 1));

  /* All outputs at once: how much they take, and then they themselves. */
  uint64_t tensors = 0, bytes = 0, sizes = 0, texts = 0;
  check(tensorcast_session_outputs_size(session, &tensors, &bytes, &sizes, &texts));
  unsigned char* const out = malloc(bytes);
  int64_t out_shapes[4], lengths[4], out_ranks[2];
  int32_t out_types[2];
  if (out == NULL || sizes > 4 || texts > 4 || tensors > 2) return 1;
  check(tensorcast_session_copy_outputs(session, out, bytes, out_shapes, sizes, lengths, texts,
                                        out_ranks, tensors, out_types, tensors));
  const unsigned char* at = out; /* y: 4 elements of 2 bytes, then the texts */
  printf("y:");
  for (int i = 0; i < 4; ++i, at += 2) printf(" %02x%02x", at[1], at[0]);
  printf("\ntext:");
  for (uint64_t i = 0; i < texts; at += lengths[i++]) printf(" %.*s", (int)lengths[i], at);
  printf("\n");
  free(out);

  /* Backward: the gradient of y gives that of x. */
  const uint16_t dy[4] = {0x3C00, 0x4000, 0x4200, 0x4400}; /* 1, 2, 3, 4 */
  float dx[4] = {0, 0, 0, 0};
  int64_t dx_shape[2];
  int32_t has_gradient = 0;
  check(tensorcast_session_bind_gradient(session, TENSORCAST_BY_NAME, "y", dy, sizeof dy, shapes, 2,
                                         TENSORCAST_FLOAT16, 1));
  check(tensorcast_session_backward(session, NULL, NULL));
  check(tensorcast_session_gradient_size(session, 0, "", &has_gradient, NULL, NULL, NULL, NULL));
  if (has_gradient == 1) {
    check(tensorcast_session_copy_gradient(session, 0, "", dx, sizeof dx, dx_shape, 2));
    printf("gradient of x: %g %g %g %g\n", (double)dx[0], (double)dx[1], (double)dx[2],
           (double)dx[3]);
  }

  /* A name that is not in the graph. */
  double lda_coeff = 0;
  if (tensorcast_graph_get_cast(graph, TENSORCAST_BY_NAME, "wide", TENSORCAST_CAST_LDA_COEFF,
                                &lda_coeff) == TENSORCAST_NO_SUCH_NAME) {
    char error[1024];
    check(tensorcast_graph_error(graph, error, sizeof error, NULL));
    printf("%s\n", error);
  }
  tensorcast_session_destroy(session);
  tensorcast_graph_destroy(graph);
  return 0;
}
