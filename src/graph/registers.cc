// A register is free again after the last step that reads it.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/registers.h"

#include <vector>

namespace tensorcast::graph {
namespace {

// `registers`: of each step's result.
std::uint32_t PlaceOf(const Value& value, const Program& program,
                      std::span<const std::uint32_t> registers) {
  const auto inputs = static_cast<std::uint32_t>(program.inputs.size());
  const auto constants = static_cast<std::uint32_t>(program.constants.size());
  switch (value.is) {
    case Value::Is::kInput: return value.index;
    case Value::Is::kConstant: return inputs + value.index;
    case Value::Is::kResult: return inputs + constants + registers[value.index];
  }
  return 0;
}

}  // namespace

void AssignRegisters(std::span<const Value> values, Program& program) {
  std::vector<std::uint32_t> registers(program.steps.size());
  std::vector<std::uint32_t> free;
  for (std::uint32_t i = 0; i < program.steps.size(); ++i) {
    Step& step = program.steps[i];
    const Value& source = values[step.source];
    const Value& result = values[step.result];
    if (free.empty()) free.push_back(program.registers++);
    registers[i] = free.back();
    free.pop_back();
    step.source = PlaceOf(source, program, registers);
    step.result = registers[i];
    step.frees_source = source.is == Value::Is::kResult && source.last_read == i;
    step.frees_result = result.last_read == kAbsent;
    if (step.frees_source) free.push_back(registers[source.index]);
    if (step.frees_result) free.push_back(registers[i]);
  }
  for (std::uint32_t& result : program.results) {
    result = PlaceOf(values[result], program, registers);
  }
}

}  // namespace tensorcast::graph
