// The steps of GGUF's quantisers over the values of a block, for each instruction set: the same
// float32 operations one by one, so that all of them give the same bytes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_GGUF_LANES_H_
#define TENSORCAST_SRC_SCALE_GGUF_LANES_H_

#include <cstddef>
#include <cstdint>

namespace tensorcast::scale {

// To be called in the default floating-point environment (core/fp_environment.h). Values are finite
// but for all_finite's, and so many that n is 16 or 32, or there a multiple of 16.
struct GgufLanes {
  bool (*all_finite)(const float* x, std::size_t n);
  // The largest magnitude; and the first that has it, with its sign.
  float (*magnitude)(const float* x, std::size_t n);
  float (*largest)(const float* x, std::size_t n);
  // The least and the largest value; where either is a zero its sign may be another's.
  void (*range)(const float* x, std::size_t n, float* least, float* most);
  // Of 32 values: x * inverse to the nearest integer, ties away from zero.
  void (*round_away)(const float* x, float inverse, std::int8_t* codes);
  // Of 32 values: min((x - least) * inverse + shift without its fraction, most) - middle.
  void (*steps)(const float* x, float least, float inverse, float shift, int most, int middle,
                std::int8_t* codes);
  // The codes of float4e2m1 of which `half` times twice the value is nearest; of several the first,
  // and then never -0.
  void (*nearest_e2m1)(const float* x, std::size_t n, float half, std::int8_t* codes);
};

// Twice the magnitudes of float4e2m1.
inline constexpr float kTwiceE2M1[8] = {0, 1, 2, 3, 4, 6, 8, 12};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_GGUF_LANES_H_
