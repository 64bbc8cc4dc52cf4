// Distances of names against the table that defines them.
//
// SPDX-License-Identifier: Apache-2.0
#include "words/edit_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tensorcast {
namespace {

std::string Lowered(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// Row by row of the table of all prefixes' distances.
std::size_t Defined(const std::string& word, const std::string& name) {
  const std::string a = Lowered(word), b = Lowered(name);
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({replaced, table[i - 1][j] + 1, table[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
      }
    }
  }
  return table[a.size()][b.size()];
}

TEST(EditDistance, IsThatOfTheTable) {
  constexpr std::string_view kCharacters = "abABcC.9_@`[{\xC3\xA4";
  std::mt19937 random(1);
  const auto text = [&](std::size_t longest, std::size_t letters) {
    std::string made(random() % (longest + 1), ' ');
    for (char& c : made) c = kCharacters[random() % letters];
    return made;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::size_t letters = 1 + random() % kCharacters.size();
    const std::size_t longest = i % 2 == 0 ? 12 : words::kLongestCompared;
    const std::string word = text(longest, letters), name = text(longest + 8, letters);
    ASSERT_EQ(words::DistanceFrom(word).To(name), Defined(word, name)) << word << "\n" << name;
  }
}

TEST(EditDistance, OfALongWordItsBeginningCounts) {
  const std::string word(words::kLongestCompared, 'a');
  EXPECT_EQ(words::DistanceFrom(word + "bc").To(word), 0U);
}

}  // namespace
}  // namespace tensorcast
