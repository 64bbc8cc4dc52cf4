/* Graphs of casts: built node by node or loaded from a model, changed, and saved as a model;
 * session.h runs them. The flat C interface, for LabVIEW and other languages without structs and
 * callbacks. graph.hpp is the same for C++, and docs/graphs.md is the guide. The rules at the
 * beginning of tensorcast.h and flat.h hold here too, and so do these:
 *
 *   tensorcast_graph* graph = NULL;
 *   const int64_t shape[2] = {-1, 3};
 *   int64_t x = 0, y = 0;
 *   tensorcast_graph_create(0, 0, TENSORCAST_CONTRADICTIONS_TEXT, &graph);
 *   tensorcast_graph_add_input(graph, "x", TENSORCAST_FLOAT32, shape, 2, "rows", &x);
 *   tensorcast_graph_add_cast(graph, x, TENSORCAST_FLOAT16, 1, 0, "", "", 1, 1.0, &y);
 *   tensorcast_graph_mark_output(graph, y, "y");
 *   tensorcast_graph_save(graph, "cast.onnx", 0, 0);
 *
 * - Only one call at a time may use a graph, but several sessions may be made from it at once.
 * - A value (an input, a constant, or the output of a node) is a number other than 0, valid in its
 *   graph until it is removed. A wrong one gives TENSORCAST_BAD_INPUT; a freed graph cannot be told
 *   from a live one.
 * - Two parameters identify a node: `node` is its index, or TENSORCAST_BY_NAME, and then `name` is
 *   its name, which is not read otherwise. Codes: TENSORCAST_NO_SUCH_INDEX,
 *   TENSORCAST_NO_SUCH_NAME, and TENSORCAST_BAD_INPUT if two nodes have the name.
 * - A call that fails changes nothing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_GRAPH_H_
#define TENSORCAST_GRAPH_H_

/* NOLINTBEGIN(modernize-*): this is C */
#include "tensorcast/flat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tensorcast_graph tensorcast_graph;

/* -------------------------------------------------------------------------------- graphs */

/* What to follow where an operator's text and the stored official tests contradict each other: Inf
 * to the float8 FNUZ types at opsets 19 to 23. */
enum { TENSORCAST_CONTRADICTIONS_TEXT = 0, TENSORCAST_CONTRADICTIONS_TESTS = 1 };

/* Creates an empty graph with an opset; 0 is the default, 26, the newest that ONNX Runtime 1.31
 * runs. If a node needs a newer one, raises_opset 1 raises the graph's, and 0 refuses the node.
 * `contradictions` is TENSORCAST_CONTRADICTIONS_TEXT or _TESTS. Codes: TENSORCAST_BAD_INPUT (an
 * opset outside 1 ... 28), TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_create(int64_t opset, int32_t raises_opset,
                                                               int32_t contradictions,
                                                               tensorcast_graph** graph);
/* Makes a graph from a model, as tensorcast_session_load loads it (session.h), with the model's
 * training settings. Codes: those of that function. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_load(const char* path,
                                                             int32_t contradictions,
                                                             int32_t allow_hard_links,
                                                             tensorcast_graph** graph);
/* The same for a ModelProto in memory, which is copied. A size of 2 GiB or more, which protobuf
 * does not allow, gives TENSORCAST_BAD_FILE before a byte is read. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_parse(const void* bytes,
                                                              uint64_t bytes_size,
                                                              int32_t contradictions,
                                                              tensorcast_graph** graph);
/* No call may be using the graph. Sessions made from it live on. */
TENSORCAST_API void TENSORCAST_CALL tensorcast_graph_destroy(tensorcast_graph* graph);

/* As tensorcast_last_error, but the text of the last call with this graph, from whatever thread. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_error(const tensorcast_graph* graph,
                                                              char* buffer, uint64_t buffer_bytes,
                                                              uint64_t* needed);

/* Writes a model, completely or not at all. with_training 1 puts the nodes' training settings into
 * its metadata (docs/graphs.md has the keys); overwrite 1 replaces an existing file. Codes:
 * TENSORCAST_BAD_INPUT (no output, more than 2 GiB, the file exists), TENSORCAST_FILE_ERROR,
 * TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_save(const tensorcast_graph* graph,
                                                             const char* path,
                                                             int32_t with_training,
                                                             int32_t overwrite);
/* The same into memory. `needed`, unless null, gets the bytes that it takes; call with bytes_size 0
 * to ask for that. Codes: those of tensorcast_graph_save, and TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_serialize(const tensorcast_graph* graph,
                                                                  int32_t with_training,
                                                                  void* bytes, uint64_t bytes_size,
                                                                  uint64_t* needed);

/* Removes the Casts that change no bit of any output, as tensorcast_optimize_model does. Inputs and
 * outputs keep their names, but earlier values are no longer valid. A graph that was loaded with
 * training settings stays as it is. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_optimize(tensorcast_graph* graph,
                                                                 int32_t fold_all,
                                                                 int32_t nan_payloads_may_change,
                                                                 uint64_t* removed);

TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_opset(const tensorcast_graph* graph,
                                                              int64_t* opset);
/* Changes the opset; 0 sets the oldest that has all that the nodes need. Code: TENSORCAST_BAD_INPUT
 * (a node needs a newer one; it is outside 1 ... 28). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_set_opset(tensorcast_graph* graph,
                                                                  int64_t opset);

/* ------------------------------------------------------------------------------ building */

