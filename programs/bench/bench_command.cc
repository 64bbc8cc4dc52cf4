// tensorcast bench: every pair beside a copy of the same shape.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arguments/argument_values.h"
#include "arguments/shared_flags.h"
#include "bench/bench_pair.h"
#include "bench/copy_of_shape.h"
#include "commands/commands.h"
#include "display/quantities.h"
#include "display/text_table.h"
#include "files/error.h"
#include "files/text_output.h"
#include "shell/build_info.h"
#include "shell/command_line.h"
#include "shell/exit_codes.h"
#include "shell/process.h"
#include "shell/streams.h"
#include "shell/terminal.h"

namespace tensorcast::tool {
namespace {

using Clock = std::chrono::steady_clock;
using core::ErrorKind;
using files::Error;

struct BenchFlags {
  std::vector<std::string> from;
  std::vector<std::string> to;
  std::vector<std::string> sizes;
  std::string bytes;
  std::vector<std::string> elements;
  std::vector<std::string> offsets;
  std::string threads = "1";
  unsigned rounds = 9;
  std::string target = "best";
  std::string csv;
  bool weights = false;
  bool loss = false;
};

constexpr const char* kBenchDescription =
    R"(Measure casts beside a copy of the same shape.

Examples:
  tensorcast bench --size l2
  tensorcast bench --from float32 --to bfloat16,float8e4m3fn
  tensorcast bench --csv all_pairs.csv
  tensorcast bench --elements 1,16,1000 --offset 16 --from float32
  tensorcast bench --weights --loss --from bfloat16

R is tensorcast's bytes per second (read + written) over those of a copy that reads and writes as many
bytes per element: the median of the rounds. Cast and copy take turns in one process. Sizes: l2 is
256 KiB read + written, dram 512 MiB; --elements gives other sizes. Both run on one thread, or on as many as
--threads says (the copy from 4 MiB on). With --loss the last column is the time over that of the cast without it,
which takes turns too. Floats have random exponents, of those that both types have; with --weights
they are normally distributed with a deviation of 0.02. What was cast is compared with the scalar
target's results, 65,536 elements at the beginning and as many at the end.
)";

constexpr std::uint64_t kL2Bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t kDramBytes = std::uint64_t{512} << 20;
// Short runs are repeated within a round until they take this long: the clock's grain and a
// scheduler's tick then weigh little.
constexpr double kShortestSample = 200e-6;

// Of a number of bytes as many elements are taken as are a multiple of this, and so many at least.
constexpr std::uint64_t kLeastElements = 1024;
constexpr std::uint64_t kElementBytes = 16;  // at most, on both sides

struct Size {
  std::string name;
  std::uint64_t bytes;         // read + written
  std::uint64_t elements = 0;  // 0: as many as `bytes` hold
};

struct Measurement {
  const TypeInfo* from = nullptr;
  const TypeInfo* to = nullptr;
  std::string size;
  std::uint64_t elements = 0;
  double ratio = 0;             // R
  double bytes_per_second = 0;  // ours, median
  double copy_bytes_per_second = 0;
  double goal = 0;         // 0: none
  double times_plain = 0;  // the time over that without loss; 0: loss is not measured
};

// Memory so many bytes beyond a page's beginning, touched, so that no measured run meets a page
// fault.
class Buffer {
 public:
  Buffer(std::uint64_t bytes, std::uint64_t offset)
      : offset_(static_cast<std::size_t>(offset)),
        size_(static_cast<std::size_t>(bytes)),
        memory_(static_cast<std::byte*>(::operator new(offset_ + size_, kPage))) {
    std::fill_n(memory_.get(), offset_ + size_, std::byte{1});
  }
  std::span<std::byte> First(std::uint64_t bytes) const {
    return {memory_.get() + offset_,
            static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_))};
  }

 private:
  static constexpr std::align_val_t kPage{std::size_t{2} << 20};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kPage); }
  };
  std::size_t offset_;
  std::size_t size_;
  std::unique_ptr<std::byte, Free> memory_;
};

template <class Work> double Seconds(std::uint64_t repeats, const Work& work) {
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t i = 0; i < repeats; ++i) work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::uint64_t ElementsFor(const TypeInfo& from, const TypeInfo& to, const Size& size) {
  if (size.elements != 0) return size.elements;
  const auto bits = static_cast<std::uint64_t>(from.bits + to.bits);
  return std::max(kLeastElements, size.bytes * 8 / bits / kLeastElements * kLeastElements);
}

