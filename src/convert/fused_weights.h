// Weights that get a global scale and that runtimes load as one matrix (scale/fused_names.h), as a
// plan sees them: which are written anew for it, what of the others is in other files, and what has
// to be said.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_FUSED_WEIGHTS_H_
#define TENSORCAST_SRC_CONVERT_FUSED_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convert/selection.h"
#include "convert/shared_globals.h"
#include "convert/survey.h"
#include "formats/tensor_reader.h"

namespace tensorcast::convert {

// A file of the same checkpoint, by its index, with weights that share a global scale with some of
// the one that is converted. They are read for their largest magnitudes, and not written.
struct FusedFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::vector<std::string> weights;  // by name
  // Weights that have scales are read as their values.
  std::shared_ptr<const formats::TensorReader> reader;
  std::vector<std::uint32_t> tensors;  // the weights' indices in it
};

struct FusedWeights {
  std::vector<FusedFile> files;
  std::vector<std::string> notes;
};

// To be asked when it is decided what becomes of the tensors, and before scales are applied:
// weights that have the format already are written anew where others of their matrix have another
// global scale, or get theirs now. A file that is not there is said in a note. Throws files::Error
// where another one, or the index, cannot be read.
FusedWeights FindFused(const Survey& survey, const SelectionRequest& request,
                       const Opening& opening, std::vector<Decision>& decisions);

// The tensors that get global scales.
std::vector<std::uint32_t> WithGlobals(std::span<const Decision> decisions);

// Which of these tensors share their global scales, with each other and with those of `files`. Of
// the reader that applies scales; it and the files outlive the result.
SharedGlobals GlobalsOf(const formats::TensorReader& reader, std::span<const std::uint32_t> tensors,
                        std::span<const FusedFile> files);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_FUSED_WEIGHTS_H_
