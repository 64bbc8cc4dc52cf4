// How a tensor's magnitudes lie beside what floating types hold, drawn with characters.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_EXPONENT_HISTOGRAM_H_
#define TENSORCAST_PROGRAMS_DISPLAY_EXPONENT_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "convert/exponents.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// The types whose ranges are held beside a histogram, the widest first.
inline constexpr DataType kHistogramTypes[] = {
    DataType::kBfloat16,   DataType::kFloat16,    DataType::kFloat8E5M2, DataType::kFloat8E4M3FN,
    DataType::kFloat6E3M2, DataType::kFloat6E2M3, DataType::kFloat4E2M1};

// What a type makes of the numbers of a binade, [2^e, 2^(e+1)).
enum class Zone : std::uint8_t { kZero, kSubnormal, kNormal, kBeyond };
// Of the binade in which the greatest value lies this is kNormal, and kSubnormal of that in which
// some are rounded to the least.
Zone ZoneOf(DataType type, int exponent);

// How many of the values that were counted a cast without a scale makes zero, makes subnormal, and
// finds beyond the type's range, as far as their exponents tell.
struct ZoneCounts {
  std::uint64_t to_zero = 0;  // without those that are
  std::uint64_t to_subnormal = 0;
  std::uint64_t beyond = 0;
};
ZoneCounts ZonesOf(DataType type, const convert::ExponentCounts& exponents);

// Bars over an axis of powers of two, below it a line for each type, lines of at most `width`
// columns; empty where no number has an exponent. Where there are more exponents than columns,
// several share one.
std::string ExponentHistogram(const convert::ExponentCounts& exponents, std::size_t width);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_EXPONENT_HISTOGRAM_H_
