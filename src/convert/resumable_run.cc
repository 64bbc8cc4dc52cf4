// The output is made whole and empty first, with the head of the work behind it; then units are
// filled in, each synced before it is recorded.
//
// SPDX-License-Identifier: Apache-2.0
#include "convert/resumable_run.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "checkpoint/checkpoint_writer.h"
#include "convert/json_place.h"
#include "convert/text_jobs.h"
#include "core/little_endian.h"
#include "files/error.h"
#include "files/system_directory.h"
#include "json/ordered_json.h"

namespace tensorcast::convert {
namespace {

using core::ErrorKind;
using files::Error;
using files::WorkDirectory;
using Json = json::OrderedJson;

// An entry of a journal: the length of its JSON in 8 bytes, the lowest first, the JSON, then the
// meters of its losses.
constexpr std::size_t kLengthBytes = 8;

// Of a unit's part of a job.
struct Measure {
  JobLoss loss;
  ExponentCounts exponents;
};

// Exponents as one array of numbers: what stands before the counts, then these.
constexpr std::size_t kBeforeCounts = 4;

Json ExponentsJson(const ExponentCounts& exponents) {
  Json json = {exponents.sampled, exponents.zeros, exponents.not_finite,
               static_cast<std::uint64_t>(std::int64_t{exponents.first})};  // negative, too
  for (const std::uint64_t count : exponents.counts) json.push_back(count);
  return json;
}

ExponentCounts ExponentsFrom(const Place& json) {
  ExponentCounts exponents;
  exponents.sampled = json[0].Number();
  exponents.zeros = json[1].Number();
  exponents.not_finite = json[2].Number();
  const auto first = static_cast<std::int64_t>(json[3].Number());
  constexpr int kFarthest = 2000;  // float64's go to -1074
  if (first < -kFarthest || first > kFarthest) json[3].Refuse("is no exponent");
  exponents.first = static_cast<int>(first);
  for (std::size_t i = kBeforeCounts; i < json.size(); ++i) {
    exponents.counts.push_back(json[i].Number());
  }
  return exponents;
}

std::vector<std::byte> EntryOf(std::size_t unit, const std::vector<Measure>& measures,
                               const std::vector<std::string>& findings) {
  Json json = Json::object();
  json["unit"] = unit;
  json["jobs"] = Json::array();
  json["gains"] = Json::array();
  json["exponents"] = Json::array();
  for (const auto& [loss, exponents] : measures) {
    json["jobs"].push_back(loss.job);
    // As bits: it may be infinite.
    json["gains"].push_back(loss.gain_db ? Json(std::bit_cast<std::uint64_t>(*loss.gain_db))
                                         : Json());
    json["exponents"].push_back(ExponentsJson(exponents));
  }
  json["found"] = Json::array();
  for (const std::string& one : findings) json["found"].push_back(BytesJson(one));
  const std::string head = json::Dumped(json);
  std::vector<std::byte> entry(kLengthBytes);
  core::StoreLittle(entry.data(), head.size(), kLengthBytes);
  const std::span<const std::byte> text = std::as_bytes(std::span(head));
  entry.insert(entry.end(), text.begin(), text.end());
  std::vector<std::byte> meter(LossMeter::SavedBytes());
  for (const Measure& measure : measures) {
    if (const Status status = measure.loss.loss.Save(meter); !status.ok()) throw std::bad_alloc();
    entry.insert(entry.end(), meter.begin(), meter.end());
  }
  return entry;
}

struct Entry {
  std::size_t unit = 0;
  std::vector<Measure> measures;
  std::vector<std::string> findings;
};

// `reads_measures`: else they stay empty.
Entry EntryFrom(std::span<const std::byte> bytes, const std::string& path, bool reads_measures) {
  const std::string what = words::PathText(path);
  const auto fail = [&] {
    throw Error(ErrorKind::kContents, what + ": is not the journal of a conversion", path);
  };
  if (bytes.size() < kLengthBytes) fail();
  const std::uint64_t length = core::LoadLittle(bytes.data(), kLengthBytes);
  bytes = bytes.subspan(kLengthBytes);
  if (length > bytes.size()) fail();
  const Json parsed = json::JsonOrNull(std::string_view(reinterpret_cast<const char*>(bytes.data()),
                                                        static_cast<std::size_t>(length)));
  bytes = bytes.subspan(static_cast<std::size_t>(length));
  const Place json(parsed, what.c_str(), "it");
  Entry entry;
  entry.unit = static_cast<std::size_t>(json.Member("unit").Number());
  const Place jobs = json.Member("jobs"), gains = json.Member("gains"),
              exponents = json.Member("exponents"), found = json.Member("found");
  for (std::size_t i = 0; i < found.size(); ++i) entry.findings.push_back(found[i].Bytes());
  const std::size_t size = LossMeter::SavedBytes();
  if (bytes.size() != jobs.size() * size || gains.size() != jobs.size() ||
      exponents.size() != jobs.size()) {
    fail();
  }
  for (std::size_t i = 0; i < jobs.size() && reads_measures; ++i) {
    // The types of a meter are its own once it is loaded.
    JobLoss loss{static_cast<std::size_t>(jobs[i].Number()),
                 LossMeter(DataType::kFloat32, DataType::kFloat32, {})};
    if (!gains[i].IsNull()) loss.gain_db = std::bit_cast<double>(gains[i].Number());
    if (!loss.loss.Load(bytes.subspan(i * size, size)).ok()) fail();
    entry.measures.push_back({std::move(loss), ExponentsFrom(exponents[i])});
  }
  return entry;
}

[[noreturn]] void FailAtOneGo(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::kUnsupported,
              words::PathText(path) + ": " + why +
                  ", so it is written in one go; convert it without --resume or --part",
              path);
}

// What can be told before anything is made.
void RequireResumable(const PlannedFile& file) {
  if (file.sink->has_graph()) FailAtOneGo(file.output, "is a model");
  for (const TensorJob& job : file.plan.jobs) {
    if (IsTextJob(*file.plan.reader, job)) FailAtOneGo(file.output, "strings are converted");
  }
}

WorkDirectory::Use UseOf(const ResumeOptions& options) {
  if (options.is_join) return WorkDirectory::Use::kStanding;
  return options.parts != 0 ? WorkDirectory::Use::kShared : WorkDirectory::Use::kAlone;
}

}  // namespace

