// Option sets from rows; see option_sets.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/option_sets.h"

namespace tensorcast::testing {
namespace {

struct Applies {
  bool saturate, round_mode, integer_overflow, fnuz_infinity, finite_only_nan;
};

Applies WhatApplies(const TypeInfo& from, const TypeInfo& to) {
  if (from.type == to.type) return {};
  const bool e8m0 = to.type == DataType::kFloat8E8M0;
  Applies applies;
  applies.saturate = to.is_float() && to.bits == 8;
  applies.round_mode = e8m0;
  applies.integer_overflow = from.is_float() && to.is_integer();
  applies.fnuz_infinity = from.has_infinity() && to.is_fnuz();
  applies.finite_only_nan = from.has_nan() && to.is_float() && !to.has_nan();
  return applies;
}

}  // namespace

std::vector<CastOptions> MeaningfulOptions(const TypeInfo& from, const TypeInfo& to) {
  const Applies applies = WhatApplies(from, to);
  std::vector<CastOptions> sets(1);
  const auto vary = [&sets](bool applicable, int values, auto set) {
    if (!applicable) return;
    const std::size_t before = sets.size();
    for (int value = 1; value < values; ++value) {
      for (std::size_t i = 0; i < before; ++i) {
        CastOptions options = sets[i];
        set(options, value);
        sets.push_back(options);
      }
    }
  };
  vary(applies.round_mode, 3,
       [](CastOptions& o, int v) { o.round_mode = static_cast<RoundingMode>(v); });
  vary(applies.integer_overflow, 2,
       [](CastOptions& o, int v) { o.integer_overflow = static_cast<IntegerOverflow>(v); });
  vary(applies.finite_only_nan, 2,
       [](CastOptions& o, int v) { o.finite_only_nan = static_cast<FiniteOnlyNan>(v); });
  // fnuz_infinity is asked only under saturate, so its two values are not combined with kFalse.
  vary(applies.fnuz_infinity, 2,
       [](CastOptions& o, int v) { o.fnuz_infinity = static_cast<FnuzInfinity>(v); });
  if (applies.saturate) {
    const std::vector<CastOptions> saturated = sets;
    for (CastOptions options : saturated) {
      if (options.fnuz_infinity != FnuzInfinity::kMax) continue;
      options.saturate = false;
      sets.push_back(options);
    }
  }
  return sets;
}

std::vector<CastOptions> OptionSets(const TypeInfo& from, const TypeInfo& to) {
  std::vector<CastOptions> sets = MeaningfulOptions(from, to);
  const Applies applies = WhatApplies(from, to);
  CastOptions others;
  if (!applies.saturate) others.saturate = false;
  if (!applies.round_mode) others.round_mode = RoundingMode::kNearest;
  if (!applies.integer_overflow) others.integer_overflow = IntegerOverflow::kSaturate;
  if (!applies.fnuz_infinity) others.fnuz_infinity = FnuzInfinity::kNan;
  if (!applies.finite_only_nan) others.finite_only_nan = FiniteOnlyNan::kMax;
  others.string_style = StringStyle::kOrt;
  sets.push_back(others);
  return sets;
}

oracle::Options ToOracle(const CastOptions& options) {
  oracle::Options result;
  result.saturate = options.saturate;
  switch (options.round_mode) {
    case RoundingMode::kUp: result.round_mode = oracle::RoundingMode::kUp; break;
    case RoundingMode::kDown: result.round_mode = oracle::RoundingMode::kDown; break;
    case RoundingMode::kNearest: result.round_mode = oracle::RoundingMode::kNearest; break;
  }
  result.integer_saturate = options.integer_overflow == IntegerOverflow::kSaturate;
  result.fnuz_infinity_nan = options.fnuz_infinity == FnuzInfinity::kNan;
  result.finite_only_max = options.finite_only_nan == FiniteOnlyNan::kMax;
  return result;
}

std::vector<CastOptions> InvalidOptions() {
  std::vector<CastOptions> wrong(5);
  wrong[0].round_mode = static_cast<RoundingMode>(3);
  wrong[1].integer_overflow = static_cast<IntegerOverflow>(2);
  wrong[2].fnuz_infinity = static_cast<FnuzInfinity>(255);
  wrong[3].finite_only_nan = static_cast<FiniteOnlyNan>(2);
  wrong[4].string_style = static_cast<StringStyle>(2);
  return wrong;
}

std::string Describe(const CastOptions& options) {
  std::string text;
  const auto add = [&text](bool other, const char* words) {
    if (!other) return;
    if (!text.empty()) text += ' ';
    text += words;
  };
  add(!options.saturate, "saturate=false");
  add(options.round_mode == RoundingMode::kDown, "round_mode=down");
  add(options.round_mode == RoundingMode::kNearest, "round_mode=nearest");
  add(options.integer_overflow == IntegerOverflow::kSaturate, "integer_overflow=saturate");
  add(options.fnuz_infinity == FnuzInfinity::kNan, "fnuz_infinity=nan");
  add(options.finite_only_nan == FiniteOnlyNan::kMax, "finite_only_nan=max");
  add(options.string_style == StringStyle::kOrt, "string_style=ort");
  return text.empty() ? "defaults" : text;
}

std::vector<TypeInfo> FixedWidthTypes() {
  std::vector<TypeInfo> types;
  for (const TypeInfo& row : Types()) {
    if (row.bits != 0) types.push_back(row);
  }
  return types;
}

std::vector<DataType> FixedWidthDataTypes() {
  std::vector<DataType> types;
  for (const TypeInfo& row : FixedWidthTypes()) types.push_back(row.type);
  return types;
}

}  // namespace tensorcast::testing
