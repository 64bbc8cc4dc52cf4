/* tensorcast: exact, fast tensor casts that report what they lose. The C interface, for C and for
 * every language that can call C. tensorcast.hpp is the C++20 interface; docs/use_from_c.md has
 * examples for C, LabVIEW, Python, Rust and Go.
 *
 * A cast is one deterministic function of (source type, destination type, options): one rounding,
 * the same bits on every machine, every instruction set and every thread count, whatever the
 * caller's floating-point environment and locale. docs/semantics.md defines them.
 *
 *   float weights[4] = {0.1f, 448.f, 512.f, -1e-9f};
 *   uint8_t small[4];
 *   int32_t status = tensorcast_cast(TENSORCAST_FLOAT32, weights, sizeof weights,
 *                                    TENSORCAST_FLOAT8E4M3FN, small, sizeof small, 4, NULL, NULL);
 *   if (status != TENSORCAST_OK) fputs(tensorcast_status_text(status), stderr);
 *
 * These rules hold for every function:
 *
 * - Status. A function that can fail returns an int32_t: TENSORCAST_OK (0) or one of the codes
 *   below, which mean the same from every function. Each function lists the codes it can return,
 *   apart from the three of the next points. After a failure, the handle or number that it would
 *   have set (*plan, *bytes) is null or 0, and buffers and structs are unchanged, unless it says
 *   otherwise.
 * - Null. A null pointer gives TENSORCAST_NULL_POINTER, unless the function says that it may be
 *   null. A buffer from which nothing is read and to which nothing is written may be null.
 * - Options. A value outside an option's list gives TENSORCAST_INVALID_OPTION.
 * - Buffers belong to the caller. Each comes with its size; sizes of raw buffers are in bytes,
 *   counts of elements are called n, first or count. The library keeps no pointer to a buffer after
 *   it returns, except where session.h says so. Elements need no alignment; tables of offsets must
 *   be aligned to 8 bytes.
 * - Sizes. A function whose output varies in size reports the size through a pointer: `needed`,
 *   `count`, `size`, `rank`, `nodes`. Given a capacity of 0, with which the buffer may be null, it
 *   does only that and returns TENSORCAST_OK. If the capacity is above 0 but too small, it returns
 *   TENSORCAST_BUFFER_TOO_SMALL, and reports the size as well.
 * - Handles. Free what a ..._create function gives with its ..._destroy function, which ignores
 *   null. Free nothing else that the library returns. Handles must be live: using a freed or
 *   invented one is undefined behaviour.
 * - Texts that are returned as const char* are static, end in NUL, are ASCII, and are never null.
 *   Texts that are passed in have a size in bytes and need no NUL. Names of types and numbers are
 *   ASCII. Names in a model are UTF-8, and so are messages, which escape all other bytes. Paths are
 *   bytes in no particular encoding, as in POSIX, without a NUL.
 * - Threads. Every function may be called from any thread at any time. Any number of calls may use
 *   one plan or one executor at once; only one call at a time may use a loss meter. The library has
 *   no state but its handles and each thread's last refusal and text (flat.h). It reads no
 *   environment variables, and starts no threads except in an executor that was asked for (oneTBB,
 *   if that is the executor's, has variables of its own).
 * - No exception, signal or longjmp leaves the library, and none of a callback's may enter it.
 *   Functions and callbacks have the calling convention TENSORCAST_CALL (export.h).
 * - Structs begin with struct_size, which the caller sets to sizeof the struct as it was compiled.
 *   Later versions add fields at the end. When the library reads a struct, fields that lie beyond
 *   struct_size, in part or whole, have their default, which is 0; bytes beyond the fields that the
 *   library knows must be 0, as it would otherwise ignore a request. When the library writes a
 *   struct, it writes the fields within struct_size, and zeros beyond the fields that it knows. A
 *   struct_size below 4 or above 4096, or a request that is not known, gives TENSORCAST_BAD_STRUCT.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_TENSORCAST_H_
#define TENSORCAST_TENSORCAST_H_

/* NOLINTBEGIN(modernize-*): this is C */
#include <stddef.h>
#include <stdint.h>

#include "tensorcast/export.h"
#include "tensorcast/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------- version */

/* This number changes when a function of this header is removed or its meaning changes. New
 * functions, codes and fields do not change it. A program compiled with this header runs with every
 * library whose tensorcast_abi_version() is the same and whose version is not older. */
#define TENSORCAST_ABI_VERSION 1

TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_abi_version(void);
/* The version of the library, as "0.1.0" and as 1000. TENSORCAST_VERSION and
 * TENSORCAST_VERSION_NUMBER (version.h) are the version of the headers. */
TENSORCAST_API const char* TENSORCAST_CALL tensorcast_version(void);
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_version_number(void);

/* -------------------------------------------------------------------------------- status */

