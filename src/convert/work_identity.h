// What tells one piece of work from another, so that a run goes on only with its own: the request,
// what is decided, and the inputs as they were.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_WORK_IDENTITY_H_
#define TENSORCAST_SRC_CONVERT_WORK_IDENTITY_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "convert/conversion_plan.h"

namespace tensorcast::convert {

struct WorkOptions {
  bool is_strict = false;  // inputs are told by the digests of their contents too
  bool has_losses = true;  // what casts lose is measured
  std::uint64_t unit_bytes = 0;
  // Of the output: the number of its file or directory, and what a report says of it.
  std::uint64_t output = 0;
  std::uint64_t output_bytes = 0;
  std::string reading_hint = {};
};

// As JSON, docs/conversion_plan.md has the members. Each input by its size, its number, the times
// of its last write and change, and the digest of its ends (1 MiB and 64 KiB). Throws files::Error,
// files::Interrupted.
std::string WorkHead(const PlanState& state, const WorkOptions& options,
                     const std::atomic<bool>* interrupted);

// Throws files::Error, which names what is another, where the head in `directory` is not that of
// this work: another version, another request, inputs that have changed. Returns what was said of
// the output.
WorkOptions RequireSameWork(const PlanState& state, const WorkOptions& options,
                            std::string_view head, const std::string& directory,
                            const std::atomic<bool>* interrupted);

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_WORK_IDENTITY_H_
