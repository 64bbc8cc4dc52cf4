// Which tensors of two inputs are held against each other: by their names, those of A as they are
// renamed.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_DIFF_TENSOR_PAIRS_H_
#define TENSORCAST_SRC_DIFF_TENSOR_PAIRS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "convert/scaled_tensors.h"
#include "convert/survey.h"
#include "tensorcast/diff.hpp"

namespace tensorcast::diff {

// An input, all of whose weights that have scales stand as their values. Tensors are named by their
// index in it.
struct Side {
  convert::Survey survey;
  convert::ValuesReader values;

  const formats::TensorReader& reader() const { return *values.reader; }
  const std::vector<formats::TensorInfo>& tensors() const { return reader().contents().tensors; }
};

// Throws files::Error, files::Interrupted.
Side OpenSide(const std::string& path, const convert::Opening& opening);

struct TensorPair {
  std::optional<std::size_t> a;  // none: it is only in B
  std::optional<std::size_t> b;
};

// Those that the request takes: A's in their order, then what is only in B in its. Throws
// files::Error: a pattern or a rename that is not legal or matches nothing, two tensors that get
// one name, tensors whose values cannot be read (convert/scaled_tensors.h).
std::vector<TensorPair> PairTensors(const Side& a, const Side& b, const DiffRequest& request);

}  // namespace tensorcast::diff

#endif  // TENSORCAST_SRC_DIFF_TENSOR_PAIRS_H_
