// The one way to stdout and stderr. Printing never throws and never ends a run: what could not be
// printed to stdout is reported once, on stderr, when the run is over.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_SHELL_STREAMS_H_
#define TENSORCAST_PROGRAMS_SHELL_STREAMS_H_

#include <cstdio>
#include <string_view>

namespace tensorcast::tool {

// To stdout, or where that has been sent to: what the run is asked for.
void Print(std::string_view text) noexcept;
// What was printed stands before what goes to stderr next, if both go to one terminal.
void FlushPrinted() noexcept;
// From now on stderr gets what is printed: the bytes of a file have stdout.
void PrintToStderr() noexcept;
// Where what is printed goes.
std::FILE* PrintedStream() noexcept;
// To stdout itself.
void SendOut(std::string_view bytes) noexcept;
void FlushSent() noexcept;
// Whether something could not be printed, so that printing more is in vain.
bool PrintingFailed() noexcept;

// To stderr, in one piece: all else. The text brings its own end of line.
void Say(std::string_view text) noexcept;
// "tensorcast: TEXT" in a line; a note is what the user should know, a warning what may go wrong.
void SayLine(std::string_view text) noexcept;
void SayNote(std::string_view text) noexcept;
void SayWarning(std::string_view text) noexcept;

// How printing ended, asked once at the end of a run.
enum class Printed {
  kWhole,
  kReaderGone,  // the pipe's reader wanted no more ("| head"): nothing to say
  kFailed,      // said on stderr
};
Printed FinishPrinting() noexcept;

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_SHELL_STREAMS_H_
