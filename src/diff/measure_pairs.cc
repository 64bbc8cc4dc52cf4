// Stretches of whole blocks of loss, taken in order by as many workers as there are threads. Bytes
// that are the same need not be measured unless others of their tensor are not: then they are read
// once more, for what they add to the figures.
//
// SPDX-License-Identifier: Apache-2.0
#include "diff/measure_pairs.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/given.h"
#include "core/loss.h"
#include "files/error.h"

namespace tensorcast::diff {
namespace {

using convert::JobOptions;
using formats::TensorInfo;
using formats::TensorReader;

// Pairs are taken up some at a time: what is held for each is let go before there are many.
constexpr std::size_t kPairsAtOnce = 512;
constexpr std::uint64_t kStringsAtOnce = std::uint64_t{64} << 10;

struct Job {
  std::size_t index = 0;  // among the pairs
  const PairJob* pair = nullptr;
  const TensorInfo* a = nullptr;
  const TensorInfo* b = nullptr;
  const TypeInfo* from = nullptr;  // null: bytes, or strings
  const TypeInfo* to = nullptr;
  std::uint64_t units = 0;  // elements; of types that are not known bytes; strings have none here
  std::uint64_t stretch_units = 0;
  std::uint64_t first_stretch = 0;  // in the batch's order
  // What was found, guarded by the run's mutex.
  std::vector<std::uint64_t> same;   // stretches whose bytes are the same
  std::unique_ptr<LossMeter> meter;  // of the others
  std::uint64_t different = 0;       // bytes or strings
  std::uint64_t first = UINT64_MAX;
};

struct Worker {
  std::vector<std::byte> a, b;
  // What it measured of a pair that it has not left yet.
  Job* job = nullptr;
  std::unique_ptr<LossMeter> meter;
};

bool IsText(const TensorInfo& info) { return info.type == DataType::kString; }

std::uint64_t BytesOf(const TensorInfo& info, std::uint64_t units) {
  return FindType(info.type) != nullptr ? *StorageBytes(info.type, units) : units;
}

std::span<std::byte> Resize(std::vector<std::byte>& buffer, std::uint64_t bytes) {
  if (buffer.size() < bytes) buffer.resize(static_cast<std::size_t>(bytes));
  return std::span(buffer).first(static_cast<std::size_t>(bytes));
}

// The strings of a tensor, one after the other.
class TextStream {
 public:
  TextStream(const TensorReader& reader, std::size_t tensor)
      : reader_(reader), tensor_(tensor), elements_(reader.contents().tensors[tensor].elements) {}

  // Not once more than there are strings.
  std::string_view Next() {
    if (place_ == piece_.view().size()) {
      piece_ = reader_.ReadStrings(tensor_, done_, std::min(elements_ - done_, kStringsAtOnce));
      done_ += piece_.view().size();
      place_ = 0;
    }
    return piece_.view()[place_++];
  }

 private:
  const TensorReader& reader_;
  const std::size_t tensor_;
  const std::uint64_t elements_;
  text::StringPiece piece_;
  std::uint64_t place_ = 0, done_ = 0;
};

class Run {
 public:
  Run(const TensorReader& a, const TensorReader& b, std::span<const PairJob> pairs,
      const JobOptions& options)
      : a_(a), b_(b), pairs_(pairs), options_(options), workers_(convert::WorkersOf(options)) {
    for (const PairJob& pair : pairs) {
      total_bytes_ += a.contents().tensors[pair.a].bytes + b.contents().tensors[pair.b].bytes;
    }
  }

  void Execute(const TakeFigures& take) {
    for (std::size_t i = 0; i < pairs_.size();) {
      jobs_.clear();
      stretches_ = 0;
      for (; i < pairs_.size() && jobs_.size() < kPairsAtOnce; ++i) Add(i);
      ForEach(stretches_, [this](std::uint64_t stretch, Worker& worker) {
        Job& job = JobOf(stretch);
        Compare(job, stretch - job.first_stretch, true, worker);
      });
      MeasureSame();
      for (Job& job : jobs_) {
        if (IsText(*job.a)) CompareTexts(job);
        take(job.index, FiguresOf(job));
      }
    }
    a_.CheckUnchanged();
    b_.CheckUnchanged();
  }

