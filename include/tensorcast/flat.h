/* Whole tasks in one call each, for LabVIEW and other languages without structs and callbacks: cast
 * a tensor, measure what a cast loses, store a model's weights in another type, convert a file.
 * graph.h and session.h are of the same kind. docs/labview.md shows how to call them. The rules at
 * the beginning of tensorcast.h hold here too, and so do these:
 *
 * - Parameters are integers, doubles, texts, arrays with their counts, and handles. Texts that are
 *   passed in end in a NUL and are UTF-8; paths are bytes, as in POSIX; null is the empty text.
 *   Truth values are 0 and 1; another number gives TENSORCAST_INVALID_OPTION.
 * - A tensor is five things. `bytes` are its elements, packed; for strings, their texts one after
 *   the other. `shape` has as many sizes as its `rank`, none of them negative; a scalar has none.
 *   `lengths` are the sizes of strings in bytes, one for each element; they are not read for
 *   numbers. `type` is TENSORCAST_FLOAT32 ... . A rank is at most 64. Tables of 64-bit numbers must
 *   be aligned to 8 bytes.
 * - Executor and interrupt may be null: the call then runs only on the calling thread, and to its
 *   end.
 * - Failures. Each of these functions leaves a text with the calling thread: one line that says
 *   what is wrong, where and what to do, or the empty text after a success. After a failure, what
 *   it sets through pointers is 0 or null, except for sizes after TENSORCAST_BUFFER_TOO_SMALL.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_FLAT_H_
#define TENSORCAST_FLAT_H_

/* NOLINTBEGIN(modernize-*): this is C */
#include "tensorcast/tensorcast.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The text of this thread's last call of flat.h, graph.h or session.h, not counting this function
 * and those that return the text of a handle. It has at most 1,023 bytes and a NUL; longer texts
 * are cut. `needed`, unless null, gets the bytes that this takes. A caller whose calls move between
 * threads, as LabVIEW's do, should ask the graph or the session instead. Code:
 * TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_last_error(char* buffer, uint64_t buffer_bytes,
                                                             uint64_t* needed);

/* Casts a tensor to type `to`. `saturate` and `round_mode` (TENSORCAST_ROUND_UP ...) are as in
 * ONNX, whose defaults are 1 and 0. `out` gets the elements, packed, or the texts, and out_lengths
 * the length of each text. `needed`, unless null, gets the bytes that `out` takes; call with
 * out_bytes 0 to ask for that, which for strings takes part of the work. `out` and `bytes` must not
 * overlap. Codes: TENSORCAST_INVALID_TYPE, TENSORCAST_BAD_INPUT (bytes or lengths that do not fit
 * the shape), TENSORCAST_MISALIGNED, TENSORCAST_BUFFER_TOO_SMALL, TENSORCAST_OVERLAP,
 * TENSORCAST_NOT_A_NUMBER and TENSORCAST_NOT_AN_INTEGER (the text says which element),
 * TENSORCAST_OUT_OF_MEMORY, TENSORCAST_EXECUTOR_FAILED, TENSORCAST_INTERRUPTED. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_cast_tensor(const void* bytes, uint64_t bytes_size, const int64_t* shape, uint64_t rank,
                       int32_t type, const int64_t* lengths, uint64_t lengths_count, int32_t to,
                       int32_t saturate, int32_t round_mode, tensorcast_executor* executor,
                       const tensorcast_interrupt* interrupt, void* out, uint64_t out_bytes,
                       int64_t* out_lengths, uint64_t out_lengths_count, uint64_t* needed);

/* The same with the other options of a cast, which tensorcast.h explains: integer_overflow
 * (TENSORCAST_OVERFLOW_WRAP ...), fnuz_infinity (TENSORCAST_FNUZ_INFINITY_MAX ...), finite_only_nan
 * (TENSORCAST_FINITE_ONLY_NAN_ZERO ...) and string_style (TENSORCAST_STRING_STYLE_NUMPY ...). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_cast_tensor_with_options(
    const void* bytes, uint64_t bytes_size, const int64_t* shape, uint64_t rank, int32_t type,
    const int64_t* lengths, uint64_t lengths_count, int32_t to, int32_t saturate,
    int32_t round_mode, int32_t integer_overflow, int32_t fnuz_infinity, int32_t finite_only_nan,
    int32_t string_style, tensorcast_executor* executor, const tensorcast_interrupt* interrupt,
    void* out, uint64_t out_bytes, int64_t* out_lengths, uint64_t out_lengths_count,
    uint64_t* needed);

/* Indices into the counts of tensorcast_measure_loss. Those of the kinds, TENSORCAST_LOSS_NAN ...,
 * come first. */
