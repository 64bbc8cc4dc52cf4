// Elements as C++ types: what Cast takes and refuses to compile, against the oracle; ValueOf.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/option_sets.h"
#include "core/source_codes.h"
#include "oracle/cast.h"

namespace mine {

struct Half {
  std::uint16_t storage;
};
struct HalfOfTwoBytes {  // as wide, of two members
  std::uint8_t low, high;
};
struct TooWide {
  std::uint32_t storage;
};
struct Unknown {
  std::uint16_t storage;
};

}  // namespace mine

template <> struct tensorcast::ElementType<mine::Half> {
  static constexpr DataType value = DataType::kFloat16;
};
template <> struct tensorcast::ElementType<mine::HalfOfTwoBytes> {
  static constexpr DataType value = DataType::kFloat16;
};
template <> struct tensorcast::ElementType<mine::TooWide> {
  static constexpr DataType value = DataType::kFloat16;
};

namespace tensorcast::testing {
namespace {

// ---- what compiles

template <class Source, class Destination>
concept Castable = requires(Source source, Destination destination) {
  {
    Cast(std::forward<Source>(source), std::forward<Destination>(destination))
    } -> std::same_as<Status>;
};

using Floats = std::vector<float>;
using Small = std::vector<float8e4m3fn>;
static_assert(Castable<Floats&, Small&>);
static_assert(Castable<const Floats&, Small&>);
static_assert(Castable<Floats, Small&>);  // a temporary may be read
static_assert(Castable<float (&)[4], std::array<double, 4>&>);
static_assert(Castable<const float (&)[4], double (&)[4]>);
static_assert(Castable<std::span<const float>, std::span<bfloat16>>);
static_assert(Castable<std::span<float, 4>&, const std::span<bfloat16, 4>&>);
static_assert(Castable<const std::array<long long, 3>&, std::vector<unsigned long long>&>);
static_assert(Castable<std::vector<mine::Half>&, std::vector<mine::HalfOfTwoBytes>&>);

static_assert(!Castable<Floats&, Small>);  // what nobody could read
static_assert(!Castable<Floats&, const Small&>);
static_assert(!Castable<Floats&, std::span<const bfloat16>>);
static_assert(!Castable<std::vector<bool>&, Small&>);  // of bits
static_assert(!Castable<std::vector<char>&, Small&>);  // a text
static_assert(!Castable<std::vector<std::byte>&, Small&>);
static_assert(!Castable<std::vector<long double>&, Small&>);
static_assert(!Castable<std::vector<mine::TooWide>&, Small&>);
static_assert(!Castable<std::vector<mine::Unknown>&, Small&>);
static_assert(!Castable<std::vector<std::string>&, Small&>);
static_assert(!Castable<float&, Small&>);

static_assert(kDataTypeOf<long> == (sizeof(long) == 8 ? DataType::kInt64 : DataType::kInt32));
static_assert(kDataTypeOf<long long> == DataType::kInt64);
static_assert(kDataTypeOf<unsigned long long> == DataType::kUint64);
static_assert(kDataTypeOf<std::int64_t> == DataType::kInt64);
static_assert(kDataTypeOf<signed char> == DataType::kInt8);
static_assert(kDataTypeOf<unsigned char> == DataType::kUint8);
static_assert(kDataTypeOf<const float> == DataType::kFloat32);
static_assert(kDataTypeOf<mine::Half> == DataType::kFloat16);
static_assert(kDataTypeOf<char> == DataType::kUndefined);
static_assert(CastValue<mine::Half>(1.5f).storage == 0x3E00);
static_assert(CastValue<long long>(3.5) == 3);

// ---- what it gives

template <class... T> struct TypeList {};
using EveryElement =
    TypeList<float, double, bool, signed char, unsigned char, short, unsigned short, int, unsigned,
             long, unsigned long, long long, unsigned long long, float16, bfloat16, float8e4m3fn,
             float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float8e8m0, mine::Half
#if defined(TENSORCAST_HAS_FLOAT16)
             ,
             _Float16
#endif
#if defined(__BFLT16_MANT_DIG__)
             ,
             __bf16
#endif
             >;

template <class T> std::vector<T> Elements(std::span<const std::uint64_t> codes) {
  std::vector<T> elements(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::memcpy(static_cast<void*>(&elements[i]), &codes[i], sizeof(T));  // little-endian
  }
  return elements;
}

template <class T> std::vector<std::uint64_t> CodesOf(const std::vector<T>& elements) {
  std::vector<std::uint64_t> codes(elements.size());
  for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&codes[i], &elements[i], sizeof(T));
  return codes;
}

// Apart from the pairs' code, of which there are four hundred.
void ExpectTheOraclesCodes(const TypeInfo& from, std::span<const std::uint64_t> codes,
                           const TypeInfo& to, const std::vector<std::uint64_t>& results) {
  ASSERT_EQ(results.size(), codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    ASSERT_EQ(results[i], oracle::Cast(oracle::RowOf(static_cast<int>(from.type)),
                                       oracle::RowOf(static_cast<int>(to.type)), {}, codes[i]))
        << from.name << " " << std::hex << codes[i] << " -> " << to.name;
  }
}

template <class From, class To> void CheckPair() {
  if constexpr (!std::is_same_v<From, bool> && !std::is_same_v<To, bool>) {
    const TypeInfo& from = *FindType(kDataTypeOf<From>);
    const TypeInfo& to = *FindType(kDataTypeOf<To>);
    const std::vector<std::uint64_t> codes = MixedCodes(from, to, 200, 7);
    const std::vector<From> source = Elements<From>(codes);
    std::vector<To> destination(source.size());
    const Status status = Cast(source, destination);
    ExpectTheOraclesCodes(from, codes, to,
                          status.ok() ? CodesOf(destination) : std::vector<std::uint64_t>());
  }
}

template <class From, class... To> void CheckFrom(TypeList<To...>) { (CheckPair<From, To>(), ...); }
template <class... From> void CheckAll(TypeList<From...> all) { (CheckFrom<From>(all), ...); }

TEST(Elements, EveryPairOfCppTypesAgainstTheOracle) { CheckAll(EveryElement()); }

TEST(Elements, EveryRange) {
  const float source[3] = {0.5f, -300.0f, 1e9f};
  const std::array<std::uint8_t, 3> expected = {0x30, 0xF9, 0x7E};  // oracle's, below
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(oracle::Cast(oracle::RowOf(static_cast<int>(DataType::kFloat32)),
                           oracle::RowOf(static_cast<int>(DataType::kFloat8E4M3FN)), {},
                           std::bit_cast<std::uint32_t>(source[i])),
              expected[i]);
  }
  const auto check = [&](auto& destination) {
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(destination[i].bits, expected[i]);
  };
  float8e4m3fn c_array[3] = {};
  ASSERT_TRUE(Cast(source, c_array).ok());
  check(c_array);
  std::array<float8e4m3fn, 3> array = {};
  ASSERT_TRUE(Cast(Floats(std::begin(source), std::end(source)), array).ok());
  check(array);
  Small vector(3);
  ASSERT_TRUE(Cast(std::span(source), vector).ok());
  check(vector);
  std::array<float8e4m3fn, 3> viewed = {};
  ASSERT_TRUE(Cast(source, std::span(viewed)).ok());
  check(viewed);
  bool flags[3] = {true, true, true};
  ASSERT_TRUE(Cast(std::array<double, 3>{0.0, -0.0, 0.1}, flags).ok());
  EXPECT_FALSE(flags[0] || flags[1]);
  EXPECT_TRUE(flags[2]);
}