// The copy of n elements, on the executor's threads where there are enough of them.
void CopyInSlices(CopyOfShape copy, std::span<const std::byte> source,
                  std::span<std::byte> destination, std::uint64_t n, Executor* executor) {
  constexpr std::size_t kLeastBytes = std::size_t{4} << 20;
  constexpr std::uint64_t kMultiple = 1024;  // elements, whole lines of both sides
  if (executor == nullptr || source.size() + destination.size() < kLeastBytes) {
    copy(source.data(), source.size(), destination.data(), destination.size());
    return;
  }
  struct Context {
    CopyOfShape one;
    std::span<const std::byte> in;
    std::span<std::byte> out;
    std::uint64_t cells;  // of kMultiple elements
    std::size_t slices;
  } context{copy, source, destination, n / kMultiple, executor->Concurrency() * 4};
  const auto task = [](void* opaque, std::size_t i) {
    const auto& run = *static_cast<Context*>(opaque);
    const auto part = [&](auto bytes) {
      const auto begin = [&](std::size_t slice) {
        if (slice == run.slices) return bytes.size();
        return static_cast<std::size_t>(bytes.size() / run.cells *
                                        (run.cells * slice / run.slices));
      };
      return bytes.subspan(begin(i), begin(i + 1) - begin(i));
    };
    const auto in = part(run.in);
    const auto out = part(run.out);
    run.one(in.data(), in.size(), out.data(), out.size());
  };
  executor->ParallelFor(context.slices, task, &context);
}

class Bench {
 public:
  Bench(const BenchFlags& flags, Target target, std::vector<Size> sizes)
      : rounds_(flags.rounds),
        of_weights_(flags.weights),
        with_loss_(flags.loss),
        target_(target),
        sizes_(std::move(sizes)),
        executor_(ParseThreads(flags.threads)) {
    std::uint64_t largest = kLeastElements * kElementBytes;
    for (const Size& size : sizes_) largest = std::max(largest, size.bytes);
    std::vector<std::uint64_t> offsets;
    for (const std::string& offset : flags.offsets) {
      offsets.push_back(ParseNumber("--offset", offset, 0, 4096));
    }
    if (offsets.size() > 2) {
      throw Error(ErrorKind::kArguments, "--offset: one number, or two: of sources and of results");
    }
    source_.emplace(largest, offsets.empty() ? 0 : offsets.front());
    destination_.emplace(largest, offsets.empty() ? 0 : offsets.back());
  }

  std::vector<Measurement> Pair(const TypeInfo& from, const TypeInfo& to) {
    std::uint64_t most = 0;
    for (const Size& size : sizes_) most = std::max(most, ElementsFor(from, to, size));
    const std::span<std::byte> values = source_->First(*StorageBytes(from.type, most));
    if (of_weights_ && from.is_float() && from.bits >= 8) {
      FillWithWeights(from, values);
    } else {
      FillWithValues(from, to, values);
    }
    std::vector<Measurement> measurements;
    for (const Size& size : sizes_) measurements.push_back(Measure(from, to, size));
    return measurements;
  }

