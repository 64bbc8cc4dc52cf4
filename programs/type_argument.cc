// Parses type names; an unknown one is answered with what it means, or with its neighbours.
//
// SPDX-License-Identifier: Apache-2.0
#include "type_argument.h"

#include <optional>
#include <string>
#include <string_view>

#include "io/tensor_file.h"

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
    {"mxfp4", "is a scaled layout, not supported yet; its elements are float4e2m1"},
    {"nvfp4", "is a scaled layout, not supported yet; its elements are float4e2m1"},
    {"mxfp6", "is a scaled layout, not supported yet; its elements are float6e2m3 or float6e3m2"},
    {"mxfp8", "is a scaled layout, not supported yet; its elements are float8e4m3fn or float8e5m2"},
    {"mxint8", "is a scaled layout, not supported yet; its elements are int8"},
    {"fp8-block", "is a scaled layout, not supported yet; its elements are float8e4m3fn"},
    {"fp8_block", "is a scaled layout, not supported yet; its elements are float8e4m3fn"},
    {"nf4",
     "is a code with scales, not supported; the plain four-bit float is "
     "float4e2m1"},
    {"gptq", "is a way to quantise, which a cast is not; its elements are int4 or uint4"},
    {"awq", "is a way to quantise, which a cast is not; its elements are int4 or uint4"},
    {"tf32", "is not a stored type; the nearest are float32 and bfloat16"},
};

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

// "float16, bfloat16, float32".
std::string NearestNames(std::string_view name) {
  std::string names;
  for (const std::string_view near : NearestTypeNames(name)) {
    names.append(names.empty() ? "" : ", ").append(near);
  }
  return names;
}

}  // namespace

DataType ParseTypeArgument(std::string_view where, std::string_view name) {
  const std::optional<DataType> type = ParseType(name);
  if (!type) {
    if (const std::string_view meaning = MeaningOf(name); !meaning.empty()) {
      throw io::Error(io::ErrorKind::kArguments,
                      std::string(where) + ": '" + io::Escape(name) + "' " + std::string(meaning));
    }
    throw io::Error(io::ErrorKind::kArguments,
                    std::string(where) + ": '" + io::Escape(name.substr(0, 64)) +
                        "' is not a type; the nearest are " + NearestNames(name) +
                        " ('tensorcast types' lists all)");
  }
  return *type;
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
