// How far a run is: one line that is drawn over on a terminal that moves its cursor, elsewhere a
// line now and then.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_PROGRESS_DISPLAY_H_
#define TENSORCAST_PROGRAMS_DISPLAY_PROGRESS_DISPLAY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "display/recent_speed.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::tool {

// Writes to stderr.
class ProgressDisplay {
 public:
  // `when` is auto, always or never; throws files::Error (arguments) for anything else.
  ProgressDisplay(const std::string& when, bool quiet);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // Before work begins. So many bytes of it are done already, which this run's speed leaves out.
  void BeginAt(std::uint64_t bytes);
  // For RunSettings::progress. What cannot be shown is left out.
  void Show(const convert::Progress& progress) noexcept;
  // Removes the bar, before other output.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Mode { kNone, kBar, kLines };
  double Seconds(Clock::time_point now) const;
  std::string Line(const convert::Progress& progress, std::size_t columns) const;
  void Draw(const convert::Progress& progress);

  Mode mode_ = Mode::kNone;
  bool always_ = false;
  bool bar_drawn_ = false;
  Clock::time_point begin_;
  Clock::time_point next_;
  RecentSpeed speed_;
};

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_PROGRESS_DISPLAY_H_
