// A conversion of tensor files is requested in Python's words here, planned and run.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "cast.h"
#include "convert/conversion_plan.h"
#include "convert/resumable_run.h"
#include "core/failure.h"
#include "errors.h"
#include "files/error.h"
#include "held_plan.h"
#include "progress.h"
#include "tensorcast/convert.hpp"
#include "text_objects.h"
#include "threads.h"
#include "types.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// Parses a text that may have '_' for '-' ("q8_0" has its own) and be in any case; gives nothing
// for what is no text.
template <class Parse> auto Named(nb::handle text, const Parse& parse) -> decltype(parse("")) {
  if (PyUnicode_Check(text.ptr()) == 0) return std::nullopt;
  std::string asked = FromStr(text);
  for (char& c : asked) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (const auto found = parse(asked)) return found;
  std::ranges::replace(asked, '_', '-');
  return parse(asked);
}

// Parses an argument that has to be one of the members, and raises where it is not.
template <class Member, class Parse, class Name>
Member Argument(std::string_view argument, nb::handle text, const Parse& parse,
                std::span<const Member> members, const Name& name) {
  if (const auto found = Named(text, parse)) return *found;
  std::vector<std::string> names;
  for (const Member member : members) names.emplace_back(name(member));
  RaiseNotOneOf(argument, names, PyUnicode_Check(text.ptr()) != 0 ? FromStr(text) : "");
}

convert::Destination DestinationOf(nb::handle to) {
  if (const auto format = Named(to, convert::ParseScaledFormat)) return *format;
  return TypeArgument(to);
}

// Makes a request of a dict of convert()'s arguments.
convert::Request RequestOf(const nb::dict& words) {
  convert::Request request;
  for (const nb::handle file : words["files"]) {
    request.files.push_back({FromStr(file[0]), FromStr(file[1])});
  }
  const auto is_same = [](std::string_view text) {
    return text == "same" ? std::optional(text) : std::nullopt;
  };
  if (!words["to"].is_none() && !Named(words["to"], is_same)) {
    request.to = DestinationOf(words["to"]);
  }
  for (const nb::handle rule : words["rules"]) {
    request.rules.push_back({FromStr(rule[0]), DestinationOf(rule[1])});
  }
  for (const nb::handle rename : words["rename"]) {
    request.renames.push_back({FromStr(rename[0]), FromStr(rename[1]), "in rename="});
  }
  for (const nb::handle text : words["only"]) request.only.push_back(FromStr(text));
  for (const nb::handle text : words["exclude"]) request.excluded.push_back(FromStr(text));
  for (const nb::handle text : words["select"]) request.select.push_back(FromStr(text));
  for (const nb::handle keep : words["keep"]) {
    request.keep.push_back(
        Argument("keep", keep, convert::ParseKeep, convert::Keeps(), convert::KeepName));
  }
  request.all_types = nb::cast<bool>(words["all_types"]);
  request.ignore_scales = nb::cast<bool>(words["ignore_scales"]);
  if (!words["layout"].is_none()) {
    const auto layouts = convert::ScaledLayouts();
    const auto known = [&](std::string_view name) {
      const auto found = std::ranges::find(layouts, name);
      return found != layouts.end() ? std::optional(*found) : std::nullopt;
    };
    request.layout =
        Argument("layout", words["layout"], known, layouts, [](auto name) { return name; });
  }
  if (!words["repack"].is_none()) {
    const auto layouts = convert::RepackLayouts();
    const auto known = [&](std::string_view name) {
      const auto found = std::ranges::find(layouts, name);
      return found != layouts.end() ? std::optional(*found) : std::nullopt;
    };
    request.repack =
        Argument("repack", words["repack"], known, layouts, [](auto name) { return name; });
  }
  if (!words["scale_rule"].is_none()) {
    request.scale_rule = Argument("scale_rule", words["scale_rule"], convert::ParseScaleRule,
                                  convert::ScaleRules(), convert::ScaleRuleName);
  }
  if (!words["group"].is_none()) request.group = nb::cast<std::uint64_t>(words["group"]);
  request.asymmetric = nb::cast<bool>(words["asymmetric"]);
  request.rotate = nb::cast<bool>(words["rotate"]);
  request.cast = OptionsOf(nb::cast<nb::dict>(words["options"]));
  if (!words["assume_type"].is_none()) request.assume_type = TypeArgument(words["assume_type"]);
  request.allow_hard_links = nb::cast<bool>(words["allow_hard_links"]);
  if (!words["root"].is_none()) request.root = FromStr(words["root"]);
  request.max_shard_bytes = nb::cast<std::uint64_t>(words["max_shard_bytes"]);
  if (!words["like"].is_none()) request.like = FromStr(words["like"]);
  return request;
}

// Gives the fields of the package's Job, in their order.
nb::tuple JobTuple(const convert::PlannedJob& job) {
  const bool is_scaled = job.format != convert::ScaledFormat::kNone;
  return nb::make_tuple(
      ToStr(job.name), ToStr(convert::ActionName(job.action)),
      nb::tuple(ListOf(job.shape, std::identity())), TypeOrNone(job.from), TypeOrNone(job.to),
      is_scaled ? ToStr(convert::ScaledFormatName(job.format)) : nb::none(), job.bytes_before,
      job.bytes_after ? nb::object(nb::int_(*job.bytes_after)) : nb::none(),
      ToStr(convert::ReasonName(job.reason)), ToStr(job.text), ToStr(job.written_as));
}

