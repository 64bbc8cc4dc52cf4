// What a scaled tensor loses, against the definitions in rational numbers; the same bytes of the
// meter from every target and however the tensor is cut up.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/failure.h"
#include "core/option_sets.h"
#include "kinds_of_blocks.h"
#include "oracle/scaled.h"
#include "scale/quantiser.h"

namespace tensorcast::scale {
namespace {

using testing::OracleRow;

struct Case {
  Scaling scaling;
  ScaleRule rule;
  Partition partition;
  std::vector<float> x;
  std::vector<double> scales;
  double global = 1;
  std::vector<std::uint64_t> cell_of;
};

// Normally distributed, with what a report tells apart planted: NaN, infinities, zeros of both
// signs, values beyond the limit, ties of the limit, results that are subnormal and zero. The
// second half has few of them: lanes take what is ordinary by runs.
Case MakeCase(const Scaling& scaling, ScaleRule rule, const Partition& partition) {
  Case made = {scaling, rule, partition, {}, {}, 1, {}};
  const std::uint64_t n = partition.elements();
  std::mt19937_64 random(n + static_cast<unsigned>(scaling.element));
  std::normal_distribution<float> normal(0, 0.05f);
  made.x.resize(n);
  for (float& value : made.x) value = normal(random);
  made.cell_of.resize(n);
  ForEachRun(partition, 0, n, [&](std::uint64_t cell, std::uint64_t at, std::uint64_t length) {
    std::fill_n(made.cell_of.begin() + static_cast<std::ptrdiff_t>(at), length, cell);
  });
  const auto bytes = std::as_bytes(std::span(made.x));
  const Quantiser quantiser(DataType::kFloat32, scaling, rule, partition);
  std::vector<double> amax(partition.cells());
  quantiser.GatherAmax(bytes, 0, 0, n, 0, amax);
  made.global = quantiser.GlobalScale(*std::max_element(amax.begin(), amax.end()));
  made.scales.resize(amax.size());
  quantiser.Scales(amax, made.global, made.scales);

  const float infinity = std::numeric_limits<float>::infinity();
  const double limits[] = {448, 464, 6, 7, 5, 127, 127.5, 57344, 61440, 7.5, 7.75, 0.5, 0x1p-6};
  for (std::uint64_t i = 1; i < n; i += 1 + random() % (i < n / 2 ? 23 : 1500)) {
    const double factor = scaling.global_use == Factor::kDivides
                              ? made.scales[made.cell_of[i]] / made.global
                              : made.scales[made.cell_of[i]] * made.global;
    const float sign = random() % 2 == 0 ? 1.0f : -1.0f;
    switch (random() % 8) {
      case 0: made.x[i] = std::numeric_limits<float>::quiet_NaN(); break;
      case 1: made.x[i] = sign * infinity; break;
      case 2: made.x[i] = sign * 0; break;
      case 3: made.x[i] *= 1e-4f; break;
      case 4: made.x[i] *= 30; break;
      default: {
        float near = static_cast<float>(limits[random() % std::size(limits)] * factor);
        if (random() % 3 == 0) near = std::nextafter(near, infinity);
        if (random() % 3 == 0) near = std::nextafter(near, 0.0f);
        made.x[i] = sign * near;
      }
    }
  }
  return made;
}

double RatioOf(double a, double b) { return a / b; }

void ExpectReport(const Case& tensor) {
  const Scaling& scaling = tensor.scaling;
  const oracle::Row& element = OracleRow(scaling.element);
  const bool integer = scaling.element == DataType::kInt8;
  const std::uint64_t n = tensor.x.size();
  const auto bytes = std::as_bytes(std::span(tensor.x));
  const CellScales scales = {0, tensor.scales, {}, tensor.global};
  std::vector<std::byte> codes(*StorageBytes(scaling.element, n));
  const Quantiser quantiser(DataType::kFloat32, scaling, tensor.rule, tensor.partition);
  LossMeter meter = quantiser.Meter();
  quantiser.Encode(bytes, 0, 0, n, scales, codes, 0, &meter);
  const LossReport report = meter.Report();
  EXPECT_EQ(report.from, DataType::kFloat32);
  EXPECT_EQ(report.to, scaling.element);
  EXPECT_EQ(report.elements, n);

  // The definitions.
  const mpq_class least_normal =
      integer ? mpq_class(0) : oracle::PowerOfTwo(element.least + element.precision - 1);
  std::array<std::uint64_t, kLossKinds> counts = {}, first = {};
  std::uint64_t compared = 0, nonzero = 0, finite = 0, abs_index = 0, rel_index = 0;
  double max_abs = -1, max_rel = -1, amax = 0, smallest = 0;
  mpq_class squares = 0, errors = 0;
  std::array<double, 8> square_sums = {}, error_sums = {};
  const auto close = [](std::array<double, 8>& s, mpq_class& total) {
    total += mpq_class(((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])));
    s = {};
  };
  for (std::uint64_t i = 0; i < n; ++i) {
    const double x = tensor.x[i];
    const std::uint64_t code = LoadCode(scaling.element, codes.data(), i);
    const oracle::Number q = oracle::NumberOf(element, code);
    const double scale = tensor.scales[tensor.cell_of[i]];
    // Both are exact or once rounded by one operation of the test's own.
    const double q_value = q.is == oracle::Number::Is::kNan
                               ? std::numeric_limits<double>::quiet_NaN()
                               : (q.negative ? -1 : 1) * q.magnitude.get_d();
    const double y = scaling.global_use == Factor::kDivides
                         ? RatioOf(q_value * scale, tensor.global)
                         : q_value * (scale * tensor.global);
    const auto count = [&](Loss loss) {
      const auto kind = static_cast<std::size_t>(loss);
      if (counts[kind]++ == 0) first[kind] = i;
    };
    bool beyond = std::isinf(x);
    if (std::isfinite(x)) {
      mpq_class quotient = abs(mpq_class(x)) / mpq_class(scale);
      if (scaling.global_use == Factor::kDivides) quotient *= mpq_class(tensor.global);
      if (scaling.global_use == Factor::kMultiplies) quotient /= mpq_class(tensor.global);
      beyond = integer ? quotient >= mpq_class(255, 2) : oracle::Nearest(element, quotient).beyond;
    }
    count(std::isnan(x) && std::isnan(y) ? Loss::kNan
          : std::isnan(x)                ? Loss::kNanLost
          : std::isnan(y)                ? Loss::kToNan
          : x == y                       ? Loss::kExact
          : beyond                       ? Loss::kToLimit
          : y == 0                       ? Loss::kToZero
                                         : Loss::kRounded);
    if (q.is == oracle::Number::Is::kFinite && !q.zero() && q.magnitude < least_normal) {
      count(Loss::kToSubnormal);
    }
    if (!integer && x == 0 && std::signbit(x) && y == 0 && !std::signbit(y)) {
      count(Loss::kZeroSignLost);
    }
    if (std::isfinite(x)) {
      ++finite;
      amax = std::max(amax, std::fabs(x));
      if (x != 0 && (smallest == 0 || std::fabs(x) < smallest)) smallest = std::fabs(x);
    }
    if (std::isfinite(x) && std::isfinite(y)) {
      ++compared;
      const double error = std::fabs(x - y);
      square_sums[i % 8] += x * x;
      error_sums[i % 8] += error * error;
      if (error > max_abs) {
        max_abs = error;
        abs_index = i;
      }
      if (x != 0) {
        ++nonzero;
        if (error / std::fabs(x) > max_rel) {
          max_rel = error / std::fabs(x);
          rel_index = i;
        }
      }
    }
    if (i % 1024 == 1023 || i + 1 == n) {
      close(square_sums, squares);
      close(error_sums, errors);
    }
  }
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    EXPECT_EQ(report.counts[kind], counts[kind]) << LossName(static_cast<Loss>(kind));
    if (counts[kind] != 0) {
      EXPECT_EQ(report.first[kind].index, first[kind]) << LossName(static_cast<Loss>(kind));
      EXPECT_EQ(report.first[kind].source_code,
                std::bit_cast<std::uint32_t>(tensor.x[first[kind]]));
      EXPECT_EQ(report.first[kind].result_code,
                LoadCode(scaling.element, codes.data(), first[kind]));
    }
  }
  // Not vacuous.
  EXPECT_GT(report.count(Loss::kToLimit), 0u);
  EXPECT_GT(report.count(Loss::kRounded), 0u);
  EXPECT_GT(report.count(Loss::kExact), 0u);
  EXPECT_EQ(report.count(Loss::kNan) + report.count(Loss::kNanLost) > 0, true);
  EXPECT_EQ(report.compared, compared);
  EXPECT_EQ(report.compared_nonzero, nonzero);
  EXPECT_EQ(report.finite, finite);
  EXPECT_EQ(report.amax, amax);
  EXPECT_EQ(report.smallest_nonzero, smallest);
  EXPECT_EQ(report.max_abs_error, max_abs);
  EXPECT_EQ(report.max_abs_example.index, abs_index);
  EXPECT_EQ(report.max_rel_error, max_rel);
  EXPECT_EQ(report.max_rel_example.index, rel_index);
  EXPECT_TRUE(oracle::IsNearest(report.sum_squares, {oracle::Number::Is::kFinite, false, squares}));
  EXPECT_TRUE(
      oracle::IsNearest(report.sum_squared_error, {oracle::Number::Is::kFinite, false, errors}));

