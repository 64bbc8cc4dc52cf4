// Weights that a library takes for others though every number written is right: told by what kind
// of model it is, and by shapes. What is said of libraries was seen with those that
// tests/clients/requirements.txt names.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_MISREAD_WEIGHTS_H_
#define TENSORCAST_SRC_CONVERT_MISREAD_WEIGHTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_info.h"
#include "scale/written_form.h"

namespace tensorcast::convert {

struct Decision;  // convert/selection.h
struct Survey;    // convert/survey.h

class MisreadWeights {
 public:
  explicit MisreadWeights(const Survey& survey);

  // What the weight of a tensor is, in words, where it would be misread in that form, by its plain
  // name and shape; empty: it would not.
  std::string_view KindOf(std::size_t tensor, std::string_view name,
                          std::span<const std::uint64_t> shape,
                          const scale::WrittenForm& form) const;

 private:
  struct Model {
    bool has_transposed_experts = false;
    bool has_conv1d = false;
  };

  const Survey& survey_;
  std::vector<Model> models_;  // of each part
};

// A line for each kind among the weights that are made, with the first of them and what is misread.
std::vector<std::string> MisreadNotes(const Survey& survey, std::span<const Decision> decisions);
// A line for each kind among the weights that are left alone for it.
std::vector<std::string> LeftNotes(const std::vector<formats::TensorInfo>& tensors,
                                   std::span<const Decision> decisions);
// A line on weights that were to be rotated and do not have whole groups; empty: there are none.
std::string UnrotatedNote(const std::vector<formats::TensorInfo>& tensors,
                          std::span<const Decision> decisions);
// A line on scaled weights of Conv1D that are stored, and so decoded, as [outputs, inputs]; empty:
// there are none.
std::string TurnedNote(const Survey& survey, std::span<const Decision> decisions);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_MISREAD_WEIGHTS_H_
