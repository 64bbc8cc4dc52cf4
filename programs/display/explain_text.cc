// Draws casts of one value as text, for people.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/explain_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "arguments/shared_flags.h"
#include "display/tensor_text.h"
#include "display/text_table.h"
#include "files/error.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

// An exact expansion stands for the value up to this width; a longer one beside the shortest text.
constexpr std::size_t kExactInPlace = 16;
// More bits than these are drawn below their row.
constexpr int kBitsInRow = 8;
constexpr std::size_t kLongestTarget = 18;

// A figure in full where that is short, else in three digits.
std::string FigureText(const ExactDecimal& figure) {
  std::string text = figure.Text(7);
  return text.size() <= 7 ? text : figure.Rounded(3).Text(3);
}

// A code's value in few columns: exactly, or by the digits that name it.
std::string CodeValueText(const TypeInfo& row, std::uint64_t code) {
  if (row.type_class != TypeClass::kBool) {
    const ExactValue value = ExactValueOf(row.type, code);
    if (value.is_finite()) {
      std::string exact = value.decimal.Text();
      if (exact.size() <= kExactInPlace || row.is_integer()) return exact;
    }
  }
  return ShortestText(row.type, code);
}

std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", words::Escape(text)); }

// A result in a few words, as other options would give it.
std::string ResultText(const TypeInfo& row, const CastResult& result) {
  if (!result.status.ok()) return "refused";
  if (row.bits == 0) return Shorten(Quoted(result.text), 40);
  return fmt::format("{} ({})", CodeValueText(row, result.code), HexText(row, result.code));
}

std::string OtherText(const TypeInfo& row, const OtherResult& other) {
  return fmt::format("--{} {}: {}{}", FlagName(other.option),
                     CastOptionValue(other.option, other.options), ResultText(row, other.result),
                     other.loss ? fmt::format(", {}", LossName(*other.loss)) : "");
}

std::string RefusedText(const CastResult& result) {
  std::string text(result.status.message());
  while (text.ends_with('.')) text.pop_back();
  return text;
}

std::string NeighboursText(const TypeInfo& row, const Explanation& type) {
  const auto neighbour = [&](const char* side, std::optional<std::uint64_t> code) {
    return code ? fmt::format("{} {}", side, CodeValueText(row, *code))
                : fmt::format("none {}", side);
  };
  return fmt::format("{}, {}", neighbour("below", type.below), neighbour("above", type.above));
}

// What stands below a type's row.
std::vector<std::string> NotesOf(const TypeInfo& row, const Explanation& type,
                                 std::size_t columns) {
  std::vector<std::string> notes;
  const CastResult& result = type.result;
  const auto say = [&](const std::string& note) {
    constexpr std::string_view kGap = "   ";
    const bool fits = !notes.empty() && notes.back().size() + kGap.size() + note.size() <= columns;
    if (fits) {
      notes.back().append(kGap).append(note);
    } else {
      notes.push_back(note);
    }
  };
  if (result.status.ok() && row.bits > kBitsInRow) say(FieldsOf(row, result.code).Text());
  if (result.status.ok() && row.is_float()) {
    const std::string exact =
        type.value.is_finite() ? "exactly " + type.value.decimal.Text() : std::string();
    if (exact.size() > kExactInPlace + 8 && exact.size() <= columns) say(exact);
    if (!type.value.is_nan()) {
      say(NeighboursText(row, type));
      if (type.to_subnormal) say("subnormal");
      if (type.zero_sign_lost) say("the sign of zero is lost");
      if (type.error_in_ulps && !type.error_in_ulps->is_zero()) {
        say(fmt::format("off by {} ulp", FigureText(*type.error_in_ulps)));
      }
    }
  }
  for (const OtherResult& other : type.others) notes.push_back(OtherText(row, other));
  return notes;
}

// Floating types, the widest first, then integers, bool and string.
std::vector<const Explanation*> InOrder(const std::vector<Explanation>& types) {
  std::vector<const Explanation*> ordered;
  for (const Explanation& type : types) ordered.push_back(&type);
  const auto rank = [](const Explanation* type) {
    const TypeInfo& row = *FindType(type->to);
    const int kind = row.is_float() ? 0 : row.is_integer() ? 1 : row.bits != 0 ? 2 : 3;
    return std::pair(kind, -row.bits);
  };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  return ordered;
}

