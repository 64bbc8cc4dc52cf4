// What one value becomes in one type, and what that loses, worked out exactly. The C++20 interface.
//
//   tensorcast::Explanation e = tensorcast::Explain("0.1", tensorcast::DataType::kFloat8E4M3FN);
//   e.result.code                  0x1D
//   e.value.Text()                 "0.1015625", every digit of it
//   *e.below, *e.above             0x1C and 0x1E, the codes beside it
//   e.error->Text()                "0.0015625"
//   e.error_in_ulps->Text()        "0.2"
//   for (const auto& other : e.others) ...   results that other options would give
//
// The result is the cast's own; everything said of it is reckoned in decimal numbers of any length,
// and rounded nowhere but where that is said. docs/semantics.md names the kinds of loss. It is
// meant for people and for checks, one value at a time, not for tensors.
//
// Nothing here throws but std::bad_alloc and std::length_error, where a text is too long for
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
  // A decimal number as docs/semantics.md reads one, which `text` is known to be: not nan, not inf.
  TENSORCAST_API static ExactDecimal FromText(std::string_view text);

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }  // of -0 too
  // Exponents of 10^15 and more are cut there: such a number compares right, but is not itself.
  bool is_clamped() const { return clamped_; }
  TENSORCAST_API ExactDecimal Negated() const;
  TENSORCAST_API ExactDecimal Magnitude() const;

  // Below, equal to or above zero, as *this is less than, equal to or greater than `other`.
  TENSORCAST_API int Compare(const ExactDecimal& other) const;

  // *this - other. Exact, but where the operands lie more than 2^18 digits apart: then *exact
  // becomes false, and the result is the operand of greater magnitude.
  TENSORCAST_API ExactDecimal Minus(const ExactDecimal& other, bool* exact) const;

  // *this / other, neither clamped and `other` not 0, rounded to `digits` digits, ties to even.
  TENSORCAST_API ExactDecimal Over(const ExactDecimal& other, std::size_t digits) const;

  // Rounded to `digits` significant digits, ties to even.
  TENSORCAST_API ExactDecimal Rounded(std::size_t digits) const;

  // All digits; positional from 10^-4 to below 10^`whole_digits`, else d.ddde-XX.
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

// A code's value, or a text's.
struct ExactValue {
  enum class Kind : std::uint8_t { kFinite, kInfinity, kNan };
  Kind kind = Kind::kFinite;
  bool negative = false;
  ExactDecimal decimal;  // where finite

  bool is_finite() const { return kind == Kind::kFinite; }
  bool is_nan() const { return kind == Kind::kNan; }
  // Every digit; "inf", "-inf", "nan".
  TENSORCAST_API std::string Text() const;
};

// The exact value of a code of a fixed-width type (bits above its width are ignored); of any other
// type nan.
TENSORCAST_API ExactValue ExactValueOf(DataType type, std::uint64_t code);

// ------------------------------------------------------------------------------- options

// The options of a cast one by one: the members of CastOptions.
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
// What `options` say of it: "true", "up", "wrap", "max", "zero", "numpy" ...; "unknown" for a value
// outside its enum.
TENSORCAST_API std::string_view CastOptionValue(CastOption option, const CastOptions& options);
// The words for all its values; none for any other number.
TENSORCAST_API std::span<const std::string_view> CastOptionValues(CastOption option);
// Sets it by such a word. False, and nothing is changed, for any other word or number.
TENSORCAST_API bool SetCastOption(CastOption option, std::string_view value, CastOptions* options);

// --------------------------------------------------------------------------- explanations

// What is cast: a decimal text, or a code of a type.
struct ExplainSource {
  DataType type = DataType::kString;  // of `code`; kString: `text` counts
  std::uint64_t code = 0;
  std::string text;
  ExactValue value;

  bool is_text() const { return type == DataType::kString; }

  // A text, blanks around it left out: a decimal number, nan or inf as docs/semantics.md reads
  // them. Nothing where it is none.
  TENSORCAST_API static std::optional<ExplainSource> FromText(std::string_view text);
  // A code of a fixed-width type. Nothing for another type, and where `code` has bits above the
  // type's width.
  TENSORCAST_API static std::optional<ExplainSource> FromCode(DataType type, std::uint64_t code);
};

// The bare result of a cast.
struct CastResult {
  Status status;           // not ok: the type has no result for the source
  std::uint64_t code = 0;  // of a fixed-width type
  std::string text;        // of string

  friend bool operator==(const CastResult&, const CastResult&) = default;
};

// The result where one option is changed.
struct OtherResult {
  CastOption option = CastOption::kSaturate;
  CastOptions options;  // all of them, this one changed
  CastResult result;
  std::optional<Loss> loss;
};

struct Explanation {
  DataType to = DataType::kUndefined;
  CastResult result;         // everything below is empty where it is not ok
  ExactValue value;          // of the result; a string's where it reads as a number
  std::optional<Loss> loss;  // of the partition; none for a string
  bool to_subnormal = false;
  bool zero_sign_lost = false;
  bool undefined = false;  // ONNX's text leaves this result open
  // Codes of the next lesser and the next greater value, Inf included, where there are any.
  std::optional<std::uint64_t> below;
  std::optional<std::uint64_t> above;
  // The unit in the last place of the value stored: a power of two, 1 for integers and bool.
  std::optional<double> ulp;
  // |source - value| where both are finite, and over |source| and over the ulp.
  std::optional<ExactDecimal> error;
  bool error_is_exact = true;                  // false: of a text with 2^18 digits and more
  std::optional<ExactDecimal> relative_error;  // to 17 digits; none where the source is 0
  std::optional<ExactDecimal> error_in_ulps;   // to 17 digits; none to string
  std::vector<OtherResult> others;  // under each other value of an option: those that differ
};

// The cast of one source. The status of `result` is kInvalidType or kInvalidOption where `to` or an
// option is none, and what ParseValue gives where a text has no result in the type.
TENSORCAST_API Explanation Explain(const ExplainSource& source, DataType to,
                                   const CastOptions& options = {});
// Of a text: kNotANumber where it is not a number.
TENSORCAST_API Explanation Explain(std::string_view text, DataType to,
                                   const CastOptions& options = {});
// Of a code: kInvalidType where `from` is not a fixed-width type or `code` has more bits than it.
TENSORCAST_API Explanation Explain(DataType from, std::uint64_t code, DataType to,
                                   const CastOptions& options = {});

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast

#endif  // TENSORCAST_EXPLAIN_HPP_
