// Signal handlers that do no more than set a flag, and the kernel's account of our memory.
//
// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <csignal>

#include <sys/resource.h>

namespace tensorcast::tool {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch such");

}  // namespace

void IgnoreFileSizeSignal() { std::signal(SIGXFSZ, SIG_IGN); }

const std::atomic<bool>* CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted.store(true); };
  // Restart system calls: the job ends between two chunks, not inside one. Reset: a second Ctrl-C
  // must not wait for a disk that hangs.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    // A signal that is ignored (nohup) stays so.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {
      sigaction(signal, &action, nullptr);
    }
  }
  return &interrupted;
}

std::uint64_t PeakMemory() {
  struct rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts KiB
}

}  // namespace tensorcast::tool
