// Scales applied, against rational numbers: all codes of every element type, every scale of the
// narrow types and planted ones of the wide ones, every way a global scale and a zero point can
// come in, both roundings, every target.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/dequantiser.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/environment.h"
#include "core/failure.h"
#include "core/option_sets.h"
#include "core/source_codes.h"
#include "oracle/scaled.h"

namespace tensorcast::scale {
namespace {

using testing::OracleRow;

// As an oracle's double, so that a scale's decoding is not the library's either.
double DoubleOf(DataType type, std::uint64_t code) {
  return std::bit_cast<double>(oracle::Cast(OracleRow(type), oracle::RowOf(11), {}, code));
}

// All scales of a narrow type; of a wide one the ends of its range, zeros, what is none, and some.
std::vector<double> ScalesOf(DataType type) {
  const oracle::Row& row = OracleRow(type);
  std::vector<std::uint64_t> codes;
  if (row.bits == 8) {
    for (std::uint64_t code = 0; code < 256; ++code) codes.push_back(code);
  } else {
    codes = {0, 1, 2, 3, row.largest, row.largest - 1, row.infinity, row.nan};
    std::mt19937_64 random(static_cast<unsigned>(type));
    for (int i = 0; i < 16; ++i) codes.push_back(random() & (row.minus - 1));
    for (std::size_t i = 0, n = codes.size(); i < n; ++i) codes.push_back(codes[i] | row.minus);
  }
  std::vector<double> scales;
  for (const std::uint64_t code : codes) scales.push_back(DoubleOf(type, code));
  return scales;
}

std::vector<double> Globals() {
  std::vector<double> globals;
  for (const std::uint32_t bits : {0x3F800000u, 0x3DCCCCCDu, 0x45280000u, 0x00000001u, 0x7F7FFFFFu,
                                   0x7F800000u, 0x00000000u, 0xC0490FDBu, 0x7FC00001u}) {
    globals.push_back(DoubleOf(DataType::kFloat32, bits));
  }
  return globals;
}

std::string Show(const Scaling& scaling, std::uint64_t code, double scale, double global,
                 double zero, double result) {
  char text[200];
  std::snprintf(text, sizeof text, "%s code %02x scale %a (%s) global %a zero %g gives %a",
                std::string(TypeName(scaling.element)).c_str(), static_cast<unsigned>(code), scale,
                std::string(TypeName(scaling.scale)).c_str(), global, zero, result);
  return text;
}

// A row of all codes for each scale.
void ExpectExact(const Scaling& scaling, double global, double zero, Rounding rounding,
                 Target target, const testing::HostileEnvironment* environment = nullptr) {
  const oracle::Row& element = OracleRow(scaling.element);
  const std::vector<double> scales = testing::SampleOf(ScalesOf(scaling.scale));
  const std::uint64_t codes = element.mask() + 1;
  const std::uint64_t shape[] = {scales.size(), codes};
  std::vector<std::byte> bytes(scales.size() * codes * static_cast<unsigned>(element.bits) / 8);
  for (std::uint64_t i = 0; i < scales.size() * codes; ++i) {
    StoreCode(scaling.element, bytes.data(), i, i % codes);
  }
  const std::vector<double> zeros(scales.size(), zero);
  std::vector<double> values(scales.size() * codes);
  const Dequantiser dequantiser(scaling, Partition::OfRows(shape), rounding, target);
  const auto run = [&] {
    dequantiser.Run(bytes, 0, 0, values.size(), {0, scales, zeros, global}, values);
  };
  if (environment == nullptr) {
    run();
  } else {
    testing::EnvironmentWords set, after;
    {
      const testing::HostileScope scope(*environment);
      run();
      after = testing::ReadEnvironment();
      set = scope.set();
    }
    ASSERT_EQ(after, set) << environment->name << ": " << testing::Describe(after);
  }

  const auto apply = [](const oracle::Number& x, Factor use, double factor) {
    const oracle::Number y = oracle::NumberOf(factor);
    return use == Factor::kNone         ? x
           : use == Factor::kMultiplies ? oracle::Times(x, y)
                                        : oracle::Over(x, y);
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t code = i % codes;
    const double scale = scales[i / codes];
    oracle::Number exact = oracle::NumberOf(element, code);
    if (scaling.zero_point) exact = oracle::Minus(exact, oracle::NumberOf(zero));
    if (exact.is == oracle::Number::Is::kNan) {
      // Its own NaN.
      ASSERT_EQ(std::bit_cast<std::uint64_t>(values[i]),
                std::bit_cast<std::uint64_t>(DoubleOf(scaling.element, code)))
          << Show(scaling, code, scale, global, zero, values[i]);
      continue;
    }
    exact = apply(apply(exact, scaling.scale_use, scale), scaling.global_use, global);
    if (exact.is == oracle::Number::Is::kNan) {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(values[i]), 0x7FF8000000000000u)
          << Show(scaling, code, scale, global, zero, values[i]);
    }
    ASSERT_TRUE(rounding == Rounding::kOdd ? oracle::IsOdd(values[i], exact)
                                           : oracle::IsNearest(values[i], exact))
        << Show(scaling, code, scale, global, zero, values[i]);
  }
}

constexpr DataType kElements[] = {
    DataType::kFloat8E4M3FN,   DataType::kFloat8E4M3FNUZ, DataType::kFloat8E5M2,
    DataType::kFloat8E5M2FNUZ, DataType::kFloat6E2M3,     DataType::kFloat6E3M2,
    DataType::kFloat4E2M1,     DataType::kInt8,           DataType::kUint8,
    DataType::kInt4,           DataType::kUint4,          DataType::kInt2};
constexpr DataType kScales[] = {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16,
                                DataType::kFloat8E8M0, DataType::kFloat8E4M3FN};
constexpr Rounding kRoundings[] = {Rounding::kNearest, Rounding::kOdd};

TEST(Dequantiser, OneScale) {
  for (const DataType element : kElements) {
    for (const DataType scale : kScales) {
      // A product of two is a double, whatever the rounding.
      ExpectExact({element, scale}, 1, 0, Rounding::kOdd, Target::kBest);
      for (const Rounding rounding : kRoundings) {
        ExpectExact({element, scale, Factor::kDivides}, 1, 0, rounding, Target::kBest);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Dequantiser, OnEveryTarget) {
  for (const Target target : Targets()) {
    for (const DataType element : kElements) {
      ExpectExact({element, DataType::kFloat32}, 1, 0, Rounding::kOdd, target);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Dequantiser, GlobalScale) {
  for (const auto& [element, scale] : {std::pair{DataType::kFloat4E2M1, DataType::kFloat8E4M3FN},
                                       {DataType::kFloat4E2M1, DataType::kFloat32},
                                       {DataType::kFloat8E4M3FN, DataType::kFloat32},
                                       {DataType::kFloat8E5M2, DataType::kFloat32},
                                       {DataType::kInt8, DataType::kFloat32}}) {
    for (const Factor use : {Factor::kMultiplies, Factor::kDivides}) {
      for (const Factor global_use : {Factor::kMultiplies, Factor::kDivides}) {
        for (const Rounding rounding : kRoundings) {
          for (const double global : Globals()) {
            ExpectExact({element, scale, use, global_use}, global, 0, rounding, Target::kBest);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(Dequantiser, ZeroPoint) {
  const std::vector<double> globals = Globals();
  for (const DataType element : {DataType::kInt8, DataType::kUint8, DataType::kInt4}) {
    const TypeLimits limits = LimitsOf(element);
    for (const double zero : {limits.lowest, 0.0, 3.0, limits.greatest}) {
      for (const Factor global_use : {Factor::kNone, Factor::kMultiplies, Factor::kDivides}) {
        for (const double global : {globals[1], globals[7]}) {
          ExpectExact({element, DataType::kFloat32, Factor::kMultiplies, global_use, true}, global,
                      zero, Rounding::kOdd, Target::kBest);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Blocks that are ragged at both ends, in pieces of every size and place, packed and not: what the
// whole gives.
// Cells that lanes leave alone, and such as they take: in order, one by one, of several rows, and
// cut off at the right.
TEST(Dequantiser, AnyStretchGivesTheSame) {
  constexpr std::uint64_t kRows = 37, kColumns = 83;
  const std::uint64_t shape[] = {2, kRows, kColumns};
  const std::uint64_t n = 2 * kRows * kColumns;
  struct Block {
    std::uint64_t rows, columns;
  };
  std::mt19937_64 random(7);
  for (const Block& block :
       {Block{16, 8}, Block{1, 16}, Block{3, 16}, Block{1, 32}, Block{5, 48}}) {
    for (const DataType element :
         {DataType::kFloat8E4M3FN, DataType::kInt8, DataType::kFloat6E2M3, DataType::kFloat4E2M1}) {
      const bool divides = element == DataType::kFloat4E2M1;
      std::vector<std::byte> codes(n + 8);
      for (std::byte& code : codes) code = static_cast<std::byte>(random());
      const Partition partition = Partition::OfBlocks(shape, block.rows, block.columns);
      std::vector<double> scales(partition.cells());
      for (double& scale : scales) scale = static_cast<float>(random() % 1000) / 7;
      const double global = divides ? 2688 / 3.0f : 1;
      const Scaling scaling = {element, DataType::kFloat32, Factor::kMultiplies,
                               divides ? Factor::kDivides : Factor::kNone};
      const std::uint64_t cell_rows = (kRows + block.rows - 1) / block.rows;
      const std::uint64_t cell_columns = (kColumns + block.columns - 1) / block.columns;
      std::vector<double> expected(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t row = i / kColumns % kRows, column = i % kColumns;
        const std::uint64_t cell =
            (i / (kRows * kColumns) * cell_rows + row / block.rows) * cell_columns +
            column / block.columns;
        expected[i] = DoubleOf(element, LoadCode(element, codes.data(), i)) * scales[cell] / global;
      }
      for (const Target target : Targets()) {
        const Dequantiser dequantiser(scaling, partition, Rounding::kNearest, target);
        for (int trial = 0; trial < 100; ++trial) {
          const std::uint64_t first = random() % n, count = 1 + random() % (n - first);
          const CellRange cells = partition.CellsOf(first, count);
          // No more scales than are asked for; the codes begin anywhere, also within a byte.
          const std::vector<double> some(
              scales.begin() + static_cast<std::ptrdiff_t>(cells.first),
              scales.begin() + static_cast<std::ptrdiff_t>(cells.first + cells.count));
          std::vector<double> values(count);
          dequantiser.Run(codes, first, first, count, {cells.first, some, {}, global}, values);
          for (std::uint64_t i = 0; i < count; ++i) {
            ASSERT_EQ(std::bit_cast<std::uint64_t>(values[i]),
                      std::bit_cast<std::uint64_t>(expected[first + i]))
                << TypeName(element) << ", " << TargetName(target) << ", " << block.rows << " x "
                << block.columns << ", " << first << "+" << i;
          }
        }
      }
    }
  }
}

TEST(Dequantiser, TheCallersFloatingPointEnvironmentDoesNotMatter) {
  const Scaling scaling = {DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies,
                           Factor::kDivides};
  for (const testing::HostileEnvironment& environment : testing::HostileEnvironments()) {
    ExpectExact(scaling, 2688 / 3.0f, 0, Rounding::kOdd, Target::kBest, &environment);
    ExpectExact({DataType::kInt8, DataType::kFloat32, Factor::kMultiplies, Factor::kMultiplies},
                2688 / 3.0f, 0, Rounding::kOdd, Target::kBest, &environment);
    if (HasFatalFailure()) return;
  }
}

StatusCode CodeOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const core::Failure& failure) {
    return failure.code();
  }
  return StatusCode::kOk;
}

TEST(Dequantiser, RefusesWhatItCannotDo) {
  const std::uint64_t shape[] = {4, 8};
  const Partition partition = Partition::OfGroups(shape, 4);
  for (const Scaling& scaling :
       {Scaling{DataType::kFloat16}, Scaling{DataType::kBool}, Scaling{DataType::kString},
        Scaling{DataType::kUndefined}, Scaling{DataType::kInt8, DataType::kFloat64},
        Scaling{DataType::kInt8, DataType::kInt8},
        Scaling{DataType::kFloat8E5M2, DataType::kFloat32, Factor::kMultiplies, Factor::kNone,
                true}}) {
    EXPECT_EQ(CodeOf([&] { Dequantiser(scaling, partition, Rounding::kOdd); }),
              StatusCode::kInvalidType);
  }
  const Dequantiser dequantiser({DataType::kInt8, DataType::kFloat32}, partition, Rounding::kOdd);
  const std::vector<double> scales(8, 1.0);
  const std::vector<std::byte> codes(32);
  std::vector<double> values(32);
  const auto run = [&](std::uint64_t first, std::uint64_t n, const CellScales& given) {
    return CodeOf([&] { dequantiser.Run(codes, first, first, n, given, values); });
  };
  EXPECT_EQ(run(0, 32, {0, scales}), StatusCode::kOk);
  EXPECT_EQ(run(0, 33, {0, scales}), StatusCode::kBufferTooSmall);
  EXPECT_EQ(run(32, 0, {0, {}}), StatusCode::kOk);
  EXPECT_EQ(run(UINT64_MAX, 2, {0, scales}), StatusCode::kBufferTooSmall);
  EXPECT_EQ(run(0, 32, {0, std::span(scales).first(7)}), StatusCode::kBufferTooSmall);
  EXPECT_EQ(run(0, 32, {1, scales}), StatusCode::kBufferTooSmall);
  EXPECT_EQ(run(28, 4, {7, std::span(scales).first(1)}), StatusCode::kOk);
  EXPECT_EQ(run(28, 4, {8, scales}), StatusCode::kBufferTooSmall);
}

}  // namespace
}  // namespace tensorcast::scale
