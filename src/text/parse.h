// Texts to the codes of elements.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_PARSE_H_
#define TENSORCAST_SRC_TEXT_PARSE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensorcast/detail/format_algebra.hpp"
#include "tensorcast/tensorcast.hpp"
#include "text/plain_decimal.h"

namespace tensorcast::text {

// What integers a type has.
struct IntegerRange {
  explicit IntegerRange(const TypeInfo& to)
      : mask(detail::LowMask(to.bits)),
        largest(detail::GreatestInteger(to)),
        below(detail::LeastInteger(to) - largest) {}

  // False where it is out of range.
  bool Encode(bool negative, std::uint64_t magnitude, std::uint64_t* code) const {
    const std::uint64_t minus = std::uint64_t{0} - negative;
    *code = ((magnitude ^ minus) - minus) & mask;
    return magnitude <= largest + (minus & below);
  }

  std::uint64_t mask;
  std::uint64_t largest;
  std::uint64_t below;  // the magnitude of the least is larger by this
};

// Casts texts to one fixed-width type: one rounding from the exact decimal value. The
// floating-point environment is the default one.
class Parser {
 public:
  // Both must outlive it.
  Parser(const TypeInfo& to, const CastOptions& options);

  // kOk, kNotANumber or kNotAnInteger; *code is set where it is kOk.
  StatusCode Parse(std::string_view text, std::uint64_t* code) const;
  // All of `texts` to the elements from `first` on of a buffer of the type, up to the first text
  // that is no number of the type; returns how many stand before it.
  std::uint64_t ParseAll(const Strings& texts, std::byte* destination, std::uint64_t first) const;

  // Where kReadBehind or more characters behind a text can be read; false where it has to go the
  // long way.
  bool ParsePlain(const char* begin, const char* end, std::uint64_t* code) const;
  // Any text; is_readable is whether that many can. False where it is no number of the type.
  bool ParseOther(const char* begin, const char* end, bool is_readable, std::uint64_t* code) const;

 private:
  bool EncodeFloat(const PlainDecimal& decimal, std::uint64_t* code) const;
  bool EncodeInteger(const PlainDecimal& decimal, std::uint64_t* code) const;

  const TypeInfo& to_;
  const CastOptions& options_;
  bool is_integer_;
  std::uint64_t sign_;
  std::uint64_t largest_;  // magnitude of a float
};

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_PARSE_H_
