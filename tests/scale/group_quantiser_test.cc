// Integers in groups made of weights: scales, zero points and codes held against rational numbers,
// what was lost against its definition, and every target against the scalar one. Layouts' files are
// check_groups.py's.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/group_quantiser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/failure.h"
#include "core/option_sets.h"
#include "kinds_of_blocks.h"
#include "oracle/scaled.h"

namespace tensorcast::scale {
namespace {

using testing::OracleRow;

constexpr std::uint64_t kGroupRows = 140;

struct GroupCase {
  DataType source;
  GroupRule rule;
  std::uint64_t columns, group;

  std::string name() const {
    return std::string(TypeName(source)) + ", " + std::to_string(rule.bits) + " bits" +
           (rule.is_asymmetric ? ", asymmetric" : "") + (rule.has_biases ? ", biases" : "") +
           ", scales " + std::string(TypeName(rule.scale)) + ", rows of " +
           std::to_string(columns) + ", groups of " + std::to_string(group) + ", rule " +
           std::to_string(static_cast<int>(rule.rule));
  }
};

struct GroupsMade {
  MadeGroups groups;
  std::vector<std::byte> meter;

  bool operator==(const GroupsMade& other) const {
    return groups.codes.bytes == other.groups.codes.bytes && groups.scales == other.groups.scales &&
           groups.biases == other.groups.biases && groups.zeros.bytes == other.groups.zeros.bytes &&
           meter == other.meter;
  }
};

GroupsMade MakeGroups(const GroupCase& of, std::span<const std::byte> x, std::uint64_t x_first,
                      Target target) {
  const GroupQuantiser quantiser(of.source, of.rule, of.columns, of.group, target);
  GroupsMade made;
  LossMeter meter = quantiser.Meter();
  EXPECT_EQ(quantiser.Encode(x, x_first, 0, kGroupRows, made.groups, &meter), std::nullopt);
  made.meter = Saved(meter);
  return made;
}

// A few rows at a time, without a meter and with one: lines are the same, and so is what was lost.
void ExpectPieces(const GroupCase& of, std::span<const std::byte> x, std::uint64_t x_first,
                  Target target, const GroupsMade& expected) {
  const GroupQuantiser quantiser(of.source, of.rule, of.columns, of.group, target);
  LossMeter meter = quantiser.Meter();
  MadeGroups unmeasured, measured;
  for (std::uint64_t row = 0; row < kGroupRows; row += 7) {
    const std::uint64_t some = std::min<std::uint64_t>(7, kGroupRows - row);
    MadeGroups piece;
    EXPECT_EQ(quantiser.Encode(x, x_first + row * of.columns, row * of.columns, some, piece),
              std::nullopt);
    unmeasured.Append(piece);
    EXPECT_EQ(
        quantiser.Encode(x, x_first + row * of.columns, row * of.columns, some, piece, &meter),
        std::nullopt);
    measured.Append(piece);
  }
  for (const MadeGroups* const made : {&unmeasured, &measured}) {
    EXPECT_EQ(made->codes.bytes, expected.groups.codes.bytes) << of.name();
    EXPECT_EQ(made->scales, expected.groups.scales) << of.name();
    EXPECT_EQ(made->zeros.bytes, expected.groups.zeros.bytes) << of.name();
  }
  EXPECT_EQ(Saved(meter), expected.meter) << of.name();
}

int CodeAt(const CodeLines& lines, std::uint64_t row, std::uint64_t i) {
  const std::uint64_t bit = i * static_cast<std::uint64_t>(lines.bits);
  const std::byte byte = lines.bytes[row * lines.stride + bit / 8];
  return (std::to_integer<int>(byte) >> bit % 8) & ((1 << lines.bits) - 1);
}

mpz_class NearestInteger(const mpq_class& value) {
  mpq_class doubled = 2 * value + 1;
  mpz_class floor;
  mpz_fdiv_q(floor.get_mpz_t(), doubled.get_num_mpz_t(),
             mpz_class(2 * doubled.get_den()).get_mpz_t());
  const bool is_tie = doubled.get_den() == 1 && mpz_even_p(doubled.get_num_mpz_t()) != 0;
  return is_tie && mpz_odd_p(floor.get_mpz_t()) != 0 ? mpz_class(floor - 1) : floor;
}

mpq_class StoredNumber(const std::vector<std::byte>& numbers, DataType type, std::uint64_t i) {
  const oracle::Number number =
      oracle::NumberOf(OracleRow(type), LoadCode(type, numbers.data(), i));
  return number.negative ? mpq_class(-number.magnitude) : number.magnitude;
}

// A scale as the rule has it: rounded to its type, and no less than its least normal number.
mpq_class ScaleOf(const mpq_class& exact, DataType type) {
  const oracle::Row& row = OracleRow(type);
  const mpq_class rounded = oracle::NumberOf(row, oracle::Nearest(row, exact).code).magnitude;
  return std::max(rounded, oracle::PowerOfTwo(row.least + row.precision - 1));
}

void ExpectByDefinition(const GroupCase& of, const std::vector<double>& x, const MadeGroups& made,
                        const LossReport& report) {
  const int last = of.rule.codes() - 1, middle = of.rule.codes() / 2;
  const std::uint64_t groups = (of.columns + of.group - 1) / of.group;
  std::map<Loss, std::uint64_t> counts;
  std::map<Loss, std::uint64_t> first;
  mpq_class squares = 0, errors = 0;
  double max_error = -1;
  for (std::uint64_t row = 0; row < kGroupRows; ++row) {
    for (std::uint64_t g = 0; g < groups; ++g) {
      const std::uint64_t begin = row * of.columns + g * of.group;
      const std::uint64_t end = std::min(begin + of.group, (row + 1) * of.columns);
      mpq_class least = 0, most = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        if (!std::isfinite(x[i])) continue;
        least = std::min(least, mpq_class(x[i]));
        most = std::max(most, mpq_class(x[i]));
      }
      mpq_class exact;
      if (of.rule.is_asymmetric) {
        exact = mpq_class(most - least) / last;
      } else {
        const mpq_class amax = std::max(most, mpq_class(-least));
        exact =
            of.rule.bits == 4 ? mpq_class(amax / mpq_class(15, 2)) : mpq_class(amax / (middle - 1));
      }
      const mpq_class scale = exact == 0 ? mpq_class(1) : ScaleOf(exact, of.rule.scale);
      EXPECT_EQ(StoredNumber(made.scales, of.rule.scale, row * groups + g), scale) << of.name();
      int zero = of.rule.is_asymmetric ? 0 : middle;
      if (of.rule.is_asymmetric && exact != 0) {
        zero = std::clamp(static_cast<int>(NearestInteger(-least / scale).get_si()), 0, last);
      }
      if (of.rule.has_biases) {
        EXPECT_EQ(StoredNumber(made.biases, of.rule.scale, row * groups + g), -middle * scale);
      } else {
        EXPECT_EQ(CodeAt(made.zeros, row, g), zero) << of.name();
      }
      for (std::uint64_t i = begin; i < end; ++i) {
        mpz_class wanted = std::isnan(x[i]) ? 0 : x[i] > 0 ? 1 << 20 : -(1 << 20);
        if (std::isfinite(x[i])) wanted = NearestInteger(mpq_class(x[i]) / scale);
        const mpz_class unbounded = wanted + zero;
        const int code = static_cast<int>(
            std::clamp<mpz_class>(unbounded, mpz_class(0), mpz_class(last)).get_si());
        ASSERT_EQ(CodeAt(made.codes, row, i - row * of.columns), code)
            << of.name() << ", element " << i << ", " << x[i];
        const mpq_class value = (code - zero) * scale;
        const Loss loss = std::isnan(x[i])                                  ? Loss::kNanLost
                          : std::isfinite(x[i]) && mpq_class(x[i]) == value ? Loss::kExact
                          : unbounded != code                               ? Loss::kToLimit
                          : value == 0                                      ? Loss::kToZero
                                                                            : Loss::kRounded;
        if (counts[loss]++ == 0) first[loss] = i;
        if (!std::isfinite(x[i])) continue;
        // Scales have 24 bits at most: values are doubles, and so is the least error's distance.
        const double error = std::fabs(x[i] - value.get_d());
        squares += mpq_class(x[i]) * mpq_class(x[i]);
        errors += mpq_class(error) * mpq_class(error);
        max_error = std::max(max_error, error);
      }
    }
  }
  for (const Loss loss :
       {Loss::kNanLost, Loss::kExact, Loss::kToLimit, Loss::kToZero, Loss::kRounded}) {
    EXPECT_EQ(report.count(loss), counts[loss]) << of.name() << ", " << LossName(loss);
    if (counts[loss] != 0) {
      EXPECT_EQ(report.first[static_cast<std::size_t>(loss)].index, first[loss]) << of.name();
    }
  }
  EXPECT_EQ(report.max_abs_error, max_error) << of.name();
  // Terms are rounded before they are added up.
  EXPECT_NEAR(report.sum_squares / squares.get_d(), 1, 1e-12) << of.name();
  EXPECT_NEAR(report.sum_squared_error / errors.get_d(), 1, 1e-12) << of.name();
}

std::vector<GroupRule> AllGroupRules() {
  std::vector<GroupRule> all;
  for (const int bits : {4, 8}) {
    for (const bool is_asymmetric : {false, true}) {
      for (const bool has_biases : {false, true}) {
        for (const DataType scale : {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat32}) {
          all.push_back({bits, is_asymmetric, has_biases, ScaleRule::kAmax, scale});
        }
      }
    }
  }
  for (const ScaleRule rule : {ScaleRule::kMse, ScaleRule::kMseFine}) {
    for (const int bits : {4, 8}) {
      for (const bool is_asymmetric : {false, true}) {
        all.push_back({bits, is_asymmetric, false, rule, DataType::kFloat16});
      }
    }
  }
  return all;
}

struct RowsOfGroups {
  std::uint64_t columns, group;
};
// Groups that lanes take, in order and one by one; one for a row; such as they leave alone.
constexpr RowsOfGroups kRowsOfGroups[] = {{512, 128}, {352, 32}, {336, 48}, {250, 250}, {251, 400},
                                          {300, 128}, {40, 8},   {35, 16},  {15, 15}};

TEST(GroupQuantiser, EveryTargetByDefinition) {
  unsigned seed = 0;
  for (const GroupRule& rule : AllGroupRules()) {
    for (const DataType source :
         {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16, DataType::kFloat64}) {
      const RowsOfGroups& rows = kRowsOfGroups[++seed % std::size(kRowsOfGroups)];
      const GroupCase of = {source, rule, rows.columns, rows.group};
      constexpr std::uint64_t kBefore = 3;  // elements of another tensor
      const std::uint64_t n = kGroupRows * of.columns;
      std::vector<float> floats = KindsOfBlocks(n + kBefore, seed);
      std::mt19937_64 random(seed);
      for (float& value : floats) {
        if (random() % 3000 == 0) {
          value = random() % 2 == 0 ? std::numeric_limits<float>::infinity()
                                    : -std::numeric_limits<float>::infinity();
        }
      }
      // A block of multiples of one step and of their ties.
      for (std::size_t i = 1024; i < 2 * 1024; ++i) {
        floats[i] = static_cast<float>(static_cast<int>(random() % 31) - 15) * 0x1p-6f;
      }
      std::vector<std::byte> x(*StorageBytes(source, n + kBefore));
      ASSERT_TRUE(
          Cast(DataType::kFloat32, std::as_bytes(std::span(floats)), source, x, n + kBefore).ok());
      const GroupsMade expected = MakeGroups(of, x, kBefore, Target::kScalar);
      ExpectPieces(of, x, kBefore, Target::kScalar, expected);
      for (const Target target : Targets()) {
        EXPECT_TRUE(MakeGroups(of, x, kBefore, target) == expected)
            << of.name() << ", " << TargetName(target) << ", seed " << seed;
        ExpectPieces(of, x, kBefore, target, expected);
      }
      if (rule.is_fitted() || rule.rule != ScaleRule::kAmax) continue;
      std::vector<double> values(n + kBefore);
      ASSERT_TRUE(Cast(source, x, DataType::kFloat64, std::as_writable_bytes(std::span(values)),
                       n + kBefore)
                      .ok());
      values.erase(values.begin(), values.begin() + kBefore);
      LossMeter meter = GroupQuantiser(source, rule, of.columns, of.group).Meter();
      ASSERT_TRUE(meter.Load(expected.meter).ok());
      ExpectByDefinition(of, values, expected.groups, meter.Report());
    }
  }
}

TEST(GroupQuantiser, NamesTheGroupWhoseScaleDoesNotFit) {
  std::vector<float> x(4 * 128, 1.0f);
  x[2 * 128 + 70] = 1e6f;
  for (const Target target : Targets()) {
    const GroupQuantiser quantiser(DataType::kFloat32, GroupRule(), 256, 64, target);
    MadeGroups made;
    EXPECT_EQ(quantiser.Encode(std::as_bytes(std::span(x)), 0, 0, 2, made), 5u)
        << TargetName(target);
    EXPECT_THROW(quantiser.Encode(std::as_bytes(std::span(x)), 1, 0, 2, made), core::Failure);
  }
}

}  // namespace
}  // namespace tensorcast::scale