  // Every target; then in stretches that go on, and in others that begin anywhere on the grid.
  const std::vector<std::byte> expected = Saved(meter);
  for (const Target target : Targets()) {
    const Quantiser forced(DataType::kFloat32, scaling, tensor.rule, tensor.partition, target);
    LossMeter other = forced.Meter();
    forced.Encode(bytes, 0, 0, n, scales, codes, 0, &other);
    EXPECT_EQ(Saved(other), expected) << TargetName(target);
  }
  std::mt19937_64 random(5);
  LossMeter going_on = quantiser.Meter();
  for (std::uint64_t done = 0; done < n;) {
    const std::uint64_t some = std::min(n - done, 1 + random() % 700);
    quantiser.Encode(bytes, done, done, some, scales, codes, done, &going_on);
    done += some;
  }
  EXPECT_EQ(Saved(going_on), expected);
  LossMeter backwards = quantiser.Meter();
  for (std::uint64_t begin = (n - 1) / 1024 * 1024;; begin -= 1024) {
    LossMeter part = quantiser.Meter();
    quantiser.Encode(bytes, begin, begin, std::min<std::uint64_t>(1024, n - begin), scales, codes,
                     begin, &part);
    EXPECT_TRUE(backwards.Merge(part).ok());
    if (begin == 0) break;
  }
  const LossReport merged = backwards.Report();
  EXPECT_EQ(merged.sum_squared_error, report.sum_squared_error);
  EXPECT_EQ(merged.max_abs_example.index, report.max_abs_example.index);
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    EXPECT_EQ(merged.counts[kind], report.counts[kind]);
    if (report.counts[kind] == 0) continue;
    EXPECT_EQ(merged.first[kind].index, report.first[kind].index);
  }
}

