// Configurations edited as text: what is asked for changes, all else keeps its bytes.
//
// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/model_config.h"

#include <gtest/gtest.h>

#include <string>

#include "files/system.h"
#include "json/json_text.h"
#include "test_files.h"

namespace tensorcast::io {
namespace {

// What __TEXT__ of a member reads as, in the order in which members end.
std::string Visited(const std::string& text) {
  std::string all;
  const json::JsonText json("x.json", text);
  json.ForEach([&](const json::JsonText::Member& member) {
    for (const std::string& key : member.keys) all += '/' + key;
    all += '=' + std::string(json.ValueText(member)) + ' ';
  });
  return all;
}

std::string ParseError(const std::string& text) {
  return ErrorOf([&] { json::JsonText("x.json", text); });
}

TEST(JsonText, VisitsMembersWithTheirKeys) {
  EXPECT_EQ(Visited(R"( {"a" : 1, "b": {"c": "x\"}"}, "d": [ {"e": null}, -1.5e-3 ] } )"),
            "/a=1 /b/c=\"x\\\"}\" /b={\"c\": \"x\\\"}\"} /d/e=null "
            "/d=[ {\"e\": null}, -1.5e-3 ] ");
  EXPECT_EQ(Visited("{}"), "");
  EXPECT_EQ(Visited(R"({"A": [NaN, Infinity, -Infinity, true]})"),
            "/A=[NaN, Infinity, -Infinity, true] ");
}

TEST(JsonText, RefusesWhatIsNotOneObject) {
  EXPECT_EQ(ParseError(""), "3 x.json: is not JSON at offset 0: expected an object");
  EXPECT_EQ(ParseError("[1]"), "3 x.json: is not a JSON object");
  EXPECT_EQ(ParseError("{} x"), "3 x.json: is not JSON at offset 3: expected the end");
  EXPECT_EQ(ParseError("{\"a\" 1}"), "3 x.json: is not JSON at offset 5: expected ':'");
  EXPECT_EQ(ParseError("{\"a\": 1,}"),
            "3 x.json: is not JSON at offset 8: expected a name in double quotes");
  EXPECT_EQ(ParseError("{\"a\": 01}"), "3 x.json: is not JSON at offset 6: expected a value");
  EXPECT_EQ(ParseError("{\"a\": nul}"), "3 x.json: is not JSON at offset 6: expected a value");
  EXPECT_EQ(ParseError("{\"a\": "), "3 x.json: is not JSON at offset 6: expected a value");
  EXPECT_EQ(ParseError("{\"a\": [1"), "3 x.json: is not JSON at offset 8: expected ',' or ']'");
  EXPECT_EQ(ParseError("{\"a"), "3 x.json: is not JSON at offset 3: expected the end of a string");
  EXPECT_EQ(ParseError("{\"a\\"),
            "3 x.json: is not JSON at offset 4: expected the end of a string");
  EXPECT_EQ(ParseError("{\"\\q\": 1}"),
            "3 x.json: is not JSON at offset 1: expected a name of valid UTF-8 and escapes");
  EXPECT_EQ(ParseError("{\"a\": \"\n\"}"),
            "3 x.json: is not JSON at offset 7: expected no control character in a string");
  EXPECT_EQ(ParseError("{\"a\": " + std::string(300, '[')),
            "3 x.json: is nested more than 200 deep at offset 206");
  EXPECT_EQ(ParseError(std::string("{\"a\"\0: 1}", 9)),
            "3 x.json: is not JSON at offset 4: expected ':'");
}

TEST(JsonText, SetsMembersInTheStyleOfTheOthers) {
  json::JsonText lines("x.json", "{\n    \"a\": 1,\n    \"b\": 2\n}\n");
  lines.Set("a", "[]");
  lines.Set("c", "{}");
  EXPECT_EQ(lines.text(), "{\n    \"a\": [],\n    \"b\": 2,\n    \"c\": {}\n}\n");
  json::JsonText line("x.json", "{\"a\": {\"c\": 1}}");
  line.Set("c", "3");
  EXPECT_EQ(line.text(), "{\"a\": {\"c\": 1},\"c\": 3}");
  json::JsonText empty("x.json", " { } ");
  empty.Set("c", "3");
  EXPECT_EQ(empty.text(), " {\n  \"c\": 3\n} ");
  json::JsonText twice("x.json", R"({"a": 1, "a": 2})");
  EXPECT_EQ(twice.Find("a"), "2");
  twice.Set("a", "3");
  EXPECT_EQ(twice.text(), R"({"a": 3, "a": 3})");
}

