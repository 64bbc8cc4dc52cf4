// How a finished convert is put into words, and the messages beside its report.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/conversion_summary.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

#include "checkpoint/open_tensor_file.h"
#include "convert/text_jobs.h"
#include "display/quantities.h"
#include "display/refusals.h"
#include "files/error.h"
#include "files/system.h"
#include "shell/process.h"
#include "shell/streams.h"

namespace tensorcast::tool {
namespace {

using convert::Decision;
using convert::PlanState;

// The tensors of the one file.
const std::vector<formats::TensorInfo>& TensorsOf(const PlanState& state) {
  return state.files.front().plan.reader->contents().tensors;
}

// Users mistake casts from floating to integer types for quantisation.
void WarnOfIntegerCasts(const std::vector<formats::TensorInfo>& tensors,
                        std::span<const Decision> decisions, std::vector<Notice>& notices) {
  std::set<std::string_view> types;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TypeInfo* from = FindType(tensors[i].type);
    if (decisions[i].scaled) continue;
    const TypeInfo* to = FindType(decisions[i].to);
    if (from != nullptr && to != nullptr && from->is_float() && to->is_integer()) {
      types.insert(to->name);
    }
  }
  for (const std::string_view type : types) {
    const TypeInfo* to = FindType(*ParseType(type));
    notices.push_back(
        {fmt::format("a cast to {} is not quantisation: it {} and scales nothing; "
                     "weights within ±1 become mostly zeros",
                     type, to->bits < 8 ? "rounds to integers" : "truncates toward zero"),
         true});
  }
}

// Cast to float8 without scales.
bool IsBareFloat8(const convert::TensorJob& job) {
  const TypeInfo* const to = job.to.empty() ? nullptr : FindType(job.to.front());
  return to != nullptr && !job.scaled && to->is_float() && to->bits == 8 && to->has_zero;
}

bool WritesConfig(const convert::PlannedFile& file) {
  return checkpoint::IsDirectoryName(file.output) &&
         files::IsFile((std::filesystem::path(file.input) / "config.json").string());
}

// What transformers makes of a directory that it does not read, or not in every version.
void NoteWhatTransformersReads(const convert::FilePlan& plan, std::vector<Notice>& notices) {
  const auto note = [&](std::string_view text) { notices.push_back({std::string(text)}); };
  if (std::ranges::any_of(plan.jobs, IsBareFloat8)) {
    note(
        "transformers 5 casts float8 weights without scales to config.json's dtype, or that of "
        "from_pretrained(..., dtype=torch.bfloat16); transformers 4 cannot compute with them; --to "
        "fp8-row, fp8-block and the like write scales, and a configuration that it reads");
  }
  const auto noted = std::ranges::find_if(plan.jobs, [](const convert::TensorJob& job) {
    return job.scaled && !job.scaled.dialect->directory_note.empty();
  });
  if (noted != plan.jobs.end()) note(noted->scaled.dialect->directory_note);
  const auto repacked = std::ranges::find_if(plan.jobs, [](const convert::TensorJob& job) {
    return job.repacked != nullptr && !job.repacked->form().dialect->directory_note.empty();
  });
  if (repacked != plan.jobs.end()) note(repacked->repacked->form().dialect->directory_note);
}

}  // namespace

std::string SnrText(const LossReport& loss) {
  if (loss.compared == 0) return "–";
  if (std::isinf(loss.snr_db) && loss.max_abs_error > 0) return "?";
  return DecibelText(loss.snr_db);
}

std::string CrossedText(const CrossedLimit& crossed, const report::NamesOfFile& names,
                        std::size_t columns) {
  constexpr std::size_t kMostOfName = 40;
  constexpr std::size_t kLeastOfName = 16;
  const LossLimit& limit = crossed.limit;
  if (limit.kind) {
    const auto number = [&](double value) {
      return limit.is_percent ? fmt::format("{:.6g} %", value) : fmt::format("{:.0f}", value);
    };
    return fmt::format("{} {} is above {}", LimitName(limit), number(crossed.value),
                       number(limit.limit));
  }
  const std::string name = report::DistinctName(
      words::Escape(crossed.tensor), std::clamp(columns / 2, kLeastOfName, kMostOfName), names);
  if (std::isnan(crossed.value)) {
    return fmt::format("snr of {} counts as below {} dB: {}", name, DecibelText(limit.limit),
                       crossed.reason);
  }
  return fmt::format("snr {} dB of {} is below {} dB", DecibelText(crossed.value), name,
                     DecibelText(limit.limit));
}

