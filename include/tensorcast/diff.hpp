// Compares two files of tensors, or two checkpoints, by the values of their tensors, with scales
// applied. Formats, types and layouts may differ. C++20.
//
//   tensorcast::DiffRequest request;
//   request.a = "model";                      // a directory, float8 with scales
//   request.b = "model-bf16.safetensors";
//   tensorcast::DiffReport report;
//   std::string error;
//   if (!tensorcast::Diff(request, {}, &report, &error).ok()) ...error...
//   for (const tensorcast::TensorDiff& one : report.tensors) ...  // the worst first
//
// This is part of libraries built with TENSORCAST_CONVERT. Nothing here throws or logs; errors and
// codes are those of convert.hpp. Tensors are streamed: memory stays bounded, however large they
// are.
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
  // Patterns, as in convert.hpp. A pair is taken if either of its tensors is.
  std::vector<std::string> only;      // none: every tensor
  std::vector<std::string> excluded;  // on either side
  bool ignore_scales = false;         // compare codes and scales as they are stored
  bool allow_hard_links = false;      // for files that hold a model's data
  // These apply to whichever of the two they suit; one that suits neither is an error.
  std::optional<DataType> assume_type;  // for npy files that do not name theirs
  std::string root;                     // for torch's files, as in convert.hpp
  std::string root_of_b;                // for B, if it differs from A's
};

// How the tensors of a pair compare, the worst first. From kSameValues on, they are equal.
enum class DiffKind : std::uint8_t {
  kOnlyInA,
  kOnlyInB,
  kShape,         // different shapes
  kIncomparable,  // strings and numbers, or different types that the library does not know
  kValues,        // different values
  kSameValues,    // the same values in another type or layout, or as other codes
  kSameBytes,
};
inline constexpr std::size_t kDiffKinds = 7;
TENSORCAST_API std::string_view DiffKindName(DiffKind kind);  // "only_in_a"
constexpr bool IsEqual(DiffKind kind) { return kind >= DiffKind::kSameValues; }

// A tensor as one side has it.
struct DiffSide {
  std::string name;   // any bytes; escape before showing
  std::string dtype;  // as the file spells it; empty for a weight whose scales are applied
  // kFloat64 for such a weight; kUndefined: not a type of the library's.
  DataType type = DataType::kUndefined;
  std::string_view layout;  // how such a weight is stored: "fp8-block"; else empty
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes = 0;     // as stored, with its scales and the like
  bool fortran_order = false;  // its elements are counted in column-major order
};

struct TensorDiff {
  DiffKind kind = DiffKind::kSameBytes;
  std::optional<DiffSide> a;  // none: the tensor is only in B
  std::optional<DiffSide> b;
  std::uint64_t elements = 0;   // how many were compared; bytes, if the types are not known
  std::uint64_t different = 0;  // how many of these differ
  std::uint64_t first = 0;      // the first that differs, in A's order; meaningful if one does
  // For numbers of different bytes: the loss from A's values to B's, as docs/semantics.md defines
  // it (section 7, with A as the source).
  std::optional<LossReport> loss;

  const DiffSide& side() const { return a ? *a : *b; }
};

struct DiffReport {
  // The worst first: by kind, then by SNR, then in the order of A, and of B.
  std::vector<TensorDiff> tensors;
  std::uint64_t counts[kDiffKinds] = {};  // of tensors, by kind
  // For limits (CrossedLimits). Equal tensors have lost nothing; tensors that could not be
  // compared, being on one side only or of different shapes, have no comparable element.
  LossSum sum;
  std::uint64_t bytes_a = 0;  // of the inputs
  std::uint64_t bytes_b = 0;
  // What the user should know, one line each: how a file was understood, odd scales.
  std::vector<std::string> notes;

  std::uint64_t count(DiffKind kind) const { return counts[static_cast<std::size_t>(kind)]; }
  // Whether both have the same names with the same shapes and values. NaN equals NaN, and -0 equals
  // +0.
  TENSORCAST_API bool equal() const;
};

// Compares. No figure depends on `settings`.
TENSORCAST_API Status Diff(const DiffRequest& request, const convert::RunSettings& settings,
                           DiffReport* report, std::string* error = nullptr);

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_DIFF_HPP_
