// Scales of cells and of tensors against rational numbers: from every positive bfloat16 as amax,
// from float32 and float64 at random, at the ends of their ranges, and at and beside the points
// where the stored scale changes.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scale_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/failure.h"
#include "core/option_sets.h"
#include "core/source_codes.h"
#include "oracle/scaled.h"

namespace tensorcast::scale {
namespace {

using testing::OracleRow;

mpq_class LargestOf(DataType type) {
  if (type == DataType::kInt8) return 127;
  return oracle::NumberOf(OracleRow(type), OracleRow(type).largest).magnitude;
}

double ToDouble(DataType type, std::uint64_t code) {
  return std::bit_cast<double>(oracle::Cast(OracleRow(type), oracle::RowOf(11), {}, code));
}

double ExpectedGlobal(const Scaling& scaling, double amax) {
  if (amax == 0 || scaling.global_use == Factor::kNone) return 1;
  const mpq_class largest = LargestOf(scaling.element) * LargestOf(scaling.scale);
  const mpq_class exact = scaling.global_use == Factor::kMultiplies ? mpq_class(amax) / largest
                                                                    : largest / mpq_class(amax);
  constexpr std::uint64_t kLeastNormal = std::uint64_t{1} << 23;
  const oracle::NearestCode nearest = oracle::Nearest(oracle::RowOf(1), exact);
  if (nearest.beyond || nearest.code < kLeastNormal) return 1;
  return ToDouble(DataType::kFloat32, nearest.code);
}

double ExpectedScale(const Scaling& scaling, ScaleRule rule, double amax, double global) {
  if (amax == 0) return 1;
  const oracle::Row& row = OracleRow(scaling.scale);
  const mpq_class a = amax, largest = LargestOf(scaling.element);
  const bool e8m0 = scaling.scale == DataType::kFloat8E8M0;
  // The code of the least normal value, which is the least one of e8m0.
  const std::uint64_t least = e8m0 ? 0 : std::uint64_t{1} << (row.precision - 1);
  if (rule == ScaleRule::kAmax) {
    mpq_class exact = a / largest;
    if (scaling.global_use == Factor::kMultiplies) exact /= mpq_class(global);
    if (scaling.global_use == Factor::kDivides) exact *= mpq_class(global);
    const std::uint64_t code = oracle::Nearest(row, exact).code;
    const std::uint64_t lowest = scaling.global_use == Factor::kNone ? least : 1;
    return ToDouble(scaling.scale, std::max(code, lowest));
  }
  long exponent = 0;
  switch (rule) {
    case ScaleRule::kUp: exponent = oracle::CeilLog2(a / largest); break;
    case ScaleRule::kOcp: exponent = oracle::FloorLog2(a) - oracle::FloorLog2(largest); break;
    default: {
      const bool float6 =
          scaling.element == DataType::kFloat6E2M3 || scaling.element == DataType::kFloat6E3M2;
      const mpq_class unit = oracle::PowerOfTwo(oracle::FloorLog2(a) - (float6 ? 3 : 1));
      const mpq_class units = a / unit + mpq_class(1, 2);
      const mpz_class whole = units.get_num() / units.get_den();
      exponent = oracle::FloorLog2(unit * whole) - oracle::FloorLog2(largest);
    }
  }
  return std::ldexp(1, static_cast<int>(std::clamp<long>(exponent, e8m0 ? -127 : -126, 127)));
}

struct Written {
  Scaling scaling;
  ScaleRule rule;
};
std::vector<Written> AllWritten() {
  std::vector<Written> all;
  for (const DataType element : {DataType::kFloat8E4M3FN, DataType::kFloat8E5M2, DataType::kInt8}) {
    for (const DataType scale : {DataType::kFloat32, DataType::kBfloat16}) {
      for (const ScaleRule rule : {ScaleRule::kAmax, ScaleRule::kUp}) {
        all.push_back({{element, scale}, rule});
      }
    }
  }
  for (const DataType element :
       {DataType::kFloat8E4M3FN, DataType::kFloat8E5M2, DataType::kFloat6E2M3,
        DataType::kFloat6E3M2, DataType::kFloat4E2M1}) {
    for (const ScaleRule rule : {ScaleRule::kOcp, ScaleRule::kUp, ScaleRule::kRound}) {
      all.push_back({{element, DataType::kFloat8E8M0}, rule});
    }
  }
  for (const Factor global : {Factor::kMultiplies, Factor::kDivides}) {
    all.push_back({{DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies, global},
                   ScaleRule::kAmax});
  }
  return all;
}

void ExpectScale(const Written& written, double amax, double global) {
  const double expected = ExpectedScale(written.scaling, written.rule, amax, global);
  const double actual = CellScaleOf(written.scaling, written.rule, amax, global);
  ASSERT_EQ(std::bit_cast<std::uint64_t>(actual), std::bit_cast<std::uint64_t>(expected))
      << TypeName(written.scaling.element) << " by " << TypeName(written.scaling.scale) << " rule "
      << static_cast<int>(written.rule) << " amax " << std::hexfloat << amax << " global " << global
      << " gives " << actual << ", not " << expected;
}

void ExpectBoth(const Written& written, double tensor_amax, double amax) {
  const double global = GlobalScaleOf(written.scaling, tensor_amax);
  const double expected = ExpectedGlobal(written.scaling, tensor_amax);
  ASSERT_EQ(std::bit_cast<std::uint64_t>(global), std::bit_cast<std::uint64_t>(expected))
      << std::hexfloat << tensor_amax;
  ExpectScale(written, amax, global);
}

constexpr double kLargest = std::numeric_limits<double>::max();

TEST(ScaleRule, EveryBfloat16) {
  for (const Written& written : AllWritten()) {
    // An odd step where the run is a sample.
    const std::uint64_t step = testing::Sampled() ? 11 : 1;
    for (std::uint64_t code = 0; code <= 0x7F7F;
         code += written.scaling.scale == DataType::kFloat32 ? 7 * step : step) {
      const double amax = ToDouble(DataType::kBfloat16, code);
      ExpectBoth(written, amax, amax);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ScaleRule, AnyFloat32AndFloat64) {
  std::mt19937_64 random(12);
  std::vector<double> amaxes = {0x1p-149, 0x1p-126, 0x1.fffffep127, 0x1p-1074, 0x1p-1022, kLargest};
  for (std::size_t i = 0; i < testing::Scaled(2000); ++i) {
    amaxes.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random() % 0x7F800000u)));
    amaxes.push_back(std::bit_cast<double>(random() % 0x7FF0000000000000u));
    amaxes.push_back(std::ldexp(static_cast<double>(random() >> 11), -60));  // as weights are
  }
  for (const Written& written : AllWritten()) {
    for (const double amax : amaxes) {
      ExpectBoth(written, amax, amax);
      ExpectBoth(written, amax, amax / 1000);  // a cell's, of a tensor's
      if (HasFatalFailure()) return;
    }
  }
}

// The products M * t * (midpoint of two neighbouring scales), and the doubles beside them.
TEST(ScaleRule, AtAndBesideTies) {
  std::mt19937_64 random(13);
  std::size_t ties = 0;
  for (const Written& written : AllWritten()) {
    if (written.rule != ScaleRule::kAmax) continue;
    const oracle::Row& row = OracleRow(written.scaling.scale);
    const mpq_class largest = LargestOf(written.scaling.element);
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t code =
          row.bits == 8 ? static_cast<std::uint64_t>(i) % row.largest : random() % row.largest;
      const double low = ToDouble(written.scaling.scale, code);
      const double high = ToDouble(written.scaling.scale, code + 1);
      const double global = written.scaling.global_use == Factor::kNone
                                ? 1
                                : std::ldexp(1 + static_cast<double>(random() % 16) / 16, -9);
      mpq_class exact = (mpq_class(low) + mpq_class(high)) / 2 * largest;
      if (written.scaling.global_use == Factor::kMultiplies) exact *= mpq_class(global);
      if (written.scaling.global_use == Factor::kDivides) exact /= mpq_class(global);
      const double amax = exact.get_d();
      ties += amax == exact ? 1 : 0;
      for (const double near : {amax, std::nextafter(amax, 0.0), std::nextafter(amax, kLargest)}) {
        ExpectScale(written, near, global);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(ties, 10000u);  // they were planted, not missed
}

// Literals, of OCP's and the layouts' own texts.
TEST(ScaleRule, Published) {
  const Scaling mxfp4 = {DataType::kFloat4E2M1, DataType::kFloat8E8M0};
  EXPECT_EQ(CellScaleOf(mxfp4, ScaleRule::kOcp, 7.9, 1), 1);    // saturates at 6
  EXPECT_EQ(CellScaleOf(mxfp4, ScaleRule::kRound, 7.0, 1), 2);  // 1.75 * 4
  EXPECT_EQ(CellScaleOf(mxfp4, ScaleRule::kRound, 6.99, 1), 1);
  EXPECT_EQ(CellScaleOf(mxfp4, ScaleRule::kUp, 6.0, 1), 1);
  EXPECT_EQ(CellScaleOf(mxfp4, ScaleRule::kUp, 6.01, 1), 2);
  EXPECT_EQ(CellScaleOf(mxfp4, ScaleRule::kOcp, 1e-40, 1), 0x1p-127);
  const Scaling mxfp6 = {DataType::kFloat6E2M3, DataType::kFloat8E8M0};
  EXPECT_EQ(CellScaleOf(mxfp6, ScaleRule::kRound, 7.75, 1), 2);
  EXPECT_EQ(CellScaleOf(mxfp6, ScaleRule::kRound, 7.74, 1), 1);
  const Scaling fp8 = {DataType::kFloat8E4M3FN, DataType::kFloat32};
  EXPECT_EQ(CellScaleOf(fp8, ScaleRule::kAmax, 448, 1), 1);
  EXPECT_EQ(CellScaleOf(fp8, ScaleRule::kAmax, 1e-40, 1), 0x1p-126);
  EXPECT_EQ(CellScaleOf(fp8, ScaleRule::kAmax, 1e300, 1), 0x1.fffffep127);
  EXPECT_EQ(CellScaleOf(fp8, ScaleRule::kAmax, 0, 1), 1);
  Scaling nvfp4 = {DataType::kFloat4E2M1, DataType::kFloat8E4M3FN, Factor::kMultiplies,
                   Factor::kDivides};
  EXPECT_EQ(GlobalScaleOf(nvfp4, 1), 2688);
  EXPECT_EQ(GlobalScaleOf(nvfp4, 0x1p-126), 1);  // its inverse is beyond float32
  EXPECT_EQ(GlobalScaleOf(nvfp4, 2688 * 0x1p126), 0x1p-126);
  EXPECT_EQ(GlobalScaleOf(nvfp4, 2689 * 0x1p126), 1);  // it is subnormal
  EXPECT_EQ(CellScaleOf(nvfp4, ScaleRule::kAmax, 1, 2688), 448);
  EXPECT_EQ(CellScaleOf(nvfp4, ScaleRule::kAmax, 1e-9, 2688), 0x1p-9);
  nvfp4.global_use = Factor::kMultiplies;
  EXPECT_EQ(GlobalScaleOf(nvfp4, 2688), 1);
  EXPECT_EQ(GlobalScaleOf(nvfp4, 1e-45), 1);  // itself below float32
  EXPECT_EQ(GlobalScaleOf(nvfp4, 2688 * 0x1p-126), 0x1p-126);
  EXPECT_EQ(GlobalScaleOf(nvfp4, 2687 * 0x1p-126), 1);  // it is subnormal
}

TEST(ScaleRule, RefusesPairsThatAreNone) {
  const auto code_of = [](const Scaling& scaling, ScaleRule rule) {
    try {
      CheckedWritten(scaling, rule);
    } catch (const core::Failure& failure) {
      return failure.code();
    }
    return StatusCode::kOk;
  };
  for (const Written& written : AllWritten()) {
    EXPECT_EQ(code_of(written.scaling, written.rule), StatusCode::kOk);
  }
  const Scaling fp8 = {DataType::kFloat8E4M3FN, DataType::kFloat32};
  EXPECT_EQ(code_of(fp8, ScaleRule::kOcp), StatusCode::kUnsupported);
  EXPECT_EQ(code_of(fp8, ScaleRule::kRound), StatusCode::kUnsupported);
  EXPECT_EQ(code_of({DataType::kFloat4E2M1, DataType::kFloat8E8M0}, ScaleRule::kAmax),
            StatusCode::kUnsupported);
  EXPECT_EQ(code_of({DataType::kUint8, DataType::kFloat32}, ScaleRule::kAmax),
            StatusCode::kUnsupported);
  EXPECT_EQ(code_of({DataType::kInt8, DataType::kFloat32, Factor::kDivides}, ScaleRule::kAmax),
            StatusCode::kUnsupported);
  EXPECT_EQ(code_of({DataType::kInt8, DataType::kFloat32, Factor::kMultiplies, Factor::kMultiplies},
                    ScaleRule::kAmax),
            StatusCode::kUnsupported);
  EXPECT_EQ(code_of({DataType::kFloat32}, ScaleRule::kAmax), StatusCode::kInvalidType);
}

}  // namespace
}  // namespace tensorcast::scale