constexpr std::uint64_t kShape[] = {37, 160};  // 5,920: the last block is not whole

TEST(QuantiserLoss, FloatScales) {
  for (const DataType element : {DataType::kFloat8E4M3FN, DataType::kFloat8E5M2, DataType::kInt8}) {
    const Scaling scaling = {element, DataType::kFloat32};
    ExpectReport(MakeCase(scaling, ScaleRule::kAmax, Partition::OfTensor(kShape)));
    ExpectReport(MakeCase(scaling, ScaleRule::kAmax, Partition::OfRows(kShape)));
    ExpectReport(MakeCase(scaling, ScaleRule::kUp, Partition::OfBlocks(kShape, 16, 13)));
  }
}

TEST(QuantiserLoss, PowersOfTwo) {
  for (const DataType element : {DataType::kFloat8E4M3FN, DataType::kFloat6E2M3,
                                 DataType::kFloat6E3M2, DataType::kFloat4E2M1}) {
    ExpectReport(MakeCase({element, DataType::kFloat8E8M0}, ScaleRule::kOcp,
                          Partition::OfGroups(kShape, 32)));
  }
}

TEST(QuantiserLoss, GlobalScale) {
  for (const Factor use : {Factor::kMultiplies, Factor::kDivides}) {
    ExpectReport(
        MakeCase({DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies, use},
                 ScaleRule::kAmax, Partition::OfGroups(kShape, 16)));
  }
}

