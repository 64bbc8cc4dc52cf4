// Draws progress on stderr: share, speed, time left, the tensor in work.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/progress_display.h"

#include <algorithm>
#include <array>
#include <new>

#include <fmt/format.h>

#include "arguments/argument_values.h"
#include "display/quantities.h"
#include "files/error.h"
#include "report/distinct_names.h"
#include "shell/streams.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBarPeriod{100};
constexpr milliseconds kLinePeriod{10000};
constexpr std::size_t kBarColumns = 20;  // or half of it on a terminal of less than kWideFrom
constexpr std::size_t kBarFrom = 60;
constexpr std::size_t kWideFrom = 95;
constexpr std::size_t kNameColumns = 60;      // at most
constexpr std::size_t kLeastNameColumns = 4;  // of less nothing is to be read

std::string TimeLeft(double seconds) {
  const auto whole = static_cast<unsigned long long>(seconds + 0.5);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

ProgressDisplay::ProgressDisplay(const std::string& when, bool quiet) : begin_(Clock::now()) {
  RequireWord("--progress", when, {"auto", "always", "never"});
  always_ = when == "always";
  if (when != "never" && !quiet) mode_ = MovesCursor(stderr) ? Mode::kBar : Mode::kLines;
  next_ = begin_ + (mode_ == Mode::kBar ? kBarPeriod : kLinePeriod);
}

ProgressDisplay::~ProgressDisplay() { Clear(); }

void ProgressDisplay::Clear() {
  if (bar_drawn_) Say("\r\x1b[K");
  bar_drawn_ = false;
}

double ProgressDisplay::Seconds(Clock::time_point now) const {
  return std::chrono::duration<double>(now - begin_).count();
}

void ProgressDisplay::BeginAt(std::uint64_t bytes) { speed_.BeginAt(bytes, Seconds(Clock::now())); }

// The name takes what the figures leave; where the figures do not fit, the bar goes first, then the
// speed, then how much there is.
std::string ProgressDisplay::Line(const convert::Progress& progress, std::size_t columns) const {
  const double done = static_cast<double>(progress.bytes_done);
  const double total = static_cast<double>(progress.bytes_total);
  const double share = total > 0 ? done / total : 1;
  const double speed = speed_.BytesPerSecond();
  // Behind each other; one that is empty is not there.
  enum : std::size_t { kBar, kShare, kBytes, kSpeed, kLeft, kParts };
  std::array<std::string, kParts> parts;
  parts[kShare] = fmt::format("{:3.0f} %", 100 * share);
  parts[kBytes] =
      fmt::format("{} of {}", BytesText(progress.bytes_done), BytesText(progress.bytes_total));
  if (speed > 0) parts[kSpeed] = SpeedText(speed);
  if (speed > 0 && progress.bytes_done < progress.bytes_total) {
    parts[kLeft] = TimeLeft((total - done) / speed) + " left";
  }
  const std::size_t bar = columns < kBarFrom    ? 0
                          : columns < kWideFrom ? kBarColumns / 2
                                                : kBarColumns;
  if (mode_ == Mode::kBar) {
    for (std::size_t i = 0; i < bar; ++i) {
      parts[kBar] += static_cast<double>(i + 1) <= share * static_cast<double>(bar) ? "━" : "┄";
    }
  }
  const auto joined = [&] {
    std::string line = parts[kBar];
    if (!line.empty()) line += ' ';
    line += parts[kShare];
    for (const std::size_t part : {kBytes, kSpeed, kLeft}) {
      if (!parts[part].empty()) line += "  " + parts[part];
    }
    return line;
  };
  for (const std::size_t part : {kBar, kSpeed, kBytes, kLeft, kShare}) {
    if (TextWidth(joined()) <= columns) break;
    parts[part].clear();
  }
  std::string line = joined();
  const std::size_t taken = TextWidth(line) + 2;
  if (taken + kLeastNameColumns > columns) return line;
  std::string name = words::Escape(progress.name);
  // As the name of a tensor: the number of its layer is left out last.
  const report::NamesOfFile of_it = {1, [&](std::size_t) { return name; }};
  return line + "  " + report::DistinctName(name, std::min(columns - taken, kNameColumns), of_it);
}

void ProgressDisplay::Show(const convert::Progress& progress) noexcept {
  if (mode_ == Mode::kNone) return;
  const Clock::time_point now = Clock::now();
  speed_.Add(progress.bytes_done, Seconds(now));
  const bool ended = progress.bytes_done == progress.bytes_total;
  if (now < next_ && !(always_ && ended)) return;
  next_ = now + (mode_ == Mode::kBar ? kBarPeriod : kLinePeriod);
  try {
    Draw(progress);
  } catch (const std::bad_alloc&) {  // that there is no memory left, the work itself will say
  }
}

void ProgressDisplay::Draw(const convert::Progress& progress) {
  if (mode_ == Mode::kLines) {
    SayLine(Line(progress, kUnlimitedColumns));
    return;
  }
  // In the last column some terminals wrap already.
  Say(fmt::format("\r{}\x1b[K", Line(progress, ColumnsOfLine(stderr) - 1)));
  bar_drawn_ = true;
}

}  // namespace tensorcast::tool
