// Runs that others go on with: interrupted at every call of the progress, shared by several at
// once, with journals that are cut; the bytes and the reports are those of one run.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/resumable_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "plan_files.h"

namespace tensorcast::convert {
namespace {

class ResumableRuns : public Plans {
 protected:
  static constexpr std::uint64_t kSmall = 20000;  // bytes of a unit: many tensors have several

  static ResumeOptions Options(std::size_t part = 0, std::size_t parts = 0) {
    ResumeOptions options;
    options.part = part;
    options.parts = parts;
    options.unit_bytes = kSmall;
    return options;
  }

  static PlanState& StateOf(const ConversionPlan& plan) { return *PlanAccess::StateOf(plan); }

  // The plan's output and losses of a run at one go; the output is removed.
  Ran AtOnce(const ConversionPlan& plan) {
    Ran ran = RunPlan(plan, 1 << 20);
    std::filesystem::remove(plan.output(0));
    return ran;
  }

  // Of a run at one go, of each job that has a loss.
  static std::vector<ExponentCounts> ExponentsOf(const ConversionPlan& plan) {
    std::vector<ExponentCounts> all;
    convert::RunPlan(
        StateOf(plan), {}, nullptr,
        [&](std::size_t, const JobMeasure& measure) {
          all.push_back(measure.exponents != nullptr ? *measure.exponents : ExponentCounts());
        },
        /*count_exponents=*/true);
    return all;
  }

  void ExpectEnd(const ConversionPlan& plan, ResumableRun& run, const Ran& whole) {
    EXPECT_TRUE(run.UnitsLeft().empty());
    const ResumedResults results = run.Results();
    ExpectSameLosses(plan, results.losses, whole.losses);
    const std::vector<ExponentCounts> exponents = ExponentsOf(plan);
    EXPECT_EQ(results.exponents, exponents);
    EXPECT_TRUE(std::ranges::any_of(
        exponents, [](const ExponentCounts& one) { return one.counts.size() > 1; }));
    EXPECT_FALSE(std::filesystem::exists(plan.output(0)));
    run.Commit(nullptr);
    run.End();
    EXPECT_EQ(io::ReadBytes(plan.output(0)), whole.bytes);
    EXPECT_FALSE(std::filesystem::exists(files::WorkDirectory::PathOf(plan.output(0))));
    std::filesystem::remove(plan.output(0));
  }

