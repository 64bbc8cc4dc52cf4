// Running a bound plan: the checks and the slices for the executor.
//
// SPDX-License-Identifier: Apache-2.0
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "core/failure.h"
#include "core/fp_environment.h"
#include "core/kernels.h"
#include "core/range.h"
#include "core/slices.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {
namespace {

// Below this many bytes in and out, waking a second thread costs more than it saves; with loss
// there is several times the work to a byte.
constexpr std::uint64_t kLeastParallelBytes = 4 << 20;
constexpr std::uint64_t kLeastParallelBytesWithLoss = 1 << 20;
constexpr std::size_t kSlicesPerThread = 4;

// Runs of more bytes in and out than this may write past the caches. Where a machine shares a very
// large cache among many, a run has a part of it.
std::uint64_t StreamedFrom() {
  static const std::uint64_t bytes = [] {
    std::uint64_t cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    cache = static_cast<std::uint64_t>(std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), 0L));
#endif
    return std::clamp<std::uint64_t>(cache, 32 << 20, 64 << 20);
  }();
  return bytes;
}

// Exactly in place is fine, for equal widths; any other common byte is not.
bool OverlapIsRefused(const TypeInfo& from, const std::byte* source, std::uint64_t source_first,
                      const TypeInfo& to, const std::byte* destination,
                      std::uint64_t destination_first, std::uint64_t n) {
  struct Range {
    std::uintptr_t begin, end;
    unsigned bit;
  };
  const auto range = [n](const TypeInfo& row, const std::byte* data, std::uint64_t first) {
    const std::uint64_t bit = first * static_cast<std::uint64_t>(row.bits);
    const std::uint64_t end = (first + n) * static_cast<std::uint64_t>(row.bits);
    const auto base = reinterpret_cast<std::uintptr_t>(data);
    return Range{base + bit / 8, base + (end + 7) / 8, static_cast<unsigned>(bit % 8)};
  };
  const Range in = range(from, source, source_first);
  const Range out = range(to, destination, destination_first);
  if (in.end <= out.begin || out.end <= in.begin) return false;
  return from.bits != to.bits || in.begin != out.begin || in.bit != out.bit;
}

Target RunGuarded(const Bound& bound, const CastOptions& options, const Job& job) {
  const std::uint64_t staged = ElementsBeforeDirect(bound, job);
  if (job.loss != nullptr || (bound.floating && staged != 0) ||
      (bound.direct_floating && staged != job.n)) {
    const FpEnvironment environment;
    return bound.kernels->run(bound, options, job);
  }
  return bound.kernels->run(bound, options, job);
}

// How many slices a run is worth, at least 1; they begin at `head` and every kBlock from there.
std::uint64_t CountSlices(const Bound& bound, const Job& job, const Executor* executor,
                          std::uint64_t head) {
  if (executor == nullptr || executor->Concurrency() < 2) return 1;
  const auto bits = static_cast<std::uint64_t>(bound.from->bits + bound.to->bits);
  const std::uint64_t least =
      job.loss != nullptr ? kLeastParallelBytesWithLoss : kLeastParallelBytes;
  if (job.n / 8 * bits < least) return 1;
  // Two slices of a packed destination must not share a byte.
  if ((job.destination_first + head) * static_cast<std::uint64_t>(bound.to->bits) % 8 != 0)
    return 1;
  return executor->Concurrency() * kSlicesPerThread;
}

// The last step before the run: nothing that can fail comes after it.
void BeginLoss(const Job& job) {
  if (job.loss == nullptr) return;
  const FpEnvironment environment;
  job.loss->Begin(job.loss_index);
}

// For an executor, or where an interruption is looked for. Slices begin at multiples of the block,
// of the tensor's own where measured; the first goes on with the caller's meter. Sets `ran_last`
// after a success.
Status RunInSlices(const Bound& bound, const CastOptions& options, const Job& job,
                   const RunOptions& run, Target* ran_last) {
  const std::uint64_t head =
      job.loss == nullptr ? 0 : std::min(job.n, (kBlock - job.loss_index % kBlock) % kBlock);
  const Slices slices(job.n, head, kBlock, CountSlices(bound, job, run.executor, head));
  std::vector<LossState> meters;  // of slices 1 ..., where measured
  if (job.loss != nullptr && slices.count > 1) {
    const Status allocated = Guarded(nullptr, [&] {
      meters.assign(slices.count - 1, LossState(bound.from->type, bound.to->type, options));
      return Status();
    });
    if (!allocated.ok()) return allocated;
  }
  BeginLoss(job);
  std::atomic<Target> ran = bound.kernels->target;
  const auto run_part = [&](std::size_t slice, std::uint64_t begin, std::uint64_t end) {
    Job part = job;
    part.source_first += begin;
    part.destination_first += begin;
    part.n = end - begin;
    part.loss_index += begin;
    if (job.loss != nullptr && slice != 0) part.loss = &meters[slice - 1];
    ran.store(RunGuarded(bound, options, part), std::memory_order_relaxed);
  };
  const auto bits = static_cast<std::uint64_t>(bound.from->bits + bound.to->bits);
  const std::uint64_t piece = run.interrupted == nullptr ? 0 : kInterruptBytes * 8 / bits;
  if (!slices.ForEach(run.executor, run.interrupted, piece, run_part)) {
    return Status(StatusCode::kInterrupted);
  }
  if (!meters.empty()) {
    const FpEnvironment environment;
    for (const LossState& meter : meters) {
      if (meter.elements != 0) job.loss->Append(meter);
    }
  }
  *ran_last = ran.load(std::memory_order_relaxed);
  return Status();
}

