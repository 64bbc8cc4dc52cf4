// What the readers of JSON, BSON and YAML take, what they refuse of hostile bytes, and that what is
// written is read as the same. The values of YAML's scalars are PyYAML 6.0.3's.
//
// SPDX-License-Identifier: Apache-2.0
#include "mdf/syntax.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/failure.h"
#include "graph/error.h"

namespace tensorcast::mdf {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What refuses a text says; empty where it is read.
std::string Refusal(Value (*read)(const std::string&, const std::string&),
                    const std::string& text) {
  try {
    (void)read("file", text);
    return {};
  } catch (const graph::Error& error) {
    return error.what();
  } catch (const core::Failure& failure) {
    return failure.what();
  }
}

// A value as text, with the type of each number and every bit of the doubles.
std::string Shown(const Value& value) {
  if (value.IsNull()) return "null";
  if (const auto* const flag = value.As<bool>()) return *flag ? "true" : "false";
  if (const auto* const whole = value.As<Integer>()) {
    return (whole->negative ? "i-" : "i") + std::to_string(whole->magnitude);
  }
  if (const auto* const number = value.As<double>()) {
    return std::isnan(*number) ? "nan"
                               : "f" + std::to_string(std::bit_cast<std::uint64_t>(*number));
  }
  if (const auto* const text = value.As<std::string>()) return "'" + *text + "'";
  std::string shown;
  if (const auto* const list = value.As<List>()) {
    for (const Value& each : *list) shown += Shown(each) + ",";
    return "[" + shown + "]";
  }
  for (const Member& member : *value.As<Object>()) {
    shown += member.name + ":" + Shown(member.value) + ",";
  }
  return "{" + shown + "}";
}

Value Document() {
  return Object{{"texts", List{"",      "null", "1",  "1.5", "é",    "a b", "tab\there",
                               "\"",    "'",    ":",  "# x", "true", "- a", "line\nbreak",
                               " lead", "~",    "on", "1e5", "1:30", "<<"}},
                {"whole", List{Integer{false, 0}, Integer{true, std::uint64_t{1} << 63},
                               Integer{false, INT64_MAX}, Integer{false, std::uint64_t{1} << 31}}},
                {"floats", List{0.0, -0.0, 1.0, 0.1, 5e-324, 1.7976931348623157e308, 1e21, 1e-7,
                                kInfinity, -kInfinity, std::nan("")}},
                {"others", Object{{"yes", true},
                                  {"no", false},
                                  {"nothing", Value()},
                                  {"empty list", List()},
                                  {"empty object", Object()},
                                  {"lists", List{List{List{true}}, List()}}}}};
}

TEST(Json, WhatIsWrittenIsReadAsTheSame) {
  EXPECT_EQ(Shown(ReadJson("file", WriteJson(Document()))), Shown(Document()));
}

TEST(Json, NumbersAsPythonReadsThem) {
  const Value read = ReadJson(
      "file", R"({"v": [1, -1, 1.0, 1e2, -0, -0.0, 18446744073709551615, NaN, -Infinity]})");
  EXPECT_EQ(Shown(*read.Find("v")),
            Shown(List{Integer{false, 1}, Integer{true, 1}, 1.0, 100.0, Integer{false, 0}, -0.0,
                       Integer{false, UINT64_MAX}, std::nan(""), -kInfinity}));
}

TEST(Json, HostileTextIsRefusedInOneLine) {
  std::string deep = "{\"a\":";
  for (int i = 0; i < 150; ++i) deep += "[";
  for (const std::string& text :
       {std::string(), std::string("["), std::string("{\"a\": \"\\"), std::string("{\"a\\"),
        std::string("{\"a\":1,\"a\":2}"), std::string("{\"a\":01}"),
        std::string("{\"a\":18446744073709551616}"), std::string("{\"a\":-9223372036854775809}"),
        std::string("{\"a\":1e999}"), std::string("{\"a\":\"\xFF\"}"),
        std::string("{\"a\":\"\\ud800\"}"), std::string("{\"a\":nan}"), std::string("{} x"),
        deep}) {
    const std::string refusal = Refusal(ReadJson, text);
    EXPECT_FALSE(refusal.empty()) << text;
    EXPECT_EQ(refusal.find('\n'), std::string::npos) << text;
  }
}

TEST(Json, AsManyValuesAsAreReadAndNoMore) {
  std::string text = "{\"a\":[0";
  text.reserve(2 * kMostValues + 16);
  for (std::size_t i = 3; i < kMostValues; ++i) text += ",0";  // beside the object and the list
  EXPECT_EQ(Refusal(ReadJson, text + "]}"), "");
  EXPECT_NE(Refusal(ReadJson, text + ",0]}").find("more than 4194304 values"), std::string::npos);
}

TEST(Bson, WhatIsWrittenIsReadAsTheSame) {
  EXPECT_EQ(Shown(ReadBson("file", WriteBson(Document()))), Shown(Document()));
}

// bson.encode({"a": {"b": [1, 2**40, 1.5, True, None, "x"]}}) of pymongo 4.20.
constexpr char kByPymongo[] =
    "\x42\x00\x00\x00\x03"
    "a\x00\x3a\x00\x00\x00\x04"
    "b\x00\x32\x00\x00\x00\x10"
    "0\x00\x01\x00\x00\x00"
    "\x12"
    "1\x00\x00\x00\x00\x00\x00\x01\x00\x00\x01"
    "2\x00\x00\x00\x00\x00\x00\x00\xf8\x3f\x08"
    "3\x00"
    "\x01\x0a"
    "4\x00\x02"
    "5\x00\x02\x00\x00\x00x\x00\x00\x00\x00";

TEST(Bson, AsPymongoWritesIt) {
  const std::string bytes(kByPymongo, sizeof(kByPymongo) - 1);
  const Value expected =
      Object{{"a", Object{{"b", List{Integer{false, 1}, Integer{false, std::uint64_t{1} << 40}, 1.5,
                                     true, Value(), "x"}}}}};
  EXPECT_EQ(Shown(ReadBson("file", bytes)), Shown(expected));
  EXPECT_EQ(WriteBson(expected), bytes);
}

TEST(Bson, EveryCutAndEveryChangedByteIsReadOrRefused) {
  const std::string bytes(kByPymongo, sizeof(kByPymongo) - 1);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_NE(Refusal(ReadBson, bytes.substr(0, cut)), "") << cut;
  }
  EXPECT_NE(Refusal(ReadBson, bytes + '\0'), "");
  std::size_t read = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      read += Refusal(ReadBson, changed).empty() ? 1 : 0;
    }
  }
  EXPECT_GT(read, 100U);  // those of values and names
}

