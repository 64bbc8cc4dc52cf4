// Runs of a graph or a model: on inputs that a call takes, and in memory that the caller binds.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/session.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <unordered_map>
#include <utility>

#include "core/addresses.h"
#include "core/failure.h"
#include "graph/gradients.h"
#include "graph/graph_state.h"
#include "graph/interpreter.h"
#include "graph/program.h"
#include "graph/tensor_check.h"
#include "words/error_text.h"

namespace tensorcast {

using graph::Buffer;
using graph::Program;
using graph::Refuse;
using graph::Slot;
using words::Quoted;

// The memory of a session: each register has its buffer, which a run uses again; outputs of numbers
// go where they are bound. It is not in an unnamed namespace, as SessionState, which has a name
// outside, holds one.
class SessionMemory final : public graph::ResultMemory {
 public:
  explicit SessionMemory(const Program& program)
      : registers_(program.registers), output_of_(program.steps.size(), kNone) {
    // A register that holds an output when the run is over: who writes it last gives that output.
    const std::size_t first = program.inputs.size() + program.constants.size();
    std::vector<std::size_t> wanted(program.registers, kNone);
    for (std::size_t i = program.results.size(); i-- > 0;) {
      if (program.results[i] >= first) wanted[program.results[i] - first] = i;
    }
    for (std::size_t i = program.steps.size(); i-- > 0;) {
      output_of_[i] = std::exchange(wanted[program.steps[i].result], kNone);
    }
    bound.resize(program.results.size());
  }

  std::shared_ptr<Buffer> Take(std::size_t /*step*/, std::uint32_t reg, std::uint64_t bytes,
                               std::uint64_t offsets) override {
    const auto fits = [&](const std::shared_ptr<Buffer>& buffer) {
      return buffer != nullptr && buffer.use_count() == 1 && buffer->size >= bytes &&
             buffer->offset_count >= offsets;
    };
    std::shared_ptr<Buffer>& own = registers_[reg];
    if (fits(own)) return own;
    // A view of another value may still hold it: such ones are few.
    for (std::shared_ptr<Buffer>& spare : spares_) {
      if (!fits(spare)) continue;
      spare.swap(own);
      return own;
    }
    if (own != nullptr && own.use_count() > 1) {
      spares_[next_spare_] = std::move(own);
      next_spare_ = (next_spare_ + 1) % spares_.size();
    }
    own = std::make_shared<Buffer>();
    own->Allocate(bytes, offsets);
    return own;
  }

  std::span<std::byte> Given(std::size_t step, std::uint64_t bytes) override {
    const std::size_t output = output_of_[step];
    if (output == kNone || bound[output].data() == nullptr) return {};
    return bound[output].first(static_cast<std::size_t>(bytes));  // whose room was checked
  }

  std::vector<std::span<std::byte>> bound;  // of each output, the caller's; null: none

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  std::vector<std::shared_ptr<Buffer>> registers_;
  std::vector<std::size_t> output_of_;  // of each step, or kNone
  std::array<std::shared_ptr<Buffer>, 8> spares_;
  std::size_t next_spare_ = 0;
};

// What is bound, and the run and the gradients of that.
struct SessionBindings {
  SessionBindings(const Program& compiled, const SessionOptions& given, bool as_tests)
      : program(compiled),
        memory(program),
        interpreter(program, memory),
        input_shapes(program.inputs.size()),
        is_bound(program.inputs.size(), false),
        is_selected(program.results.size(), 1),
        gradients(program, given.differentiable, as_tests, given.target),
        given_gradients(program.results.size()),
        gradient_shapes(program.results.size()) {
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      if (!program.inputs[i].has_default) continue;
      interpreter.SetInput(i, {});
      is_bound[i] = true;
    }
  }

