// Signal handlers that set a flag or exit, standard streams held open, and the kernel's account of
// our memory.
//
// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "commands.h"

namespace tensorcast::tool {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch such");

// In a signal handler, which may do no more than this.
[[noreturn]] void Exit(std::string_view last_words) {
  static_cast<void>(!write(STDERR_FILENO, last_words.data(), last_words.size()));
  _exit(kExitInterrupted);
}

void ExitWithNothing(int) { Exit("tensorcast: interrupted; nothing was written\n"); }
void ExitWithOutput(int) {
  Exit("tensorcast: interrupted; the output is written, its report is cut short\n");
}

void SetInterruptHandler(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    // A signal that is ignored (nohup) stays so.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {
      sigaction(signal, &action, nullptr);
    }
  }
}

}  // namespace

void HoldStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is this one. O_PATH: every use but its closing fails with EBADF.
    if (fcntl(stream, F_GETFD) < 0) static_cast<void>(open("/", O_PATH));
  }
}

void IgnoreSignalsOfWriting() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

void ExitOnInterrupts(Leaves leaves) {
  SetInterruptHandler(leaves == Leaves::kNothing ? ExitWithNothing : ExitWithOutput, SA_RESTART);
}

const std::atomic<bool>* CatchInterrupts() {
  // Restart system calls: the job ends between two chunks, not inside one. Reset: a second Ctrl-C
  // must not wait for a disk that hangs.
  SetInterruptHandler([](int) { interrupted.store(true); },
                      static_cast<int>(SA_RESTART | SA_RESETHAND));
  return &interrupted;
}

const std::atomic<bool>* InterruptFlag() { return &interrupted; }

std::uint64_t PeakMemory() {
  struct rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts KiB
}

}  // namespace tensorcast::tool
