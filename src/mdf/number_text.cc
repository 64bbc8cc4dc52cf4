// Numbers to texts and back.
//
// SPDX-License-Identifier: Apache-2.0
#include "mdf/number_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "tensorcast/tensorcast.hpp"
#include "text/parse.h"
#include "words/error_text.h"

namespace tensorcast::mdf {

std::optional<Integer> ParseDigits(std::string_view digits, unsigned base, bool negative) {
  Integer value;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, failed] =
      std::from_chars(digits.data(), end, value.magnitude, static_cast<int>(base));
  if (failed == std::errc::invalid_argument || stopped != end || digits.empty()) {
    return std::nullopt;
  }
  const std::uint64_t most = negative ? std::uint64_t{1} << 63 : UINT64_MAX;
  if (failed == std::errc::result_out_of_range || value.magnitude > most) {
    Refuse(std::string("holds the whole number ")
               .append(negative ? "-" : "")
               .append(words::EscapeName(digits))
               .append(", which is not in the range of int64 or uint64"));
  }
  value.negative = negative && value.magnitude != 0;
  return value;
}

std::optional<double> ParseDecimal(std::string_view text) {
  // Texts that are cast may be words and have blanks around them, too.
  if (text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return std::nullopt;
  std::uint64_t code = 0;
  const CastOptions options;
  const text::Parser parser(*FindType(DataType::kFloat64), options);
  if (parser.Parse(text, &code) != StatusCode::kOk) return std::nullopt;
  return std::bit_cast<double>(code);
}

std::string IntegerText(const Integer& value) {
  std::string text = value.negative ? "-" : "";
  return text.append(std::to_string(value.magnitude));
}

std::string DoubleText(double value) {
  std::array<char, 32> buffer{};
  const auto [end, failed] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end);
  if (text.find('.') == std::string::npos) {
    const std::size_t exponent = text.find('e');
    text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  }
  return text;
}

}  // namespace tensorcast::mdf
