// The streaming job: chunks of whole loss blocks, taken in order by as many workers as there are
// threads, each with its own reused buffers.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/runner.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "convert/quantise_jobs.h"
#include "convert/repack_jobs.h"
#include "convert/text_jobs.h"
#include "core/counted_loss.h"
#include "core/given.h"
#include "files/error.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;
using files::Interrupted;
using formats::TensorInfo;
using formats::TensorReader;
using formats::TensorWriter;
using words::EscapeName;

constexpr std::uint64_t kBlock = kRangeGrain;  // chunks begin at its multiples
// 1024 elements of any width, and a whole number of elements of every width: 6 bits need the 3.
constexpr std::uint64_t kCopyGrain = 3 * 1024;
// Input and output of a chunk together. Small enough to stay in a core's cache between its three
// stages, large enough that a system call is cheap beside its copy.
constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 20;
// Elements that are cast to every type before the next ones are.
constexpr std::uint64_t kPiece = 8 * kRangeGrain;
// Elements whose codes are counted, at least: what is to be worked out for each code is of use
// then.
constexpr std::uint64_t kLeastCounted = std::uint64_t{1} << 20;
// Fewer bytes than this per worker would leave no room for a block of the widest pair.
constexpr std::uint64_t kLeastChunkBytes = std::uint64_t{64} << 10;

constexpr std::uint64_t CeilDivide(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0);
}

// One destination of one tensor: its plan and what its chunks have measured so far.
struct Cast {
  const CastPlan* plan = nullptr;
  std::size_t total = 0;  // index of its destination in the run's totals
  std::unique_ptr<LossMeter> meter;
};

struct Job {
  const TensorInfo* info = nullptr;
  std::size_t tensor = 0;
  std::size_t output = 0;
  std::size_t request = 0;           // its index among the run's jobs
  std::vector<Cast> casts;           // empty: copied
  std::vector<std::size_t> cast;     // which of them are made, to be measured
  std::vector<std::size_t> counted;  // and of which the source's codes are counted instead
  std::uint64_t chunk_units = 0;     // elements, or bytes of a copied tensor
  std::uint64_t begin = 0;           // of its range, in units
  std::uint64_t units = 0;           // of its range
  std::uint64_t first_chunk = 0;     // in the batch's order
};

// A worker's buffers, and what it measured of a job that it has not left yet: with its next chunk a
// meter knows the maxima that it has to exceed.
struct Worker {
  std::vector<std::byte> in, out;
  Job* job = nullptr;
  std::vector<std::unique_ptr<LossMeter>> meters;  // one for each of its casts
  std::unique_ptr<core::CountedLoss> counted;      // of the last job that had its codes counted
};

// Jobs are taken up some at a time: what is held for each is let go before there are many.
constexpr std::size_t kBatchJobs = 512;

class Run {
 public:
  Run(const TensorReader& reader, std::span<const TensorJob> jobs, TensorWriter* writer,
      const JobOptions& options)
      : counting_(options.count_exponents && options.measure
                      ? std::make_unique<CountingReader>(reader)
                      : nullptr),
        reader_(counting_ != nullptr ? *counting_ : reader),
        requests_(jobs),
        writer_(writer),
        options_(options),
        workers_(WorkersOf(options)),
        chunk_bytes_(ChunkBytesOf(options)) {
    std::set<std::uint32_t> groups;  // whose largest magnitudes are to be found
    for (const TensorJob& job : jobs) {
      if (!IsWanted(job)) continue;
      const TensorInfo& info = reader.contents().tensors.at(job.tensor);
      if (counting_ != nullptr && !job.to.empty() && !IsTextJob(reader, job)) {
        counting_->Want(job.tensor);
      }
      const std::uint64_t bytes = BytesIn(job, info);
      const std::optional<std::uint32_t> group =
          IsQuantiseJob(job) ? GroupOf(job, options) : std::nullopt;
      if (!group) {
        total_bytes_ += ReadingsOf(job, info.shape) * bytes;
      } else {
        total_bytes_ += bytes;
        if (groups.insert(*group).second) total_bytes_ += options.globals->BytesToRead(*group);
      }
    }
  }

