// Parses type names; an unknown one is answered with its neighbours in edit distance.
//
// SPDX-License-Identifier: Apache-2.0
#include "type_argument.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <utility>

#include "io/tensor_file.h"

namespace tensorcast::tool {
namespace {

// Spellings to show and to suggest. The library decides what each means; one it did not know would
// be shown nowhere.
constexpr std::array kSpellings = std::to_array<std::string_view>({
    "float",
    "fp32",
    "f32",
    "double",
    "fp64",
    "f64",
    "half",
    "fp16",
    "f16",
    "bf16",
    "torch.bfloat16",
    "e4m3",
    "e4m3fn",
    "fp8_e4m3fn",
    "F8_E4M3",
    "float8_e4m3fn",
    "e5m2",
    "fp8_e5m2",
    "F8_E5M2",
    "float8_e5m2",
    "e4m3fnuz",
    "fp8_e4m3fnuz",
    "e5m2fnuz",
    "fp8_e5m2fnuz",
    "F8_E4M3FNUZ",
    "F8_E5M2FNUZ",
    "e8m0",
    "e8m0fnu",
    "F8_E8M0",
    "float8_e8m0fnu",
    "fp4",
    "e2m1",
    "F4",
    "float4_e2m1fn",
    "fp4_e2m1",
    "e2m3",
    "F6_E2M3",
    "float6_e2m3fn",
    "fp6_e2m3",
    "e3m2",
    "F6_E3M2",
    "float6_e3m2fn",
    "fp6_e3m2",
    "i8",
    "u8",
    "byte",
    "i16",
    "u16",
    "short",
    "i32",
    "u32",
    "int",
    "i64",
    "u64",
    "long",
    "i4",
    "u4",
    "i2",
    "u2",
    "boolean",
    "str",
});

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Levenshtein's distance.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Up to three canonical names, each by its spelling nearest to `name`.
std::string NearestNames(std::string_view name) {
  const std::string wanted = Lower(name.substr(0, 64));
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const TypeInfo& row : Types()) {
    std::size_t distance = EditDistance(wanted, row.name);
    for (const std::string_view spelling : KnownSpellings(row.type)) {
      distance = std::min(distance, EditDistance(wanted, Lower(spelling)));
    }
    found.emplace_back(distance, row.name);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string names(found[0].second);
  for (std::size_t i = 1; i < 3; ++i) names.append(", ").append(found[i].second);
  return names;
}

}  // namespace

DataType ParseTypeArgument(std::string_view where, std::string_view name) {
  const std::optional<DataType> type = ParseType(name);
  if (!type) {
    throw io::Error(io::ErrorKind::kArguments,
                    std::string(where) + ": '" + io::Escape(name.substr(0, 64)) +
                        "' is no type; the nearest are " + NearestNames(name) +
                        " ('tensorcast types' lists all)");
  }
  if (*type == DataType::kString) {
    throw io::Error(io::ErrorKind::kUnsupported,
                    std::string(where) + ": casts to and from string are not in this version");
  }
  return *type;
}

std::vector<std::string_view> KnownSpellings(DataType type) {
  std::vector<std::string_view> spellings;
  for (const std::string_view spelling : kSpellings) {
    if (ParseType(spelling) == type && spelling != TypeName(type)) spellings.push_back(spelling);
  }
  return spellings;
}

}  // namespace tensorcast::tool
