// Texts of ten million digits and exponents without end come out, and come out right. Their values
// are known by how they are made; the oracle is not asked. ctest's own limit of time is what a cost
// that grew faster than the text would break: the square of 10^7 is days.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/source_codes.h"
#include "tensorcast/tensorcast.hpp"
#include "text/text_batch.h"

namespace tensorcast::testing {
namespace {

struct Expected {
  DataType to;
  std::uint64_t code;
};

void Expect(const std::string& text, std::initializer_list<Expected> expectations) {
  for (const Expected& expected : expectations) {
    std::uint64_t code = ~expected.code;
    ASSERT_TRUE(ParseValue(text, expected.to, &code).ok())
        << Quoted(text) << " to " << TypeName(expected.to);
    ASSERT_EQ(code, expected.code) << Quoted(text) << " to " << TypeName(expected.to);
  }
}

class LongTexts : public ::testing::Test {
 protected:
  std::size_t count_ = Sampled() ? 300'000 : 10'000'000;
  std::string zeros_ = std::string(count_, '0');
  std::string minus_count_ = "e-" + std::to_string(count_);
};

TEST_F(LongTexts, OneWithManyZeros) {
  const std::initializer_list<Expected> one = {{DataType::kFloat64, 0x3FF0000000000000},
                                               {DataType::kFloat32, 0x3F800000},
                                               {DataType::kFloat8E4M3FN, 0x38},
                                               {DataType::kFloat8E8M0, 0x7F},
                                               {DataType::kInt64, 1},
                                               {DataType::kUint4, 1},
                                               {DataType::kBool, 1}};
  Expect("1" + zeros_ + minus_count_, one);
  Expect("1." + zeros_, one);
  Expect(zeros_ + "1", one);
  Expect("0." + zeros_ + "1e" + std::to_string(count_ + 1), one);
  Expect("1e" + zeros_, one);
  Expect("1e-" + zeros_, one);
}

TEST_F(LongTexts, TheLastDigitDecides) {
  Expect("1.000000059604644775390625" + zeros_, {{DataType::kFloat32, 0x3F800000}});
  Expect("1.000000059604644775390625" + zeros_ + "1", {{DataType::kFloat32, 0x3F800001}});
  Expect("464." + zeros_ + "1", {{DataType::kFloat8E4M3FN, 0x7E}, {DataType::kFloat16, 0x5F40}});
  Expect("1." + zeros_ + "1", {{DataType::kFloat8E8M0, 0x80}, {DataType::kFloat8E4M3FN, 0x38}});
  Expect("2.5" + zeros_, {{DataType::kInt4, 2}});
  Expect("2.5" + zeros_ + "1", {{DataType::kInt4, 3}});
  Expect("0.0625" + zeros_ + "1", {{DataType::kFloat6E2M3, 1}});
  Expect("0.0625" + zeros_, {{DataType::kFloat6E2M3, 0}});
}

TEST_F(LongTexts, NinesAndBeyond) {
  const std::string nines(count_, '9');
  Expect("0." + nines, {{DataType::kFloat64, 0x3FF0000000000000}, {DataType::kInt64, 0}});
  Expect(nines, {{DataType::kFloat64, 0x7FF0000000000000}, {DataType::kFloat8E4M3FN, 0x7E}});
  Expect("-0." + zeros_ + nines, {{DataType::kFloat64, 0x8000000000000000}, {DataType::kInt8, 0}});
  Expect("1e" + nines, {{DataType::kFloat64, 0x7FF0000000000000}});
  Expect("1e-" + nines, {{DataType::kFloat64, 0}, {DataType::kBool, 1}});
  Expect("0e" + nines, {{DataType::kFloat64, 0}, {DataType::kInt64, 0}, {DataType::kBool, 0}});
  std::uint64_t code = 0;
  EXPECT_EQ(ParseValue(nines, DataType::kInt64, &code).code(), StatusCode::kNotAnInteger);
  EXPECT_EQ(ParseValue(nines + "x", DataType::kInt64, &code).code(), StatusCode::kNotANumber);
}

}  // namespace
}  // namespace tensorcast::testing
