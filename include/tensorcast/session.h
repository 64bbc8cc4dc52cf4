/* Runs a graph, forward and backward, on tensors that are bound by index or by name. The flat C
 * interface; session.hpp is the same for C++. The rules of tensorcast.h, flat.h and graph.h hold
 * here too, and so do those below the example:
 *
 *   tensorcast_session* session = NULL;
 *   tensorcast_session_create(graph, 0, 0, 0, TENSORCAST_TARGET_BEST, &session);
 *   tensorcast_session_bind_input(session, TENSORCAST_BY_NAME, "x", data, sizeof data, shape, 2,
 *                                 TENSORCAST_FLOAT32, NULL, 0, 1);
 *   tensorcast_session_run(session, NULL, NULL, 0);
 *   tensorcast_session_output_size(session, 0, "", &type, &rank, &elements, &bytes);
 *   tensorcast_session_copy_output(session, 0, "", out, bytes, out_shape, rank, NULL, 0);
 *
 * - Only one call at a time may use a session, but any number of sessions of one graph may be used
 *   at once. A session does not need the graph that it was made from. Only
 *   tensorcast_session_run_tensors (onnx.h) may run in any number of calls at once.
 * - Two parameters identify an input or an output: `index` is its index, or TENSORCAST_BY_NAME, and
 *   then `name` is its name. Codes: TENSORCAST_NO_SUCH_INDEX and TENSORCAST_NO_SUCH_NAME.
 * - With `copy` 1, what is bound is copied, and the caller may free its arrays. With 0, every run
 *   reads the caller's bytes until others are bound, so they have to stay where they are. LabVIEW
 *   moves its arrays, and needs 1.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_SESSION_H_
#define TENSORCAST_SESSION_H_

/* NOLINTBEGIN(modernize-*): this is C */
#include "tensorcast/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tensorcast_session tensorcast_session;

/* Makes a graph ready to run. With `backward` 1, tensorcast_session_backward may be called. With
 * `wide` 1, float8, float6 and float4 types have derivatives too, not only float16, float32,
 * float64 and bfloat16. With gives_zeros 1, an input that no gradient reaches gets one of zeros.
 * Codes: TENSORCAST_BAD_INPUT (a graph without outputs), TENSORCAST_FILE_ERROR (data outside the
 * model), TENSORCAST_TARGET_UNAVAILABLE, TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_create(const tensorcast_graph* graph,
                                                                 int32_t backward, int32_t wide,
                                                                 int32_t gives_zeros,
                                                                 int32_t target,
                                                                 tensorcast_session** session);
/* Makes a model ready to run, without keeping a graph; it does not run backward. `contradictions`
 * is as in tensorcast_graph_create. allow_hard_links 1 also reads external data from files with
 * hard links; 0 refuses these, as they may be files from elsewhere. optimize 1 runs the model
 * without the Casts that tensorcast_optimize_model removes. Codes: TENSORCAST_FILE_ERROR,
 * TENSORCAST_BAD_FILE, TENSORCAST_UNSUPPORTED_FILE (a node other than Cast, CastLike, Identity,
 * Constant and the model's own functions of these), TENSORCAST_TARGET_UNAVAILABLE,
 * TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_load(const char* path,
                                                               int32_t contradictions,
                                                               int32_t allow_hard_links,
                                                               int32_t optimize, int32_t target,
                                                               tensorcast_session** session);
/* The same for a ModelProto in memory, which is copied. External data is refused, as there is no
 * directory to find it in. A size of 2 GiB or more, which protobuf does not allow, gives
 * TENSORCAST_BAD_FILE before a byte is read. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_parse(const void* bytes,
                                                                uint64_t bytes_size,
                                                                int32_t contradictions,
                                                                int32_t optimize, int32_t target,
                                                                tensorcast_session** session);
/* No call may be using the session. Results that view its constants become invalid. */
TENSORCAST_API void TENSORCAST_CALL tensorcast_session_destroy(tensorcast_session* session);
/* As tensorcast_last_error, but the text of the last call with this session, from whatever thread.
 */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_error(const tensorcast_session* session,
                                                                char* buffer, uint64_t buffer_bytes,
                                                                uint64_t* needed);

/* ------------------------------------------------------------------- inputs and outputs */

