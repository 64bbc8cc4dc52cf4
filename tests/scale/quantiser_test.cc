// Codes of scaled tensors against rational numbers: at every point where a code changes and at the
// values next to it, from every floating source, under scales of every kind; and whole tensors in
// one piece and in many.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/quantiser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "core/environment.h"
#include "core/failure.h"
#include "core/option_sets.h"
#include "core/source_codes.h"
#include "oracle/scaled.h"

namespace tensorcast::scale {
namespace {

using testing::OracleRow;

oracle::Number QuotientOf(const Scaling& scaling, const oracle::Number& x, double scale,
                          double global) {
  const oracle::Number quotient = oracle::Over(x, oracle::NumberOf(scale));
  switch (scaling.global_use) {
    case Factor::kMultiplies: return oracle::Over(quotient, oracle::NumberOf(global));
    case Factor::kDivides: return oracle::Times(quotient, oracle::NumberOf(global));
    case Factor::kNone: break;
  }
  return quotient;
}

std::uint64_t ExpectedCode(const Scaling& scaling, DataType source, std::uint64_t x, double scale,
                           double global) {
  const oracle::Row& from = OracleRow(source);
  const oracle::Row& to = OracleRow(scaling.element);
  const oracle::Number number = oracle::NumberOf(from, x);
  if (number.is == oracle::Number::Is::kNan) return oracle::Cast(from, to, {}, x);
  return oracle::QuotientCode(to, QuotientOf(scaling, number, scale, global));
}

// The codes of a source type near where the code of an element changes, and others.
std::vector<std::uint64_t> Planted(const Scaling& scaling, DataType source, double scale,
                                   double global, std::mt19937_64& random) {
  const oracle::Row& from = OracleRow(source);
  const oracle::Row& to = OracleRow(scaling.element);
  mpq_class factor = scale;
  if (scaling.global_use == Factor::kMultiplies) factor *= mpq_class(global);
  if (scaling.global_use == Factor::kDivides) factor /= mpq_class(global);
  std::vector<std::uint64_t> codes = {0, 1, from.largest, from.nan, from.nan | 1};
  if (from.infinity != 0) codes.push_back(from.infinity);
  std::vector<mpq_class> values = {0};
  for (std::uint64_t code = 1; code <= (to.kind == oracle::Kind::kSigned ? 127 : to.largest);
       ++code) {
    values.push_back(oracle::NumberOf(to, code).magnitude);
  }
  values.push_back(2 * values.back() - values[values.size() - 2]);  // the next, were there one
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const mpq_class middle = (values[i] + values[i + 1]) / 2;
    const oracle::NearestCode near = oracle::Nearest(from, middle * factor);
    if (near.beyond) continue;
    for (int step = -2; step <= 2; ++step) {
      const std::uint64_t code = near.code + static_cast<std::uint64_t>(step);
      if (code <= from.largest) codes.push_back(code);
    }
    const oracle::NearestCode whole = oracle::Nearest(from, values[i] * factor);
    codes.push_back(whole.code);
    codes.push_back(random() & (from.minus - 1));
  }
  for (std::size_t i = 0, n = codes.size(); i < n; ++i) codes.push_back(codes[i] | from.minus);
  return codes;
}

void ExpectCodes(const Scaling& scaling, ScaleRule rule, DataType source, double scale,
                 double global, std::mt19937_64& random, Target target = Target::kBest) {
  const std::vector<std::uint64_t> x = Planted(scaling, source, scale, global, random);
  std::vector<std::byte> bytes(*StorageBytes(source, x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) StoreCode(source, bytes.data(), i, x[i]);
  std::vector<std::byte> codes(*StorageBytes(scaling.element, x.size()));
  const std::uint64_t shape[] = {x.size()};
  const Quantiser quantiser(source, scaling, rule, Partition::OfTensor(shape), target);
  const double scales[] = {scale};
  quantiser.Encode(bytes, 0, 0, x.size(), {0, scales, {}, global}, codes, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(LoadCode(scaling.element, codes.data(), i),
              ExpectedCode(scaling, source, x[i], scale, global))
        << TypeName(source) << " " << std::hex << x[i] << " to " << TypeName(scaling.element)
        << std::hexfloat << " scale " << scale << " global " << global;
  }
}

constexpr DataType kSources[] = {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16,
                                 DataType::kFloat64};

float RandomScale(std::mt19937_64& random) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(0x00800000u + random() % 0x7F000000u));
}

