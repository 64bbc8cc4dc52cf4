// The tensors that a conversion cast, each with what it lost.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_REPORT_CAST_TENSORS_H_
#define TENSORCAST_SRC_REPORT_CAST_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_info.h"
#include "report/packed_reports.h"
#include "scale/written_form.h"
#include "tensorcast/report.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::report {

// One tensor and what it lost.
struct CastTensor {
  const formats::TensorInfo* info = nullptr;  // of the input
  DataType to = DataType::kUndefined;
  std::string_view taken_by;  // what chose it: the request's type, or a rule
  LossReport loss;
  bool is_companion = false;  // a scale or the like, cast because it was named
  scale::WrittenForm scaled;  // it became a scaled weight; `to` is the codes'
  // Of a scaled weight whose scales were searched: what that gained over the plain rule.
  std::optional<double> gain_db;
};

// Many of them, packed: a checkpoint may have a million. Elements are made when asked for.
class CastTensors {
 public:
  // `info` and `taken_by` outlive this.
  void Add(const formats::TensorInfo& info, DataType to, const std::string& taken_by,
           bool is_companion, const LossReport& loss, const scale::WrittenForm& scaled = {},
           std::optional<double> gain_db = {});

  bool empty() const { return tensors_.empty(); }
  std::size_t size() const { return tensors_.size(); }
  CastTensor operator[](std::size_t i) const;

  const formats::TensorInfo& info(std::size_t i) const { return *tensors_[i].info; }
  DataType to(std::size_t i) const { return tensors_[i].to; }
  const scale::WrittenForm& scaled(std::size_t i) const { return tensors_[i].scaled; }
  std::optional<double> gain_db(std::size_t i) const { return tensors_[i].gain_db; }
  Verdict verdict(std::size_t i) const { return tensors_[i].verdict; }
  // ComparableDecibel of what it lost.
  double decibel(std::size_t i) const { return tensors_[i].decibel; }
  const LossSum& sum() const { return sum_; }
  // Worst first: by verdict, then by SNR, then as they stand in the file.
  std::vector<std::uint32_t> WorstFirst() const;

 private:
  struct Entry {
    const formats::TensorInfo* info;
    const std::string* taken_by;
    double decibel;  // to compare by
    DataType to;
    Verdict verdict;
    bool is_companion;
    scale::WrittenForm scaled;
    std::optional<double> gain_db;
  };
  std::vector<Entry> tensors_;
  PackedReports reports_;
  LossSum sum_;
};

}  // namespace tensorcast::report

#endif  // TENSORCAST_SRC_REPORT_CAST_TENSORS_H_
