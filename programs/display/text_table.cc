// Fits columns to a width: shortens names first, then leaves out what can be spared.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/text_table.h"

#include <algorithm>
#include <utility>

#include "shell/streams.h"

namespace tensorcast::tool {
namespace {

constexpr std::size_t kColumnGap = 2;

std::size_t Total(const std::vector<std::size_t>& widths) {
  std::size_t total = 1;
  for (const std::size_t width : widths) total += width == 0 ? 0 : width + kColumnGap;
  return total - kColumnGap;
}

std::string Padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, TextWidth(text)), ' ');
  return right ? space + text : text + space;
}

// How wide each column is shown; 0: left out. `widths` are those of the widest cells.
std::vector<std::size_t> Fit(const std::vector<Column>& columns, std::vector<std::size_t> widths,
                             std::size_t width) {
  const auto shrink = [&] {
    for (std::size_t c = 0; c < widths.size() && Total(widths) > width; ++c) {
      const std::size_t least = columns[c].shrinks_to;
      if (least == 0 || widths[c] <= least) continue;
      widths[c] = std::max({least, TextWidth(columns[c].title),
                            widths[c] - std::min(widths[c], Total(widths) - width)});
    }
  };
  const std::vector<std::size_t> natural = widths;
  shrink();
  std::vector<bool> dropped(widths.size());
  while (Total(widths) > width) {
    std::size_t spare = columns.size();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].expendable == 0 || dropped[c]) continue;
      if (spare == columns.size() || columns[c].expendable > columns[spare].expendable) spare = c;
    }
    if (spare == columns.size()) break;
    dropped[spare] = true;
    for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = dropped[c] ? 0 : natural[c];
    shrink();
  }
  return widths;
}

std::string TableLine(const std::vector<Column>& columns, const std::vector<std::size_t>& widths,
                      const TableRow& row, bool colour) {
  std::string rendered;
  std::size_t last = 0;  // end of the last cell that is not blank: no trailing spaces
  for (std::size_t c = 0; c < columns.size() && c < row.cells.size(); ++c) {
    if (widths[c] == 0) continue;
    rendered.append(rendered.empty() ? 1 : kColumnGap, ' ');
    const std::string& cell = row.cells[c];
    const bool right = columns[c].right;
    std::string padded = Padded(cell, widths[c], right);
    const std::size_t used = right ? padded.size() : cell.size();
    const std::size_t plain = padded.size();
    if (c == 0) padded = Styled(padded, row.style, colour);
    if (!cell.empty()) last = rendered.size() + used + (padded.size() - plain);
    rendered += padded;
  }
  rendered.resize(last);
  return rendered + "\n";
}

// The cells of each column that is narrower than its widest, shortened; of the others none. Such a
// column becomes as wide as its widest cell then is.
std::vector<std::vector<std::string>> ShortCells(const std::vector<Column>& titled,
                                                 const TableRows& rows,
                                                 const std::vector<std::size_t>& natural,
                                                 std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> columns(widths.size());
  for (std::size_t c = 0; c < widths.size(); ++c) {
    if (widths[c] == 0 || widths[c] >= natural[c]) continue;
    std::vector<std::string>& cells = columns[c];
    for (std::size_t i = 0; i < rows.count; ++i) {
      std::vector<std::string> row = rows.row(i).cells;
      cells.push_back(c < row.size() ? std::move(row[c]) : std::string());
    }
    cells = report::DistinctNames(cells, widths[c], titled[c].file);
    for (const std::string& cell : cells) widths[c] = std::max(widths[c], TextWidth(cell));
  }
  return columns;
}

template <class Write>
void WriteTable(const std::vector<Column>& columns, const TableRows& rows, std::size_t width,
                bool colour, Write write) {
  TableRow titles;
  std::vector<std::size_t> widths;
  bool titled = false;
  for (const Column& column : columns) {
    titles.cells.push_back(column.title);
    titled = titled || !column.title.empty();
    widths.push_back(std::max<std::size_t>(1, TextWidth(column.title)));
  }
  for (std::size_t i = 0; i < rows.count; ++i) {
    const TableRow row = rows.row(i);
    for (std::size_t c = 0; c < columns.size() && c < row.cells.size(); ++c) {
      widths[c] = std::max(widths[c], TextWidth(row.cells[c]));
    }
  }
  const std::vector<std::size_t> natural = widths;
  widths = Fit(columns, std::move(widths), width);
  const std::vector<std::vector<std::string>> shortened =
      ShortCells(columns, rows, natural, widths);
  if (titled) write(TableLine(columns, widths, titles, colour));
  for (std::size_t i = 0; i < rows.count; ++i) {
    TableRow row = rows.row(i);
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      if (!shortened[c].empty()) row.cells[c] = shortened[c][i];
    }
    write(TableLine(columns, widths, row, colour));
  }
}

}  // namespace

void PrintTable(const std::vector<Column>& columns, const TableRows& rows, std::size_t width,
                bool colour) {
  WriteTable(columns, rows, width, colour, Print);
}

std::string TextTable::Render(std::size_t width, bool colour) const {
  std::string text;
  WriteTable(columns_, {rows_.size(), [&](std::size_t i) { return rows_[i]; }}, width, colour,
             [&](std::string_view line) { text += line; });
  return text;
}

}  // namespace tensorcast::tool