enum {
  TENSORCAST_COUNT_ELEMENTS = 16,
  TENSORCAST_COUNT_COMPARED = 17,         /* finite on both sides */
  TENSORCAST_COUNT_COMPARED_NONZERO = 18, /* those of them whose source is not 0 */
  TENSORCAST_COUNT_FINITE = 19,           /* finite in the source */
  TENSORCAST_COUNTS = 20
};
/* Indices into its figures, which tensorcast_loss_report explains. */
enum {
  TENSORCAST_FIGURE_MAX_ABS_ERROR = 0,
  TENSORCAST_FIGURE_MAX_REL_ERROR = 1,
  TENSORCAST_FIGURE_RMSE = 2,
  TENSORCAST_FIGURE_SNR_DB = 3,
  TENSORCAST_FIGURE_SUM_SQUARES = 4,
  TENSORCAST_FIGURE_SUM_SQUARED_ERROR = 5,
  TENSORCAST_FIGURE_AMAX = 6,
  TENSORCAST_FIGURE_SMALLEST_NONZERO = 7,
  TENSORCAST_FIGURES = 8
};

/* Measures what the cast of n elements would lose, without keeping its result. Writes
 * TENSORCAST_COUNTS numbers into `counts` and TENSORCAST_FIGURES into `figures`. Codes:
 * TENSORCAST_INVALID_TYPE, TENSORCAST_UNSUPPORTED (strings), TENSORCAST_BUFFER_TOO_SMALL,
 * TENSORCAST_MISALIGNED, TENSORCAST_BAD_INPUT (bytes_size is not what n elements take),
 * TENSORCAST_OUT_OF_MEMORY, TENSORCAST_EXECUTOR_FAILED, TENSORCAST_INTERRUPTED. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_measure_loss(
    int32_t from, int32_t to, int32_t saturate, int32_t round_mode, const void* bytes,
    uint64_t bytes_size, uint64_t n, tensorcast_executor* executor,
    const tensorcast_interrupt* interrupt, int64_t* counts, uint64_t counts_count, double* figures,
    uint64_t figures_count);

/* The same with the other options of a cast. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_measure_loss_with_options(
    int32_t from, int32_t to, int32_t saturate, int32_t round_mode, int32_t integer_overflow,
    int32_t fnuz_infinity, int32_t finite_only_nan, int32_t string_style, const void* bytes,
    uint64_t bytes_size, uint64_t n, tensorcast_executor* executor,
    const tensorcast_interrupt* interrupt, int64_t* counts, uint64_t counts_count, double* figures,
    uint64_t figures_count);

/* Writes the model at `input` with the floating weights whose names match `pattern` stored as `to`,
 * each with a Cast that brings it back: tensorcast_model_convert_storage (onnx.h). The pattern is a
 * glob of whole names; "*" and the empty one match all; one that matches nothing is refused.
 * `stored`, unless null, gets how many tensors are stored as `to`. Codes: those of that function.
 */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_store_model(
    const char* input, const char* output, const char* pattern, int32_t to, int32_t saturate,
    int32_t round_mode, int32_t all_chosen, int32_t overwrite, tensorcast_executor* executor,
    const tensorcast_interrupt* interrupt, uint64_t* stored);