enum {
  TENSORCAST_OK = 0,                 /* success */
  TENSORCAST_INVALID_TYPE = 1,       /* an id, a name or a row that is not an element type */
  TENSORCAST_INVALID_OPTION = 2,     /* an option's value is outside its list */
  TENSORCAST_NULL_POINTER = 3,       /* a pointer that the call needs is null */
  TENSORCAST_SIZE_OVERFLOW = 4,      /* first plus n, in bits, does not fit 64 bits */
  TENSORCAST_BUFFER_TOO_SMALL = 5,   /* a buffer is shorter than its elements need */
  TENSORCAST_OVERLAP = 6,            /* source and destination overlap, but are not the same */
  TENSORCAST_UNSUPPORTED = 7,        /* strings have no fixed size, and casts of them no meter */
  TENSORCAST_TARGET_UNAVAILABLE = 8, /* no such target, or this build or machine lacks it */
  TENSORCAST_LOSS_POSITION = 9,      /* a measured chunk begins where it must not */
  TENSORCAST_LOSS_MISMATCH = 10,     /* the meter was made for other types or options */
  TENSORCAST_OUT_OF_MEMORY = 11,     /* the system grants no more */
  TENSORCAST_WRONG_CALL = 12,     /* a call for numbers was given strings, or the other way round */
  TENSORCAST_NOT_A_NUMBER = 13,   /* a text is not a number */
  TENSORCAST_NOT_AN_INTEGER = 14, /* a text for an integer is nan, inf or outside [-2^63, 2^64) */
  TENSORCAST_BAD_OFFSETS = 15,    /* string offsets decrease, or end beyond the bytes */
  TENSORCAST_MISALIGNED = 16,     /* a table of offsets is not aligned to 8 bytes */
  TENSORCAST_BAD_STRUCT = 17,     /* struct_size or an unknown request: see "Structs" above */
  TENSORCAST_EXECUTOR_FAILED = 18, /* it threw, or did not run every task exactly once */
  TENSORCAST_NO_THREADS = 19,      /* this build has no oneTBB */
  /* From calls on models and files, which also give a text that says more: */
  TENSORCAST_FILE_ERROR = 20,       /* the system refused: missing file, no permission, full disk */
  TENSORCAST_BAD_FILE = 21,         /* a file's contents are not what they should be */
  TENSORCAST_UNSUPPORTED_FILE = 22, /* legal, but not supported */
  TENSORCAST_BAD_INPUT = 23,        /* a request or an input does not fit the model */
  TENSORCAST_INTERRUPTED = 24,      /* tensorcast_interrupt_set was called */
  /* From graphs (graph.h): */
  TENSORCAST_NO_SUCH_NAME = 25,  /* nothing in the graph has this name */
  TENSORCAST_NO_SUCH_INDEX = 26, /* the graph has nothing at this index */
  /* From any function: */
  TENSORCAST_INTERNAL_ERROR = 27, /* a bug in the library; please report it */
  TENSORCAST_CALLBACK_FAILED = 28 /* a callback other than an executor's threw */
};

enum { /* what the caller can ask for to lift a refusal */
       TENSORCAST_REMEDY_NONE = 0,
       TENSORCAST_REMEDY_ALLOW_HARD_LINKS = 1,  /* read data from files that have hard links */
       TENSORCAST_REMEDY_ALLOW_OVERWRITING = 2, /* replace the output */
       TENSORCAST_REMEDY_CHOOSE_ONE_TENSOR = 3, /* choose one tensor: the output holds only one */
       TENSORCAST_REMEDY_LEAVE_OUT = 4,         /* do not cast the tensor */
       TENSORCAST_REMEDY_IGNORE_SCALES = 5,     /* do not cast the tensor, or cast its bare codes */
       TENSORCAST_REMEDY_TAKE_DIRECTORY = 6,    /* convert the directory, or as the last one */
       TENSORCAST_REMEDY_KEEP_PACKED = 7,       /* leave packed tensors as they are */
       TENSORCAST_REMEDY_ASSUME_TYPE = 8,       /* name a type for elements that have none */
       TENSORCAST_REMEDY_MATCH_RULE = 9, /* replace the subject, which is the pattern of a rule */
       TENSORCAST_REMEDY_MATCH_CHOSEN = 10,   /* ... a pattern that chooses tensors */
       TENSORCAST_REMEDY_MATCH_EXCLUDED = 11, /* ... a pattern that leaves tensors out */
       TENSORCAST_REMEDY_MATCH_NAMES = 12,    /* ... a pattern whose place the text says */
       TENSORCAST_REMEDY_CHOOSE_ROOT = 13,    /* choose one of a torch file's dicts */
       TENSORCAST_REMEDY_MATCH_SELECTED = 14  /* replace a pattern that says what is written */
};

/* One sentence in English for a status; "unknown status" for an unknown number. */
TENSORCAST_API const char* TENSORCAST_CALL tensorcast_status_text(int32_t status);

