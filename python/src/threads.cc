// A call's threads are started, interrupted and joined here.
//
// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/failure.h"

namespace nb = nanobind;

namespace tensorcast::python {

bool Ending::HasBegun() noexcept {
  // Public from Python 3.13 on, and before under the other name; no part of the stable ABI.
  using Ask = int (*)();
  static const auto ask = [] {
    void* const found = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    return reinterpret_cast<Ask>(found != nullptr ? found
                                                  : dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"));
  }();
  return ask != nullptr && ask() != 0;
}

namespace {

[[noreturn]] void StayForGood(std::atomic<bool>* stops) noexcept {
  if (stops != nullptr) *stops = true;
  nb::set_leak_warnings(false);  // what the thread holds is held on purpose
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

// The interpreter may begin to end while the GIL is waited for, and then unwinds the thread from
// there: on its way it comes by here, and goes no further.
class StopsUnwinding {
 public:
  explicit StopsUnwinding(std::atomic<bool>* stops) : stops_(stops) {}
  StopsUnwinding(const StopsUnwinding&) = delete;
  StopsUnwinding& operator=(const StopsUnwinding&) = delete;
  ~StopsUnwinding() {
    if (!has_gil_) StayForGood(stops_);
  }
  void HasGil() { has_gil_ = true; }

 private:
  std::atomic<bool>* const stops_;
  bool has_gil_ = false;
};

}  // namespace

void Ending::StayIfBegun(std::atomic<bool>* stops) const noexcept {
  if (!has_begun_ && HasBegun()) StayForGood(stops);
}

// Not in a destructor's own frame, which lets no unwinding in.
[[gnu::noinline]] void Ending::Restore(PyThreadState* state) const {
  StayIfBegun(nullptr);
  StopsUnwinding guard(nullptr);
  PyEval_RestoreThread(state);
  guard.HasGil();
}

[[gnu::noinline]] PyGILState_STATE Ending::Ensure(std::atomic<bool>* stops) const {
  StayIfBegun(stops);
  StopsUnwinding guard(stops);
  const PyGILState_STATE state = PyGILState_Ensure();
  guard.HasGil();
  return state;
}

void CallThreads::ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                              void* context) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < tasks; i = next.fetch_add(1)) task(context, i);
  };
  std::vector<std::thread> others;
  const std::size_t wanted = std::min(threads_, tasks);
  others.reserve(wanted);
  for (std::size_t i = 1; i < wanted; ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {  // the system gives no more: those that are there do it
      break;
    }
  }
  work();
  for (std::thread& other : others) other.join();
}

std::size_t ThreadsFor(std::optional<std::size_t> asked, std::uint64_t bytes) {
  if (asked && *asked != 0) return *asked;
  if (!asked && bytes < kBytesThatPay) return 1;
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) {
    return static_cast<std::size_t>(std::max(1, CPU_COUNT(&cpus)));
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

void RunInterruptibly(const std::function<void(std::atomic<bool>& interrupted)>& work) {
  std::atomic<bool> interrupted = false;
  RunInterruptibly(interrupted, [&] { work(interrupted); });
}

void RunInterruptibly(std::atomic<bool>& interrupted, const std::function<void()>& work) {
  interrupted = false;
  bool done = false;
  std::exception_ptr failure;
  std::optional<core::Failure> refusal;  // which the library keeps for the thread that met it
  std::mutex mutex;
  std::condition_variable changed;
  const auto run = [&] {
    try {
      work();
      if (const Refusal last = LastRefusal(); last.kind != StatusCode::kOk) refusal.emplace(last);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_one();
  };
  std::thread worker;
  try {
    worker = std::thread(run);
  } catch (const std::system_error&) {  // the system gives no thread: signals wait
    const WithoutGil without_gil;
    return work();
  }
  std::optional<nb::python_error> raised;
  {
    const WithoutGil without_gil;
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return done; })) {
      lock.unlock();
      {
        const WithGil gil(without_gil.ending(), &interrupted);
        if (PyErr_CheckSignals() != 0) {
          raised.emplace();  // takes the error
          interrupted = true;
        }
      }
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  if (refusal) core::KeepRefusal(refusal->refusal());
  if (raised) throw nb::python_error(std::move(*raised));
  if (failure) std::rethrow_exception(failure);
}

void RunWork(std::uint64_t bytes, const std::function<void(std::atomic<bool>& interrupted)>& work,
             std::uint64_t interruptible) {
  if (bytes >= interruptible) return RunInterruptibly(work);
  const WithoutGil without_gil;
  std::atomic<bool> interrupted = false;
  work(interrupted);
}

}  // namespace tensorcast::python
