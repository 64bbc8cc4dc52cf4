// What a finished convert has to say: the material of the table and of the JSON report.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_CONVERSION_SUMMARY_H_
#define TENSORCAST_PROGRAMS_DISPLAY_CONVERSION_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/conversion_plan.h"
#include "convert/exponents.h"
#include "convert/verification.h"
#include "display/notices.h"
#include "display/tool_json.h"
#include "formats/tensor_info.h"
#include "report/advice.h"
#include "report/cast_tensors.h"
#include "report/distinct_names.h"
#include "report/keep_advice.h"
#include "tensorcast/report.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// The SNR as tables show it: "–" where nothing was compared, "∞" only where all that was is exact,
// "?" where squares left double's range.
std::string SnrText(const LossReport& loss);

// Cast from or to strings, whose loss is not measured.
struct CastText {
  const formats::TensorInfo* info = nullptr;  // of the input
  DataType to = DataType::kUndefined;
  std::string_view taken_by;
};

struct LeftAlone {
  const formats::TensorInfo* info = nullptr;
  std::string_view reason;
  bool is_companion = false;  // a scale or the like; the reason says whose
};

// "to_zero 31 is above 5", "snr 12.0 dB of blk.0.w is below 20 dB"; the name is shortened for a
// line of so many columns.
std::string CrossedText(const CrossedLimit& crossed, const report::NamesOfFile& names,
                        std::size_t columns);

// A weight that went into another layout as it is.
struct RepackedWeight {
  const formats::TensorInfo* info = nullptr;  // its codes in the input
  std::shared_ptr<const scale::Repacking> repacked;
  std::string from;  // "int4-group (GPTQ)"
};

// What became of a pipeline's component.
struct ComponentSummary {
  std::string name;  // "unet"
  std::size_t cast = 0;
  std::size_t left_alone = 0;
  LossSum sum;  // of those that were cast
};

struct ConversionSummary {
  std::string input;
  std::string output;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  CastOptions options;
  std::vector<Notice> notices;                     // those of before the work (NoticesOf)
  report::CastTensors cast;                        // in the order of the file
  std::vector<convert::ExponentCounts> exponents;  // of these; empty: none was counted
  std::vector<CastText> texts;
  std::vector<RepackedWeight> repacked;
  std::vector<LeftAlone> left_alone;
  std::vector<CrossedLimit> crossed;
  convert::RecordedLosses recorded;  // for --record
  std::string reading_hint;
  std::string reading_code;  // Python, whole lines; empty: the hint says all
  // JSON that config.json needs; empty: nothing, or it stands there.
  std::string quantization_config;
  bool is_pipeline = false;    // of which something is cast
  bool writes_config = false;  // the output is a directory that has config.json
  // Read and written; nothing where other processes have done it.
  std::optional<std::uint64_t> bytes_moved = {};
  double seconds = 0;
  report::CanHold can_hold;
  // Whether --keep would leave a tensor of the input alone, if it were of its kind.
  std::function<bool(const formats::TensorInfo&)> may_be_kept;
  report::NamesOfFile names;  // of all the input's tensors

  std::uint64_t Values() const { return cast.sum().elements; }
  std::uint64_t Count(Loss loss) const { return cast.sum().count(loss); }
};

// By name; none of what is no pipeline.
std::vector<ComponentSummary> ComponentsOf(const ConversionSummary& summary);

// All but what the run measures and writes. `state` has one file, and outlives the summary.
ConversionSummary SummaryOf(const convert::PlanState& state);

// What the user should know before the work begins: of the input, of what is decided, and of what
// transformers does not read as it should.
std::vector<Notice> NoticesOf(const convert::PlanState& state);
// What was written, and how fast, on stderr.
void SayWritten(const ConversionSummary& summary);

// "try --keep small: 36 tensors stay as they are for 0.4 % more bytes, and ...".
std::string KeepText(const report::KeepAdvice& advice);

// A piece of advice, and the flags that follow it.
struct AdviceLine {
  std::string text;
  // "--rule", "*.norm.*=bfloat16"; none where no flag of the command line can have it.
  std::vector<std::string> flags = {};
  std::string problem = {};  // the text without the flags
};

// Where values were lost in a way that another type or option prevents: one line each, the worst
// problem first, at most three; names are shortened to what such a line has room for.
std::vector<AdviceLine> AdviceLines(const ConversionSummary& summary, std::size_t columns);

// "1 of 139.8 k values went to the limit; first: embed.weight[17,3] = 512 → 448": one line for each
// kind of loss that should not have occurred.
std::vector<std::string> OffenceTexts(const ConversionSummary& summary, std::size_t columns);

// The report for people, at most `columns` wide where that can be.
std::string LossTable(const ConversionSummary& summary, bool verbose, bool colour,
                      std::size_t columns);

// The report for programs. The same bytes for the same input and arguments.
void PrintLossJson(const ConversionSummary& summary, const TakeText& print);

// What a plan would do, for people and for programs. It is of one file, whose input is open;
// `crossed` are the limits that its loss would cross.
void PrintDryRunTable(const convert::ConversionPlan& plan, const convert::Needs& needs,
                      const std::vector<CrossedLimit>& crossed);
void PrintDryRunJson(const convert::ConversionPlan& plan, const convert::Needs& needs,
                     const std::vector<CrossedLimit>& crossed);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_CONVERSION_SUMMARY_H_
