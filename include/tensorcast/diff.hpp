// Two files of tensors, or two checkpoints, compared by what their tensors mean: of any formats,
// types and layouts, scales applied. C++20.
//
//   tensorcast::DiffRequest request;
//   request.a = "model";                      // a directory, float8 with scales
//   request.b = "model-bf16.safetensors";
//   tensorcast::DiffReport report;
//   std::string error;
//   if (!tensorcast::Diff(request, {}, &report, &error).ok()) ...error...
//   for (const tensorcast::TensorDiff& one : report.tensors) ...  // the worst first
//
// In a library that was built with TENSORCAST_CONVERT. Nothing here throws or logs; errors are
// those of convert.hpp, with the same codes. What is compared is streamed: memory stays bounded,
// whatever the size of the tensors.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_DIFF_HPP_
#define TENSORCAST_DIFF_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorcast/convert.hpp"
#include "tensorcast/report.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

// Tensors of A whose whole name matches `from` are looked for in B as `to`.
using RequestedRename = convert::RequestedRename;

struct DiffRequest {
  std::string a;  // files, or checkpoints' directories
  std::string b;
  std::vector<RequestedRename> renames;  // the first that matches a name of A wins
  // Patterns as convert.hpp has them. A pair is taken where one of its tensors is.
  std::vector<std::string> only;      // none: every tensor
  std::vector<std::string> excluded;  // on either side
  bool ignore_scales = false;         // compare codes and scales as they are stored
  bool allow_hard_links = false;      // of files that hold a model's data
  // Each is for whichever of the two it suits; it is an error where it suits neither.
  std::optional<DataType> assume_type;  // of npy files that do not name theirs
  std::string root;                     // of torch's files, as convert.hpp has it
  std::string root_of_b;                // of B, where it has another one than A
};

// How a tensor of one side stands to that of the other, the worst first. Those from kSameValues on
// are equal.
enum class DiffKind : std::uint8_t {
  kOnlyInA,
  kOnlyInB,
  kShape,         // of different shapes
  kIncomparable,  // strings and numbers, or types the library does not know that are not the same
  kValues,        // of different values
  kSameValues,    // in another type or layout, or as other codes of these values
  kSameBytes,
};
inline constexpr std::size_t kDiffKinds = 7;
TENSORCAST_API std::string_view DiffKindName(DiffKind kind);  // "only_in_a"
constexpr bool IsEqual(DiffKind kind) { return kind >= DiffKind::kSameValues; }

// A tensor as its side has it.
struct DiffSide {
  std::string name;   // any bytes; escape before showing
  std::string dtype;  // as the file spells it; empty for a weight whose scales are applied
  // kFloat64 for such a weight; kUndefined: not a type of the library's.
  DataType type = DataType::kUndefined;
  std::string_view layout;  // how such a weight is stored: "fp8-block"; else empty
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes = 0;     // as it is stored, with what serves it
  bool fortran_order = false;  // its elements are counted in column-major order
};

struct TensorDiff {
  DiffKind kind = DiffKind::kSameBytes;
  std::optional<DiffSide> a;  // none: it is only in B
  std::optional<DiffSide> b;
  std::uint64_t elements = 0;   // that were compared; of types that are not known, bytes
  std::uint64_t different = 0;  // of them
  std::uint64_t first = 0;      // the first of those, in A's order; meaningful where there is one
  // Numbers of different bytes: what it takes to make A's values B's, as docs/semantics.md has it
  // (section 7, A being the source).
  std::optional<LossReport> loss;

  const DiffSide& side() const { return a ? *a : *b; }
};

struct DiffReport {
  // The worst first: by kind, then by SNR, then as they stand in A, and in B.
  std::vector<TensorDiff> tensors;
  std::uint64_t counts[kDiffKinds] = {};  // of tensors, by kind
  // For limits (CrossedLimits): those that are equal have lost nothing, and in those that could not
  // be compared, as they are only on one side or of another shape, nothing could be.
  LossSum sum;
  std::uint64_t bytes_a = 0;  // of the inputs
  std::uint64_t bytes_b = 0;
  // What the user should know, one line each: how a file was understood, scales that are odd.
  std::vector<std::string> notes;

  std::uint64_t count(DiffKind kind) const { return counts[static_cast<std::size_t>(kind)]; }
  // Whether both hold the same names with the same shapes and values. NaN is the same as NaN, -0 as
  // +0.
  TENSORCAST_API bool equal() const;
};

// Compares. What does not depend on `settings`: every figure.
TENSORCAST_API Status Diff(const DiffRequest& request, const convert::RunSettings& settings,
                           DiffReport* report, std::string* error = nullptr);

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_DIFF_HPP_