TEST(Bson, RefusesWhatItDoesNotHold) {
  EXPECT_THROW(WriteBson(Object{{"a", Integer{false, std::uint64_t{1} << 63}}}), graph::Error);
  EXPECT_THROW(WriteBson(Object{{std::string("a\0b", 3), true}}), graph::Error);
  EXPECT_THROW(WriteBson(List{}), graph::Error);
  EXPECT_NE(Refusal(ReadBson, std::string("\x10\0\0\0\x05"
                                          "b\0\1\0\0\0\0\xFF\0\0\0",
                                          16))
                .find("type 5 at offset 4"),
            std::string::npos);
}

#ifdef HAS_YAML

Value YamlScalar(const std::string& text) {
  return *ReadYaml("file", "v: " + text + "\n").Find("v");
}

TEST(Yaml, WhatIsWrittenIsReadAsTheSame) {
  EXPECT_EQ(Shown(ReadYaml("file", WriteYaml(Document()))), Shown(Document()));
}

TEST(Yaml, PlainScalarsAsPyYamlReadsThem) {
  EXPECT_EQ(Shown(YamlScalar("010")), "i8");
  EXPECT_EQ(Shown(YamlScalar("08")), "'08'");
  EXPECT_EQ(Shown(YamlScalar("0x1_F")), "i31");
  EXPECT_EQ(Shown(YamlScalar("-0b101")), "i-5");
  EXPECT_EQ(Shown(YamlScalar("1_000")), "i1000");
  EXPECT_EQ(Shown(YamlScalar("1e5")), "'1e5'");
  EXPECT_EQ(Shown(YamlScalar("1.0e5")), "'1.0e5'");
  EXPECT_EQ(Shown(YamlScalar("1.0e+5")), Shown(1e5));
  EXPECT_EQ(Shown(YamlScalar("-.5")), "'-.5'");
  EXPECT_EQ(Shown(YamlScalar(".5")), Shown(0.5));
  EXPECT_EQ(Shown(YamlScalar("yes")), "true");
  EXPECT_EQ(Shown(YamlScalar("y")), "'y'");
  EXPECT_EQ(Shown(YamlScalar("~")), "null");
  EXPECT_EQ(Shown(YamlScalar("-.Inf")), Shown(-kInfinity));
  EXPECT_EQ(Shown(YamlScalar("'1'")), "'1'");
  EXPECT_EQ(Shown(YamlScalar("!!str 1")), "'1'");
}

