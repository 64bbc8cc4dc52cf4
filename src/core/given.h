// Code of the caller's that a call of ours runs: executors and functions. What it throws is told
// from a fault of our own here, at the call of it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_GIVEN_H_
#define TENSORCAST_SRC_CORE_GIVEN_H_

#include <cstddef>
#include <exception>
#include <functional>
#include <new>
#include <utility>

#include "core/failure.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

// Calls what was given. What that throws becomes a Failure of this code, but for failures of ours
// that come through it, and the end of memory.
template <class Call> decltype(auto) CallGiven(StatusCode code, const Call& call) {
  try {
    return call();
  } catch (const Failure&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    throw Failure(code, WithThrown(Status(code), thrown.what()));
  } catch (...) {
    throw Failure(code, WithThrown(Status(code), ""));
  }
}

// A function that was given, if one was.
template <class... Args> std::function<void(Args...)> Given(std::function<void(Args...)> function) {
  if (!function) return function;
  return [function = std::move(function)](Args... args) {
    CallGiven(StatusCode::kCallbackFailed, [&] { function(std::forward<Args>(args)...); });
  };
}

// An executor that was given.
class GivenExecutor final : public Executor {
 public:
  explicit GivenExecutor(Executor* executor) : executor_(executor) {}
  // Null where none was given: then nothing else is called.
  Executor* get() { return executor_ == nullptr ? nullptr : this; }
  std::size_t Concurrency() const noexcept override { return executor_->Concurrency(); }
  void ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                   void* context) override {
    CallGiven(StatusCode::kExecutorFailed, [&] { executor_->ParallelFor(tasks, task, context); });
  }

 private:
  Executor* executor_;
};

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_GIVEN_H_