/* All about a refusal; the library writes it. Texts end in NUL and are valid until the next call of
 * this thread that fails. */
typedef struct tensorcast_refusal {
  uint32_t struct_size;
  int32_t code;   /* TENSORCAST_BAD_INPUT ...; TENSORCAST_OK: no call has failed */
  int32_t remedy; /* TENSORCAST_REMEDY_ALLOW_OVERWRITING ... */
  /* The system's errno, if it was the system that refused the file named by `subject`; else 0. */
  int32_t system_error;
  /* What was refused: the path of a file, the name of a tensor, a pattern; not escaped. Empty where
   * only the text says it, and where it would take more than 4,096 bytes. */
  const char* subject;
  uint64_t subject_bytes;
  const char* text; /* the call's, without words that name a parameter; its first 4,096 bytes */
  uint64_t text_bytes;
} tensorcast_refusal;

/* The refusal of this thread's last failed call among those that have a text for it: the functions
 * of flat.h, graph.h, session.h and onnx.h. Code: TENSORCAST_BAD_STRUCT. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_last_refusal(tensorcast_refusal* refusal);

/* --------------------------------------------------------------------------------- types */

/* The element types; the numbers are those of ONNX's TensorProto.DataType.
 *
 * An element of a buffer is its code: for float64, float32 and the integers what C has; for float16
 * and bfloat16 a uint16_t; for float8 and bool (0 or 1) a uint8_t. Elements of 64, 32 and 16 bits
 * are little-endian. Types of 6, 4 and 2 bits are packed: element i of a w-bit type is bits i*w to
 * i*w + w - 1 of the buffer, counted from the least significant bit of byte 0. */
enum {
  TENSORCAST_FLOAT32 = 1,
  TENSORCAST_UINT8 = 2,
  TENSORCAST_INT8 = 3,
  TENSORCAST_UINT16 = 4,
  TENSORCAST_INT16 = 5,
  TENSORCAST_INT32 = 6,
  TENSORCAST_INT64 = 7,
  TENSORCAST_STRING = 8, /* has its own calls: see "strings" */
  TENSORCAST_BOOL = 9,
  TENSORCAST_FLOAT16 = 10,
  TENSORCAST_FLOAT64 = 11,
  TENSORCAST_UINT32 = 12,
  TENSORCAST_UINT64 = 13,
  TENSORCAST_BFLOAT16 = 16,
  TENSORCAST_FLOAT8E4M3FN = 17,
  TENSORCAST_FLOAT8E4M3FNUZ = 18,
  TENSORCAST_FLOAT8E5M2 = 19,
  TENSORCAST_FLOAT8E5M2FNUZ = 20,
  TENSORCAST_UINT4 = 21,
  TENSORCAST_INT4 = 22,
  TENSORCAST_FLOAT4E2M1 = 23,
  TENSORCAST_FLOAT8E8M0 = 24,
  TENSORCAST_UINT2 = 25,
  TENSORCAST_INT2 = 26,
  TENSORCAST_FLOAT6E2M3 = 27,
  TENSORCAST_FLOAT6E3M2 = 28
};

enum { /* type_class */
       TENSORCAST_CLASS_BOOL = 0,
       TENSORCAST_CLASS_UNSIGNED = 1,
       TENSORCAST_CLASS_SIGNED = 2,
       TENSORCAST_CLASS_FLOAT = 3,
       TENSORCAST_CLASS_STRING = 4
};

enum { /* flags, combined by | */
       TENSORCAST_TYPE_HAS_SIGN = 1,
       TENSORCAST_TYPE_HAS_ZERO = 2, /* all but float8e8m0 and string */
       TENSORCAST_TYPE_HAS_INFINITY = 4,
       TENSORCAST_TYPE_HAS_NAN = 8,
       TENSORCAST_TYPE_PACKED = 16, /* fewer than 8 bits */
       TENSORCAST_TYPE_FNUZ = 32    /* NaN is the code of -0, which the type does not have */
};

/* One type; the library writes it. */
typedef struct tensorcast_type_info {
  uint32_t struct_size;
  int32_t type; /* TENSORCAST_FLOAT32 ... */
  int32_t type_class;
  int32_t bits;          /* of an element, packed; 0 for string */
  int32_t exponent_bits; /* these three are 0 unless the type is a float */
  int32_t mantissa_bits; /* stored, without the leading one */
  int32_t bias;
  uint32_t flags;
  char name[32];      /* canonical: "float8e4m3fn"; ends in NUL */
  char onnx_name[32]; /* "FLOAT8E4M3FN" */
} tensorcast_type_info;

