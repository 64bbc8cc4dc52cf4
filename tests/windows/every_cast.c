/* Prints a digest of every cast's results and losses, and of every type's texts, on the targets
 * that both systems have: what it prints is the same on each, bit for bit.
 *
 *   every_cast > digests.txt
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorcast/tensorcast.h"

enum { kElements = 1 << 16, kTexts = 1 << 12, kWidest = 8 };

static const tensorcast_options kOptions[] = {
    TENSORCAST_OPTIONS_INIT,
    {sizeof(tensorcast_options), 1, TENSORCAST_ROUND_DOWN, TENSORCAST_OVERFLOW_SATURATE,
     TENSORCAST_FNUZ_INFINITY_NAN, TENSORCAST_FINITE_ONLY_NAN_MAX, TENSORCAST_STRING_STYLE_ORT},
    {sizeof(tensorcast_options), 0, TENSORCAST_ROUND_NEAREST, TENSORCAST_OVERFLOW_SATURATE,
     TENSORCAST_FNUZ_INFINITY_NAN, TENSORCAST_FINITE_ONLY_NAN_ZERO, TENSORCAST_STRING_STYLE_NUMPY},
};
enum { kOptionSets = sizeof kOptions / sizeof kOptions[0] };

static const int32_t kTargets[] = {TENSORCAST_TARGET_SSE4, TENSORCAST_TARGET_SCALAR};

static unsigned char source[kElements * kWidest];
static unsigned char destination[kElements * kWidest];

static void check(int32_t status, const char* what) {
  if (status == TENSORCAST_OK) return;
  fprintf(stderr, "%s: %s\n", what, tensorcast_status_text(status));
  exit(1);
}

/* FNV-1a. */
static uint64_t digest(uint64_t so_far, const void* bytes, size_t size) {
  const unsigned char* const all = bytes;
  for (size_t i = 0; i < size; ++i) so_far = (so_far ^ all[i]) * UINT64_C(0x100000001B3);
  return so_far;
}
static const uint64_t kNothing = UINT64_C(0xCBF29CE484222325);

static uint64_t random_bits(uint64_t* state) { /* xorshift64 */
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Every code of a type of at most 16 bits; of a wider one the values of float16 and the codes
 * beside them, and random bits. */
static uint64_t code_of_element(const tensorcast_type_info* type, uint64_t i, uint64_t* state) {
  if (type->bits <= 16) return i;
  if (i % 4 == 3) return random_bits(state);
  uint64_t code = 0;
  check(tensorcast_cast_code(TENSORCAST_FLOAT16, i & ~UINT64_C(3), type->type, NULL, &code),
        "a code");
  return code + i % 4 - 1;
}

static void fill_source(const tensorcast_type_info* type, uint64_t bytes) {
  uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
  memset(source, 0, sizeof source);
  for (uint64_t i = 0; i < kElements; ++i) {
    check(tensorcast_store_code(type->type, source, bytes, i, code_of_element(type, i, &state)),
          type->name);
  }
}

static void print_casts(const tensorcast_type_info* from, const tensorcast_type_info* to) {
  uint64_t from_bytes = 0, to_bytes = 0;
  check(tensorcast_storage_bytes(from->type, kElements, &from_bytes), from->name);
  check(tensorcast_storage_bytes(to->type, kElements, &to_bytes), to->name);
  for (int set = 0; set < kOptionSets; ++set) {
    for (size_t t = 0; t < sizeof kTargets / sizeof kTargets[0]; ++t) {
      static unsigned char saved[1 << 16];
      size_t size = 0;
      tensorcast_plan* plan = NULL;
      tensorcast_run run = TENSORCAST_RUN_INIT;
      check(tensorcast_plan_create(from->type, to->type, &kOptions[set], kTargets[t], &plan),
            tensorcast_target_name(kTargets[t]));
      check(tensorcast_loss_meter_create(from->type, to->type, &kOptions[set], &run.loss),
            "a meter");
      memset(destination, 0, sizeof destination);
      check(tensorcast_plan_run(plan, source, from_bytes, 0, destination, to_bytes, 0, kElements,
                                &run),
            to->name);
      check(tensorcast_loss_meter_save(run.loss, saved, sizeof saved, &size), "what was lost");
      printf("%s to %s, options %d, %s: %016" PRIx64 " loss %016" PRIx64 "\n", from->name, to->name,
             set, tensorcast_target_name(kTargets[t]), digest(kNothing, destination, to_bytes),
             digest(kNothing, saved, size));
      tensorcast_loss_meter_destroy(run.loss);
      tensorcast_plan_destroy(plan);
    }
  }
}

/* Each code's text in both styles, and the codes to which the texts are read. */
static void print_texts(const tensorcast_type_info* type, uint64_t bytes) {
  for (int style = 0; style < 2; ++style) {
    uint64_t texts = kNothing, codes = kNothing;
    for (uint64_t i = 0; i < kTexts; ++i) {
      char text[TENSORCAST_PRINTED_VALUE_BYTES];
      uint64_t code = 0, read = 0;
      check(
          tensorcast_load_code(type->type, source, bytes, i * (kElements / kTexts) + i % 16, &code),
          type->name);
      check(tensorcast_print_value(type->type, code, &kOptions[style], text, sizeof text, NULL),
            type->name);
      check(tensorcast_parse_value(text, strlen(text), type->type, NULL, &read), text);
      texts = digest(texts, text, strlen(text) + 1);
      codes = digest(codes, &read, sizeof read);
    }
    printf("%s, style %d: texts %016" PRIx64 " read %016" PRIx64 "\n", type->name, style, texts,
           codes);
  }
}

int main(void) {
  for (int32_t row = 0; row < tensorcast_type_count(); ++row) {
    tensorcast_type_info from = {.struct_size = sizeof from};
    uint64_t bytes = 0;
    check(tensorcast_type_at(row, &from), "a row");
    if (from.bits == 0) continue; /* strings */
    check(tensorcast_storage_bytes(from.type, kElements, &bytes), from.name);
    fill_source(&from, bytes);
    for (int32_t other = 0; other < tensorcast_type_count(); ++other) {
      tensorcast_type_info to = {.struct_size = sizeof to};
      check(tensorcast_type_at(other, &to), "a row");
      if (to.bits != 0) print_casts(&from, &to);
    }
    print_texts(&from, bytes);
  }
  return 0;
}
