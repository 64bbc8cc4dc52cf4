// What a finished convert has to say: the material of the table and of the JSON report.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_CONVERSION_SUMMARY_H_
#define TENSORCAST_PROGRAMS_CONVERSION_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "io/tensor_file.h"
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

// The SNR to compare by: that of the report, or -Inf where it is undefined (squares beyond double).
double ComparableDecibel(const LossReport& loss);

struct CastTensor {
  const io::TensorInfo* info = nullptr;  // of the input
  DataType to = DataType::kUndefined;
  std::string taken_by;  // "--to", or the rule
  LossReport loss;
  bool is_companion = false;  // a scale or the like, cast because it was named
};

// Cast from or to strings, of which no loss is measured.
struct CastText {
  const io::TensorInfo* info = nullptr;  // of the input
  DataType to = DataType::kUndefined;
  std::string taken_by;
};

struct LeftAlone {
  const io::TensorInfo* info = nullptr;
  std::string reason;
  bool is_companion = false;  // a scale or the like; the reason says whose
};

// A --fail-on limit that was crossed.
struct CrossedLimit {
  std::string kind;
  double limit = 0;
  double value = 0;
  std::string tensor;  // snr: the worst one's name
};

struct ConversionSummary {
  std::string input;
  std::string output;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  CastOptions options;
  std::vector<CastTensor> cast;  // in the order of the file
  std::vector<CastText> texts;
  std::vector<LeftAlone> left_alone;
  std::vector<CrossedLimit> crossed;
  std::string reading_hint;

  std::uint64_t Values() const;
  std::uint64_t Count(Loss loss) const;
  // The tensor with the lowest SNR (the first of several); nullptr where nothing was cast.
  const CastTensor* Worst() const;
};

// The cast tensors, worst first: by verdict, then by SNR, then as they stand in the file.
std::vector<const CastTensor*> WorstFirst(const std::vector<CastTensor>& tensors);

// Where values were lost in a way that another type or option prevents: one line each, the worst
// problem first, at most three.
std::vector<std::string> Advice(const ConversionSummary& summary);

// The report for people, at most 100 columns wide.
std::string LossTable(const ConversionSummary& summary, bool verbose, bool colour);

// The report for programs. The same bytes for the same input and arguments.
void PrintLossJson(const ConversionSummary& summary);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_CONVERSION_SUMMARY_H_
