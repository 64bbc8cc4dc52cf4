// How fast work goes now, of how much of it was done when.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_DISPLAY_RECENT_SPEED_H_
#define TENSORCAST_PROGRAMS_DISPLAY_RECENT_SPEED_H_

#include <cmath>
#include <cstdint>

namespace tensorcast::tool {

// An average in which the last ten seconds count most: the start of a run, when files are opened
// and caches are cold, tells little of its end, and a single piece tells less.
class RecentSpeed {
 public:
  // Work is counted from now on; `bytes` of it were done before, by others or by an earlier run.
  void BeginAt(std::uint64_t bytes, double seconds) {
    *this = {};
    last_bytes_ = bytes;
    last_seconds_ = seconds;
  }
  // So many bytes are done after so many seconds. Less than before: other work has begun.
  void Add(std::uint64_t bytes, double seconds) {
    if (bytes < last_bytes_) BeginAt(0, last_seconds_);
    const double passed = seconds - last_seconds_;
    const double kept = std::exp(-passed / kSeconds);
    bytes_ = bytes_ * kept + static_cast<double>(bytes - last_bytes_);
    seconds_ = seconds_ * kept + passed;
    last_bytes_ = bytes;
    last_seconds_ = seconds;
  }
  // 0: not known yet.
  double BytesPerSecond() const { return seconds_ > 0 ? bytes_ / seconds_ : 0; }

 private:
  static constexpr double kSeconds = 10;

  double bytes_ = 0;    // that were done lately,
  double seconds_ = 0;  // in so long
  std::uint64_t last_bytes_ = 0;
  double last_seconds_ = 0;
};

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_DISPLAY_RECENT_SPEED_H_
