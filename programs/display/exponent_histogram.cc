// Bars in eighths of a line, and the ranges of types on the same axis.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/exponent_histogram.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "display/quantities.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

constexpr std::size_t kLabelColumns = 15;  // " float8e4m3fn" and "100.0 % │"
constexpr std::size_t kLines = 8;
constexpr std::size_t kWidestBar = 4;
constexpr std::size_t kLeastPlot = 24;  // below it the shares are left out

// 2 with a raised exponent.
std::string PowerText(int exponent) {
  constexpr std::string_view kRaised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = "2";
  for (const char c : fmt::format("{}", exponent)) {
    text += c == '-' ? "⁻" : kRaised[static_cast<std::size_t>(c - '0')];
  }
  return text;
}

std::string Right(std::string_view text, std::size_t columns) {
  const std::size_t width = TextWidth(text);
  return std::string(width < columns ? columns - width : 0, ' ').append(text);
}

std::string WithoutBlanksAtEnd(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

// What of the exponents each column of the plot shows.
class Plot {
 public:
  Plot(const convert::ExponentCounts& exponents, std::size_t room) : first_(exponents.first) {
    const std::size_t count = exponents.counts.size();
    group_ = (count + room - 1) / room;
    bar_ = group_ > 1 ? 1 : std::min(kWidestBar, room / count);
    bars_.resize((count + group_ - 1) / group_);
    for (std::size_t i = 0; i < count; ++i) bars_[i / group_] += exponents.counts[i];
  }

  std::size_t columns() const { return bars_.size() * bar_; }
  std::uint64_t most() const { return *std::ranges::max_element(bars_); }

  // A line of the bars, counted from the axis.
  std::string BarLine(std::size_t line) const {
    constexpr std::string_view kEighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    std::string text;
    for (const std::uint64_t n : bars_) {
      const double share = static_cast<double>(n) / static_cast<double>(most());
      auto eighths = static_cast<std::size_t>(std::lround(share * 8 * kLines));
      if (n != 0) eighths = std::max<std::size_t>(eighths, 1);  // a few are not none
      const std::size_t shown = std::min<std::size_t>(8, eighths - std::min(eighths, 8 * line));
      for (std::size_t k = 0; k < bar_; ++k) text += kEighths[shown];
    }
    return text;
  }

  // The axis, and the powers below it, which may take more columns than the bars: `room`.
  std::string Axis(std::string_view margin, std::size_t room) const {
    constexpr std::size_t kLabelRoom = 8;
    int step = 1;
    for (const int next : {2, 4, 5, 10, 20, 50, 100, 200, 500}) {
      if (bars_.size() == 1 || static_cast<std::size_t>(step) * bar_ / group_ >= kLabelRoom) break;
      step = next;
    }
    std::string line, labels(margin);
    labels += ' ';
    std::size_t labelled = 0;  // columns of `labels` behind the margin
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      const int exponent = first_ + static_cast<int>(i * group_);
      // The multiple of the step that this bar begins with or holds.
      const int behind = ((exponent % step) + step) % step;
      const int mark = behind == 0 ? exponent : exponent + step - behind;
      const bool is_marked = mark < exponent + static_cast<int>(group_);
      line += is_marked ? "┬" : "─";
      for (std::size_t k = 1; k < bar_; ++k) line += "─";
      if (!is_marked || (labelled != 0 && labelled + 1 > i * bar_)) continue;
      const std::string text = PowerText(mark);
      if (i * bar_ + TextWidth(text) > room) continue;
      labels += std::string(i * bar_ - labelled, ' ') + text;
      labelled = i * bar_ + TextWidth(text);
    }
    return fmt::format("{}└{}\n", margin, line) + WithoutBlanksAtEnd(labels);
  }

  std::string TypeLine(DataType type) const {
    constexpr std::string_view kZones[] = {" ", "┄", "━", " "};
    std::string text;
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      const int middle = first_ + static_cast<int>(i * group_ + group_ / 2);
      const auto zone = static_cast<std::size_t>(convert::ZoneOf(type, middle));
      for (std::size_t k = 0; k < bar_; ++k) text += kZones[zone];
    }
    return text;
  }

 private:
  int first_;
  std::size_t group_ = 1;  // exponents that share a bar
  std::size_t bar_ = 1;    // columns that one takes
  std::vector<std::uint64_t> bars_;
};

}  // namespace

std::string ExponentHistogram(const convert::ExponentCounts& exponents, std::size_t width) {
  if (exponents.counts.empty()) return {};
  constexpr std::size_t kZeroColumns = 9, kSubnormalColumns = 11, kBeyondColumns = 9;
  constexpr std::size_t kShares = kZeroColumns + kSubnormalColumns + kBeyondColumns;
  const std::size_t room = std::max(width, kLabelColumns + 1) - kLabelColumns;
  const bool has_shares = room >= kLeastPlot + kShares;
  const Plot plot(exponents, has_shares ? room - kShares : room);
  const std::string margin(kLabelColumns - 1, ' ');
  std::string text;
  for (std::size_t line = kLines; line-- > 0;) {
    const std::string label =
        line == kLines - 1 ? ShareText(plot.most(), exponents.sampled) + " " : std::string();
    text += WithoutBlanksAtEnd(Right(label, kLabelColumns - 1) + "│" + plot.BarLine(line));
  }
  text += plot.Axis(margin, room) + '\n';
  if (has_shares) {
    text += std::string(kLabelColumns + plot.columns(), ' ') + Right("→ zero", kZeroColumns) +
            Right("subnormal", kSubnormalColumns) + Right("beyond", kBeyondColumns) + '\n';
  }
  for (const DataType type : convert::kHistogramTypes) {
    std::string line = fmt::format(" {:<{}}", TypeName(type), kLabelColumns - 1);
    line += plot.TypeLine(type);
    if (has_shares) {
      const convert::ZoneCounts zones = convert::ZonesOf(type, exponents);
      line += Right(ShareText(zones.to_zero, exponents.sampled), kZeroColumns) +
              Right(ShareText(zones.to_subnormal, exponents.sampled), kSubnormalColumns) +
              Right(ShareText(zones.beyond, exponents.sampled), kBeyondColumns);
    }
    text += WithoutBlanksAtEnd(std::move(line));
  }
  return text;
}

}  // namespace tensorcast::tool
