// What the tool asks of its own process: its standard streams, its signals, its peak memory.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_PROCESS_H_
#define TENSORCAST_PROGRAMS_PROCESS_H_

#include <atomic>
#include <cstdint>

namespace tensorcast::tool {

// Before anything is opened: a standard stream that is closed becomes one that can neither be read
// nor written, so that no file takes its number and gets what is printed.
void HoldStandardStreams();

// Makes writing beyond the limit of a file's size (ulimit -f), and into a pipe that nobody reads,
// errors like any other: by default they kill the process.
void IgnoreSignalsOfWriting();

// The last resort: where nobody catches that memory is refused, or there is none even for the
// exception that says so, the process says it and ends with the exit code of the system's errors,
// not by a signal. Calls nothing that needs a library to have been started.
void ExitWhereMemoryEnds();

// What SIGINT, SIGTERM and SIGHUP do, but for one that is ignored (nohup):
// they end the process at once, which says in one line what it leaves (exit code 130). This is for
// all that is done while no output is unfinished.
enum class Leaves { kNothing, kOutput };
void ExitOnInterrupts(Leaves leaves);
// The first sets the flag, the second kills. This is for as long as an output is written, whose
// temporary file must not be left. Returns the flag.
const std::atomic<bool>* CatchInterrupts();
const std::atomic<bool>* InterruptFlag();

// The most memory the process has had resident, in bytes.
std::uint64_t PeakMemory();

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_PROCESS_H_
