// Draws progress on stderr: share, speed, time left, the tensor in work.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/progress_display.h"

#include <new>

#include <fmt/format.h>

#include "arguments/argument_values.h"
#include "display/quantities.h"
#include "files/error.h"
#include "shell/streams.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBarPeriod{100};
constexpr milliseconds kLinePeriod{10000};
constexpr std::size_t kBarColumns = 20;

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

std::string ProgressDisplay::Text(const convert::Progress& progress, double seconds) const {
  const double done = static_cast<double>(progress.bytes_done);
  const double total = static_cast<double>(progress.bytes_total);
  const double speed = seconds > 0 ? done / seconds : 0;
  std::string text = fmt::format("{:3.0f} %  {} of {}  {}", total > 0 ? 100 * done / total : 100,
                                 BytesText(progress.bytes_done), BytesText(progress.bytes_total),
                                 SpeedText(speed));
  if (speed > 0 && progress.bytes_done < progress.bytes_total) {
    text += fmt::format("  {} left", TimeLeft((total - done) / speed));
  }
  return text + "  ";
}

void ProgressDisplay::Show(const convert::Progress& progress) noexcept {
  if (mode_ == Mode::kNone) return;
  const Clock::time_point now = Clock::now();
  const bool ended = progress.bytes_done == progress.bytes_total;
  if (now < next_ && !(always_ && ended)) return;
  next_ = now + (mode_ == Mode::kBar ? kBarPeriod : kLinePeriod);
  try {
    Draw(progress, std::chrono::duration<double>(now - begin_).count());
  } catch (const std::bad_alloc&) {  // that there is no memory left, the work itself will say
  }
}

void ProgressDisplay::Draw(const convert::Progress& progress, double seconds) {
  const std::string text = Text(progress, seconds);
  const std::string name = words::Escape(progress.name);
  if (mode_ == Mode::kLines) {
    SayLine(text + Shorten(name, 40));
    return;
  }
  const std::uint64_t filled =
      progress.bytes_total == 0
          ? kBarColumns
          : static_cast<std::uint64_t>(static_cast<double>(kBarColumns) *
                                       static_cast<double>(progress.bytes_done) /
                                       static_cast<double>(progress.bytes_total));
  std::string bar;
  for (std::size_t i = 0; i < kBarColumns; ++i) bar += i < filled ? "━" : "┄";
  const std::size_t taken = kBarColumns + 2 + TextWidth(text);
  const std::size_t columns = Columns(stderr) - 1;  // the last one would wrap
  const std::size_t room = taken < columns ? columns - taken : 0;
  Say(fmt::format("\r{} {}{}\x1b[K", bar, text, Shorten(name, room)));
  bar_drawn_ = true;
}

}  // namespace tensorcast::tool
