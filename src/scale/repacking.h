// A quantised weight in another layout: the same codes, the same values. What would become another
// value is refused before anything is written; the one that may change is a global scale that a
// layout divides by and another multiplies with, by the rounding of its reciprocal.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_REPACKING_H_
#define TENSORCAST_SRC_SCALE_REPACKING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/tensor_reader.h"
#include "formats/tensor_writer.h"
#include "scale/code_writer.h"
#include "scale/group_values.h"
#include "scale/scaled_weights.h"
#include "scale/stored_codes.h"
#include "scale/written_form.h"

namespace tensorcast::scale {

class Repacking {
 public:
  // Of a weight of the reader's, into a dialect's layout. Reads scales, zero points and what else
  // is small to know whether it can be, of GGUF's blocks all. Throws files::Error (unsupported; or
  // what reading them throws), which names the weight.
  static std::shared_ptr<const Repacking> Plan(const formats::TensorReader& reader,
                                               const ScaledWeight& weight, const Dialect& target);

  // The weight that it is in the output.
  const WrittenForm& form() const { return form_; }
  const std::string& name() const { return name_; }
  const std::vector<WrittenTensor>& tensors() const { return tensors_; }
  // "int4-group", "nvfp4"; static storage.
  std::string_view FormatText() const;
  // "int4-group (GPTQ)"
  const std::string& SourceText() const { return source_text_; }
  // The tensors that it is made of, by their index in the reader, the codes first.
  const std::vector<std::size_t>& sources() const { return sources_; }
  // The most by which a value changes, relative to itself: 0 but where a reciprocal is rounded.
  double change() const { return change_; }
  // Stacked, of so many rows each.
  std::uint64_t matrices() const { return codes_->stored().batches; }
  std::uint64_t rows() const { return codes_->stored().rows; }
  // Rows are done in multiples of this, or to the end of a matrix.
  std::uint64_t RowGrain() const;
  // What a row takes in memory while it is done, about.
  std::uint64_t RowBytes() const;
  // Whether few calls of many rows cost least.
  bool IsDoneInBands() const;

  // Rows of a matrix. `output` is the index of the first tensor. From any thread, in any order.
  void Run(const formats::TensorReader& reader, const RowRange& rows, formats::TensorWriter& writer,
           std::size_t output) const;
  // What is not of rows; once.
  void RunSmall(const formats::TensorReader& reader, formats::TensorWriter& writer,
                std::size_t output) const;

 private:
  friend class RepackPlanner;

  // Scales that are no rows' are copied as they are: from, to.
  struct Copy {
    std::size_t from = 0, to = 0;
  };

  WrittenForm form_;
  std::string name_;
  std::vector<WrittenTensor> tensors_;
  std::vector<std::size_t> sources_;
  std::string source_text_;
  double change_ = 0;
  std::shared_ptr<const PackedWeight> held_;  // has the codes, where they are its
  std::shared_ptr<const StoredCodes> codes_;
  RowChange values_;
  // Of tensors counted from the weight's first.
  WrittenPlaces places_;
  std::optional<std::size_t> global_, shape_, order_;
  std::optional<Copy> copied_;
  bool is_reciprocal_ = false;
  std::vector<std::uint64_t> written_shape_;
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_REPACKING_H_