  const Program& program;
  SessionMemory memory;
  graph::Interpreter interpreter;
  std::vector<std::vector<std::uint64_t>> input_shapes;  // of what is bound
  std::vector<std::uint64_t> next_shape;
  std::vector<bool> is_bound;
  std::vector<std::uint8_t> is_selected;  // of each output
  std::vector<std::uint8_t> wanted;       // of each step; empty: all
  bool bindings_are_checked = false;
  bool has_run = false;

  void CheckInputs() const;
  void CheckBindings();
  void FindWanted();
  // The shape that an output will have.
  std::span<const std::uint64_t> ShapeOf(std::size_t output) const {
    return interpreter.Origin(output).view.shape;
  }
  const Slot& ResultOf(std::size_t output) const;

  // Backward.
  graph::Gradients gradients;
  std::vector<TensorView> given_gradients;  // by output
  std::vector<std::vector<std::uint64_t>> gradient_shapes;
  std::vector<graph::Gradient> input_gradients;
  std::vector<std::vector<std::byte>> zeros;  // by input
  bool has_gradients = false;
};

struct SessionState {
  SessionState(Program&& compiled, const SessionOptions& given, bool follows_tests)
      : program(std::move(compiled)), options(given), as_tests(follows_tests) {}

  using Names = std::unordered_map<std::string_view, std::size_t>;  // the index of each
  static Names NamesOf(std::span<const ValueInfo> values) {
    Names names;
    for (std::size_t i = 0; i < values.size(); ++i) names.emplace(values[i].name, i);
    return names;
  }
  // Throws core::Failure (kNoSuchIndex, kNoSuchName).
  static std::size_t IndexOf(const Port& port, const Names& names, std::string_view what);
  std::size_t InputOf(const Port& port) const { return IndexOf(port, input_names, "input"); }
  std::size_t OutputOf(const Port& port) const { return IndexOf(port, output_names, "output"); }
  // Made when they are first asked for: runs of other threads do without.
  SessionBindings& Bound() {
    if (bindings == nullptr) {
      bindings = std::make_unique<SessionBindings>(program, options, as_tests);
    }
    return *bindings;
  }

  const Program program;
  const SessionOptions options;
  const bool as_tests;
  const Names input_names = NamesOf(program.inputs);
  const Names output_names = NamesOf(program.outputs);
  std::unique_ptr<SessionBindings> bindings;
};

struct ResultsState {
  graph::Results results;
};

namespace {

SessionState& Checked(const std::unique_ptr<SessionState>& state) {
  if (state == nullptr) Refuse("the session was not made; create it of a graph, or load one");
  return *state;
}

std::uint64_t TextBytes(const Slot& strings) {
  const auto& offsets = strings.view.strings.offsets;
  return strings.elements == 0 ? 0 : offsets.back() - offsets.front();
}

std::uint64_t BytesOf(DataType type, std::uint64_t elements) {
  const std::optional<std::uint64_t> bytes = StorageBytes(type, elements);
  if (!bytes) {
    throw core::Failure(StatusCode::kOutOfMemory, std::to_string(elements) + " elements of " +
                                                      std::string(TypeName(type)) +
                                                      " take more than 2^64 - 1 bits");
  }
  return *bytes;
}

}  // namespace

std::size_t SessionState::IndexOf(const Port& port, const Names& names, std::string_view what) {
  if (!port.is_name()) {
    const std::int64_t index = port.index();
    if (index >= 0 && static_cast<std::uint64_t>(index) < names.size()) {
      return static_cast<std::size_t>(index);
    }
    throw core::Failure(StatusCode::kNoSuchIndex, std::string(what) + ' ' + std::to_string(index) +
                                                      " is not in the graph, which has " +
                                                      words::CountText(names.size(), what));
  }
  if (const auto found = names.find(port.name()); found != names.end()) return found->second;
  throw core::Failure(StatusCode::kNoSuchName,
                      std::string(what) + ' ' + Quoted(port.name()) + " is not in the graph");
}

void SessionBindings::CheckInputs() const {
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    if (is_bound[i]) continue;
    Refuse("input " + Quoted(program.inputs[i].name) + " is not bound; bind it before");
  }
}

