// What the tool asks of its own process: signals as a flag, peak memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_PROCESS_H_
#define TENSORCAST_PROGRAMS_PROCESS_H_

#include <atomic>
#include <cstdint>

namespace tensorcast::tool {

// Makes writing beyond the limit of a file's size (ulimit -f) an error like any other: by default
// it kills the process.
void IgnoreFileSizeSignal();

// Makes the first SIGINT, SIGTERM or SIGHUP set the returned flag; the second ends the process.
const std::atomic<bool>* CatchInterrupts();

// The most memory the process has had resident, in bytes.
std::uint64_t PeakMemory();

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_PROCESS_H_
