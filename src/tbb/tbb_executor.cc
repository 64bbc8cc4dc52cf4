// The executor over oneTBB.
//
// SPDX-License-Identifier: Apache-2.0
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {
namespace {

// How many of `wanted` threads the system gives at once. oneTBB starts its workers from one
// another, and ends the process where one of those is refused.
int ThreadsToBeHad(int wanted) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(wanted));
  std::mutex gate;
  {
    const std::lock_guard<std::mutex> closed(gate);
    try {
      for (int i = 0; i < wanted; ++i) {
        threads.emplace_back([&gate] { const std::lock_guard<std::mutex> passed(gate); });
      }
    } catch (const std::exception&) {  // no thread, or no memory for one
    }
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(threads.size());
}

class TbbExecutor final : public Executor {
 public:
  // Starts the workers: should one be refused all the same, the calling thread works alone.
  explicit TbbExecutor(int threads) : arena_(threads) {
    if (threads == 1) return;
    try {
      arena_.enqueue([] {});  // not a loop: what it leaves behind refers to nothing
    } catch (const std::exception&) {
      is_alone_ = true;
    }
  }

  std::size_t Concurrency() const noexcept override {
    return is_alone_ ? 1 : static_cast<std::size_t>(arena_.max_concurrency());
  }

  void ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                   void* context) override {
    if (is_alone_) {
      for (std::size_t i = 0; i < tasks; ++i) task(context, i);
      return;
    }
    arena_.execute([&] {
      // One index at a time: a task is a large piece of work already.
      oneapi::tbb::parallel_for(
          oneapi::tbb::blocked_range<std::size_t>(0, tasks, 1),
          [&](const oneapi::tbb::blocked_range<std::size_t>& range) {
            for (std::size_t i = range.begin(); i != range.end(); ++i) task(context, i);
          },
          oneapi::tbb::simple_partitioner());
    });
  }

 private:
  oneapi::tbb::task_arena arena_;
  bool is_alone_ = false;
};

}  // namespace

std::unique_ptr<Executor> MakeTbbExecutor(std::size_t threads) {
  // oneTBB gives no more threads than this, and says so on stderr when it is asked for them.
  using oneapi::tbb::global_control;
  const std::size_t most = global_control::active_value(global_control::max_allowed_parallelism);
  std::size_t wanted = std::max<std::size_t>(most, 1);
  if (threads == 0) {
    wanted = std::min(wanted, static_cast<std::size_t>(oneapi::tbb::info::default_concurrency()));
  } else {
    wanted = std::min(wanted, threads);
  }
  return std::make_unique<TbbExecutor>(1 + ThreadsToBeHad(static_cast<int>(wanted) - 1));
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
