// A function of Python's hears how far a run is; what it raises ends the run.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_PROGRESS_H_
#define TENSORCAST_PYTHON_PROGRESS_H_

#include <nanobind/nanobind.h>

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "tensorcast/convert.hpp"
#include "text_objects.h"
#include "threads.h"

namespace tensorcast::python {

// Calls what was given, or None, with (bytes done, bytes in all, name).
class ProgressTeller {
 public:
  explicit ProgressTeller(nanobind::handle progress) : progress_(progress) {}

  // For RunSettings::progress of a run that ends where `interrupted` becomes true.
  std::function<void(const convert::Progress&)> For(std::atomic<bool>& interrupted) {
    if (progress_.is_none()) return nullptr;
    return [this, &interrupted](const convert::Progress& done) {
      const WithGil gil(ending_);
      if (raised_) return;
      try {
        progress_(done.bytes_done, done.bytes_total, ToStr(done.name));
      } catch (nanobind::python_error& what) {
        raised_.emplace(std::move(what));
        interrupted = true;
      }
    };
  }

  // Raises what it raised, after the run.
  void Raise() {
    if (raised_) throw nanobind::python_error(std::move(*raised_));
  }

 private:
  nanobind::handle progress_;
  Ending ending_;
  std::optional<nanobind::python_error> raised_;
};

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_PROGRESS_H_