TEST(Quantiser, CodesUnderFloatScales) {
  std::mt19937_64 random(21);
  for (const DataType element :
       {DataType::kFloat8E4M3FN, DataType::kFloat8E4M3FNUZ, DataType::kFloat8E5M2,
        DataType::kFloat8E5M2FNUZ, DataType::kInt8}) {
    std::vector<double> scales = {1, 0x1p-126, 0x1.fffffep127, 0x1.fffffep-1, 0x1.8p-5, 0x1p-9};
    for (int i = 0; i < 8; ++i) scales.push_back(RandomScale(random));
    for (int i = 0; i < 8; ++i) scales.push_back(static_cast<float>(1 + i * 0.37) / 300);
    scales = testing::SampleOf(scales, static_cast<std::uint64_t>(element));
    for (const DataType source : kSources) {
      for (const double scale : scales) {
        ExpectCodes({element, DataType::kFloat32}, ScaleRule::kAmax, source, scale, 1, random);
        if (HasFatalFailure()) return;
      }
    }
  }
}

constexpr std::uint64_t kMagnitudes = 0x7F80;  // of bfloat16s that are finite

// The codes of all of them. Rounding is monotone: between two of the same code all have it.
std::vector<std::uint64_t> CodesOfMagnitudes(const Scaling& scaling, double scale, double global) {
  std::vector<std::uint64_t> codes(kMagnitudes);
  const auto code = [&](std::uint64_t x) {
    return ExpectedCode(scaling, DataType::kBfloat16, x, scale, global);
  };
  const auto fill = [&](const auto& self, std::uint64_t first, std::uint64_t last) -> void {
    if (codes[first] == codes[last] || first + 1 == last) {
      std::fill(codes.begin() + static_cast<std::ptrdiff_t>(first),
                codes.begin() + static_cast<std::ptrdiff_t>(last), codes[first]);
      return;
    }
    const std::uint64_t middle = (first + last) / 2;
    codes[middle] = code(middle);
    self(self, first, middle);
    self(self, middle, last);
  };
  codes.front() = code(0);
  codes.back() = code(kMagnitudes - 1);
  fill(fill, 0, kMagnitudes - 1);
  return codes;
}

