// The names under which checkpoints keep what their quantised tensors need, and what must fit
// before a name is believed.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_SCALE_NAMES_H_
#define TENSORCAST_SRC_SCALE_SCALE_NAMES_H_

#include <span>
#include <string_view>

#include "formats/tensor_info.h"

namespace tensorcast::scale {

struct Dialect;  // scale/dialects/dialect.h

// What a companion is to its tensor.
enum class CompanionRole {
  kScale,
  kSecondScale,      // multiplies or divides the scales
  kActivationScale,  // of what goes into or comes out of a layer, not of its weights
  kZeroPoint,
  kOrder,    // which group a row belongs to
  kShape,    // of the tensor before it was packed
  kCodeMap,  // the values of the codes
  kState,    // how it was quantised, as text or as a number
};

// "scale", "zero point" ...; "of NAME" goes on from there.
std::string_view RoleText(CompanionRole role);

// What the tensor's elements can be.
enum class Codes {
  kNarrow,  // float8 and narrower, and integers of at most a byte
  kWords,   // integers of any width, several codes in each
  kAny,     // even floats: bitsandbytes keeps its bytes in elements of any type
  kBlocks,  // GGUF's NVFP4, whose blocks have scales of their own
  kValues,  // those of a sparse matrix that are not 0, of any type
};

// A companion is called what remains of its tensor's name without `tensor` at its end, and then
// `companion`.
struct CompanionName {
  std::string_view tensor;
  std::string_view companion;
  CompanionRole role;
  Codes codes = Codes::kNarrow;
  // Whether such a name stands for nothing else. Where it may (".scale" is a norm's too), integers
  // of a whole byte are not enough.
  bool is_telling = true;
  // Who keeps weights so in a form that is not read here; empty: it has a layout of the kind.
  std::string_view opaque = {};
  std::string_view why_not = {};  // a weight that has such a companion is not read
  // Believed only where something describes the layer: its shape is the description's affair.
  bool is_described = false;
  // Codes without it are refused where the configuration or their own name says what they are.
  bool is_needed = false;
  const Dialect* dialect = nullptr;  // whose row it is; CompanionNames sets it
};

// The names of all dialects. The first that fits a companion is taken, and of a tensor's scales
// that of the first row.
std::span<const CompanionName> CompanionNames();

// Float8 and narrower, but for float8e8m0, which holds scales itself.
bool IsNarrowFloat(const formats::TensorInfo& info);

// Whether a tensor can be what the row says. Where `is_sure`, something beside the names says that
// there are quantised tensors.
bool TensorFits(const CompanionName& row, const formats::TensorInfo& tensor, bool is_sure);

// Whether a companion has a type that its role takes; the first is all that can be said where the
// tensor stands in another file.
bool CompanionTypeFits(const CompanionName& row, const formats::TensorInfo& companion);
bool CompanionFits(const CompanionName& row, const formats::TensorInfo& companion,
                   const formats::TensorInfo& tensor);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_SCALE_NAMES_H_
