// Parses type names; an unknown one is answered with what it means, or with its neighbours.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/type_argument.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/error.h"
#include "scale/written_form.h"
#include "shell/suggestions.h"

namespace tensorcast::tool {
namespace {

// Names that stand for several types, or for what is no type of elements; in lower case.
struct Meaning {
  std::string_view name;
  std::string_view said;
};
constexpr Meaning kMeanings[] = {
    {"fp6", "may be float6e2m3 or float6e3m2; name one of them"},
    {"f6", "may be float6e2m3 or float6e3m2; name one of them"},
    {"float6", "may be float6e2m3 or float6e3m2; name one of them"},
    {"float8", "may be float8e4m3fn or float8e5m2; name one of them"},
    {"mxint8", "is a scaled format, not supported; its elements are int8"},
    {"nf4",
     "is a code with scales, not supported; the plain four-bit float is "
     "float4e2m1"},
    {"gptq", "is a way to quantise, which a cast is not; its elements are int4 or uint4"},
    {"awq", "is a way to quantise, which a cast is not; its elements are int4 or uint4"},
    {"tf32", "is not a stored type; the nearest are float32 and bfloat16"},
};

// A scaled format may be written in any case, with '-' or '_'.
std::string FormatSpelling(std::string_view name) {
  std::string canonical(name.substr(0, 32));
  for (char& c : canonical) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return canonical;
}

const scale::ScaledFormat* FormatNamed(std::string_view name) {
  return scale::FindScaledFormat(FormatSpelling(name));
}

// Scaled formats that a misspelt name may have meant: "nvfp4".
std::vector<std::string> NearestFormats(std::string_view name) {
  std::vector<std::string> formats;
  for (const scale::ScaledFormat& format : scale::ScaledFormats()) {
    formats.emplace_back(format.name);
  }
  return NearestNames(formats, FormatSpelling(name));
}

// GGUF's blocks: Q4_0, Q4_K_M, IQ2_XS, TQ1_0.
bool IsGgufBlock(std::string_view lower) {
  if (lower.starts_with("i") || lower.starts_with("t")) lower.remove_prefix(1);
  return lower.size() >= 4 && lower[0] == 'q' && lower[1] >= '1' && lower[1] <= '8' &&
         lower[2] == '_';
}

// What a name means that is no type's; empty where nothing is known of it.
std::string_view MeaningOf(std::string_view name) {
  std::string lower(name.substr(0, 32));
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const Meaning& meaning : kMeanings) {
    if (meaning.name == lower) return meaning.said;
  }
  return IsGgufBlock(lower) ? "is a scaled layout of GGUF's, not supported" : "";
}

// "; the nearest are float16, bfloat16", or nothing where none is near.
template <class Names> std::string NearestText(const Names& names) {
  std::string text;
  std::size_t count = 0;
  for (const std::string_view name : names) {
    if (name.empty()) break;
    text.append(count++ == 0 ? "" : ", ").append(name);
  }
  if (count == 0) return text;
  return (count == 1 ? "; the nearest is " : "; the nearest are ") + text;
}

}  // namespace

DataType ParseTypeArgument(std::string_view where, std::string_view name) {
  const std::optional<DataType> type = ParseType(name);
  if (!type) {
    if (const scale::ScaledFormat* const format = FormatNamed(name); format != nullptr) {
      throw io::Error(io::ErrorKind::kArguments,
                      std::string(where) + ": " + std::string(format->name) +
                          " is a scaled format, which is not taken here; its elements are " +
                          std::string(TypeName(format->scaling.element)));
    }
    if (const std::string_view meaning = MeaningOf(name); !meaning.empty()) {
      throw io::Error(io::ErrorKind::kArguments,
                      std::string(where) + ": '" + io::Escape(name) + "' " + std::string(meaning));
    }
    throw io::Error(io::ErrorKind::kArguments,
                    std::string(where) + ": '" + io::Escape(name.substr(0, 64)) +
                        "' is not a type" + NearestText(NearestTypeNames(name)) +
                        " ('tensorcast types' lists all)");
  }
  return *type;
}

convert::Destination ParseDestination(std::string_view where, std::string_view name) {
  const std::optional<DataType> type = ParseType(name);
  if (type) return *type;
  if (const scale::ScaledFormat* const format = FormatNamed(name); format != nullptr) {
    return scale::FormatOf(*format);
  }
  if (const std::vector<std::string> formats = NearestFormats(name);
      !formats.empty() && MeaningOf(name).empty()) {
    throw io::Error(io::ErrorKind::kArguments,
                    std::string(where) + ": '" + io::Escape(name.substr(0, 64)) +
                        "' is neither a type nor a scaled format" + NearestText(formats) +
                        " ('tensorcast types' lists all)");
  }
  return ParseTypeArgument(where, name);
}

std::string ParseLayoutArgument(std::string_view where, std::string_view name) {
  std::string known;
  for (const std::string_view layout : convert::ScaledLayouts()) {
    if (layout == name) return std::string(name);
    known.append(known.empty() ? "" : ", ").append(layout);
  }
  throw io::Error(io::ErrorKind::kArguments,
                  std::string(where) + ": '" + io::Escape(name) + "' is not one of " + known);
}

convert::ScaleRule ParseScaleRuleArgument(std::string_view where, std::string_view name) {
  if (const auto rule = convert::ParseScaleRule(name)) return *rule;
  std::string known;
  for (const convert::ScaleRule rule : convert::ScaleRules()) {
    known.append(convert::ScaleRuleName(rule)).append(", ");
  }
  throw io::Error(io::ErrorKind::kArguments, std::string(where) + ": '" + io::Escape(name) +
                                                 "' is not one of " + known + "pow2");
}

DataType ParseNumberTypeArgument(std::string_view where, std::string_view name,
                                 std::string_view why) {
  const DataType type = ParseTypeArgument(where, name);
  if (type == DataType::kString) {
    throw io::Error(io::ErrorKind::kArguments,
                    std::string(where) + ": string is not taken here: " + std::string(why));
  }
  return type;
}

}  // namespace tensorcast::tool
