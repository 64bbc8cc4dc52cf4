// A table of text in columns, fitted to a width.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_TEXT_TABLE_H_
#define TENSORCAST_PROGRAMS_DISPLAY_TEXT_TABLE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "report/distinct_names.h"
#include "shell/terminal.h"

namespace tensorcast::tool {

struct Column {
  std::string title;
  bool right = false;  // numbers are aligned at the right
  // Columns it may be shortened to (see report/distinct_names.h); 0: it may not.
  std::size_t shrinks_to = 0;
  // Left out when the table is too wide, the highest number first; 0: never.
  int expendable = 0;
  // A column of tensors' names has all those of the file here.
  report::NamesOfFile file = {};
};

struct TableRow {
  std::vector<std::string> cells;  // one per column; those that are missing are blank
  Style style = Style::kPlain;     // of the first cell
};

// Rows that are made when they are asked for, because a checkpoint may have many tensors: row i is
// asked for more than once, for the columns' widths and for its line.
struct TableRows {
  std::size_t count = 0;
  std::function<TableRow(std::size_t)> row;
};

// Prints the titles and the rows as lines, each indented by one space, fitted to `width`.
void PrintTable(const std::vector<Column>& columns, const TableRows& rows, std::size_t width,
                bool colour);

// A table of few rows, as text.
class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void Add(std::vector<std::string> cells, Style style = Style::kPlain) {
    rows_.push_back({std::move(cells), style});
  }

  // The lines, at most `width` columns wide where that can be, each ended by '\n' and indented by
  // one space.
  std::string Render(std::size_t width, bool colour) const;

 private:
  std::vector<Column> columns_;
  std::vector<TableRow> rows_;
};

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_TEXT_TABLE_H_
