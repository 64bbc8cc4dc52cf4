// The executor over oneTBB.
//
// SPDX-License-Identifier: Apache-2.0
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
namespace {

class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int threads) : arena_(threads) {}

  std::size_t Concurrency() const noexcept override {
    return static_cast<std::size_t>(arena_.max_concurrency());
  }

  void ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                   void* context) override {
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
};

}  // namespace

std::unique_ptr<Executor> MakeTbbExecutor(std::size_t threads) {
  // A copy: make_unique would take a reference, and oneTBB's has no definition to refer to.
  constexpr int kAllCores = oneapi::tbb::task_arena::automatic;
  if (threads == 0) return std::make_unique<TbbExecutor>(kAllCores);
  // oneTBB gives no more threads than this, and says so on stderr when it is asked for them.
  using oneapi::tbb::global_control;
  const std::size_t most = global_control::active_value(global_control::max_allowed_parallelism);
  return std::make_unique<TbbExecutor>(
      static_cast<int>(std::min(threads, std::max<std::size_t>(most, 1))));
}

}  // namespace tensorcast