std::uint64_t BytesOf(const convert::ConversionPlan& plan) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < plan.jobs(); ++i) bytes += plan.job(i).bytes_before;
  return bytes;
}

// Runs a plan whole; `progress` is called with (bytes done, bytes in all, name).
nb::list Run(HeldPlan& held, bool overwrite, bool measures, std::optional<std::size_t> asked,
             nb::handle progress) {
  std::vector<convert::JobLoss> losses;
  RunPlan(held, BytesOf(held.plan), asked, progress,
          [&](const convert::RunSettings& settings, std::string* error) {
            return convert::RunConversion(held.plan, settings, overwrite,
                                          measures ? &losses : nullptr, error);
          });
  return LossesList(losses);
}

// Begins a run that is kept in OUT.partial, or goes on with it, and ends it.
nb::list RunResumed(HeldPlan& held, bool overwrite, bool measures, bool is_strict,
                    std::optional<std::size_t> asked, nb::handle progress) {
  convert::ResumedResults results;
  RunPlan(held, BytesOf(held.plan), asked, progress,
          [&](const convert::RunSettings& settings, std::string* error) {
            return core::Guarded(error, [&] {
              convert::PlanState& state = *convert::PlanAccess::StateOf(held.plan);
              if (state.files.size() != 1) {
                throw files::Error(core::ErrorKind::kUnsupported,
                                   "a run is resumed of a plan of one file");
              }
              convert::ResumeOptions options;
              options.overwrite = overwrite;
              options.has_losses = measures;
              options.is_strict = is_strict;
              convert::ResumableRun run(state, options, settings);
              run.Run(settings);
              results = run.Results();
              run.Commit(settings.interrupted);
              run.End();
              for (const std::string& note : run.notes()) results.findings.push_back(note);
              return Status();
            });
          });
  held.findings = std::move(results.findings);
  return LossesList(results.losses);
}

// Makes a plan of a request or of its JSON by `make`, and hears signals meanwhile.
template <class Make, class Source>
std::unique_ptr<HeldPlan> PlanOf(const Make& make, const Source& source) {
  auto held = std::make_unique<HeldPlan>();
  std::string error;
  Status status;
  RunInterruptibly(held->interrupted, [&] {
    convert::RunSettings settings;
    settings.interrupted = &held->interrupted;
    status = make(source, settings, &held->plan, &error);
  });
  Check(status, error);
  return held;
}

}  // namespace

void RunPlan(HeldPlan& held, std::uint64_t bytes, std::optional<std::size_t> asked,
             nb::handle progress, const PlanRun& run) {
  ProgressTeller teller(progress);
  std::string error;
  Status status;
  RunInterruptibly(held.interrupted, [&] {
    CallThreads threads(ThreadsFor(asked, bytes));
    convert::RunSettings settings;
    if (threads.Concurrency() > 1) settings.executor = &threads;
    settings.interrupted = &held.interrupted;
    settings.progress = teller.For(held.interrupted);
    status = run(settings, &error);
  });
  teller.Raise();
  Check(status, error);
}

nb::list LossesList(const std::vector<convert::JobLoss>& losses) {
  return ListOf(losses, [&](const convert::JobLoss& loss) {
    return nb::make_tuple(loss.job, nb::cast(loss.loss),
                          loss.gain_db ? nb::object(nb::float_(*loss.gain_db)) : nb::none());
  });
}

void BindConversion(nb::module_& m) {
  using Plan = convert::ConversionPlan;
  nb::class_<HeldPlan>(m, "ConversionPlan")
      .def_static("make",
                  [](const nb::dict& words) { return PlanOf(&Plan::Make, RequestOf(words)); })
      .def_static("from_json",
                  [](const std::string& json) { return PlanOf(&Plan::FromJson, json); })
      .def("to_json",
           [](const HeldPlan& self) {
             std::string json;
             Check(self.plan.ToJson(&json));
             return ToStr(json);
           })
      .def("inputs",
           [](const HeldPlan& self) {
             return ListOf(std::views::iota(std::size_t{0}, self.plan.inputs()),
                           [&](std::size_t i) { return ToStr(self.plan.input(i)); });
           })
      .def("outputs",
           [](const HeldPlan& self) {
             return ListOf(std::views::iota(std::size_t{0}, self.plan.outputs()),
                           [&](std::size_t i) { return ToStr(self.plan.output(i)); });
           })
      .def("jobs",
           [](const HeldPlan& self) {
             return ListOf(std::views::iota(std::size_t{0}, self.plan.jobs()),
                           [&](std::size_t i) { return JobTuple(self.plan.job(i)); });
           })
      .def("notes",
           [](const HeldPlan& self) {
             nb::list notes = ListOf(self.plan.notes(), ToStr);
             notes.extend(ListOf(self.findings ? *self.findings : self.plan.findings(), ToStr));
             return notes;
           })
      .def("run", &Run, nb::arg("overwrite"), nb::arg("measures"), nb::arg("threads").none(),
           nb::arg("progress").none())
      .def("resume", &RunResumed, nb::arg("overwrite"), nb::arg("measures"), nb::arg("is_strict"),
           nb::arg("threads").none(), nb::arg("progress").none());
}

}  // namespace tensorcast::python