// Every output that is bound has room, and lies apart from what is read and from the others.
void SessionBindings::CheckBindings() {
  struct Range {
    const std::byte* begin;
    std::uint64_t size;
    std::string what;
    bool is_output;
  };
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    if (memory.bound[i].data() == nullptr || is_selected[i] == 0) continue;
    const Slot& origin = interpreter.Origin(i);
    const std::uint64_t bytes = BytesOf(program.outputs[i].type, origin.elements);
    if (memory.bound[i].size() < bytes) {
      throw core::Failure(StatusCode::kBufferTooSmall,
                          "output " + Quoted(program.outputs[i].name) + " takes " +
                              words::CountText(bytes, "byte") + "; " +
                              std::to_string(memory.bound[i].size()) + " are bound");
    }
    ranges.push_back(
        {memory.bound[i].data(), bytes, "output " + Quoted(program.outputs[i].name), true});
  }
  if (ranges.empty()) return;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const TensorView& view = interpreter.Input(i).view;
    const std::string what = "input " + Quoted(program.inputs[i].name);
    for (const auto bytes : {view.data, std::as_bytes(view.strings.offsets),
                             std::as_bytes(std::span(view.strings.bytes))}) {
      ranges.push_back({bytes.data(), bytes.size(), what, false});
    }
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return std::less<>()(a.begin, b.begin); });
  // The one that reaches furthest, of all and of outputs: inputs may overlap each other.
  const Range* furthest = nullptr;
  const Range* output = nullptr;
  for (const Range& range : ranges) {
    if (range.size == 0) continue;
    for (const Range* before : {output, range.is_output ? furthest : nullptr}) {
      if (before == nullptr || range.begin >= before->begin + before->size) continue;
      throw core::Failure(StatusCode::kOverlap,
                          "the memory of " + range.what + " overlaps that of " + before->what);
    }
    const auto reaches_further = [&](const Range* than) {
      return than == nullptr || range.begin + range.size > than->begin + than->size;
    };
    if (reaches_further(furthest)) furthest = &range;
    if (range.is_output && reaches_further(output)) output = &range;
  }
}

void SessionBindings::FindWanted() {
  wanted.clear();
  if (std::all_of(is_selected.begin(), is_selected.end(), [](auto each) { return each != 0; })) {
    return;
  }
  const std::size_t first = program.inputs.size() + program.constants.size();
  std::vector<std::uint8_t> reads(program.registers, 0);
  for (std::size_t i = 0; i < program.results.size(); ++i) {
    if (is_selected[i] != 0 && program.results[i] >= first) reads[program.results[i] - first] = 1;
  }
  wanted.assign(program.steps.size(), 0);
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    const graph::Step& step = program.steps[i];
    if (reads[step.result] == 0) continue;
    reads[step.result] = 0;
    wanted[i] = 1;
    if (step.source >= first) reads[step.source - first] = 1;
  }
}

const Slot& SessionBindings::ResultOf(std::size_t output) const {
  if (!has_run) Refuse("nothing has run since something was bound; run the session");
  if (is_selected[output] == 0) {
    Refuse("output " + Quoted(program.outputs[output].name) + " was not among those to run for");
  }
  return interpreter.Result(output);
}

void SessionAccess::Set(Session& session, Program&& program, const SessionOptions& options,
                        bool as_tests) {
  session.state_ = std::make_unique<SessionState>(std::move(program), options, as_tests);
}

