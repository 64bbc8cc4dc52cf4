// The report for spreadsheets: RFC 4180, figures as the JSON has them.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "display/run_report.h"
#include "words/utf8.h"

namespace tensorcast::tool {
namespace {

// Names are any bytes; what is not UTF-8 becomes U+FFFD, as in the JSON.
std::string ValidUtf8(std::string_view text) {
  std::string valid = json::Dumped(Json(text));
  return Json::parse(valid).get<std::string>();
}

// A field in quotes where it needs them. A spreadsheet takes a text that begins with one of these
// signs for a formula, and runs it: an apostrophe in front makes it a text.
std::string Field(std::string_view text) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  std::string field;
  if (!text.empty() && kFormula.find(text.front()) != std::string_view::npos) field = "'";
  field += text;
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// As many digits as tell it; empty if it is not a number.
std::string Number(bool is_there, double value) {
  if (!is_there || std::isnan(value)) return "";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{}", value);
}

std::string ShapeField(const std::vector<std::uint64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

std::string Line(const ReportRow& row, const ReportState& state, const ReportOutcome& outcome) {
  std::string line =
      fmt::format("{},{},{},{},{},{},{},{},{}", Field(ValidUtf8(row.name)), Field(row.type),
                  Field(outcome.to), ShapeField(row.shape), row.elements, row.bytes,
                  outcome.bytes ? fmt::format("{}", *outcome.bytes) : "", Field(state.name),
                  Field(ValidUtf8(outcome.remark)));
  line += outcome.different ? fmt::format(",{}", *outcome.different) : ",";
  const LossReport loss = outcome.loss.value_or(LossReport());
  const bool has_loss = outcome.loss.has_value();
  const bool is_compared = has_loss && loss.compared > 0;
  for (const std::string& figure :
       {Number(is_compared, loss.snr_db),
        Number(outcome.gain_db.has_value(), outcome.gain_db.value_or(0)),
        Number(is_compared, loss.max_abs_error),
        Number(has_loss && loss.compared_nonzero > 0, loss.max_rel_error),
        Number(is_compared, loss.rmse), Number(has_loss && loss.finite > 0, loss.amax),
        Number(has_loss && loss.smallest_nonzero > 0, loss.smallest_nonzero),
        has_loss ? fmt::format("{}", loss.compared) : std::string()}) {
    line += "," + figure;
  }
  for (const std::uint64_t count : loss.counts) {
    line += has_loss ? fmt::format(",{}", count) : ",";
  }
  return line + "\n";
}

}  // namespace

void PrintReportCsv(const RunReport& report, const TakeText& print) {
  std::string titles =
      "name,type,to,shape,elements,bytes,bytes_after,verdict,remark,different,snr_db,"
      "gain_over_plain_db,max_abs_error,max_rel_error,rmse,amax,smallest_nonzero,compared";
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    titles += fmt::format(",{}", LossName(static_cast<Loss>(kind)));
  }
  print(titles + "\n");
  for (std::size_t i = 0; i < report.rows; ++i) {
    const ReportRow row = report.row(i);
    for (const ReportSeries& series : report.series) {
      if (const std::optional<ReportOutcome> outcome = series.outcome(i)) {
        print(Line(row, report.states[outcome->state], *outcome));
      }
    }
  }
}

}  // namespace tensorcast::tool
