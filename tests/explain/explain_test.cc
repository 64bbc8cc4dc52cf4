// Explanations against the oracle: the result, its neighbours, its ulp, the error, the kind of
// loss and what other options give, of every code of the narrow types and hard codes of the wide.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/option_sets.h"
#include "core/source_codes.h"
#include "oracle/cast.h"
#include "oracle/loss.h"
#include "oracle/rational.h"
#include "oracle/text.h"
#include "oracle/types.h"
#include "tensorcast/explain.hpp"

namespace tensorcast::testing {

using oracle::IsRounded;
using oracle::RationalOf;

namespace {

bool IsFinite(const oracle::Value& value) { return value.is == oracle::Value::Is::kFinite; }
bool IsNan(const oracle::Value& value) { return value.is == oracle::Value::Is::kNan; }

// As a double, which has every value of a type of at most 16 bits; no NaN.
double AsDouble(const oracle::Value& value) {
  const double magnitude = IsFinite(value)
                               ? std::ldexp(static_cast<double>(value.digits), value.exponent)
                               : std::numeric_limits<double>::infinity();
  return value.negative ? -magnitude : magnitude;
}

// The unit in the last place of a finite value, by the oracle's precision and least value.
mpq_class OracleUlp(const oracle::Row& row, const oracle::Value& value) {
  if (!row.floating()) return 1;
  int exponent = row.least;
  if (value.digits != 0) {
    const int top = value.exponent + 63 - std::countl_zero(value.digits);
    exponent = std::max(exponent, top - (row.precision - 1));
  }
  return RationalOf(oracle::Value{oracle::Value::Is::kFinite, false, 1, exponent, 0});
}

class EveryCode : public ::testing::TestWithParam<DataType> {};

// The codes of a type in the order of their values: the next to each is what an explanation of its
// identity cast calls its neighbour.
TEST_P(EveryCode, HasItsNeighboursAndUlp) {
  const DataType type = GetParam();
  const oracle::Row& row = OracleRow(type);
  struct Entry {
    oracle::Value value;
    std::uint64_t code;
  };
  std::vector<Entry> entries;
  for (std::uint64_t code = 0; code <= row.mask(); ++code) {
    const oracle::Value value = oracle::Decode(row, code);
    if (!IsNan(value)) entries.push_back({value, code});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return AsDouble(a.value) < AsDouble(b.value); });
  const std::size_t step = Sampled() && entries.size() > 256 ? 127 : 1;
  const auto same = [](const oracle::Value& x, const oracle::Value& y) {
    return AsDouble(x) == AsDouble(y);
  };
  for (std::size_t i = 0; i < entries.size(); i += step) {
    const auto& [value, code] = entries[i];
    const Explanation explained = Explain(type, code, type);
    ASSERT_TRUE(explained.result.status.ok());
    EXPECT_EQ(explained.result.code, code);
    EXPECT_EQ(explained.loss, Loss::kExact);
    std::size_t last = i, first = i;  // of those equal to it: both zeros, all codes of true
    while (last + 1 < entries.size() && same(entries[last + 1].value, value)) ++last;
    while (first > 0 && same(entries[first - 1].value, value)) --first;
    ASSERT_EQ(explained.above.has_value(), last + 1 < entries.size()) << code;
    ASSERT_EQ(explained.below.has_value(), first > 0) << code;
    if (explained.above) {
      EXPECT_TRUE(same(oracle::Decode(row, *explained.above), entries[last + 1].value)) << code;
    }
    if (explained.below) {
      EXPECT_TRUE(same(oracle::Decode(row, *explained.below), entries[first - 1].value)) << code;
    }
    ASSERT_EQ(explained.ulp.has_value(), IsFinite(value)) << code;
    if (explained.ulp) {
      EXPECT_EQ(mpq_class(*explained.ulp), OracleUlp(row, value)) << code;
    }
    if (IsFinite(value)) {
      EXPECT_EQ(RationalOf(explained.value.Text()), RationalOf(value)) << code;
    }
  }
}

std::vector<DataType> TypesOfAtMost16Bits() {
  std::vector<DataType> types;
  for (const TypeInfo& row : Types()) {
    if (row.bits != 0 && row.bits <= 16) types.push_back(row.type);
  }
  return types;
}

std::string NameOf(const ::testing::TestParamInfo<DataType>& info) {
  return std::string(TypeName(info.param));
}
INSTANTIATE_TEST_SUITE_P(Types, EveryCode, ::testing::ValuesIn(TypesOfAtMost16Bits()), NameOf);

// The sets of options in which one differs from the defaults, string style apart.
std::vector<CastOptions> ChangedOptions() {
  std::vector<CastOptions> sets(6);
  sets[0].saturate = false;
  sets[1].round_mode = RoundingMode::kDown;
  sets[2].round_mode = RoundingMode::kNearest;
  sets[3].integer_overflow = IntegerOverflow::kSaturate;
  sets[4].fnuz_infinity = FnuzInfinity::kNan;
  sets[5].finite_only_nan = FiniteOnlyNan::kMax;
  return sets;
}

Loss OracleLoss(const oracle::LossFigures& figures) {
  for (std::size_t kind = 0; kind < kLossPartition; ++kind) {
    if (figures.counts[kind] != 0) return static_cast<Loss>(kind);
  }
  return Loss::kUndefined;  // of no element
}

oracle::LossFigures LossOfOne(DataType from, DataType to, const CastOptions& options,
                              std::uint64_t code, std::uint64_t result) {
  oracle::LossOracle loss(OracleRow(from), OracleRow(to), ToOracle(options));
  loss.Add(code, result);
  return loss.Figures();
}

void ExpectErrors(const Explanation& explained, const mpq_class& error, const mpq_class& source,
                  const mpq_class& ulp) {
  ASSERT_TRUE(explained.error && explained.error_is_exact && explained.error_in_ulps);
  EXPECT_EQ(RationalOf(explained.error->Text()), error);
  EXPECT_TRUE(IsRounded(error / ulp, RationalOf(explained.error_in_ulps->Text()), 17));
  ASSERT_EQ(explained.relative_error.has_value(), source != 0);
  if (source != 0) {
    EXPECT_TRUE(IsRounded(error / abs(source), RationalOf(explained.relative_error->Text()), 17));
  }
}

void ExpectExplained(DataType from, std::uint64_t code, DataType to) {
  SCOPED_TRACE(::testing::Message() << TypeName(from) << " " << code << " to " << TypeName(to));
  const oracle::Row& source_row = OracleRow(from);
  const oracle::Row& row = OracleRow(to);
  const Explanation explained = Explain(from, code, to);
  ASSERT_TRUE(explained.result.status.ok());
  const std::uint64_t result = oracle::Cast(source_row, row, {}, code);
  ASSERT_EQ(explained.result.code, result);
  const oracle::Value x = oracle::Decode(source_row, code), y = oracle::Decode(row, result);
  const oracle::LossFigures loss = LossOfOne(from, to, {}, code, result);
  EXPECT_EQ(explained.loss, OracleLoss(loss));
  const auto counted = [&](Loss kind) { return loss.counts[static_cast<std::size_t>(kind)] != 0; };
  EXPECT_EQ(explained.to_subnormal, counted(Loss::kToSubnormal));
  EXPECT_EQ(explained.zero_sign_lost, counted(Loss::kZeroSignLost));
  EXPECT_EQ(explained.undefined, counted(Loss::kUndefined));
  if (IsFinite(x) && IsFinite(y)) {
    ExpectErrors(explained, abs(RationalOf(x) - RationalOf(y)), RationalOf(x), OracleUlp(row, y));
  } else {
    EXPECT_FALSE(explained.error || explained.relative_error || explained.error_in_ulps);
  }
  std::size_t differing = 0;
  for (const CastOptions& options : ChangedOptions()) {
    const std::uint64_t changed = oracle::Cast(source_row, row, ToOracle(options), code);
    if (changed == result) continue;
    ++differing;
    const auto other =
        std::find_if(explained.others.begin(), explained.others.end(),
                     [&](const OtherResult& entry) { return entry.options == options; });
    ASSERT_NE(other, explained.others.end()) << Describe(options);
    EXPECT_EQ(other->result.code, changed) << Describe(options);
    EXPECT_EQ(other->loss, OracleLoss(LossOfOne(from, to, options, code, changed)));
    EXPECT_NE(CastOptionValue(other->option, options), CastOptionValue(other->option, {}));
  }
  EXPECT_EQ(explained.others.size(), differing);
}

class FromType : public ::testing::TestWithParam<DataType> {};

TEST_P(FromType, EveryPartOfAnExplanation) {
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    std::vector<std::uint64_t> codes;
    if (from.bits <= 8) {
      for (std::uint64_t code = 0; code >> from.bits == 0; ++code) codes.push_back(code);
    } else {
      codes = MixedCodes(from, to, 300, 5);
    }
    const std::size_t step = Sampled() ? 13 : 1;
    for (std::size_t i = 0; i < codes.size(); i += step) {
      ExpectExplained(from.type, codes[i], to.type);
      if (HasFailure()) return;
    }
  }
}

