// The C interface: executors, loss meters, casts and plans.
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "c/boundary.h"
#include "core/failure.h"
#include "core/given.h"
#include "core/range.h"

namespace tensorcast::c {
namespace {

// The caller's threads. It counts the tasks it is asked for: a pool that gives up (an exception
// that Python swallows, a queue that is shut) would otherwise leave parts of a tensor unwritten
// unseen.
class CustomExecutor final : public Executor {
 public:
  CustomExecutor(std::uint32_t concurrency, tensorcast_parallel_for parallel_for, void* context)
      : concurrency_(concurrency), parallel_for_(parallel_for), context_(context) {}

  std::size_t Concurrency() const noexcept override { return concurrency_ == 0 ? 1 : concurrency_; }

  void ParallelFor(std::size_t tasks, void (*task)(void* context, std::size_t index),
                   void* context) override {
    Counted counted = {task, context};
    parallel_for_(
        context_, tasks,
        [](void* task_context, std::size_t index) {
          auto* self = static_cast<Counted*>(task_context);
          self->task(self->context, index);
          self->done.fetch_add(1, std::memory_order_acq_rel);
        },
        &counted);
    if (counted.done.load(std::memory_order_acquire) != tasks) {
      throw core::Failure(StatusCode::kExecutorFailed, "the executor did not run every task once");
    }
  }

 private:
  struct Counted {
    void (*task)(void* context, std::size_t index);
    void* context;
    std::atomic<std::size_t> done{0};
  };
  std::uint32_t concurrency_;
  tensorcast_parallel_for parallel_for_;
  void* context_;
};

std::int32_t GiveExecutor(std::unique_ptr<Executor> executor, tensorcast_executor** handle) {
  auto given = std::make_unique<tensorcast_executor>();
  given->executor = std::make_unique<core::GivenExecutor>(executor.get());
  given->own = std::move(executor);
  *handle = given.release();
  return TENSORCAST_OK;
}

// Whether a buffer holds element `index`.
StatusCode CheckElement(std::int32_t type, const void* buffer, std::uint64_t bytes,
                        std::uint64_t index) {
  const TypeInfo* const row = FindType(static_cast<DataType>(type));
  if (row == nullptr) return StatusCode::kInvalidType;
  if (row->bits == 0) return StatusCode::kWrongCall;
  return core::CheckRange(*row, buffer, Size(bytes), index, 1);
}

void Copy(const LossExample& example, tensorcast_loss_example* copy) {
  *copy = {example.index, example.source_code, example.result_code};
}

}  // namespace

void CopyLoss(const LossReport& figures, tensorcast_loss_report* copy) {
  copy->kinds = TENSORCAST_LOSS_KINDS;
  copy->from = static_cast<std::int32_t>(figures.from);
  copy->to = static_cast<std::int32_t>(figures.to);
  copy->elements = figures.elements;
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    copy->counts[kind] = figures.counts[kind];
    Copy(figures.first[kind], &copy->first[kind]);
  }
  copy->compared = figures.compared;
  copy->max_abs_error = figures.max_abs_error;
  Copy(figures.max_abs_example, &copy->max_abs_example);
  copy->compared_nonzero = figures.compared_nonzero;
  copy->max_rel_error = figures.max_rel_error;
  Copy(figures.max_rel_example, &copy->max_rel_example);
  copy->sum_squares = figures.sum_squares;
  copy->sum_squared_error = figures.sum_squared_error;
  copy->rmse = figures.rmse;
  copy->snr_db = figures.snr_db;
  copy->finite = figures.finite;
  copy->amax = figures.amax;
  copy->smallest_nonzero = figures.smallest_nonzero;
}

}  // namespace tensorcast::c

using tensorcast::CastOptions;
using tensorcast::DataType;
using tensorcast::RunOptions;
using tensorcast::Status;
using tensorcast::StatusCode;
namespace c = tensorcast::c;

// ------------------------------------------------------------------------------ executors

std::int32_t tensorcast_executor_create(std::uint32_t threads, tensorcast_executor** executor) {
  c::Clear(executor);
  if (executor == nullptr) return TENSORCAST_NULL_POINTER;
  return c::Guarded([&]() -> std::int32_t {
    auto made = tensorcast::MakeTbbExecutor(threads);
    if (made == nullptr) return TENSORCAST_NO_THREADS;
    return c::GiveExecutor(std::move(made), executor);
  });
}

std::int32_t tensorcast_executor_create_custom(std::uint32_t concurrency,
                                               tensorcast_parallel_for parallel_for, void* context,
                                               tensorcast_executor** executor) {
  c::Clear(executor);
  if (parallel_for == nullptr || executor == nullptr) return TENSORCAST_NULL_POINTER;
  return c::Guarded([&] {
    return c::GiveExecutor(std::make_unique<c::CustomExecutor>(concurrency, parallel_for, context),
                           executor);
  });
}

void tensorcast_executor_destroy(tensorcast_executor* executor) { delete executor; }

