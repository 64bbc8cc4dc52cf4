// Computes a type's range from its layout.
//
// SPDX-License-Identifier: Apache-2.0
#include "type_range.h"

#include <cmath>

namespace tensorcast::tool {
namespace {

TypeRange FloatRange(const TypeInfo& row) {
  const int all_ones = (1 << row.exponent_bits) - 1;
  // IEEE formats give the whole top exponent to Inf and NaN; "fn" formats its last code only, which
  // without mantissa bits (float8e8m0) is the whole exponent again.
  const bool top_is_free = row.non_finite == NonFinite::kNone ||
                           row.non_finite == NonFinite::kNanNegativeZero ||
                           (row.non_finite == NonFinite::kNanAllOnes && row.mantissa_bits > 0);
  const int last_codes_taken = row.non_finite == NonFinite::kNanAllOnes && top_is_free ? 2 : 1;
  const double mantissa = 2 - std::ldexp(last_codes_taken, -row.mantissa_bits);
  TypeRange range;
  range.max = std::ldexp(mantissa, (top_is_free ? all_ones : all_ones - 1) - row.bias);
  range.lowest = row.has_sign ? -range.max : std::ldexp(1.0, -row.bias);
  range.min_normal = std::ldexp(1.0, (row.has_zero ? 1 : 0) - row.bias);
  range.min_subnormal = std::ldexp(range.min_normal, -row.mantissa_bits);
  return range;
}

}  // namespace

TypeRange RangeOf(DataType type) {
  const TypeInfo* row = FindType(type);
  if (row == nullptr || row->bits == 0) return {};
  if (row->is_float()) return FloatRange(*row);
  TypeRange range;
  range.min_normal = range.min_subnormal = 1;
  const bool is_signed = row->type_class == TypeClass::kSigned;
  const int value_bits = row->type_class == TypeClass::kBool ? 1 : row->bits - (is_signed ? 1 : 0);
  range.max = std::ldexp(1.0, value_bits) - 1;
  range.lowest = is_signed ? -std::ldexp(1.0, value_bits) : 0;
  return range;
}

}  // namespace tensorcast::tool