std::vector<DataType> AllFixedWidth() {
  std::vector<DataType> types;
  for (const TypeInfo& row : FixedWidthTypes()) types.push_back(row.type);
  return types;
}
INSTANTIATE_TEST_SUITE_P(Types, FromType, ::testing::ValuesIn(AllFixedWidth()), NameOf);

TEST(ExplainText, ResultsAndErrorsAreTheOracles) {
  for (const char* text :
       {"0.1", "-0", " 448 ", "464", "464.0000000000000000000000000000001", "465", "-1e300",
        "1e-350", "255.5", "-128.5", "1.5e-45", "18446744073709551615.75", "0.30000000000000004"}) {
    const oracle::Text read = oracle::ReadText(text);
    mpq_class source(read.numerator, read.denominator);
    source.canonicalize();
    if (read.negative) source = -source;
    for (const TypeInfo& to : FixedWidthTypes()) {
      SCOPED_TRACE(::testing::Message() << text << " to " << to.name);
      const oracle::Row& row = OracleRow(to.type);
      const oracle::Parsed parsed = oracle::ParseText(text, row, {});
      const Explanation explained = Explain(text, to.type);
      ASSERT_EQ(explained.result.status.ok(), parsed.error == oracle::TextError::kNone);
      if (!explained.result.status.ok()) {
        EXPECT_EQ(explained.result.status.code(), StatusCode::kNotAnInteger);
        EXPECT_FALSE(explained.loss || explained.below || explained.above || explained.error);
        continue;
      }
      EXPECT_EQ(explained.result.code, parsed.code);
      const oracle::Value y = oracle::Decode(row, parsed.code);
      if (!IsFinite(y)) continue;
      ExpectErrors(explained, abs(source - RationalOf(y)), source, OracleUlp(row, y));
    }
  }
}

