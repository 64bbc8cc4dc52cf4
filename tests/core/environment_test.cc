// The caller's floating-point environment changes no bit and comes back as it was, on the calling
// thread and on an executor's, with and without a loss meter.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/forced_plan.h"
#include "core/option_sets.h"
#include "core/source_codes.h"
#include "core/thread_executor.h"
#include "oracle/packing.h"

namespace tensorcast::testing {
namespace {

class Environment : public ::testing::TestWithParam<DataType> {};

struct Outcome {
  std::vector<std::byte> bytes;
  LossReport report;
};

// One run within an environment; between its ends nothing but the library computes. Source and
// destination begin so many bytes after an aligned address.
Outcome RunWithin(const HostileEnvironment& environment, const ForcedPlan& plan,
                  const Tensor& source, DataType to, bool measured, std::size_t offset = 0) {
  const std::uint64_t n = source.codes.size();
  std::vector<std::byte> in(offset), out(offset + *StorageBytes(to, n));
  in.insert(in.end(), source.bytes.begin(), source.bytes.end());
  const auto source_bytes = std::span<const std::byte>(in).subspan(offset);
  const auto result_bytes = std::span(out).subspan(offset);
  Outcome outcome;
  LossMeter meter(source.type, to, plan.plan().options());
  Target ran = Target::kBest;
  RunOptions run;
  run.ran = &ran;
  run.loss = measured ? &meter : nullptr;
  Status status;
  EnvironmentWords set, after;
  {
    const HostileScope scope(environment);
    status = plan.plan().Run(source_bytes, 0, result_bytes, 0, n, run);
    if (measured) outcome.report = meter.Report();
    after = ReadEnvironment();
    set = scope.set();
  }
  EXPECT_TRUE(status.ok()) << plan.Name();
  EXPECT_EQ(ran, plan.plan().target()) << plan.Name();
  EXPECT_EQ(after, set) << plan.Name() << " in \"" << environment.name << "\": " << Describe(set)
                        << " became " << Describe(after);
  outcome.bytes.assign(result_bytes.begin(), result_bytes.end());
  return outcome;
}

TEST_P(Environment, ChangesNothingAndIsUnchanged) {
  const TypeInfo& from = *FindType(GetParam());
  const std::vector<HostileEnvironment> environments = HostileEnvironments();
  for (const TypeInfo& to : FixedWidthTypes()) {
    const Tensor source = MakeTensor(from.type, MixedCodes(from, to, Sampled() ? 67 : 523, 21));
    std::vector<std::uint64_t> codes(source.codes.size());
    oracle::CastMany(oracle::RowOf(static_cast<int>(from.type)),
                     oracle::RowOf(static_cast<int>(to.type)), {}, source.codes, codes.data());
    const std::vector<std::byte> expected = oracle::Pack(codes, to.bits);
    for (const Target target : Targets()) {
      const ForcedPlan plan(from.type, to.type, {}, target);
      const Outcome calm = RunWithin(environments[0], plan, source, to.type, true);
      for (const HostileEnvironment& environment : environments) {
        for (const bool measured : {false, true}) {
          const Outcome outcome = RunWithin(environment, plan, source, to.type, measured);
          ExpectSameCodes(source, to.type, expected, outcome.bytes,
                          plan.Name() + " in \"" + environment.name + "\"");
          if (measured) {
            EXPECT_EQ(std::memcmp(&outcome.report, &calm.report, sizeof calm.report), 0)
                << plan.Name() << ": the report differs in \"" << environment.name << "\"";
          }
        }
        if (HasFailure()) return;
      }
    }
  }
}

// Codes by their magnitude, those among them on which casting changes its answer: most steps of
// vectors then hold nothing special, and take the ways that need no environment, of which other
// options have others. Whole, and in short runs at odd addresses from anywhere among them.
TEST_P(Environment, ChangesNothingOrdinaryUnderAnyOptions) {
  const TypeInfo& from = *FindType(GetParam());
  const std::vector<HostileEnvironment> environments = HostileEnvironments();
  std::mt19937_64 random(26);
  for (const TypeInfo& to : FixedWidthTypes()) {
    std::vector<std::uint64_t> sorted = MixedCodes(from, to, Sampled() ? 331 : 1031, 24);
    const std::vector<std::uint64_t> edges = EdgesOf(from, to);
    std::ranges::sample(edges, std::back_inserter(sorted), Sampled() ? 100 : 2000,
                        std::mt19937_64(25));
    const int above = 64 - from.bits;  // the sign at the top, where integers have it
    std::ranges::sort(sorted, {}, [&from, above](std::uint64_t code) {
      if (from.is_float()) return code << (above + (from.has_sign ? 1 : 0));
      const auto integer = static_cast<std::int64_t>(code << above);
      return from.has_sign && integer < 0 ? (0 - code) << above : code << above;
    });
    const Tensor source = MakeTensor(from.type, std::move(sorted));
    for (const CastOptions& options : MeaningfulOptions(from, to)) {
      std::vector<std::uint64_t> codes(source.codes.size());
      oracle::CastMany(OracleRow(from.type), OracleRow(to.type), ToOracle(options), source.codes,
                       codes.data());
      const std::vector<std::byte> expected = oracle::Pack(codes, to.bits);
      struct Part {
        Tensor source;
        std::vector<std::byte> expected;
      };
      std::vector<Part> parts;
      for (const std::size_t n : {1, 2, 3, 5, 17, 33, 63, 65, 100}) {
        const auto first = static_cast<std::ptrdiff_t>(random() % (source.codes.size() - n));
        const auto part = [first, n](const std::vector<std::uint64_t>& all) {
          return std::vector(all.begin() + first, all.begin() + first + std::ptrdiff_t(n));
        };
        parts.push_back(
            {MakeTensor(from.type, part(source.codes)), oracle::Pack(part(codes), to.bits)});
      }
      for (const Target target : Targets()) {
        const ForcedPlan plan(from.type, to.type, options, target);
        for (const HostileEnvironment& environment : environments) {
          const std::string name = plan.Name() + " in \"" + environment.name + "\"";
          const Outcome whole = RunWithin(environment, plan, source, to.type, false);
          ExpectSameCodes(source, to.type, expected, whole.bytes, name);
          for (const Part& part : parts) {
            const Outcome outcome = RunWithin(environment, plan, part.source, to.type, false, 1);
            ExpectSameCodes(part.source, to.type, part.expected, outcome.bytes, name);
          }
        }
        if (HasFailure()) return;
      }
    }
  }
}

// The one-shot cast and the constexpr one, which a caller meets without a plan.
TEST_P(Environment, OneShotAndSingleValues) {
  const TypeInfo& from = *FindType(GetParam());
  for (const TypeInfo& to : FixedWidthTypes()) {
    const Tensor source = MakeTensor(from.type, MixedCodes(from, to, 67, 22));
    for (const HostileEnvironment& environment : HostileEnvironments()) {
      std::vector<std::byte> bytes(*StorageBytes(to.type, 67));
      std::vector<std::uint64_t> codes(67), single(67);
      EnvironmentWords set, after;
      {
        const HostileScope scope(environment);
        static_cast<void>(Cast(from.type, source.bytes, to.type, bytes, 67));
        for (std::size_t i = 0; i < 67; ++i) {
          single[i] = CastBits(from.type, to.type, source.codes[i]);
        }
        after = ReadEnvironment();
        set = scope.set();
      }
      EXPECT_EQ(after, set) << from.name << " -> " << to.name << " in " << environment.name;
      oracle::CastMany(oracle::RowOf(static_cast<int>(from.type)),
                       oracle::RowOf(static_cast<int>(to.type)), {}, source.codes, codes.data());
      EXPECT_EQ(oracle::Pack(codes, to.bits), bytes) << from.name << " -> " << to.name;
      EXPECT_EQ(codes, single) << from.name << " -> " << to.name;
    }
  }
}

// Workers that come with a hostile environment of their own.
TEST_P(Environment, OnWorkerThreads) {
  const TypeInfo& from = *FindType(GetParam());
  const std::vector<HostileEnvironment> environments = HostileEnvironments();
  const std::vector<std::uint64_t> some = MixedCodes(from, from, 4093, 23);
  for (const TypeInfo& to : FixedWidthTypes()) {
    // With a meter a megabyte is shared out.
    const std::uint64_t n = (9ull << 20) / static_cast<std::uint64_t>(from.bits + to.bits);
    if (!Takes(from, to, 1, 23)) continue;
    std::vector<std::uint64_t> codes(n);
    for (std::uint64_t i = 0; i < n; ++i) codes[i] = some[i % some.size()];
    const Tensor source = MakeTensor(from.type, std::move(codes));
    const ForcedPlan plan(from.type, to.type, {}, Targets().front());
    std::vector<std::byte> alone(*StorageBytes(to.type, n));
    LossMeter alone_meter(from.type, to.type);
    RunOptions run;
    run.loss = &alone_meter;
    plan.Run(source.bytes, 0, alone, 0, n, run);

    std::atomic<int> started = 0;
    std::atomic<int> unchanged = 0;
    thread_local HostileScope* scope = nullptr;
    ThreadExecutor executor(
        3,
        [&] {
          const auto i = static_cast<std::size_t>(started.fetch_add(1) + 1);
          scope = new HostileScope(environments[i % environments.size()]);
        },
        [&] {
          const EnvironmentWords after = ReadEnvironment();
          if (after == scope->set()) unchanged.fetch_add(1);
          delete scope;
        });
    std::vector<std::byte> shared(alone.size());
    LossMeter meter(from.type, to.type);
    run.loss = &meter;
    run.executor = &executor;
    plan.Run(source.bytes, 0, shared, 0, n, run);
    EXPECT_EQ(alone, shared) << plan.Name();
    if (!Sampled()) {
      EXPECT_GT(executor.tasks_run(), 1u) << plan.Name();
    }
    EXPECT_EQ(unchanged.load(), started.load()) << plan.Name();
    const LossReport a = alone_meter.Report();
    const LossReport b = meter.Report();
    EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0) << plan.Name();
  }
}

INSTANTIATE_TEST_SUITE_P(From, Environment, ::testing::ValuesIn(FixedWidthDataTypes()),
                         TypeParameterName);

}  // namespace
}  // namespace tensorcast::testing
