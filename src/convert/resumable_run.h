// A run of a plan that lasts longer than its process: what is done is recorded in a directory
// beside the output, OUT.partial, where other processes, later or beside this one, do the rest.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CONVERT_RESUMABLE_RUN_H_
#define TENSORCAST_SRC_CONVERT_RESUMABLE_RUN_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convert/conversion_plan.h"
#include "convert/exponents.h"
#include "convert/run_conversion.h"
#include "convert/work_identity.h"
#include "convert/work_units.h"
#include "files/system_work_directory.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {

struct ResumeOptions {
  bool overwrite = false;  // OUT
  bool is_strict = false;
  bool has_losses = true;
  // This process does one of `parts` parts, counted from 1, beside others; 0: all that is left.
  std::size_t part = 0;
  std::size_t parts = 0;
  bool is_join = false;  // nothing is begun: parts have been done
  std::uint64_t unit_bytes = kUnitBytes;
};

// Of all units, by whatever process.
struct ResumedResults {
  std::vector<JobLoss> losses;            // what each cast lost, merged, in the order of the jobs
  std::vector<ExponentCounts> exponents;  // of each of these, as JobMeasure has them
  std::vector<std::string> findings;      // ConversionPlan::findings
};

// Whether something stands where the work of a plan of one file lies.
bool HasWork(const PlanState& state);

class ResumableRun {
 public:
  // Begins the work of a plan of one file, or takes it up. The plan outlives it. Throws
  // files::Error: unsupported of outputs that have to be written at one go; what is another work's,
  // or at work in another process, is refused.
  ResumableRun(PlanState& state, const ResumeOptions& options, const RunSettings& settings);

  const std::string& directory() const { return work_.path(); }
  std::size_t units() const { return units_.size(); }
  // Which are recorded as done, by any process, when this one began or by it.
  std::size_t units_done() const { return units_done_; }
  std::uint64_t bytes_done() const { return bytes_done_; }
  std::uint64_t bytes() const { return bytes_; }

  // What a report says of the output.
  std::uint64_t output_bytes() const { return identity_.output_bytes; }
  const std::string& reading_hint() const { return identity_.reading_hint; }

  // Whether the output has its name already: only End is left.
  bool is_committed() const { return outputs_ == nullptr; }
  const formats::TensorWriter* writer() const;

  // Does this process's units that are not done, and records each. Returns the bytes that were read
  // and written. Throws what RunJobs throws; what is recorded stays.
  std::uint64_t Run(const RunSettings& settings);

  // Which units nobody has done; empty: all are done.
  std::vector<std::size_t> UnitsLeft() const;

  // After all units.
  ResumedResults Results() const;
  // Gives the output its name. Throws files::Error, files::Interrupted.
  void Commit(const std::atomic<bool>* interrupted);
  // Removes the directory, after all that is made of the output and of Results.
  void End();
  // What the user should know of the end: what could not be removed.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void Prepare(const RunSettings& settings);
  void OpenOutputs(const RunSettings& settings);
  void ReadJournals();

  PlanState& state_;
  const ResumeOptions options_;
  files::WorkDirectory work_;
  WorkOptions identity_;
  std::unique_ptr<OutputsState> outputs_;  // null: it is committed
  std::vector<WorkUnit> units_;
  std::vector<bool> is_done_;
  std::size_t units_done_ = 0;
  std::uint64_t bytes_ = 0, bytes_done_ = 0;
  std::unique_ptr<files::JournalFile> journal_;
  std::vector<std::string> notes_;
};

}  // namespace tensorcast::convert

#endif  // TENSORCAST_SRC_CONVERT_RESUMABLE_RUN_H_