TEST(ExplainText, KindsOfLoss) {
  const auto loss = [](const char* text, DataType to) { return Explain(text, to).loss; };
  EXPECT_EQ(loss("0.1", DataType::kFloat64), Loss::kRounded);
  EXPECT_EQ(loss("0.5", DataType::kFloat64), Loss::kExact);
  EXPECT_EQ(loss("nan", DataType::kFloat32), Loss::kNan);
  EXPECT_EQ(loss("nan", DataType::kFloat4E2M1), Loss::kNanLost);
  EXPECT_EQ(loss("1e39", DataType::kFloat32), Loss::kToInfinity);
  EXPECT_EQ(loss("1e39", DataType::kFloat8E4M3FN), Loss::kToLimit);
  EXPECT_EQ(loss("1e-60", DataType::kFloat32), Loss::kToZero);
  EXPECT_EQ(loss("256", DataType::kUint8), Loss::kWrapped);
}

TEST(Explain, OfAndToStrings) {
  const Explanation printed = Explain(DataType::kFloat8E4M3FN, 0x1D, DataType::kString);
  EXPECT_TRUE(printed.result.status.ok());
  EXPECT_EQ(printed.result.text,
            oracle::PrintText(OracleRow(DataType::kFloat8E4M3FN), oracle::TextStyle::kNumpy, 0x1D));
  EXPECT_FALSE(printed.loss || printed.ulp || printed.below);
  const Explanation copied = Explain(" 0.10 ", DataType::kString);
  EXPECT_EQ(copied.result.text, "0.10");
}