 private:
  Measurement Measure(const TypeInfo& from, const TypeInfo& to, const Size& size) const {
    CastPlan plan;
    Check(CastPlan::Bind(from.type, to.type, {}, &plan, target_));
    const std::uint64_t n = ElementsFor(from, to, size);
    const std::span<const std::byte> source = source_->First(*StorageBytes(from.type, n));
    const std::span<std::byte> destination = destination_->First(*StorageBytes(to.type, n));
    Target ran = Target::kBest;
    RunOptions options;
    options.ran = &ran;
    options.executor = executor_.get();
    const auto ours = [&] {
      if (!with_loss_) return Check(plan.Run(source, 0, destination, 0, n, options));
      LossMeter meter(from.type, to.type);
      RunOptions measured = options;
      measured.loss = &meter;
      Check(plan.Run(source, 0, destination, 0, n, measured));
    };
    const CopyOfShape copy = CopyForWidths(from.bits, to.bits);
    const auto theirs = [&] {
      CopyInSlices(copy, source, destination, n, executor_.get());
      // The copy's result is not used: keep the compiler from knowing.
      asm volatile("" : : "r"(destination.data()) : "memory");
    };
    const auto plain = [&] { Check(plan.Run(source, 0, destination, 0, n, options)); };
    const std::uint64_t our_repeats = Repeats(ours);
    const std::uint64_t plain_repeats = with_loss_ ? Repeats(plain) : 0;
    const std::uint64_t copy_repeats = Repeats(theirs);
    if (target_ != Target::kBest && ran != target_) {
      throw Error(ErrorKind::kSystem, fmt::format("internal error: target {} was forced, {} ran",
                                                  TargetName(target_), TargetName(ran)));
    }
    std::vector<double> ratios, our_seconds, copy_seconds, times_plain;
    for (unsigned round = 0; round < rounds_; ++round) {
      our_seconds.push_back(Seconds(our_repeats, ours) / static_cast<double>(our_repeats));
      copy_seconds.push_back(Seconds(copy_repeats, theirs) / static_cast<double>(copy_repeats));
      ratios.push_back(copy_seconds.back() / our_seconds.back());
      if (!with_loss_) continue;
      const double plain_seconds =
          Seconds(plain_repeats, plain) / static_cast<double>(plain_repeats);
      times_plain.push_back(our_seconds.back() / plain_seconds);
    }
    ours();
    Compare(from, to, source, destination, n);
    const auto bytes = static_cast<double>(source.size() + destination.size());
    const double goal = with_loss_ || size.elements != 0 ? 0
                        : size.name == "l2"              ? CacheGoal(from, to, ran)
                                                         : MemoryGoal(from, to);
    return {&from,
            &to,
            size.name,
            n,
            Median(ratios),
            bytes / Median(our_seconds),
            bytes / Median(copy_seconds),
            goal,
            with_loss_ ? Median(times_plain) : 0};
  }

  // What was cast is what the scalar target makes of it.
  static void Compare(const TypeInfo& from, const TypeInfo& to, std::span<const std::byte> source,
                      std::span<const std::byte> destination, std::uint64_t n) {
    constexpr std::uint64_t kMost = 65536;
    CastPlan scalar;
    Check(CastPlan::Bind(from.type, to.type, {}, &scalar, Target::kScalar));
    const auto compare = [&](std::uint64_t first, std::uint64_t count) {
      const std::uint64_t begin = *StorageBytes(to.type, first);  // a whole byte's
      const auto results = destination.subspan(static_cast<std::size_t>(begin));
      const std::span<const std::byte> part =
          results.first(static_cast<std::size_t>(*StorageBytes(to.type, count)));
      std::vector<std::byte> expected(part.begin(), part.end());  // pad bits stay
      Check(scalar.Run(source, first, expected, 0, count, {}));
      if (std::ranges::equal(part, expected)) return;
      throw Error(
          ErrorKind::kSystem,
          fmt::format("internal error: {} to {}, {} elements: not what the scalar target makes",
                      from.name, to.name, n));
    };
    compare(0, std::min(n, kMost));
    const std::uint64_t rest = n - std::min(n, kMost);
    if (rest != 0) compare(rest / 8 * 8, n - rest / 8 * 8);
  }

  // How often to run within a round; runs once at least, which warms caches and meters.
  template <class Work> static std::uint64_t Repeats(const Work& work) {
    Seconds(1, work);
    const double once = std::max(1e-9, Seconds(1, work));
    return static_cast<std::uint64_t>(std::ceil(std::max(1.0, kShortestSample / once)));
  }

  static void Check(Status status) {
    if (!status.ok()) throw Error(ErrorKind::kSystem, std::string(status.message()));
  }

  unsigned rounds_;
  bool of_weights_;
  bool with_loss_;
  Target target_;
  std::vector<Size> sizes_;
  std::unique_ptr<Executor> executor_;  // null: one thread
  std::optional<Buffer> source_;
  std::optional<Buffer> destination_;
};

std::vector<const TypeInfo*> ParseTimedTypes(const char* flag,
                                             const std::vector<std::string>& names) {
  std::vector<const TypeInfo*> types;
  for (const std::string& name : names) {
    types.push_back(FindType(ParseNumberTypeArgument(flag, name, "bench times casts of numbers")));
  }
  if (!types.empty()) return types;
  for (const TypeInfo& row : Types()) {
    if (row.bits != 0) types.push_back(&row);
  }
  return types;
}

bool Has(const std::vector<Size>& sizes, const std::string& name) {
  return std::ranges::count(sizes, name, &Size::name) != 0;
}

