// What a run found, as --report writes it: a row for each tensor, asked for one by one, and what is
// said of all of them. Every command fills the same form; a page and a table for spreadsheets are
// made of it. All texts are as people read them, escaped; names are as the file has them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_RUN_REPORT_H_
#define TENSORCAST_PROGRAMS_DISPLAY_RUN_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/comparison.h"
#include "convert/exponents.h"
#include "display/conversion_summary.h"
#include "display/diff_report.h"
#include "display/tool_json.h"
#include "display/verification_report.h"
#include "tensorcast/report.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::tool {

// How something is shown: what is amiss first.
enum class Tone : std::uint8_t { kBad, kPoor, kGood, kPlain };

// A figure of the whole run: "Values", "22.7 M", "of 103 tensors".
struct ReportFact {
  std::string label;
  std::string value;
  std::string remark = {};
};

// A line below the figures; `command`: what to type, to follow it.
struct ReportNote {
  Tone tone = Tone::kPlain;
  std::string text;
  std::string command = {};
};

struct ReportTable {
  std::string title;
  std::vector<std::string> columns;  // those from the second on are figures
  std::vector<std::vector<std::string>> rows;
};

// What a tensor can have come to; the worst first.
struct ReportState {
  std::string name;  // "lost"
  Tone tone = Tone::kPlain;
};

// A tensor, whatever becomes of it.
struct ReportRow {
  std::string name;  // any bytes
  std::string type;
  std::vector<std::uint64_t> shape;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  const convert::ExponentCounts* exponents = nullptr;
};

// What became of it. A figure that is none is not there.
struct ReportOutcome {
  std::size_t state = 0;  // of the report's
  std::string to = {};
  std::optional<std::uint64_t> bytes = {};
  std::string remark = {};  // why
  std::optional<LossReport> loss = {};
  std::optional<double> gain_db = {};
  std::optional<std::uint64_t> different = {};
};

// One answer to each tensor: of `loss` there is one for each type.
struct ReportSeries {
  std::string title;
  std::function<std::optional<ReportOutcome>(std::size_t row)> outcome;
};

// What a histogram has to know of a type that tensors become.
struct ReportTarget {
  std::string name;  // as ReportOutcome::to has it
  DataType type = DataType::kUndefined;
  bool is_scaled = false;  // the type is that of codes
};

struct RunReport {
  std::string command;
  std::string from;  // paths, or what stands in their place
  std::string to;    // empty: there is none
  std::vector<ReportFact> facts;
  std::vector<ReportNote> notes;
  std::vector<ReportTable> tables;
  std::vector<ReportState> states;
  std::vector<ReportTarget> targets;
  std::size_t rows = 0;
  std::function<ReportRow(std::size_t)> row;
  std::vector<ReportSeries> series;
  // The same document that --json prints.
  std::function<void(const TakeText&)> print_json;
};

// Of a conversion that is finished. What they are made of outlives them. `again`: the command line
// with these flags in it, to be copied; empty where they cannot stand there.
using CommandAgain = std::function<std::string(const std::vector<std::string>& flags)>;
RunReport ReportOf(const ConversionSummary& summary, const CommandAgain& again);
RunReport ReportOf(const DiffSummary& summary);
RunReport ReportOf(const VerificationSummary& summary);

// Of a comparison that kept what it measured.
RunReport ReportOf(const formats::TensorReader& reader, const Comparison& comparison,
                   const CompareOptions& options);

// A line for each tensor, and of several series for each of these, under a line of titles.
void PrintReportCsv(const RunReport& report, const TakeText& print);
// One page that needs nothing but a browser.
void PrintReportPage(const RunReport& report, const TakeText& print);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_RUN_REPORT_H_