  ConversionPlan PlanTo(const std::string& output, Destination to) {
    Request request;
    request.files = {{MakeMany("a.safetensors"), Path(output)}};
    request.to = to;
    return PlanOf(request);
  }
};

TEST_F(ResumableRuns, AreInterruptedAnywhereAndGoOn) {
  const ConversionPlan plan = PlanTo("b.safetensors", DataType::kFloat16);
  const Ran whole = AtOnce(plan);
  std::size_t runs = 0;
  for (std::size_t stop = 1;; stop += 3) {
    std::atomic<bool> interrupted{false};
    std::size_t calls = 0;
    RunSettings settings;
    settings.buffer_bytes = 1 << 18;
    settings.interrupted = &interrupted;
    settings.progress = [&](const Progress& now) {
      EXPECT_LE(now.bytes_done, now.bytes_total);
      interrupted = ++calls >= stop;
    };
    const std::size_t before = runs;
    ResumableRun run(StateOf(plan), Options(), settings);
    EXPECT_GT(run.units(), 10u);
    const std::size_t begun_with = run.units_done();
    try {
      run.Run(settings);
    } catch (const files::Interrupted&) {
      ++runs;
      EXPECT_GE(run.units_done(), begun_with);
    }
    if (before != runs) continue;
    ExpectEnd(plan, run, whole);
    break;
  }
  EXPECT_GT(runs, 3u);
}

TEST_F(ResumableRuns, AreSharedByPartsInAnyOrderAndAtOnce) {
  const ConversionPlan plan = PlanTo("b.safetensors", DataType::kFloat8E4M3FN);
  const Ran whole = AtOnce(plan);
  for (const std::size_t parts : {1u, 2u, 3u, 7u, 100u}) {
    // Each in a thread of its own, with a plan of its own: locks are of descriptors.
    std::vector<std::thread> threads;
    for (std::size_t part = parts; part != 0; --part) {
      threads.emplace_back([&, part] {
        const ConversionPlan own = PlanOf(StateOf(plan).request);
        ResumableRun run(StateOf(own), Options(part, parts), {});
        run.Run({});
      });
    }
    for (std::thread& thread : threads) thread.join();
    ResumableRun join(StateOf(plan), Options(), {});
    EXPECT_EQ(join.units_done(), join.units()) << parts;
    ExpectEnd(plan, join, whole);
  }
}

TEST_F(ResumableRuns, EveryUnitIsInExactlyOnePart) {
  const ConversionPlan plan = PlanTo("b.safetensors", DataType::kFloat16);
  const std::vector<WorkUnit> units = UnitsOfPlan(StateOf(plan), kSmall);
  std::uint64_t total = 0;
  for (const WorkUnit& unit : units) total += unit.bytes;
  for (std::size_t parts = 1; parts < units.size() + 3; ++parts) {
    std::vector<std::size_t> all;
    for (std::size_t part = 1; part <= parts; ++part) {
      std::uint64_t bytes = 0;
      for (const std::size_t unit : UnitsOfPart(units, part, parts)) {
        all.push_back(unit);
        bytes += units[unit].bytes;
      }
      EXPECT_LE(bytes, total / parts + 2 * kSmall * 4);
    }
    std::vector<std::size_t> expected(units.size());
    for (std::size_t i = 0; i < units.size(); ++i) expected[i] = i;
    EXPECT_EQ(all, expected) << parts;
  }
}

// What is held, and recorded at once, of many small tensors.
TEST_F(ResumableRuns, UnitsHaveSomeThousandTensorsAtMost) {
  std::vector<formats::TensorInfo> tensors;
  for (int i = 0; i < 9000; ++i) {
    tensors.push_back(io::Tensor("t" + std::to_string(i), DataType::kFloat32, {2}));
  }
  Request request;
  request.files = {{Make("a.safetensors", std::move(tensors)), Path("b.safetensors")}};
  request.to = DataType::kFloat16;
  const ConversionPlan plan = PlanOf(request);
  const Ran whole = AtOnce(plan);
  ResumableRun run(StateOf(plan), ResumeOptions(), {});
  EXPECT_EQ(run.units(), 3u);
  run.Run({});
  ExpectEnd(plan, run, whole);
}

// A journal that is cut anywhere, or damaged, costs units and nothing else.
TEST_F(ResumableRuns, JournalsThatAreCutCostUnits) {
  const ConversionPlan plan = PlanTo("b.safetensors", DataType::kFloat16);
  const Ran whole = AtOnce(plan);
  const std::string work = files::WorkDirectory::PathOf(plan.output(0));
  std::size_t units = 0;
  {
    ResumableRun run(StateOf(plan), Options(), {});
    run.Run({});
    units = run.units();
  }
  const std::string journal = work + "/whole.journal";
  const std::string bytes = io::ReadBytes(journal);
  const auto done_with = [&](const std::string& text) {
    io::WriteBytes(journal, text);
    return ResumableRun(StateOf(plan), Options(), {}).units_done();
  };
  EXPECT_EQ(done_with(bytes), units);
  std::size_t last = units;
  for (std::size_t end = bytes.size(); end-- > 0;) {
    if (end % 97 != 0 && end > 40) continue;
    const std::size_t done = done_with(bytes.substr(0, end));
    EXPECT_LE(done, last);
    last = done;
  }
  EXPECT_EQ(last, 0u);
  for (std::size_t at = 3; at < bytes.size(); at += bytes.size() / 40) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_LT(done_with(damaged), units) << at;
  }
  io::WriteBytes(journal, bytes.substr(0, bytes.size() / 2));
  // What a unit that is not recorded left is written again, whatever it is.
  ResumableRun run(StateOf(plan), Options(), {});
  EXPECT_LT(run.units_done(), units);
  run.Run({});
  ExpectEnd(plan, run, whole);
}

TEST_F(ResumableRuns, GoOnWithTheirOwnWorkAlone) {
  const ConversionPlan plan = PlanTo("b.safetensors", DataType::kFloat16);
  { ResumableRun(StateOf(plan), Options(), {}).Run({}); }
  const auto refused = [&](const ConversionPlan& with, ResumeOptions options) {
    try {
      ResumableRun run(StateOf(with), options, {});
      return std::string("taken up");
    } catch (const files::Error& error) {
      return std::string(error.what());
    }
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos ? part : text;
  };
  Request other = StateOf(plan).request;
  other.cast.saturate = !other.cast.saturate;
  EXPECT_EQ(has(refused(PlanOf(other), Options()), "another request"), "another request");
  ResumeOptions without = Options();
  without.has_losses = false;
  EXPECT_EQ(has(refused(plan, without), "was begun with a report"), "was begun with a report");
  ResumeOptions strict = Options();
  strict.is_strict = true;
  EXPECT_EQ(has(refused(plan, strict), "without the digests"), "without the digests");
  EXPECT_EQ(refused(plan, Options()), "taken up");
  {
    ResumableRun at_work(StateOf(plan), Options(), {});
    EXPECT_EQ(has(refused(plan, Options()), "another run is at work"), "another run is at work");
  }
  // An input with the same bytes that was written again, and one of other bytes and the same times.
  const std::string input = plan.input(0);
  const std::string bytes = io::ReadBytes(input);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  io::WriteBytes(input, bytes);
  EXPECT_EQ(has(refused(PlanOf(StateOf(plan).request), Options()),
                input + ": has changed since the run in " +
                    files::WorkDirectory::PathOf(plan.output(0)) + " began"),
            input + ": has changed since the run in " +
                files::WorkDirectory::PathOf(plan.output(0)) + " began");
  EXPECT_TRUE(std::filesystem::exists(files::WorkDirectory::PathOf(plan.output(0))));
  EXPECT_FALSE(std::filesystem::exists(plan.output(0)));
}

TEST_F(ResumableRuns, NothingIsBegunByWhoJoins) {
  const ConversionPlan plan = PlanTo("b.safetensors", DataType::kFloat16);
  const std::string work = files::WorkDirectory::PathOf(plan.output(0));
  const Ran whole = AtOnce(plan);
  ResumeOptions join = Options();
  join.is_join = true;
  EXPECT_THROW(ResumableRun(StateOf(plan), join, {}), files::Error);
  EXPECT_FALSE(std::filesystem::exists(work));
  std::filesystem::create_directory(work);
  io::WriteBytes(work + "/lock", "");  // of a run that was killed before it had prepared anything
  EXPECT_THROW(ResumableRun(StateOf(plan), join, {}), files::Error);
  { ResumableRun(StateOf(plan), Options(1, 1), {}).Run({}); }
  ResumableRun run(StateOf(plan), join, {});
  ExpectEnd(plan, run, whole);
}

TEST_F(ResumableRuns, WhatStandsInTheWayIsNotTouched) {
  const ConversionPlan plan = PlanTo("b.safetensors", DataType::kFloat16);
  const std::string work = files::WorkDirectory::PathOf(plan.output(0));
  const auto refused = [&] {
    EXPECT_THROW(ResumableRun(StateOf(plan), Options(), {}), files::Error);
  };
  io::WriteBytes(work, "mine");
  refused();
  EXPECT_EQ(io::ReadBytes(work), "mine");
  std::filesystem::remove(work);
  std::filesystem::create_directory(work);
  io::WriteBytes(work + "/thesis.tex", "mine");
  refused();
  EXPECT_EQ(io::ReadBytes(work + "/thesis.tex"), "mine");
  std::filesystem::remove_all(work);
  // Names that the work has too, of somebody who has no lock there.
  std::filesystem::create_directories(work + "/output/b.safetensors");
  io::WriteBytes(work + "/output/b.safetensors/thesis.tex", "mine");
  refused();
  EXPECT_EQ(io::ReadBytes(work + "/output/b.safetensors/thesis.tex"), "mine");
  std::filesystem::remove_all(work);
  std::filesystem::create_directory(Path("elsewhere"));
  std::filesystem::create_directory_symlink(Path("elsewhere"), work);
  refused();
  EXPECT_TRUE(std::filesystem::is_empty(Path("elsewhere")));
  std::filesystem::remove(work);
  // A head that is cut or of something else is told, and what is there stays.
  { ResumableRun(StateOf(plan), Options(), {}).Run({}); }
  const std::string head = io::ReadBytes(work + "/work.json");
  for (std::size_t end = 0; end + 2 < head.size(); end += 7) {
    io::WriteBytes(work + "/work.json", head.substr(0, end));
    refused();
  }
  io::WriteBytes(work + "/work.json",
                 R"({"schema_version": 1, "kind": "tensorcast conversion at work"})");
  refused();
  EXPECT_TRUE(std::filesystem::exists(work + "/whole.journal"));
}

}  // namespace
}  // namespace tensorcast::convert
