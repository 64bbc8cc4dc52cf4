// Which weights of an input go into another layout as they are, which stay, and which cannot.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_REPACK_PLAN_H_
#define TENSORCAST_SRC_CONVERT_REPACK_PLAN_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "convert/sink.h"
#include "convert/survey.h"
#include "scale/dialects/dialect.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

class Matching;   // convert/matching.h
struct Decision;  // convert/selection.h

// The layout that a request names. Throws files::Error (arguments) where it is none, or where the
// request says how to cast as well.
const scale::Dialect& RepackTargetOf(const Request& request);

// Throws files::Error (unsupported) where the output cannot hold the layout.
void CheckRepackSink(const Sink& sink, const scale::Dialect& target, const std::string& path);

// One decision per tensor. Reads scales and zero points, which tell whether a weight can be what is
// wanted. Throws files::Error where one that is neither excluded nor in the layout cannot.
std::vector<Decision> SelectRepacked(const Survey& survey, const Matching& matching,
                                     const scale::Dialect& target);

// What follows for the input's other tensors.
struct Repacked {
  std::vector<std::size_t> left;  // without those that only serve weights which go
  bool is_all = false;            // no weight keeps the layout that it has
};
Repacked RepackedOf(const Survey& survey, std::span<const Decision> decisions);

// Lines without the input's name: what goes into the layout, by how much a value changes, what is
// left out.
std::vector<std::string> RepackNotes(const Survey& survey, std::span<const Decision> decisions);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_REPACK_PLAN_H_
