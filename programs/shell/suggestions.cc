// By a short list of synonyms, then by edit distance.
//
// SPDX-License-Identifier: Apache-2.0
#include "shell/suggestions.h"

#include <algorithm>
#include <initializer_list>

#include "words/nearest_names.h"

namespace tensorcast::tool {
namespace {

struct Synonym {
  std::string_view word;
  std::string_view meant;
};
constexpr Synonym kCommands[] = {
    {"info", "inspect"},     {"show", "inspect"},     {"ls", "inspect"},     {"list", "inspect"},
    {"print", "inspect"},    {"dump", "inspect"},     {"header", "inspect"}, {"cast", "convert"},
    {"quantize", "convert"}, {"quantise", "convert"}, {"export", "convert"}, {"compare", "diff"},
    {"cmp", "diff"},         {"check", "verify"},     {"measure", "loss"},   {"error", "loss"},
    {"benchmark", "bench"},  {"perf", "bench"},       {"dtypes", "types"},   {"formats", "types"},
    {"exec", "run"},
};
constexpr Synonym kOptions[] = {
    {"--dtype", "--to"},     {"--type", "--to"},        {"--overwrite", "--force"},
    {"--yes", "--force"},    {"--out", "--output"},     {"--include", "--tensor"},
    {"--only", "--tensor"},  {"--skip", "--exclude"},   {"--jobs", "--threads"},
    {"--silent", "--quiet"}, {"--no-run", "--dry-run"},
};

template <std::size_t kSize>
std::string_view Meant(const Synonym (&synonyms)[kSize], std::string_view word) {
  for (const Synonym& synonym : synonyms) {
    if (synonym.word == word) return synonym.meant;
  }
  return {};
}

// The first of the nearest; empty where none is near.
std::string Nearest(const std::vector<std::string>& names, std::string_view word) {
  const std::vector<std::string> nearest = words::NearestNames(names, word);
  return nearest.empty() ? std::string() : nearest.front();
}

}  // namespace

std::string NearestCommand(const std::vector<std::string>& names, std::string_view word) {
  if (const std::string_view meant = Meant(kCommands, word); !meant.empty()) {
    return std::string(meant);
  }
  return Nearest(names, word);
}

std::string NearestOption(const std::vector<std::string>& names, std::string_view word) {
  word = word.substr(0, word.find('='));
  const std::string_view meant = Meant(kOptions, word);
  if (std::find(names.begin(), names.end(), meant) != names.end()) return std::string(meant);
  return Nearest(names, word);
}

}  // namespace tensorcast::tool