inline namespace TENSORCAST_ABI {

SessionResults::SessionResults() = default;
SessionResults::SessionResults(SessionResults&&) noexcept = default;
SessionResults& SessionResults::operator=(SessionResults&&) noexcept = default;
SessionResults::~SessionResults() = default;

std::size_t SessionResults::size() const {
  return state_ == nullptr ? 0 : state_->results.views.size();
}

const TensorView& SessionResults::operator[](std::size_t index) const {
  return state_->results.views[index];
}

Session::Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Status Session::Create(const Graph& graph, const SessionOptions& options, Session* session,
                       std::string* error) {
  return graph::GuardedGraph(error, [&] {
    if (options.differentiable != Differentiable::kUsual &&
        options.differentiable != Differentiable::kWide) {
      return Status(StatusCode::kInvalidOption);
    }
    const Status target = graph::CheckTarget(options.target);
    if (!target.ok()) return target;
    const GraphState& state = GraphAccess::State(graph);
    if (state.outputs.empty()) Refuse("the graph has no output; mark one");
    SessionAccess::Set(*session,
                       graph::Compile(state.graph, {state.as_tests(), options.target, true}),
                       options, state.as_tests());
    return Status();
  });
}

std::int64_t Session::opset() const { return state_ == nullptr ? 0 : state_->program.opset; }

std::span<const ValueInfo> Session::inputs() const {
  return state_ == nullptr ? std::span<const ValueInfo>() : state_->program.inputs;
}

std::span<const ValueInfo> Session::outputs() const {
  return state_ == nullptr ? std::span<const ValueInfo>() : state_->program.outputs;
}

Status Session::FindInput(const Port& input, std::size_t* index, std::string* error) const {
  return core::Guarded(error, [&] {
    *index = Checked(state_).InputOf(input);
    return Status();
  });
}

Status Session::FindOutput(const Port& output, std::size_t* index, std::string* error) const {
  return core::Guarded(error, [&] {
    *index = Checked(state_).OutputOf(output);
    return Status();
  });
}

Status Session::Run(std::span<const TensorView> inputs, const GraphRun& run,
                    SessionResults* results, std::string* error) const {
  return core::Guarded(error, [&] {
    const Program& program = Checked(state_).program;
    // The inputs may be views of what `results` holds, so that lives to the end.
    const std::unique_ptr<ResultsState> old = std::move(results->state_);
    auto made = std::make_unique<ResultsState>();
    graph::Run(program, inputs, run, old == nullptr ? nullptr : &old->results, made->results);
    results->state_ = std::move(made);
    return Status();
  });
}

// ---------------------------------------------------------------------------------- bound

Status Session::BindInput(const Port& input, const TensorView& view, std::string* error) {
  return core::Guarded(error, [&] {
    SessionBindings& state = Checked(state_).Bound();
    const std::size_t index = state_->InputOf(input);
    const ValueInfo& info = state.program.inputs[index];
    // The const Run takes any: official tests of ONNX have data of other ranks.
    if (view.type == info.type && info.has_shape && info.shape.size() != view.shape.size()) {
      Refuse("input " + Quoted(info.name) + " has " +
             words::CountText(view.shape.size(), "dimension") + "; the graph declares " +
             std::to_string(info.shape.size()));
    }
    // The shape is kept; that of before too, until this one is taken.
    state.next_shape.assign(view.shape.begin(), view.shape.end());
    TensorView kept = view;
    kept.shape = state.next_shape;
    state.interpreter.SetInput(index, kept);
    state.input_shapes[index].swap(state.next_shape);
    state.is_bound[index] = true;
    state.has_run = state.has_gradients = state.bindings_are_checked = false;
    return Status();
  });
}

Status Session::BindOutput(const Port& output, std::span<std::byte> memory, std::string* error) {
  return core::Guarded(error, [&] {
    SessionBindings& state = Checked(state_).Bound();
    const std::size_t index = state_->OutputOf(output);
    const ValueInfo& info = state.program.outputs[index];
    if (info.type == DataType::kString) {
      Refuse("output " + Quoted(info.name) +
             " is of strings, whose size a run finds; copy it after the run");
    }
    state.memory.bound[index] = memory;
    state.has_run = state.has_gradients = state.bindings_are_checked = false;
    return Status();
  });
}

Status Session::SelectOutputs(std::span<const Port> outputs, std::string* error) {
  return core::Guarded(error, [&] {
    SessionBindings& state = Checked(state_).Bound();
    std::vector<std::uint8_t> selected(state.program.outputs.size(), outputs.empty() ? 1 : 0);
    for (const Port& port : outputs) selected[state_->OutputOf(port)] = 1;
    state.is_selected = std::move(selected);
    state.FindWanted();
    state.has_run = state.has_gradients = state.bindings_are_checked = false;
    return Status();
  });
}

Status Session::OutputSize(const Port& output, TensorSize* size, std::string* error) const {
  return core::Guarded(error, [&] {
    const SessionBindings& state = Checked(state_).Bound();
    const std::size_t index = state_->OutputOf(output);
    const ValueInfo& info = state.program.outputs[index];
    const bool is_text = info.type == DataType::kString;
    if (!is_text) state.CheckInputs();
    const Slot& of = is_text ? state.ResultOf(index) : state.interpreter.Origin(index);
    const std::span<const std::uint64_t> shape = state.ShapeOf(index);
    size->shape.assign(shape.begin(), shape.end());
    size->elements = of.elements;
    size->bytes = is_text ? TextBytes(of) : BytesOf(info.type, of.elements);
    return Status();
  });
}

Status Session::Run(const GraphRun& run, std::string* error) {
  return core::Guarded(error, [&] {
    SessionBindings& state = Checked(state_).Bound();
    state.has_run = state.has_gradients = false;
    state.CheckInputs();
    if (!state.bindings_are_checked) state.CheckBindings();
    state.bindings_are_checked = true;
    state.interpreter.ClearRegisters();
    state.interpreter.RunSteps(run, state.wanted);
    // What is a view of an input, of a constant or of another output.
    for (std::size_t i = 0; i < state.program.results.size(); ++i) {
      const std::span<std::byte> memory = state.memory.bound[i];
      if (memory.data() == nullptr || state.is_selected[i] == 0) continue;
      const std::span<const std::byte> made = state.interpreter.Result(i).view.data;
      if (made.data() == memory.data() || made.empty()) continue;
      core::MoveBytes(memory.data(), made.data(), made.size());
    }
    state.has_run = true;
    return Status();
  });
}

Status Session::Output(const Port& output, TensorView* view, std::string* error) const {
  return core::Guarded(error, [&] {
    const SessionBindings& state = Checked(state_).Bound();
    const std::size_t index = state_->OutputOf(output);
    *view = state.ResultOf(index).view;
    view->shape = state.ShapeOf(index);
    const std::span<std::byte> memory = state.memory.bound[index];
    if (memory.data() != nullptr) view->data = memory.first(view->data.size());
    return Status();
  });
}

Status Session::CopyOutput(const Port& output, std::span<std::byte> bytes,
                           std::span<std::uint64_t> lengths, std::string* error) const {
  return core::Guarded(error, [&] {
    const SessionBindings& state = Checked(state_).Bound();
    const std::size_t index = state_->OutputOf(output);
    const Slot& result = state.ResultOf(index);
    const std::string& name = state.program.outputs[index].name;
    const auto need = [&](std::uint64_t wanted, std::uint64_t given, const char* what) {
      if (given >= wanted) return;
      throw core::Failure(StatusCode::kBufferTooSmall,
                          "output " + Quoted(name) + " takes " + words::CountText(wanted, what) +
                              "; there is room for " + std::to_string(given));
    };
    if (result.view.type != DataType::kString) {
      const std::span<const std::byte> data = result.view.data;
      need(data.size(), bytes.size(), "byte");
      if (!data.empty()) std::memmove(bytes.data(), data.data(), data.size());
      return Status();
    }
    const Strings& strings = result.view.strings;
    const std::uint64_t size = TextBytes(result);
    need(size, bytes.size(), "byte");
    need(result.elements, lengths.size(), "length");
    if (size != 0) {
      std::memmove(bytes.data(), strings.bytes.data() + strings.offsets.front(),
                   static_cast<std::size_t>(size));
    }
    for (std::size_t i = 0; i < result.elements; ++i) {
      lengths[i] = strings.offsets[i + 1] - strings.offsets[i];
    }
    return Status();
  });
}

// ------------------------------------------------------------------------------- backward

Status Session::BindGradient(const Port& output, const TensorView& view, std::string* error) {
  return core::Guarded(error, [&] {
    SessionBindings& state = Checked(state_).Bound();
    const std::size_t index = state_->OutputOf(output);
    const ValueInfo& info = state.program.outputs[index];
    const std::string what = "the gradient of output " + Quoted(info.name) + ' ';
    if (!state_->options.backward) {
      throw core::Failure(StatusCode::kUnsupported,
                          what + "is not taken: the session was not made to run backward");
    }
    if (view.type == DataType::kUndefined) {
      state.given_gradients[index] = {};
      state.has_gradients = false;
      return Status();
    }
    if (view.type != info.type) {
      Refuse(what + "is " + std::string(TypeName(view.type)) + "; the output is " +
             std::string(TypeName(info.type)));
    }
    if (!graph::HasDerivative(view.type, state_->options.differentiable)) {
      Refuse(what + "cannot be: " + std::string(TypeName(view.type)) +
             " is not among the types that have derivatives here");
    }
    (void)graph::CheckedElements(view, "the gradient of output", info.name);
    // The shape is kept; its values may go.
    state.gradient_shapes[index].assign(view.shape.begin(), view.shape.end());
    state.given_gradients[index] = view;
    state.given_gradients[index].shape = state.gradient_shapes[index];
    state.has_gradients = false;
    return Status();
  });
}

Status Session::Backward(const GraphRun& run, std::string* error) {
  return core::Guarded(error, [&] {
    SessionBindings& state = Checked(state_).Bound();
    state.has_gradients = false;
    if (!state_->options.backward) {
      throw core::Failure(StatusCode::kUnsupported, "the session was not made to run backward");
    }
    if (!state.has_run) Refuse("nothing has run since something was bound; run the session");
    std::vector<std::uint64_t> elements;
    for (std::size_t i = 0; i < state.program.outputs.size(); ++i) {
      elements.push_back(state.interpreter.Origin(i).elements);
      const TensorView& given = state.given_gradients[i];
      if (given.type == DataType::kUndefined) continue;
      const std::span<const std::uint64_t> shape = state.ShapeOf(i);
      if (std::equal(shape.begin(), shape.end(), given.shape.begin(), given.shape.end())) continue;
      Refuse("the gradient of output " + Quoted(state.program.outputs[i].name) + " has the shape " +
             words::ShapeText(given.shape) + "; the output has " + words::ShapeText(shape));
    }
    state.gradients.Run(state.given_gradients, elements, run, state.input_gradients);
    state.zeros.resize(state.program.inputs.size());
    for (std::size_t i = 0; i < state.program.inputs.size(); ++i) {
      graph::Gradient& gradient = state.input_gradients[i];
      const DataType type = state.program.inputs[i].type;
      if (!state_->options.gives_zeros || gradient.type != DataType::kUndefined ||
          type == DataType::kString) {
        continue;
      }
      state.zeros[i].assign(
          static_cast<std::size_t>(BytesOf(type, state.interpreter.Input(i).elements)),
          std::byte{0});
      gradient = {type, state.zeros[i], nullptr};
    }
    state.has_gradients = true;
    return Status();
  });
}

Status Session::Gradient(const Port& input, bool* has_gradient, TensorView* view,
                         std::string* error) const {
  return core::Guarded(error, [&] {
    const SessionBindings& state = Checked(state_).Bound();
    const std::size_t index = state_->InputOf(input);
    if (!state.has_gradients)
      Refuse("there are no gradients since something was bound; run backward");
    const graph::Gradient& gradient = state.input_gradients[index];
    *has_gradient = gradient.type != DataType::kUndefined;
    *view = {};
    if (!*has_gradient) return Status();
    view->type = gradient.type;
    view->shape = state.interpreter.Input(index).view.shape;
    view->data = gradient.data;
    return Status();
  });
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
