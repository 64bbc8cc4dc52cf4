// How a tensor's magnitudes lie beside what floating types hold, drawn with characters.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_EXPONENT_HISTOGRAM_H_
#define TENSORCAST_PROGRAMS_DISPLAY_EXPONENT_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "convert/exponents.h"

namespace tensorcast::tool {

// Bars over an axis of powers of two, below it a line for each type, lines of at most `width`
// columns; empty where no number has an exponent. Where there are more exponents than columns,
// several share one.
std::string ExponentHistogram(const convert::ExponentCounts& exponents, std::size_t width);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_EXPONENT_HISTOGRAM_H_