  JobTotals Execute() {
    std::vector<std::size_t> texts;
    for (std::size_t i = 0; i < requests_.size();) {
      BeginBatch();
      for (; i < requests_.size() && jobs_.size() < kBatchJobs; ++i) {
        if (!IsWanted(requests_[i])) continue;
        if (requests_[i].repacked != nullptr) {
          RunRepack(requests_[i]);
        } else if (IsQuantiseJob(requests_[i])) {
          if (has_casts_) break;  // what they lost is handed over first
          RunQuantise(i);
        } else if (IsTextJob(reader_, requests_[i])) {
          if (writer_ == nullptr) throw std::logic_error("strings have no loss to measure");
          texts.push_back(i);
        } else {
          Add(i);
        }
      }
      RunBatch();
    }
    for (const std::size_t i : texts) RunTexts(requests_[i]);
    reader_.CheckUnchanged();
    for (const std::unique_ptr<LossMeter>& total : totals_) {
      result_.totals.push_back(total->Report());
    }
    return std::move(result_);
  }

 private:
  bool IsWanted(const TensorJob& job) const {
    return writer_ == nullptr || writer_->Wants(job.output);
  }

  void BeginBatch() {
    jobs_.clear();
    has_casts_ = false;
    chunks_ = 0;
    next_chunk_ = 0;
  }

  // The end of a job's range, in units.
  static std::uint64_t EndOf(const TensorJob& job, const TensorInfo& info) {
    const std::uint64_t all = UnitsOf(info);
    const std::uint64_t begin = std::min(job.first, all);
    return begin + std::min(job.count, all - begin);
  }

  // Bytes of the first n units.
  static std::uint64_t BytesOf(const TensorInfo& info, std::uint64_t n) {
    if (info.type == DataType::kString) return n == 0 ? 0 : info.bytes;
    return FindType(info.type) != nullptr ? *StorageBytes(info.type, n) : n;
  }

  static std::uint64_t BytesIn(const TensorJob& job, const TensorInfo& info) {
    return BytesOf(info, EndOf(job, info)) - BytesOf(info, std::min(job.first, EndOf(job, info)));
  }

  void Add(std::size_t index) {
    const TensorJob& request = requests_[index];
    Job job;
    job.tensor = request.tensor;
    job.output = request.output;
    job.request = index;
    job.info = &reader_.contents().tensors[request.tensor];
    if (request.to.empty()) {
      job.begin = BytesOf(*job.info, request.first);
      job.units = BytesIn(request, *job.info);
      job.chunk_units = std::max(kCopyGrain, chunk_bytes_ / kCopyGrain * kCopyGrain);
    } else {
      job.begin = request.first;
      job.units = EndOf(request, *job.info) - request.first;
      std::uint64_t widest = 0;
      for (const DataType to : request.to) {
        widest = std::max<std::uint64_t>(widest, AddCast(job, to));
      }
      ChooseCounted(job);
      const auto bits = static_cast<std::uint64_t>(FindType(job.info->type)->bits);
      job.chunk_units = std::max(kBlock, chunk_bytes_ * 8 / (bits + widest) / kBlock * kBlock);
    }
    job.first_chunk = chunks_;
    chunks_ += CeilDivide(job.units, job.chunk_units);
    jobs_.push_back(std::move(job));
  }

  void RunBatch() {
    const auto workers = static_cast<std::size_t>(std::min<std::uint64_t>(workers_, chunks_));
    if (workers > 1) {
      core::GivenExecutor(options_.executor)
          .ParallelFor(
              workers, [](void* self, std::size_t) { static_cast<Run*>(self)->Work(); }, this);
    } else if (workers == 1) {
      Work();
    }
    if (error_) std::rethrow_exception(error_);
    if (IsInterrupted()) throw Interrupted();
    if (!options_.measure) return;
    for (Job& job : jobs_) {
      if (job.casts.empty()) continue;
      const ExponentCounts exponents = ExponentsOf(job.tensor);
      for (std::size_t type = 0; type < job.casts.size(); ++type) Finish(job, type, exponents);
    }
  }

