// Runs a graph, forward and backward, on tensors in the caller's memory, bound by index or by name.
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

// Which types have derivatives. kUsual: float16, float32, float64 and bfloat16. kWide: the float8,
// float6 and float4 types too, except float8e8m0, which has neither zero nor sign.
enum class Differentiable : std::uint8_t { kUsual, kWide };

struct SessionOptions {
  Target target = Target::kBest;
  bool backward = false;  // Backward may be called
  Differentiable differentiable = Differentiable::kUsual;
  // Give an input that no gradient reaches one of zeros instead of none; an input of strings has
  // none.
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

// What an output or a gradient takes. For strings, `bytes` is that of the texts, and `elements` is
// the number of lengths.
struct TensorSize {
  std::vector<std::uint64_t> shape;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

// What the const Run gives: one tensor for each output of the session. An output that is an
// unchanged input or constant is a view of it: the inputs' buffers and the session must live as
// long.
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

// A graph or a model that is ready to run. It has been checked, so a run fails only because of its
// inputs, of a text that is not a number, or of a lack of memory. There are two separate ways to
// run:
//
// - The const Run takes inputs and gives outputs; any number of threads may call it at once.
// - Run, Output and Backward use what is bound, one thread at a time. They keep their memory, so
//   that runs of the same shapes allocate nothing.
class TENSORCAST_API Session {
 public:
  Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Takes what it needs from the graph; constants are read. Codes: those of Graph::Save,
  // kTargetUnavailable, kOutOfMemory.
  static Status Create(const Graph& graph, const SessionOptions& options, Session* session,
                       std::string* error = nullptr);
  // Loads a model without keeping a graph; the session does not run backward. Codes: kFileError
  // (missing, unreadable), kBadFile (not a model, or one that breaks its opset's rules),
  // kUnsupportedFile (a node other than Cast, CastLike, Identity, Constant and the model's own
  // functions of these), kOutOfMemory, kTargetUnavailable.
  static Status Load(const std::string& path, const onnx::LoadOptions& options, Session* session,
                     std::string* error = nullptr);
  // The same for a ModelProto in memory, which is copied. External data is refused, as there is no
  // directory to find it in. At 2 GiB and more, which protobuf does not allow, it gives kBadFile
  // before it reads a byte.
  static Status Parse(std::span<const std::byte> bytes, const onnx::LoadOptions& options,
                      Session* session, std::string* error = nullptr);

  std::int64_t opset() const;                 // of ai.onnx; 0 if a model imports none
  std::span<const ValueInfo> inputs() const;  // including those that have a default
  std::span<const ValueInfo> outputs() const;
  // The index of an input or an output. Codes: kNoSuchIndex, kNoSuchName.
  Status FindInput(const Port& input, std::size_t* index, std::string* error = nullptr) const;
  Status FindOutput(const Port& output, std::size_t* index, std::string* error = nullptr) const;

  // Runs the session on one view for each input; a view of type kUndefined takes the input's
  // default. Declared shapes are not enforced. What `results` held before is lost, also after a
  // failure; its memory is reused where it fits, and the inputs may be views of it. Codes:
  // kBadInput (a wrong number of inputs, a type other than the declared one, data of a size other
  // than its shape's, no default), kNotANumber, kNotAnInteger, kOutOfMemory, kInterrupted.
  Status Run(std::span<const TensorView> inputs, const GraphRun& run, SessionResults* results,
             std::string* error = nullptr) const;

  // ------------------------------------------------------------------------------- bound

  // Run reads the caller's memory until another view is bound; the shape is copied. A view of type
  // kUndefined takes the input's default. Codes: kNoSuchIndex, kNoSuchName, kBadInput (a type or
  // rank other than the input's, data that does not fit the shape).
  Status BindInput(const Port& input, const TensorView& view, std::string* error = nullptr);
  // Run writes an output of numbers into `memory`, which must have room for it and not overlap what
  // is read or another output. An empty span unbinds it. Codes: kNoSuchIndex, kNoSuchName,
  // kBadInput (an output of strings, which CopyOutput gives).
  Status BindOutput(const Port& output, std::span<std::byte> memory, std::string* error = nullptr);
  // Selects the outputs that are wanted; only what they need is run. Calling this with none selects
  // all, as at the start.
  Status SelectOutputs(std::span<const Port> outputs, std::string* error = nullptr);
  Status SelectOutputs(std::initializer_list<Port> outputs, std::string* error = nullptr) {
    return SelectOutputs(std::span(outputs.begin(), outputs.size()), error);
  }

  // What an output will take with the inputs that are bound. For strings, this is known only after
  // Run. Codes: kNoSuchIndex, kNoSuchName, kBadInput (an input is not bound).
  Status OutputSize(const Port& output, TensorSize* size, std::string* error = nullptr) const;

  // Runs the session on what is bound. After a failure there are no outputs. Codes: kBadInput (an
  // input is not bound), kBufferTooSmall (a bound output), kOverlap, kNotANumber, kNotAnInteger,
  // kOutOfMemory, kInterrupted.
  Status Run(const GraphRun& run, std::string* error = nullptr);

  // An output of the last run, valid until the next run or until something is bound; it may view
  // bound inputs. Codes: kNoSuchIndex, kNoSuchName, kBadInput (there was no run, or it did not make
  // this output).
  Status Output(const Port& output, TensorView* view, std::string* error = nullptr) const;
  // Copies an output: packed elements, or for strings their bytes, one after the other, and the
  // length of each. kBufferTooSmall if either has too little room.
  Status CopyOutput(const Port& output, std::span<std::byte> bytes,
                    std::span<std::uint64_t> lengths, std::string* error = nullptr) const;

  // --------------------------------------------------------------------------- backward

  // Binds the gradient of an output, with its type and the shape that the last run gave it. Until
  // this is called there is none. Codes: those of BindInput, kUnsupported (the session was not made
  // for this).
  Status BindGradient(const Port& output, const TensorView& view, std::string* error = nullptr);
  // Computes the gradients of the inputs, after a run whose inputs are still bound. docs/graphs.md
  // has the rule.
  Status Backward(const GraphRun& run, std::string* error = nullptr);
  // The gradient of an input from the last Backward; `has_gradient` is false if none reaches the
  // input. Codes: those of Output.
  Status Gradient(const Port& input, bool* has_gradient, TensorView* view,
                  std::string* error = nullptr) const;

 private:
  friend struct tensorcast::SessionAccess;
  std::unique_ptr<SessionState> state_;
};

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_SESSION_HPP_
