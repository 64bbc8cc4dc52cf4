// Tensors of the report's tests: values, what a cast of them loses, and the oracle's figures.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_REPORT_MEASURED_TENSOR_H_
#define TENSORCAST_TESTS_REPORT_MEASURED_TENSOR_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "formats/tensor_info.h"
#include "oracle/loss.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {

using Codes = std::vector<std::uint64_t>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The codes of doubles, rounded to the type by the oracle.
Codes CodesOf(DataType type, const std::vector<double>& values);
// n normally distributed doubles around 0; the same for the same seed.
std::vector<double> Normal(std::size_t n, double deviation, unsigned seed);

// What the library measures, and what the oracle does.
LossReport Measured(DataType from, const Codes& codes, DataType to);
oracle::LossFigures Expected(DataType from, const Codes& codes, DataType to);

// A tensor of one dimension.
formats::TensorInfo InfoOf(std::string name, DataType type, std::uint64_t elements);

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_REPORT_MEASURED_TENSOR_H_