// With room behind it for " → float8e4m3fnuz".
std::string SourceTitle(const ExplainSource& source) {
  const std::size_t columns = TextColumns(stdout) - kLongestTarget;
  if (source.is_text()) return Shorten(words::Escape(source.text), columns);
  const TypeInfo& row = *FindType(source.type);
  std::string title =
      fmt::format("{} of {}   {}   {}", HexText(row, source.code), row.name,
                  FieldsOf(row, source.code).Text(), CodeValueText(row, source.code));
  // 64 bits have no room in one line.
  return TextWidth(title) <= columns ? title
                                     : fmt::format("{} of {}   {}", HexText(row, source.code),
                                                   row.name, CodeValueText(row, source.code));
}

std::string_view LossMeaning(Loss loss) {
  switch (loss) {
    case Loss::kNan: return "NaN stayed NaN";
    case Loss::kNanLost: return "NaN became a number";
    case Loss::kToNan: return "a number or Inf became NaN";
    case Loss::kExact: return "equal as numbers";
    case Loss::kWrapped: return "the low bits of an integer that does not fit";
    case Loss::kToInfinity: return "a finite value became Inf";
    case Loss::kToLimit: return "beyond the range, became its end";
    case Loss::kToZero: return "a value other than zero became zero";
    default: return "not equal, within the range";
  }
}

// All digits where they are few, else the first of them, marked as such.
std::string DigitsText(const ExactDecimal& number, std::size_t most) {
  std::string text = number.Text();
  return text.size() <= most ? text : fmt::format("≈ {}", number.Rounded(18).Text());
}

// The bits with their names below them, and what each field stands for.
std::string FieldDrawing(const TypeInfo& row, const Explanation& type) {
  const std::uint64_t code = type.result.code;
  const BitFields fields = FieldsOf(row, code);
  if (!row.is_float()) {
    return fmt::format("   {}\n   {}\n", fields.significand,
                       row.type_class == TypeClass::kBool       ? "true or false"
                       : row.type_class == TypeClass::kUnsigned ? "unsigned"
                                                                : "two's complement");
  }
  const bool is_finite = type.value.is_finite();
  const bool is_subnormal =
      row.has_zero && fields.exponent.find('1') == std::string::npos;  // zero too
  std::string lines[3];
  const auto add = [&](const std::string& bits, const char* name, const std::string& meaning) {
    const std::size_t width =
        std::max({bits.size(), std::string_view(name).size(), meaning.size()});
    lines[0].append(fmt::format("{:<{}}  ", bits, width));
    lines[1].append(fmt::format("{:<{}}  ", name, width));
    lines[2].append(fmt::format("{:<{}}  ", meaning, width));
  };
  if (row.has_sign) add(fields.sign, "sign", fields.sign == "0" ? "+" : "-");
  const int field = static_cast<int>(std::stoul(fields.exponent, nullptr, 2));
  const int biased = is_subnormal ? 1 : field;
  add(fields.exponent, "exponent",
      is_finite ? fmt::format("{} - {} = {}", biased, row.bias, biased - row.bias) : "");
  if (row.mantissa_bits > 0) {
    add(fields.significand, "significand",
        is_finite ? (is_subnormal ? "0." : "1.") + fields.significand : "");
  }
  std::string text;
  constexpr std::size_t kIndent = 3;
  const std::size_t width = lines[0].size() - 2;  // all have the gap behind the last field
  const std::size_t columns = TextColumns(stdout);
  const std::size_t indent = std::min(kIndent, columns - std::min(columns, width));
  for (std::string& line : lines) {
    line.resize(line.find_last_not_of(' ') + 1);
    text.append(indent, ' ').append(line).append("\n");
  }
  return text;
}

// "1.625 × 2^-4": the significand as a decimal.
std::string ScientificText(const TypeInfo& row, double number) {
  const double least = LimitsOf(row.type).least_normal;
  const int exponent = std::ilogb(std::max(std::fabs(number), least));
  // In two steps: 2^1074 is no double. Both are exact, as a double holds every significand.
  const int half = exponent / 2;
  const double significand = std::ldexp(std::ldexp(number, -half), half - exponent);
  const std::string digits = DigitsText(ExactDecimal::FromDouble(significand), 60);
  return fmt::format("{} × 2^{}", digits, exponent);
}