struct WrittenTensor {
  Scaling scaling;
  ScaleRule rule;
  Partition partition;
};

std::vector<WrittenTensor> AllWritten(std::span<const std::uint64_t> shape) {
  std::vector<WrittenTensor> all;
  for (const DataType element : {DataType::kFloat8E4M3FN, DataType::kFloat8E5M2, DataType::kInt8}) {
    const Scaling scaling = {element, DataType::kFloat32};
    all.push_back({scaling, ScaleRule::kAmax, Partition::OfTensor(shape)});
    all.push_back({scaling, ScaleRule::kAmax, Partition::OfRows(shape)});
    all.push_back({scaling, ScaleRule::kUp, Partition::OfBlocks(shape, 16, 24)});
  }
  for (const DataType element :
       {DataType::kFloat8E4M3FN, DataType::kFloat8E5M2, DataType::kFloat6E2M3,
        DataType::kFloat6E3M2, DataType::kFloat4E2M1}) {
    for (const ScaleRule rule : {ScaleRule::kOcp, ScaleRule::kUp}) {
      all.push_back({{element, DataType::kFloat8E8M0}, rule, Partition::OfGroups(shape, 32)});
    }
  }
  for (const Factor use : {Factor::kMultiplies, Factor::kDivides}) {
    all.push_back({{DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies, use},
                   ScaleRule::kAmax,
                   Partition::OfGroups(shape, 16)});
  }
  return all;
}

// Of every format and source the same bytes from lanes as from elements one by one: in order, and
// with blocks in any, behind other elements of both sides and into a meter that knows others.
TEST(QuantiserLoss, LanesOfEveryFormat) {
  constexpr std::uint64_t kRows[] = {75, 352};  // 26,400: the last block is not whole
  const std::uint64_t n = kRows[0] * kRows[1];
  unsigned seed = 0;
  for (const WrittenTensor& written : AllWritten(kRows)) {
    for (const DataType source : {DataType::kFloat32, DataType::kBfloat16, DataType::kFloat16}) {
      constexpr std::uint64_t kBefore = 3, kCodesBefore = 5;  // elements of other tensors
      const std::vector<float> values = KindsOfBlocks(n + kBefore, ++seed);
      std::vector<std::byte> all(*StorageBytes(source, n + kBefore));
      ASSERT_TRUE(
          Cast(DataType::kFloat32, std::as_bytes(std::span(values)), source, all, n + kBefore)
              .ok());
      const std::span<const std::byte> x =
          std::span(all).subspan(kBefore * *StorageBytes(source, 1));
      const auto quantiser = [&](Target target) {
        return Quantiser(source, written.scaling, written.rule, written.partition, target);
      };
      const Quantiser one_by_one = quantiser(Target::kScalar);
      std::vector<double> amax(written.partition.cells()), cells(amax.size());
      one_by_one.GatherAmax(x, 0, 0, n, 0, amax);
      const double global = one_by_one.GlobalScale(*std::max_element(amax.begin(), amax.end()));
      one_by_one.Scales(amax, global, cells);
      // Some that saturate.
      std::mt19937_64 random(seed);
      for (double& scale : cells) {
        if (random() % 20 == 0 && scale > 0x1p-8) scale /= 2;
      }
      const CellScales scales = {0, cells, {}, global};
      std::vector<std::byte> codes(*StorageBytes(written.scaling.element, n + kCodesBefore));
      LossMeter expected = one_by_one.Meter();
      one_by_one.Encode(x, 0, 0, n, scales, codes, 0, &expected);
      LossMeter twice = expected;
      ASSERT_TRUE(twice.Merge(expected).ok());
      std::vector<std::uint64_t> order((n + 1023) / 1024);
      for (std::uint64_t block = 0; block < order.size(); ++block) order[block] = block;
      std::shuffle(order.begin(), order.end() - 1, random);
      for (const Target target : Targets()) {
        const Quantiser forced = quantiser(target);
        LossMeter meter = forced.Meter(), shuffled = forced.Meter();
        forced.Encode(x, 0, 0, n, scales, codes, 0, &meter);
        EXPECT_EQ(Saved(meter), Saved(expected))
            << TypeName(source) << " to " << TypeName(written.scaling.element) << ", "
            << TargetName(target) << ", seed " << seed;
        for (const std::uint64_t block : order) {
          const std::uint64_t first = block * 1024, some = std::min<std::uint64_t>(1024, n - first);
          forced.Encode(all, kBefore + first, first, some, scales, codes, kCodesBefore + first,
                        &shuffled);
        }
        EXPECT_EQ(Saved(shuffled), Saved(expected)) << TargetName(target) << ", seed " << seed;
        LossMeter merged = forced.Meter();
        ASSERT_TRUE(merged.Merge(expected).ok());
        forced.Encode(x, 0, 0, n, scales, codes, 0, &merged);
        EXPECT_EQ(Saved(merged), Saved(twice)) << TargetName(target) << ", seed " << seed;
      }
    }
  }
}

