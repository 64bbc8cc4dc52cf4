// Scales applied straight to the type that is wanted, against rational numbers rounded once: all
// codes of every element type under every scale of the narrow types and planted ones of the wide
// ones, cells of every shape that has a way of its own, any stretch, every target.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/applier.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
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

double ScaleValue(DataType type, std::uint64_t code) {
  return std::bit_cast<double>(oracle::Cast(OracleRow(type), oracle::RowOf(11), {}, code));
}

// The code of a number in a floating type that has infinities.
std::uint64_t RoundedCode(const oracle::Number& number, DataType to) {
  const oracle::Row& row = OracleRow(to);
  const std::uint64_t sign = number.negative ? row.minus : 0;
  switch (number.is) {
    case oracle::Number::Is::kNan: return row.nan;
    case oracle::Number::Is::kInfinite: return row.infinity | sign;
    case oracle::Number::Is::kFinite: break;
  }
  if (number.magnitude == 0) return sign;
  const oracle::NearestCode nearest = oracle::Nearest(row, number.magnitude);
  return (nearest.beyond ? row.infinity : nearest.code) | sign;
}

// The codes of scales: all of a narrow type; of a wide one ends, zeros, what is none, and some,
// also such with which products of codes come to lie next to ties of the narrower types.
std::vector<std::uint64_t> ScaleCodes(DataType type) {
  const oracle::Row& row = OracleRow(type);
  std::vector<std::uint64_t> codes;
  if (row.bits == 8) {
    for (std::uint64_t code = 0; code < 256; ++code) codes.push_back(code);
    return codes;
  }
  codes = {0, 1, 2, row.largest, row.largest - 1, row.infinity, row.nan};
  std::mt19937_64 random(static_cast<unsigned>(type));
  for (int i = 0; i < 16; ++i) codes.push_back(random() & (row.minus - 1));
  for (int i = 0; i < 24; ++i) {  // as weights have them
    codes.push_back(oracle::Cast(oracle::RowOf(11), row, {},
                                 std::bit_cast<std::uint64_t>(std::ldexp(
                                     1.0 + static_cast<double>(random() % 4096) / 4096, -8 - i))));
  }
  if (type == DataType::kFloat32) {
    for (const unsigned odd : {1u, 3u, 5u, 7u, 9u, 11u, 13u, 15u, 77u, 127u}) {
      for (const double tie : {0x1.01p-6, 0x1.45p-6, 0x1.ffp-7, 0x1.002p-6, 0x1.556p-6}) {
        const auto scale = static_cast<float>(tie / odd);
        for (int step = -1; step <= 1; ++step) {
          codes.push_back(std::bit_cast<std::uint32_t>(scale) + static_cast<std::uint64_t>(step));
        }
      }
    }
  }
  for (std::size_t i = 0, n = codes.size(); i < n; i += 3) codes.push_back(codes[i] | row.minus);
  return codes;
}

// What all codes under all scales give, scale by scale.
struct Expected {
  Scaling scaling;
  double global;
  DataType to;
  std::vector<std::uint64_t> scales;  // as codes
  std::vector<double> values;         // of the scales
  std::vector<std::uint64_t> results;

  Expected(const Scaling& of, double with, DataType type)
      : scaling(of), global(with), to(type), scales(testing::SampleOf(ScaleCodes(of.scale))) {
    const oracle::Row& element = OracleRow(scaling.element);
    const auto apply = [](const oracle::Number& x, Factor use, double factor) {
      const oracle::Number y = oracle::NumberOf(factor);
      return use == Factor::kNone         ? x
             : use == Factor::kMultiplies ? oracle::Times(x, y)
                                          : oracle::Over(x, y);
    };
    for (const std::uint64_t scale : scales) {
      values.push_back(ScaleValue(scaling.scale, scale));
      for (std::uint64_t code = 0; code <= element.mask(); ++code) {
        const oracle::Number x = oracle::NumberOf(element, code);
        const bool own = x.is == oracle::Number::Is::kNan;
        const oracle::Number exact =
            apply(apply(x, scaling.scale_use, values.back()), scaling.global_use, global);
        results.push_back(own ? oracle::Cast(element, OracleRow(to), {}, code)
                              : RoundedCode(exact, to));
      }
    }
  }

