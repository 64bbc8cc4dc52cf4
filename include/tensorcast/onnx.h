/* ONNX models: running a session (session.h) on tensors from many threads, and storing weights in a
 * narrower type. The C interface; session.hpp and onnx.hpp are the same for C++. docs/onnx.md says
 * which opset means what. The rules at the beginning of tensorcast.h hold here too.
 *
 *   tensorcast_session* session = NULL;
 *   tensorcast_results* results = NULL;
 *   char error[512];
 *   int32_t status = tensorcast_session_load("casts.onnx", 0, 0, 0, TENSORCAST_TARGET_BEST,
 *                                            &session);
 *   if (status == TENSORCAST_OK) status = tensorcast_results_create(&results);
 *   if (status == TENSORCAST_OK)
 *     status = tensorcast_session_run_tensors(session, &input, 1, NULL, NULL, NULL, NULL, results,
 *                                             error, sizeof error);
 *
 * Errors. The functions that take `error` and error_bytes write one line there that says what is
 * wrong, where and what to do, and a NUL; it is cut if the buffer is too short, and empty after a
 * success. `error` may be null if error_bytes is 0.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_ONNX_H_
#define TENSORCAST_ONNX_H_

/* NOLINTBEGIN(modernize-*): this is C */
#include "tensorcast/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------- tensors */

/* A tensor in memory. In an array of them that the library reads, all have the first one's
 * struct_size. */
typedef struct tensorcast_tensor {
  uint32_t struct_size;
  int32_t type;          /* TENSORCAST_FLOAT32 ... */
  const uint64_t* shape; /* in elements; aligned to 8 bytes */
  uint64_t rank;         /* how many sizes; 0 for a scalar */
  /* The elements, packed, in tensorcast_storage_bytes; for strings, their texts. */
  const void* data;
  uint64_t data_bytes;
  /* For strings: where the texts begin and end; see "strings" in tensorcast.h. */
  const uint64_t* offsets;
  uint64_t offsets_count;
} tensorcast_tensor;

/* --------------------------------------------------------------------------------- runs */

/* What a run gives, one tensor for each output of the session. Use one object for many runs, as
 * each reuses the memory of the last. Only one call at a time may use it. */
typedef struct tensorcast_results tensorcast_results;

/* Code: TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_results_create(tensorcast_results** results);
TENSORCAST_API void TENSORCAST_CALL tensorcast_results_destroy(tensorcast_results* results);
/* How many tensors there are: none before the first run and after one that failed. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_results_count(const tensorcast_results* results,
                                                                uint64_t* count);
/* A view of one tensor, valid until `results` is used by another run or destroyed. An output that
 * is an unchanged input or constant is a view of that: the input's buffers and the session must
 * live as long. Code: TENSORCAST_BAD_INPUT (an index beyond the count). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_results_view(const tensorcast_results* results,
                                                               uint64_t index,
                                                               tensorcast_tensor* tensor);

/* Reports what one node took: its name (or its first output's), its types, time and bytes; 0 bytes
 * if it only made a view. */
typedef void(TENSORCAST_CALL* tensorcast_report_node)(void* context, const char* node,
                                                      uint64_t node_bytes, const char* op_type,
                                                      uint64_t op_type_bytes, int32_t from,
                                                      int32_t to, double seconds,
                                                      uint64_t bytes_read, uint64_t bytes_written);

/* Runs a session on one tensor for each input; a tensor of type 0 takes the input's default. Any
 * number of calls may run one session at once, besides one that uses what is bound to it, which
 * this function does not see. The inputs may be views of `results`. What `results` held before is
 * lost, also after a failure. After a successful run, `report` is called with `context` for each
 * node, in the order in which they ran. It may be null, and so may `executor` (only the calling
 * thread runs) and `interrupt`. Codes: TENSORCAST_BAD_INPUT (a wrong number of inputs, a type other
 * than the declared one, data of a size other than its shape's, no default),
 * TENSORCAST_BAD_OFFSETS, TENSORCAST_MISALIGNED, TENSORCAST_NOT_A_NUMBER,
 * TENSORCAST_NOT_AN_INTEGER, TENSORCAST_OUT_OF_MEMORY, TENSORCAST_EXECUTOR_FAILED,
 * TENSORCAST_INTERRUPTED. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_run_tensors(
    const tensorcast_session* session, const tensorcast_tensor* inputs, uint64_t input_count,
    tensorcast_executor* executor, const tensorcast_interrupt* interrupt,
    tensorcast_report_node report, void* context, tensorcast_results* results, char* error,
    uint64_t error_bytes);

/* ------------------------------------------------------------------------- storage only */

/* Called for each initializer and Constant. Returns the type to store it in, or 0 to leave it
 * alone. */
typedef int32_t(TENSORCAST_CALL* tensorcast_choose_storage)(void* context, const char* name,
                                                            uint64_t name_bytes, int32_t type,
                                                            const uint64_t* shape, uint64_t rank);
/* Reports what became of one tensor. `to` is 0 if it was left alone; if a type was chosen for it,
 * `reason`, which ends in NUL, then says why. `loss` is that of the cast to `to`. */
typedef void(TENSORCAST_CALL* tensorcast_report_storage)(void* context, const char* name,
                                                         uint64_t name_bytes, int32_t from,
                                                         int32_t to, const char* reason,
                                                         const tensorcast_loss_report* loss);

/* The library reads it. */
typedef struct tensorcast_storage_options {
  uint32_t struct_size;
  int32_t overwrite;                /* 1: replace an existing output */
  tensorcast_choose_storage choose; /* must be given */
  tensorcast_report_storage report; /* called when the output is complete; may be null */
  void* context;                    /* passed to both */
  const tensorcast_options* cast;   /* null: the defaults */
  tensorcast_executor* executor;    /* null: the calling thread alone */
  int32_t allow_hard_links;         /* as in tensorcast_session_load */
  /* 1: store every chosen tensor; 0: leave alone those of up to 1,024 bytes, and those in which a
   * finite value would become Inf. */
  int32_t all_chosen;
  const tensorcast_interrupt* interrupt; /* null: the conversion ends when it is done */
} tensorcast_storage_options;

/* Writes a model in which the chosen tensors are stored in another type, each with a Cast that
 * brings it back, so that the graph's types do not change. Nothing has the name `output` until it
 * is complete. Codes: those of tensorcast_session_load, except for the target, and
 * TENSORCAST_BAD_INPUT (the model's opset has no such type; the output exists, or is the input),
 * TENSORCAST_EXECUTOR_FAILED, TENSORCAST_INTERRUPTED. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_convert_storage(
    const char* input, uint64_t input_bytes, const char* output, uint64_t output_bytes,
    const tensorcast_storage_options* options, char* error, uint64_t error_bytes);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-*) */

#endif /* TENSORCAST_ONNX_H_ */
