/* The numeric rows of docs/semantics.md section 6, as literals: codes of types by their ONNX ids.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_TESTS_C_PUBLISHED_VECTORS_H_
#define TENSORCAST_TESTS_C_PUBLISHED_VECTORS_H_

#include "tensorcast/tensorcast.h"

typedef struct published_vector {
  int32_t from, to;
  uint64_t input, expected;
  tensorcast_options options;
} published_vector;

#define NO_SATURATE \
  { sizeof(tensorcast_options), 1, 0, 0, 0, 0, 0 }
#define NO_SATURATE_DOWN \
  { sizeof(tensorcast_options), 1, TENSORCAST_ROUND_DOWN, 0, 0, 0, 0 }
#define DOWN \
  { sizeof(tensorcast_options), 0, TENSORCAST_ROUND_DOWN, 0, 0, 0, 0 }
#define NEAREST \
  { sizeof(tensorcast_options), 0, TENSORCAST_ROUND_NEAREST, 0, 0, 0, 0 }
#define SATURATE_INTEGER \
  { sizeof(tensorcast_options), 0, 0, TENSORCAST_OVERFLOW_SATURATE, 0, 0, 0 }
#define FNUZ_NAN \
  { sizeof(tensorcast_options), 0, 0, 0, TENSORCAST_FNUZ_INFINITY_NAN, 0, 0 }
#define FINITE_MAX \
  { sizeof(tensorcast_options), 0, 0, 0, 0, TENSORCAST_FINITE_ONLY_NAN_MAX, 0 }
#define DEFAULT TENSORCAST_OPTIONS_INIT

static const published_vector published_vectors[] = {
    {11, 17, 0x3FF1000000001000, 0x39, DEFAULT},   /* 1.0625 + 2^-40 */
    {11, 16, 0x3FF0100000001000, 0x3F81, DEFAULT}, /* 1 + 2^-8 + 2^-40 */
    {7, 16, 16973823, 0x4B81, DEFAULT},
    {11, 23, 0x3FD0000000004000, 0x1, DEFAULT}, /* 0.25 + 2^-40 */
    {1, 17, 0x43F00000, 0x7F, NO_SATURATE},     /* 480 */
    {1, 19, 0x47700000, 0x7C, NO_SATURATE},     /* 61440 */
    {1, 18, 0xB089705F, 0x00, DEFAULT},         /* -1e-9 */
    {24, 24, 0x00, 0x00, DEFAULT},
    {1, 24, 0x00200000, 0x00, DEFAULT}, /* 2^-128 */
    {1, 24, 0x7F800000, 0xFE, DEFAULT}, /* Inf */
    {1, 24, 0x00500000, 0x00, NEAREST}, /* 1.25 x 2^-127 */
    {11, 24, 0x3FF0000000400000, 0x80, DEFAULT},
    {13, 24, 0xFFFFFFFFFFFFFFFF, 0xBE, DOWN},
    {1, 6, 0x7FC00000, 0, DEFAULT},          /* NaN */
    {1, 6, 0x4F32D05E, 0xB2D05E00, DEFAULT}, /* 3e9 to -1294967296 */
    {1, 6, 0xCF32D05E, 0x4D2FA200, DEFAULT},
    {1, 6, 0x4F32D05E, 0x7FFFFFFF, SATURATE_INTEGER},
    {1, 2, 0x43960000, 44, DEFAULT},  /* 300 */
    {1, 2, 0xBF800000, 255, DEFAULT}, /* -1 */
    {1, 22, 0x41000000, 0x8, DEFAULT},
    {1, 22, 0x3FC00000, 2, DEFAULT}, /* 1.5 */
    {1, 22, 0x40200000, 2, DEFAULT}, /* 2.5 */
    {5, 3, 200, 0xC8, DEFAULT},
    {1, 27, 0x40F80000, 0x1F, DEFAULT}, /* 7.75 */
    {1, 27, 0x7FC00000, 0x20, DEFAULT},
    {1, 27, 0xFFC00000, 0x00, DEFAULT},
    {1, 27, 0x7FC00000, 0x1F, FINITE_MAX},
    {1, 27, 0xB089705F, 0x20, DEFAULT},
    {1, 27, 0x7F800000, 0x1F, DEFAULT},
    {1, 28, 0x41C80000, 0x1E, DEFAULT}, /* 25 */
    {1, 28, 0x41F00000, 0x1F, DEFAULT}, /* 30 */
    {1, 28, 0x3D000000, 0x00, DEFAULT}, /* 0.03125 */
    {11, 28, 0x3FA0000000020000, 0x01, DEFAULT},
    {11, 10, 0x7FF0000000000001, 0x7E00, DEFAULT},
    {9, 24, 0, 0xFF, NO_SATURATE},
    {1, 24, 0x7F200000, 0xFF, NO_SATURATE_DOWN}, /* 1.25 x 2^127 */
    {1, 17, 0x43E80000, 0x7E, NO_SATURATE},      /* 464 */
    {1, 17, 0x43E80003, 0x7F, NO_SATURATE},      /* 464.0001 */
    {1, 18, 0x7F800000, 0x7F, DEFAULT},
    {1, 18, 0x7F800000, 0x80, FNUZ_NAN},
};
enum { PUBLISHED_VECTORS = sizeof published_vectors / sizeof published_vectors[0] };

#endif /* TENSORCAST_TESTS_C_PUBLISHED_VECTORS_H_ */