std::string MidpointText(const TypeInfo& row, std::uint64_t a, std::uint64_t b) {
  bool exact = true;
  const ExactDecimal x = ExactValueOf(row.type, a).decimal;
  const ExactDecimal sum = x.Minus(ExactValueOf(row.type, b).decimal.Negated(), &exact);
  // Exact: no type's value has more digits, and half of it one more.
  return DigitsText(sum.Over(ExactDecimal::FromUnsigned(2), 1100), 24);
}

std::string ErrorText(const TypeInfo& row, const Explanation& type) {
  std::string text = DigitsText(*type.error, 44);
  if (type.error->is_zero()) return text;
  if (type.relative_error) text += "   relative " + FigureText(*type.relative_error);
  if (row.is_float() && type.error_in_ulps) {
    text += fmt::format("   {} ulp", FigureText(*type.error_in_ulps));
  }
  return text;
}

using Facts = std::vector<std::pair<std::string, std::string>>;

// A neighbour: its value, its code, the midpoint to it; in two lines where one is too long.
void AddNeighbour(const TypeInfo& row, const Explanation& type, const char* name,
                  std::optional<std::uint64_t> next, std::size_t columns, Facts& facts) {
  std::string text = "none";
  std::string midpoint;
  if (next) {
    text = fmt::format("{}   {}", CodeValueText(row, *next), HexText(row, *next));
    const bool has_midpoint =
        row.is_float() && type.value.is_finite() && ExactValueOf(row.type, *next).is_finite();
    if (has_midpoint) midpoint = "midpoint " + MidpointText(row, type.result.code, *next);
  }
  const bool is_one = TextWidth(text) + 3 + TextWidth(midpoint) <= columns;
  if (is_one && !midpoint.empty()) text += "   " + midpoint;
  facts.emplace_back(name, text);
  if (!is_one) facts.emplace_back("", midpoint);
}

// The lines about a code below its drawing, with a value in so many columns.
Facts FactsOf(const TypeInfo& row, const Explanation& type, std::size_t columns) {
  const std::uint64_t code = type.result.code;
  const ExactValue& value = type.value;
  Facts facts = {{"code", fmt::format("{} = {}", HexText(row, code), code)}};
  if (row.is_float() && value.is_finite()) {
    const double number = ElementValue(row.type, code);
    const std::string exact = value.decimal.Text();
    const std::string product = number == 0 ? exact : ScientificText(row, number);
    if (number == 0) {
      facts.emplace_back("value", exact);
    } else if (TextWidth(product) + 3 + exact.size() <= columns) {
      facts.emplace_back("value", fmt::format("{} = {}", product, exact));
    } else {
      facts.emplace_back("value", product);
      facts.emplace_back(exact.size() <= columns ? "exactly" : "about",
                         exact.size() <= columns ? exact : value.decimal.Rounded(18).Text());
    }
    facts.emplace_back("shortest text", ShortestText(row.type, code));
  } else {
    facts.emplace_back("value", ShortestText(row.type, code));
  }
  if (!value.is_nan()) {
    AddNeighbour(row, type, "next below", type.below, columns, facts);
    AddNeighbour(row, type, "next above", type.above, columns, facts);
  }
  if (row.is_float() && type.ulp) {
    const std::string ulp = ExactDecimal::FromDouble(*type.ulp).Text();
    facts.emplace_back("ulp", fmt::format("2^{}{}", std::ilogb(*type.ulp),
                                          ulp.size() <= 24 ? fmt::format(" = {}", ulp) : ""));
  }
  if (type.error) facts.emplace_back("error", ErrorText(row, type));
  std::string loss = fmt::format("{}: {}", LossName(*type.loss), LossMeaning(*type.loss));
  if (type.to_subnormal) loss += "; a subnormal";
  if (type.zero_sign_lost) loss += "; the sign of zero is lost";
  if (type.undefined) loss += "; ONNX leaves this result open";
  facts.emplace_back("loss", loss);
  return facts;
}

}  // namespace

std::string BitFields::Text() const {
  std::string text;
  for (const std::string* field : {&sign, &exponent, &significand}) {
    if (field->empty()) continue;
    text.append(text.empty() ? "" : " ").append(*field);
  }
  return text;
}