// Apart, as saving registers for it would cost every other run.
[[gnu::noinline]] void RunInEnvironment(Stage stage, const std::byte* in, std::byte* out,
                                        std::size_t n, const EncodeArgs& args) {
  const FpEnvironment environment;
  stage(in, out, n, args);
}

// A short run of which nothing more is asked takes as long as its checks do: here are as few as
// there can be. False where one does not hold, and nothing has been done: the long way says why.
inline bool RunShort(const Bound& bound, std::span<const std::byte> source,
                     std::span<std::byte> destination, std::uint64_t n, const RunOptions& run) {
  if (n >= bound.short_end) return false;
  const auto elements = static_cast<std::size_t>(n);
  const std::size_t read = (elements * bound.from_bits + 7) / 8;
  const std::size_t written = (elements * bound.to_bits + 7) / 8;
  if (read > source.size() || written > destination.size()) return false;
  // The one that begins first is not null, and ends before the other begins.
  const auto in = reinterpret_cast<std::uintptr_t>(source.data());
  const auto out = reinterpret_cast<std::uintptr_t>(destination.data());
  if (in < out ? in == 0 || in + read > out : out == 0 || out + written > in) return false;
  if (run.ran != nullptr) *run.ran = bound.kernels->target;
  if (elements <= bound.brief_most) {
    bound.brief(source.data(), destination.data(), elements, bound.args);
  } else if (bound.direct_floating) {
    RunInEnvironment(bound.direct, source.data(), destination.data(), elements, bound.args);
  } else {
    bound.direct(source.data(), destination.data(), elements, bound.args);
  }
  return true;
}

}  // namespace
}  // namespace tensorcast::core

namespace tensorcast {
inline namespace TENSORCAST_ABI {

Status CastPlan::Run(std::span<const std::byte> source, std::uint64_t source_first,
                     std::span<std::byte> destination, std::uint64_t destination_first,
                     std::uint64_t n, const RunOptions& run) const {
  if ((source_first | destination_first) != 0 || run.loss != nullptr || run.executor != nullptr ||
      run.interrupted != nullptr) [[unlikely]] {
    return RunChecked(source, source_first, destination, destination_first, n, run);
  }
  if (core::RunShort(*bound(), source, destination, n, run)) return Status();
  return RunChecked(source, 0, destination, 0, n, run);
}

Status CastPlan::RunChecked(std::span<const std::byte> source, std::uint64_t source_first,
                            std::span<std::byte> destination, std::uint64_t destination_first,
                            std::uint64_t n, const RunOptions& run) const {
  if (from_ == DataType::kUndefined) return Status(StatusCode::kInvalidType);
  if (from_ == DataType::kString || to_ == DataType::kString) {
    return Status(StatusCode::kWrongCall);
  }
  const core::Bound& bound = *this->bound();
  StatusCode code = core::CheckRange(*bound.from, source.data(), source.size(), source_first, n);
  if (code != StatusCode::kOk) return Status(code);
  code = core::CheckRange(*bound.to, destination.data(), destination.size(), destination_first, n);
  if (code != StatusCode::kOk) return Status(code);
  if (n != 0 && core::OverlapIsRefused(*bound.from, source.data(), source_first, *bound.to,
                                       destination.data(), destination_first, n)) {
    return Status(StatusCode::kOverlap);
  }
  core::LossState* loss = nullptr;
  if (run.loss != nullptr) {
    loss = run.loss->state_.get();
    if (loss->run_from != from_ || loss->to != to_ || !(loss->options == options_)) {
      return Status(StatusCode::kLossMismatch);
    }
    if (run.loss_index > UINT64_MAX - n) return Status(StatusCode::kSizeOverflow);
    if (!loss->Continues(run.loss_index)) return Status(StatusCode::kLossPosition);
  }
  Target ran = bound.kernels->target;
  if (n != 0) {
    const auto bits = static_cast<std::uint64_t>(bound.from->bits + bound.to->bits);
    const bool streams = n / 8 * bits >= core::StreamedFrom();
    const core::Job job = {
        source.data(),  source_first, destination.data(), destination_first, n, loss,
        run.loss_index, streams};
    if (run.executor == nullptr && run.interrupted == nullptr) {
      core::BeginLoss(job);
      ran = core::RunGuarded(bound, options_, job);
    } else {
      const Status status = core::RunInSlices(bound, options_, job, run, &ran);
      if (!status.ok()) return status;
    }
  }
  if (run.ran != nullptr) *run.ran = ran;
  return Status();
}

Status Cast(DataType from, std::span<const std::byte> source, DataType to,
            std::span<std::byte> destination, std::uint64_t n, const CastOptions& options,
            const RunOptions& run) {
  CastPlan plan;
  Status status = CastPlan::BindFor(n, from, to, options, &plan, Target::kBest);
  if (!status.ok()) return status;
  status = plan.Run(source, 0, destination, 0, n, run);
  if (!status.ok() || n == 0) return status;
  core::ClearPadBits(detail::Row(to), n, destination);
  return status;
}

Executor::~Executor() = default;

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