// Every bfloat16 that is finite under every one of some scales, on every target: a row of them as
// often as there are scales, whose cells have the scales in turn.
void ExpectCodesOfEveryBfloat16(const Scaling& scaling, ScaleRule rule,
                                const std::vector<double>& scales, double global,
                                std::uint64_t cell) {
  constexpr std::uint64_t kColumns = 2 * kMagnitudes;
  const std::uint64_t rows = scales.size(), n = rows * kColumns;
  const std::uint64_t shape[] = {rows, kColumns};
  const Partition partition =
      cell == kColumns ? Partition::OfRows(shape) : Partition::OfGroups(shape, cell);
  const oracle::Row& row = OracleRow(scaling.element);
  const auto minus = [&](std::uint64_t code) {
    return row.kind == oracle::Kind::kSigned ? -code & row.mask() : code | row.minus;
  };
  std::vector<std::vector<std::uint64_t>> expected;
  for (const double scale : scales) expected.push_back(CodesOfMagnitudes(scaling, scale, global));
  const auto scale_of = [&](std::uint64_t of_cell) {
    const std::uint64_t in_row = kColumns / cell;
    return (of_cell / in_row + of_cell % in_row) % rows;
  };
  std::vector<double> of_cells(partition.cells());
  for (std::size_t i = 0; i < of_cells.size(); ++i) of_cells[i] = scales[scale_of(i)];
  std::vector<std::byte> x(n * 2), codes(*StorageBytes(scaling.element, n));
  for (std::uint64_t i = 0; i < n; ++i) {
    const bool is_negative = i % kColumns >= kMagnitudes;
    StoreCode(DataType::kBfloat16, x.data(), i, i % kMagnitudes | (is_negative ? 0x8000 : 0));
  }
  for (const Target target : Targets()) {
    const Quantiser quantiser(DataType::kBfloat16, scaling, rule, partition, target);
    // The second time from the middle of a cell on.
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{12346}}) {
      std::ranges::fill(codes, std::byte{0xAA});
      quantiser.Encode(x, first, first, n - first, {0, of_cells, {}, global}, codes, first);
      for (std::uint64_t i = first; i < n; ++i) {
        const std::size_t scale = scale_of(i / cell);
        const std::uint64_t code = expected[scale][i % kMagnitudes];
        ASSERT_EQ(LoadCode(scaling.element, codes.data(), i),
                  i % kColumns < kMagnitudes ? code : minus(code))
            << TargetName(target) << std::hexfloat << " scale " << scales[scale] << " global "
            << global << std::hex << " of " << LoadCode(DataType::kBfloat16, x.data(), i) << " to "
            << TypeName(scaling.element);
      }
    }
  }
}

// In rows that are long enough for codes without quotients: under scales of few bits, whose
// quotients are ties, and of many.
TEST(Quantiser, CodesOfEveryBfloat16) {
  std::mt19937_64 random(26);
  for (const DataType element : {DataType::kFloat8E4M3FN, DataType::kInt8}) {
    std::vector<double> scales = {1, 0x1.fffffep-1, 0x1.000002p0, 0x1p-100, 0x1.8p99, 0x1p-101};
    for (int i = 3; i < 64; i += 12) scales.push_back(i * 0x1p-12);
    for (int i = 0; i < 5; ++i) scales.push_back(RandomScale(random));
    // As they are of the largest weights of rows.
    const double most = element == DataType::kInt8 ? 127 : 448;
    for (int i = 0; i < 8; ++i) {
      scales.push_back(static_cast<float>(static_cast<double>(128 + random() % 128) / most));
    }
    ExpectCodesOfEveryBfloat16({element, DataType::kFloat32}, ScaleRule::kAmax,
                               testing::SampleOf(scales, random()), 1, 2 * kMagnitudes);
    if (HasFatalFailure()) return;
  }
}

