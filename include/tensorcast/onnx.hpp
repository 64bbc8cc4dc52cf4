// ONNX models: how one is loaded, its weights stored in a narrower type, its needless Casts taken
// out. A Session (session.hpp) runs one, a Graph (graph.hpp) is one that can be changed. The C++20
// interface; docs/onnx.md says which opset means what.
//
// Nothing here throws or logs. A function that fails says in `error`, where one is given, what is
// wrong, where and what to do, in one line; texts from a file are escaped.
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

// Where an operator's text and the stored official tests of the same opset contradict each other:
// Inf to the float8 FNUZ types at opsets 19 to 23 (docs/semantics.md).
enum class Contradictions : std::int32_t { kText = 0, kTests = 1 };

struct LoadOptions {
  Contradictions contradictions = Contradictions::kText;
  Target target = Target::kBest;  // of a Session alone
  // External data is read from regular files below the model's directory. One with hard links may
  // be a file from elsewhere, and is refused, as onnx does (CVE-2026-34446), unless this allows it.
  bool allow_hard_links = false;
  // A Session alone: it runs without the Casts that Optimize takes out, by its default rules.
  bool optimize = false;
};

// ------------------------------------------------------------------------- storage only

// Asked of each tensor of a model: the type to store it in, or kUndefined to leave it. What it
// throws ends the call with kCallbackFailed.
using ChooseStorage =
    std::function<DataType(std::string_view name, DataType type, std::span<const std::uint64_t>)>;

struct StorageOptions {
  CastOptions cast;
  bool overwrite = false;        // replace an existing output
  Executor* executor = nullptr;  // none: the calling thread alone
  const std::atomic<bool>* interrupted = nullptr;
  bool allow_hard_links = false;  // as in LoadOptions
  // Store every tensor that is chosen. Else those of up to 1,024 bytes are left alone, which
  // shape inference reads, and those in which a finite value would become Inf, as in a mask of
  // -3.4e38; tensors that this may happen to are read once more for it.
  bool all_chosen = false;
};

// What became of one tensor.
struct StoredTensor {
  std::string name;
  DataType from = DataType::kUndefined;
  DataType to = DataType::kUndefined;  // kUndefined: left alone
  std::string reason;                  // why, where `choose` named a type and it was left alone
  LossReport loss;                     // of the cast to `to`
};

// Writes a model in which the chosen tensors are stored in another type and one Cast each brings
// them back, so that the graph's types do not change. `choose` is asked once for each initializer
// and Constant. Nothing stands under `output` unless it is complete. Codes: as Load, and kBadInput
// (the model's opset has no such type; the output exists or is the input), kInterrupted.
TENSORCAST_API Status ConvertStorage(const std::string& input, const std::string& output,
                                     const ChooseStorage& choose, const StorageOptions& options,
                                     std::vector<StoredTensor>* tensors,
                                     std::string* error = nullptr);
// The same for all floating tensors whose names match a glob (convert.hpp; "*" is all), stored as
// `to`. kBadInput also where no name matches, or the pattern is not legal.
TENSORCAST_API Status ConvertStorage(const std::string& input, const std::string& output,
                                     std::string_view pattern, DataType to,
                                     const StorageOptions& options,
                                     std::vector<StoredTensor>* tensors,
                                     std::string* error = nullptr);

// --------------------------------------------------------------------------- optimising

struct OptimizeOptions {
  // Put every constant that is cast into the model as what the cast gives; else only where the
  // model does not grow by it.
  bool fold_all = false;
  // Payloads of NaNs, and whether they signal, may change, as where float16 goes through float32
  // and back; that they are NaNs, and their signs, may not.
  bool nan_payloads_may_change = false;
  // These are for the form that writes a file.
  bool overwrite = false;         // replace an existing output
  bool allow_hard_links = false;  // as in LoadOptions
  const std::atomic<bool>* interrupted = nullptr;
};

// Why a node could go; docs/optimize.md has the proofs.
enum class OptimizeRule : std::int32_t {
  kSameType = 0,   // a Cast to the type that its input has
  kRoundTrip = 1,  // Casts that end in the type they began with, and give back every bit
  kChain = 2,      // the next Cast gives the same from what this one reads
  kDuplicate = 3,  // an equal Cast of the same value is there
  kConstant = 4,   // its input is a constant
  kUnread = 5,     // nothing reads what it gives
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
  std::string output;  // the value that it gave
  std::string graph;   // "": the main graph; "<node>.<attribute>" of a subgraph, "<domain>.<name>"
                       // of a function
  DataType from = DataType::kUndefined;  // kUndefined: not known, or no Cast
  DataType to = DataType::kUndefined;
};

// What would let Casts go that stay.
enum class KeptRemedy : std::int32_t {
  kNone = 0,
  kNanPayloads = 1,  // OptimizeOptions::nan_payloads_may_change
  kFoldAll = 2,      // OptimizeOptions::fold_all
  kInferShapes = 3,  // onnx.shape_inference.infer_shapes, which writes types into a model
};

// Casts that stay although a rule speaks of them, and why.
struct KeptCasts {
  std::string_view reason;  // static storage
  std::uint64_t casts = 0;
  KeptRemedy remedy = KeptRemedy::kNone;
};

// Counts are of the whole model: its graph, all subgraphs and functions.
struct OptimizeReport {
  std::vector<RemovedNode> removed;  // in the order of the model
  std::vector<KeptCasts> kept;
  std::string_view untouched;  // why nothing was tried at all; empty: it was. Static storage
  std::uint64_t nodes_before = 0, nodes_after = 0;
  std::uint64_t casts_before = 0, casts_after = 0;  // Cast and CastLike
  // What the Casts read and write when each runs once, of those whose sizes are known; the others
  // are counted.
  std::uint64_t bytes_moved_before = 0, bytes_moved_after = 0;
  std::uint64_t unknown_before = 0, unknown_after = 0;
  std::uint64_t model_bytes_before = 0, model_bytes_after = 0;  // without data in other files

  std::vector<std::string> notes;    // of the file that was written: where its data is
  std::uint64_t casts_rerouted = 0;  // those that stay and read an earlier value than before

  // Else the bytes of the model are as they were.
  bool changed() const { return !removed.empty() || casts_rerouted != 0; }
};

// Writes a model without Casts that change nothing: for every input every output has the same bits
// as before. Any model is taken: what is not understood stays, byte for byte. Nothing stands under
// `output` unless it is complete; data in other files is named or copied as it is. `report` may be
// null. Codes: as ConvertStorage.
TENSORCAST_API Status Optimize(const std::string& input, const std::string& output,
                               const OptimizeOptions& options, OptimizeReport* report,
                               std::string* error = nullptr);
// The same of a ModelProto in memory, of less than 2 GiB (else kBadFile).
TENSORCAST_API Status Optimize(std::span<const std::byte> model, const OptimizeOptions& options,
                               std::vector<std::byte>* optimized, OptimizeReport* report,
                               std::string* error = nullptr);

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast::onnx

#endif  // TENSORCAST_ONNX_HPP_
