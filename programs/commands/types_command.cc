// tensorcast types: the table of element types.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include "commands/commands.h"
#include "display/text_table.h"
#include "display/tool_json.h"
#include "scale/written_form.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/streams.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

constexpr const char* kTypesDescription =
    R"(List the element types with their ranges and names, and the scaled formats.

Examples:
  tensorcast types
  tensorcast types --json
)";

std::string FieldsText(const TypeInfo& row) {
  switch (row.type_class) {
    case TypeClass::kBool: return "0 or 1";
    case TypeClass::kUnsigned: return "unsigned";
    case TypeClass::kSigned: return "signed";
    case TypeClass::kString: return "UTF-8";
    case TypeClass::kFloat: break;
  }
  return fmt::format("{}/{}/{}/{}", row.has_sign ? 1 : 0, row.exponent_bits, row.mantissa_bits,
                     row.bias);
}

// Whole numbers that are not too long exactly, others in four digits.
std::string LimitText(double value) {
  if (value == std::floor(value) && value < 1e10) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

// What has one scale: "a row", "16 along the last dimension".
std::string CellText(const scale::ScaledFormat& format) {
  switch (format.cells) {
    case scale::CellsBy::kTensor: return "the tensor";
    case scale::CellsBy::kRows: return "a row";
    case scale::CellsBy::kBlocks:
      return fmt::format("{} × {}", format.block_rows, format.block_columns);
    case scale::CellsBy::kGroups: break;
  }
  return fmt::format("{} in a row", format.block_columns);
}

// "float4e2m1"; of GGUF's integers "5 bits", the digit being in their names.
std::string CodesText(const scale::ScaledFormat& format) {
  if (format.is_of_blocks) return fmt::format("{} bits", format.name[1]);
  return std::string(TypeName(format.scaling.element));
}

std::vector<std::string_view> LayoutNames(const scale::ScaledFormat& format) {
  std::vector<std::string_view> names;
  for (const scale::FormatWriter& one : scale::WritersOf(format)) {
    names.push_back(one.dialect->layout);
  }
  return names;
}

std::vector<std::string_view> RuleNames(const scale::ScaledFormat& format) {
  std::vector<std::string_view> names;
  for (const scale::NamedRule& one : format.rules) names.push_back(one.name);
  return names;
}

std::string FormatTable() {
  constexpr std::size_t kAllLayouts = 111;  // columns of the widest row
  const bool has_room = Columns(stdout) >= kAllLayouts;
  TextTable table({{"scaled format"},
                   {"codes", false, 0, 1},
                   {"a scale for"},
                   {"scales", false, 0, 2},
                   {"--scale"},
                   {"--layout"}});
  for (const scale::ScaledFormat& format : scale::ScaledFormats()) {
    std::vector<std::string_view> layouts = LayoutNames(format);
    if (layouts.empty()) layouts = {"measured only"};
    table.Add({std::string(format.name), CodesText(format), CellText(format),
               std::string(TypeName(format.scaling.scale)),
               fmt::format("{}", fmt::join(RuleNames(format), " ")),
               has_room ? fmt::format("{}", fmt::join(layouts, " ")) : std::string(layouts[0])});
    for (std::size_t i = 1; i < layouts.size() && !has_room; ++i) {
      table.Add({"", "", "", "", "", std::string(layouts[i])});
    }
  }
  return table.Render(Columns(stdout), false);
}

std::string AllTypesText() {
  TextTable table({{"name"},
                   {"ONNX", false, 0, 2},
                   {"id", true},
                   {"bits", true},
                   {"s/e/m/bias"},
                   {"max", true},
                   {"min normal", true, 0, 1},
                   {"min > 0", true},
                   {"special"}});
  for (const TypeInfo& row : Types()) {
    std::vector<std::string> cells = {std::string(row.name), std::string(row.onnx_name),
                                      fmt::format("{}", static_cast<int>(row.type)),
                                      row.bits == 0 ? "" : fmt::format("{}", row.bits),
                                      FieldsText(row)};
    if (row.bits != 0) {
      const TypeLimits limits = LimitsOf(row.type);
      cells.push_back(LimitText(limits.greatest));
      cells.push_back(row.is_float() ? LimitText(limits.least_normal) : "");
      cells.push_back(row.is_float() ? LimitText(limits.least_positive) : "");
      cells.push_back(row.has_infinity() ? "Inf NaN" : row.has_nan() ? "NaN" : "·");
    }
    table.Add(std::move(cells));
  }
  std::string text = table.Render(TextColumns(stdout), false) + "\n";
  TextTable spellings({{"name"}, {"also accepted, in any case"}});
  for (const TypeInfo& row : Types()) {
    const auto names = TypeSpellings(row.type);
    if (!names.empty()) {
      spellings.Add({std::string(row.name), fmt::format("{}", fmt::join(names, " "))});
    }
  }
  return text + spellings.Render(TextColumns(stdout), false) + "\n" + FormatTable();
}

void PrintTypesJson() {
  JsonPrinter json("types");
  json.Array("types", Types(), [](const TypeInfo& row) {
    const bool is_float = row.is_float();
    const TypeLimits limits = LimitsOf(row.type);
    const auto only = [](bool holds, auto value) { return holds ? Json(value) : Json(); };
    Json entry = {{"name", row.name}, {"onnx_name", row.onnx_name}};
    entry["onnx_id"] = static_cast<int>(row.type);
    entry["bits"] = only(row.bits != 0, row.bits);
    entry["sign_bits"] = only(is_float, row.has_sign ? 1 : 0);
    entry["exponent_bits"] = only(is_float, row.exponent_bits);
    entry["mantissa_bits"] = only(is_float, row.mantissa_bits);
    entry["bias"] = only(is_float, row.bias);
    entry["max"] = only(row.bits != 0, limits.greatest);
    entry["lowest"] = only(row.bits != 0, limits.lowest);
    entry["min_normal"] = only(is_float, limits.least_normal);
    entry["min_subnormal"] = only(is_float, limits.least_positive);
    entry["infinity"] = row.has_infinity();
    entry["nan"] = row.has_nan();
    entry["spellings"] = TypeSpellings(row.type);
    return entry;
  });
  json.Array("scaled_formats", scale::ScaledFormats(),
             [](const scale::ScaledFormat& format) -> Json {
               return {{"name", format.name},
                       {"codes", CodesText(format)},
                       {"a_scale_for", CellText(format)},
                       {"scales", TypeName(format.scaling.scale)},
                       {"scale_rules", RuleNames(format)},
                       {"layouts", LayoutNames(format)}};
             });
  json.End();
}

}  // namespace

void AddTypesCommand(CommandLine& line) {
  auto as_json = std::make_shared<bool>(false);
  Command command = line.AddCommand("types", kTypesDescription);
  command.AddFlag("--json", *as_json, "Print JSON");
  command.Runs([as_json] {
    if (*as_json) {
      PrintTypesJson();
    } else {
      Print(AllTypesText());
    }
    return kExitDone;
  });
}

}  // namespace tensorcast::tool