TEST(Yaml, AliasesAreWhatTheyName) {
  EXPECT_EQ(Shown(ReadYaml("file", "a: &x [1, {b: 2}]\nc: *x\n")),
            "{a:[i1,{b:i2,},],c:[i1,{b:i2,},],}");
}

TEST(Yaml, HostileTextIsRefusedInOneLine) {
  // A billion laughs: each level names the one before ten times.
  std::string laughs = "a0: &a0 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) laughs += ", " + before;
    laughs += "]\n";
  }
  std::string deep = "a0: &a0 [0]\n";  // each is one deeper than the one before
  for (int i = 1; i < 150; ++i) {
    deep += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
            "]\n";
  }
  for (const std::string& text :
       {std::string(), laughs, deep, "a: " + std::string(5000, '['), std::string("a: *x"),
        std::string("a: &x [*x]"), std::string("a: 1\na: 2\n"), std::string("a: 1\n---\nb: 2\n"),
        std::string("a: !!python/object/apply:os.system [x]"), std::string("<<: {a: 1}"),
        std::string("? [1]\n: 2\n"), std::string("a: 1:30"), std::string("a: \xFF"),
        std::string("a: 18446744073709551616"), std::string("a: !!float 1"),
        std::string("\t a: 1")}) {
    const std::string refusal = Refusal(ReadYaml, text);
    EXPECT_FALSE(refusal.empty()) << text.substr(0, 80);
    EXPECT_EQ(refusal.find('\n'), std::string::npos) << refusal;
  }
}

#else

TEST(Yaml, RefusedWithoutLibyaml) {
  EXPECT_NE(Refusal(ReadYaml, "a: 1\n").find("libyaml"), std::string::npos);
}

#endif

TEST(Syntaxes, AreToldByWhatAFileHolds) {
  const auto name = [](std::string_view head) -> std::string {
    const Syntax* const found = SyntaxOfHead(head);
    return found == nullptr ? "" : std::string(found->name);
  };
  EXPECT_EQ(name("{\"m\": {\"format\": \"ModECI MDF v0.4\""), "JSON");
  EXPECT_EQ(name(" \n{\"m\": {\"format\": \"ModECI MDF v0.4\""), "JSON");
  EXPECT_EQ(name("m:\n  format: ModECI MDF v0.4\n"), "YAML");
  EXPECT_EQ(name(std::string("\x99\0\0\0\x03m\0\x88\0\0\0\x02"
                             "format\0\x10\0\0\0ModECI MDF v0.4\0",
                             39)),
            "BSON");
  EXPECT_EQ(name("{\"m\": 1}"), "");
  EXPECT_EQ(name("\x08\x0A\x12 ModECI MDF v0.4"), "");
  EXPECT_EQ(SyntaxOfEnding("a/b.YML")->name, "YAML");
  EXPECT_EQ(SyntaxOfEnding("json"), nullptr);
}

}  // namespace
}  // namespace tensorcast::mdf
