// Executors for tests: plain std::threads (what ThreadSanitizer sees), and one that runs the tasks
// backwards on the calling thread.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_CORE_THREAD_EXECUTOR_H_
#define TENSORCAST_TESTS_CORE_THREAD_EXECUTOR_H_

#include <atomic>
#include <cstddef>
#include <functional>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {

class ThreadExecutor final : public Executor {
 public:
  // `on_thread_start` and `on_thread_end` run on each worker, around its tasks.
  explicit ThreadExecutor(std::size_t threads, std::function<void()> on_thread_start = {},
                          std::function<void()> on_thread_end = {});
  std::size_t Concurrency() const noexcept override { return threads_; }
  void ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                   void* context) override;

  // Tasks run so far: proof that the library did share its work out.
  std::size_t tasks_run() const { return tasks_run_.load(); }

 private:
  std::size_t threads_;
  std::function<void()> start_, end_;
  std::atomic<std::size_t> tasks_run_ = 0;
};

class BackwardsExecutor final : public Executor {
 public:
  std::size_t Concurrency() const noexcept override { return 5; }
  void ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                   void* context) override;
};

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_CORE_THREAD_EXECUTOR_H_