/* How many types there are. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_type_count(void);
/* Type number `row`, 0 to tensorcast_type_count() - 1, in the order of their ids. Code:
 * TENSORCAST_INVALID_TYPE. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_type_at(int32_t row, tensorcast_type_info* info);
/* The type with an id. Code: TENSORCAST_INVALID_TYPE. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_type_find(int32_t type,
                                                            tensorcast_type_info* info);
/* The canonical name of a type, "undefined" for an unknown id. */
TENSORCAST_API const char* TENSORCAST_CALL tensorcast_type_name(int32_t type);

/* The id that a name stands for. Takes every common spelling and ignores case, '_', '-', '.' and
 * blanks: float16 fp16 f16 half F16, e4m3 fp8_e4m3fn F8_E4M3 float8_e4m3fn FLOAT8E4M3FN,
 * torch.bfloat16, numpy's <f4 ... Code: TENSORCAST_INVALID_TYPE. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_type_parse(const char* name, uint64_t name_bytes,
                                                             int32_t* type);
/* The canonical names nearest to a misspelt one, at most three, for an error message: "float16,
 * bfloat16, float32" and a NUL; "" if none is near. `needed`, unless null, gets the bytes that this
 * takes, including the NUL; 128 are always enough. Code: TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_type_nearest(const char* name,
                                                               uint64_t name_bytes, char* buffer,
                                                               uint64_t buffer_bytes,
                                                               uint64_t* needed);

/* The bytes that n elements take, packed: ceil(n * bits / 8). Codes: TENSORCAST_INVALID_TYPE,
 * TENSORCAST_UNSUPPORTED (strings), TENSORCAST_SIZE_OVERFLOW (the product does not fit 64 bits). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_storage_bytes(int32_t type, uint64_t n,
                                                                uint64_t* bytes);

/* ------------------------------------------------------------------------------- options */

enum { TENSORCAST_ROUND_UP = 0, TENSORCAST_ROUND_DOWN = 1, TENSORCAST_ROUND_NEAREST = 2 };
enum { TENSORCAST_OVERFLOW_WRAP = 0, TENSORCAST_OVERFLOW_SATURATE = 1 };
enum { TENSORCAST_FNUZ_INFINITY_MAX = 0, TENSORCAST_FNUZ_INFINITY_NAN = 1 };
enum { TENSORCAST_FINITE_ONLY_NAN_ZERO = 0, TENSORCAST_FINITE_ONLY_NAN_MAX = 1 };
enum { TENSORCAST_STRING_STYLE_NUMPY = 0, TENSORCAST_STRING_STYLE_ORT = 1 };

/* The library reads it. All zero, or a null pointer where a function takes options, is ONNX's
 * Cast-25 and later. An option that does not apply to a pair of types is ignored, but its value is
 * always checked. */
typedef struct tensorcast_options {
  uint32_t struct_size;
  /* To float8*, values beyond the largest finite value: that value (0), or the format's NaN or Inf
   * (1). ONNX's saturate=1 is 0 here. */
  int32_t no_saturate;
  /* To float8e8m0: which power of two is chosen. Nearest rounds ties up. */
  int32_t round_mode;
  /* From floating types and strings to integers, values out of range: the low bits of the exact
   * integer, or the nearest limit. */
  int32_t integer_overflow;
  /* Inf to the FNUZ types, saturating: the largest finite value, or NaN. */
  int32_t fnuz_infinity;
  /* NaN to float4e2m1, float6e2m3, float6e3m2: the zero of the opposite sign, or the largest. */
  int32_t finite_only_nan;
  /* How numbers are printed: as numpy up to 2.2, or as ONNX Runtime. */
  int32_t string_style;
} tensorcast_options;

#define TENSORCAST_OPTIONS_INIT \
  { sizeof(tensorcast_options), 0, 0, 0, 0, 0, 0 }

/* ------------------------------------------------------------------------------- targets */

enum { /* instruction sets */
       TENSORCAST_TARGET_BEST = 0,
       TENSORCAST_TARGET_SCALAR = 1, /* slow, but runs everywhere */
       TENSORCAST_TARGET_SSE4 = 2,
       TENSORCAST_TARGET_AVX2 = 3,
       TENSORCAST_TARGET_AVX3 = 4, /* AVX-512 F, BW, CD, DQ, VL */
       TENSORCAST_TARGET_NEON = 5,
       TENSORCAST_TARGET_AVX3_DL = 6 /* AVX3 and VBMI, VBMI2, VNNI, BITALG ... (Ice Lake on) */
};

/* The targets that this build has and this machine can run, best first. `count` gets how many there
 * are, at least 1. Code: TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_targets(int32_t* targets, uint64_t capacity,
                                                          uint64_t* count);
/* "best", "scalar", "sse4" ...; "unknown" for an unknown number. */
TENSORCAST_API const char* TENSORCAST_CALL tensorcast_target_name(int32_t target);
/* The target of such a name, spelled exactly so. It need not be one that this machine can run.
 * Code: TENSORCAST_TARGET_UNAVAILABLE. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_target_parse(const char* name,
                                                               uint64_t name_bytes,
                                                               int32_t* target);

/* ------------------------------------------------------------------------------ executor */

