// Texts that are hard to read right: exact decimals of the values of a type, of the midpoints
// between them, and of what lies a hair's breadth beside those, in many layouts.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_TEXT_PLANTED_TEXTS_H_
#define TENSORCAST_TESTS_TEXT_PLANTED_TEXTS_H_

#include <string>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {

// Where reading a text as `to` changes its answer. Every finite code of a floating type of at most
// 16 bits; every binade, the ends and random codes of the others; of integers the halves about
// their limits and about those of [-2^63, 2^64).
std::vector<std::string> PlantedTexts(const TypeInfo& to);

// Texts for any destination: words, limits, huge exponents, many digits, a part of every type's
// planted texts, random ones; some are no numbers.
std::vector<std::string> CommonTexts();

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_TEXT_PLANTED_TEXTS_H_
