// The long run: every one of the 2^32 float32 codes to every destination under every set of
// options that has a say, on one target, held against the oracle. docs/development/testing.md says
// how it is run; it stops and goes on where it was.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/long_run_state.h"
#include "core/option_sets.h"
#include "oracle/cast.h"
#include "oracle/packing.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {
namespace {

constexpr std::size_t kSlice = 1 << 16;         // codes cast and compared at once
constexpr std::uint64_t kSlicesPerBatch = 512;  // between two writings of the state
constexpr std::uint64_t kBatches = (1ull << 32) / kSlice / kSlicesPerBatch;
constexpr double kProgressSeconds = 30;

struct Arguments {
  Target target = Target::kBest;
  std::size_t threads = 1;
  std::string state = "all_float32.state";
  std::string summary;  // written at the end, where named
  std::string commit = "unnamed";
  std::uint64_t batches = kBatches;  // of each destination; fewer for a trial
  std::vector<DataType> destinations;
};

[[noreturn]] void Usage(const std::string& error) {
  std::fprintf(stderr,
               "all_float32: %s\n"
               "usage: all_float32 [--target T] [--threads N] [--state FILE] [--summary FILE]\n"
               "                   [--commit ID] [--to TYPE]... [--batches N of %llu]\n",
               error.c_str(), static_cast<unsigned long long>(kBatches));
  std::exit(2);
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Narrow floats first: what such casts are for. Then the rest in the table's order.
std::vector<DataType> EveryDestination() {
  std::vector<TypeInfo> rows = FixedWidthTypes();
  const auto rank = [](const TypeInfo& row) {
    return !row.is_float() || row.bits > 16 ? 2 : row.bits == 16 ? 1 : 0;
  };
  std::ranges::stable_sort(rows, {}, rank);
  std::vector<DataType> types;
  for (const TypeInfo& row : rows) types.push_back(row.type);
  return types;
}

Arguments ReadArguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (i + 1 == argc) Usage(name + " needs a value, or is unknown");
    const std::string value = argv[++i];
    if (name == "--target") {
      const std::optional<Target> target = ParseTarget(value);
      if (!target) Usage("no target is called " + value);
      arguments.target = *target;
    } else if (name == "--threads") {
      arguments.threads = std::max(1ul, std::strtoul(value.c_str(), nullptr, 10));
    } else if (name == "--state") {
      arguments.state = value;
    } else if (name == "--summary") {
      arguments.summary = value;
    } else if (name == "--commit") {
      arguments.commit = value;
    } else if (name == "--batches") {
      arguments.batches =
          std::min<std::uint64_t>(kBatches, std::strtoul(value.c_str(), nullptr, 10));
    } else if (name == "--to") {
      const std::optional<DataType> type = ParseType(value);
      if (!type || FindType(*type)->bits == 0) Usage("no fixed-width type is called " + value);
      arguments.destinations.push_back(*type);
    } else {
      Usage("unknown argument " + name);
    }
  }
  if (arguments.destinations.empty()) arguments.destinations = EveryDestination();
  return arguments;
}

// One destination on one thread: its plans, and the buffers of a slice.
class SliceChecker {
 public:
  SliceChecker(const TypeInfo& to, Target target)
      : from_row_(oracle::RowOf(static_cast<int>(DataType::kFloat32))),
        to_row_(oracle::RowOf(static_cast<int>(to.type))),
        target_(target),
        sets_(MeaningfulOptions(*FindType(DataType::kFloat32), to)),
        plans_(sets_.size()),
        tallies_(sets_.size()),
        source_(kSlice * sizeof(std::uint32_t)),
        codes_(kSlice),
        expected_(*StorageBytes(to.type, kSlice)),
        actual_(expected_.size()) {
    for (std::size_t set = 0; set < sets_.size(); ++set) {
      const Status status =
          CastPlan::Bind(DataType::kFloat32, to.type, sets_[set], &plans_[set], target);
      if (!status.ok()) Usage(std::string(status.message()));
    }
  }