/* Where a cast gets its threads. Without one, it runs only on the calling thread. Casts of less
 * than 4 MiB, in and out together (with a loss meter 1 MiB; from or to strings 4096 elements), do
 * not use it, as one thread is faster. The bits are the same either way. */
typedef struct tensorcast_executor tensorcast_executor;

/* An executor over oneTBB with at most `threads` threads (0: all cores). Codes:
 * TENSORCAST_NO_THREADS (the library was built without oneTBB), TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_executor_create(uint32_t threads,
                                                                  tensorcast_executor** executor);

/* One piece of the library's work. It never throws. */
typedef void(TENSORCAST_CALL* tensorcast_task)(void* task_context, size_t index);
/* The caller's own thread pool: calls task(task_context, i) once for each i in [0, tasks), on any
 * threads in any order, and returns when all have returned. If it has not made `tasks` calls when
 * it returns, the cast fails with TENSORCAST_EXECUTOR_FAILED, and what the destination and the loss
 * meter then hold is unspecified. Several casts may call it at once. */
typedef void(TENSORCAST_CALL* tensorcast_parallel_for)(void* context, size_t tasks,
                                                       tensorcast_task task, void* task_context);
/* An executor over the caller's threads, of which `concurrency` run at once (0 counts as 1).
 * `context` is passed to parallel_for; it may be null, and must live as long as the executor. Code:
 * TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_executor_create_custom(uint32_t concurrency, tensorcast_parallel_for parallel_for,
                                  void* context, tensorcast_executor** executor);
/* No cast may be using it. */
TENSORCAST_API void TENSORCAST_CALL tensorcast_executor_destroy(tensorcast_executor* executor);

/* --------------------------------------------------------------------------- interrupts */

/* Ends runs early, from another thread or a signal handler. Pass it to runs in tensorcast_run, or
 * as a parameter of the functions in the other headers. A run checks it before each piece of 1 MiB,
 * in and out together, and if it is set ends with TENSORCAST_INTERRUPTED; what its destination and
 * its loss meter then hold is unspecified, and files are as they were. One interrupt may serve any
 * number of runs. */
typedef struct tensorcast_interrupt tensorcast_interrupt;

/* Code: TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_interrupt_create(tensorcast_interrupt** interrupt);
/* wanted 1 ends the runs that have it; 0 makes it ready for new runs. Code:
 * TENSORCAST_INVALID_OPTION. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_interrupt_set(tensorcast_interrupt* interrupt,
                                                                int32_t wanted);
/* No run may be using it. */
TENSORCAST_API void TENSORCAST_CALL tensorcast_interrupt_destroy(tensorcast_interrupt* interrupt);

/* ---------------------------------------------------------------------------------- loss */

/* What happened to an element. Each is counted under the first kind from TENSORCAST_LOSS_NAN to
 * TENSORCAST_LOSS_ROUNDED that applies. */
enum {
  TENSORCAST_LOSS_NAN = 0,         /* NaN stayed NaN */
  TENSORCAST_LOSS_NAN_LOST = 1,    /* NaN became a number */
  TENSORCAST_LOSS_TO_NAN = 2,      /* a number or Inf became NaN */
  TENSORCAST_LOSS_EXACT = 3,       /* equal as numbers */
  TENSORCAST_LOSS_WRAPPED = 4,     /* an integer that did not fit gave its low bits */
  TENSORCAST_LOSS_TO_INFINITY = 5, /* finite became Inf */
  TENSORCAST_LOSS_TO_LIMIT = 6,    /* a value beyond the type's range became its end */
  TENSORCAST_LOSS_TO_ZERO = 7,     /* nonzero became zero */
  TENSORCAST_LOSS_ROUNDED = 8,     /* everything else */
  /* Counted as well: */
  TENSORCAST_LOSS_TO_SUBNORMAL = 9,    /* the result is a nonzero subnormal */
  TENSORCAST_LOSS_ZERO_SIGN_LOST = 10, /* -0 became +0 in a floating type */
  TENSORCAST_LOSS_UNDEFINED = 11,      /* ONNX's specification leaves this result open */

  TENSORCAST_LOSS_KINDS = 12,
  TENSORCAST_LOSS_PARTITION = 9, /* the counts of the first nine sum to `elements` */
  TENSORCAST_LOSS_SLOTS = 16     /* size of a report's arrays; entries from KINDS on are 0 */
};

/* "nan", "nan_lost", "to_nan", "exact" ...; "unknown" for an unknown number. */
TENSORCAST_API const char* TENSORCAST_CALL tensorcast_loss_name(int32_t kind);

/* One element: its index in the tensor and its codes before and after, right-aligned.
 * tensorcast_cast_code(type, code, TENSORCAST_FLOAT64, ...) gives a value for one. */
