// What one value becomes in one type, and exactly what that loses. The C++20 interface.
//
//   tensorcast::Explanation e = tensorcast::Explain("0.1", tensorcast::DataType::kFloat8E4M3FN);
//   e.result.code                  0x1D
//   e.value.Text()                 "0.1015625", every digit of it
//   *e.below, *e.above             0x1C and 0x1E, the codes beside it
//   e.error->Text()                "0.0015625"
//   e.error_in_ulps->Text()        "0.2"
//   for (const auto& other : e.others) ...   results that other options would give
//
// The result is that of the cast itself. Everything about it is computed in decimal numbers of any
// length, and rounded only where a comment says so. docs/semantics.md names the kinds of loss. This
// is meant for people and for checks, one value at a time, not for tensors.
//
// Nothing here throws except std::bad_alloc and std::length_error, if a text is too long for
// memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_EXPLAIN_HPP_
#define TENSORCAST_EXPLAIN_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

// ------------------------------------------------------------------------- exact numbers

// A decimal number of any length.
class ExactDecimal {
 public:
  ExactDecimal() = default;  // 0

  TENSORCAST_API static ExactDecimal FromUnsigned(std::uint64_t value);
  // Every digit of a finite double.
  TENSORCAST_API static ExactDecimal FromDouble(double value);
  // `text` must be a decimal number as docs/semantics.md defines it, and neither nan nor inf.
  TENSORCAST_API static ExactDecimal FromText(std::string_view text);

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }  // also for -0
  // Exponents of 10^15 and more are cut to that: such a number compares right, but is not exact.
  bool is_clamped() const { return clamped_; }
  TENSORCAST_API ExactDecimal Negated() const;
  TENSORCAST_API ExactDecimal Magnitude() const;

  // Negative, zero or positive, as *this is less than, equal to or greater than `other`.
  TENSORCAST_API int Compare(const ExactDecimal& other) const;

  // *this - other, exactly. If the operands lie more than 2^18 digits apart, *exact becomes false
  // and the result is the operand of greater magnitude.
  TENSORCAST_API ExactDecimal Minus(const ExactDecimal& other, bool* exact) const;

  // *this / other, rounded to `digits` digits, ties to even. Neither may be clamped, nor `other` be
  // 0.
  TENSORCAST_API ExactDecimal Over(const ExactDecimal& other, std::size_t digits) const;

  // Rounded to `digits` significant digits, ties to even.
  TENSORCAST_API ExactDecimal Rounded(std::size_t digits) const;

  // All digits: positional from 10^-4 to below 10^`whole_digits`, else as d.ddde-XX.
  TENSORCAST_API std::string Text(int whole_digits = 21) const;

 private:
  TENSORCAST_INTERNAL void Normalise();
  TENSORCAST_INTERNAL std::string DigitsFrom(std::int64_t point, std::size_t size) const;

  // 0.DIGITS x 10^point, no zero at either end of the digits; zero has none.
  std::string digits_;
  std::int64_t point_ = 0;
  bool negative_ = false;
  bool clamped_ = false;
};

// The value of a code or of a text.
struct ExactValue {
  enum class Kind : std::uint8_t { kFinite, kInfinity, kNan };
  Kind kind = Kind::kFinite;
  bool negative = false;
  ExactDecimal decimal;  // if finite

  bool is_finite() const { return kind == Kind::kFinite; }
  bool is_nan() const { return kind == Kind::kNan; }
  // Every digit, or "inf", "-inf", "nan".
  TENSORCAST_API std::string Text() const;
};

// The exact value of a code of a fixed-width type (bits above its width are ignored); nan for any
// other type.
TENSORCAST_API ExactValue ExactValueOf(DataType type, std::uint64_t code);

// ------------------------------------------------------------------------------- options