/* `value`, which gets the new value, may be null in all of these. Codes: TENSORCAST_BAD_INPUT (a
 * name that is taken or not legal, a wrong value, a type or an option that the opset does not
 * have), TENSORCAST_INVALID_TYPE, TENSORCAST_OUT_OF_MEMORY. */

/* Adds an input. `shape` has `rank` sizes, at most 64, negative if unknown; a rank of -1 leaves the
 * rank unknown too. dim_names has the names of the dimensions, with '\n' between them. A negative
 * dimension with a name there gets that name; the names of other dimensions are ignored. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_add_input(
    tensorcast_graph* graph, const char* name, int32_t type, const int64_t* shape, int64_t rank,
    const char* dim_names, int64_t* value);
/* Adds a constant. Its elements are copied. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_add_constant(
    tensorcast_graph* graph, const char* name, const void* bytes, uint64_t bytes_size,
    const int64_t* shape, uint64_t rank, int32_t type, const int64_t* lengths,
    uint64_t lengths_count, int64_t* value);
/* Adds a Cast. `saturate` is for casts to float8 types, round_mode (TENSORCAST_ROUND_UP ...) for
 * those to float8e8m0; elsewhere they mean nothing. Empty names are replaced: Cast_0,
 * Cast_0_output_0. With `training` 0 no gradient passes; lda_coeff multiplies those that do. The
 * defaults of ONNX and of LabVIEW's toolkit are 1, 0, "", "", 1, 1.0. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_add_cast(
    tensorcast_graph* graph, int64_t input, int32_t to, int32_t saturate, int32_t round_mode,
    const char* name, const char* output_name, int32_t training, double lda_coeff, int64_t* value);
/* Adds a CastLike, which takes its type from another value. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_add_cast_like(
    tensorcast_graph* graph, int64_t input, int64_t target, int32_t saturate, int32_t round_mode,
    const char* name, const char* output_name, int32_t training, double lda_coeff, int64_t* value);
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_add_identity(tensorcast_graph* graph,
                                                                     int64_t input,
                                                                     const char* name,
                                                                     const char* output_name,
                                                                     int64_t* value);
/* Makes a value an output of the graph, under this name or, if that is empty, its own.
 * Graph::MarkOutput in graph.hpp says when an Identity is added for the name. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_mark_output(tensorcast_graph* graph,
                                                                    int64_t value,
                                                                    const char* name);

/* -------------------------------------------------------------------------------- values */

enum {
  TENSORCAST_GRAPH_INPUTS = 0,
  TENSORCAST_GRAPH_OUTPUTS = 1,
  TENSORCAST_GRAPH_VALUES = 2 /* all, including inputs and outputs */
};
enum { TENSORCAST_VALUE_INPUT = 0, TENSORCAST_VALUE_CONSTANT = 1, TENSORCAST_VALUE_RESULT = 2 };

