// Binds casts, reads constants, and gives each value its place: a register is free again after the
// last step that reads it.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/program_builder.h"

#include <string>
#include <utility>

#include "core/onnx_numbers.h"
#include "graph/error.h"

namespace tensorcast::graph {

Status CheckTarget(Target target) {
  CastPlan plan;
  return CastPlan::Bind(DataType::kFloat32, DataType::kFloat16, {}, &plan, target);
}

std::uint32_t ProgramBuilder::AddValue(DataType type, Value::Is is, std::uint32_t index) {
  const auto number = static_cast<std::uint32_t>(values_.size());
  values_.push_back({type, is, index, kUnread, number});
  return number;
}

std::uint32_t ProgramBuilder::AddInput(ValueInfo info) {
  const auto index = static_cast<std::uint32_t>(program_.inputs.size());
  const DataType type = info.type;
  program_.inputs.push_back(std::move(info));
  program_.defaults.push_back(kNoDefault);
  return AddValue(type, Value::Is::kInput, index);
}

std::uint32_t ProgramBuilder::AddConstant(const Tensor& tensor) {
  program_.constants.emplace_back();
  constants_.push_back({&tensor});
  return static_cast<std::uint32_t>(constants_.size() - 1);
}

std::uint32_t ProgramBuilder::AddConstant(Constant constant) {
  program_.constants.push_back(std::move(constant));
  constants_.emplace_back();
  return static_cast<std::uint32_t>(constants_.size() - 1);
}

std::uint32_t ProgramBuilder::AddConstantValue(std::uint32_t constant) {
  const Tensor* const tensor = constants_[constant].tensor;
  return AddValue(
      tensor != nullptr ? core::TypeOfNumber(tensor->number) : program_.constants[constant].type,
      Value::Is::kConstant, constant);
}

void ProgramBuilder::SetDefault(std::uint32_t input, std::uint32_t constant) {
  const std::uint32_t index = values_[input].index;
  program_.inputs[index].has_default = true;
  program_.defaults[index] = constant;
  constants_[constant].is_needed = true;
}

void ProgramBuilder::AddOutput(ValueInfo info, std::uint32_t value) {
  Need(values_[value]);
  values_[value].last_read = kKept;
  program_.outputs.push_back(std::move(info));
  program_.results.push_back(value);
}

std::uint32_t ProgramBuilder::AddNames(const Body& body) {
  const auto first = static_cast<std::uint32_t>(program_.names.size());
  for (const Node& node : body.nodes) {
    NodeName& name = program_.names.emplace_back();
    name.is_output = node.name.empty();
    if (!name.is_output) {
      name.text = node.name;
    } else if (!node.outputs.empty() && node.outputs[0] != kNoValue) {
      name.text = body.name(node.outputs[0]);
    }
  }
  return first;
}

void ProgramBuilder::Need(const Value& value) {
  if (value.is == Value::Is::kConstant) constants_[value.index].is_needed = true;
}

std::uint32_t ProgramBuilder::AddStep(Step step, std::uint32_t source, DataType type) {
  const auto index = static_cast<std::uint32_t>(program_.steps.size());
  step.source = source;
  step.from = values_[source].type;
  step.to = type;
  values_[source].last_read = index;
  Need(values_[source]);
  step.result = AddValue(type, Value::Is::kResult, index);
  values_[step.result].origin = values_[source].origin;
  program_.steps.push_back(step);
  return step.result;
}

std::uint32_t ProgramBuilder::AddIdentity(Step step, std::uint32_t source) {
  return AddStep(step, source, values_[source].type);
}

std::uint32_t ProgramBuilder::AddCast(Step step, std::uint32_t source, const CastRequest& request) {
  const DataType from = values_[source].type;
  // A cast to the same type copies bits. A packed tensor's pad bits are not its own, so it is one.
  if (from != request.to || FindType(from)->is_packed()) {
    step.kind = from == DataType::kString         ? Step::Kind::kParse
                : request.to == DataType::kString ? Step::Kind::kPrint
                                                  : Step::Kind::kNumbers;
    step.plan = PlanOf(from, request);
  }
  return AddStep(step, source, request.to);
}

std::uint32_t ProgramBuilder::PlanOf(DataType from, const CastRequest& request) {
  const CastOptions& o = request.options;
  const auto key = std::tuple(from, request.to, o.saturate, o.round_mode, o.integer_overflow,
                              o.fnuz_infinity, o.finite_only_nan);
  const auto [found, is_new] =
      plans_.emplace(key, static_cast<std::uint32_t>(program_.plans.size()));
  if (is_new) {
    CastPlan plan;
    const Status status = CastPlan::Bind(from, request.to, o, &plan, target_);
    if (!status.ok()) throw Error(ErrorKind::kArguments, std::string(status.message()));
    program_.plans.push_back(plan);
  }
  return found->second;
}

Program ProgramBuilder::Finish(std::int64_t opset, std::vector<DataType> types,
                               bool reads_constants) {
  program_.opset = opset;
  program_.types = std::move(types);
  for (std::size_t i = 0; reads_constants && i < constants_.size(); ++i) {
    const ConstantSource& source = constants_[i];
    if (source.tensor != nullptr && source.is_needed) {
      program_.constants[i] = source.tensor->data->Read();
    }
  }
  const auto inputs = static_cast<std::uint32_t>(program_.inputs.size());
  for (std::uint32_t& constant : program_.defaults) {
    if (constant != kNoDefault) constant += inputs;
  }
  for (const std::uint32_t result : program_.results) {
    program_.origins.push_back(PlaceOf(values_[values_[result].origin], {}));
  }
  AssignRegisters();
  return std::move(program_);
}

// `registers`: of each step's result.
std::uint32_t ProgramBuilder::PlaceOf(const Value& value,
                                      const std::vector<std::uint32_t>& registers) const {
  const auto inputs = static_cast<std::uint32_t>(program_.inputs.size());
  const auto constants = static_cast<std::uint32_t>(program_.constants.size());
  switch (value.is) {
    case Value::Is::kInput: return value.index;
    case Value::Is::kConstant: return inputs + value.index;
    case Value::Is::kResult: break;
  }
  return inputs + constants + registers[value.index];
}

void ProgramBuilder::AssignRegisters() {
  std::vector<std::uint32_t> registers(program_.steps.size());
  std::vector<std::uint32_t> free;
  for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
    Step& step = program_.steps[i];
    const Value& source = values_[step.source];
    const Value& result = values_[step.result];
    if (free.empty()) free.push_back(program_.registers++);
    registers[i] = free.back();
    free.pop_back();
    step.source = PlaceOf(source, registers);
    step.result = registers[i];
    step.frees_source = source.is == Value::Is::kResult && source.last_read == i;
    step.frees_result = result.last_read == kUnread;
    if (step.frees_source) free.push_back(registers[source.index]);
    if (step.frees_result) free.push_back(registers[i]);
  }
  for (std::uint32_t& result : program_.results) result = PlaceOf(values_[result], registers);
}

}  // namespace tensorcast::graph
