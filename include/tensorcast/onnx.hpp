// ONNX models: how they are loaded, storing their weights in a narrower type, and removing needless
// Casts. A Session (session.hpp) runs a model, and a Graph (graph.hpp) is one that can be changed.
// The C++20 interface; docs/onnx.md says which opset means what.
//
// Nothing here throws or logs. A function that fails sets `error`, if given, to one line that says
// what is wrong, where and what to do; it escapes texts from files.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_ONNX_HPP_
#define TENSORCAST_ONNX_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::onnx {
inline namespace TENSORCAST_ABI {

// What to follow where an operator's text and the stored official tests of the same opset
// contradict each other: Inf to the float8 FNUZ types at opsets 19 to 23 (docs/semantics.md).
enum class Contradictions : std::int32_t { kText = 0, kTests = 1 };

struct LoadOptions {
  Contradictions contradictions = Contradictions::kText;
  Target target = Target::kBest;  // only for a Session
  // External data is read from regular files below the model's directory. One with hard links may
  // be a file from elsewhere; it is refused unless this is true, as onnx does (CVE-2026-34446).
  bool allow_hard_links = false;
  // Only for a Session: run without the Casts that Optimize removes by its default rules.
  bool optimize = false;
};

// ------------------------------------------------------------------------- storage only

// Called for each tensor of a model. Returns the type to store it in, or kUndefined to leave it
// alone. If it throws, the call ends with kCallbackFailed.
using ChooseStorage =
    std::function<DataType(std::string_view name, DataType type, std::span<const std::uint64_t>)>;

struct StorageOptions {
  CastOptions cast;
  bool overwrite = false;        // replace an existing output
  Executor* executor = nullptr;  // none: the calling thread alone
  const std::atomic<bool>* interrupted = nullptr;
  bool allow_hard_links = false;  // as in LoadOptions
  // Store every chosen tensor. Otherwise tensors of up to 1,024 bytes are left alone, as shape
  // inference reads them, and so are those in which a finite value would become Inf, as in a mask
  // of -3.4e38. Tensors that may have such values are read one more time to find out.
  bool all_chosen = false;
};

// What became of one tensor.
struct StoredTensor {
  std::string name;
  DataType from = DataType::kUndefined;
  DataType to = DataType::kUndefined;  // kUndefined: left alone
  std::string reason;                  // why it was left alone, if `choose` returned a type
  LossReport loss;                     // of the cast to `to`
};

// Writes a model in which the chosen tensors are stored in another type, each with a Cast that
// brings it back, so that the graph's types do not change. `choose` is called once for each
// initializer and Constant. Nothing has the name `output` until it is complete. Codes: those of
// Session::Load, and kBadInput (the model's opset has no such type; the output exists or is the
// input), kInterrupted.
TENSORCAST_API Status ConvertStorage(const std::string& input, const std::string& output,
                                     const ChooseStorage& choose, const StorageOptions& options,
                                     std::vector<StoredTensor>* tensors,
                                     std::string* error = nullptr);
// The same for all floating tensors whose names match a glob (convert.hpp; "*" matches all), stored
// as `to`. kBadInput also if no name matches, or the pattern is not legal.
TENSORCAST_API Status ConvertStorage(const std::string& input, const std::string& output,
                                     std::string_view pattern, DataType to,
                                     const StorageOptions& options,
                                     std::vector<StoredTensor>* tensors,
                                     std::string* error = nullptr);

// --------------------------------------------------------------------------- optimising

struct OptimizeOptions {
  // Replace every constant that is cast by the result of the cast; otherwise only if that does not
  // make the model larger.
  bool fold_all = false;
  // Let payloads of NaNs change, and whether they signal, as in casts from float16 to float32 and
  // back. NaNs still stay NaNs and keep their signs.
  bool nan_payloads_may_change = false;
  // Only for the overload that writes a file:
  bool overwrite = false;         // replace an existing output
  bool allow_hard_links = false;  // as in LoadOptions
  const std::atomic<bool>* interrupted = nullptr;
};

// Why a node could be removed; docs/optimize.md has the proofs.
enum class OptimizeRule : std::int32_t {
  kSameType = 0,   // a Cast to the type of its input
  kRoundTrip = 1,  // Casts that end in the type they begin with, and restore every bit
  kChain = 2,      // the next Cast gives the same result from this one's input
  kDuplicate = 3,  // there is an equal Cast of the same value
  kConstant = 4,   // its input is a constant
  kUnread = 5,     // nothing reads its output
};
constexpr std::string_view OptimizeRuleName(OptimizeRule rule) {
  constexpr std::string_view kNames[] = {"same-type", "round-trip", "chain",
                                         "duplicate", "constant",   "unread"};
  const auto index = static_cast<std::size_t>(rule);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

struct RemovedNode {
  OptimizeRule rule = OptimizeRule::kUnread;
  std::string op_type;
  std::string node;    // its name, which may be empty
  std::string output;  // the name of its output
  // "": the main graph; "<node>.<attribute>": a subgraph; "<domain>.<name>": a function.
  std::string graph;
  DataType from = DataType::kUndefined;  // kUndefined: unknown, or not a Cast
  DataType to = DataType::kUndefined;
};

// What would allow kept Casts to be removed.
enum class KeptRemedy : std::int32_t {
  kNone = 0,
  kNanPayloads = 1,  // OptimizeOptions::nan_payloads_may_change
  kFoldAll = 2,      // OptimizeOptions::fold_all
  kInferShapes = 3,  // onnx.shape_inference.infer_shapes, which writes types into a model
};

// Casts that a rule applies to but that had to stay, and why.
struct KeptCasts {
  std::string_view reason;  // static storage
  std::uint64_t casts = 0;
  KeptRemedy remedy = KeptRemedy::kNone;
};

// Counts cover the whole model: its graph, all subgraphs and functions.
struct OptimizeReport {
  std::vector<RemovedNode> removed;  // in the order of the model
  std::vector<KeptCasts> kept;
  std::string_view untouched;  // why the model was left alone; else empty. Static storage
  std::uint64_t nodes_before = 0, nodes_after = 0;
  std::uint64_t casts_before = 0, casts_after = 0;  // Cast and CastLike
  // What the Casts read and write when each runs once, and how many Casts this leaves out, as their
  // sizes are unknown.
  std::uint64_t bytes_moved_before = 0, bytes_moved_after = 0;
  std::uint64_t unknown_before = 0, unknown_after = 0;
  std::uint64_t model_bytes_before = 0, model_bytes_after = 0;  // not counting data in other files

  std::vector<std::string> notes;    // about the file that was written: where its data is
  std::uint64_t casts_rerouted = 0;  // kept Casts that now read an earlier value

  // If false, the bytes of the model are as they were.
  bool changed() const { return !removed.empty() || casts_rerouted != 0; }
};

// Writes a model without the Casts that change nothing: for every input, every output has the same
// bits as before. Takes any model: what it does not understand stays, byte for byte. Nothing has
// the name `output` until it is complete; data in other files is referred to or copied as it is.
// `report` may be null. Codes: those of ConvertStorage.
TENSORCAST_API Status Optimize(const std::string& input, const std::string& output,
                               const OptimizeOptions& options, OptimizeReport* report,
                               std::string* error = nullptr);
// The same for a ModelProto in memory, of less than 2 GiB (else kBadFile).
TENSORCAST_API Status Optimize(std::span<const std::byte> model, const OptimizeOptions& options,
                               std::vector<std::byte>* optimized, OptimizeReport* report,
                               std::string* error = nullptr);

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::onnx

#endif  // TENSORCAST_ONNX_HPP_
