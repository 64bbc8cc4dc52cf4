// Fuzzes the string casts: any bytes as texts to any type under any options, any bits as a number
// to a text. What comes out is compared with the oracle and the C library, and must come back from
// its own text.
//
// Input: byte 0 chooses the type; byte 1 the options and what is done; the rest is the text, or a
// code, or several texts with newlines between them.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "demand.h"
#include "fuzzers.h"
#include "oracle/text.h"
#include "tensorcast/tensorcast.hpp"

namespace {

using tensorcast::CastOptions;
using tensorcast::DataType;
using tensorcast::Status;
using tensorcast::StatusCode;

// Beyond this the oracle's rationals are too slow to fuzz with.
constexpr std::size_t kOracleSize = 3000;

struct Job {
  tensorcast::TypeInfo type;
  CastOptions options;
  oracle::Options oracle_options;
  const oracle::Row& row;
};

Job MakeJob(std::uint8_t type_byte, std::uint8_t bits) {
  const auto types = tensorcast::Types();
  tensorcast::TypeInfo type = types[type_byte % types.size()];
  if (type.bits == 0) type = types[0];
  CastOptions options;
  oracle::Options expected;
  expected.saturate = (bits & 1) == 0;
  expected.integer_saturate = (bits & 2) != 0;
  expected.fnuz_infinity_nan = (bits & 4) != 0;
  expected.finite_only_max = (bits & 8) != 0;
  const int mode = (bits >> 4) & 3;
  expected.round_mode = static_cast<oracle::RoundingMode>(mode % 3);
  options.saturate = (bits & 1) == 0;
  options.integer_overflow = static_cast<tensorcast::IntegerOverflow>((bits >> 1) & 1);
  options.fnuz_infinity = static_cast<tensorcast::FnuzInfinity>((bits >> 2) & 1);
  options.finite_only_nan = static_cast<tensorcast::FiniteOnlyNan>((bits >> 3) & 1);
  options.round_mode = static_cast<tensorcast::RoundingMode>(mode % 3);
  options.string_style = static_cast<tensorcast::StringStyle>(mode % 2);
  return {type, options, expected, oracle::RowOf(static_cast<int>(type.type))};
}

// The C library reads what we read, with the same bits, to its end. It reads more: hexadecimal
// numbers and nan(...); and it ends at a NUL, so texts with one are left to the oracle.
void CompareWithC(std::string_view view, const Job& job, Status status, std::uint64_t code) {
  if (view.find('\0') != std::string_view::npos) return;
  const std::string text(view);
  char* end = nullptr;
  std::uint64_t expected = 0;
  if (job.type.type == DataType::kFloat64) {
    expected = std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), &end));
  } else {
    expected = std::bit_cast<std::uint32_t>(std::strtof(text.c_str(), &end));
  }
  const bool read = end != text.c_str();
  while (*end == ' ' || (*end >= '\t' && *end <= '\r')) ++end;
  const bool whole = read && *end == '\0';
  if (status.ok()) {
    Demand(whole, "a text that strtod does not read");
    Demand(code == expected, "other bits than strtod's");
  } else if (whole) {
    Demand(text.find_first_of("xX(") != std::string::npos, "refused what strtod reads");
  }
}

// Every number comes back from its own text. To e8m0 by the nearest, as it prints as float32 does.
void CheckComesBack(const Job& job, std::uint64_t code) {
  const oracle::Value value = oracle::Decode(job.row, code);
  char buffer[tensorcast::kLongestPrinted];
  std::string_view text;
  CastOptions options;
  Demand(tensorcast::PrintValue(job.type.type, code, buffer, &text, options).ok(), "not printed");
  options.round_mode = tensorcast::RoundingMode::kNearest;
  options.saturate = false;
  // A largest value may be printed as one beyond it: 448 as 450.0. That rounds back.
  std::uint64_t back = 0;
  const Status status = tensorcast::ParseValue(text, job.type.type, &back, options);
  Demand(status.ok(), "a printed text is not read");
  switch (value.is) {
    case oracle::Value::Is::kNan:
      Demand(oracle::Decode(job.row, back).is == oracle::Value::Is::kNan, "NaN became a number");
      break;
    case oracle::Value::Is::kInfinite: Demand(back == code, "Inf did not come back"); break;
    case oracle::Value::Is::kFinite:
      if (job.type.type == DataType::kBool) {
        Demand(back == (value.digits != 0 ? 1 : 0), "a bool did not come back");
      } else {
        Demand(back == code, "a number did not come back");
      }
  }
}

