// Parses values of options; an unknown type is answered with what its name means, or with its
// neighbours.
//
// SPDX-License-Identifier: Apache-2.0
#include "arguments/argument_values.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "files/error.h"
#include "scale/written_form.h"
#include "words/nearest_names.h"

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

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1}, {"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};

[[noreturn]] void Refuse(std::string_view where, const std::string& why) {
  throw files::Error(core::ErrorKind::kArguments, fmt::format("{}: {}", where, why));
}

std::string Lower(std::string_view name) {
  std::string lower(name.substr(0, 32));
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// A scaled format may be written in any case, with '-' or '_'.
std::string FormatSpelling(std::string_view name) {
  std::string canonical = Lower(name);
  std::ranges::replace(canonical, '_', '-');
  return canonical;
}

const scale::ScaledFormat* FormatNamed(std::string_view name) {
  const auto all = scale::ScaledFormats();
  const auto found = std::ranges::find_if(all, [&](const scale::ScaledFormat& format) {
    return FormatSpelling(format.name) == FormatSpelling(name);
  });
  return found != all.end() ? &*found : nullptr;
}

// Scaled formats that a misspelt name may have meant: "nvfp4".
std::vector<std::string> NearestFormats(std::string_view name) {
  std::vector<std::string> formats;
  for (const scale::ScaledFormat& format : scale::ScaledFormats()) {
    formats.emplace_back(format.name);
  }
  return words::NearestNames(formats, FormatSpelling(name));
}

// GGUF's blocks: Q4_0, Q4_K_M, IQ2_XS, TQ1_0.
bool IsGgufBlock(std::string_view lower) {
  if (lower.starts_with("i") || lower.starts_with("t")) lower.remove_prefix(1);
  return lower.size() >= 4 && lower[0] == 'q' && lower[1] >= '1' && lower[1] <= '8' &&
         lower[2] == '_';
}

// What a name means that is no type's; empty where nothing is known of it.
std::string_view MeaningOf(std::string_view name) {
  const std::string lower = Lower(name);
  for (const Meaning& meaning : kMeanings) {
    if (meaning.name == lower) return meaning.said;
  }
  return IsGgufBlock(lower) ? "is a type of GGUF's that is not written; q8_0, q5_1, q5_0, q4_1, "
                              "q4_0, mxfp4 and nvfp4 are"
                            : "";
}

// "; the nearest are float16, bfloat16", or nothing where none is near.
template <class Names> std::string NearestText(const Names& names) {
  Words near;
  std::ranges::copy_if(names, std::back_inserter(near),
                       [](std::string_view name) { return !name.empty(); });
  if (near.empty()) return {};
  return fmt::format("; the nearest {} {}", near.size() == 1 ? "is" : "are", fmt::join(near, ", "));
}

}  // namespace

void RefuseWord(std::string_view where, std::string_view word, const Words& words) {
  Refuse(where, fmt::format("'{}' is not one of {}", words::Escape(word), fmt::join(words, ", ")));
}

void RequireWord(std::string_view where, std::string_view word, const Words& words) {
  if (std::ranges::find(words, word) == words.end()) RefuseWord(where, word, words);
}

std::uint64_t ParseNumber(std::string_view where, std::string_view text, std::uint64_t least,
                          std::uint64_t most) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) {
    Refuse(where,
           fmt::format("'{}' is not a number from {} to {}", words::Escape(text), least, most));
  }
  return number;
}

std::uint64_t ParseSizeArgument(std::string_view where, std::string_view text) {
  const char* const end = text.data() + text.size();
  double value = 0;
  const std::from_chars_result number =
      std::from_chars(text.data(), end, value, std::chars_format::fixed);
  std::string name(number.ptr, end);
  name.erase(0, name.find_first_not_of(' '));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const auto* const unit = std::ranges::find(kUnits, name, &Unit::name);
  constexpr double kMost = 1e18;
  const double bytes =
      unit != std::end(kUnits) && number.ec == std::errc() ? value * unit->bytes : 0;
  // This is false for NaN too.
  if (!(bytes >= 1 && bytes <= kMost)) {
    Refuse(where, words::Quoted(text) +
                      " is not a size of at least a byte; expected a number and KB, MB, GB or TB, "
                      "as in 5GB");
  }
  return static_cast<std::uint64_t>(bytes);
}

DataType ParseTypeArgument(std::string_view where, std::string_view name) {
  if (const std::optional<DataType> type = ParseType(name)) return *type;
  if (const scale::ScaledFormat* const format = FormatNamed(name); format != nullptr) {
    Refuse(where, fmt::format("{} is a scaled format, which is not taken here; its elements are {}",
                              format->name,
                              format->is_of_blocks ? "integers of a few bits"
                                                   : TypeName(format->scaling.element)));
  }
  if (const std::string_view meaning = MeaningOf(name); !meaning.empty()) {
    Refuse(where, fmt::format("'{}' {}", words::Escape(name), meaning));
  }
  Refuse(where,
         fmt::format("'{}' is not a type{} ('tensorcast types' lists all)",
                     words::Escape(name.substr(0, 64)), NearestText(NearestTypeNames(name))));
}

DataType ParseNumberTypeArgument(std::string_view where, std::string_view name,
                                 std::string_view why) {
  const DataType type = ParseTypeArgument(where, name);
  if (type == DataType::kString) Refuse(where, fmt::format("string is not taken here: {}", why));
  return type;
}

convert::Destination ParseDestination(std::string_view where, std::string_view name) {
  if (const std::optional<DataType> type = ParseType(name)) return *type;
  if (const scale::ScaledFormat* const format = FormatNamed(name); format != nullptr) {
    return scale::FormatOf(*format);
  }
  if (const std::vector<std::string> formats = NearestFormats(name);
      !formats.empty() && MeaningOf(name).empty()) {
    Refuse(where, fmt::format("'{}' is neither a type nor a scaled format{} ('tensorcast types' "
                              "lists all)",
                              words::Escape(name.substr(0, 64)), NearestText(formats)));
  }
  return ParseTypeArgument(where, name);
}

std::string ParseRepackArgument(std::string_view where, std::string_view name) {
  const auto known = convert::RepackLayouts();
  RequireWord(where, name, {known.begin(), known.end()});
  return std::string(name);
}

std::string ParseLayoutArgument(std::string_view where, std::string_view name) {
  const auto known = convert::ScaledLayouts();
  RequireWord(where, name, {known.begin(), known.end()});
  return std::string(name);
}

std::uint64_t ParseGroupArgument(std::string_view where, std::string_view name) {
  if (name == "channel") return 0;
  for (const std::uint64_t size : scale::kGroupSizes) {
    if (size != 0 && name == std::to_string(size)) return size;
  }
  RefuseWord(where, name, {"32", "64", "128", "channel"});
}

convert::ScaleRule ParseScaleRuleArgument(std::string_view where, std::string_view name) {
  if (const auto rule = convert::ParseScaleRule(name)) return *rule;
  Words words;
  std::ranges::transform(convert::ScaleRules(), std::back_inserter(words), convert::ScaleRuleName);
  words.emplace_back("pow2");
  RefuseWord(where, name, words);
}

convert::Keep ParseKeep(std::string_view where, std::string_view word) {
  if (const auto keep = convert::ParseKeep(word)) return *keep;
  Words words;
  std::ranges::transform(convert::Keeps(), std::back_inserter(words), convert::KeepName);
  RefuseWord(where, word, words);
}

}  // namespace tensorcast::tool