TEST(Explain, RefusesWhatIsNone) {
  const auto code_of = [](const Explanation& explained) { return explained.result.status.code(); };
  EXPECT_EQ(code_of(Explain("0,1", DataType::kFloat32)), StatusCode::kNotANumber);
  EXPECT_EQ(code_of(Explain("1", DataType::kUndefined)), StatusCode::kInvalidType);
  EXPECT_EQ(code_of(Explain("1", static_cast<DataType>(14))), StatusCode::kInvalidType);
  EXPECT_EQ(code_of(Explain(DataType::kString, 0, DataType::kFloat32)), StatusCode::kInvalidType);
  EXPECT_EQ(code_of(Explain(DataType::kInt4, 0x10, DataType::kFloat32)), StatusCode::kInvalidType);
  CastOptions options;
  options.round_mode = static_cast<RoundingMode>(3);
  EXPECT_EQ(code_of(Explain("1", DataType::kFloat32, options)), StatusCode::kInvalidOption);
  EXPECT_TRUE(ExactValueOf(DataType::kString, 0).is_nan());
}

TEST(Explain, OptionsHaveDifferentNamesAndValues) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    names.insert(CastOptionName(static_cast<CastOption>(i)));
  }
  EXPECT_EQ(names.size(), kCastOptions);
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_EQ(CastOptionName(static_cast<CastOption>(kCastOptions)), "unknown");
}

TEST(Explain, OptionsAreSetByTheirWords) {
  for (std::size_t i = 0; i < kCastOptions; ++i) {
    const auto option = static_cast<CastOption>(i);
    std::vector<CastOptions> sets;
    for (const std::string_view word : CastOptionValues(option)) {
      CastOptions& options = sets.emplace_back();
      EXPECT_TRUE(SetCastOption(option, word, &options)) << word;
      EXPECT_TRUE(IsValid(options)) << word;
      EXPECT_EQ(CastOptionValue(option, options), word);
      EXPECT_EQ(std::count(sets.begin(), sets.end(), options), 1) << word;
    }
    EXPECT_EQ(std::count(sets.begin(), sets.end(), CastOptions{}), 1) << CastOptionName(option);
    CastOptions options;
    EXPECT_FALSE(SetCastOption(option, "neither", &options));
    EXPECT_EQ(options, CastOptions{});
  }
  CastOptions options;
  EXPECT_EQ(options.saturate, true);
  EXPECT_TRUE(SetCastOption(CastOption::kSaturate, "false", &options));
  EXPECT_FALSE(options.saturate);
  EXPECT_TRUE(SetCastOption(CastOption::kRoundMode, "down", &options));
  EXPECT_EQ(options.round_mode, RoundingMode::kDown);
  EXPECT_TRUE(CastOptionValues(static_cast<CastOption>(kCastOptions)).empty());
  EXPECT_FALSE(SetCastOption(static_cast<CastOption>(kCastOptions), "true", &options));
}

}  // namespace
}  // namespace tensorcast::testing