 private:
  void Add(std::size_t index) {
    Job job;
    job.index = index;
    job.pair = &pairs_[index];
    job.a = &a_.contents().tensors[job.pair->a];
    job.b = &b_.contents().tensors[job.pair->b];
    job.first_stretch = stretches_;
    if (!IsText(*job.a)) {
      job.from = FindType(job.a->type);
      job.to = FindType(job.b->type);
      job.units = convert::UnitsOf(*job.a);
      const auto bits =
          static_cast<std::uint64_t>(job.from != nullptr ? job.from->bits + job.to->bits : 16);
      constexpr std::uint64_t kGrain = convert::kRangeGrain;
      job.stretch_units =
          std::max(kGrain, convert::ChunkBytesOf(options_) * 8 / bits / kGrain * kGrain);
      stretches_ += job.units / job.stretch_units + (job.units % job.stretch_units != 0 ? 1 : 0);
    }
    jobs_.push_back(std::move(job));
  }

  Job& JobOf(std::uint64_t stretch) {
    const auto after = std::upper_bound(
        jobs_.begin(), jobs_.end(), stretch,
        [](std::uint64_t value, const Job& job) { return value < job.first_stretch; });
    // Jobs without a stretch share their successor's first and stand before it.
    return *std::prev(after);
  }

  // Of tensors some of whose bytes are not the same, those that are.
  void MeasureSame() {
    std::vector<std::pair<Job*, std::uint64_t>> again;
    for (Job& job : jobs_) {
      if (job.meter == nullptr) continue;
      std::ranges::sort(job.same);
      for (const std::uint64_t stretch : job.same) {
        again.emplace_back(&job, stretch);
        const std::uint64_t n = UnitsIn(job, stretch);
        total_bytes_ += BytesOf(*job.a, n) + BytesOf(*job.b, n);
      }
    }
    ForEach(again.size(), [&](std::uint64_t i, Worker& worker) {
      Compare(*again[i].first, again[i].second, false, worker);
    });
  }

  static std::uint64_t UnitsIn(const Job& job, std::uint64_t stretch) {
    return std::min(job.stretch_units, job.units - stretch * job.stretch_units);
  }

  void Compare(Job& job, std::uint64_t stretch, bool may_be_same, Worker& worker) {
    const std::uint64_t first = stretch * job.stretch_units, n = UnitsIn(job, stretch);
    const std::span<std::byte> a = Resize(worker.a, BytesOf(*job.a, n));
    const std::span<std::byte> b = Resize(worker.b, BytesOf(*job.b, n));
    a_.Read(job.pair->a, BytesOf(*job.a, first), a);
    b_.Read(job.pair->b, BytesOf(*job.b, first), b);
    if (job.from == nullptr) {
      CompareBytes(job, first, a, b);
    } else if (may_be_same && job.pair->may_be_same_bytes &&
               std::memcmp(a.data(), b.data(), a.size()) == 0) {
      const std::lock_guard lock(mutex_);
      job.same.push_back(stretch);
    } else {
      Enter(job, worker);
      const core::LossView view = {job.from, job.to, a.data(), 0, b.data(), 0};
      convert::CheckStatus(core::MeasurePair(*worker.meter, view, n, first, options_.target),
                           *job.a);
    }
    Report(job, a.size() + b.size());
  }

  void CompareBytes(Job& job, std::uint64_t first, std::span<const std::byte> a,
                    std::span<const std::byte> b) {
    if (std::memcmp(a.data(), b.data(), a.size()) == 0) return;
    std::uint64_t different = 0, lowest = UINT64_MAX;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      if (different++ == 0) lowest = first + i;
    }
    const std::lock_guard lock(mutex_);
    job.different += different;
    job.first = std::min(job.first, lowest);
  }

  void CompareTexts(Job& job) {
    constexpr std::uint64_t kOften = 1 << 12;
    TextStream a(a_, job.pair->a), b(b_, job.pair->b);
    for (std::uint64_t i = 0; i < job.a->elements; ++i) {
      if (i % kOften == 0) files::StopIfInterrupted(options_.interrupted);
      if (a.Next() == b.Next()) continue;
      if (job.different++ == 0) job.first = i;
    }
    Report(job, job.a->bytes + job.b->bytes);
  }

