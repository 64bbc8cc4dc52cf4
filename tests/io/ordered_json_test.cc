// JSON whose members keep their order: beside nlohmann's own, which searches, with few members and
// many.
//
// SPDX-License-Identifier: Apache-2.0
#include "json/ordered_json.h"

#include <gtest/gtest.h>

#include <string>

namespace tensorcast::io {
namespace {

std::string Name(int i) { return "key" + std::to_string(i * 7919 % 1000); }

TEST(OrderedJson, IsAsNlohmannsOwn) {
  for (const int count : {0, 1, 15, 16, 17, 33, 1000}) {
    json::OrderedJson ours = json::OrderedJson::object();
    nlohmann::ordered_json theirs = nlohmann::ordered_json::object();
    const auto expect_same = [&] { EXPECT_EQ(ours.dump(), theirs.dump()) << count; };
    for (int i = 0; i < 2 * count; ++i) {  // each name twice: it stays where it was
      ours[Name(i % count)] = i;
      theirs[Name(i % count)] = i;
    }
    expect_same();
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(ours.contains(Name(i)), theirs.contains(Name(i)));
    json::OrderedJson copy = ours;
    for (int i = 0; i < count; i += 3) {
      EXPECT_EQ(ours.erase(Name(i)), 1U);
      EXPECT_EQ(ours.erase(Name(i)), 0U);
      theirs.erase(Name(i));
    }
    expect_same();
    ours.update(copy);
    theirs.update(nlohmann::ordered_json::parse(copy.dump()));
    expect_same();
    copy.get_ref<json::OrderedJson::object_t&>().EraseIf(
        [](const std::string& name) { return name.ends_with('3'); });
    for (int i = 0; i < count; ++i) EXPECT_EQ(copy.contains(Name(i)), !Name(i).ends_with('3'));
    ours.clear();
    EXPECT_FALSE(ours.contains(Name(0)));
    ours["new"] = 1;
    EXPECT_EQ(ours.dump(), R"({"new":1})");
  }
}

TEST(OrderedJson, IsParsedUpToADepth) {
  const std::string text = R"({"a":[{"b":"}]\"{"},2],"a":{"c":null},"d":1.5})";
  EXPECT_EQ(json::ParseJson(text, 3)->dump(), nlohmann::ordered_json::parse(text).dump());
  EXPECT_FALSE(json::ParseJson(text, 2));
  EXPECT_FALSE(json::ParseJson(R"({"a":1)", 9));
  EXPECT_FALSE(json::ParseJson(std::string("1\0", 2), 9));
  EXPECT_EQ(json::ParseJson("null", 0)->dump(), "null");
}

// As json.dumps writes them; configurations of Mamba's kin have them.
TEST(OrderedJson, TakesInfinitiesOfPythonForNull) {
  EXPECT_EQ(json::ParseJson(R"({"a":[0.5,Infinity,-Infinity,NaN],"NaN":"\"-Infinity"})", 3)->dump(),
            R"({"a":[0.5,null,null,null],"NaN":"\"-Infinity"})");
  EXPECT_FALSE(json::ParseJson("[Infinity2]", 3));
  EXPECT_FALSE(json::ParseJson("[Nan]", 3));
}

}  // namespace
}  // namespace tensorcast::io
