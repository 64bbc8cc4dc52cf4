// Which tensors of a checkpoint are scaled weights, in which layout, and by what evidence.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_SCALED_WEIGHTS_H_
#define TENSORCAST_SRC_SCALE_SCALED_WEIGHTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/error.h"
#include "formats/tensor_reader.h"
#include "scale/layouts.h"
#include "scale/scale_companions.h"

namespace tensorcast::scale {

// A weight and the tensors it is made of, by their indices in the contents.
struct ScaledWeight {
  std::size_t codes = 0;
  std::size_t scale = 0;
  std::optional<std::size_t> global = {};
  std::optional<std::size_t> zero_point = {};
  std::vector<std::size_t> companions;  // all that serve it, those above included
  Reading reading;
  std::string name;                  // of the plain weight
  std::vector<std::uint64_t> shape;  // of the plain weight
  std::string evidence;              // "config.json says blocks of 128 × 128, shapes fit"; escaped

  // "fp8-block (DeepSeek)"
  std::string LayoutText() const;
};

// A tensor that has scales which cannot be applied, and why not: one line, escaped, without the
// file's name.
struct UnreadWeight {
  std::size_t tensor = 0;
  core::ErrorKind kind = core::ErrorKind::kContents;
  std::string why;
  Remedy remedy = Remedy::kIgnoreScales;
  // Names, types and shapes that are known say so. Where not, something else suggests it: integers
  // are then taken for what they are until somebody asks for them.
  bool is_known = true;
};

// A tensor of a layout that is known, by its names or by the configuration's method, and not read
// here: the codes, or what serves them.
struct OpaqueTensor {
  std::size_t tensor = 0;
  std::string writer;  // "GPTQ or AWQ"; a method of the configuration in quotes: "\"vptq\""
};

// Each list in the order of the contents. Tensors that have scales and are in none of them have
// these in another file, or are said to have some that are nowhere.
struct ScaledWeights {
  std::vector<ScaledWeight> weights;
  std::vector<UnreadWeight> unread;
  std::vector<OpaqueTensor> opaque;
  // What names alone do not tell to serve opaque tensors.
  std::vector<Companion> companions;
  QuantizationConfig config;  // what the configuration beside the tensors says
};

// Goes on from what FindScaleCompanions found in the reader's contents; `path` is the checkpoint's,
// a file or a directory, whose configuration counts as evidence. Throws files::Error where a tensor
// that describes a layer, or the configuration, cannot be read by the system.
ScaledWeights FindScaledWeights(const formats::TensorReader& reader, const std::string& path,
                                const ScaleCompanions& companions, QuantizationConfig config);

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_SCALED_WEIGHTS_H_
