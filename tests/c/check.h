/* What the C tests check with, and the bits of floating values.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TENSORCAST_TESTS_C_CHECK_H_
#define TENSORCAST_TESTS_C_CHECK_H_

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

#define CHECK_INT(value, expected)                                                         \
  do {                                                                                     \
    const long long value_ = (long long)(value);                                           \
    const long long expected_ = (long long)(expected);                                     \
    if (value_ != expected_) {                                                             \
      fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #value, value_, \
              expected_);                                                                  \
      ++failures;                                                                          \
    }                                                                                      \
  } while (0)

#define CHECK_TEXT(value, expected)                                                            \
  do {                                                                                         \
    const char* value_ = (value);                                                              \
    if (strcmp(value_, (expected)) != 0) {                                                     \
      fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #value, value_, \
              (expected));                                                                     \
      ++failures;                                                                              \
    }                                                                                          \
  } while (0)

/* The end of main. */
#define RETURN_FAILURES                                                        \
  do {                                                                         \
    if (failures != 0) fprintf(stderr, "%s: %d failed\n", __FILE__, failures); \
    return failures == 0 ? 0 : 1;                                              \
  } while (0)

#endif /* TENSORCAST_TESTS_C_CHECK_H_ */