std::vector<Size> ParseSizes(const BenchFlags& flags) {
  constexpr std::uint64_t kMost = std::uint64_t{64} << 30;
  std::vector<Size> counted;
  for (const std::string& text : flags.elements) {
    const std::uint64_t elements = ParseNumber("--elements", text, 1, kMost / kElementBytes);
    if (Has(counted, text)) continue;
    counted.push_back({text, elements * kElementBytes / 2, elements});
  }
  if (!counted.empty() && !flags.sizes.empty()) {
    throw Error(ErrorKind::kArguments, "--elements and --size: give one of them");
  }
  const bool has_dram =
      counted.empty() && (flags.sizes.empty() || std::ranges::count(flags.sizes, "dram") != 0);
  if (!flags.bytes.empty() && !has_dram) {
    throw Error(ErrorKind::kArguments, "--bytes: only the size dram takes it");
  }
  if (!counted.empty()) return counted;
  const std::uint64_t dram =
      flags.bytes.empty() ? kDramBytes : ParseNumber("--bytes", flags.bytes, 4096, kMost);
  const Size sizes[] = {{"l2", kL2Bytes}, {"dram", dram}};
  if (flags.sizes.empty()) return {std::begin(sizes), std::end(sizes)};
  std::vector<Size> chosen;
  for (const std::string& name : flags.sizes) {
    RequireWord("--size", name, {"l2", "dram"});
    if (Has(chosen, name)) continue;
    chosen.push_back(*std::ranges::find(sizes, name, &Size::name));
  }
  return chosen;
}