TEST(Elements, SizesThatDoNotMatch) {
  const Floats source(5, 1.5f);
  std::vector<double> shorter(4), longer(7, -1.0);
  EXPECT_EQ(Cast(source, shorter).code(), StatusCode::kBufferTooSmall);
  EXPECT_EQ(shorter, std::vector<double>(4));
  EXPECT_TRUE(Cast(source, longer).ok());
  EXPECT_EQ(longer[4], 1.5);
  EXPECT_EQ(longer[5], -1.0);
  Floats none;
  EXPECT_TRUE(Cast(none, shorter).ok());
  CastOptions options;
  options.round_mode = static_cast<RoundingMode>(9);
  EXPECT_EQ(Cast(source, longer, options).code(), StatusCode::kInvalidOption);
}

// ---- the value of a code

static_assert(ValueOf(DataType::kFloat8E4M3FN, 0x7E) == 448);
static_assert(ValueOf(DataType::kFloat4E2M1, 0xF) == -6);
static_assert(ValueOf(DataType::kInt4, 0x8) == -8);
static_assert(ValueOf(DataType::kInt64, 0x8000000000000000) == -0x1p63);
static_assert(ValueOf(DataType::kString, 1) == 0);
static_assert(ValueOf(DataType::kUndefined, 1) == 0);

TEST(ValueOf, EveryTypeAgainstTheOracle) {
  for (const TypeInfo& type : FixedWidthTypes()) {
    const oracle::Row& row = oracle::RowOf(static_cast<int>(type.type));
    const std::vector<std::uint64_t> codes =
        type.bits <= 16 ? AllCodes(type) : MixedCodes(type, *FindType(DataType::kFloat64), 3000, 5);
    for (const std::uint64_t code : codes) {
      const oracle::Value value = oracle::Decode(row, code);
      const double found = ValueOf(type.type, code);
      if (value.is == oracle::Value::Is::kNan) {
        ASSERT_TRUE(std::isnan(found)) << type.name << " " << std::hex << code;
        continue;
      }
      double expected = std::numeric_limits<double>::infinity();
      if (value.is == oracle::Value::Is::kFinite) {
        // Digits of more than 53 bits, of 64-bit integers only, are rounded to nearest here.
        expected = std::ldexp(static_cast<double>(value.digits), value.exponent);
      }
      if (value.negative) expected = -expected;
      ASSERT_EQ(found, expected) << type.name << " " << std::hex << code;
      ASSERT_EQ(std::signbit(found), std::signbit(expected))
          << type.name << " " << std::hex << code;
    }
  }
}

}  // namespace
}  // namespace tensorcast::testing
