// The codes a test casts: every code of the narrow types; planted and random codes of the wide.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_CORE_SOURCE_CODES_H_
#define TENSORCAST_TESTS_CORE_SOURCE_CODES_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "oracle/cast.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {

// True where the run is a seeded sample of the full product (the sanitizer builds): set at
// compile time by TENSORCAST_TEST_SAMPLE or at run time by the environment variable of that name.
bool Sampled();
// `full` elements, or about a tenth of them where sampled.
std::size_t Scaled(std::size_t full);
// Whether a pair is one of those that are tested: one in `full`, or where sampled one in `sampled`.
bool Takes(const TypeInfo& from, const TypeInfo& to, std::uint32_t full, std::uint32_t sampled);
// `full`, or where sampled about a tenth of it, in its order; the same for the same seed.
template <class T> std::vector<T> SampleOf(std::vector<T> full, std::uint64_t seed = 1) {
  if (!Sampled()) return full;
  std::vector<T> sample;
  std::sample(full.begin(), full.end(), std::back_inserter(sample), Scaled(full.size()),
              std::mt19937_64(seed));
  return sample;
}

// Every code of a type of at most 16 bits, again and again in shifting order up to at least 4,096
// elements and not to a multiple of anything, so that each code meets many lanes.
std::vector<std::uint64_t> AllCodes(const TypeInfo& row);

// Codes of a 32- or 64-bit type that are hard whatever the destination: random bits, values near
// one, every binade, subnormals, limits, NaN payloads, powers of two and their neighbours.
std::vector<std::uint64_t> HardCodes(const TypeInfo& row);

// Codes of `from` on and beside every place where casting to `to` changes its answer: the values
// of `to`, the midpoints between them, its limits.
std::vector<std::uint64_t> EdgesOf(const TypeInfo& from, const TypeInfo& to);

// A few hundred codes with every kind of special among them, of any type; the same for the same
// seed.
std::vector<std::uint64_t> MixedCodes(const TypeInfo& from, const TypeInfo& to, std::size_t n,
                                      std::uint64_t seed);

// Names a test parameter that is a type after it.
std::string TypeParameterName(const ::testing::TestParamInfo<DataType>& info);

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_CORE_SOURCE_CODES_H_