bool HasWork(const PlanState& state) {
  return files::IsDirectory(WorkDirectory::PathOf(state.files.front().output));
}

ResumableRun::ResumableRun(PlanState& state, const ResumeOptions& options,
                           const RunSettings& settings)
    : state_(state),
      options_(options),
      work_((RequireResumable(state.files.front()), state.files.front().output), UseOf(options),
            [&] { files::StopIfInterrupted(settings.interrupted); }),
      identity_{.is_strict = options.is_strict,
                .has_losses = options.has_losses,
                .unit_bytes = options.unit_bytes} {
  state.interrupt->Set(settings.interrupted);
  if (const std::optional<std::string> head = work_.Head()) {
    identity_ = RequireSameWork(state, identity_, *head, work_.path(), settings.interrupted);
  } else {
    Prepare(settings);
  }
  switch (work_.FindOutput(identity_.output)) {
    case WorkDirectory::Place::kStaged: OpenOutputs(settings); break;
    case WorkDirectory::Place::kNamed: break;
    case WorkDirectory::Place::kNowhere:
      throw Error(ErrorKind::kSystem,
                  words::PathText(work_.path()) + ": the output that was begun in it is gone; " +
                      "remove it to begin again",
                  work_.path());
  }
  work_.Share();
  if (outputs_ == nullptr) return;
  units_ = UnitsOfPlan(state, options.unit_bytes);
  is_done_.assign(units_.size(), false);
  for (const WorkUnit& unit : units_) bytes_ += unit.bytes;
  ReadJournals();
  const std::string name = options.parts == 0 ? "whole"
                                              : "part-" + std::to_string(options.part) + "-of-" +
                                                    std::to_string(options.parts);
  journal_ = std::make_unique<files::JournalFile>(work_.JournalPath(name));
}

const formats::TensorWriter* ResumableRun::writer() const {
  return outputs_ != nullptr ? outputs_->files.front().second.get() : nullptr;
}

void ResumableRun::Prepare(const RunSettings& settings) {
  const PlannedFile& file = state_.files.front();
  files::CreateOptions create = OutputOptions(state_, options_.overwrite);
  try {
    work_.Clear();
    create.staging.directory = work_.staging();
    create.staging.stays = true;
    const std::unique_ptr<formats::TensorWriter> writer =
        file.sink->Create(ContentsOf(*file.plan.reader, file.plan), create, settings.interrupted);
    if (writer->temporary().empty()) FailAtOneGo(file.output, "is packed from front to end");
    writer->Sync();
    identity_.output = files::StatusOf(writer->temporary())->number;
    identity_.output_bytes = writer->file_bytes();
    identity_.reading_hint = writer->reading_hint();
    const std::string head = WorkHead(state_, identity_, settings.interrupted);
    file.plan.reader->CheckUnchanged();  // what was looked at is what was opened
    work_.SetHead(head);
  } catch (...) {
    work_.Remove();
    throw;
  }
}

void ResumableRun::OpenOutputs(const RunSettings& settings) {
  const PlannedFile& file = state_.files.front();
  files::CreateOptions create = OutputOptions(state_, options_.overwrite);
  create.begun = work_.staged();
  create.takes_begun = options_.parts == 0;
  create.staging.directory = work_.staging();
  create.staging.stays = true;
  file.sink->Check(ContentsOf(*file.plan.reader, file.plan), create);
  outputs_ = std::make_unique<OutputsState>();
  outputs_->plan = &state_;
  outputs_->is_joined = !create.takes_begun;
  outputs_->syncs_parts = true;
  outputs_->files.emplace_back(
      file.output,
      file.sink->Create(ContentsOf(*file.plan.reader, file.plan), create, settings.interrupted));
}

