// Fits columns to a width: shortens names first, then leaves out what can be spared.
//
// SPDX-License-Identifier: Apache-2.0
#include "text_table.h"

#include <algorithm>
#include <utility>

namespace tensorcast::tool {
namespace {

constexpr std::size_t kGap = 2;

std::size_t Total(const std::vector<std::size_t>& widths) {
  std::size_t total = 1;
  for (const std::size_t width : widths) total += width == 0 ? 0 : width + kGap;
  return total - kGap;
}

std::string Padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, TextWidth(text)), ' ');
  return right ? space + text : text + space;
}

}  // namespace

void TextTable::Add(std::vector<std::string> cells, Style style) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), style});
}

std::string TextTable::Render(std::size_t width, bool colour) const {
  std::vector<std::size_t> widths;  // 0: left out
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = std::max<std::size_t>(1, TextWidth(columns_[c].title));
    for (const Row& row : rows_) widest = std::max(widest, TextWidth(row.cells[c]));
    widths.push_back(widest);
  }
  const auto shrink = [&] {
    for (std::size_t c = 0; c < widths.size() && Total(widths) > width; ++c) {
      const std::size_t least = columns_[c].shrinks_to;
      if (least == 0 || widths[c] <= least) continue;
      widths[c] = std::max(least, widths[c] - std::min(widths[c], Total(widths) - width));
    }
  };
  const std::vector<std::size_t> natural = widths;
  shrink();
  std::vector<bool> dropped(widths.size());
  while (Total(widths) > width) {
    std::size_t spare = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].expendable == 0 || dropped[c]) continue;
      if (spare == columns_.size() || columns_[c].expendable > columns_[spare].expendable) {
        spare = c;
      }
    }
    if (spare == columns_.size()) break;
    dropped[spare] = true;
    for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = dropped[c] ? 0 : natural[c];
    shrink();
  }

  std::string text;
  const auto line = [&](const std::vector<std::string>& cells, Style first) {
    std::string rendered;
    std::size_t last = 0;  // end of the last cell that is not blank: no trailing spaces
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (widths[c] == 0) continue;
      rendered.append(rendered.empty() ? 1 : kGap, ' ');
      const std::string cell = Shorten(cells[c], widths[c]);
      const bool right = columns_[c].right;
      std::string padded = Padded(cell, widths[c], right);
      const std::size_t used = right ? padded.size() : cell.size();
      const std::size_t plain = padded.size();
      if (c == 0) padded = Styled(padded, first, colour);
      if (!cell.empty()) last = rendered.size() + used + (padded.size() - plain);
      rendered += padded;
    }
    text.append(rendered, 0, last).append("\n");
  };
  bool titled = false;
  std::vector<std::string> titles;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    titled = titled || !column.title.empty();
  }
  if (titled) line(titles, Style::kPlain);
  for (const Row& row : rows_) line(row.cells, row.style);
  return text;
}

}  // namespace tensorcast::tool
