// The C library's streams, whose failures are looked at and remembered.
//
// SPDX-License-Identifier: Apache-2.0
#include "shell/streams.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace tensorcast::tool {
namespace {

std::atomic<int> print_error{0};  // the first errno
std::atomic<bool> prints_to_stderr{false};

void Remember(int error) {
  int none = 0;
  print_error.compare_exchange_strong(none, error != 0 ? error : EIO);
}

// No memory is asked for: the line may be the one that says that there is none.
void SayPieces(const char* kind, std::string_view text) {
  const auto most = static_cast<std::size_t>(INT_MAX);
  std::fprintf(stderr, "tensorcast: %s%.*s\n", kind, static_cast<int>(std::min(text.size(), most)),
               text.data());
}

}  // namespace

void PrintToStderr() noexcept { prints_to_stderr.store(true); }

std::FILE* PrintedStream() noexcept { return prints_to_stderr.load() ? stderr : stdout; }

void Print(std::string_view text) noexcept {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), PrintedStream()) != text.size()) Remember(errno);
}

void FlushPrinted() noexcept {
  errno = 0;
  if (std::fflush(PrintedStream()) != 0) Remember(errno);
}

void SendOut(std::string_view bytes) noexcept {
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) Remember(errno);
}

void FlushSent() noexcept {
  errno = 0;
  if (std::fflush(stdout) != 0) Remember(errno);
}

bool PrintingFailed() noexcept { return print_error.load() != 0; }

void Say(std::string_view text) noexcept { std::fwrite(text.data(), 1, text.size(), stderr); }

void SayLine(std::string_view text) noexcept { SayPieces("", text); }
void SayNote(std::string_view text) noexcept { SayPieces("note: ", text); }
void SayWarning(std::string_view text) noexcept { SayPieces("warning: ", text); }

Printed FinishPrinting() noexcept {
  FlushPrinted();
  FlushSent();
  const int error = print_error.load();
  if (error == 0) return Printed::kWhole;
  if (error == EPIPE) return Printed::kReaderGone;
  const char* const reason = error == EBADF ? "it is closed" : std::strerror(error);
  std::fprintf(stderr, "tensorcast: cannot write to standard output: %s\n", reason);
  return Printed::kFailed;
}

}  // namespace tensorcast::tool
