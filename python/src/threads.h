// A call may run on several threads, and hears Ctrl-C where it takes long.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PYTHON_THREADS_H_
#define TENSORCAST_PYTHON_THREADS_H_

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::python {

// To be made while the thread has the GIL; it, or a thread that works for it, takes the GIL again
// by this. Where the interpreter ends meanwhile, which lets daemon threads have it no more, nothing
// here returns: the thread is there until the process is gone. Python before 3.14 would end it by
// unwinding its stack, and so abort: destructors and nanobind's functions let nothing through.
class Ending {
 public:
  Ending() : has_begun_(HasBegun()) {}
  // `stops`: what ends the work of another thread for this one.
  void Restore(PyThreadState* state) const;
  PyGILState_STATE Ensure(std::atomic<bool>* stops = nullptr) const;
  // Asked at any time, with the GIL or without.
  static bool HasBegun() noexcept;

 private:
  // Before the GIL is asked for: the end may have begun already.
  void StayIfBegun(std::atomic<bool>* stops) const noexcept;

  bool has_begun_;  // then the thread is the one that ends the interpreter, and keeps the GIL
};

// Gives the GIL back for as long as it lives.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() { ending_.Restore(state_); }
  const Ending& ending() const { return ending_; }

 private:
  Ending ending_;  // made before the GIL is given back
  PyThreadState* state_;
};

// Has the GIL for as long as it lives; `ending` is that of the call it works for.
class WithGil {
 public:
  explicit WithGil(const Ending& ending, std::atomic<bool>* stops = nullptr)
      : state_(ending.Ensure(stops)) {}
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;
  ~WithGil() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

// A second thread pays where a call reads and writes so many bytes together.
inline constexpr std::uint64_t kBytesThatPay = std::uint64_t{8} << 20;

// A call that reads and writes so many listens for signals, from another thread than the one that
// works; a cast between numbers, which is done sooner, where it is larger still.
inline constexpr std::uint64_t kInterruptible = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kInterruptibleCast = std::uint64_t{256} << 20;

// These threads live as long as one piece of work, so that a process which forks between calls has
// none to lose. The calling thread is one of them.
class CallThreads final : public Executor {
 public:
  explicit CallThreads(std::size_t threads) : threads_(threads) {}
  std::size_t Concurrency() const noexcept override { return threads_; }
  void ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                   void* context) override;

 private:
  std::size_t threads_;
};

// A call of so many bytes runs on as many threads as were asked for, else on one, or on all that
// the process may use where they pay.
std::size_t ThreadsFor(std::optional<std::size_t> asked, std::uint64_t bytes);

// Runs work that polls a flag on a second thread, without the GIL; this one meanwhile looks for
// signals, and sets the flag where a handler of one raises. What is thrown by either comes out.
void RunInterruptibly(const std::function<void(std::atomic<bool>& interrupted)>& work);
// The same with a flag that outlives the call; it is taken back first.
void RunInterruptibly(std::atomic<bool>& interrupted, const std::function<void()>& work);

// Runs work on so many bytes likewise, but on this thread where they are fewer than
// `interruptible`: it is done in the blink of an eye.
void RunWork(std::uint64_t bytes, const std::function<void(std::atomic<bool>& interrupted)>& work,
             std::uint64_t interruptible = kInterruptible);

// Runs work that takes its threads and its flag by settings (RunOptions, GraphRun).
template <class Settings, class Work>
void RunWith(std::optional<std::size_t> asked, std::uint64_t bytes, const Work& work) {
  CallThreads threads(ThreadsFor(asked, bytes));
  RunWork(bytes, [&](std::atomic<bool>& interrupted) {
    Settings settings;
    if (threads.Concurrency() > 1) settings.executor = &threads;
    settings.interrupted = &interrupted;
    work(settings);
  });
}

}  // namespace tensorcast::python

#endif  // TENSORCAST_PYTHON_THREADS_H_