/* The values of a graph, in its order. `count` gets how many there are; call with capacity 0 to ask
 * for that. Code: TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_values(const tensorcast_graph* graph,
                                                               int32_t which, int64_t* values,
                                                               uint64_t capacity, uint64_t* count);
/* Code: TENSORCAST_NO_SUCH_NAME. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_find_value(const tensorcast_graph* graph,
                                                                   const char* name,
                                                                   int64_t* value);
/* Describes a value; each pointer may be null. `kind` gets TENSORCAST_VALUE_INPUT ..., `readers`
 * how many nodes read it, and `rank` -1 if none is declared. Code: TENSORCAST_BAD_INPUT. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_value(const tensorcast_graph* graph,
                                                              int64_t value, int32_t* type,
                                                              int32_t* kind, int32_t* is_output,
                                                              uint64_t* readers, int64_t* rank);
/* The name of a value. `needed` may be null. Codes: TENSORCAST_BAD_INPUT,
 * TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_value_name(const tensorcast_graph* graph,
                                                                   int64_t value, char* buffer,
                                                                   uint64_t buffer_bytes,
                                                                   uint64_t* needed);
/* The declared sizes, -1 for one that is unknown or named; none if the rank is unknown. Codes:
 * those of tensorcast_graph_value_name. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_value_shape(const tensorcast_graph* graph,
                                                                    int64_t value, int64_t* sizes,
                                                                    uint64_t capacity,
                                                                    uint64_t* rank);
/* The name of a dimension, empty if it has none; `needed` may be null. Codes: those of
 * tensorcast_graph_value_name, and TENSORCAST_NO_SUCH_INDEX (an axis beyond the rank). */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_graph_value_dim_name(const tensorcast_graph* graph, int64_t value, uint64_t axis,
                                char* buffer, uint64_t buffer_bytes, uint64_t* needed);
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_rename_value(tensorcast_graph* graph,
                                                                     int64_t value,
                                                                     const char* name);

/* --------------------------------------------------------------------------------- nodes */

/* In the place of an index: the node with the name that is given; every Cast and CastLike. */
enum { TENSORCAST_BY_NAME = -1, TENSORCAST_ALL_NODES = -2 };

TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_node_count(const tensorcast_graph* graph,
                                                                   uint64_t* count);
/* Describes a node; each pointer may be null. `index` gets its index, is_cast whether it is a Cast
 * or CastLike, `from` and `to` the types of its first input and output (0 if it has none), `inputs`
 * and `outputs` how many it has. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_node(const tensorcast_graph* graph,
                                                             int64_t node, const char* name,
                                                             int64_t* index, int32_t* is_cast,
                                                             int32_t* from, int32_t* to,
                                                             uint64_t* inputs, uint64_t* outputs);
enum { TENSORCAST_NODE_NAME = 0, TENSORCAST_NODE_OP_TYPE = 1, TENSORCAST_NODE_DOMAIN = 2 };
/* One of the texts of a node, TENSORCAST_NODE_NAME .... `needed` may be null. Code:
 * TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_node_text(const tensorcast_graph* graph,
                                                                  int64_t node, const char* name,
                                                                  int32_t which, char* buffer,
                                                                  uint64_t buffer_bytes,
                                                                  uint64_t* needed);
/* The values on one side of a node, TENSORCAST_GRAPH_INPUTS or _OUTPUTS, as tensorcast_graph_values
 * gives them; 0 for an input that is left out. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_node_values(const tensorcast_graph* graph,
                                                                    int64_t node, const char* name,
                                                                    int32_t side, int64_t* values,
                                                                    uint64_t capacity,
                                                                    uint64_t* count);

/* What to get or set of a Cast or CastLike, as a number that a double holds exactly: in this order,
 * a type (which cannot be set for a CastLike), 0 or 1, TENSORCAST_ROUND_UP ..., 0 or 1, any double.
 */
enum {
  TENSORCAST_CAST_TO = 0,
  TENSORCAST_CAST_SATURATE = 1,
  TENSORCAST_CAST_ROUND_MODE = 2,
  TENSORCAST_CAST_TRAINING = 3,
  TENSORCAST_CAST_LDA_COEFF = 4
};
/* Code: TENSORCAST_BAD_INPUT (another kind of node). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_get_cast(const tensorcast_graph* graph,
                                                                 int64_t node, const char* name,
                                                                 int32_t what, double* number);
/* The index and the number of every Cast and CastLike, as tensorcast_graph_values gives values. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_get_casts(
    const tensorcast_graph* graph, int32_t what, int64_t* indices, uint64_t indices_count,
    double* numbers, uint64_t numbers_count, uint64_t* count);
/* Changes one node, or with TENSORCAST_ALL_NODES all of them or none. Codes: TENSORCAST_BAD_INPUT
 * (another kind of node, a type that the opset does not have), TENSORCAST_INVALID_TYPE,
 * TENSORCAST_INVALID_OPTION (a number outside its list). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_set_cast(tensorcast_graph* graph,
                                                                 int64_t node, const char* name,
                                                                 int32_t what, double number);

TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_rename_node(tensorcast_graph* graph,
                                                                    int64_t node, const char* name,
                                                                    const char* new_name);
/* Removes a node and its output values. Code: TENSORCAST_BAD_INPUT (one of these is read, or is an
 * output of the graph).
 */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_remove_node(tensorcast_graph* graph,
                                                                    int64_t node, const char* name);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-*) */

#endif /* TENSORCAST_GRAPH_H_ */