ConversionSummary SummaryOf(const PlanState& state) {
  const convert::PlannedFile& file = state.files.front();
  ConversionSummary summary;
  summary.input = file.input;
  summary.output = file.output;
  summary.input_bytes = file.input_bytes;
  summary.options = state.request.cast;
  summary.is_pipeline = std::ranges::any_of(file.plan.config.configurations,
                                            [](const auto& one) { return !one.first.empty(); });
  summary.writes_config = WritesConfig(file);
  summary.names = report::EscapedNames(TensorsOf(state));
  summary.can_hold = [&sink = *file.sink, first = TensorsOf(state).data()](
                         const formats::TensorInfo& info, DataType to) {
    return sink.CanHold(static_cast<std::size_t>(&info - first), to);
  };
  summary.may_be_kept = [&file, first = TensorsOf(state).data()](const formats::TensorInfo& info) {
    const Decision& decision = file.plan.decisions[static_cast<std::size_t>(&info - first)];
    return decision.reason == convert::Reason::kAsked && !decision.applies_scales;
  };
  for (std::size_t j = 0; j < file.plan.jobs.size(); ++j) {
    const convert::TensorJob& job = file.plan.jobs[j];
    const formats::TensorInfo* info = &file.TensorOf(j);
    const Decision& decision = file.DecisionOf(j);
    if (job.repacked != nullptr) {
      summary.repacked.push_back({info, job.repacked, job.repacked->SourceText()});
    } else if (job.to.empty()) {
      summary.left_alone.push_back({info, decision.text, decision.is_companion});
    } else if (convert::IsTextJob(*file.plan.reader, job)) {
      summary.texts.push_back({info, decision.to, decision.text});
    }
  }
  return summary;
}

std::vector<ComponentSummary> ComponentsOf(const ConversionSummary& summary) {
  std::map<std::string, ComponentSummary> components;
  if (!summary.is_pipeline) return {};
  const auto component_of = [&](const formats::TensorInfo& info) -> ComponentSummary& {
    return components[info.name.substr(0, info.name.find('/'))];
  };
  for (std::size_t i = 0; i < summary.cast.size(); ++i) {
    const report::CastTensor tensor = summary.cast[i];
    ComponentSummary& component = component_of(*tensor.info);
    ++component.cast;
    component.sum.Add(tensor.info->name, tensor.loss);
  }
  for (const CastText& text : summary.texts) ++component_of(*text.info).cast;
  for (const LeftAlone& left : summary.left_alone) ++component_of(*left.info).left_alone;
  std::vector<ComponentSummary> list;
  for (auto& [name, component] : components) {
    component.name = name;
    list.push_back(std::move(component));
  }
  return list;
}

std::vector<Notice> NoticesOf(const PlanState& state) {
  std::vector<Notice> notices;
  const std::size_t others = state.notes.size() - state.idle_rules.size();
  for (const std::string& note : std::span(state.notes).first(others)) notices.push_back({note});
  for (const convert::IdleRule& idle : state.idle_rules) {
    notices.push_back({IdleText(state.request.rules[idle.rule], idle.why), true});
  }
  const convert::PlannedFile& file = state.files.front();
  WarnOfIntegerCasts(TensorsOf(state), file.plan.decisions, notices);
  if (WritesConfig(file)) NoteWhatTransformersReads(file.plan, notices);
  return notices;
}

void SayWritten(const ConversionSummary& summary) {
  const std::string speed =
      summary.bytes_moved
          ? ", " + SpeedText(static_cast<double>(*summary.bytes_moved) / summary.seconds)
          : std::string();
  Say(fmt::format(" wrote {}, {} in {}{}, peak memory {}\n", words::Escape(summary.output),
                  BytesText(summary.output_bytes), SecondsText(summary.seconds), speed,
                  BytesText(PeakMemory())));
}

}  // namespace tensorcast::tool
