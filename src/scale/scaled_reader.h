// A checkpoint with scales applied: each scaled weight is one tensor of float64 that holds the
// products of its codes and scales, or what else its codes mean.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_SCALE_SCALED_READER_H_
#define TENSORCAST_SRC_SCALE_SCALED_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/tensor_reader.h"
#include "scale/applier.h"
#include "scale/cell_values.h"
#include "scale/dequantiser.h"
#include "scale/held_parts.h"
#include "scale/scaled_tensor.h"
#include "scale/scaled_weights.h"

namespace tensorcast::scale {

// A weight whose scales are applied, and for what.
struct AppliedWeight {
  ScaledWeight weight;
  // kNearest where the float64 itself is wanted, kOdd where it is cast to a narrower type.
  Rounding rounding = Rounding::kOdd;
};

// Tensors keep their indices: at that of a weight's codes stands the weight, under its plain name
// and in its own shape, and what serves it stands as it is, to be left out by the caller.
class ScaledReader final : public formats::TensorReader {
 public:
  // `applied` in the order of their codes. `drops_metadata`: they are all that have scales; keys of
  // the metadata that speak of scales are left out then.
  ScaledReader(std::shared_ptr<const formats::TensorReader> base,
               std::vector<AppliedWeight> applied, bool drops_metadata);
  ~ScaledReader() override;

  const formats::FileContents& contents() const override { return contents_; }
  void Read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> out) const override;
  bool ReadCast(std::size_t tensor, const CastPlan& plan, std::uint64_t first,
                std::span<std::byte> out) const override;
  text::StringPiece ReadStrings(std::size_t tensor, std::uint64_t first,
                                std::uint64_t n) const override {
    return base_->ReadStrings(tensor, first, n);
  }
  std::uint64_t file_bytes() const override { return base_->file_bytes(); }
  void CheckUnchanged() const override { base_->CheckUnchanged(); }
  std::vector<std::string> external_paths() const override { return base_->external_paths(); }
  std::vector<std::string> notes() const override { return base_->notes(); }

  // The applied weight whose codes have this index, or nullptr.
  const AppliedWeight* applied(std::size_t tensor) const;
  // The tensors as the file has them.
  const std::vector<formats::TensorInfo>& stored() const { return base_->contents().tensors; }

  // One line for each weight in which a scale was met that is <= 0, Inf or NaN, of all scales of
  // the weight: "q.weight_scale: of 16 scales 1 zero or negative, 1 NaN, the first at index 3". One
  // for weights that were met and that runtimes load as one matrix, with one global scale, where
  // they have several.
  std::vector<std::string> Findings() const;

 private:
  struct Slab;
  struct Band;
  struct HeldApplier;
  // Scales as they are stored, and as doubles.
  struct Cells {
    std::vector<std::byte> codes;
    std::vector<double> values;
  };
  // What of a read call lies in one matrix.
  struct TransposedPart {
    const AppliedWeight& applied;
    const Dequantiser& dequantiser;
    double global;
    std::uint64_t begin;    // of the matrix, as it is read
    std::span<double> out;  // from there on
  };

  Cells ReadCells(std::size_t tensor, DataType type, CellRange cells) const;
  std::vector<double> ReadZeros(const ScaledWeight& weight, CellRange cells) const;
  std::vector<std::byte> ReadCodes(const ScaledWeight& weight, std::uint64_t first,
                                   std::uint64_t n) const;
  double GlobalOf(const AppliedWeight& applied) const;
  // Which weights with a global scale are one matrix.
  void FindFused();
  std::span<const std::uint32_t> FusedWith(const AppliedWeight& applied) const;
  std::string FusedText() const;
  void ReadValues(const AppliedWeight& applied, std::uint64_t first, std::span<double> out) const;
  void ReadInOrder(const AppliedWeight& applied, std::uint64_t first, std::span<double> out) const;
  void ReadTransposed(const AppliedWeight& applied, std::uint64_t first,
                      std::span<double> out) const;
  // The slab that has a matrix's code at this row and column.
  std::shared_ptr<const Slab> SlabOf(const ScaledWeight& weight, std::uint64_t matrix,
                                     std::uint64_t row, std::uint64_t column) const;
  void Transpose(const Slab& slab, const Rectangle& wanted, const TransposedPart& part) const;
  std::shared_ptr<const Applier> ApplierOf(const AppliedWeight& applied,
                                           const CastPlan& plan) const;
  void CastInOrder(const AppliedWeight& applied, const Applier& applier, std::uint64_t first,
                   std::uint64_t n, std::span<std::byte> out) const;
  void CastTransposed(const AppliedWeight& applied, const std::shared_ptr<const Applier>& applier,
                      DataType to, std::uint64_t first, std::span<std::byte> out) const;
  // The band that has a matrix's column.
  std::shared_ptr<const Band> BandOf(const ScaledWeight& weight,
                                     const std::shared_ptr<const Applier>& applier, DataType to,
                                     std::uint64_t matrix, std::uint64_t column) const;
  void Note(const ScaledWeight& weight, std::span<const double> scales) const;
  void CountScales(const ScaledWeight& weight) const;

  std::shared_ptr<const formats::TensorReader> base_;
  HeldParts parts_;  // of packed weights
  std::vector<AppliedWeight> applied_;
  std::unordered_map<std::size_t, std::size_t> by_codes_;  // indices of applied_
  formats::FileContents contents_;
  std::vector<std::uint32_t> order_;  // of applied_, those that are fused, matrix by matrix
  std::vector<std::uint32_t> ends_;   // of each matrix, in order_
  mutable std::mutex mutex_;          // guards what follows
  mutable std::vector<std::optional<double>> globals_;               // that were met, of applied_
  mutable std::unordered_map<std::size_t, ScaleFindings> findings_;  // by codes
  // The last used, newest last.
  mutable std::vector<std::shared_ptr<const Slab>> slabs_;
  mutable std::vector<std::shared_ptr<const Band>> bands_;
  mutable std::vector<std::shared_ptr<const HeldApplier>> appliers_;
};

}  // namespace tensorcast::scale

#endif  // TENSORCAST_SRC_SCALE_SCALED_READER_H_
