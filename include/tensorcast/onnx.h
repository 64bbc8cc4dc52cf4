/* ONNX models: a session (session.h) run on tensors by many threads, weights stored in a narrower
 * type. The C interface; session.hpp and onnx.hpp are the same for C++. docs/onnx.md says which
 * opset means what, and the rules that begin tensorcast.h hold here too.
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
 * Errors. The functions that take `error` and error_bytes write there, in one line, what is wrong,
 * where and what to do, cut where the buffer is too short, and a NUL; after a success the empty
 * text. `error` may be null where error_bytes is 0.
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

/* A tensor in memory. Where the library reads an array of them, all have the first one's
 * struct_size. */
typedef struct tensorcast_tensor {
  uint32_t struct_size;
  int32_t type;          /* TENSORCAST_FLOAT32 ... */
  const uint64_t* shape; /* in elements; aligned to 8 bytes */
  uint64_t rank;         /* how many; 0 is a scalar */
  /* The elements, packed: tensorcast_storage_bytes of them. Of strings: their texts. */
  const void* data;
  uint64_t data_bytes;
  /* Of strings: where the texts begin and end; see "strings" in tensorcast.h. */
  const uint64_t* offsets;
  uint64_t offsets_count;
} tensorcast_tensor;

/* --------------------------------------------------------------------------------- runs */

/* What a run gives, one tensor per output of the session. Use one for many runs: the memory of the
 * last run's results is used again. By one call at a time. */
typedef struct tensorcast_results tensorcast_results;

/* Code: TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_results_create(tensorcast_results** results);
TENSORCAST_API void TENSORCAST_CALL tensorcast_results_destroy(tensorcast_results* results);
/* How many there are: none before the first run and after one that failed. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_results_count(const tensorcast_results* results,
                                                                uint64_t* count);
/* A view of one, valid until `results` is run into again or destroyed. One that is an input or a
 * constant unchanged views that: the input's buffers and the session must live as long. Code:
 * TENSORCAST_BAD_INPUT (an index beyond the count). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_results_view(const tensorcast_results* results,
                                                               uint64_t index,
                                                               tensorcast_tensor* tensor);

/* What one node took: its name (or its first output's), its types, time and bytes; 0 bytes where
 * only a view was made. */
typedef void(TENSORCAST_CALL* tensorcast_report_node)(void* context, const char* node,
                                                      uint64_t node_bytes, const char* op_type,
                                                      uint64_t op_type_bytes, int32_t from,
                                                      int32_t to, double seconds,
                                                      uint64_t bytes_read, uint64_t bytes_written);

/* Runs a session on one tensor per input; one of type 0 takes the input's default. Any number of
 * calls may run one session at once, beside the one that uses what is bound to it, which this does
 * not see. The inputs may be views of `results`. What `results` held before is let go, after a
 * failure too. `report` is called for each node, in the order in which they ran, with `context`,
 * when the run has ended well; it may be null, as may `executor` (the calling thread alone) and
 * `interrupt`. Codes: TENSORCAST_BAD_INPUT (a wrong number of inputs, another type than is
 * declared, data of another size than its shape says, no default), TENSORCAST_BAD_OFFSETS,
 * TENSORCAST_MISALIGNED, TENSORCAST_NOT_A_NUMBER, TENSORCAST_NOT_AN_INTEGER,
 * TENSORCAST_OUT_OF_MEMORY, TENSORCAST_EXECUTOR_FAILED, TENSORCAST_INTERRUPTED. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_session_run_tensors(
    const tensorcast_session* session, const tensorcast_tensor* inputs, uint64_t input_count,
    tensorcast_executor* executor, const tensorcast_interrupt* interrupt,
    tensorcast_report_node report, void* context, tensorcast_results* results, char* error,
    uint64_t error_bytes);

/* ------------------------------------------------------------------------- storage only */

/* Asked of each initializer and Constant: the type to store it in, or 0 to leave it. */
typedef int32_t(TENSORCAST_CALL* tensorcast_choose_storage)(void* context, const char* name,
                                                            uint64_t name_bytes, int32_t type,
                                                            const uint64_t* shape, uint64_t rank);
/* What became of one tensor: `to` is 0 where it was left alone, and `reason`, which ends in NUL,
 * says why where a type was chosen. `loss` is that of the cast to `to`. */
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
  void* context;                    /* handed to both */
  const tensorcast_options* cast;   /* null: the defaults */
  tensorcast_executor* executor;    /* null: the calling thread alone */
  int32_t allow_hard_links;         /* as in tensorcast_session_load */
  /* 1: store every tensor that is chosen; 0: leave alone those of up to 1,024 bytes, and those in
   * which a finite value would become Inf. */
  int32_t all_chosen;
  const tensorcast_interrupt* interrupt; /* null: the conversion ends when it is done */
} tensorcast_storage_options;

/* Writes a model in which the chosen tensors are stored in another type and one Cast each brings
 * them back, so that the graph's types do not change. Nothing stands under `output` unless it is
 * complete. Codes: as loading, but for the target, and TENSORCAST_BAD_INPUT (the model's opset has
 * no such type; the output exists, or is the input), TENSORCAST_EXECUTOR_FAILED,
 * TENSORCAST_INTERRUPTED. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_convert_storage(
    const char* input, uint64_t input_bytes, const char* output, uint64_t output_bytes,
    const tensorcast_storage_options* options, char* error, uint64_t error_bytes);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-*) */

#endif /* TENSORCAST_ONNX_H_ */