TEST(JsonText, RemovesMembersWithTheirCommas) {
  const auto without = [](const std::string& text, const char* key) {
    json::JsonText json("x.json", text);
    EXPECT_TRUE(json.Remove(key));
    json::JsonText("x.json", json.text());  // is JSON still
    return json.text();
  };
  EXPECT_EQ(without("{\n  \"a\": 1,\n  \"b\": {\"a\": 2},\n  \"c\": 3\n}", "a"),
            "{\n  \"b\": {\"a\": 2},\n  \"c\": 3\n}");
  EXPECT_EQ(without("{\n  \"a\": 1,\n  \"b\": {\"a\": 2},\n  \"c\": 3\n}", "c"),
            "{\n  \"a\": 1,\n  \"b\": {\"a\": 2}\n}");
  EXPECT_EQ(without("{\n  \"a\": 1 ,\n  \"b\": 2\n}", "a"), "{\n  \"b\": 2\n}");
  EXPECT_EQ(without(R"({"a": 1})", "a"), "{}");
  EXPECT_EQ(without(R"({"a": 1, "a": 2})", "a"), "{}");
  EXPECT_EQ(without(R"({"a": 1, "b": 0, "a": 2})", "a"), R"({"b": 0})");
  json::JsonText json("x.json", R"({"b": {"a": 1}})");
  EXPECT_FALSE(json.Remove("a"));
  EXPECT_EQ(json.text(), R"({"b": {"a": 1}})");
}

class ModelConfigTest : public FileTest {
 protected:
  checkpoint::ModelConfig Config(const std::string& text) {
    WriteBytes(Path("config.json"), text);
    return checkpoint::ModelConfig(files::InputFile(Path("config.json")));
  }
};

TEST_F(ModelConfigTest, NamesTheTypeInEveryPartOfTheModel) {
  checkpoint::ModelConfig config = Config(R"({
  "eps": 1e-05, "limit": [0.0, Infinity], "big": 12345678901234567890123,
  "torch_dtype": "float32",
  "text_config": {"dtype": "torch.float16", "name": "\u00e9"},
  "towers": [{"torch_dtype": "bfloat16"}, {"dtype": null}, {"dtype": "auto"}, {"dtype": 3}],
  "quantization_config": {"dtype": "float32", "weights": {"torch_dtype": "float32"}},
  "dtype": "float8_e4m3fn"
})");
  config.SetType(DataType::kBfloat16);
  EXPECT_EQ(config.text(), R"({
  "eps": 1e-05, "limit": [0.0, Infinity], "big": 12345678901234567890123,
  "torch_dtype": "bfloat16",
  "text_config": {"dtype": "bfloat16", "name": "\u00e9"},
  "towers": [{"torch_dtype": "bfloat16"}, {"dtype": null}, {"dtype": "auto"}, {"dtype": 3}],
  "quantization_config": {"dtype": "float32", "weights": {"torch_dtype": "float32"}},
  "dtype": "bfloat16"
})");
}

TEST_F(ModelConfigTest, IsTheTypeOfTheMostValuesThatTorchComputesIn) {
  checkpoint::ModelTypeCount count;
  EXPECT_EQ(count.Most(), DataType::kUndefined);
  count.Add(DataType::kFloat8E4M3FN, 1000);
  count.Add(DataType::kInt64, 500);
  count.Add(DataType::kFloat64, 0);
  EXPECT_EQ(count.Most(), DataType::kUndefined);
  count.Add(DataType::kFloat32, 6);
  EXPECT_EQ(count.Most(), DataType::kFloat32);
  count.Add(DataType::kFloat16, 4);
  count.Add(DataType::kFloat16, 3);
  EXPECT_EQ(count.Most(), DataType::kFloat16);
}

TEST_F(ModelConfigTest, LosesWhatSaysHowTensorsAreQuantised) {
  checkpoint::ModelConfig config = Config(R"({
  "quantization_config": {"quantization": {"bits": 4}, "a": 1},
  "text_config": {"x": 1, "quantization_config": {"b": 2}},
  "quantization": null,
  "parts": [{"compression_config": {}}],
  "quantization": {"group_size": 64}
})");
  EXPECT_TRUE(config.RemoveQuantisation());
  EXPECT_EQ(config.text(), R"({
  "text_config": {"x": 1},
  "quantization": null,
  "parts": [{}]
})");
  EXPECT_FALSE(config.RemoveQuantisation());
}

TEST_F(ModelConfigTest, RefusesWhatIsTooLarge) {
  WriteBytes(Path("config.json"), "{}");
  std::filesystem::resize_file(Path("config.json"), (16 << 20) + 1);
  EXPECT_EQ(ErrorOf([&] { checkpoint::ModelConfig(files::InputFile(Path("config.json"))); }),
            "3 " + Path("config.json") + ": has 16777217 bytes; at most 16777216 are read");
}

}  // namespace
}  // namespace tensorcast::io
