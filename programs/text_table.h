// A table of text in columns, fitted to a width.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_TEXT_TABLE_H_
#define TENSORCAST_PROGRAMS_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "terminal.h"

namespace tensorcast::tool {

struct Column {
  std::string title;
  bool right = false;          // numbers are aligned at the right
  std::size_t shrinks_to = 0;  // columns it may be shortened to, in the middle; 0: it may not
  // Left out when the table is too wide, the highest number first; 0: never.
  int expendable = 0;
};

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column; `style` is that of the row's first cell.
  void Add(std::vector<std::string> cells, Style style = Style::kPlain);

  // The lines, each ended by '\n' and indented by one space.
  std::string Render(std::size_t width, bool colour) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Style style;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_TEXT_TABLE_H_
