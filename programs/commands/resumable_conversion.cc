// Of work that others go on with: begins it, does it, ends it, and says where it stands.
//
// SPDX-License-Identifier: Apache-2.0
#include "commands/resumable_conversion.h"

#include <charconv>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "display/quantities.h"
#include "files/error.h"
#include "shell/exit_codes.h"
#include "shell/process.h"
#include "shell/streams.h"

namespace tensorcast::tool {
namespace {

using core::ErrorKind;
using files::Error;

constexpr std::string_view kStrict = "strict";
constexpr std::size_t kMostParts = 1'000'000;

// The number that a text is, which is digits alone; 0: it is none.
std::size_t NumberOf(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

std::string DoneText(const convert::ResumableRun& run) {
  return fmt::format("{} of {}", BytesText(run.bytes_done()), BytesText(run.bytes()));
}

void FailUnfinished(const convert::ResumableRun& run) {
  throw Error(ErrorKind::kArguments,
              fmt::format("{}: only {} are done; run the parts that have not ended, or do the rest "
                          "with --resume",
                          words::PathText(run.directory()), DoneText(run)),
              run.directory());
}

}  // namespace

void AddResumeFlags(Command command, ResumeFlags& flags) {
  command
      .AddFlag("--resume[=strict]", flags.resume,
               "Keep what is done in OUT.partial, and go on where an interrupted run has stopped; "
               "--resume=strict tells inputs by the digests of all their bytes")
      .Excludes("--dry-run");
  command
      .AddOption("--part K/N", flags.part,
                 "Do the Kth of N parts, beside other processes or machines; --join ends it")
      .Excludes("--dry-run");
  command.AddFlag("--join", flags.join, "Give OUT its name once all parts are done, and report")
      .Excludes("--dry-run")
      .Excludes("--part");
}

convert::ResumeOptions ParseResumeFlags(const ResumeFlags& flags) {
  convert::ResumeOptions options;
  options.is_strict = flags.resume == kStrict;
  options.is_join = flags.join;
  if (flags.part.empty()) return options;
  const std::size_t slash = flags.part.find('/');
  if (slash != std::string::npos) {
    options.part = NumberOf(std::string_view(flags.part).substr(0, slash));
    options.parts = NumberOf(std::string_view(flags.part).substr(slash + 1));
  }
  if (options.part == 0 || options.part > options.parts || options.parts > kMostParts) {
    throw Error(ErrorKind::kArguments,
                fmt::format("--part '{}' is not K/N, such as 3/8: one of N parts, counted from 1",
                            words::Escape(flags.part)));
  }
  return options;
}

ResumedEnd RunResumable(convert::PlanState& state, const ResumeFlags& flags, bool overwrite,
                        bool is_quiet, const convert::RunSettings& settings,
                        const convert::Measured& measured, const RecordOfWork& record,
                        ProgressDisplay& progress) {
  convert::ResumeOptions options = ParseResumeFlags(flags);
  options.overwrite = overwrite;
  options.has_losses = measured != nullptr;
  ResumedEnd end;
  end.run = std::make_unique<convert::ResumableRun>(state, options, settings);
  convert::ResumableRun& run = *end.run;
  progress.Clear();
  if (!is_quiet && run.units_done() != 0 && !flags.join) {
    SayNote(fmt::format("this run goes on in {}: {} are done", words::PathText(run.directory()),
                        DoneText(run)));
  }
  if (flags.join && !run.UnitsLeft().empty()) FailUnfinished(run);
  const bool was_committed = run.is_committed();
  bool has_name = was_committed;
  if (record.check && !was_committed) record.check();
  const auto kept = [&] {
    progress.Clear();
    if (has_name) {
      return fmt::format("{} is written, its record is not; the same command goes on",
                         words::PathText(state.files.front().output));
    }
    return fmt::format("{} are done and kept in {}; the same command goes on", DoneText(run),
                       words::PathText(run.directory()));
  };
  try {
    progress.BeginAt(run.bytes_done());
    end.bytes_moved = run.Run(settings);
    if (options.parts != 0) {
      progress.Clear();
      if (!is_quiet) {
        Say(fmt::format(" part {} of {} is done; of all {} are{}\n", options.part, options.parts,
                        DoneText(run), run.UnitsLeft().empty() ? ": end it with --join" : ""));
      }
      return end;
    }
    end.output_bytes = run.output_bytes();
    end.reading_hint = run.reading_hint();
    if (was_committed && !is_quiet) {
      SayNote(fmt::format(
          "{} is complete; {}", words::PathText(state.files.front().output),
          record.write ? "only its record and its report are left"
          : measured   ? "only its report is left"
                       : fmt::format("only {} is removed", words::PathText(run.directory()))));
    }
    convert::ResumedResults results = run.Results();
    if (measured) {
      for (std::size_t i = 0; i < results.losses.size(); ++i) {
        convert::JobLoss& loss = results.losses[i];
        measured(loss.job, {loss.loss, loss.gain_db, &results.exponents[i]});
      }
    }
    end.findings = std::move(results.findings);
    run.Commit(settings.interrupted);
    has_name = true;
    if (record.write) {
      progress.BeginAt(0);
      record.write(overwrite || was_committed);
      progress.Clear();
    }
  } catch (const files::Interrupted&) {
    SayLine("interrupted; " + kept());
    end.exit_code = kExitInterrupted;
    return end;
  } catch (const Error&) {
    SayNote(kept());
    throw;
  }
  ExitOnInterrupts(Leaves::kOutput);
  progress.Clear();
  end.is_complete = true;
  return end;
}

void EndResumable(ResumedEnd& end, bool is_quiet) {
  if (end.run == nullptr) return;
  CatchInterrupts();  // what is half removed would be left under a name that nobody knows
  end.run->End();
  ExitOnInterrupts(Leaves::kOutput);
  if (is_quiet) return;
  for (const std::string& note : end.run->notes()) SayNote(note);
}

}  // namespace tensorcast::tool
