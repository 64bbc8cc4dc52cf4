// Gradients of a program's inputs, from those of its outputs (docs/graphs.md, "Backward").
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_GRADIENTS_H_
#define TENSORCAST_SRC_GRAPH_GRADIENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "graph/program.h"
#include "tensorcast/session.hpp"
#include "tensorcast/tensor_view.hpp"

namespace tensorcast::graph {

bool HasDerivative(DataType type, Differentiable kinds);

// A gradient: packed elements of a type, the caller's or of a buffer.
struct Gradient {
  DataType type = DataType::kUndefined;
  std::span<const std::byte> data;
  std::shared_ptr<Buffer> buffer;  // none: the caller's
};

class Gradients {
 public:
  // The program lives as long as this.
  Gradients(const Program& program, Differentiable kinds, bool as_tests, Target target);

  // `outputs`: of each output the gradient that is given, of the output's type, which has a
  // derivative, or one of type kUndefined; `elements`: how many each has. The gradients of the
  // inputs come in their order, of type kUndefined where none reaches an input. Throws
  // core::Failure and std::bad_alloc.
  void Run(std::span<const TensorView> outputs, std::span<const std::uint64_t> elements,
           const GraphRun& run, std::vector<Gradient>& inputs);

 private:
  // What a value's gradient is made of: that of a result made of it, times a factor.
  struct Part {
    Gradient gradient;
    double factor = 1;
    std::uint64_t elements = 0;
  };

  // The sum of the parts, exact and rounded once to `type`.
  Gradient Sum(DataType type, std::vector<Part>& parts, const GraphRun& run);
  void AddExactly(const std::vector<Part>& parts, const CastPlan* plan,
                  std::span<const CastPlan* const> widen, std::uint64_t first, std::uint64_t n,
                  std::span<std::byte> out) const;
  const CastPlan& PlanOf(DataType from, DataType to);

  const Program& program_;
  const Differentiable kinds_;
  const bool as_tests_;
  const Target target_;
  std::map<std::pair<DataType, DataType>, CastPlan> plans_;
  std::vector<std::vector<Part>> parts_;  // by place
};

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_GRADIENTS_H_