  void Check(std::uint64_t slice) {
    const std::uint64_t first = slice * kSlice;
    for (std::size_t i = 0; i < kSlice; ++i) {
      const auto code = static_cast<std::uint32_t>(first + i);
      std::memcpy(source_.data() + i * sizeof code, &code, sizeof code);
    }
    std::optional<oracle::RoundingMode> rounded;  // the mode that codes_ holds the roundings of
    for (std::size_t set = 0; set < sets_.size(); ++set) {
      const oracle::Options options = ToOracle(sets_[set]);
      if (rounded != options.round_mode) {
        Round(first, options.round_mode);
        rounded = options.round_mode;
      }
      for (const std::uint32_t i : outside_) {
        codes_[i] =
            oracle::Outside(from_row_, to_row_, oracle::Decode(from_row_, first + i), options);
      }
      oracle::PackInto(codes_, to_row_.bits, expected_);
      Compare(first, set);
    }
  }

  const std::vector<Tally>& tallies() const { return tallies_; }

 private:
  // All that no option but round_mode has a say in; the places of the rest in outside_.
  void Round(std::uint64_t first, oracle::RoundingMode mode) {
    outside_.clear();
    for (std::uint32_t i = 0; i < kSlice; ++i) {
      const oracle::Value value = oracle::Decode(from_row_, first + i);
      if (from_row_.id == to_row_.id) {
        codes_[i] = first + i;
        continue;
      }
      if (value.is == oracle::Value::Is::kFinite) {
        const oracle::Rounded result = oracle::RoundFinite(to_row_, true, value, mode);
        codes_[i] = result.code;
        if (result.inside) continue;
      }
      outside_.push_back(i);
    }
  }

  void Compare(std::uint64_t first, std::size_t set) {
    Tally& tally = tallies_[set];
    tally.codes += kSlice;
    std::ranges::fill(actual_, std::byte{0xA5});
    RunOptions run;
    Target ran = Target::kBest;
    run.ran = &ran;
    const Status status = plans_[set].Run(source_, 0, actual_, 0, kSlice, run);
    if (!status.ok() || ran != target_) {
      std::fprintf(stderr, "all_float32: Run: %s, %s ran\n", std::string(status.message()).c_str(),
                   std::string(TargetName(ran)).c_str());
      std::exit(3);
    }
    if (std::memcmp(expected_.data(), actual_.data(), actual_.size()) == 0) return;
    for (std::size_t i = 0; i < kSlice; ++i) {
      const std::uint64_t got = oracle::GetCode(actual_, to_row_.bits, i);
      if (got == (codes_[i] & to_row_.mask())) continue;
      ++tally.wrong;
      if (tally.examples.size() < kMostExamples) {
        tally.examples.push_back({first + i, codes_[i], got});
      }
    }
  }

  const oracle::Row& from_row_;
  const oracle::Row& to_row_;
  Target target_;
  std::vector<CastOptions> sets_;
  std::vector<CastPlan> plans_;
  std::vector<Tally> tallies_;
  std::vector<std::byte> source_;
  std::vector<std::uint64_t> codes_;
  std::vector<std::uint32_t> outside_;
  std::vector<std::byte> expected_, actual_;
};

