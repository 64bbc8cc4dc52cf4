// A program running: what its places hold, step by step, in memory that somebody else provides.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_INTERPRETER_H_
#define TENSORCAST_SRC_GRAPH_INTERPRETER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/given.h"
#include "graph/program.h"
#include "tensorcast/tensor_view.hpp"

namespace tensorcast::graph {

// Throws core::Failure (kInterrupted) once the run's flag is true.
void StopIfInterrupted(const GraphRun& run);

// What a place holds.
struct Slot {
  TensorView view;
  std::uint64_t elements = 0;
  std::shared_ptr<Buffer> buffer;  // what keeps the view's memory, where this run made it
};

// Where results find memory.
class ResultMemory {
 public:
  virtual ~ResultMemory() = default;
  // A buffer of at least so many bytes, and offsets, for the result of a step (by its index), which
  // goes into a register. Throws std::bad_alloc.
  virtual std::shared_ptr<Buffer> Take(std::size_t step, std::uint32_t reg, std::uint64_t bytes,
                                       std::uint64_t offsets) = 0;
  // The caller's memory for a step's result of numbers, of just so many bytes; none: Take's is
  // used.
  virtual std::span<std::byte> Given(std::size_t /*step*/, std::uint64_t /*bytes*/) { return {}; }
  // The buffer that the memory of an input lies in, if it is one of these.
  virtual std::shared_ptr<Buffer> Holding(const void* /*memory*/) const { return nullptr; }
};

class Interpreter {
 public:
  // Both live as long as the interpreter.
  Interpreter(const Program& program, ResultMemory& memory);

  // Checks an input and takes it; a view of type kUndefined takes its default. Throws core::Failure
  // (kBadInput).
  void SetInput(std::size_t index, const TensorView& view);
  // Runs the steps that are wanted, all where `wanted` is empty. Throws core::Failure and
  // std::bad_alloc.
  void RunSteps(const GraphRun& run, std::span<const std::uint8_t> wanted);
  // Lets go of what the registers hold.
  void ClearRegisters();

  const Slot& Input(std::size_t index) const { return slots_[index]; }
  // What an output is, after a run of the steps that it needs.
  const Slot& Result(std::size_t output) const { return slots_[program_.results[output]]; }
  // What has an output's shape, an input or a constant.
  const Slot& Origin(std::size_t output) const { return slots_[program_.origins[output]]; }

 private:
  void RunStep(std::size_t index, const GraphRun& run);
  void AddProfile(const Step& step, const Slot& source, const Slot& result, double seconds,
                  std::vector<NodeProfile>& profile) const;
  [[noreturn]] void FailStep(const Step& step, StatusCode code, const std::string& why) const;
  void Check(const Step& step, Status status) const;
  // Memory for a result of numbers; of a packed type the pad bits are zero.
  std::span<std::byte> TakeNumbers(std::size_t index, DataType type, std::uint64_t n, Slot& result);
  void MakeNumbers(std::size_t index, const Slot& source, Slot& result);
  void PrintTexts(std::size_t index, const Slot& source, Slot& result);

  const Program& program_;
  ResultMemory& memory_;
  core::GivenExecutor executor_{nullptr};
  RunOptions run_options_;   // with that
  std::vector<Slot> slots_;  // by place
  std::size_t first_register_ = 0;
};

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_INTERPRETER_H_