/* The same with the other options of a cast. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_store_model_with_options(
    const char* input, const char* output, const char* pattern, int32_t to, int32_t saturate,
    int32_t round_mode, int32_t integer_overflow, int32_t fnuz_infinity, int32_t finite_only_nan,
    int32_t string_style, int32_t all_chosen, int32_t overwrite, tensorcast_executor* executor,
    const tensorcast_interrupt* interrupt, uint64_t* stored);

/* Writes the model at `input` without the Casts that change no bit of any output. docs/optimize.md
 * has the rules, and says what fold_all and nan_payloads_may_change add; both are usually 0.
 * `removed`, unless null, gets how many nodes were removed. Codes: those of tensorcast_store_model.
 */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_optimize_model(
    const char* input, const char* output, int32_t fold_all, int32_t nan_payloads_may_change,
    int32_t overwrite, const tensorcast_interrupt* interrupt, uint64_t* removed);

/* Converts a tensor file, or a checkpoint's directory: tensors whose names match `pattern` become
 * `to`, only the floating ones unless `all_types`. docs/command_line.md has the patterns, and the
 * formats, which are chosen by endings. The empty pattern matches all. `cast`, unless null, gets
 * how many tensors are not copied as they are. Codes: TENSORCAST_FILE_ERROR, TENSORCAST_BAD_FILE,
 * TENSORCAST_UNSUPPORTED_FILE, TENSORCAST_BAD_INPUT (a pattern that matches nothing, an output that
 * exists), TENSORCAST_UNSUPPORTED (this build converts no files), TENSORCAST_INVALID_TYPE,
 * TENSORCAST_OUT_OF_MEMORY, TENSORCAST_EXECUTOR_FAILED, TENSORCAST_INTERRUPTED. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_convert_file(
    const char* input, const char* output, const char* pattern, int32_t to, int32_t saturate,
    int32_t round_mode, int32_t all_types, int32_t overwrite, tensorcast_executor* executor,
    const tensorcast_interrupt* interrupt, uint64_t* cast);
/* The same with the other options of a cast. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_convert_file_with_options(
    const char* input, const char* output, const char* pattern, int32_t to, int32_t saturate,
    int32_t round_mode, int32_t integer_overflow, int32_t fnuz_infinity, int32_t finite_only_nan,
    int32_t string_style, int32_t all_types, int32_t overwrite, tensorcast_executor* executor,
    const tensorcast_interrupt* interrupt, uint64_t* cast);

/* Indices into the counts of tensorcast_diff_files: the tensors, by how A's compares with B's. The
 * last two kinds are equal. */
enum {
  TENSORCAST_DIFF_ONLY_IN_A = 0,
  TENSORCAST_DIFF_ONLY_IN_B = 1,
  TENSORCAST_DIFF_SHAPE = 2,
  TENSORCAST_DIFF_INCOMPARABLE = 3, /* strings and numbers, or types that are not known */
  TENSORCAST_DIFF_VALUES = 4,
  TENSORCAST_DIFF_SAME_VALUES = 5, /* the same in another type or layout */
  TENSORCAST_DIFF_SAME_BYTES = 6,
  TENSORCAST_DIFF_COUNTS = 7
};

/* Compares the tensors of two files, or of two checkpoints' directories, by their values: those
 * whose names match `pattern` (the empty one matches all), with scales applied unless
 * `ignore_scales`. docs/command_line.md says what is equal. Writes TENSORCAST_DIFF_COUNTS numbers
 * into `counts`. `worst_snr_db`, unless null, gets the lowest SNR of tensors that are not equal:
 * infinite if there are none, and minus infinite if one could not be compared. Codes: those of
 * tensorcast_convert_file, TENSORCAST_BUFFER_TOO_SMALL, TENSORCAST_MISALIGNED. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_diff_files(const char* a, const char* b, const char* pattern, int32_t ignore_scales,
                      tensorcast_executor* executor, const tensorcast_interrupt* interrupt,
                      int64_t* counts, uint64_t counts_count, double* worst_snr_db);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-*) */

#endif /* TENSORCAST_FLAT_H_ */
