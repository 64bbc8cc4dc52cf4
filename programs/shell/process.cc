// What interrupts and the end of memory do.
//
// SPDX-License-Identifier: Apache-2.0
#include "shell/process.h"

#include <exception>
#include <new>
#include <typeinfo>

#include <cxxabi.h>

#include "shell/exit_codes.h"

namespace tensorcast::tool {
namespace {

std::atomic<bool> was_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch such");

std::terminate_handler otherwise = nullptr;  // for a fault of the program: it names the exception

void ExitWithNothing(int) {
  ExitAtOnce("tensorcast: interrupted; nothing was written\n", kExitInterrupted);
}
void ExitWithOutput(int) {
  ExitAtOnce("tensorcast: interrupted; the output is written, its report is cut short\n",
             kExitInterrupted);
}
void ExitWithPart(int) {
  ExitAtOnce("tensorcast: interrupted; what went to stdout is cut short\n", kExitInterrupted);
}

}  // namespace

void ExitWhereMemoryEnds() {
  otherwise = std::set_terminate([] {
    // Without an exception: there was no memory for it.
    const std::type_info* const type = abi::__cxa_current_exception_type();
    if (type != nullptr && *type != typeid(std::bad_alloc)) otherwise();
    ExitAtOnce("tensorcast: out of memory\n", kExitSystem);
  });
}

void ExitOnInterrupts(Leaves leaves) {
  switch (leaves) {
    case Leaves::kNothing: OnInterrupts(ExitWithNothing, false); break;
    case Leaves::kOutput: OnInterrupts(ExitWithOutput, false); break;
    case Leaves::kPartOfOutput: OnInterrupts(ExitWithPart, false); break;
  }
}

const std::atomic<bool>* CatchInterrupts() {
  // Once: a second Ctrl-C must not wait for a disk that hangs.
  OnInterrupts([](int) { was_interrupted.store(true); }, true);
  return &was_interrupted;
}

const std::atomic<bool>* InterruptFlag() { return &was_interrupted; }

}  // namespace tensorcast::tool