  // Binds one destination; returns its width.
  std::uint64_t AddCast(Job& job, DataType to) {
    Cast cast;
    const auto [place, is_new] = plans_.try_emplace({job.info->type, to});
    cast.plan = &place->second;
    if (is_new) {
      CheckStatus(
          CastPlan::Bind(job.info->type, to, options_.cast, &place->second, options_.target),
          *job.info);
    }
    if (options_.measure) {
      const auto same = std::find(total_types_.begin(), total_types_.end(), to);
      cast.total = static_cast<std::size_t>(same - total_types_.begin());
      if (same == total_types_.end()) {
        total_types_.push_back(to);
        totals_.push_back(std::make_unique<LossMeter>(job.info->type, to, options_.cast));
      }
    }
    has_casts_ = true;
    job.casts.push_back(std::move(cast));
    return static_cast<std::uint64_t>(FindType(to)->bits);
  }

  // Codes are counted where no results are wanted and there is room for the counts.
  void ChooseCounted(Job& job) const {
    const bool may_count = options_.measure && writer_ == nullptr && job.units >= kLeastCounted &&
                           chunk_bytes_ == kChunkBytes;
    std::vector<DataType> counted;
    for (std::size_t type = 0; type < job.casts.size(); ++type) {
      const DataType to = job.casts[type].plan->to();
      const bool is_counted = may_count && core::CountedLoss::Serves(job.info->type, to);
      (is_counted ? job.counted : job.cast).push_back(type);
      if (is_counted) counted.push_back(to);
    }
    if (core::CountedLoss::Pays(counted, options_.target)) return;
    job.cast.resize(job.casts.size());
    std::iota(job.cast.begin(), job.cast.end(), std::size_t{0});
    job.counted.clear();
  }

  void RunQuantise(std::size_t index) {
    const TensorJob& job = requests_[index];
    const QuantiseResult made = RunQuantiseJob(reader_, job, writer_, options_,
                                               [&](std::uint64_t read, std::uint64_t written) {
                                                 result_.bytes_read += read;
                                                 result_.bytes_written += written;
                                                 Show(job.tensor);
                                               });
    if (made.loss == nullptr || !options_.measured) return;
    const ExponentCounts exponents = ExponentsOf(job.tensor);
    options_.measured(index, 0, {*made.loss, made.gain_db, Given(exponents)});
  }

  ExponentCounts ExponentsOf(std::size_t tensor) {
    return counting_ != nullptr ? counting_->Take(tensor) : ExponentCounts();
  }
  static const ExponentCounts* Given(const ExponentCounts& exponents) {
    return exponents.sampled != 0 ? &exponents : nullptr;
  }

  void RunRepack(const TensorJob& job) {
    if (writer_ == nullptr) throw std::logic_error("what is repacked has no loss to measure");
    RunRepackJob(reader_, job, *writer_, options_, [&](std::uint64_t read, std::uint64_t written) {
      result_.bytes_read += read;
      result_.bytes_written += written;
      Show(job.tensor);
    });
  }

  void RunTexts(const TensorJob& job) {
    RunTextJob(reader_, job, *writer_, options_, [&](std::uint64_t read, std::uint64_t written) {
      result_.bytes_read += read;
      result_.bytes_written += written;
      Show(job.tensor);
    });
  }

  void Show(std::size_t tensor) const {
    if (!options_.progress) return;
    const std::string& name = reader_.contents().tensors[tensor].name;
    options_.progress({result_.bytes_read, total_bytes_, tensor, name});
  }

  bool IsInterrupted() const {
    return options_.interrupted && options_.interrupted->load(std::memory_order_relaxed);
  }

