// What convert's --resume, --part and --join do: a conversion that goes on where an earlier process
// was interrupted, or that several processes share.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_PROGRAMS_COMMANDS_RESUMABLE_CONVERSION_H_
#define TENSORCAST_PROGRAMS_COMMANDS_RESUMABLE_CONVERSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "convert/conversion_plan.h"
#include "convert/resumable_run.h"
#include "convert/run_conversion.h"
#include "display/progress_display.h"
#include "shell/command_line.h"

namespace tensorcast::tool {

struct ResumeFlags {
  std::string resume;  // "true" or "strict"; empty: not given
  std::string part;    // "3/8"
  bool join = false;

  bool IsGiven() const { return !resume.empty() || !part.empty() || join; }
};

void AddResumeFlags(Command command, ResumeFlags& flags);

// Throws files::Error (arguments) where the part is none.
convert::ResumeOptions ParseResumeFlags(const ResumeFlags& flags);

// What the rest of the command tells of a run that has ended.
struct ResumedEnd {
  // OUT has its name; else a part is done, or the run was interrupted; messages are printed.
  bool is_complete = false;
  int exit_code = 0;
  std::uint64_t bytes_moved = 0;
  std::uint64_t output_bytes = 0;
  std::string reading_hint;
  std::vector<std::string> findings;
  std::unique_ptr<convert::ResumableRun> run;  // where it is complete
};

// The record that is asked for; the work goes on until it is written. Null: none.
struct RecordOfWork {
  std::function<void()> check;                // before the output has its name
  std::function<void(bool overwrite)> write;  // after `measured` was called of all
};

// Does what is left, or a part of it, or sees that nothing is. `measured`: as RunPlan's, called
// once all is done; null where no loss is asked for. What a run leaves that ends before, and how to
// go on, is said on stderr. Work that is complete is kept until EndResumable, so that what is made
// of it is made again where this process is killed.
ResumedEnd RunResumable(convert::PlanState& state, const ResumeFlags& flags, bool overwrite,
                        bool is_quiet, const convert::RunSettings& settings,
                        const convert::Measured& measured, const RecordOfWork& record,
                        ProgressDisplay& progress);
void EndResumable(ResumedEnd& end, bool is_quiet);

}  // namespace tensorcast::tool

#endif  // TENSORCAST_PROGRAMS_COMMANDS_RESUMABLE_CONVERSION_H_