typedef struct tensorcast_loss_example {
  uint64_t index;
  uint64_t source_code;
  uint64_t result_code;
} tensorcast_loss_example;

/* The library writes it. */
typedef struct tensorcast_loss_report {
  uint32_t struct_size;
  uint32_t kinds; /* how many of `counts` and `first` are set: TENSORCAST_LOSS_KINDS */
  int32_t from;   /* 0 where meters of several source types were merged */
  int32_t to;
  uint64_t elements;
  uint64_t counts[TENSORCAST_LOSS_SLOTS]; /* by kind */
  /* The first element (lowest index) of each kind; meaningful if its count is not 0. */
  tensorcast_loss_example first[TENSORCAST_LOSS_SLOTS];
  /* Errors, in double, over the `compared` elements that are finite on both sides. */
  uint64_t compared;
  double max_abs_error;
  tensorcast_loss_example max_abs_example; /* meaningful where compared > 0 */
  uint64_t compared_nonzero;               /* those whose source is not 0 */
  double max_rel_error;
  tensorcast_loss_example max_rel_example; /* meaningful where compared_nonzero > 0 */
  double sum_squares;                      /* of the source's values */
  double sum_squared_error;
  double rmse;   /* 0 if compared is 0 */
  double snr_db; /* +Inf if nothing was lost */
  /* Over the finite elements of the source: */
  uint64_t finite;
  double amax;             /* largest magnitude */
  double smallest_nonzero; /* smallest magnitude other than 0; 0 if there is none */
} tensorcast_loss_report;

/* Measures the loss of one tensor while casts run over it, chunk by chunk: pass it to them in
 * tensorcast_run. The figures do not depend on the chunking, the threads or the target. */
typedef struct tensorcast_loss_meter tensorcast_loss_meter;

/* For casts with exactly these types and options. Codes: TENSORCAST_INVALID_TYPE,
 * TENSORCAST_UNSUPPORTED (strings), TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_loss_meter_create(
    int32_t from, int32_t to, const tensorcast_options* options, tensorcast_loss_meter** meter);
/* Adds to `meter` what `other`, with the same destination and options, measured: another chunk of
 * the same tensor, or another tensor. The figures do not depend on the order of merges. Only the
 * examples do, if the tensors differ: their indices are then no longer those of one tensor.
 * Afterwards `meter` can continue with its own types, where its own last run stopped. Codes:
 * TENSORCAST_LOSS_MISMATCH, TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_loss_meter_merge(tensorcast_loss_meter* meter, const tensorcast_loss_meter* other);
/* What has been measured so far. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_loss_meter_report(const tensorcast_loss_meter* meter, tensorcast_loss_report* report);
/* The meter as bytes, exactly, for another process or to continue later. They are little-endian,
 * and equal meters have equal bytes on every machine. `size` is set to their number; if `bytes` is
 * null or `capacity` is 0, that is all. Code: TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_loss_meter_save(
    const tensorcast_loss_meter* meter, void* bytes, size_t capacity, size_t* size);
/* Restores a saved meter, with its types, its options and the place where its last run stopped.
 * Codes: TENSORCAST_BAD_FILE (the bytes are not what tensorcast_loss_meter_save writes),
 * TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_loss_meter_load(const void* bytes, size_t size,
                                                                  tensorcast_loss_meter** meter);
TENSORCAST_API void TENSORCAST_CALL tensorcast_loss_meter_destroy(tensorcast_loss_meter* meter);

/* --------------------------------------------------------------------------------- casts */

/* How a cast runs; the library reads it. A null pointer is the same as all zero. */
typedef struct tensorcast_run {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  /* With `loss`: the index of the run's first element in its tensor. It must be a multiple of 1024,
   * or the index at which this meter's last run stopped; else TENSORCAST_LOSS_POSITION. */
  uint64_t loss_index;
  tensorcast_executor* executor;         /* null: the calling thread alone */
  tensorcast_loss_meter* loss;           /* null: nothing is measured */
  const tensorcast_interrupt* interrupt; /* null: the run ends when it is done */
} tensorcast_run;

#define TENSORCAST_RUN_INIT \
  { sizeof(tensorcast_run), 0, 0, NULL, NULL, NULL }

