// What quantisers' losses are tested with: weights whose blocks of 1,024 are each of one kind, and
// a meter's bytes.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_SCALE_KINDS_OF_BLOCKS_H_
#define TENSORCAST_TESTS_SCALE_KINDS_OF_BLOCKS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::scale {

enum class BlockOf { kWeights, kPadded, kMinusZeros, kTiny, kLarge, kEqual, kNan, kZeros, kKinds };

inline std::vector<float> KindsOfBlocks(std::uint64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, 0.05f);
  std::vector<float> x(n);
  BlockOf kind = BlockOf::kWeights;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (i % 1024 == 0)
      kind = static_cast<BlockOf>(random() % static_cast<unsigned>(BlockOf::kKinds));
    const bool some = random() % 50 == 0;
    float value = normal(random);
    switch (kind) {
      case BlockOf::kPadded: value = i % 100 < 30 ? 0 : value; break;
      case BlockOf::kMinusZeros: value = some ? -0.0f : value; break;
      case BlockOf::kTiny: value *= some ? 1e-7f : 1e-3f; break;
      case BlockOf::kLarge: value *= some ? 40.0f : 2.0f; break;
      case BlockOf::kEqual: value = value < 0 ? -0.0625f : 0.1f; break;
      case BlockOf::kNan: value = some ? std::numeric_limits<float>::quiet_NaN() : value; break;
      case BlockOf::kZeros: value = 0; break;
      default: break;
    }
    x[i] = value;
  }
  return x;
}

inline std::vector<std::byte> Saved(const LossMeter& meter) {
  std::vector<std::byte> bytes(LossMeter::SavedBytes());
  EXPECT_TRUE(meter.Save(bytes).ok());
  return bytes;
}

}  // namespace tensorcast::scale

#endif  // TENSORCAST_TESTS_SCALE_KINDS_OF_BLOCKS_H_