BitFields FieldsOf(const TypeInfo& row, std::uint64_t code) {
  std::string bits(static_cast<std::size_t>(row.bits), '0');
  for (int i = 0; i < row.bits; ++i) {
    if ((code >> (row.bits - 1 - i) & 1) != 0) bits[static_cast<std::size_t>(i)] = '1';
  }
  if (!row.is_float()) return {{}, {}, bits};
  const std::size_t sign = row.has_sign ? 1 : 0;
  const auto exponent = static_cast<std::size_t>(row.exponent_bits);
  return {bits.substr(0, sign), bits.substr(sign, exponent), bits.substr(sign + exponent)};
}

std::string HexText(const TypeInfo& row, std::uint64_t code) {
  return fmt::format("0x{:0{}X}", code, (row.bits + 3) / 4);
}

std::string ExplainTable(const ExplainSource& source, const std::vector<Explanation>& types) {
  TextTable table({{"type"},
                   {"code"},
                   {"bits", false, 0, 2},
                   {"value", false, 24},
                   {"error", true, 0, 1},
                   {"relative", true, 0, 3},
                   {"loss"}});
  std::vector<std::vector<std::string>> notes;
  constexpr std::size_t kWidestNote = 67;  // the bits of a float64
  const std::size_t columns = TextColumns(stdout);
  std::size_t indent = 0;  // notes stand below the second column, if there is room
  for (const Explanation& type : types) {
    indent = std::max(indent, 1 + TypeName(type.to).size() + 2);
  }
  indent = std::min(indent, std::max<std::size_t>(3, columns - std::min(columns, kWidestNote)));
  std::string refusals;
  for (const Explanation* one : InOrder(types)) {
    const Explanation& type = *one;
    const TypeInfo& row = *FindType(type.to);
    std::vector<std::string> cells = {std::string(row.name)};
    if (!type.result.status.ok()) {
      const std::string refusal = "\n" + Wrapped(" refused:", RefusedText(type.result), columns);
      if (refusals.find(refusal) == std::string::npos) refusals += refusal;
      cells.insert(cells.end(), {"", "", "", "", "", "refused"});
    } else if (row.bits == 0) {
      cells.insert(cells.end(), {"", "", Quoted(type.result.text)});
    } else {
      cells.insert(cells.end(),
                   {HexText(row, type.result.code),
                    row.bits <= kBitsInRow ? FieldsOf(row, type.result.code).Text() : "",
                    CodeValueText(row, type.result.code)});
    }
    if (type.result.status.ok()) {
      const bool differs = type.error && !type.error->is_zero();
      cells.push_back(differs ? FigureText(*type.error) : type.error ? "·" : "");
      cells.push_back(differs && type.relative_error      ? FigureText(*type.relative_error)
                      : type.error && type.relative_error ? "·"
                                                          : "");
      cells.emplace_back(type.loss ? LossName(*type.loss) : "");
    }
    table.Add(std::move(cells));
    notes.push_back(NotesOf(row, type, columns - indent));
  }
  std::string text = fmt::format(" {}\n\n", SourceTitle(source));
  const std::string rows = table.Render(columns, false);
  std::size_t begin = 0;
  for (std::size_t line = 0; begin < rows.size(); ++line) {
    const std::size_t end = rows.find('\n', begin) + 1;
    text.append(rows, begin, end - begin);
    begin = end;
    if (line == 0) continue;  // the titles
    for (const std::string& note : notes[line - 1]) {
      text.append(indent, ' ').append(note).append("\n");
    }
  }
  return text + refusals;
}

std::string ExplainDrawing(const ExplainSource& source, const Explanation& type) {
  const TypeInfo& row = *FindType(type.to);
  std::string text = fmt::format(" {} → {}\n\n", SourceTitle(source), row.name);
  Facts facts;
  if (!type.result.status.ok()) {
    facts = {{"refused", RefusedText(type.result)}};
  } else if (row.bits == 0) {
    facts = {{"text", Quoted(type.result.text)}};
    if (type.error && !type.error->is_zero()) facts.emplace_back("error", ErrorText(row, type));
  } else {
    text += FieldDrawing(row, type) + "\n";
    constexpr std::size_t kNames = 20;
    facts = FactsOf(row, type, TextColumns(stdout) - kNames);
  }
  const char* what = "with";
  for (const OtherResult& other : type.others) {
    facts.emplace_back(what, OtherText(row, other));
    what = "";
  }
  TextTable table({{""}, {"", false, 40}});
  for (auto& [name, value] : facts) table.Add({name, std::move(value)});
  return text + table.Render(kReportColumns, false);
}

}  // namespace tensorcast::tool