  std::vector<std::size_t> UsualScales() const {
    std::vector<std::size_t> usual;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::fabs(values[i]) > 0x1p-40 && std::fabs(values[i]) < 0x1p40) usual.push_back(i);
    }
    return usual;
  }

  // Any codes and scales over cells of a partition, in stretches of all places; or those that
  // weights have, of which whole stretches are done the quickest way.
  void Check(const Partition& partition, Target target, bool usual, std::mt19937_64& random) const {
    const oracle::Row& element = OracleRow(scaling.element);
    const std::uint64_t n = partition.elements();
    std::vector<std::byte> codes(*StorageBytes(scaling.element, n));
    for (std::byte& code : codes) {
      do {
        code = static_cast<std::byte>(random());
        // A NaN of one element in some thousand.
      } while (usual && element.bits == 8 && random() % 16 != 0 &&
               oracle::NumberOf(element, std::to_integer<std::uint64_t>(code)).is !=
                   oracle::Number::Is::kFinite);
    }
    const std::vector<std::size_t> usual_scales = UsualScales();
    std::vector<std::size_t> of_cell(partition.cells());
    std::vector<double> cells;
    std::vector<std::byte> stored;
    for (std::size_t& which : of_cell) {
      which = usual ? usual_scales[random() % usual_scales.size()] : random() % scales.size();
      cells.push_back(values[which]);
      if (OracleRow(scaling.scale).bits == 8) {
        stored.push_back(static_cast<std::byte>(scales[which]));
      }
    }
    const Applier applier(scaling, partition, global, to, {}, target);
    for (int trial = 0; trial < (testing::Sampled() ? 2 : 4); ++trial) {
      const std::uint64_t first = trial == 0 ? 0 : random() % n;
      const std::uint64_t count = trial == 0 ? n : 1 + random() % (n - first);
      const CellRange range = partition.CellsOf(first, count);
      const auto part = [&]<class T>(const std::vector<T>& all) {
        return all.empty() ? std::span<const T>()
                           : std::span(all).subspan(static_cast<std::size_t>(range.first),
                                                    static_cast<std::size_t>(range.count));
      };
      std::vector<std::byte> out(*StorageBytes(to, count));
      applier.Run(codes, first, first, count, {range.first, part(cells), {}, 1, part(stored)}, out);
      ForEachRun(partition, first, count,
                 [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
                   for (std::uint64_t i = at; i < at + length; ++i) {
                     const std::uint64_t code = LoadCode(scaling.element, codes.data(), first + i);
                     ASSERT_EQ(LoadCode(to, out.data(), i),
                               results[of_cell[cell] * (element.mask() + 1) + code])
                         << TypeName(scaling.element) << " " << std::hex << code << " under "
                         << TypeName(scaling.scale) << " " << scales[of_cell[cell]] << " to "
                         << TypeName(to) << " at " << std::dec << first << "+" << i;
                   }
                 });
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
};

// Cells of each kind: tables of a row, groups that lanes take and such that they do not, blocks.
std::vector<Partition> Partitions() {
  constexpr std::uint64_t kGroups[] = {96, 96}, kRows[] = {40, 1536}, kBlocks[] = {2, 37, 200},
                          kLarge[] = {96, 200};
  constexpr std::uint64_t kWide[] = {2, 4096};
  return {Partition::OfGroups(kGroups, 16),
          Partition::OfGroups(kGroups, 32),
          Partition::OfGroups(kGroups, 12),
          Partition::OfRows(kRows),
          Partition::OfRows(kWide),
          Partition::OfBlocks(kBlocks, 16, 64),
          Partition::OfBlocks(kBlocks, 5, 24),
          Partition::OfBlocks(kLarge, 48, 64),
          Partition::OfAxis(kBlocks, 1)};
}

constexpr DataType kTo[] = {DataType::kBfloat16, DataType::kFloat16, DataType::kFloat32};

void CheckAll(const Scaling& scaling, double global) {
  std::mt19937_64 random(31);
  for (const DataType to : kTo) {
    const Expected expected(scaling, global, to);
    for (const Partition& partition : Partitions()) {
      if (testing::Sampled() && random() % 3 != 0) continue;
      for (const Target target : Targets()) {
        for (const bool usual : {false, true}) expected.Check(partition, target, usual, random);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Applier, OneScale) {
  std::vector<Scaling> scalings;
  for (const DataType element :
       {DataType::kFloat8E4M3FN, DataType::kFloat8E4M3FNUZ, DataType::kFloat8E5M2,
        DataType::kFloat6E2M3, DataType::kFloat6E3M2, DataType::kFloat4E2M1, DataType::kInt8,
        DataType::kInt4}) {
    for (const DataType scale : {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat8E8M0}) {
      scalings.push_back({element, scale});
    }
  }
  for (const Scaling& scaling : testing::SampleOf(scalings)) {
    CheckAll(scaling, 1);
    if (HasFatalFailure()) return;
  }
}

TEST(Applier, GlobalScaleAndDivision) {
  for (const Factor use : {Factor::kMultiplies, Factor::kDivides}) {
    for (const float global : {0.1f, 2688 / 3.0f, 0x1p-149f}) {
      CheckAll({DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies, use}, global);
      if (HasFatalFailure()) return;
    }
  }
  CheckAll({DataType::kFloat8E4M3FN, DataType::kFloat32, Factor::kMultiplies, Factor::kMultiplies},
           0.1f);
  CheckAll({DataType::kFloat8E4M3FN, DataType::kFloat32, Factor::kDivides}, 1);
}

// Into a type that takes options, and one that holds every product.
TEST(Applier, AnyType) {
  const std::uint64_t shape[] = {3, 256};
  std::vector<std::byte> codes(768);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i);
  const double scales[] = {static_cast<float>(0.3), 1, -7};
  CastOptions options;
  options.saturate = false;
  for (const DataType to : {DataType::kFloat8E5M2, DataType::kFloat4E2M1, DataType::kFloat64}) {
    std::vector<std::byte> out(*StorageBytes(to, codes.size()));
    Applier({DataType::kFloat8E4M3FN}, Partition::OfRows(shape), 1, to, options)
        .Run(codes, 0, 0, codes.size(), {0, scales}, out);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      // A double holds these products.
      const double value = ScaleValue(DataType::kFloat8E4M3FN, i % 256);
      const double product = value != value ? value : value * scales[i / 256];
      ASSERT_EQ(LoadCode(to, out.data(), i),
                oracle::Cast(oracle::RowOf(11), OracleRow(to), testing::ToOracle(options),
                             std::bit_cast<std::uint64_t>(product)))
          << TypeName(to) << " " << i;
    }
  }
}

TEST(Applier, TheCallersFloatingPointEnvironmentDoesNotMatter) {
  const std::uint64_t shape[] = {64, 64};
  const Partition partition = Partition::OfGroups(shape, 32);
  const std::vector<double> scales(partition.cells(), 0x1.2345p-7);
  std::vector<std::byte> codes(4096);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i);
  const auto run = [&] {
    std::vector<std::byte> out(8192);
    Applier({DataType::kFloat8E4M3FN}, partition, 1, DataType::kFloat16)
        .Run(codes, 0, 0, 4096, {0, scales}, out);
    return out;
  };
  const std::vector<std::byte> expected = run();
  for (const testing::HostileEnvironment& environment : testing::HostileEnvironments()) {
    std::vector<std::byte> found;
    testing::EnvironmentWords set, after;
    {
      const testing::HostileScope scope(environment);
      found = run();
      after = testing::ReadEnvironment();
      set = scope.set();
    }
    EXPECT_EQ(after, set) << environment.name;
    EXPECT_EQ(found, expected) << environment.name;
  }
}

StatusCode ThrownBy(const std::function<void()>& call) {
  try {
    call();
  } catch (const core::Failure& failure) {
    return failure.code();
  }
  return StatusCode::kOk;
}

TEST(Applier, RefusesWhatItCannotDo) {
  const std::uint64_t shape[] = {4, 64};
  const Partition partition = Partition::OfGroups(shape, 32);
  EXPECT_EQ(ThrownBy([&] { Applier({DataType::kFloat16}, partition, 1, DataType::kFloat32); }),
            StatusCode::kInvalidType);
  const std::vector<double> scales(8, 1.0);
  const std::vector<std::byte> codes(256);
  for (const DataType to : kTo) {
    const Applier applier({DataType::kInt8, DataType::kFloat32}, partition, 1, to);
    std::vector<std::byte> out(*StorageBytes(to, 256));
    const auto run = [&](std::uint64_t codes_first, std::uint64_t n, std::size_t cells,
                         std::size_t bytes) {
      return ThrownBy([&] {
        applier.Run(codes, codes_first, 0, n, {0, std::span(scales).first(cells)},
                    std::span(out).first(bytes));
      });
    };
    EXPECT_EQ(run(0, 256, 8, out.size()), StatusCode::kOk);
    EXPECT_EQ(run(0, 0, 0, 0), StatusCode::kOk);
    EXPECT_EQ(run(0, 257, 8, out.size()), StatusCode::kBufferTooSmall);
    EXPECT_EQ(run(1, 256, 8, out.size()), StatusCode::kBufferTooSmall);
    EXPECT_EQ(run(UINT64_MAX, 2, 8, out.size()), StatusCode::kBufferTooSmall);
    EXPECT_EQ(run(0, 256, 7, out.size()), StatusCode::kBufferTooSmall);
    EXPECT_EQ(run(0, 256, 8, out.size() - 1), StatusCode::kBufferTooSmall);
  }
}

}  // namespace
}  // namespace tensorcast::scale