/* The opset of ai.onnx; 0 if a model imports none. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_opset(const tensorcast_session* session,
                                                                int64_t* opset);
/* `side` is TENSORCAST_GRAPH_INPUTS or TENSORCAST_GRAPH_OUTPUTS, here and in the next three. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_session_value_count(const tensorcast_session* session, int32_t side, uint64_t* count);
/* Describes an input or an output; each pointer may be null. own_index gets its index, `rank` -1 if
 * none is declared, and has_default 1 for an input that need not be bound. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_value(
    const tensorcast_session* session, int32_t side, int64_t index, const char* name,
    int64_t* own_index, int32_t* type, int64_t* rank, int32_t* has_default);
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_session_value_name(const tensorcast_session* session, int32_t side, int64_t index,
                              char* buffer, uint64_t buffer_bytes, uint64_t* needed);
/* The declared sizes, -1 for one that is unknown; none if the rank is unknown. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_session_value_shape(const tensorcast_session* session, int32_t side, int64_t index,
                               const char* name, int64_t* sizes, uint64_t capacity, uint64_t* rank);

/* ------------------------------------------------------------------------------- binding */

/* Binds a tensor to an input; type 0 takes the input's default. If a tensor is refused, the one
 * bound before stays. Codes: TENSORCAST_BAD_INPUT (another type than the input's, bytes or lengths
 * that do not fit the shape, no default), TENSORCAST_MISALIGNED, TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_bind_input(
    tensorcast_session* session, int64_t index, const char* name, const void* bytes,
    uint64_t bytes_size, const int64_t* shape, uint64_t rank, int32_t type, const int64_t* lengths,
    uint64_t lengths_count, int32_t copy);
/* Binds `tensors` tensors at once: to the inputs at `indices` or, if `names` is not empty, to those
 * that it names, with '\n' between the names. The bytes of all tensors follow one another, as do
 * all shapes and all lengths; `ranks` and `types` have one number for each tensor. If a tensor does
 * not fit its input, those before it are bound. Codes: those of tensorcast_session_bind_input, and
 * TENSORCAST_BAD_INPUT (an input twice, more or less of anything than the tensors take). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_bind_inputs(
    tensorcast_session* session, uint64_t tensors, const int64_t* indices, uint64_t indices_count,
    const char* names, const void* bytes, uint64_t bytes_size, const int64_t* shapes,
    uint64_t shapes_count, const int64_t* lengths, uint64_t lengths_count, const int64_t* ranks,
    uint64_t ranks_count, const int32_t* types, uint64_t types_count, int32_t copy);
/* Binds memory to an output of numbers, into which runs then write it; null unbinds it. The memory
 * must have room for the output, stay where it is, and overlap nothing else that is bound. Not for
 * LabVIEW, which copies outputs. Code: TENSORCAST_BAD_INPUT (an output of strings). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_bind_output(tensorcast_session* session,
                                                                      int64_t index,
                                                                      const char* name, void* bytes,
                                                                      uint64_t bytes_size);
/* Selects the outputs that are wanted, by index or, if `names` is not empty, by name, with '\n'
 * between them. Only what these need is run. Calling this with none selects all, as at the start.
 */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_select_outputs(
    tensorcast_session* session, const int64_t* indices, uint64_t indices_count, const char* names);

/* ------------------------------------------------------------------------------- running */

/* Runs what is bound. With `profile` 1, it keeps what each node takes. Codes: TENSORCAST_BAD_INPUT
 * (an input is not bound), TENSORCAST_BUFFER_TOO_SMALL and TENSORCAST_OVERLAP (bound outputs),
 * TENSORCAST_NOT_A_NUMBER, TENSORCAST_NOT_AN_INTEGER, TENSORCAST_OUT_OF_MEMORY,
 * TENSORCAST_EXECUTOR_FAILED, TENSORCAST_INTERRUPTED. After a failure there are no outputs. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_run(tensorcast_session* session,
                                                              tensorcast_executor* executor,
                                                              const tensorcast_interrupt* interrupt,
                                                              int32_t profile);

/* What an output takes with the inputs that are bound (for strings, only after a run). Each pointer
 * may be null. Code: TENSORCAST_BAD_INPUT (an input is not bound, there was no run). */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_session_output_size(tensorcast_session* session, int64_t index, const char* name,
                               int32_t* type, uint64_t* rank, uint64_t* elements, uint64_t* bytes);
