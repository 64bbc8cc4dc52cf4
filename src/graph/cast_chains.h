// When two Casts in a row are one: what may be left out without changing a bit of any result.
// Everything follows from the type table; docs/optimize.md has the proofs.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_GRAPH_CAST_CHAINS_H_
#define TENSORCAST_SRC_GRAPH_CAST_CHAINS_H_

#include <cstdint>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::graph {

// What must stay of a NaN: all its bits, or that it is one, and its sign.
enum class NanBits : std::uint8_t { kKept, kMayChange };

// Whether a cast to a type does other things by these options.
constexpr bool KnowsSaturate(const TypeInfo& to) { return to.is_float() && to.bits == 8; }
constexpr bool KnowsRoundMode(const TypeInfo& to) { return to.is_float() && !to.has_zero; }

// The options with those that a cast from one type to another ignores at their defaults: two casts
// of the same types do the same for every element exactly where these are equal.
constexpr CastOptions OptionsInEffect(DataType from, DataType to, const CastOptions& options) {
  CastOptions effect;
  if (FindType(from) == nullptr || FindType(to) == nullptr || from == to) return effect;
  const TypeInfo& source = detail::Row(from);
  const TypeInfo& result = detail::Row(to);
  if (to == DataType::kString) {
    effect.string_style = options.string_style;
    return effect;
  }
  const bool has_nan = source.has_nan() || from == DataType::kString;
  const bool has_infinity = source.has_infinity() || from == DataType::kString;
  if (result.is_integer() && (source.is_float() || from == DataType::kString)) {
    effect.integer_overflow = options.integer_overflow;
  }
  if (!result.is_float()) return effect;
  if (!result.has_nan() && has_nan) effect.finite_only_nan = options.finite_only_nan;
  if (KnowsSaturate(result)) effect.saturate = options.saturate;
  if (KnowsRoundMode(result)) effect.round_mode = options.round_mode;
  if (result.is_fnuz() && has_infinity && options.saturate) {
    effect.fnuz_infinity = options.fnuz_infinity;
  }
  return effect;
}

// Whether the cast of every code of `from` to `between` and back, with the options of the way back,
// gives that code.
constexpr bool ComesBack(DataType from, DataType between, const CastOptions& back, NanBits nan) {
  if (FindType(from) == nullptr || FindType(between) == nullptr) return false;
  if (from == between) return true;
  const TypeInfo& outer = detail::Row(from);
  const TypeInfo& inner = detail::Row(between);
  // Widening and narrowing, or changing the sign and changing it back, keeps the low bits.
  if (outer.is_integer() && inner.is_integer() && outer.bits <= inner.bits) return true;
  if (!Contains(between, from)) return false;
  // A bool is a byte, of which all but 0 are true.
  if (outer.type_class == TypeClass::kBool) return false;
  // A saturating cast gives no infinity to a type of eight bits.
  if (outer.has_infinity() && outer.bits == 8 && back.saturate) return false;
  // A type with IEEE's NaNs has quiet and signalling ones, which come back quiet.
  return nan == NanBits::kMayChange || !outer.has_nan() || !outer.has_infinity();
}

// Whether Cast(from → between) and then Cast(between → to) with `last` give for every code of
// `from`, whatever the options of the first, what Cast(from → to) with `last` gives. Where `from`
// and `to` are one type, that one Cast is a copy.
constexpr bool AreOneCast(DataType from, DataType between, DataType to, const CastOptions& last,
                          NanBits nan) {
  if (FindType(from) == nullptr || FindType(between) == nullptr || FindType(to) == nullptr) {
    return false;
  }
  if (from == between) return true;  // the first is a copy
  if (from == to) return ComesBack(from, between, last, nan);
  const TypeInfo& source = detail::Row(from);
  const TypeInfo& middle = detail::Row(between);
  const TypeInfo& result = detail::Row(to);
  const bool is_contained = Contains(between, from);
  // How a number is printed depends on its type, but not that of an integer.
  if (to == DataType::kString) {
    return is_contained && source.is_integer() && middle.is_integer();
  }
  // Low bits of low bits.
  if (source.is_integer() && middle.is_integer() && result.is_integer() &&
      result.bits <= middle.bits) {
    return true;
  }
  if (!is_contained) return false;
  // Out of the range ONNX defines the cast from an integer, not the one from a float. Here both
  // give the low bits, elsewhere they may not.
  return !(source.is_integer() && middle.is_float() && result.is_integer() && !Contains(to, from));
}

}  // namespace tensorcast::graph

#endif  // TENSORCAST_SRC_GRAPH_CAST_CHAINS_H_
