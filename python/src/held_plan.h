// A plan as Python holds it: with the flag that interrupts it, which what it has opened goes on
// asking after the call that opened it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_HELD_PLAN_H_
#define TENSORCAST_PYTHON_HELD_PLAN_H_

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tensorcast/convert.hpp"

namespace tensorcast::python {

// Calls that take the flag are made by one thread at a time.
struct HeldPlan {
  convert::ConversionPlan plan;
  std::atomic<bool> interrupted = false;
  // What a run that was resumed found in all its parts, in the place of the plan's own findings.
  std::optional<std::vector<std::string>> findings;
};

// Calls run(settings) on as many threads as were asked for, or as pay on a plan's `bytes`, and
// tells `progress`; raises where it fails.
using PlanRun = std::function<Status(const convert::RunSettings& settings, std::string* error)>;
void RunPlan(HeldPlan& held, std::uint64_t bytes, std::optional<std::size_t> asked,
             nanobind::handle progress, const PlanRun& run);

// Each as (job, meter, gain or None).
nanobind::list LossesList(const std::vector<convert::JobLoss>& losses);

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_HELD_PLAN_H_