  PairFigures FiguresOf(const Job& job) const {
    PairFigures figures;
    figures.elements = IsText(*job.a) ? job.a->elements : job.units;
    figures.different = job.different;
    figures.first = job.first;
    const bool is_same_kind =
        job.from != nullptr ? job.pair->may_be_same_bytes : job.a->dtype == job.b->dtype;
    if (job.meter != nullptr) {
      const LossReport& loss = figures.loss.emplace(job.meter->Report());
      for (std::size_t kind = 0; kind < kLossPartition; ++kind) {
        if (kind == static_cast<std::size_t>(Loss::kNan) ||
            kind == static_cast<std::size_t>(Loss::kExact) || loss.counts[kind] == 0) {
          continue;
        }
        figures.different += loss.counts[kind];
        figures.first = std::min(figures.first, loss.first[kind].index);
      }
    }
    if (figures.different != 0) {
      figures.kind = DiffKind::kValues;
    } else if (job.meter != nullptr || !is_same_kind) {
      figures.kind = DiffKind::kSameValues;
    }
    if (figures.different == 0) figures.first = 0;
    return figures;
  }

  // Turns to a pair.
  void Enter(Job& job, Worker& worker) {
    if (worker.job == &job) return;
    Leave(worker);
    worker.meter = std::make_unique<LossMeter>(job.from->type, job.to->type);
    worker.job = &job;
  }

  // Adds what a worker measured of its pair to the pair.
  void Leave(Worker& worker) {
    if (worker.job == nullptr) return;
    Job& job = *std::exchange(worker.job, nullptr);
    const std::lock_guard lock(mutex_);
    if (job.meter == nullptr) {
      job.meter = std::move(worker.meter);
    } else {
      convert::CheckStatus(job.meter->Merge(*worker.meter), *job.a);
    }
  }

  void Report(const Job& job, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    read_bytes_ += bytes;
    if (options_.progress) {
      options_.progress({read_bytes_, total_bytes_, job.pair->a, job.a->name});
    }
  }

  // Calls run(i, worker) for i below `count`, on all threads. Of several that throw, what the first
  // of them threw is thrown.
  template <class Function> void ForEach(std::uint64_t count, const Function& run) {
    struct State {
      Run& self;
      const Function& run;
      std::uint64_t count;
      std::atomic<std::uint64_t> next{0};
      std::atomic<bool> has_failed{false};
      std::exception_ptr error = nullptr;
      std::uint64_t error_at = 0;
    } state{*this, run, count};
    const auto work = [](void* context, std::size_t) {
      State& s = *static_cast<State*>(context);
      std::uint64_t i = 0;
      try {
        Worker worker;
        while (!s.has_failed.load(std::memory_order_relaxed)) {
          i = s.next.fetch_add(1, std::memory_order_relaxed);
          if (i >= s.count) return s.self.Leave(worker);
          files::StopIfInterrupted(s.self.options_.interrupted);
          s.run(i, worker);
        }
      } catch (...) {
        const std::lock_guard lock(s.self.mutex_);
        if (!s.error || i < s.error_at) {
          s.error = std::current_exception();
          s.error_at = i;
        }
        s.has_failed.store(true, std::memory_order_relaxed);
      }
    };
    const auto workers = static_cast<std::size_t>(std::min<std::uint64_t>(workers_, count));
    if (workers > 1) {
      core::GivenExecutor(options_.executor).ParallelFor(workers, work, &state);
    } else if (workers == 1) {
      work(&state, 0);
    }
    if (state.error) std::rethrow_exception(state.error);
  }

  const TensorReader& a_;
  const TensorReader& b_;
  const std::span<const PairJob> pairs_;
  const JobOptions& options_;
  const std::size_t workers_;
  std::vector<Job> jobs_;        // of the batch
  std::uint64_t stretches_ = 0;  // of the batch
  std::mutex mutex_;             // guards what follows, and what jobs found
  std::uint64_t total_bytes_ = 0;
  std::uint64_t read_bytes_ = 0;
};

}  // namespace

bool AreComparable(const TensorInfo& a, const TensorInfo& b) {
  const bool is_known = FindType(a.type) != nullptr;
  if (is_known != (FindType(b.type) != nullptr)) return false;
  if (!is_known) return a.dtype == b.dtype && a.bytes == b.bytes;
  return IsText(a) == IsText(b);
}

void MeasurePairs(const TensorReader& a, const TensorReader& b, std::span<const PairJob> pairs,
                  const JobOptions& options, const TakeFigures& take) {
  Run(a, b, pairs, options).Execute(take);
}

}  // namespace tensorcast::diff