// What is ordinary is measured by the codes alone on every target that has FMA.
TEST(QuantiserLoss, OrdinaryBlocksAreMeasuredByTheirCodes) {
  constexpr std::uint64_t kRows[] = {4, 1024};
  const std::uint64_t n = kRows[0] * kRows[1];
  for (const WrittenTensor& written : AllWritten(kRows)) {
    if (written.partition.block_columns % 16 != 0) continue;
    for (const Target target : Targets()) {
      const std::vector<float> x(n, 0.7f);
      const auto bytes = std::as_bytes(std::span(x));
      const Quantiser quantiser(DataType::kFloat32, written.scaling, written.rule,
                                written.partition, target);
      std::vector<double> amax(written.partition.cells()), cells(amax.size());
      quantiser.GatherAmax(bytes, 0, 0, n, 0, amax);
      const double global = quantiser.GlobalScale(amax[0]);
      quantiser.Scales(amax, global, cells);
      std::vector<std::byte> codes(*StorageBytes(written.scaling.element, n));
      LossMeter meter = quantiser.Meter();
      quantiser.Encode(bytes, 0, 0, 1024, {0, cells, {}, global}, codes, 0, &meter);
      const CellArithmetic arithmetic(written.scaling, Rounding::kNearest);
      const CellQuotients quotients(written.scaling, true);
      const core::ScaledResults::Cell all = {1024, quotients.Limits(cells[0], global),
                                             arithmetic.CellFactorsOf(cells[0], global)};
      const core::ScaledResults scaled = {nullptr, &all, true};
      const core::LossView view = {FindType(DataType::kFloat32),
                                   FindType(written.scaling.element),
                                   bytes.data(),
                                   0,
                                   codes.data(),
                                   0,
                                   &scaled};
      EXPECT_EQ(core::MeasureScaledCodes(meter, view, 1024, 1024, target),
                target != Target::kScalar && target != Target::kSse4)
          << TypeName(written.scaling.element) << ", " << TargetName(target);
    }
  }
}

TEST(QuantiserLoss, RefusesAnotherMeterAndAnotherPlace) {
  const std::vector<float> x(2048, 1.0f);
  const std::vector<double> scales(1, 1.0);
  std::vector<std::byte> codes(2048);
  const std::uint64_t shape[] = {2048};
  const Quantiser quantiser(DataType::kFloat32, {DataType::kInt8, DataType::kFloat32},
                            ScaleRule::kAmax, Partition::OfTensor(shape));
  const auto code_of = [&](std::uint64_t first, std::uint64_t n, LossMeter* meter) {
    try {
      quantiser.Encode(std::as_bytes(std::span(x)), first, first, n, {0, scales}, codes, first,
                       meter);
    } catch (const core::Failure& failure) {
      return failure.code();
    }
    return StatusCode::kOk;
  };
  LossMeter other(DataType::kFloat32, DataType::kFloat8E4M3FN);
  EXPECT_EQ(code_of(0, 10, &other), StatusCode::kLossMismatch);
  LossMeter meter = quantiser.Meter();
  EXPECT_EQ(code_of(10, 10, &meter), StatusCode::kLossPosition);
  EXPECT_EQ(code_of(1024, 10, &meter), StatusCode::kOk);
  EXPECT_EQ(code_of(1034, 10, &meter), StatusCode::kOk);
  EXPECT_EQ(code_of(1034, 10, &meter), StatusCode::kLossPosition);
  EXPECT_EQ(meter.Report().elements, 20u);
}

}  // namespace
}  // namespace tensorcast::scale