void RunBatch(const TypeInfo& to, const Arguments& arguments, std::uint64_t batch,
              DestinationState* state) {
  std::atomic<std::uint64_t> next = batch * kSlicesPerBatch;
  const std::uint64_t end = (batch + 1) * kSlicesPerBatch;
  std::mutex mutex;
  const auto work = [&] {
    SliceChecker checker(to, arguments.target);
    for (std::uint64_t slice = next++; slice < end; slice = next++) checker.Check(slice);
    const std::lock_guard lock(mutex);
    for (std::size_t set = 0; set < state->tallies.size(); ++set) {
      const Tally& found = checker.tallies()[set];
      Tally& total = state->tallies[set];
      total.codes += found.codes;
      total.wrong += found.wrong;
      for (const auto& example : found.examples) {
        if (total.examples.size() < kMostExamples) total.examples.push_back(example);
      }
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < arguments.threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

void RunDestination(const TypeInfo& to, const Arguments& arguments, LongRunState* all) {
  const std::vector<CastOptions> sets = MeaningfulOptions(*FindType(DataType::kFloat32), to);
  DestinationState& state = all->destinations[std::string(to.name)];
  state.tallies.resize(sets.size());
  double spoke = Now();
  while (state.batches < arguments.batches) {
    const double begin = Now();
    RunBatch(to, arguments, state.batches, &state);
    const double end = Now();
    state.seconds += end - begin;
    ++state.batches;
    WriteState(arguments.state, *all);
    if (end - spoke < kProgressSeconds && state.batches != arguments.batches) continue;
    spoke = end;
    std::uint64_t wrong = 0;
    for (const Tally& tally : state.tallies) wrong += tally.wrong;
    std::printf("%-16s %3llu of %llu batches, %zu option sets, %llu wrong, %.0f s, %.0f s to go\n",
                std::string(to.name).c_str(), static_cast<unsigned long long>(state.batches),
                static_cast<unsigned long long>(arguments.batches), sets.size(),
                static_cast<unsigned long long>(wrong), state.seconds,
                state.seconds / static_cast<double>(state.batches) *
                    static_cast<double>(arguments.batches - state.batches));
    std::fflush(stdout);
  }
}

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

// Returns how many codes were wrong.
std::uint64_t Summarize(const Arguments& arguments, const LongRunState& state, std::FILE* out) {
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  std::fprintf(out, "all_float32: every float32 code against the oracle\n");
  std::fprintf(out, "date %s\nprocessor %s\ntarget %s\ncommit %s\n\n", date,
               ProcessorName().c_str(), state.target.c_str(), state.commit.c_str());
  std::fprintf(out, "%-16s %-44s %13s %10s\n", "destination", "options", "codes", "wrong");
  std::uint64_t codes = 0;
  std::uint64_t wrong = 0;
  double seconds = 0;
  for (const DataType type : arguments.destinations) {
    const TypeInfo& to = *FindType(type);
    const auto found = state.destinations.find(std::string(to.name));
    if (found == state.destinations.end()) continue;
    const std::vector<CastOptions> sets = MeaningfulOptions(*FindType(DataType::kFloat32), to);
    seconds += found->second.seconds;
    for (std::size_t set = 0; set < sets.size(); ++set) {
      const Tally& tally = found->second.tallies[set];
      codes += tally.codes;
      wrong += tally.wrong;
      std::fprintf(out, "%-16s %-44s %13llu %10llu\n", std::string(to.name).c_str(),
                   Describe(sets[set]).c_str(), static_cast<unsigned long long>(tally.codes),
                   static_cast<unsigned long long>(tally.wrong));
      for (const auto& example : tally.examples) {
        std::fprintf(out, "    %08llX: expected %llX, got %llX\n",
                     static_cast<unsigned long long>(example[0]),
                     static_cast<unsigned long long>(example[1]),
                     static_cast<unsigned long long>(example[2]));
      }
    }
  }
  std::fprintf(out, "\n%llu casts compared, %llu wrong, in %.0f s\n",
               static_cast<unsigned long long>(codes), static_cast<unsigned long long>(wrong),
               seconds);
  return wrong;
}

int Main(int argc, char** argv) {
  Arguments arguments = ReadArguments(argc, argv);
  if (arguments.target == Target::kBest) arguments.target = Targets().front();
  LongRunState state;
  state.target = TargetName(arguments.target);
  state.commit = arguments.commit;
  if (ReadState(arguments.state, &state))
    std::printf("going on from %s\n", arguments.state.c_str());
  for (const DataType type : arguments.destinations) {
    RunDestination(*FindType(type), arguments, &state);
  }
  const std::uint64_t wrong = Summarize(arguments, state, stdout);
  if (!arguments.summary.empty()) {
    std::FILE* file = std::fopen(arguments.summary.c_str(), "w");
    if (file == nullptr) Usage("cannot write " + arguments.summary);
    Summarize(arguments, state, file);
    std::fclose(file);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tensorcast::testing

int main(int argc, char** argv) { return tensorcast::testing::Main(argc, argv); }
