// Regular expressions over names: what they match, and that hostile ones end.
//
// SPDX-License-Identifier: Apache-2.0
#include "naming/regular_expression.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <string>
#include <string_view>
#include <thread>

#include "files/error.h"
#include "test_files.h"

namespace tensorcast::io {
namespace {

const std::string kNone = "no error";

std::string Repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

naming::RegularExpression Expression(std::string_view text) { return {text, words::Quoted(text)}; }

std::string FirstRefusal(std::string_view text, const std::string& name) {
  return ErrorOf([&] { Expression(text).MatchesWhole(name); });
}

// What Python 3.11's re.fullmatch and re.match say of each.
TEST(RegularExpressions, MatchAsPythonsDo) {
  const struct {
    std::string_view text, name;
    bool whole, beginning;
  } rows[] = {
      {R"(layers\.\d+\.wo\..*)", "layers.12.wo.weight", true, true},
      {R"(layers\.\d+)", "layers.12.wo", false, true},
      {"wo", "model.wo", false, false},
      {".*wo", "model.wo", true, true},
      {"a|ab", "ab", true, true},
      {"(?P<n>a+)b(?P=n)", "aabaa", true, true},
      {"(?P<n>a+)b(?P=n)", "aaba", false, false},
      {R"(model\.(?!vision).*)", "model.vision.w", false, false},
      {R"(model\.(?!vision).*)", "model.text.w", true, true},
      {"(?i)LAYER", "layer", true, true},
      {"h.llo", "hällo", true, true},
      {"h..llo", "hällo", false, false},
      {"[ä-ü]+", "äöü", true, true},
      {".*", "a\nb", false, true},
      {"a$", "a\n", false, true},
      {"", "a", false, true},
      {"", "", true, true},
      {"x{2,3}", "xxxx", false, true},
      {"a*?b", "aaab", true, true},
      {R"([^.]+\.weight)", "lm_head.weight", true, true},
      {R"([^.]+\.weight)", "a.b.weight", false, false},
      {"re:a", "re:a", true, true},
      {"^a$", "a", true, true},
  };
  for (const auto& row : rows) {
    const naming::RegularExpression expression = Expression(row.text);
    EXPECT_EQ(expression.MatchesWhole(row.name), row.whole) << row.text << " on " << row.name;
    EXPECT_EQ(expression.MatchesBeginning(row.name), row.beginning)
        << row.text << " on " << row.name;
  }
}

TEST(RegularExpressions, ANameThatIsNotUtf8MatchesNothing) {
  EXPECT_FALSE(Expression(".*").MatchesWhole("a\xff"));
  EXPECT_NE(FirstRefusal("a\xff", "a"), kNone);
}

TEST(RegularExpressions, IllegalOnesAreRefusedWithTheReasonAndThePlace) {
  EXPECT_EQ(FirstRefusal("(", ""),
            "2 \"(\" is not a regular expression (missing closing parenthesis, behind 1 byte)");
  for (const std::string_view text : {"[a", "*", "(?<n>a)(?<n>b)", "\\", "\\C"}) {
    EXPECT_NE(FirstRefusal(text, ""), kNone) << text;
  }
}

// The first has to end in a letter that the names do not have, which is enough to know.
TEST(RegularExpressions, WhatTakesTooLongIsRefusedAndNamed) {
  const std::string letters(28, 'a');
  EXPECT_FALSE(Expression("(a|a)*b").MatchesWhole(letters));
  for (const std::string_view text : {"(a|a)*[bc]", "(a|aa|aaa)+[bc]", "(?=((a|a)+)+[bc]).*",
                                      "((a|a)*(b|b)*)*[bc]", "(a|(?R)a|a)*[bc]"}) {
    const std::string error = FirstRefusal(text, letters);
    EXPECT_TRUE(error.starts_with("2 " + words::Quoted(text) + " takes too long on the name " +
                                  words::Quoted(letters) + " ("))
        << error;
  }
}

// On a stack of 256 KiB, an eighth of the least that programs have.
TEST(RegularExpressions, NeitherDepthNorLengthTakeStack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{256} << 10);
  pthread_t thread{};
  const auto work = [](void*) -> void* {
    const std::string name(4090, 'a');
    EXPECT_TRUE(Expression("(a|b)*").MatchesWhole(name));
    EXPECT_TRUE(Expression("((a)|(b))+?").MatchesWhole(name));
    EXPECT_TRUE(Expression(".*a.*").MatchesWhole(name));
    EXPECT_FALSE(Expression(".*x.*").MatchesWhole(name));
    EXPECT_TRUE(Expression(Repeated("(", 90) + "a" + Repeated(")", 90)).MatchesWhole("a"));
    for (const int depth : {1000, 20'000}) {
      const std::string deep = Repeated("(", depth) + "a" + Repeated(")", depth);
      EXPECT_NE(FirstRefusal(deep, "a"), kNone);
      EXPECT_NE(FirstRefusal(Repeated("(?:a|", depth) + Repeated(")", depth), "a"), kNone);
    }
    EXPECT_NE(FirstRefusal(std::string(100'000, 'a'), "a"), kNone);
    EXPECT_NE(FirstRefusal("((((a{1,200}){1,200}){1,200}){1,200}){1,200}", "a"), kNone);
    EXPECT_NE(FirstRefusal("a*", std::string(5000, 'a')), kNone);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, work, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(RegularExpressions, CopiesMatchOnAnyThread) {
  const naming::RegularExpression expression = Expression(R"((\w+\.)*weight)");
  const auto work = [copy = expression] {
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(copy.MatchesWhole("a.b.weight"));
  };
  std::thread other(work);
  work();
  other.join();
}

}  // namespace
}  // namespace tensorcast::io
