// A graph told node by node, as a table for terminals or as CSV.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/cast_operator.h"
#include "graph/graph_state.h"
#include "text/shortest.h"
#include "words/error_text.h"

namespace tensorcast {
namespace {

constexpr std::size_t kColumns = 11;
using Row = std::array<std::string, kColumns>;
constexpr std::array<std::string_view, kColumns> kHeads = {
    "index",      "name",     "op",        "from",  "to",     "saturate",
    "round_mode", "training", "lda_coeff", "bytes", "seconds"};

std::string TypeText(DataType type) {
  return type == DataType::kUndefined ? std::string() : std::string(TypeName(type));
}

Row RowOf(const GraphNode& node, const NodeProfile* profile) {
  Row row;
  row[0] = std::to_string(node.index);
  row[1] = node.name;
  row[2] = node.domain.empty() ? node.op_type : node.domain + '.' + node.op_type;
  row[3] = TypeText(node.from);
  row[4] = TypeText(node.to);
  if (node.is_cast) {
    row[5] = node.saturate ? "true" : "false";
    row[6] = graph::RoundModeText(node.round_mode);
    row[7] = node.training ? "true" : "false";
    row[8] = text::ShortestText(node.lda_coeff);
  }
  if (profile != nullptr) {
    row[9] = std::to_string(profile->bytes_read + profile->bytes_written);
    row[10] = text::ShortestText(profile->seconds);
  }
  return row;
}

// RFC 4180: fields with separators in quotes, quotes doubled, lines end with CRLF.
void AddCsv(const Row& row, std::size_t columns, std::string& text) {
  for (std::size_t i = 0; i < columns; ++i) {
    if (i != 0) text += ',';
    if (row[i].find_first_of(",\"\r\n") == std::string::npos) {
      text += row[i];
      continue;
    }
    text += '"';
    for (const char c : row[i]) {
      if (c == '"') text += '"';
      text += c;
    }
    text += '"';
  }
  text += "\r\n";
}

void AddText(const Row& row, const std::array<std::size_t, kColumns>& widths, std::size_t columns,
             std::string& text) {
  std::string line;
  for (std::size_t i = 0; i < columns; ++i) {
    line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  text += line + '\n';
}

}  // namespace

inline namespace TENSORCAST_ABI {

std::string Graph::Summary(SummaryFormat format, std::span<const NodeProfile> last_run) const {
  std::unordered_map<std::string_view, const NodeProfile*> profiles;
  for (const NodeProfile& profile : last_run) profiles.emplace(profile.node, &profile);
  const std::size_t columns = last_run.empty() ? kColumns - 2 : kColumns;
  std::vector<Row> rows(1);
  std::copy(kHeads.begin(), kHeads.end(), rows[0].begin());
  const GraphState& state = GraphAccess::State(*this);
  for (const GraphNode& node : Nodes()) {
    // A profile calls a node without a name by its first output.
    const bool has_output = !node.outputs.empty() && node.outputs[0].graph != 0;
    const std::string_view called =
        !node.name.empty() || !has_output
            ? std::string_view(node.name)
            : std::string_view(state.graph.body.name(node.outputs[0].index));
    const auto found = profiles.find(called);
    rows.push_back(RowOf(node, found == profiles.end() ? nullptr : found->second));
  }
  std::string text;
  if (format == SummaryFormat::kCsv) {
    for (const Row& row : rows) AddCsv(row, columns, text);
    return text;
  }
  std::array<std::size_t, kColumns> widths{};
  for (Row& row : rows) {
    row[1] = words::EscapeName(row[1]);
    row[2] = words::EscapeName(row[2]);
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) AddText(row, widths, columns, text);
  return text;
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