void ResumableRun::ReadJournals() {
  for (const std::string& path : work_.Journals()) {
    files::JournalFile::ForEach(path, [&](std::span<const std::byte> bytes) {
      const std::size_t unit = EntryFrom(bytes, path, false).unit;
      if (unit >= units_.size()) {
        throw Error(ErrorKind::kContents, words::PathText(path) + ": belongs to another conversion",
                    path);
      }
      if (is_done_[unit]) return;
      is_done_[unit] = true;
      ++units_done_;
      bytes_done_ += units_[unit].bytes;
    });
  }
}

std::uint64_t ResumableRun::Run(const RunSettings& settings) {
  if (is_committed()) return 0;
  std::vector<std::size_t> mine;
  if (options_.parts != 0) {
    mine = UnitsOfPart(units_, options_.part, options_.parts);
  } else {
    for (std::size_t unit = 0; unit < units_.size(); ++unit) mine.push_back(unit);
  }
  std::erase_if(mine, [&](std::size_t unit) { return is_done_[unit]; });
  std::uint64_t total = bytes_done_;
  for (const std::size_t unit : mine) total += units_[unit].bytes;
  std::uint64_t moved = 0;
  std::set<std::string> recorded;  // of what was found
  for (const std::size_t index : mine) {
    files::StopIfInterrupted(settings.interrupted);
    const WorkUnit& unit = units_[index];
    RunSettings of_unit = settings;
    of_unit.progress = [&](const Progress& now) {
      if (!settings.progress) return;
      Progress all = now;
      const double share = now.bytes_total == 0 ? 1
                                                : static_cast<double>(now.bytes_done) /
                                                      static_cast<double>(now.bytes_total);
      all.bytes_done =
          bytes_done_ + static_cast<std::uint64_t>(share * static_cast<double>(unit.bytes));
      all.bytes_total = total;
      settings.progress(all);
    };
    std::vector<Measure> measures;
    Measured measured;
    if (options_.has_losses) {
      measured = [&](std::size_t range, const JobMeasure& measure) {
        measures.push_back({{unit.ranges[range].job, std::move(measure.loss), measure.gain_db},
                            measure.exponents != nullptr ? *measure.exponents : ExponentCounts()});
      };
    }
    // Who makes the report may be another process: that it shows them is not known here.
    moved += RunRanges(state_, unit.ranges, of_unit, outputs_.get(), measured,
                       /*count_exponents=*/true);
    std::vector<std::string> findings = FindingsOf(state_);
    std::erase_if(findings, [&](const std::string& one) { return !recorded.insert(one).second; });
    journal_->Add(EntryOf(index, measures, findings));
    is_done_[index] = true;
    ++units_done_;
    bytes_done_ += unit.bytes;
  }
  ReadJournals();  // what others have done meanwhile
  return moved;
}

std::vector<std::size_t> ResumableRun::UnitsLeft() const {
  std::vector<std::size_t> left;
  for (std::size_t unit = 0; unit < is_done_.size(); ++unit) {
    if (!is_done_[unit]) left.push_back(unit);
  }
  return left;
}

ResumedResults ResumableRun::Results() const {
  ResumedResults results{{}, {}, FindingsOf(state_)};
  std::map<std::size_t, ExponentCounts> exponents;  // of jobs
  std::set<std::size_t> taken;  // a unit may have been done twice, before a journal was there
  for (const std::string& path : work_.Journals()) {
    files::JournalFile::ForEach(path, [&](std::span<const std::byte> bytes) {
      Entry entry = EntryFrom(bytes, path, true);
      for (std::string& one : entry.findings) results.findings.push_back(std::move(one));
      if (!taken.insert(entry.unit).second) return;
      for (Measure& measure : entry.measures) {
        if (measure.loss.job >= state_.jobs) continue;
        exponents[measure.loss.job].Merge(measure.exponents);
        results.losses.push_back(std::move(measure.loss));
      }
    });
  }
  CheckStatus(MergeLosses(&results.losses), {});
  for (const JobLoss& loss : results.losses) {
    results.exponents.push_back(std::move(exponents[loss.job]));
  }
  std::ranges::sort(results.findings);
  results.findings.erase(std::unique(results.findings.begin(), results.findings.end()),
                         results.findings.end());
  return results;
}

void ResumableRun::Commit(const std::atomic<bool>* interrupted) {
  if (outputs_ == nullptr) return;
  CommitOutputs(*outputs_, interrupted);
  for (std::string& note : outputs_->files.front().second->notes())
    notes_.push_back(std::move(note));
}

void ResumableRun::End() {
  // A run that was killed may have left what it replaced.
  if (const std::string aside = work_.PutAside(); !aside.empty()) {
    if (const std::string why = checkpoint::WhyNotReplaced(aside); !why.empty()) {
      notes_.push_back(words::PathText(aside) + " stood at " +
                       words::PathText(state_.files.front().output) +
                       " when a run was killed, and is not removed: " + why);
      return;
    }
  }
  if (const std::string left = work_.Remove(); !left.empty()) {
    notes_.push_back(words::PathText(left) + ", which is no longer needed, could not be removed");
  }
}

}  // namespace tensorcast::convert
