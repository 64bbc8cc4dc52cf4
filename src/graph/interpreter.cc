// Runs a program: each step gets memory for its result and lets go of what nobody reads any more.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/interpreter.h"

#include <chrono>
#include <optional>
#include <utility>

#include "core/failure.h"
#include "graph/tensor_check.h"
#include "words/error_text.h"

namespace tensorcast::graph {
namespace {

using words::Quoted;

std::uint64_t BytesOf(const TensorView& view) {
  if (view.type != DataType::kString) return view.data.size();
  const auto& offsets = view.strings.offsets;
  return offsets.empty() ? 0 : offsets.back() - offsets.front() + offsets.size_bytes();
}

}  // namespace

void StopIfInterrupted(const GraphRun& run) {
  if (run.interrupted != nullptr && run.interrupted->load(std::memory_order_relaxed)) {
    throw core::Failure(StatusCode::kInterrupted, "interrupted");
  }
}

Interpreter::Interpreter(const Program& program, ResultMemory& memory)
    : program_(program), memory_(memory) {
  slots_.resize(program.inputs.size());
  for (const Constant& constant : program.constants) {
    slots_.push_back({constant.view(), constant.elements, nullptr});
  }
  first_register_ = slots_.size();
  slots_.resize(first_register_ + program.registers);
}

void Interpreter::SetInput(std::size_t index, const TensorView& view) {
  const ValueInfo& info = program_.inputs[index];
  const auto refuse = [&](const std::string& why) {
    throw core::Failure(StatusCode::kBadInput, "input " + Quoted(info.name) + ' ' + why);
  };
  if (view.type == DataType::kUndefined) {
    const std::uint32_t place = program_.defaults[index];
    if (place == kNoDefault) refuse("is not given, and the model has no default for it");
    slots_[index] = slots_[place];
    return;
  }
  if (view.type != info.type) {
    refuse("is " + std::string(TypeName(view.type)) + "; the model declares " +
           std::string(TypeName(info.type)));
  }
  const std::uint64_t elements = CheckedElements(view, "input", info.name);
  const bool is_text = view.type == DataType::kString;
  slots_[index] = {view, elements,
                   memory_.Holding(is_text ? static_cast<const void*>(view.strings.offsets.data())
                                           : static_cast<const void*>(view.data.data()))};
}

void Interpreter::ClearRegisters() {
  for (std::size_t i = first_register_; i < slots_.size(); ++i) slots_[i] = {};
}

void Interpreter::RunSteps(const GraphRun& run, std::span<const std::uint8_t> wanted) {
  executor_ = core::GivenExecutor(run.executor);
  run_options_.executor = executor_.get();
  run_options_.interrupted = run.interrupted;
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    if (wanted.empty() || wanted[i] != 0) RunStep(i, run);
  }
}

void Interpreter::RunStep(std::size_t index, const GraphRun& run) {
  const Step& step = program_.steps[index];
  StopIfInterrupted(run);
  using Clock = std::chrono::steady_clock;
  const auto begin = run.profile == nullptr ? Clock::time_point() : Clock::now();
  const Slot& source = slots_[step.source];
  Slot& result = slots_[first_register_ + step.result];
  switch (step.kind) {
    case Step::Kind::kView: result = source; break;
    case Step::Kind::kNumbers:
    case Step::Kind::kParse: MakeNumbers(index, source, result); break;
    case Step::Kind::kPrint: PrintTexts(index, source, result); break;
  }
  if (run.profile != nullptr) {
    AddProfile(step, source, result, std::chrono::duration<double>(Clock::now() - begin).count(),
               *run.profile);
  }
  if (step.frees_source) slots_[step.source] = {};
  if (step.frees_result) result = {};
}

void Interpreter::AddProfile(const Step& step, const Slot& source, const Slot& result,
                             double seconds, std::vector<NodeProfile>& profile) const {
  constexpr const char* kOperators[] = {"Cast", "CastLike", "Identity"};
  NodeProfile& node = profile.emplace_back();
  node.node = program_.names[step.name].text;
  node.op_type = kOperators[static_cast<int>(step.op)];
  node.from = source.view.type;
  node.to = result.view.type;
  node.seconds = seconds;
  if (step.kind != Step::Kind::kView) {
    node.bytes_read = BytesOf(source.view);
    node.bytes_written = BytesOf(result.view);
  }
}