// The options of a cast, one by one: the members of CastOptions.
enum class CastOption : std::uint8_t {
  kSaturate,
  kRoundMode,
  kIntegerOverflow,
  kFnuzInfinity,
  kFiniteOnlyNan,
  kStringStyle,
};
inline constexpr std::size_t kCastOptions = 6;

// "saturate", "round_mode" ...: the member's name; "unknown" for any other number.
TENSORCAST_API std::string_view CastOptionName(CastOption option);
// The option's value in `options`: "true", "up", "wrap", "max", "zero", "numpy" ...; "unknown" for
// a value outside its enum.
TENSORCAST_API std::string_view CastOptionValue(CastOption option, const CastOptions& options);
// The words for all values of an option; none for any other number.
TENSORCAST_API std::span<const std::string_view> CastOptionValues(CastOption option);
// Sets the option by such a word. For any other word or number it returns false and changes
// nothing.
TENSORCAST_API bool SetCastOption(CastOption option, std::string_view value, CastOptions* options);

// --------------------------------------------------------------------------- explanations

// What is cast: a decimal text, or a code of a type.
struct ExplainSource {
  DataType type = DataType::kString;  // of `code`; kString: `text` is cast
  std::uint64_t code = 0;
  std::string text;
  ExactValue value;

  bool is_text() const { return type == DataType::kString; }

  // A text, ignoring blanks around it: a decimal number, nan or inf as docs/semantics.md defines
  // them. nullopt if it is none of these.
  TENSORCAST_API static std::optional<ExplainSource> FromText(std::string_view text);
  // A code of a fixed-width type. nullopt for another type, and if `code` has bits above the type's
  // width.
  TENSORCAST_API static std::optional<ExplainSource> FromCode(DataType type, std::uint64_t code);
};

// The bare result of a cast.
struct CastResult {
  Status status;           // not ok: the source has no result in the type
  std::uint64_t code = 0;  // of a fixed-width type
  std::string text;        // for string

  friend bool operator==(const CastResult&, const CastResult&) = default;
};

// The result if one option is changed.
struct OtherResult {
  CastOption option = CastOption::kSaturate;
  CastOptions options;  // all of them, this one changed
  CastResult result;
  std::optional<Loss> loss;
};

struct Explanation {
  DataType to = DataType::kUndefined;
  CastResult result;         // if it is not ok, everything below is empty
  ExactValue value;          // of the result; for a string, if it is a number
  std::optional<Loss> loss;  // one of the partition; none for a string
  bool to_subnormal = false;
  bool zero_sign_lost = false;
  bool undefined = false;  // ONNX's specification leaves this result open
  // The codes of the next lesser and the next greater value, including Inf, if there are any.
  std::optional<std::uint64_t> below;
  std::optional<std::uint64_t> above;
  // The unit in the last place of the value stored: a power of two, 1 for integers and bool.
  std::optional<double> ulp;
  // |source - value| if both are finite, and this divided by |source| and by the ulp.
  std::optional<ExactDecimal> error;
  bool error_is_exact = true;                  // false for a text of 2^18 digits and more
  std::optional<ExactDecimal> relative_error;  // to 17 digits; none if the source is 0
  std::optional<ExactDecimal> error_in_ulps;   // to 17 digits; none for string
  std::vector<OtherResult> others;  // results under other values of one option, if they differ
};

// Explains the cast of one source. The status of `result` is kInvalidType or kInvalidOption if `to`
// or an option is invalid, and what ParseValue gives if a text has no result in the type.
TENSORCAST_API Explanation Explain(const ExplainSource& source, DataType to,
                                   const CastOptions& options = {});
// Explains the cast of a text; kNotANumber if it is not a number.
TENSORCAST_API Explanation Explain(std::string_view text, DataType to,
                                   const CastOptions& options = {});
// Explains the cast of a code; kInvalidType if `from` is not a fixed-width type, or has fewer bits
// than `code`.
TENSORCAST_API Explanation Explain(DataType from, std::uint64_t code, DataType to,
                                   const CastOptions& options = {});

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_EXPLAIN_HPP_