/* Copies an output of the last run, with its shape and, for strings, its lengths. Each buffer may
 * be larger than needed. Codes: TENSORCAST_BUFFER_TOO_SMALL, TENSORCAST_MISALIGNED,
 * TENSORCAST_BAD_INPUT (there was no run, or it did not make this output). */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_session_copy_output(const tensorcast_session* session, int64_t index, const char* name,
                               void* bytes, uint64_t bytes_size, int64_t* shape,
                               uint64_t shape_count, int64_t* lengths, uint64_t lengths_count);
/* What all wanted outputs take together, after a run: how many tensors, bytes, sizes in their
 * shapes and lengths of strings. Each pointer may be null. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_outputs_size(tensorcast_session* session,
                                                                       uint64_t* tensors,
                                                                       uint64_t* bytes,
                                                                       uint64_t* shapes,
                                                                       uint64_t* lengths);
/* Copies all wanted outputs, in the graph's order, one after the other as
 * tensorcast_session_bind_inputs takes tensors. Codes: those of tensorcast_session_copy_output. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_copy_outputs(
    tensorcast_session* session, void* bytes, uint64_t bytes_size, int64_t* shapes,
    uint64_t shapes_count, int64_t* lengths, uint64_t lengths_count, int64_t* ranks,
    uint64_t ranks_count, int32_t* types, uint64_t types_count);

/* ------------------------------------------------------------------------------ backward */

/* Binds the gradient of an output, with its type and the shape that the last run gave it; type 0
 * unbinds it. Codes: TENSORCAST_UNSUPPORTED (the session was not made for this), and those of
 * tensorcast_session_bind_input. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_bind_gradient(
    tensorcast_session* session, int64_t index, const char* name, const void* bytes,
    uint64_t bytes_size, const int64_t* shape, uint64_t rank, int32_t type, int32_t copy);
/* Computes the gradients of the inputs, after a run whose inputs are still bound; docs/graphs.md
 * has the rule. Codes: TENSORCAST_UNSUPPORTED, TENSORCAST_BAD_INPUT (no run, another shape),
 * TENSORCAST_OUT_OF_MEMORY, TENSORCAST_EXECUTOR_FAILED, TENSORCAST_INTERRUPTED. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_session_backward(tensorcast_session* session, tensorcast_executor* executor,
                            const tensorcast_interrupt* interrupt);
/* What the gradient of an input takes. If no gradient reaches the input, has_gradient and all else
 * are 0. Each of the other pointers may be null. Code: TENSORCAST_BAD_INPUT (there are no gradients
 * since something was bound). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_gradient_size(
    const tensorcast_session* session, int64_t index, const char* name, int32_t* has_gradient,
    int32_t* type, uint64_t* rank, uint64_t* elements, uint64_t* bytes);
/* Copies the gradient of an input. Codes: those of tensorcast_session_copy_output, and
 * TENSORCAST_BAD_INPUT (no gradient). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_copy_gradient(
    const tensorcast_session* session, int64_t index, const char* name, void* bytes,
    uint64_t bytes_size, int64_t* shape, uint64_t shape_count);

/* --------------------------------------------------------------------- profile, summary */

/* What the nodes took in the last run with `profile` 1, in the order in which they ran: three
 * numbers for each, seconds, bytes read and bytes written. `nodes` gets how many nodes there are;
 * call with capacity 0 to ask for that. Code: TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_profile(const tensorcast_session* session,
                                                                  double* numbers,
                                                                  uint64_t capacity,
                                                                  uint64_t* nodes);
/* The name of one of these nodes, or of its first output. Codes: TENSORCAST_NO_SUCH_INDEX,
 * TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_session_profile_node(const tensorcast_session* session, uint64_t index, char* buffer,
                                uint64_t buffer_bytes, uint64_t* needed);

enum { TENSORCAST_SUMMARY_TEXT = 0, TENSORCAST_SUMMARY_CSV = 1 };
/* Describes a graph node by node, for terminals or as CSV with a header, and with the profile of a
 * session made from it, unless that is null. `needed` may be null. Codes: TENSORCAST_BAD_INPUT (a
 * session of another graph), TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_graph_summary(const tensorcast_graph* graph,
                                                                const tensorcast_session* session,
                                                                int32_t format, char* buffer,
                                                                uint64_t buffer_bytes,
                                                                uint64_t* needed);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-*) */

#endif /* TENSORCAST_SESSION_H_ */