/* Casts a whole tensor of n elements: reads and writes tensorcast_storage_bytes(type, n) bytes, the
 * pad bits of a packed destination as zero. The buffers may be the same if both types have the same
 * width; any other overlap is refused. `options` and `run` may be null. Codes: those of
 * tensorcast_plan_create, except for the target, and of tensorcast_plan_run. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_cast(int32_t from, const void* source,
                                                       uint64_t source_bytes, int32_t to,
                                                       void* destination,
                                                       uint64_t destination_bytes, uint64_t n,
                                                       const tensorcast_options* options,
                                                       const tensorcast_run* run);

/* Read and write the code of element `index` of a buffer, right-aligned. Writing leaves the
 * neighbouring bits as they are and ignores bits of `code` above the type's width. Codes:
 * TENSORCAST_INVALID_TYPE, TENSORCAST_WRONG_CALL (strings), TENSORCAST_SIZE_OVERFLOW,
 * TENSORCAST_BUFFER_TOO_SMALL (the element lies beyond). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_load_code(int32_t type, const void* buffer,
                                                            uint64_t bytes, uint64_t index,
                                                            uint64_t* code);
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_store_code(int32_t type, void* buffer,
                                                             uint64_t bytes, uint64_t index,
                                                             uint64_t code);

/* Convert n elements between the packed layout, from index `first` of `packed` on, and one element
 * in each byte, the layout of numpy and ml_dtypes. Unpacking writes the bits above the type's width
 * as zero; packing ignores them, and leaves the bits of `packed` outside the range as they were.
 * The buffers must not overlap. Types of eight bits and more have the same layout on both sides and
 * are copied. Codes: TENSORCAST_INVALID_TYPE, TENSORCAST_WRONG_CALL (strings),
 * TENSORCAST_SIZE_OVERFLOW, TENSORCAST_BUFFER_TOO_SMALL, TENSORCAST_OVERLAP. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_unpack(int32_t type, const void* packed,
                                                         uint64_t packed_bytes, uint64_t first,
                                                         void* codes, uint64_t codes_bytes,
                                                         uint64_t n);
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_pack(int32_t type, const void* codes,
                                                       uint64_t codes_bytes, void* packed,
                                                       uint64_t packed_bytes, uint64_t first,
                                                       uint64_t n);

/* Casts one element, given as its code, right-aligned. Bits above the type's width are ignored.
 * `options` may be null. Codes: TENSORCAST_INVALID_TYPE, TENSORCAST_WRONG_CALL (strings). */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_cast_code(int32_t from, uint64_t code, int32_t to,
                                                            const tensorcast_options* options,
                                                            uint64_t* result);

/* A cast with its types and options bound: worth it for many casts of one kind, and for parts of
 * buffers. */
typedef struct tensorcast_plan tensorcast_plan;

/* `target` is TENSORCAST_TARGET_BEST or the one to use. `options` may be null. Codes:
 * TENSORCAST_INVALID_TYPE, TENSORCAST_TARGET_UNAVAILABLE, TENSORCAST_OUT_OF_MEMORY. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_plan_create(int32_t from, int32_t to,
                                                              const tensorcast_options* options,
                                                              int32_t target,
                                                              tensorcast_plan** plan);
/* The target the plan uses. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_plan_target(const tensorcast_plan* plan,
                                                              int32_t* target);

/* Casts n elements, from element source_first of `source` on, into those from element
 * destination_first of `destination` on. A packed type may start inside a byte; bits of
 * `destination` outside the range stay as they were. The buffers may be exactly the same range if
 * both types have the same width; any other overlap is refused. `run` may be null. Codes:
 * TENSORCAST_WRONG_CALL (the plan casts strings), TENSORCAST_SIZE_OVERFLOW,
 * TENSORCAST_BUFFER_TOO_SMALL, TENSORCAST_OVERLAP; with a loss meter TENSORCAST_LOSS_MISMATCH,
 * TENSORCAST_LOSS_POSITION and TENSORCAST_OUT_OF_MEMORY; with an executor
 * TENSORCAST_EXECUTOR_FAILED; with an interrupt TENSORCAST_INTERRUPTED. After these last two, what
 * the destination and the meter hold is unspecified. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_plan_run(const tensorcast_plan* plan, const void* source, uint64_t source_bytes,
                    uint64_t source_first, void* destination, uint64_t destination_bytes,
                    uint64_t destination_first, uint64_t n, const tensorcast_run* run);
TENSORCAST_API void TENSORCAST_CALL tensorcast_plan_destroy(tensorcast_plan* plan);

/* ------------------------------------------------------------------------------- strings */

/* Many strings are one buffer of bytes and a table of offsets, the layout of Apache Arrow's
 * large_utf8. String i is bytes offsets[i] to offsets[i + 1] - 1, so n strings take n + 1 offsets.
 * Offsets never decrease, and need not begin at 0. offsets_count is the number of entries in the
 * table: n + 1, or 0 for no strings. Every call on many strings can give TENSORCAST_SIZE_OVERFLOW,
 * TENSORCAST_BUFFER_TOO_SMALL and TENSORCAST_OVERLAP; if it takes tables of offsets,
 * TENSORCAST_MISALIGNED and TENSORCAST_BAD_OFFSETS; if it takes types, TENSORCAST_INVALID_TYPE and
 * TENSORCAST_WRONG_CALL; if it takes `run`, TENSORCAST_UNSUPPORTED (a loss meter),
 * TENSORCAST_EXECUTOR_FAILED, TENSORCAST_INTERRUPTED and TENSORCAST_OUT_OF_MEMORY. After
 * TENSORCAST_EXECUTOR_FAILED and TENSORCAST_INTERRUPTED, what the output holds is unspecified. */

