// A program while it is made: its values, each once, the steps that give them, and at the end the
// registers, of which as few are used as values live at once.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_PROGRAM_BUILDER_H_
#define TENSORCAST_SRC_GRAPH_PROGRAM_BUILDER_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "graph/cast_operator.h"
#include "graph/program.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::graph {

// Steps read values and constants by their numbers here; Finish makes places of them.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(Target target) : target_(target) {}

  // Each returns the number of a value.
  std::uint32_t AddInput(ValueInfo info);
  std::uint32_t AddConstantValue(std::uint32_t constant);
  // A step of this operator, name and training, which reads `source`; its result.
  std::uint32_t AddIdentity(Step step, std::uint32_t source);
  std::uint32_t AddCast(Step step, std::uint32_t source, const CastRequest& request);

  // Returns the number of a constant. The values of a tensor are read only where a step, an input
  // or an output needs them.
  std::uint32_t AddConstant(const Tensor& tensor);
  std::uint32_t AddConstant(Constant constant);
  void SetDefault(std::uint32_t input, std::uint32_t constant);
  void AddOutput(ValueInfo info, std::uint32_t value);
  // The names of a body's nodes; returns the number of the first.
  std::uint32_t AddNames(const Body& body);

  // The type of a value: of a constant, which is not used then, it may be none of ours.
  DataType TypeOf(std::uint32_t value) const { return values_[value].type; }
  // The tensor of a constant's value.
  const Tensor& TensorOf(std::uint32_t value) const {
    return *constants_[values_[value].index].tensor;
  }

  // `types`: see Program. Throws what reading a constant throws.
  Program Finish(std::int64_t opset, std::vector<DataType> types, bool reads_constants);

 private:
  // Instead of the last step that reads a value: there is none, or it is a result of the program.
  static constexpr std::uint32_t kUnread = UINT32_MAX, kKept = UINT32_MAX - 1;

  struct Value {
    enum class Is : std::uint8_t { kInput, kConstant, kResult };
    DataType type = DataType::kUndefined;
    Is is = Is::kInput;
    std::uint32_t index = 0;  // of the input, constant or step
    std::uint32_t last_read = kUnread;
    std::uint32_t origin = 0;  // the input's or constant's value whose shape it has
  };
  // Beside Program::constants.
  struct ConstantSource {
    const Tensor* tensor = nullptr;  // none: its values stand there already
    bool is_needed = false;
  };

  std::uint32_t AddValue(DataType type, Value::Is is, std::uint32_t index);
  std::uint32_t AddStep(Step step, std::uint32_t source, DataType type);
  std::uint32_t PlanOf(DataType from, const CastRequest& request);
  void Need(const Value& value);
  std::uint32_t PlaceOf(const Value& value, const std::vector<std::uint32_t>& registers) const;
  void AssignRegisters();

  const Target target_;
  Program program_;
  std::vector<Value> values_;
  std::vector<ConstantSource> constants_;
  std::map<std::tuple<DataType, DataType, bool, RoundingMode, IntegerOverflow, FnuzInfinity,
                      FiniteOnlyNan>,
           std::uint32_t>
      plans_;
};

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_PROGRAM_BUILDER_H_
