// Forced plans; see forced_plan.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/forced_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "oracle/packing.h"

namespace tensorcast::testing {
namespace {

std::uint64_t g_compared = 0;
int g_reported = 0;
constexpr int kMostReports = 60;  // of differing casts in one process: then only that they differ

// Element by element, where each begins with a byte, else four by four: plans have stages of their
// own for runs that short.
std::vector<std::byte> CastBriefly(const CastPlan& plan, const Tensor& source, std::size_t bytes) {
  const int from_bits = FindType(plan.from())->bits, to_bits = FindType(plan.to())->bits;
  const std::size_t most = from_bits < 8 ? 4 : 1;
  std::vector<std::byte> results(bytes);
  for (std::size_t i = 0; i < source.codes.size(); i += most) {
    const std::size_t n = std::min(most, source.codes.size() - i);
    std::byte brief[32] = {};
    const auto from = std::span(source.bytes).subspan(i * static_cast<std::size_t>(from_bits) / 8);
    EXPECT_TRUE(plan.Run(from, 0, brief, 0, n).ok());
    for (std::size_t j = 0; j < n; ++j) {
      oracle::PutCode(results, to_bits, i + j, oracle::GetCode(brief, to_bits, j));
    }
  }
  return results;
}

}  // namespace

ForcedPlan::ForcedPlan(DataType from, DataType to, const CastOptions& options, Target target)
    : target_(target) {
  const Status status = CastPlan::Bind(from, to, options, &plan_, target);
  EXPECT_TRUE(status.ok()) << TypeName(from) << " -> " << TypeName(to) << ": " << status.message();
  EXPECT_EQ(plan_.target(), target);
}

void ForcedPlan::Run(std::span<const std::byte> source, std::uint64_t source_first,
                     std::span<std::byte> destination, std::uint64_t destination_first,
                     std::uint64_t n, RunOptions run) const {
  Target ran = Target::kBest;
  run.ran = &ran;
  const Status status = plan_.Run(source, source_first, destination, destination_first, n, run);
  EXPECT_TRUE(status.ok()) << Name() << ": " << status.message();
  EXPECT_EQ(ran, target_) << Name() << ": " << TargetName(ran) << " ran";
}

std::string ForcedPlan::Name() const {
  return std::string(TypeName(plan_.from())) + " -> " + std::string(TypeName(plan_.to())) + ", " +
         std::string(TargetName(target_)) + ", " + Describe(plan_.options());
}

Tensor MakeTensor(DataType type, std::vector<std::uint64_t> codes) {
  Tensor tensor = {type, std::move(codes), {}};
  tensor.bytes = oracle::Pack(tensor.codes, FindType(type)->bits);
  return tensor;
}

bool ExpectSameCodes(const Tensor& source, DataType to, std::span<const std::byte> expected,
                     std::span<const std::byte> actual, const std::string& name) {
  g_compared += source.codes.size();
  if (std::ranges::equal(expected, actual)) return true;
  if (++g_reported > kMostReports) {
    ADD_FAILURE() << name << ": differs";
    return false;
  }
  const int bits = FindType(to)->bits;
  std::uint64_t wrong = 0;
  std::string text;
  for (std::size_t i = 0; i < source.codes.size(); ++i) {
    const std::uint64_t want = oracle::GetCode(expected, bits, i);
    const std::uint64_t got = oracle::GetCode(actual, bits, i);
    if (want == got || ++wrong > 4) continue;
    char line[128];
    std::snprintf(line, sizeof line, "\n  element %zu: source %llX, expected %llX, got %llX", i,
                  static_cast<unsigned long long>(source.codes[i]),
                  static_cast<unsigned long long>(want), static_cast<unsigned long long>(got));
    text += line;
  }
  ADD_FAILURE() << name << ": " << wrong << " of " << source.codes.size() << " wrong" << text;
  return false;
}

void ExpectCastOnEveryTarget(const Tensor& source, DataType to, const CastOptions& options) {
  const oracle::Row& from_row = oracle::RowOf(static_cast<int>(source.type));
  const oracle::Row& to_row = oracle::RowOf(static_cast<int>(to));
  std::vector<std::uint64_t> codes(source.codes.size());
  oracle::CastMany(from_row, to_row, ToOracle(options), source.codes, codes.data());
  const std::vector<std::byte> expected = oracle::Pack(codes, to_row.bits);
  for (const Target target : Targets()) {
    const ForcedPlan plan(source.type, to, options, target);
    // Pad bits stay as they were, and the oracle packs them as zero.
    std::vector<std::byte> actual(expected.size());
    plan.Run(source.bytes, 0, actual, 0, source.codes.size());
    ExpectSameCodes(source, to, expected, actual, plan.Name());
    ExpectSameCodes(source, to, expected, CastBriefly(plan.plan(), source, expected.size()),
                    plan.Name() + ", in brief runs");
  }
}

std::uint64_t ComparedCodes() { return g_compared; }

}  // namespace tensorcast::testing