/* The text that was refused: the one with the lowest index, whatever the number of threads. The
 * library writes it, and only on TENSORCAST_NOT_A_NUMBER and TENSORCAST_NOT_AN_INTEGER.
 */
typedef struct tensorcast_parse_failure {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t index; /* counted from the first of the strings given, not from source_first */
  /* Escaped to printable ASCII, at most 64 characters (it ends in "..." if it was cut), and a NUL.
   */
  char text[65];
} tensorcast_parse_failure;

/* Parses all strings into elements: writes tensorcast_storage_bytes(to, offsets_count - 1) bytes,
 * pad bits as zero. `options`, `run` and `failure` may be null. Codes, beside those above:
 * TENSORCAST_NOT_A_NUMBER and TENSORCAST_NOT_AN_INTEGER, after which what `destination` holds is
 * unspecified. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_parse_strings(
    const uint64_t* offsets, uint64_t offsets_count, const char* bytes, uint64_t bytes_size,
    int32_t to, void* destination, uint64_t destination_bytes, const tensorcast_options* options,
    const tensorcast_run* run, tensorcast_parse_failure* failure);

/* How many bytes tensorcast_print_strings writes for these n elements. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_printed_bytes(int32_t from, const void* source,
                                                                uint64_t source_bytes, uint64_t n,
                                                                const tensorcast_options* options,
                                                                const tensorcast_run* run,
                                                                uint64_t* printed);

/* Prints n elements: writes offsets[0] to offsets[n], beginning at 0, and the texts into `bytes`,
 * with nothing between them. On TENSORCAST_BUFFER_TOO_SMALL what both hold is unspecified. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_print_strings(
    int32_t from, const void* source, uint64_t source_bytes, uint64_t n, uint64_t* offsets,
    uint64_t offsets_count, char* bytes, uint64_t bytes_size, const tensorcast_options* options,
    const tensorcast_run* run);

/* The cast from string to string: copies the texts, with offsets from 0 on and nothing between
 * them. The source's table has offsets_count entries, and the destination's at least as many. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_copy_strings(
    const uint64_t* offsets, uint64_t offsets_count, const char* bytes, uint64_t bytes_size,
    uint64_t* destination_offsets, uint64_t destination_offsets_count, char* destination,
    uint64_t destination_bytes);

/* Parses with a plan whose `from` is TENSORCAST_STRING: n texts, from text source_first on. */
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_plan_parse(const tensorcast_plan* plan, const uint64_t* offsets, uint64_t offsets_count,
                      const char* bytes, uint64_t bytes_size, uint64_t source_first,
                      void* destination, uint64_t destination_bytes, uint64_t destination_first,
                      uint64_t n, const tensorcast_run* run, tensorcast_parse_failure* failure);
/* Print with a plan whose `to` is TENSORCAST_STRING: n elements, from element source_first on. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_plan_printed_bytes(
    const tensorcast_plan* plan, const void* source, uint64_t source_bytes, uint64_t source_first,
    uint64_t n, const tensorcast_run* run, uint64_t* printed);
TENSORCAST_API int32_t TENSORCAST_CALL
tensorcast_plan_print(const tensorcast_plan* plan, const void* source, uint64_t source_bytes,
                      uint64_t source_first, uint64_t n, uint64_t* offsets, uint64_t offsets_count,
                      char* bytes, uint64_t bytes_size, const tensorcast_run* run);

/* Parses one text to an element's code. `options` may be null. Codes: TENSORCAST_INVALID_TYPE,
 * TENSORCAST_WRONG_CALL (the type is string), TENSORCAST_NOT_A_NUMBER, TENSORCAST_NOT_AN_INTEGER.
 */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_parse_value(const char* text, uint64_t text_bytes,
                                                              int32_t to,
                                                              const tensorcast_options* options,
                                                              uint64_t* code);

/* Enough bytes for every text of tensorcast_print_value, including the NUL. */
#define TENSORCAST_PRINTED_VALUE_BYTES 33
/* Prints an element's code as text and a NUL. `needed`, unless null, gets the bytes that this
 * takes, including the NUL. Codes: TENSORCAST_INVALID_TYPE, TENSORCAST_WRONG_CALL (the type is
 * string), TENSORCAST_BUFFER_TOO_SMALL. */
TENSORCAST_API int32_t TENSORCAST_CALL tensorcast_print_value(int32_t from, uint64_t code,
                                                              const tensorcast_options* options,
                                                              char* buffer, uint64_t buffer_bytes,
                                                              uint64_t* needed);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-*) */

#endif /* TENSORCAST_TENSORCAST_H_ */