void CheckText(std::string_view text, const Job& job) {
  std::uint64_t code = 0;
  const Status status = tensorcast::ParseValue(text, job.type.type, &code, job.options);
  Demand(status.ok() || status.code() == StatusCode::kNotANumber ||
             status.code() == StatusCode::kNotAnInteger,
         "a status that no text gives");
  if (text.size() <= kOracleSize) {
    const oracle::Parsed expected = oracle::ParseText(text, job.row, job.oracle_options);
    const StatusCode expected_code = expected.error == oracle::TextError::kNone ? StatusCode::kOk
                                     : expected.error == oracle::TextError::kNotANumber
                                         ? StatusCode::kNotANumber
                                         : StatusCode::kNotAnInteger;
    Demand(status.code() == expected_code, "another status than the oracle's");
    Demand(!status.ok() || code == expected.code, "another code than the oracle's");
  }
  if (job.type.type == DataType::kFloat64 || job.type.type == DataType::kFloat32) {
    CompareWithC(text, job, status, code);
  }
  if (status.ok()) CheckComesBack(job, code);
}

void CheckCode(std::uint64_t code, const Job& job) {
  code &= job.row.mask();
  char buffer[tensorcast::kLongestPrinted];
  std::string_view text;
  Demand(tensorcast::PrintValue(job.type.type, code, buffer, &text, job.options).ok(),
         "not printed");
  const bool ort = job.options.string_style == tensorcast::StringStyle::kOrt;
  Demand(text == oracle::PrintText(job.row,
                                   ort ? oracle::TextStyle::kOrt : oracle::TextStyle::kNumpy, code),
         "another text than the oracle's");
  if (ort && job.type.type == DataType::kFloat64 && std::isfinite(std::bit_cast<double>(code))) {
    char expected[64];
    std::snprintf(expected, sizeof expected, "%.8g", std::bit_cast<double>(code));
    Demand(text == expected, "another text than printf's");
  }
  CheckComesBack(job, code);
}

// Lines as a column: the same codes as one by one, and the lowest failing index.
void CheckColumn(std::string_view lines, const Job& job) {
  std::vector<std::uint64_t> offsets = {0};
  std::string bytes;
  for (const char c : lines) {
    if (c == '\n') {
      offsets.push_back(bytes.size());
    } else {
      bytes += c;
    }
  }
  offsets.push_back(bytes.size());
  const tensorcast::Strings column = {offsets, bytes};
  const std::uint64_t n = column.size();
  std::vector<std::byte> packed(*tensorcast::StorageBytes(job.type.type, n));
  std::vector<std::uint64_t> codes;
  tensorcast::ParseFailure failure;
  const Status status =
      tensorcast::ParseStrings(column, job.type.type, packed, job.options, {}, &failure);
  const auto width = static_cast<std::uint64_t>(job.type.bits);
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t code = 0;
    const Status one = tensorcast::ParseValue(column[i], job.type.type, &code, job.options);
    if (!one.ok()) {
      Demand(status == one && failure.index == i, "another failure than the first text's");
      const std::string_view shown = failure.text;
      Demand(shown.size() <= 64 && std::all_of(shown.begin(), shown.end(),
                                               [](char c) { return c >= ' ' && c <= '~'; }),
             "a failure that is not shown in ASCII");
      return;
    }
    for (std::uint64_t bit = 0; bit < width; ++bit) {
      const std::uint64_t at = i * width + bit;
      const auto byte = std::to_integer<unsigned>(packed[at / 8]);
      Demand((byte >> (at % 8) & 1u) == (code >> bit & 1u), "another code in a column");
    }
    codes.push_back(code);
  }
  Demand(status.ok(), "a column fails of which no text does");

  // And printed: PrintedBytes says how much Print writes, and each text is that of its code.
  std::uint64_t size = 0;
  Demand(tensorcast::PrintedStringBytes(job.type.type, packed, n, &size, job.options).ok(),
         "not sized");
  std::string printed(size, '\0');
  std::vector<std::uint64_t> printed_offsets(n + 1);
  Demand(tensorcast::PrintStrings(job.type.type, packed, n, printed_offsets, printed, job.options)
             .ok(),
         "not printed");
  Demand(printed_offsets.front() == 0 && printed_offsets.back() == size, "another size than said");
  const tensorcast::Strings texts = {printed_offsets, printed};
  for (std::uint64_t i = 0; i < n; ++i) {
    char buffer[tensorcast::kLongestPrinted];
    std::string_view text;
    Demand(tensorcast::PrintValue(job.type.type, codes[i], buffer, &text, job.options).ok(),
           "not printed");
    Demand(texts[i] == text, "another text in a column");
  }
}

void FuzzText(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return;
  const Job job = MakeJob(data[0], data[1]);
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (data[1] >> 6) {
    case 0:
    case 1: CheckText(rest, job); break;
    case 2: {
      std::uint64_t code = 0;
      std::memcpy(&code, rest.data(), std::min(rest.size(), sizeof code));
      CheckCode(code, job);
      break;
    }
    default: CheckColumn(rest, job);
  }
}

const Fuzzer kTextFuzzer("text", FuzzText);

}  // namespace
