/* ONNX models made of Cast and CastLike: load one, run it, or store its weights in a narrower type.
 * The C interface; onnx.hpp is the same for C++. docs/onnx.md says which opset means what, and the
 * rules that begin tensorcast.h hold here too.
 *
 *   tensorcast_model* model = NULL;
 *   tensorcast_model_outputs* outputs = NULL;
 *   char error[512];
 *   int32_t status = tensorcast_model_create_from_file("casts.onnx", 10, NULL, &model, error,
 *                                                      sizeof error);
 *   if (status == TENSORCAST_OK) status = tensorcast_model_outputs_create(&outputs);
 *   if (status == TENSORCAST_OK)
 *     status = tensorcast_model_run(model, &input, 1, NULL, outputs, error, sizeof error);
 *
 * Errors. The functions that take `error` and error_bytes write there, in one line, what is wrong,
 * where and what to do, cut where the buffer is too short, and a NUL; after a success the empty
 * text. `error` may be null where error_bytes is 0.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_ONNX_H_
#define TENSORCAST_ONNX_H_

/* NOLINTBEGIN(modernize-*): this is C */
#include "tensorcast/tensorcast.h"

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

/* -------------------------------------------------------------------------------- models */

/* A loaded model. Loading checks every node: a model that loads fails to run only for its inputs, a
 * text that is not a number, or for want of memory. Any number of calls may run one at once. */
typedef struct tensorcast_model tensorcast_model;

/* Inf to the float8 FNUZ types at opsets 19 to 23, where an operator's text and the stored official
 * tests contradict each other. */
enum { TENSORCAST_CONTRADICTIONS_TEXT = 0, TENSORCAST_CONTRADICTIONS_TESTS = 1 };

/* The library reads it. Null is the same as all zero. */
typedef struct tensorcast_model_options {
  uint32_t struct_size;
  int32_t contradictions;
  int32_t target; /* TENSORCAST_TARGET_BEST, or one that must be used */
  /* 1: read external data from a file that has hard links too, which may be a file from elsewhere;
   * 0 refuses it. */
  int32_t allow_hard_links;
} tensorcast_model_options;

#define TENSORCAST_MODEL_OPTIONS_INIT \
  { sizeof(tensorcast_model_options), 0, 0, 0 }

/* Loads a model and its external data. Codes: TENSORCAST_FILE_ERROR, TENSORCAST_BAD_FILE,
 * TENSORCAST_UNSUPPORTED_FILE (a node other than Cast, CastLike, Identity, Constant and the model's
 * own functions of these), TENSORCAST_TARGET_UNAVAILABLE, TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_create_from_file(
    const char* path, uint64_t path_bytes, const tensorcast_model_options* options,
    tensorcast_model** model, char* error, uint64_t error_bytes);
/* The same of a ModelProto in memory, which is copied. External data is refused: there is no
 * directory to find it in. A size of 2 GiB or more, which protobuf does not allow, is
 * TENSORCAST_BAD_FILE before a byte is read. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_create_from_bytes(
    const void* bytes, uint64_t size, const tensorcast_model_options* options,
    tensorcast_model** model, char* error, uint64_t error_bytes);
/* No call may be using it, and outputs that view its initializers end with it. */
TENSORCAST_API void TENSORCAST_CALL tensorcast_model_destroy(tensorcast_model* model);

/* The opset of ai.onnx; 0 where the model imports none. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_opset(const tensorcast_model* model,
                                                              int64_t* opset);

/* Which of a model's values. */
enum { TENSORCAST_MODEL_INPUTS = 0, TENSORCAST_MODEL_OUTPUTS = 1 };

/* What a model says of an input or an output; the library writes it. */
typedef struct tensorcast_value_info {
  uint32_t struct_size;
  int32_t type;
  int32_t has_shape;   /* 1: the model says a shape. Its sizes are not enforced. */
  int32_t has_default; /* 1: an initializer has this input's name; it need not be given */
  uint64_t rank;       /* 0 where the model says no shape */
} tensorcast_value_info;

