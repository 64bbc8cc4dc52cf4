// Chains of two and three casts, made one where the algebra says so, beside the casts one by one:
// all codes of the types of up to 16 bits, planted ones of the wider; and how many chains that are.
//
// SPDX-License-Identifier: Apache-2.0
#include "graph/cast_chains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/source_codes.h"
#include "oracle/cast.h"
#include "oracle/types.h"

namespace tensorcast::graph {
namespace {

constexpr std::uint64_t kSample = 40;  // one chain in so many, where sampled

// Every value of every option.
std::vector<CastOptions> AllOptions() {
  std::vector<CastOptions> all;
  for (int i = 0; i < 48; ++i) {
    CastOptions& options = all.emplace_back();
    options.saturate = i % 2 == 0;
    options.integer_overflow = static_cast<IntegerOverflow>(i / 2 % 2);
    options.fnuz_infinity = static_cast<FnuzInfinity>(i / 4 % 2);
    options.finite_only_nan = static_cast<FiniteOnlyNan>(i / 8 % 2);
    options.round_mode = static_cast<RoundingMode>(i / 16);
  }
  return all;
}

// Those of them that a cast tells apart.
std::vector<CastOptions> DistinctOptions(DataType from, DataType to) {
  std::vector<CastOptions> distinct;
  for (const CastOptions& options : AllOptions()) {
    const CastOptions effect = OptionsInEffect(from, to, options);
    if (std::find(distinct.begin(), distinct.end(), effect) == distinct.end()) {
      distinct.push_back(effect);
    }
  }
  return distinct;
}

oracle::Options OracleOptions(const CastOptions& options) {
  oracle::Options result;
  result.saturate = options.saturate;
  result.round_mode = options.round_mode == RoundingMode::kUp     ? oracle::RoundingMode::kUp
                      : options.round_mode == RoundingMode::kDown ? oracle::RoundingMode::kDown
                                                                  : oracle::RoundingMode::kNearest;
  result.integer_saturate = options.integer_overflow == IntegerOverflow::kSaturate;
  result.fnuz_infinity_nan = options.fnuz_infinity == FnuzInfinity::kNan;
  result.finite_only_max = options.finite_only_nan == FiniteOnlyNan::kMax;
  return result;
}

using Bytes = std::vector<std::byte>;

// A dense buffer of elements.
struct Values {
  DataType type = DataType::kUndefined;
  std::uint64_t count = 0;
  Bytes bytes;
};

Values MakeValues(DataType type, std::span<const std::uint64_t> codes) {
  Values values{type, codes.size(), Bytes(*StorageBytes(type, codes.size()))};
  for (std::uint64_t i = 0; i < codes.size(); ++i) {
    StoreCode(type, values.bytes.data(), i, codes[i]);
  }
  return values;
}

// All codes up to 16 bits; of wider types what lies around every power of two, the ends, quiet and
// signalling NaNs, and random codes.
Values CodesOf(const TypeInfo& row) {
  std::vector<std::uint64_t> codes;
  if (row.bits <= 16) {
    for (std::uint64_t code = 0; code < std::uint64_t{1} << row.bits; ++code) codes.push_back(code);
    return MakeValues(row.type, codes);
  }
  const std::uint64_t mask = detail::LowMask(row.bits);
  for (int bit = 0; bit < row.bits; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (const std::uint64_t code : {power, power - 1, power + 1, 0 - power, ~power}) {
      codes.push_back(code & mask);
    }
    if (!row.is_float()) continue;
    const std::uint64_t nan = detail::AllOnesExponent(row) | (power & (detail::SignBit(row) - 1));
    for (const std::uint64_t code : {nan, nan | 1, nan | detail::SignBit(row)}) {
      codes.push_back(code);
    }
  }
  std::mt19937_64 random(20261122);
  for (int i = 0; i < 4096; ++i) codes.push_back(random() & mask);
  // Floats of moderate size, which narrow types hold.
  for (int i = 0; row.is_float() && i < 4096; ++i) {
    const double value =
        static_cast<double>(static_cast<std::int64_t>(random() % 200001) - 100000) /
        static_cast<double>(1 << random() % 20);
    codes.push_back(CastBits(DataType::kFloat64, row.type, std::bit_cast<std::uint64_t>(value)));
  }
  return MakeValues(row.type, codes);
}

// Casts, whose plans are made once.
class Caster {
 public:
  Values Cast(const Values& source, DataType to, const CastOptions& options) {
    const CastOptions effect = OptionsInEffect(source.type, to, options);
    const auto key =
        std::make_tuple(source.type, to, effect.saturate, effect.round_mode,
                        effect.integer_overflow, effect.fnuz_infinity, effect.finite_only_nan);
    const auto [place, is_new] = plans_.try_emplace(key);
    // Bound with what was asked for: that the options left out have no effect is tested too.
    if (is_new) {
      EXPECT_TRUE(CastPlan::Bind(source.type, to, options, &place->second).ok());
    }
    Values result{to, source.count, Bytes(*StorageBytes(to, source.count))};
    EXPECT_TRUE(place->second.Run(source.bytes, 0, result.bytes, 0, source.count).ok());
    return result;
  }