// ----------------------------------------------------------------------------- interrupts

std::int32_t tensorcast_interrupt_create(tensorcast_interrupt** interrupt) {
  c::Clear(interrupt);
  if (interrupt == nullptr) return TENSORCAST_NULL_POINTER;
  return c::Guarded([&]() -> std::int32_t {
    *interrupt = new tensorcast_interrupt;
    return TENSORCAST_OK;
  });
}

std::int32_t tensorcast_interrupt_set(tensorcast_interrupt* interrupt, std::int32_t wanted) {
  if (interrupt == nullptr) return TENSORCAST_NULL_POINTER;
  if (wanted != 0 && wanted != 1) return TENSORCAST_INVALID_OPTION;
  interrupt->wanted.store(wanted == 1, std::memory_order_relaxed);
  return TENSORCAST_OK;
}

void tensorcast_interrupt_destroy(tensorcast_interrupt* interrupt) { delete interrupt; }
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may set one");

// ----------------------------------------------------------------------------------- loss

const char* tensorcast_loss_name(std::int32_t kind) {
  if (kind < 0 || kind >= TENSORCAST_LOSS_KINDS) return "unknown";
  return tensorcast::LossName(static_cast<tensorcast::Loss>(kind)).data();
}

std::int32_t tensorcast_loss_meter_create(std::int32_t from, std::int32_t to,
                                          const tensorcast_options* options,
                                          tensorcast_loss_meter** meter) {
  c::Clear(meter);
  if (meter == nullptr) return TENSORCAST_NULL_POINTER;
  for (const std::int32_t type : {from, to}) {
    const tensorcast::TypeInfo* row = tensorcast::FindType(static_cast<DataType>(type));
    if (row == nullptr) return TENSORCAST_INVALID_TYPE;
    if (row->bits == 0) return TENSORCAST_UNSUPPORTED;
  }
  return c::WithOptions(options, nullptr, [&](const CastOptions& cast_options, const RunOptions&) {
    *meter = new tensorcast_loss_meter{
        {static_cast<DataType>(from), static_cast<DataType>(to), cast_options}};
    return Status();
  });
}

std::int32_t tensorcast_loss_meter_merge(tensorcast_loss_meter* meter,
                                         const tensorcast_loss_meter* other) {
  if (meter == nullptr || other == nullptr) return TENSORCAST_NULL_POINTER;
  return c::Guarded([&] {
    if (meter != other) return c::Code(meter->meter.Merge(other->meter));
    const tensorcast::LossMeter copy = other->meter;
    return c::Code(meter->meter.Merge(copy));
  });
}

std::int32_t tensorcast_loss_meter_report(const tensorcast_loss_meter* meter,
                                          tensorcast_loss_report* report) {
  if (meter == nullptr) return TENSORCAST_NULL_POINTER;
  const StatusCode code = c::CheckOutputStruct(report);
  if (code != StatusCode::kOk) return c::Code(code);
  return c::Guarded([&]() -> std::int32_t {
    tensorcast_loss_report copy = {};
    c::CopyLoss(meter->meter.Report(), &copy);
    c::WriteStruct(copy, report);
    return TENSORCAST_OK;
  });
}

std::int32_t tensorcast_loss_meter_save(const tensorcast_loss_meter* meter, void* bytes,
                                        std::size_t capacity, std::size_t* size) {
  c::Clear(size);
  if (meter == nullptr || size == nullptr) return TENSORCAST_NULL_POINTER;
  *size = tensorcast::LossMeter::SavedBytes();
  if (bytes == nullptr || capacity == 0) return TENSORCAST_OK;
  return c::Guarded([&] {
    return c::Code(meter->meter.Save(std::span(static_cast<std::byte*>(bytes), capacity)));
  });
}

std::int32_t tensorcast_loss_meter_load(const void* bytes, std::size_t size,
                                        tensorcast_loss_meter** meter) {
  c::Clear(meter);
  if (meter == nullptr) return TENSORCAST_NULL_POINTER;
  if (bytes == nullptr && size != 0) return TENSORCAST_NULL_POINTER;
  return c::Guarded([&]() -> std::int32_t {
    auto loaded = std::make_unique<tensorcast_loss_meter>(
        tensorcast_loss_meter{{DataType::kFloat32, DataType::kFloat32, {}}});
    const tensorcast::Status status =
        loaded->meter.Load(std::span(static_cast<const std::byte*>(bytes), size));
    if (!status.ok()) return c::Code(status);
    *meter = loaded.release();
    return TENSORCAST_OK;
  });
}

void tensorcast_loss_meter_destroy(tensorcast_loss_meter* meter) { delete meter; }

// ---------------------------------------------------------------------------------- casts

