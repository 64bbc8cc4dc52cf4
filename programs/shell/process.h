// What the tool asks of its own process and of the system it runs on: arguments, standard streams,
// signals, memory. process.cc is the same everywhere; process_posix.cc, process_windows.cc.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SHELL_PROCESS_H_
#define TENSORCAST_PROGRAMS_SHELL_PROCESS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace tensorcast::tool {

// The arguments behind the program's name, in UTF-8 where the system knows what they are.
std::vector<std::string> Arguments(int argc, char** argv);

// Before anything is opened: a standard stream that is closed becomes one that can neither be read
// nor written, so that no file takes its number and gets what is printed. What is printed reaches
// the stream byte for byte.
void HoldStandardStreams();

// Whether a person reads or types there, and how wide the window is; 0 where that is not known.
bool IsConsole(std::FILE* stream);
std::size_t ConsoleColumns(std::FILE* stream);

// Makes writing beyond the limit of a file's size (ulimit -f), and into a pipe that nobody reads,
// errors like any other: by default they kill the process.
void IgnoreSignalsOfWriting();

// Ends the process after these words on stderr. May be called by a signal handler.
[[noreturn]] void ExitAtOnce(std::string_view last_words, int code);

// The last resort: where nobody catches that memory is refused, or there is none even for the
// exception that says so, the process says it and ends with the exit code of the system's errors,
// not by a signal. Is called before main, and before the libraries start; calls nothing that needs
// one to have been started.
void ExitWhereMemoryEnds();

// What SIGINT, SIGTERM and SIGHUP do, but for one that is ignored (nohup), and on Windows Ctrl-C
// and the closing of the window: they end the process at once, which says in one line what it
// leaves (exit code 130). This is for all that is done while no output is unfinished.
enum class Leaves { kNothing, kOutput, kPartOfOutput };
void ExitOnInterrupts(Leaves leaves);
// The first sets the flag, the second kills. This is for as long as an output is written, whose
// temporary file must not be left. Returns the flag.
const std::atomic<bool>* CatchInterrupts();
const std::atomic<bool>* InterruptFlag();
// `once`: the second interrupt kills.
void OnInterrupts(void (*handler)(int), bool once);

// The most memory the process has had resident, in bytes.
std::uint64_t PeakMemory();

// Where temporary files go, and how the user names another place.
struct TemporaryPlace {
  std::string directory;
  std::string advice;
};
TemporaryPlace PlaceOfTemporaries();

// The path of a file that holds all of stdin: its own where it is one from the beginning on, else
// that of a copy in `place`, which has no name and takes stdin's place. Throws files::Error.
std::string PathOfStandardInput(const TemporaryPlace& place);
// A new directory that nobody else can look into. Throws files::Error.
std::string MakeTemporaryDirectory(const TemporaryPlace& place);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SHELL_PROCESS_H_
