// Executors for tests; see thread_executor.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/thread_executor.h"

#include <thread>
#include <utility>
#include <vector>

namespace tensorcast::testing {

ThreadExecutor::ThreadExecutor(std::size_t threads, std::function<void()> on_thread_start,
                               std::function<void()> on_thread_end)
    : threads_(threads), start_(std::move(on_thread_start)), end_(std::move(on_thread_end)) {}

void ThreadExecutor::ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                                 void* context) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    if (start_) start_();
    for (std::size_t i = next.fetch_add(1); i < tasks; i = next.fetch_add(1)) {
      task(context, i);
      tasks_run_.fetch_add(1);
    }
    if (end_) end_();
  };
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < threads_; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
}

void BackwardsExecutor::ParallelFor(std::size_t tasks,
                                    void (*task)(void* context, std::size_t index), void* context) {
  for (std::size_t i = tasks; i-- > 0;) task(context, i);
}

}  // namespace tensorcast::testing
