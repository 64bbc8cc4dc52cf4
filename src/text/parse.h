// Texts to the codes of elements.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_TEXT_PARSE_H_
#define TENSORCAST_SRC_TEXT_PARSE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensorcast/tensorcast.hpp"
#include "text/plain_decimal.h"

namespace tensorcast::text {

// Casts texts to one fixed-width type: one rounding from the exact decimal value. The
// floating-point environment is the default one.
class Parser {
 public:
  // Both must outlive it.
  Parser(const TypeInfo& to, const CastOptions& options);

  // kOk, kNotANumber or kNotAnInteger; *code is set where it is kOk. It is quicker where
  // kReadBehind or more characters behind the text can be read.
  StatusCode operator()(std::string_view text, std::size_t readable_behind,
                        std::uint64_t* code) const;

 private:
  // False where the number has to go the long way.
  bool Encode(const PlainDecimal& decimal, std::uint64_t* code) const;
  bool EncodeFloat(const PlainDecimal& decimal, std::uint64_t* code) const;
  bool EncodeInteger(const PlainDecimal& decimal, std::uint64_t* code) const;
  bool EncodeWhole(bool negative, std::uint64_t magnitude, std::uint64_t* code) const;

  const TypeInfo& to_;
  const CastOptions& options_;
  bool is_integer_;
  std::uint64_t sign_;
  std::uint64_t mask_;
  std::uint64_t largest_;  // magnitude; of a negative integer, least_
  std::uint64_t least_;
};

inline StatusCode ParseCode(std::string_view text, const TypeInfo& to, const CastOptions& options,
                            std::uint64_t* code) {
  return Parser(to, options)(text, 0, code);
}

}  // namespace tensorcast::text

#endif  // TENSORCAST_SRC_TEXT_PARSE_H_
