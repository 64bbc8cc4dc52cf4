// Code points are counted only of a string that may have the most.
//
// SPDX-License-Identifier: Apache-2.0
#include "text/string_piece.h"

#include <algorithm>

#include "words/utf8.h"

namespace tensorcast::text {

void AddTextSize(const Strings& texts, TextSize& size) {
  for (std::uint64_t i = 0; i < texts.size(); ++i) {
    const std::string_view text = texts[i];
    size.total_bytes += text.size();
    size.most_bytes = std::max<std::uint64_t>(size.most_bytes, text.size());
    if (text.size() <= size.most_code_points) continue;
    std::uint64_t points = 0;
    for (std::string_view rest = text; !rest.empty(); ++points) {
      rest.remove_prefix(words::DecodeUtf8(rest).bytes);
    }
    size.most_code_points = std::max(size.most_code_points, points);
  }
}

}  // namespace tensorcast::text