/* In these, `side` is TENSORCAST_MODEL_INPUTS or TENSORCAST_MODEL_OUTPUTS. A side that is neither,
 * an index beyond the count and an unknown name give TENSORCAST_BAD_INPUT. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_value_count(const tensorcast_model* model,
                                                                    int32_t side, uint64_t* count);
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_value_info(const tensorcast_model* model,
                                                                   int32_t side, uint64_t index,
                                                                   tensorcast_value_info* info);
/* The name, as it stands in the model, and a NUL. `needed`, unless null, gets the bytes this takes.
 * Code: TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_value_name(const tensorcast_model* model,
                                                                   int32_t side, uint64_t index,
                                                                   char* buffer,
                                                                   uint64_t buffer_bytes,
                                                                   uint64_t* needed);
/* The sizes of the shape, -1 where one is symbolic. `rank` gets how many there are. Code:
 * TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_value_shape(const tensorcast_model* model,
                                                                    int32_t side, uint64_t index,
                                                                    int64_t* sizes,
                                                                    uint64_t capacity,
                                                                    uint64_t* rank);
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_value_find(const tensorcast_model* model,
                                                                   int32_t side, const char* name,
                                                                   uint64_t name_bytes,
                                                                   uint64_t* index);

/* --------------------------------------------------------------------------------- runs */

/* The results of a run, one tensor per output of the model. Use one for many runs: the memory of
 * the last run's results is used again. By one call at a time. */
typedef struct tensorcast_model_outputs tensorcast_model_outputs;

/* Code: TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_model_outputs_create(tensorcast_model_outputs** outputs);
TENSORCAST_API void TENSORCAST_CALL
tensorcast_model_outputs_destroy(tensorcast_model_outputs* outputs);
/* How many there are: none before the first run and after one that failed. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_model_outputs_count(const tensorcast_model_outputs* outputs, uint64_t* count);
/* A view of one, valid until `outputs` is run into again or destroyed. One that is an input or an
 * initializer unchanged views that: the input's buffers and the model must live as long. Code:
 * TENSORCAST_BAD_INPUT (an index beyond the count). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_outputs_view(
    const tensorcast_model_outputs* outputs, uint64_t index, tensorcast_tensor* tensor);

/* What one node took: its name (or its first output's), its types, time and bytes; 0 bytes where
 * only a view was made. */
typedef void(TENSORCAST_CALL* tensorcast_report_node)(void* context, const char* node,
                                                      uint64_t node_bytes, const char* op_type,
                                                      uint64_t op_type_bytes, int32_t from,
                                                      int32_t to, double seconds,
                                                      uint64_t bytes_read, uint64_t bytes_written);

/* How a model runs; the library reads it. Null is the same as all zero. */
typedef struct tensorcast_model_run_options {
  uint32_t struct_size;
  uint32_t reserved;             /* 0 */
  tensorcast_executor* executor; /* null: the calling thread alone */
  /* Called for each node, in the order in which they ran, when the run has ended well; may be
   * null. */
  tensorcast_report_node report;
  void* context;                         /* handed to it */
  const tensorcast_interrupt* interrupt; /* null: the run ends when it is done */
} tensorcast_model_run_options;

#define TENSORCAST_MODEL_RUN_OPTIONS_INIT \
  { sizeof(tensorcast_model_run_options), 0, NULL, NULL, NULL, NULL }

/* Runs the model on one tensor per input; one of type 0 takes the input's default. The inputs may
 * be views of `outputs`. What `outputs` held before is let go, after a failure too. Codes:
 * TENSORCAST_BAD_INPUT (a wrong number of inputs, another type than the model declares, data of
 * another size than its shape says, no default), TENSORCAST_BAD_OFFSETS, TENSORCAST_MISALIGNED,
 * TENSORCAST_NOT_A_NUMBER, TENSORCAST_NOT_AN_INTEGER, TENSORCAST_OUT_OF_MEMORY,
 * TENSORCAST_EXECUTOR_FAILED, TENSORCAST_INTERRUPTED. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_model_run(const tensorcast_model* model,
                                                            const tensorcast_tensor* inputs,
                                                            uint64_t input_count,
                                                            const tensorcast_model_run_options* run,
                                                            tensorcast_model_outputs* outputs,
                                                            char* error, uint64_t error_bytes);

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
  int32_t allow_hard_links;         /* as in tensorcast_model_options */
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