TEST(Quantiser, CodesOfEveryBfloat16InGroups) {
  std::mt19937_64 random(27);
  for (const DataType element :
       {DataType::kFloat8E4M3FN, DataType::kFloat8E5M2, DataType::kFloat6E2M3,
        DataType::kFloat6E3M2, DataType::kFloat4E2M1}) {
    const Scaling scaling = {element, DataType::kFloat8E8M0};
    // Those that weights have, and of all others some.
    const auto some = [&](std::initializer_list<int> exponents) {
      std::vector<double> scales;
      for (const int exponent : exponents) scales.push_back(std::ldexp(1, exponent));
      ExpectCodesOfEveryBfloat16(scaling, ScaleRule::kOcp, scales, 1, 32);
    };
    some({0, -1, -9, -14, 3});
    some({-60, 60, 59, -59});
    some({-120, -110, 100, 115});
    some({-127, 127, 61, -61, static_cast<int>(random() % 255) - 127});
    if (HasFatalFailure()) return;
  }
  // All significands of scales beside each other.
  for (const Factor use : {Factor::kMultiplies, Factor::kDivides}) {
    const Scaling scaling = {DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies,
                             use};
    for (const double global :
         {1.0, static_cast<double>(0.00123456f), static_cast<double>(RandomScale(random))}) {
      std::vector<double> scales = {0x1p-9, 0x1.8p-8, 448};
      for (int i = 8; i < 16; ++i)
        scales.push_back(std::ldexp(i, static_cast<int>(random() % 12) - 9));
      std::shuffle(scales.begin(), scales.end(), random);
      ExpectCodesOfEveryBfloat16(scaling, ScaleRule::kAmax, scales, global, 16);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Quantiser, CodesUnderPowersOfTwo) {
  std::mt19937_64 random(22);
  std::vector<int> exponents;
  for (int exponent = -127; exponent <= 127; exponent += exponent > -20 && exponent < 4 ? 1 : 9) {
    exponents.push_back(exponent);
  }
  for (const DataType element :
       {DataType::kFloat8E4M3FN, DataType::kFloat8E5M2, DataType::kFloat6E2M3,
        DataType::kFloat6E3M2, DataType::kFloat4E2M1}) {
    for (const DataType source : kSources) {
      for (const int exponent : testing::SampleOf(exponents, random())) {
        ExpectCodes({element, DataType::kFloat8E8M0}, ScaleRule::kOcp, source,
                    std::ldexp(1, exponent), 1, random);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Quantiser, CodesUnderAGlobalScale) {
  std::mt19937_64 random(23);
  std::vector<std::uint64_t> scale_codes(0x7E);
  std::iota(scale_codes.begin(), scale_codes.end(), 1);
  for (const Factor use : {Factor::kMultiplies, Factor::kDivides}) {
    const Scaling scaling = {DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies,
                             use};
    for (const DataType source : kSources) {
      for (const std::uint64_t code : testing::SampleOf(scale_codes, random())) {
        const double scale = oracle::NumberOf(OracleRow(scaling.scale), code).magnitude.get_d();
        for (const double global : {1.0, 0x1.8p-9, static_cast<double>(0.00123456f), 2688.0,
                                    static_cast<double>(RandomScale(random))}) {
          ExpectCodes(scaling, ScaleRule::kAmax, source, scale, global, random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Quantiser, CodesOnEveryTarget) {
  std::mt19937_64 random(24);
  for (const Target target : Targets()) {
    for (const DataType source : kSources) {
      ExpectCodes({DataType::kFloat8E4M3FN, DataType::kFloat32}, ScaleRule::kAmax, source,
                  static_cast<float>(0.0017), 1, random, target);
      ExpectCodes({DataType::kInt8, DataType::kBfloat16}, ScaleRule::kAmax, source, 0x1.5ap-7, 1,
                  random, target);
      ExpectCodes({DataType::kFloat6E2M3, DataType::kFloat8E8M0}, ScaleRule::kUp, source, 0x1p-5, 1,
                  random, target);
      if (HasFatalFailure()) return;
    }
  }
}

// The limit under a scale is the least double whose quotient rounds beyond the element's range.
TEST(Quantiser, LimitsAreTheLeastDoublesBeyond) {
  std::mt19937_64 random(25);
  const auto expect = [](const Scaling& scaling, double scale, double global) {
    const core::CellLimits limits = CellQuotients(scaling, false).Limits(scale, global);
    const auto is_beyond = [&](double x) {
      const oracle::Number quotient = QuotientOf(scaling, oracle::NumberOf(x), scale, global);
      return scaling.element == DataType::kInt8
                 ? quotient.magnitude >= mpq_class(255, 2)
                 : oracle::Nearest(OracleRow(scaling.element), quotient.magnitude).beyond;
    };
    EXPECT_EQ(limits.up, limits.down);
    EXPECT_TRUE(is_beyond(limits.up)) << scale << " " << global;
    EXPECT_FALSE(is_beyond(std::nextafter(limits.up, 0.0))) << scale << " " << global;
  };
  for (int i = 0; i < 1000; ++i) {
    const double scale = RandomScale(random), global = RandomScale(random);
    for (const DataType element :
         {DataType::kFloat8E4M3FN, DataType::kFloat8E5M2, DataType::kInt8}) {
      expect({element, DataType::kFloat32}, scale, 1);
    }
    const double narrow =
        oracle::NumberOf(OracleRow(DataType::kFloat8E4M3FN), 1 + random() % 126).magnitude.get_d();
    for (const Factor use : {Factor::kMultiplies, Factor::kDivides}) {
      const Scaling scaling = {DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies,
                               use};
      expect(scaling, narrow, global);
      expect(scaling, narrow, 0x1p-5);
    }
  }
}

// A whole tensor as a job does it: amax in stretches, scales, codes in stretches of any size;
// packed codes that begin within a byte. Against the definitions, element by element.
void ExpectTensor(const Scaling& scaling, ScaleRule rule, const Partition& partition) {
  const std::uint64_t n = partition.elements();
  std::mt19937_64 random(n);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> x(n);
  for (float& value : x) value = normal(random);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  x[n / 2] = -std::numeric_limits<float>::infinity();
  const auto bytes = std::as_bytes(std::span(x));

  std::vector<std::uint64_t> cell_of(n);
  ForEachRun(partition, 0, n, [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
    std::fill_n(cell_of.begin() + static_cast<std::ptrdiff_t>(at), length, cell);
  });
  std::vector<double> expected_amax(partition.cells());
  for (std::uint64_t i = 0; i < n; ++i) {
    const double magnitude = std::fabs(x[i]);
    if (std::isfinite(magnitude) && magnitude > expected_amax[cell_of[i]]) {
      expected_amax[cell_of[i]] = magnitude;
    }
  }

  const Quantiser quantiser(DataType::kFloat32, scaling, rule, partition);
  std::vector<double> amax(partition.cells());
  for (std::uint64_t done = 0; done < n;) {
    const std::uint64_t some = std::min(n - done, 1 + random() % 3000);
    const CellRange cells = partition.CellsOf(done, some);
    quantiser.GatherAmax(bytes, done, done, some, cells.first,
                         std::span(amax).subspan(cells.first, cells.count));
    done += some;
  }
  ASSERT_EQ(amax, expected_amax);
  const double global = quantiser.GlobalScale(*std::max_element(amax.begin(), amax.end()));
  std::vector<double> scales(amax.size());
  quantiser.Scales(amax, global, scales);
  for (std::size_t i = 0; i < amax.size(); ++i) {
    ASSERT_EQ(scales[i], CellScaleOf(scaling, rule, amax[i], global));  // see scale_rule_test
  }

  const std::uint64_t codes_first = 3;  // of a buffer that holds others before and after
  std::vector<std::byte> codes(*StorageBytes(scaling.element, n + 8), std::byte{0xA5});
  const std::vector<std::byte> before = codes;
  for (std::uint64_t done = 0; done < n;) {
    const std::uint64_t some = std::min(n - done, 1 + random() % 3000);
    const CellRange cells = partition.CellsOf(done, some);
    quantiser.Encode(bytes.subspan(done * 4), 0, done, some,
                     {cells.first, std::span(scales).subspan(cells.first, cells.count), {}, global},
                     codes, codes_first + done);
    done += some;
  }
  for (std::uint64_t i = 0; i < n + 8; ++i) {
    const std::uint64_t code = LoadCode(scaling.element, codes.data(), i);
    if (i < codes_first || i >= codes_first + n) {
      ASSERT_EQ(code, LoadCode(scaling.element, before.data(), i)) << "beside, " << i;
      continue;
    }
    const std::uint64_t at = i - codes_first;
    ASSERT_EQ(code, ExpectedCode(scaling, DataType::kFloat32, std::bit_cast<std::uint32_t>(x[at]),
                                 scales[cell_of[at]], global))
        << at;
  }
}

TEST(Quantiser, WholeTensorsInPieces) {
  const std::uint64_t shape[] = {3, 41, 96};
  const std::uint64_t flat[] = {61, 173};
  const Scaling fp8 = {DataType::kFloat8E4M3FN, DataType::kFloat32};
  ExpectTensor(fp8, ScaleRule::kAmax, Partition::OfTensor(shape));
  ExpectTensor(fp8, ScaleRule::kAmax, Partition::OfRows(flat));
  ExpectTensor(fp8, ScaleRule::kAmax, Partition::OfBlocks(shape, 16, 20));
  ExpectTensor(fp8, ScaleRule::kUp, Partition::OfBlocks(flat, 128, 128));
  ExpectTensor({DataType::kInt8, DataType::kBfloat16}, ScaleRule::kAmax, Partition::OfRows(flat));
  for (const DataType element :
       {DataType::kFloat8E5M2, DataType::kFloat6E2M3, DataType::kFloat4E2M1}) {
    ExpectTensor({element, DataType::kFloat8E8M0}, ScaleRule::kRound,
                 Partition::OfGroups(shape, 32));
  }
  for (const Factor use : {Factor::kMultiplies, Factor::kDivides}) {
    ExpectTensor({DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies, use},
                 ScaleRule::kAmax, Partition::OfGroups(shape, 16));
  }
}

// Cells of every shape, in stretches of any place: lanes give what the scalar target gives, which
// divides in float64 and is held against rational numbers above.
TEST(Quantiser, LanesGiveWhatFloat64Gives) {
  std::mt19937_64 random(28);
  constexpr std::uint64_t kGroups[] = {64, 96}, kRows[] = {5, 1000}, kBlocks[] = {2, 37, 200};
  const Partition partitions[] = {
      Partition::OfGroups(kGroups, 16),    Partition::OfGroups(kGroups, 32),
      Partition::OfGroups(kGroups, 24),    Partition::OfRows(kRows),
      Partition::OfTensor(kRows),          Partition::OfAxis(kBlocks, 1),
      Partition::OfBlocks(kBlocks, 16, 64)};
  struct Written {
    Scaling scaling;
    ScaleRule rule;
  };
  const Written all[] = {
      {{DataType::kFloat8E4M3FN, DataType::kFloat32}, ScaleRule::kAmax},
      {{DataType::kFloat8E5M2, DataType::kBfloat16}, ScaleRule::kAmax},
      {{DataType::kFloat8E4M3FN, DataType::kFloat32}, ScaleRule::kUp},
      {{DataType::kInt8, DataType::kFloat32}, ScaleRule::kAmax},
      {{DataType::kFloat8E4M3FN, DataType::kFloat8E8M0}, ScaleRule::kRound},
      {{DataType::kFloat6E2M3, DataType::kFloat8E8M0}, ScaleRule::kRound},
      {{DataType::kFloat4E2M1, DataType::kFloat8E8M0}, ScaleRule::kOcp},
      {{DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies, Factor::kMultiplies},
       ScaleRule::kAmax},
      {{DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies, Factor::kDivides},
       ScaleRule::kAmax},
  };
  for (const Partition& partition : partitions) {
    const std::uint64_t n = partition.elements();
    for (const DataType source :
         {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16, DataType::kFloat8E5M2}) {
      const oracle::Row& row = OracleRow(source);
      std::vector<std::byte> x(*StorageBytes(source, n));
      for (std::uint64_t i = 0; i < n; ++i) {
        // Weights, among them some of any magnitude, zeros, Inf and NaN.
        const double weight = std::ldexp(static_cast<double>(random() % 65536) - 32768, -20);
        const std::uint64_t any = random() & row.mask();
        const bool plain = i % 97 != 0;
        StoreCode(
            source, x.data(), i,
            plain ? oracle::Cast(oracle::RowOf(11), row, {}, std::bit_cast<std::uint64_t>(weight))
                  : any);
      }
      for (const Written& written : all) {
        std::vector<double> expected_scales;
        std::vector<std::byte> expected;
        std::vector<Target> targets = {Target::kScalar};
        targets.insert(targets.end(), Targets().begin(), Targets().end());
        for (const Target target : targets) {
          const Quantiser quantiser(source, written.scaling, written.rule, partition, target);
          std::vector<double> scales(partition.cells());
          std::vector<std::byte> codes(*StorageBytes(written.scaling.element, n));
          const double global =
              written.scaling.global_use == Factor::kNone ? 1 : quantiser.GlobalScale(0.03);
          const std::uint64_t middle = random() % n / 8 * 8;
          quantiser.GatherAmax(x, 0, 0, middle, 0, scales);
          quantiser.GatherAmax(x, middle, middle, n - middle, 0, scales);
          quantiser.Scales(scales, global, scales);
          const CellScales given = {0, scales, {}, global};
          quantiser.Encode(x, 0, 0, middle, given, codes, 0);
          quantiser.Encode(x, middle, middle, n - middle, given, codes, middle);
          if (expected.empty()) {
            expected = codes;
            expected_scales = scales;
          }
          ASSERT_EQ(scales, expected_scales) << TypeName(source);
          ASSERT_EQ(codes, expected)
              << TypeName(source) << " to " << TypeName(written.scaling.element) << ", cells of "
              << partition.block_columns << ", target " << static_cast<int>(target);
        }
      }
    }
  }
}

TEST(Quantiser, WhatHasNoMagnitudeHasScaleOne) {
  const std::uint64_t shape[] = {2, 4};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0, -0.0f, 0, 0, nan, infinity, -infinity, nan};
  const Quantiser quantiser(DataType::kFloat32, {DataType::kInt8, DataType::kFloat32},
                            ScaleRule::kAmax, Partition::OfRows(shape));
  std::vector<double> amax(2), scales(2);
  quantiser.GatherAmax(std::as_bytes(std::span(x)), 0, 0, 8, 0, amax);
  quantiser.Scales(amax, 1, scales);
  EXPECT_EQ(scales, (std::vector<double>{1, 1}));
  std::vector<std::byte> codes(8);
  quantiser.Encode(std::as_bytes(std::span(x)), 0, 0, 8, {0, scales}, codes, 0);
  const int expected[] = {0, 0, 0, 0, 0, 127, -127, 0};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(static_cast<std::int8_t>(codes[static_cast<std::size_t>(i)]), expected[i]) << i;
  }
}

TEST(Quantiser, TheCallersFloatingPointEnvironmentDoesNotMatter) {
  const std::uint64_t shape[] = {8, 64};
  std::vector<float> x(512);
  std::mt19937_64 random(31);
  for (float& value : x) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  const auto bytes = std::as_bytes(std::span(x));
  const Quantiser quantiser(
      DataType::kFloat32,
      {DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies, Factor::kDivides},
      ScaleRule::kAmax, Partition::OfGroups(shape, 16));
  struct Outcome {
    double global = 0;
    std::vector<double> amax = std::vector<double>(32), scales = std::vector<double>(32);
    std::vector<std::byte> codes = std::vector<std::byte>(256);
  };
  const auto run = [&](Outcome& outcome) {
    quantiser.GatherAmax(bytes, 0, 0, 512, 0, outcome.amax);
    outcome.global = quantiser.GlobalScale(0x1.234568p-4);
    quantiser.Scales(outcome.amax, outcome.global, outcome.scales);
    quantiser.Encode(bytes, 0, 0, 512, {0, outcome.scales, {}, outcome.global}, outcome.codes, 0);
  };
  Outcome expected;
  run(expected);
  for (const testing::HostileEnvironment& environment : testing::HostileEnvironments()) {
    Outcome outcome;
    testing::EnvironmentWords set, after;
    {
      const testing::HostileScope scope(environment);
      run(outcome);
      after = testing::ReadEnvironment();
      set = scope.set();
    }
    EXPECT_EQ(after, set) << environment.name;
    EXPECT_EQ(outcome.amax, expected.amax) << environment.name;
    EXPECT_EQ(outcome.global, expected.global) << environment.name;
    EXPECT_EQ(outcome.scales, expected.scales) << environment.name;
    EXPECT_EQ(outcome.codes, expected.codes) << environment.name;
  }
}

}  // namespace
}  // namespace tensorcast::scale
