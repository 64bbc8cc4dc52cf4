// Advice from magnitudes, as data: which type would have held what this one lost.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_REPORT_ADVICE_H_
#define TENSORCAST_SRC_REPORT_ADVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formats/tensor_info.h"
#include "report/cast_tensors.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::report {

// What went wrong with a tensor; the first that holds.
enum class Problem : std::uint8_t {
  kNotPositive,   // zeros or negatives, to a type of powers of two alone
  kNan,           // NaN became numbers
  kInfinity,      // Inf, which the type does not have
  kBeyond,        // values beyond the type's range
  kWrapped,       // integers that did not fit gave their low bits
  kIntegerZeros,  // small values became the integer 0
  kBelow,         // most values below the type's normal range
  kCoarse,        // too few bits
};

// What prevents it.
enum class Prevention : std::uint8_t {
  kOtherType,         // `better` for all tensors
  kOtherTypeHere,     // `better` for the tensors that `patterns` match
  kLeaveAlone,        // no cast of the tensors that `patterns` match
  kSaturateIntegers,  // CastOptions::integer_overflow kSaturate
};

// One piece of advice: of tensors with the same problem, destination and better type.
struct Advice {
  Problem problem = Problem::kCoarse;
  Prevention prevention = Prevention::kOtherType;
  DataType to = DataType::kUndefined;  // what they were cast to
  std::uint32_t worst = 0;             // the worst of them, by its place among the tensors
  std::size_t tensors = 0;             // how many they are
  std::optional<DataType> better;      // the narrowest type that would hold the worst
  // Globs of tensors' names, three at most; none where the worst's name is too long for one.
  std::vector<std::string> patterns;
  std::size_t matched = 0;  // how many of the tensors they match
};

// Whether the output could hold a cast tensor in another type; empty: in any. A model's opset may
// have no Cast from it.
using CanHold = std::function<bool(const formats::TensorInfo&, DataType)>;

// Where values were lost in a way that another type or option prevents: the worst problem first, at
// most three, none with a remedy that was given before, and none of tensors that are `settled` by
// other advice.
std::vector<Advice> Advise(const CastTensors& tensors, const CanHold& can_hold,
                           const std::function<bool(const formats::TensorInfo&)>& settled = {});

}  // namespace tensorcast::report

#endif  // TENSORCAST_SRC_REPORT_ADVICE_H_