 private:
  std::map<std::tuple<DataType, DataType, bool, RoundingMode, IntegerOverflow, FnuzInfinity,
                      FiniteOnlyNan>,
           CastPlan>
      plans_;
};

// NaNs as one, where their bits may change.
void JoinNans(Values& values) {
  const TypeInfo& row = detail::Row(values.type);
  if (!row.has_nan()) return;
  for (std::uint64_t i = 0; i < values.count; ++i) {
    const std::uint64_t code = LoadCode(values.type, values.bytes.data(), i);
    if (ValueOf(values.type, code) != ValueOf(values.type, code)) {
      const bool negative = (code & detail::SignBit(row)) != 0;
      StoreCode(values.type, values.bytes.data(), i, detail::CanonicalNan(row, negative));
    }
  }
}

bool SameBits(Values a, Values b, NanBits nan) {
  if (nan == NanBits::kMayChange) {
    JoinNans(a);
    JoinNans(b);
  }
  return a.bytes == b.bytes;
}

std::string ChainText(std::initializer_list<DataType> types) {
  std::string text;
  for (const DataType type : types)
    text += (text.empty() ? "" : " -> ") + std::string(TypeName(type));
  return text;
}

TEST(CastChains, OptionsWithoutEffectChangeNothing) {
  std::mt19937 chosen(4);
  for (const TypeInfo& from : Types()) {
    if (from.bits == 0) continue;
    const Values codes = CodesOf(from);
    for (const TypeInfo& to : Types()) {
      if (to.bits == 0) continue;
      for (const CastOptions& options : AllOptions()) {
        if (testing::Sampled() && chosen() % kSample != 0) continue;
        // A new one each time: plans are kept by the options in effect.
        Caster asked, in_effect;
        const CastOptions effect = OptionsInEffect(from.type, to.type, options);
        if (effect == options) continue;
        ASSERT_EQ(asked.Cast(codes, to.type, options).bytes,
                  in_effect.Cast(codes, to.type, effect).bytes)
            << from.name << " -> " << to.name;
      }
    }
  }
}

TEST(CastChains, ChainsOfTwoGiveTheSameBits) {
  Caster caster;
  std::uint64_t chains = 0;
  for (const TypeInfo& a : Types()) {
    if (a.bits == 0) continue;
    const Values codes = CodesOf(a);
    for (const TypeInfo& b : Types()) {
      if (b.bits == 0 || !testing::Takes(a, b, 1, 10)) continue;
      for (const CastOptions& first : DistinctOptions(a.type, b.type)) {
        const Values between = caster.Cast(codes, b.type, first);
        for (const TypeInfo& c : Types()) {
          if (c.bits == 0) continue;
          for (const CastOptions& last : DistinctOptions(b.type, c.type)) {
            for (const NanBits nan : {NanBits::kKept, NanBits::kMayChange}) {
              if (!AreOneCast(a.type, b.type, c.type, last, nan)) continue;
              ++chains;
              ASSERT_TRUE(SameBits(caster.Cast(codes, c.type, last),
                                   caster.Cast(between, c.type, last), nan))
                  << ChainText({a.type, b.type, c.type}) << " saturate " << last.saturate;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(chains, testing::Sampled() ? 900u : 18000u);
}

// The casts one by one are the oracle's here, and what a chain gives in one step is too.
TEST(CastChains, ChainsOfTwoByTheOracle) {
  std::uint64_t chains = 0, not_joined = 0;
  for (const oracle::Row& a : oracle::kRows) {
    if (a.bits > 8) continue;
    for (const oracle::Row& b : oracle::kRows) {
      for (const oracle::Row& c : oracle::kRows) {
        const auto type = [](const oracle::Row& row) { return static_cast<DataType>(row.id); };
        if (a.id == b.id || b.id == c.id) continue;
        for (const CastOptions& last : DistinctOptions(type(b), type(c))) {
          bool same = true;
          for (std::uint64_t code = 0; code <= a.mask() && same; ++code) {
            const std::uint64_t chain =
                oracle::Cast(b, c, OracleOptions(last), oracle::Cast(a, b, {}, code));
            const std::uint64_t once =
                a.id == c.id ? code : oracle::Cast(a, c, OracleOptions(last), code);
            same = chain == once;
          }
          const bool joined = AreOneCast(type(a), type(b), type(c), last, NanBits::kKept);
          ++chains;
          not_joined += same && !joined ? 1 : 0;
          ASSERT_TRUE(same || !joined) << a.name << " -> " << b.name << " -> " << c.name;
        }
      }
    }
  }
  RecordProperty("chains", static_cast<int>(chains));
  RecordProperty("not_joined", static_cast<int>(not_joined));
}

// As the optimiser goes: each cast reads the earliest value from which it gives the same.
struct ChainStep {
  DataType to;
  CastOptions options;
};
Values RunJoined(Caster& caster, const Values& codes, std::span<const ChainStep> steps, NanBits nan,
                 std::size_t& casts) {
  struct Made {
    Values values;
    DataType type;
    int source;  // index in `made`, or -1
  };
  std::vector<Made> made = {{codes, codes.type, -1}};
  for (const ChainStep& step : steps) {
    int source = static_cast<int>(made.size()) - 1;
    while (true) {
      const Made& at = made[static_cast<std::size_t>(source)];
      if (at.source < 0) break;
      const Made& before = made[static_cast<std::size_t>(at.source)];
      if (!AreOneCast(before.type, at.type, step.to, step.options, nan)) break;
      source = at.source;
    }
    const Made& from = made[static_cast<std::size_t>(source)];
    if (from.type == step.to) {  // a copy: what comes next reads what it copies
      made.push_back({from.values, from.type, from.source});
      continue;
    }
    Values result = caster.Cast(from.values, step.to, step.options);
    made.push_back({std::move(result), step.to, source});
  }
  casts = 0;
  for (int i = static_cast<int>(made.size()) - 1;
       i > 0 && made[static_cast<std::size_t>(i)].source >= 0;
       i = made[static_cast<std::size_t>(i)].source) {
    ++casts;
  }
  return made.back().values;
}

TEST(CastChains, ChainsOfThreeGiveTheSameBits) {
  Caster caster;
  std::mt19937 random(3), chosen(5);
  const std::vector<CastOptions> all = AllOptions();
  std::uint64_t chains = 0;
  std::array<std::uint64_t, 4> by_casts{};
  for (const TypeInfo& a : Types()) {
    if (a.bits == 0 || a.bits > 16) continue;
    const Values codes = CodesOf(a);
    for (const TypeInfo& b : Types()) {
      if (b.bits == 0 || b.bits > 16) continue;
      const CastOptions first = all[random() % all.size()];
      const Values at_b = caster.Cast(codes, b.type, first);
      for (const TypeInfo& c : Types()) {
        if (c.bits == 0 || c.bits > 16) continue;
        const CastOptions second = all[random() % all.size()];
        const Values at_c = caster.Cast(at_b, c.type, second);
        for (const TypeInfo& d : Types()) {
          if (d.bits == 0 || d.bits > 16) continue;
          const CastOptions third = all[random() % all.size()];
          const NanBits nan = random() % 4 == 0 ? NanBits::kMayChange : NanBits::kKept;
          if (testing::Sampled() && chosen() % kSample != 0) continue;
          const ChainStep steps[] = {{b.type, first}, {c.type, second}, {d.type, third}};
          std::size_t casts = 0;
          const Values joined = RunJoined(caster, codes, steps, nan, casts);
          ++by_casts.at(casts);
          ++chains;
          if (casts == 3) continue;
          ASSERT_TRUE(SameBits(joined, caster.Cast(at_c, d.type, third), nan))
              << ChainText({a.type, b.type, c.type, d.type});
        }
      }
    }
  }
  constexpr std::uint64_t kAll = 19u * 19 * 19 * 19;
  if (testing::Sampled()) {
    EXPECT_GT(chains, kAll / (kSample + 4));
  } else {
    EXPECT_EQ(chains, kAll);
  }
  // Most of them lose something on the way, but these many do not.
  EXPECT_GT(by_casts[0] + by_casts[1] + by_casts[2], chains / 4);
}

// ------------------------------------------------------------------------------ how many

std::string_view ClassOf(const TypeInfo& row) {
  switch (row.type_class) {
    case TypeClass::kBool: return "bool";
    case TypeClass::kString: return "string";
    case TypeClass::kUnsigned:
    case TypeClass::kSigned: return "integer";
    case TypeClass::kFloat: return "float";
  }
  return "";
}

// The rows of the table in docs/optimize.md: of all chains of three different neighbours, how many
// are one cast, by the class of what they begin and end with.
TEST(CastChains, AsManyAsTheManualSays) {
  struct Count {
    int chains = 0, joined = 0, with_nan = 0;
  };
  std::map<std::tuple<std::string_view, std::string_view>, Count> counts;
  Count all;
  for (const TypeInfo& a : Types()) {
    for (const TypeInfo& b : Types()) {
      for (const TypeInfo& c : Types()) {
        if (a.type == b.type || b.type == c.type) continue;
        CastOptions last;
        last.saturate = false;  // float8e5m2 keeps its infinities
        Count& count = counts[{ClassOf(a), ClassOf(c)}];
        for (Count* const each : {&count, &all}) {
          ++each->chains;
          each->joined += AreOneCast(a.type, b.type, c.type, last, NanBits::kKept) ? 1 : 0;
          each->with_nan += AreOneCast(a.type, b.type, c.type, last, NanBits::kMayChange) ? 1 : 0;
        }
      }
    }
  }
  std::ifstream file(TENSORCAST_SOURCE_DIR "/docs/optimize.md");
  const std::string manual((std::istreambuf_iterator<char>(file)), {});
  const auto expect_row = [&](const std::string& name, const Count& count) {
    const std::string row = "| " + name + " | " + std::to_string(count.chains) + " | " +
                            std::to_string(count.joined) + " | " + std::to_string(count.with_nan) +
                            " |";
    EXPECT_NE(manual.find(row), std::string::npos) << row;
  };
  for (const auto& [classes, count] : counts) {
    expect_row(std::string(std::get<0>(classes)) + " → … → " + std::string(std::get<1>(classes)),
               count);
  }
  expect_row("all", all);
  EXPECT_GT(all.joined, 1000);
}

TEST(CastChains, NamedChains) {
  const auto one = [](DataType a, DataType b, DataType c, NanBits nan = NanBits::kKept) {
    return AreOneCast(a, b, c, {}, nan);
  };
  using enum DataType;
  EXPECT_TRUE(one(kFloat16, kFloat32, kFloat64));
  EXPECT_TRUE(one(kInt32, kUint64, kInt32));
  EXPECT_TRUE(one(kUint8, kFloat16, kFloat8E4M3FN));
  EXPECT_TRUE(one(kInt8, kInt32, kString));
  EXPECT_TRUE(one(kString, kString, kInt32));
  EXPECT_FALSE(one(kFloat64, kFloat32, kFloat16));  // rounds twice
  EXPECT_FALSE(one(kFloat32, kInt64, kInt32));      // the issues of ONNX Runtime
  EXPECT_FALSE(one(kInt32, kFloat64, kInt8));       // not ONNX's to say
  EXPECT_FALSE(one(kFloat32, kFloat64, kString));   // other digits
  EXPECT_FALSE(one(kBool, kUint8, kString));        // "True", "1"
  EXPECT_FALSE(one(kBool, kUint8, kBool));          // a byte of 2
  EXPECT_FALSE(one(kBool, kUint8, kBool, NanBits::kMayChange));
  EXPECT_FALSE(one(kInt64, kString, kInt64));
  EXPECT_FALSE(one(kFloat16, kFloat32, kFloat16));  // quiets
  EXPECT_TRUE(one(kFloat16, kFloat32, kFloat16, NanBits::kMayChange));
  EXPECT_FALSE(one(kFloat8E5M2, kFloat16, kFloat8E5M2, NanBits::kMayChange));  // saturates Inf
  EXPECT_FALSE(one(kFloat4E2M1, kFloat8E4M3FNUZ, kFloat16));                   // no -0
}

}  // namespace
}  // namespace tensorcast::graph
