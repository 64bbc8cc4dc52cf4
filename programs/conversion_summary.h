// What a finished convert has to say: the material of the table and of the JSON report.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_CONVERSION_SUMMARY_H_
#define TENSORCAST_PROGRAMS_CONVERSION_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "convert/selection.h"
#include "io/tensor_file.h"
#include "packed_reports.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// How a tensor came through. The worst comes first.
enum class Verdict {
  kLost,  // ✗ values became NaN, Inf or a limit, wrapped, or a NaN became a number
  kPoor,  // ! SNR below 20 dB, or one nonzero value in 20 became zero
  kGood,  // ✓
};
inline constexpr double kPoorDecibel = 20;
inline constexpr double kPoorZeroShare = 0.05;

Verdict Judge(const LossReport& loss);

// The SNR to compare by: that of the report; -Inf where finite values became Inf or NaN, where no
// element could be compared, and where squares left double's range, so that it is not known.
double ComparableDecibel(const LossReport& loss);

// The SNR as tables show it: "–" where nothing was compared, "∞" only where all that was is exact,
// "?" where squares left double's range.
std::string SnrText(const LossReport& loss);

// One tensor and what it lost.
struct CastTensor {
  const io::TensorInfo* info = nullptr;  // of the input
  DataType to = DataType::kUndefined;
  std::string_view taken_by;  // "--to", or the rule
  LossReport loss;
  bool is_companion = false;  // a scale or the like, cast because it was named
};

// What tensors lost together.
struct LossSum {
  std::uint64_t elements = 0;
  std::uint64_t counts[kLossKinds] = {};
  // The tensor with the lowest SNR (the first of several), and what it lost; nullptr: no tensor.
  const io::TensorInfo* worst = nullptr;
  LossReport worst_loss;

  void Add(const io::TensorInfo& info, const LossReport& loss);
  std::uint64_t count(Loss loss) const { return counts[static_cast<std::size_t>(loss)]; }
};

// Many of them, packed: a checkpoint may have a million. Elements are made when asked for.
class CastTensors {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = CastTensor;
    using difference_type = std::ptrdiff_t;
    using pointer = const CastTensor*;
    using reference = CastTensor;

    Iterator(const CastTensors& tensors, std::size_t i) : tensors_(&tensors), i_(i) {}
    CastTensor operator*() const { return (*tensors_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }
    bool operator!=(const Iterator& other) const { return i_ != other.i_; }

   private:
    const CastTensors* tensors_;
    std::size_t i_;
  };

  // The tensor and its decision outlive this.
  void Add(const io::TensorInfo& info, const convert::Decision& decision, const LossReport& loss);

  bool empty() const { return tensors_.empty(); }
  std::size_t size() const { return tensors_.size(); }
  CastTensor operator[](std::size_t i) const;
  CastTensor front() const { return (*this)[0]; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

  const io::TensorInfo& info(std::size_t i) const { return *tensors_[i].info; }
  DataType to(std::size_t i) const { return tensors_[i].decision->to; }
  Verdict verdict(std::size_t i) const { return tensors_[i].verdict; }
  const LossSum& sum() const { return sum_; }
  // Worst first: by verdict, then by SNR, then as they stand in the file.
  std::vector<std::uint32_t> WorstFirst() const;

 private:
  struct Entry {
    const io::TensorInfo* info;
    const convert::Decision* decision;
    double decibel;  // to compare by
    Verdict verdict;
  };
  std::vector<Entry> tensors_;
  PackedReports reports_;
  LossSum sum_;
};

// Cast from or to strings, of which no loss is measured.
struct CastText {
  const io::TensorInfo* info = nullptr;  // of the input
  DataType to = DataType::kUndefined;
  std::string_view taken_by;
};

struct LeftAlone {
  const io::TensorInfo* info = nullptr;
  std::string_view reason;
  bool is_companion = false;  // a scale or the like; the reason says whose
};

// A --fail-on limit that was crossed.
struct CrossedLimit {
  std::string kind;
  double limit = 0;
  double value = 0;         // NaN: the worst tensor's SNR is not known, or not all there is
  bool is_percent = false;  // both are percentages of the elements
  std::string tensor;       // snr: the worst one's name
  std::string reason;       // snr: why a value that is NaN counts as below any limit
};

// "to_zero 31 is above 5", "snr 12.0 dB of blk.0.w is below 20 dB".
std::string CrossedText(const CrossedLimit& crossed);

struct ConversionSummary {
  std::string input;
  std::string output;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  CastOptions options;
  CastTensors cast;  // in the order of the file
  std::vector<CastText> texts;
  std::vector<LeftAlone> left_alone;
  std::vector<CrossedLimit> crossed;
  std::string reading_hint;
  // Whether the output could hold a cast tensor in another type; empty: in any. A model's opset
  // may have no Cast from it.
  std::function<bool(const io::TensorInfo&, DataType)> can_hold;

  std::uint64_t Values() const { return cast.sum().elements; }
  std::uint64_t Count(Loss loss) const { return cast.sum().count(loss); }
};

// Where values were lost in a way that another type or option prevents: one line each, the worst
// problem first, at most three; names are shortened to what such a line has room for.
std::vector<std::string> Advice(const ConversionSummary& summary, std::size_t columns);

// The report for people, at most `columns` wide where that can be.
std::string LossTable(const ConversionSummary& summary, bool verbose, bool colour,
                      std::size_t columns);

// The report for programs. The same bytes for the same input and arguments.
void PrintLossJson(const ConversionSummary& summary);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_CONVERSION_SUMMARY_H_