  // A worker: takes chunks in order until there are none. No exception leaves it.
  void Work() noexcept {
    std::uint64_t chunk = 0;
    try {
      Worker worker;
      while (!IsInterrupted() && !failed_.load(std::memory_order_relaxed)) {
        chunk = next_chunk_.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= chunks_) return Leave(worker);
        DoChunk(chunk, worker);
      }
    } catch (...) {
      // Chunks are handed out in order, and one that is begun is ended: when any fails, all before
      // it have been begun, so the lowest failure is the same however the threads run.
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_ || chunk < error_chunk_) {
        error_ = std::current_exception();
        error_chunk_ = chunk;
      }
      failed_.store(true, std::memory_order_relaxed);
    }
  }

  Job& JobOf(std::uint64_t chunk) {
    const auto after = std::upper_bound(
        jobs_.begin(), jobs_.end(), chunk,
        [](std::uint64_t value, const Job& job) { return value < job.first_chunk; });
    // Jobs without a chunk share their successor's first_chunk and stand before it.
    return *std::prev(after);
  }

  void DoChunk(std::uint64_t chunk, Worker& worker) {
    Job& job = JobOf(chunk);
    const std::uint64_t done = (chunk - job.first_chunk) * job.chunk_units;
    const std::uint64_t first = job.begin + done;
    const std::uint64_t n = std::min(job.chunk_units, job.units - done);
    std::uint64_t read = n;
    std::uint64_t written = n;
    if (job.casts.empty()) {
      if (writer_ != nullptr) {
        const std::span<std::byte> bytes = Resize(worker.in, n);
        reader_.Read(job.tensor, first, bytes);
        writer_->Write(job.output, first, bytes);
      }
    } else {
      read = *StorageBytes(job.info->type, n);
      written = *StorageBytes(job.casts.front().plan->to(), n);
      if (options_.measure || job.casts.size() != 1 || !ReadCast(job, first, n, worker.out)) {
        CastChunk(job, first, n, worker);
      }
    }
    Report(job, read, writer_ != nullptr ? written : 0);
  }

  // Whether the reader gives the elements as they are wanted, and they are written.
  bool ReadCast(const Job& job, std::uint64_t first, std::uint64_t n, std::vector<std::byte>& out) {
    const CastPlan& plan = *job.casts.front().plan;
    const std::span<std::byte> result = Resize(out, *StorageBytes(plan.to(), n));
    if (!reader_.ReadCast(job.tensor, plan, first, result)) return false;
    if (writer_ != nullptr) writer_->Write(job.output, *StorageBytes(plan.to(), first), result);
    return true;
  }

  void CastChunk(Job& job, std::uint64_t first, std::uint64_t n, Worker& worker) {
    const std::span<std::byte> source = Resize(worker.in, *StorageBytes(job.info->type, n));
    reader_.Read(job.tensor, *StorageBytes(job.info->type, first), source);
    if (options_.measure) Enter(job, worker);
    CastPart(job, job.cast, first, 0, n, worker);
    if (job.counted.empty()) return;
    const auto rest = [&](std::uint64_t block, std::uint64_t blocks) {
      CastPart(job, job.counted, first, block * kBlock, (block + blocks) * kBlock, worker);
    };
    worker.counted->Add(source.data(), n / kBlock, first, rest);
    CastPart(job, job.counted, first, n / kBlock * kBlock, n, worker);
  }

  // Casts elements [done, end) of the chunk that begins with `first` to some types.
  void CastPart(const Job& job, std::span<const std::size_t> types, std::uint64_t first,
                std::uint64_t done, std::uint64_t end, Worker& worker) {
    // Results that nobody keeps take little of the cache, and every type finds the source there.
    const std::uint64_t piece = writer_ != nullptr ? end - done : kPiece;
    for (; done < end; done += piece) {
      const std::uint64_t some = std::min(piece, end - done);
      for (const std::size_t type : types) {
        const CastPlan& plan = *job.casts[type].plan;
        const std::span<std::byte> result = Resize(worker.out, *StorageBytes(plan.to(), some));
        // The buffer is reused and a run leaves the bits after its last element alone: the pad
        // bits.
        result.back() = std::byte{0};
        RunOptions run;
        if (options_.measure) {
          run.loss = worker.meters[type].get();
          run.loss_index = first + done;
        }
        CheckStatus(plan.Run(worker.in, done, result, 0, some, run), *job.info);
        if (writer_ != nullptr) {
          writer_->Write(job.output, *StorageBytes(plan.to(), first), result);
        }
      }
    }
  }

  // Turns to a job.
  void Enter(Job& job, Worker& worker) {
    if (worker.job == &job) return;
    Leave(worker);
    for (const Cast& cast : job.casts) {
      worker.meters.push_back(
          std::make_unique<LossMeter>(job.info->type, cast.plan->to(), options_.cast));
    }
    worker.job = &job;
    if (job.counted.empty()) return;
    std::vector<DataType> types;
    for (const std::size_t type : job.counted) types.push_back(job.casts[type].plan->to());
    if (worker.counted != nullptr && worker.counted->IsOf(job.info->type, types)) return;
    worker.counted =
        std::make_unique<core::CountedLoss>(job.info->type, types, options_.cast, options_.target);
  }

  // Adds what a worker measured of its job to the job.
  void Leave(Worker& worker) {
    if (worker.job == nullptr) return;
    Job& job = *std::exchange(worker.job, nullptr);
    if (!job.counted.empty()) {
      std::vector<LossMeter*> meters;
      for (const std::size_t type : job.counted) meters.push_back(worker.meters[type].get());
      worker.counted->MoveTo(meters);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = 0; i < worker.meters.size(); ++i) {
      std::unique_ptr<LossMeter>& whole = job.casts[i].meter;
      if (whole == nullptr) {
        whole = std::move(worker.meters[i]);
      } else {
        CheckStatus(whole->Merge(*worker.meters[i]), *job.info);
      }
    }
    worker.meters.clear();
  }

  // Grows a worker's buffer, never shrinks it: chunks of one run differ little.
  static std::span<std::byte> Resize(std::vector<std::byte>& buffer, std::uint64_t bytes) {
    if (buffer.size() < bytes) buffer.resize(static_cast<std::size_t>(bytes));
    return std::span(buffer).first(static_cast<std::size_t>(bytes));
  }

  void Report(const Job& job, std::uint64_t read, std::uint64_t written) {
    const std::lock_guard<std::mutex> lock(mutex_);
    result_.bytes_read += read;
    result_.bytes_written += written;
    Show(job.tensor);
  }

  // Adds what a tensor's cast lost to the totals, and lets it go.
  void Finish(Job& job, std::size_t type, const ExponentCounts& exponents) {
    Cast& cast = job.casts[type];
    if (cast.meter == nullptr) {  // no element
      cast.meter = std::make_unique<LossMeter>(job.info->type, cast.plan->to(), options_.cast);
    }
    CheckStatus(totals_[cast.total]->Merge(*cast.meter), *job.info);
    if (options_.measured) {
      options_.measured(job.request, type, {*cast.meter, std::nullopt, Given(exponents)});
    }
    cast.meter.reset();
  }

  const std::unique_ptr<CountingReader> counting_;  // null: nothing is counted
  const TensorReader& reader_;
  const std::span<const TensorJob> requests_;
  TensorWriter* const writer_;
  const JobOptions& options_;
  const std::size_t workers_;
  const std::uint64_t chunk_bytes_;
  std::map<std::pair<DataType, DataType>, CastPlan> plans_;
  std::vector<Job> jobs_;     // of the batch
  bool has_casts_ = false;    // whether the batch casts numbers
  std::uint64_t chunks_ = 0;  // of the batch
  std::uint64_t total_bytes_ = 0;
  std::atomic<std::uint64_t> next_chunk_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // guards all below, and the jobs' meters
  std::exception_ptr error_;
  std::uint64_t error_chunk_ = 0;
  std::vector<DataType> total_types_;
  std::vector<std::unique_ptr<LossMeter>> totals_;
  JobTotals result_;
};

}  // namespace

void CheckStatus(Status status, const TensorInfo& info) {
  if (status.ok()) return;
  if (status.code() == StatusCode::kOutOfMemory) throw std::bad_alloc();
  throw Error(ErrorKind::kArguments, EscapeName(info.name) + ": " + std::string(status.message()));
}

std::size_t WorkersOf(const JobOptions& options) {
  const std::size_t threads = options.executor ? options.executor->Concurrency() : 1;
  const std::uint64_t most = std::max<std::uint64_t>(1, options.buffer_bytes / kLeastChunkBytes);
  return static_cast<std::size_t>(std::min<std::uint64_t>(std::max<std::size_t>(1, threads), most));
}

std::uint64_t ChunkBytesOf(const JobOptions& options) {
  return std::min<std::uint64_t>(kChunkBytes, options.buffer_bytes / WorkersOf(options));
}

std::uint64_t BufferBytes(const JobOptions& options) {
  return WorkersOf(options) * ChunkBytesOf(options);
}

JobTotals RunJobs(const TensorReader& reader, std::span<const TensorJob> jobs, TensorWriter* writer,
                  const JobOptions& options) {
  return Run(reader, jobs, writer, options).Execute();
}

}  // namespace tensorcast::convert
