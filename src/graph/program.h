// A graph as a list of casts: its functions inlined, every node checked, every type known.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_PROGRAM_H_
#define TENSORCAST_SRC_GRAPH_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/constant.h"
#include "graph/graph.h"
#include "tensorcast/tensor_view.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::graph {

enum class Operator : std::uint8_t { kCast, kCastLike, kIdentity };

// One node. It reads a place: the inputs come first, then the constants, then the registers.
struct Step {
  enum class Kind : std::uint8_t { kView, kNumbers, kParse, kPrint };
  Kind kind = Kind::kView;
  Operator op = Operator::kIdentity;
  DataType from = DataType::kUndefined;
  DataType to = DataType::kUndefined;
  bool frees_source = false;  // it is the last to read its register
  bool frees_result = false;  // nobody reads its result
  bool trains = true;         // gradients pass it
  std::uint32_t source = 0;   // a place
  std::uint32_t result = 0;   // a register
  std::uint32_t plan = 0;     // not of kView
  std::uint32_t name = 0;     // of its node, in Program::names
  double lda = 1;             // what it multiplies gradients by
};

// What errors and profiles call a node.
struct NodeName {
  std::string text;
  bool is_output = false;  // it has no name of its own: its first output's
};

struct Program {
  std::int64_t opset = 0;  // of ai.onnx; 0: the model imports none
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<std::uint32_t> defaults;  // of each input, a place; kNoDefault: it has none
  std::vector<Constant> constants;
  std::vector<CastPlan> plans;
  std::vector<Step> steps;
  std::vector<NodeName> names;
  std::vector<std::uint32_t> results;  // of each output, a place
  std::vector<std::uint32_t> origins;  // of each output the input or constant whose shape it has
  std::uint32_t registers = 0;
  std::vector<DataType> types;  // of the graph's values, by ValueId; kUndefined: nothing gives it
};

inline constexpr std::uint32_t kNoDefault = UINT32_MAX;

// What a hostile tower of functions can ask for: nodes, and the names they bind, after inlining.
inline constexpr std::uint64_t kMostInlined = 10'000'000;
inline constexpr std::size_t kMostNestedCalls = 200;

struct CompileOptions {
  // Where an operator's text and the stored official tests contradict each other: as these have it.
  bool as_tests = false;
  Target target = Target::kBest;
  // Else the program is not run: it says the types alone.
  bool reads_constants = true;
  // Whether a value must have the type that is declared of it, where its node gives it.
  bool checks_declared = true;
};

// Makes a program of a graph; what it needs of the graph's tensors is read. Throws Error, and what
// TensorData::Read throws.
Program Compile(const Graph& graph, const CompileOptions& options);

// The types of the graph's own values, by ValueId, whatever is declared of those that nodes give
// where `checks_declared` is false. Throws as Compile does.
std::vector<DataType> TypesOf(const Graph& graph, bool as_tests, bool checks_declared = true);

// Whether a program can be made for a target: kTargetUnavailable, or what Bind says of one that is
// none.
Status CheckTarget(Target target);

// Memory of a value, shared by its views.
struct Buffer {
  std::unique_ptr<std::byte[]> bytes;  // numbers, or texts
  std::size_t size = 0;
  std::unique_ptr<std::uint64_t[]> offsets;  // of strings
  std::size_t offset_count = 0;

  void Allocate(std::uint64_t byte_count, std::uint64_t offsets_wanted);
};

// What a run gives.
struct Results {
  std::vector<TensorView> views;
  std::vector<std::vector<std::uint64_t>> shapes;
  std::vector<std::shared_ptr<Buffer>> buffers;  // none: a view of an input or a constant
};

// Runs it. Memory of `old`, the results of another run or nothing, is used again. Throws
// core::Failure and std::bad_alloc.
void Run(const Program& program, std::span<const TensorView> inputs, const GraphRun& run,
         Results* old, Results& results);

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_PROGRAM_H_