std::int32_t tensorcast_cast(std::int32_t from, const void* source, std::uint64_t source_bytes,
                             std::int32_t to, void* destination, std::uint64_t destination_bytes,
                             std::uint64_t n, const tensorcast_options* options,
                             const tensorcast_run* run) {
  return c::WithOptions(
      options, run, [&](const CastOptions& cast_options, const RunOptions& run_options) {
        return tensorcast::Cast(static_cast<DataType>(from), c::Bytes(source, source_bytes),
                                static_cast<DataType>(to), c::Bytes(destination, destination_bytes),
                                n, cast_options, run_options);
      });
}

std::int32_t tensorcast_cast_code(std::int32_t from, std::uint64_t code, std::int32_t to,
                                  const tensorcast_options* options, std::uint64_t* result) {
  c::Clear(result);
  for (const std::int32_t type : {from, to}) {
    const tensorcast::TypeInfo* row = tensorcast::FindType(static_cast<DataType>(type));
    if (row == nullptr) return TENSORCAST_INVALID_TYPE;
    if (row->bits == 0) return TENSORCAST_WRONG_CALL;
  }
  return c::WithOptions(options, nullptr, [&](const CastOptions& cast_options, const RunOptions&) {
    if (result == nullptr) return Status(StatusCode::kNullPointer);
    *result = tensorcast::CastBits(static_cast<DataType>(from), static_cast<DataType>(to), code,
                                   cast_options);
    return Status();
  });
}

std::int32_t tensorcast_load_code(std::int32_t type, const void* buffer, std::uint64_t bytes,
                                  std::uint64_t index, std::uint64_t* code) {
  c::Clear(code);
  const StatusCode status = c::CheckElement(type, buffer, bytes, index);
  if (status != StatusCode::kOk) return c::Code(status);
  if (code == nullptr) return TENSORCAST_NULL_POINTER;
  *code = tensorcast::LoadCode(static_cast<DataType>(type), static_cast<const std::byte*>(buffer),
                               index);
  return TENSORCAST_OK;
}

std::int32_t tensorcast_store_code(std::int32_t type, void* buffer, std::uint64_t bytes,
                                   std::uint64_t index, std::uint64_t code) {
  const StatusCode status = c::CheckElement(type, buffer, bytes, index);
  if (status != StatusCode::kOk) return c::Code(status);
  tensorcast::StoreCode(static_cast<DataType>(type), static_cast<std::byte*>(buffer), index, code);
  return TENSORCAST_OK;
}

std::int32_t tensorcast_unpack(std::int32_t type, const void* packed, std::uint64_t packed_bytes,
                               std::uint64_t first, void* codes, std::uint64_t codes_bytes,
                               std::uint64_t n) {
  return c::Code(tensorcast::Unpack(static_cast<DataType>(type), c::Bytes(packed, packed_bytes),
                                    first, c::Bytes(codes, codes_bytes), n));
}

std::int32_t tensorcast_pack(std::int32_t type, const void* codes, std::uint64_t codes_bytes,
                             void* packed, std::uint64_t packed_bytes, std::uint64_t first,
                             std::uint64_t n) {
  return c::Code(tensorcast::Pack(static_cast<DataType>(type), c::Bytes(codes, codes_bytes),
                                  c::Bytes(packed, packed_bytes), first, n));
}

std::int32_t tensorcast_plan_create(std::int32_t from, std::int32_t to,
                                    const tensorcast_options* options, std::int32_t target,
                                    tensorcast_plan** plan) {
  c::Clear(plan);
  if (plan == nullptr) return TENSORCAST_NULL_POINTER;
  return c::WithOptions(options, nullptr, [&](const CastOptions& cast_options, const RunOptions&) {
    auto made = std::make_unique<tensorcast_plan>();
    const tensorcast::Status status = tensorcast::CastPlan::Bind(
        static_cast<DataType>(from), static_cast<DataType>(to), cast_options, &made->plan,
        static_cast<tensorcast::Target>(target));
    if (status.ok()) *plan = made.release();
    return status;
  });
}

std::int32_t tensorcast_plan_target(const tensorcast_plan* plan, std::int32_t* target) {
  c::Clear(target);
  if (plan == nullptr || target == nullptr) return TENSORCAST_NULL_POINTER;
  *target = static_cast<std::int32_t>(plan->plan.target());
  return TENSORCAST_OK;
}

std::int32_t tensorcast_plan_run(const tensorcast_plan* plan, const void* source,
                                 std::uint64_t source_bytes, std::uint64_t source_first,
                                 void* destination, std::uint64_t destination_bytes,
                                 std::uint64_t destination_first, std::uint64_t n,
                                 const tensorcast_run* run) {
  if (plan == nullptr) return TENSORCAST_NULL_POINTER;
  return c::WithOptions(nullptr, run, [&](const CastOptions&, const RunOptions& run_options) {
    return plan->plan.Run(c::Bytes(source, source_bytes), source_first,
                          c::Bytes(destination, destination_bytes), destination_first, n,
                          run_options);
  });
}

void tensorcast_plan_destroy(tensorcast_plan* plan) { delete plan; }