void Interpreter::FailStep(const Step& step, StatusCode code, const std::string& why) const {
  const NodeName& name = program_.names[step.name];
  throw core::Failure(
      code, (name.is_output ? "the node that gives " : "node ") + Quoted(name.text) + ": " + why);
}

void Interpreter::Check(const Step& step, Status status) const {
  if (status.code() == StatusCode::kInterrupted) {
    throw core::Failure(StatusCode::kInterrupted, "interrupted");
  }
  if (!status.ok()) FailStep(step, status.code(), std::string(status.message()));
}

std::span<std::byte> Interpreter::TakeNumbers(std::size_t index, DataType type, std::uint64_t n,
                                              Slot& result) {
  const Step& step = program_.steps[index];
  const std::optional<std::uint64_t> bytes = StorageBytes(type, n);
  if (!bytes) {
    FailStep(step, StatusCode::kOutOfMemory,
             std::to_string(n) + " elements of " + std::string(TypeName(type)) +
                 " take more than 2^64 - 1 bits");
  }
  std::span<std::byte> data = memory_.Given(index, *bytes);
  result.buffer = nullptr;
  if (data.data() == nullptr) {
    result.buffer = memory_.Take(index, step.result, *bytes, 0);
    data = {result.buffer->bytes.get(), static_cast<std::size_t>(*bytes)};
  }
  if (!data.empty() && FindType(type)->is_packed()) data.back() = std::byte{0};
  return data;
}

namespace {

void Describe(const Slot& source, DataType type, Slot& result) {
  result.view = {};
  result.view.type = type;
  result.view.shape = source.view.shape;
  result.elements = source.elements;
}

}  // namespace

void Interpreter::MakeNumbers(std::size_t index, const Slot& source, Slot& result) {
  const Step& step = program_.steps[index];
  const CastPlan& plan = program_.plans[step.plan];
  const std::uint64_t n = source.elements;
  Slot made;
  const std::span<std::byte> data = TakeNumbers(index, plan.to(), n, made);
  if (step.kind == Step::Kind::kParse) {
    ParseFailure failure;
    const Status status = plan.Parse(source.view.strings, 0, data, 0, n, run_options_, &failure);
    if (status.code() == StatusCode::kNotANumber || status.code() == StatusCode::kNotAnInteger) {
      FailStep(step, status.code(),
               "the text at index " + std::to_string(failure.index) + ", \"" + failure.text +
                   "\", is " + std::string(words::UnparsedText(status.code())));
    }
    Check(step, status);
  } else {
    Check(step, plan.Run(source.view.data, 0, data, 0, n, run_options_));
  }
  Describe(source, plan.to(), made);
  made.view.data = data;
  result = std::move(made);
}

void Interpreter::PrintTexts(std::size_t index, const Slot& source, Slot& result) {
  const Step& step = program_.steps[index];
  const CastPlan& plan = program_.plans[step.plan];
  const std::uint64_t n = source.elements;
  std::uint64_t bytes = 0;
  Check(step, plan.PrintedBytes(source.view.data, 0, n, &bytes, run_options_));
  if (n >= SIZE_MAX / sizeof(std::uint64_t)) throw std::bad_alloc();
  Slot made;
  made.buffer = memory_.Take(index, step.result, bytes, n + 1);
  const std::span<std::uint64_t> offsets(made.buffer->offsets.get(),
                                         static_cast<std::size_t>(n) + 1);
  const std::span<char> texts(reinterpret_cast<char*>(made.buffer->bytes.get()),
                              static_cast<std::size_t>(bytes));
  Check(step, plan.Print(source.view.data, 0, n, offsets, texts, run_options_));
  Describe(source, DataType::kString, made);
  made.view.strings = {offsets, texts};
  result = std::move(made);
}

}  // namespace tensorcast::graph
