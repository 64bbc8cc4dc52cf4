// Signal handlers that set a flag or exit, standard streams held open, and the kernel's account of
// our memory.
//
// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <typeinfo>

#include <cxxabi.h>
#include <fcntl.h>
#include <unistd.h>

#include "commands.h"
#include "refusals.h"

namespace tensorcast::tool {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch such");

std::terminate_handler otherwise = nullptr;  // for a fault of the program: it names the exception

// Also in a signal handler, which may do no more than this.
[[noreturn]] void Exit(std::string_view last_words, int code) {
  static_cast<void>(!write(STDERR_FILENO, last_words.data(), last_words.size()));
  _exit(code);
}

void ExitWithNothing(int) {
  Exit("tensorcast: interrupted; nothing was written\n", kExitInterrupted);
}
void ExitWithOutput(int) {
  Exit("tensorcast: interrupted; the output is written, its report is cut short\n",
       kExitInterrupted);
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

void ExitWhereMemoryEnds() {
  otherwise = std::set_terminate([] {
    // Without an exception: there was no memory for it.
    const std::type_info* const type = abi::__cxa_current_exception_type();
    if (type != nullptr && *type != typeid(std::bad_alloc)) otherwise();
    Exit("tensorcast: out of memory\n", kExitSystem);
  });
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

// getrusage's figure survives exec: started from a large process it would be that one's.
std::uint64_t PeakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view kKey = "VmHWM:";
    if (!line.starts_with(kKey)) continue;
    return std::strtoull(line.c_str() + kKey.size(), nullptr, 10) * 1024;  // in KiB
  }
  return 0;
}

}  // namespace tensorcast::tool
