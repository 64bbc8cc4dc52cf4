// Runs of a graph, forward and backward: what is bound by index or by name, in the caller's memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SESSION_HPP_
#define TENSORCAST_SESSION_HPP_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorcast/graph.hpp"
#include "tensorcast/tensor_view.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
struct SessionState;  // what Session and its results hold, and how it is reached; internal
struct SessionAccess;
struct ResultsState;
}  // namespace tensorcast

namespace tensorcast {
inline namespace TENSORCAST_ABI {

// Types that have derivatives: of the first, float16, float32, float64 and bfloat16; of the second,
// the float8, float6 and float4 types too, but for float8e8m0, which has neither zero nor sign.
enum class Differentiable : std::uint8_t { kUsual, kWide };

struct SessionOptions {
  Target target = Target::kBest;
  bool backward = false;  // Backward may be called
  Differentiable differentiable = Differentiable::kUsual;
  // An input that no gradient reaches gets one of zeros, not none; of strings it has none.
  bool gives_zeros = false;
};

// An input or an output of a graph, by its index or its name, which is copied.
class Port {
 public:
  template <std::integral Index>
  Port(Index index)  // NOLINT: meant to convert
      : index_(std::in_range<std::int64_t>(index) ? static_cast<std::int64_t>(index) : -1),
        is_name_(false) {}
  Port(std::string_view name) : name_(name) {}    // NOLINT
  Port(const char* name) : name_(name) {}         // NOLINT
  Port(const std::string& name) : name_(name) {}  // NOLINT
  bool is_name() const { return is_name_; }
  std::int64_t index() const { return index_; }
  std::string_view name() const { return name_; }

 private:
  std::int64_t index_ = 0;
  std::string name_;
  bool is_name_ = true;
};

// What an output or a gradient takes. Of strings: their bytes, and so many lengths.
struct TensorSize {
  std::vector<std::uint64_t> shape;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

// What the const Run gives, by the session's outputs. An output that is an input or a constant
// unchanged is a view of it: the inputs' buffers and the session must live as long as it is used.
class TENSORCAST_API SessionResults {
 public:
  SessionResults();
  SessionResults(SessionResults&&) noexcept;
  SessionResults& operator=(SessionResults&&) noexcept;
  ~SessionResults();
  std::size_t size() const;
  const TensorView& operator[](std::size_t index) const;

 private:
  friend class Session;
  std::unique_ptr<ResultsState> state_;
};

// A graph or a model made ready to run, all of it checked: a run fails only for its inputs, a text
// that is not a number, or for want of memory. There are two ways to run one, which do not meet:
//
// - the const Run takes its inputs and gives its outputs; any number of threads may be in it;
// - what is bound is for Run, Output and Backward, one thread at a time. Memory that these need is
//   kept, so that runs of the same shapes allocate nothing.
class TENSORCAST_API Session {
 public:
  Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Takes of the graph what it needs; constants are read. Codes: as Graph::Save,
  // kTargetUnavailable, kOutOfMemory.
  static Status Create(const Graph& graph, const SessionOptions& options, Session* session,
                       std::string* error = nullptr);
  // Loads a model, without a graph that stays; the session does not run backward. Codes: kFileError
  // (missing, unreadable), kBadFile (no model, or one that breaks its opset's rules),
  // kUnsupportedFile (a node other than Cast, CastLike, Identity, Constant and the model's own
  // functions of these), kOutOfMemory, kTargetUnavailable.
  static Status Load(const std::string& path, const onnx::LoadOptions& options, Session* session,
                     std::string* error = nullptr);
  // The same of a ModelProto in memory, which is copied. External data is refused: there is no
  // directory to find it in. kBadFile before a byte is read: 2 GiB or more, which protobuf does not
  // allow.
  static Status Parse(std::span<const std::byte> bytes, const onnx::LoadOptions& options,
                      Session* session, std::string* error = nullptr);

  std::int64_t opset() const;                 // of ai.onnx; 0: a model that imports none
  std::span<const ValueInfo> inputs() const;  // with those that have a default
  std::span<const ValueInfo> outputs() const;
  // The index of one. Codes: kNoSuchIndex, kNoSuchName.
  Status FindInput(const Port& input, std::size_t* index, std::string* error = nullptr) const;
  Status FindOutput(const Port& output, std::size_t* index, std::string* error = nullptr) const;

  // Runs it on one view per input; a view of type kUndefined takes the input's default. What is
  // declared of shapes is not enforced. Codes: kBadInput (a wrong number of inputs, another type
  // than is declared, data of another size than its shape says, no default), kNotANumber,
  // kNotAnInteger, kOutOfMemory, kInterrupted. What `results` held before is let go, after a
  // failure too; its memory is used again where it fits, and the inputs may be views of it.
  Status Run(std::span<const TensorView> inputs, const GraphRun& run, SessionResults* results,
             std::string* error = nullptr) const;

  // ------------------------------------------------------------------------------- bound

  // The caller's memory is read by Run, until another is bound; the shape is copied. A view of type
  // kUndefined takes the input's default. Codes: kNoSuchIndex, kNoSuchName, kBadInput (another type
  // or rank than the input's, data that does not fit the shape).
  Status BindInput(const Port& input, const TensorView& view, std::string* error = nullptr);
  // Run writes an output of numbers there, which must have room for it, and may not overlap what
  // is read or another output; no memory at all unbinds it. Codes: kNoSuchIndex, kNoSuchName,
  // kBadInput (an output of strings, which CopyOutput gives).
  Status BindOutput(const Port& output, std::span<std::byte> memory, std::string* error = nullptr);
  // The outputs that are wanted; only what they need is run. All, until this is called, and after
  // it is called with none.
  Status SelectOutputs(std::span<const Port> outputs, std::string* error = nullptr);
  Status SelectOutputs(std::initializer_list<Port> outputs, std::string* error = nullptr) {
    return SelectOutputs(std::span(outputs.begin(), outputs.size()), error);
  }

  // What an output will take, of the inputs as they are bound. Of strings that is known after Run
  // alone. Codes: kNoSuchIndex, kNoSuchName, kBadInput (an input is not bound).
  Status OutputSize(const Port& output, TensorSize* size, std::string* error = nullptr) const;

  // Codes: kBadInput (an input is not bound), kBufferTooSmall (a bound output), kOverlap,
  // kNotANumber, kNotAnInteger, kOutOfMemory, kInterrupted. After a failure there are no outputs.
  Status Run(const GraphRun& run, std::string* error = nullptr);

  // What the last run gave, good until the next one or until something is bound; it may view bound
  // inputs. Codes: kNoSuchIndex, kNoSuchName, kBadInput (there was no run, or it did not make this
  // output).
  Status Output(const Port& output, TensorView* view, std::string* error = nullptr) const;
  // Copies it: packed elements; of strings their bytes, one after the other, and `lengths`, one for
  // each. kBufferTooSmall where either has no room.
  Status CopyOutput(const Port& output, std::span<std::byte> bytes,
                    std::span<std::uint64_t> lengths, std::string* error = nullptr) const;

  // --------------------------------------------------------------------------- backward

  // The gradient of an output, of its type and of the shape that the last run gave it; none until
  // it is bound. Codes: as BindInput, kUnsupported (the session was not made for this).
  Status BindGradient(const Port& output, const TensorView& view, std::string* error = nullptr);
  // Gradients of the inputs, after a run whose inputs are still bound. docs/graphs.md has the rule.
  Status Backward(const GraphRun& run, std::string* error = nullptr);
  // What the last Backward gave; `has_gradient` false: none reaches the input. Codes: as Output.
  Status Gradient(const Port& input, bool* has_gradient, TensorView* view,
                  std::string* error = nullptr) const;

 private:
  friend struct tensorcast::SessionAccess;
  std::unique_ptr<SessionState> state_;
};

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_SESSION_HPP_
