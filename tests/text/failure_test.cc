// Which text a failed parse names: the lowest, whatever the number of threads; and how it is shown.
//
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "core/option_sets.h"
#include "core/source_codes.h"
#include "core/thread_executor.h"
#include "text/text_batch.h"

namespace tensorcast::testing {
namespace {

ParseFailure FailureOf(const std::vector<std::string>& texts, DataType to, Executor* executor,
                       StatusCode expected) {
  std::vector<std::byte> destination(*StorageBytes(to, texts.size()));
  RunOptions run;
  run.executor = executor;
  ParseFailure failure;
  EXPECT_EQ(ParseStrings(TextBatch(texts).view(), to, destination, {}, run, &failure).code(),
            expected)
      << TypeName(to);
  // Without asking which.
  EXPECT_EQ(ParseStrings(TextBatch(texts).view(), to, destination, {}, run).code(), expected);
  return failure;
}

TEST(Failure, TheLowestOfMany) {
  const std::size_t n = 50000;
  BackwardsExecutor backwards;
  ThreadExecutor three(3);
  ThreadExecutor seven(7);
  std::mt19937_64 random(1);
  for (const TypeInfo& to : FixedWidthTypes()) {
    for (const std::size_t lowest : {std::size_t{0}, std::size_t{1}, n / 3, n - 1}) {
      std::vector<std::string> texts(n, "1");
      for (int i = 0; i < 500; ++i) texts[lowest + random() % (n - lowest)] = "x";
      texts[lowest] = "no. " + std::to_string(lowest);
      for (Executor* executor :
           {static_cast<Executor*>(nullptr), static_cast<Executor*>(&backwards),
            static_cast<Executor*>(&three), static_cast<Executor*>(&seven)}) {
        const ParseFailure failure = FailureOf(texts, to.type, executor, StatusCode::kNotANumber);
        ASSERT_EQ(failure.index, lowest) << to.name;
        ASSERT_EQ(failure.text, texts[lowest]) << to.name;
      }
    }
  }
}

// The status is that of the lowest failing text too: the two kinds of failure take turns.
TEST(Failure, TheStatusIsOfTheLowest) {
  const std::size_t n = 40000;
  ThreadExecutor four(4);
  BackwardsExecutor backwards;
  for (const std::size_t lowest : {std::size_t{5}, n / 2, n - 3}) {
    for (const bool number : {false, true}) {
      std::vector<std::string> texts(n, "1");
      for (std::size_t i = lowest; i < n; ++i)
        texts[i] = number == (i % 2 == lowest % 2) ? "inf" : "?";
      for (Executor* executor : {static_cast<Executor*>(nullptr), static_cast<Executor*>(&four),
                                 static_cast<Executor*>(&backwards)}) {
        const ParseFailure failure =
            FailureOf(texts, DataType::kInt32, executor,
                      number ? StatusCode::kNotAnInteger : StatusCode::kNotANumber);
        EXPECT_EQ(failure.index, lowest);
        EXPECT_STREQ(failure.text, number ? "inf" : "?");
      }
    }
  }
}

TEST(Failure, TheIndexCountsSourceFirst) {
  const std::vector<std::string> texts = {"bad", "1", "2", "worse", "3"};
  const TextBatch batch(texts, 5);
  CastPlan plan;
  ASSERT_TRUE(CastPlan::Bind(DataType::kString, DataType::kFloat32, {}, &plan).ok());
  std::vector<std::byte> destination(16);
  ParseFailure failure;
  EXPECT_TRUE(plan.Parse(batch.view(), 1, destination, 0, 2, {}, &failure).ok());
  EXPECT_EQ(plan.Parse(batch.view(), 1, destination, 0, 4, {}, &failure).code(),
            StatusCode::kNotANumber);
  EXPECT_EQ(failure.index, 3u);
  EXPECT_STREQ(failure.text, "worse");
}

TEST(Failure, IntegersThatAreNone) {
  for (const TypeInfo& to : FixedWidthTypes()) {
    if (!to.is_integer()) continue;
    for (const std::string text : {"nan", "-inf", "1e20", "18446744073709551616",
                                   "-9223372036854775809", "1e99999999999999999999"}) {
      const ParseFailure failure =
          FailureOf({"1", text}, to.type, nullptr, StatusCode::kNotAnInteger);
      EXPECT_EQ(failure.index, 1u);
      EXPECT_EQ(failure.text, text);
    }
  }
}

// Whatever the bytes: printable ASCII, at most 64 characters and a NUL, "..." where it was cut.
TEST(Failure, IsShownInAscii) {
  std::vector<std::string> texts = {std::string("\0", 1),
                                    "\n",
                                    "\x7F",
                                    "\xC3\xBC",
                                    "\xFF",
                                    "\x1B[2J",
                                    "a\tb",
                                    "\\",
                                    "\\n",
                                    "\\x0a",
                                    "\\x0A",
                                    "\\x1B[2J",
                                    "\xE2\x80\xAE",
                                    "'",
                                    "\""};
  for (int byte = 0; byte < 256; ++byte)
    texts.push_back("?" + std::string(1, static_cast<char>(byte)));
  std::set<std::string> shown;
  for (const std::string& text : texts) {
    const ParseFailure failure =
        FailureOf({text}, DataType::kFloat32, nullptr, StatusCode::kNotANumber);
    const std::string_view view = failure.text;
    EXPECT_LE(view.size(), 64u);
    EXPECT_TRUE(std::ranges::all_of(view, [](char c) { return c >= ' ' && c <= '~'; })) << view;
    shown.insert(std::string(view));
  }
  // Different texts look different, where they are all shown: there is one text for each byte,
  // and the others repeat none of them.
  EXPECT_EQ(shown.size(), texts.size());
}

TEST(Failure, IsCut) {
  for (std::size_t size = 50; size < 200; ++size) {
    for (const std::string unit : {"abcdefghij", "\xC3\xBC", "\x01"}) {
      std::string text;
      while (text.size() < size) text += unit;
      const ParseFailure failure =
          FailureOf({text}, DataType::kInt8, nullptr, StatusCode::kNotANumber);
      const std::string_view view = failure.text;
      EXPECT_LE(view.size(), 64u);
      EXPECT_TRUE(std::ranges::all_of(view, [](char c) { return c >= ' ' && c <= '~'; })) << view;
      if (unit.size() == 10 && text.size() <= 64) {
        EXPECT_EQ(view, text);
      } else {
        EXPECT_TRUE(view.ends_with("...")) << view;
        EXPECT_GE(view.size(), 56u) << view;  // an escape is not cut in two
        if (unit.size() == 10) {
          EXPECT_EQ(view, text.substr(0, 61) + "...");
        }
      }
    }
  }
}

}  // namespace
}  // namespace tensorcast::testing
