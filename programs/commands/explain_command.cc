// tensorcast explain: what a number becomes in each type, bit by bit.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include "arguments/argument_values.h"
#include "arguments/shared_flags.h"
#include "commands/commands.h"
#include "display/explain_text.h"
#include "display/tensor_text.h"
#include "display/tool_json.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/streams.h"
#include "tensorcast/detail/format_algebra.hpp"
#include "tensorcast/explain.hpp"

namespace tensorcast::tool {
namespace {

struct ExplainFlags {
  std::vector<std::string> values;
  std::string bits;
  std::vector<std::string> to;
  CastFlags cast;
};

constexpr const char* kExplainDescription =
    R"(Show what a number becomes in each type: bits, value, neighbours, error, kind of loss.

Examples:
  tensorcast explain 0.1
  tensorcast explain 0.1 --to float8e4m3fn
  tensorcast explain 448 464 465 -inf --to e4m3fn,e5m2
  tensorcast explain --bits float8e4m3fn 0x7E 0b01111110
  tensorcast explain 1e6 --saturate false --json

A VALUE is a decimal number, whose exact value is cast with one rounding; with --bits it is a code of
that type, in hexadecimal, binary or decimal. Losses are named as in the report of convert. If other
options would give another result, it is shown below the type.
)";

Json DecimalJson(const std::optional<ExactDecimal>& decimal) {
  return decimal ? Json(decimal->Text()) : Json();
}

Json CodeJson(DataType type, std::uint64_t code) {
  const TypeInfo& row = *FindType(type);
  Json json = Json::object();
  json["code"] = HexText(row, code);
  json["value"] = ShortestText(type, code);
  json["exact"] = ExactValueOf(type, code).Text();
  return json;
}

Json ResultJson(DataType type, const CastResult& result) {
  Json json = Json::object();
  if (!result.status.ok()) {
    json["refused"] = result.status.message();
  } else if (type == DataType::kString) {
    json["text"] = result.text;
  } else {
    json = CodeJson(type, result.code);
  }
  return json;
}

Json ExplanationJson(const Explanation& type) {
  const TypeInfo& row = *FindType(type.to);
  Json json = Json::object();
  json["type"] = row.name;
  json.update(ResultJson(type.to, type.result));
  if (type.result.status.ok() && row.bits != 0) {
    const BitFields fields = FieldsOf(row, type.result.code);
    json["bits"] = fields.Text();
    json["below"] = type.below ? CodeJson(type.to, *type.below) : Json();
    json["above"] = type.above ? CodeJson(type.to, *type.above) : Json();
    json["ulp"] = type.ulp ? Json(ExactDecimal::FromDouble(*type.ulp).Text()) : Json();
    json["loss"] = LossName(*type.loss);
    json["to_subnormal"] = type.to_subnormal;
    json["zero_sign_lost"] = type.zero_sign_lost;
    json["undefined"] = type.undefined;
  }
  if (type.result.status.ok()) {
    json["absolute_error"] = DecimalJson(type.error);
    if (!type.error_is_exact) json["absolute_error"] = type.error->Rounded(17).Text();
    json["absolute_error_is_exact"] = type.error ? Json(type.error_is_exact) : Json();
    json["relative_error"] = DecimalJson(type.relative_error);
    json["error_in_ulps"] = DecimalJson(type.error_in_ulps);
  }
  json["with_other_options"] = Json::array();
  for (const OtherResult& other : type.others) {
    Json entry = Json::object();
    entry["option"] = FlagName(other.option);
    entry["value"] = CastOptionValue(other.option, other.options);
    entry["result"] = ResultJson(type.to, other.result);
    entry["loss"] = other.loss ? Json(LossName(*other.loss)) : Json();
    json["with_other_options"].push_back(std::move(entry));
  }
  return json;
}

Json SourceJson(const ExplainSource& source) {
  Json json = Json::object();
  json["value"] = source.is_text() ? source.text : ShortestText(source.type, source.code);
  json["type"] = source.is_text() ? Json() : Json(TypeName(source.type));
  json["code"] = source.is_text() ? Json() : Json(HexText(*FindType(source.type), source.code));
  return json;
}

bool LooksLikeBits(std::string_view text) {
  return text.starts_with("0x") || text.starts_with("0X") || text.starts_with("0b") ||
         text.starts_with("0B");
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// A code of `row` in hexadecimal, binary or decimal.
ExplainSource ParseCode(std::string_view text, const TypeInfo& row) {
  std::string_view digits = text;
  int base = 10;
  if (LooksLikeBits(text)) {
    base = text[1] == 'x' || text[1] == 'X' ? 16 : 2;
    digits.remove_prefix(2);
  }
  std::uint64_t code = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, code, base);
  const bool is_code = stop == end && error != std::errc::invalid_argument;
  std::optional<ExplainSource> source;
  if (is_code && error == std::errc()) source = ExplainSource::FromCode(row.type, code);
  if (source) return *source;
  throw files::Error(
      core::ErrorKind::kArguments,
      fmt::format("explain: '{}' {} of {}: 0 to 0x{:X} in hexadecimal (0x7E), binary "
                  "(0b0111) or decimal{}",
                  words::Escape(text.substr(0, 64)),
                  is_code ? "is beyond the codes" : "is not a code", row.name,
                  detail::LowMask(row.bits), is_code ? "" : "; a number is given without --bits"));
}

// What a VALUE names: a decimal number, or with --bits a code.
ExplainSource ParseSource(const std::string& text, std::optional<DataType> bits_of) {
  if (bits_of) return ParseCode(Trimmed(text), *FindType(*bits_of));
  if (const auto source = ExplainSource::FromText(text)) return *source;
  throw files::Error(
      core::ErrorKind::kArguments,
      fmt::format("explain: '{}' is not a number{}", words::Escape(text.substr(0, 64)),
                  LooksLikeBits(Trimmed(text)) ? "; --bits TYPE takes the code of a type"
                                               : " (0.1, 1e-9, -300, nan, inf)"));
}

// The types named, or all; each once.
std::vector<DataType> ParseShownTypes(const std::vector<std::string>& names) {
  std::vector<DataType> types;
  for (const std::string& name : names) {
    const DataType type = ParseTypeArgument("--to", name);
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  if (!types.empty()) return types;
  for (const TypeInfo& row : Types()) types.push_back(row.type);
  return types;
}

int RunExplain(const ExplainFlags& flags) {
  const CastOptions options = ParseCastOptions(flags.cast);
  const std::vector<DataType> types = ParseShownTypes(flags.to);
  std::optional<DataType> bits_of;
  if (!flags.bits.empty()) {
    bits_of = ParseNumberTypeArgument("--bits", flags.bits,
                                      "it has no code; give the text without --bits");
  }
  std::vector<ExplainSource> sources;
  for (const std::string& text : flags.values) {
    sources.push_back(ParseSource(text, bits_of));
  }
  const auto explain = [&](const ExplainSource& source) {
    std::vector<Explanation> explanations;
    for (const DataType type : types) explanations.push_back(Explain(source, type, options));
    return explanations;
  };
  if (flags.cast.json) {
    JsonPrinter json("explain");
    json.Array("values", sources, [&](const ExplainSource& source) {
      Json entry = Json::object();
      entry["source"] = SourceJson(source);
      entry["results"] = Json::array();
      for (const Explanation& type : explain(source)) {
        entry["results"].push_back(ExplanationJson(type));
      }
      return entry;
    });
    json.Member("options", OptionsJson(options));
    json.End();
    return kExitDone;
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (i > 0) Print("\n");
    const std::vector<Explanation> explanations = explain(sources[i]);
    const std::string text = types.size() == 1 ? ExplainDrawing(sources[i], explanations.front())
                                               : ExplainTable(sources[i], explanations);
    Print(text);
  }
  return kExitDone;
}

}  // namespace

void AddExplainCommand(CommandLine& line) {
  auto flags = std::make_shared<ExplainFlags>();
  Command command = line.AddCommand("explain", kExplainDescription);
  command.AddOption("VALUE", flags->values, "A decimal number, nan or inf; with --bits a code")
      .Required();
  command.AddOption("--bits T", flags->bits, "VALUE is a code of this type: 0x7E, 0b0111, 126");
  command
      .AddOption("--to T", flags->to,
                 "A type to show (default: all); repeatable, or joined by commas")
      .Delimiter(',')
      .OneValue();
  AddCastOptionFlags(command, flags->cast);
  command.AddFlag("--json", flags->cast.json, "Print JSON");
  command.Runs([flags] { return RunExplain(*flags); });
}

}  // namespace tensorcast::tool