std::string CpuName() {
  std::ifstream cpus("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpus, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string Csv(const std::vector<Measurement>& measurements, const BenchFlags& flags,
                Target target) {
  std::string csv = fmt::format(
      "# cpu: {}\n# compiler: {}\n# commit: {}\n# target: {}\n# values: {}\n# loss measured: {}\n"
      "# rounds: {}\n# threads: {}\n# offset: {}\n"
      "from,to,class,size,elements,ratio,bytes_per_second,copy_bytes_per_second,goal,times_plain\n",
      CpuName(), CompilerName(), CommitName(), TargetName(target),
      flags.weights ? "weights" : "all exponents", flags.loss ? "yes" : "no", flags.rounds,
      flags.threads.empty() ? "all" : flags.threads,
      flags.offsets.empty() ? "0" : fmt::format("{}", fmt::join(flags.offsets, " ")));
  for (const Measurement& m : measurements) {
    csv += fmt::format("{},{},{},{},{},{:.3f},{:.0f},{:.0f},{},{}\n", m.from->name, m.to->name,
                       static_cast<char>(ClassOf(*m.from, *m.to)), m.size, m.elements, m.ratio,
                       m.bytes_per_second, m.copy_bytes_per_second,
                       m.goal > 0 ? fmt::format("{:.2f}", m.goal) : "",
                       m.times_plain > 0 ? fmt::format("{:.3f}", m.times_plain) : "");
  }
  return csv;
}

// Per class and size: how the ratios lie, and how many reach the goal, where there is one.
std::string Summary(const std::vector<Measurement>& measurements, const std::vector<Size>& sizes) {
  const bool has_goals = std::ranges::any_of(measurements, &Measurement::goal);
  std::vector<Column> columns = {{"class"},          {"size"},           {"pairs", true},
                                 {"median R", true}, {"lowest R", true}, {"lowest pair"}};
  if (has_goals) columns.push_back({"≥ goal", true});
  TextTable table(columns);
  for (const char name : {'A', 'B', 'C', 'D', 'E'}) {
    for (const auto& [size, bytes, elements] : sizes) {
      std::vector<double> ratios;
      std::size_t reached = 0;
      const Measurement* lowest = nullptr;
      for (const Measurement& m : measurements) {
        if (static_cast<char>(ClassOf(*m.from, *m.to)) != name || m.size != size) continue;
        ratios.push_back(m.ratio);
        if (lowest == nullptr || m.ratio < lowest->ratio) lowest = &m;
        reached += m.goal > 0 && m.ratio >= m.goal ? 1 : 0;
      }
      if (ratios.empty()) continue;
      std::vector<std::string> row = {std::string(1, name),
                                      size,
                                      fmt::format("{}", ratios.size()),
                                      fmt::format("{:.2f}", Median(ratios)),
                                      fmt::format("{:.2f}", lowest->ratio),
                                      fmt::format("{} → {}", lowest->from->name, lowest->to->name)};
      if (has_goals) row.push_back(lowest->goal > 0 ? fmt::format("{}", reached) : "");
      table.Add({std::move(row)});
    }
  }
  return "\n" + table.Render(TextColumns(stdout), false);
}

int RunBench(const BenchFlags& flags) {
  const std::vector<const TypeInfo*> from_types = ParseTimedTypes("--from", flags.from);
  const std::vector<const TypeInfo*> to_types = ParseTimedTypes("--to", flags.to);
  const Target target = ParseTargetFlag(flags.target);
  if (flags.rounds < 1 || flags.rounds > 10001) {
    throw Error(ErrorKind::kArguments, "--rounds: from 1 to 10001");
  }
  const std::vector<Size> sizes = ParseSizes(flags);
  std::optional<files::TextOutput> csv;
  if (!flags.csv.empty()) {
    files::CreateOptions options;
    options.overwrite = true;
    csv.emplace(flags.csv, 0, options);
  }
  Bench bench(flags, target, sizes);
  const std::atomic<bool>* interrupted = CatchInterrupts();
  std::vector<Measurement> measurements;
  std::size_t size_width = 4;
  for (const Size& size : sizes) size_width = std::max(size_width, size.name.size());
  // The last column is the goal, how many times the plain cast's time it took, or nothing.
  const char* const last = flags.loss ? "×plain" : flags.elements.empty() ? "goal" : "";
  const auto print = [size_width](const auto& from, const auto& to, const auto& pair_class,
                                  const auto& size, const std::string& ratio, const auto& ours,
                                  const auto& copy, const std::string& value) {
    Print(fmt::format(" {:<15}{:<15}{:<6}{:<{}}{:>6}{:>11}{:>11}{}\n", from, to, pair_class, size,
                      size_width + 2, ratio, ours, copy,
                      value.empty() ? "" : fmt::format("{:>7}", value)));
  };
  print("from", "to", "class", "size", "R", "ours", "copy", last);
  for (const TypeInfo* from : from_types) {
    for (const TypeInfo* to : to_types) {
      if (interrupted->load()) return kExitInterrupted;
      if (PrintingFailed() && flags.csv.empty()) return kExitDone;  // nobody waits for the rest
      for (const Measurement& m : bench.Pair(*from, *to)) {
        const double value = flags.loss ? m.times_plain : m.goal;
        print(from->name, to->name, static_cast<char>(ClassOf(*from, *to)), m.size,
              fmt::format("{:.2f}", m.ratio), SpeedText(m.bytes_per_second),
              SpeedText(m.copy_bytes_per_second), value > 0 ? fmt::format("{:.2f}", value) : "");
        measurements.push_back(m);
      }
      FlushPrinted();
    }
  }
  Print(Summary(measurements, sizes));
  const Target ran = target == Target::kBest ? Targets().front() : target;
  if (csv) {
    csv->Add(Csv(measurements, flags, ran));
    csv->Commit();
  }
  return kExitDone;
}

}  // namespace

void AddBenchCommand(CommandLine& line) {
  auto flags = std::make_shared<BenchFlags>();
  Command command = line.AddCommand("bench", kBenchDescription);
  command.AddOption("--from T", flags->from, "Source types (default: all)").Delimiter(',');
  command.AddOption("--to T", flags->to, "Destination types (default: all)").Delimiter(',');
  command.AddOption("--size l2|dram", flags->sizes, "Sizes of casts (default: both)")
      .Delimiter(',');
  command.AddOption("--bytes N", flags->bytes, "Bytes read + written for dram");
  command.AddOption("--elements N", flags->elements, "Measure this many elements instead of --size")
      .Delimiter(',');
  command
      .AddOption("--offset N[,M]", flags->offsets,
                 "Begin sources N bytes after the start of a page, and results M (default: N)")
      .Delimiter(',');
  command.AddOption("--threads N", flags->threads, "Threads for casts and copies (default: 1)");
  command.AddOption("--rounds N", flags->rounds,
                    "How many rounds to take the median of (default: 9)");
  AddTargetFlag(command, flags->target);
  command.AddOption("--csv PATH", flags->csv, "Write the measurements to this file");
  command.AddFlag("--weights", flags->weights, "Floats as weights have them, not of all exponents");
  command.AddFlag("--loss", flags->loss, "Measure the loss too, as the report does");
  command.Runs([flags] { return RunBench(*flags); });
}

}  // namespace tensorcast::tool
