// The two layouts: numpy's up to 2.2, and C's "%.8g", which ONNX Runtime prints.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/print.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "tensorcast/detail/scalar_codec.hpp"
#include "text/shortest.h"

namespace tensorcast::text {
namespace {

using detail::Unpacked;

char* Put(char* out, std::string_view text) { return std::copy(text.begin(), text.end(), out); }
char* PutZeros(char* out, int n) { return std::fill_n(out, std::max(0, n), '0'); }

// ddd.ddd, with ".0" where it is whole.
char* PutPositional(char* out, const Digits& digits) {
  const char* const end = digits.digit + digits.count;
  if (digits.exponent < 0) {
    out = Put(out, "0.");
    out = PutZeros(out, -digits.exponent - 1);
    return std::copy(digits.digit, end, out);
  }
  const int units = digits.exponent + 1;
  out = std::copy(digits.digit, digits.digit + std::min(units, digits.count), out);
  out = PutZeros(out, units - digits.count);
  *out++ = '.';
  if (units >= digits.count) return Put(out, "0");
  return std::copy(digits.digit + units, end, out);
}

// d.ddde+xx, without a point where there is one digit.
char* PutScientific(char* out, const Digits& digits) {
  *out++ = digits.digit[0];
  if (digits.count > 1) {
    *out++ = '.';
    out = std::copy(digits.digit + 1, digits.digit + digits.count, out);
  }
  *out++ = 'e';
  *out++ = digits.exponent < 0 ? '-' : '+';
  const int exponent = std::abs(digits.exponent);
  if (exponent < 10) *out++ = '0';
  return std::to_chars(out, out + 4, exponent).ptr;
}

char* PutNumpy(char* out, const Unpacked& value, const TypeInfo& type) {
  if (value.kind == Unpacked::Kind::kNan) return Put(out, "nan");
  if (value.negative) *out++ = '-';
  if (value.kind == Unpacked::Kind::kInfinity) return Put(out, "inf");
  if (value.significand == 0) return Put(out, "0.0");
  const Digits digits = ShortestDigits(value, type);
  // The value itself decides, not its digits: float32's 1e-4 lies below 10^-4, and bfloat16's 1e16
  // below 10^16. The double 1e-4 is the least double that is not below 10^-4.
  const double magnitude = Magnitude(value);
  return magnitude >= 1e-4 && magnitude < 1e16 ? PutPositional(out, digits)
                                               : PutScientific(out, digits);
}

char* PutOrt(char* out, const Unpacked& value) {
  constexpr int kDigits = 8;
  if (value.kind == Unpacked::Kind::kNan) return Put(out, "NaN");
  if (value.negative) *out++ = '-';
  if (value.kind == Unpacked::Kind::kInfinity) return Put(out, "INF");
  const double magnitude = Magnitude(value);
  return std::to_chars(out, out + kLongestPrinted - 1, magnitude, std::chars_format::general,
                       kDigits)
      .ptr;
}

}  // namespace

std::size_t PrintCode(std::uint64_t code, const TypeInfo& from, StringStyle style, char* out) {
  const Unpacked value = detail::Decode(code, from);
  char* end = out;
  switch (from.type_class) {
    case TypeClass::kBool:
      end = style == StringStyle::kOrt ? Put(out, value.significand != 0 ? "1" : "0")
            : value.significand != 0   ? Put(out, "True")
                                       : Put(out, "False");
      break;
    case TypeClass::kUnsigned:
    case TypeClass::kSigned:
      if (value.negative) *end++ = '-';
      end = std::to_chars(end, out + kLongestPrinted, value.significand).ptr;
      break;
    case TypeClass::kFloat:
      end = style == StringStyle::kOrt ? PutOrt(out, value) : PutNumpy(out, value, from);
      break;
    case TypeClass::kString: break;
  }
  return static_cast<std::size_t>(end - out);
}

}  // namespace tensorcast::text
