// Conversions of tensor files: requests made of Python's words, plans, and running them.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "cast.h"
#include "errors.h"
#include "tensorcast/convert.hpp"
#include "text/error_text.h"
#include "text_objects.h"
#include "threads.h"
#include "types.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// What `parse` makes of a text, '_' for '-' and in any case; nothing where it is no text.
template <class Parse> auto Named(nb::handle text, const Parse& parse) -> decltype(parse("")) {
  if (PyUnicode_Check(text.ptr()) == 0) return std::nullopt;
  std::string asked = FromStr(text);
  for (char& c : asked) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return parse(asked);
}

// The same of an argument, which has to be one of the members.
template <class Member, class Parse, class Name>
Member Argument(std::string_view argument, nb::handle text, const Parse& parse,
                std::span<const Member> members, const Name& name) {
  if (const auto found = Named(text, parse)) return *found;
  std::string line(argument);
  line += " is one of";
  for (const Member member : members) line.append(" \"").append(name(member)).append("\"");
  Raise(ErrorClass::kValue, line);
}

convert::Destination DestinationOf(nb::handle to) {
  if (const auto format = Named(to, convert::ParseScaledFormat)) return *format;
  return TypeArgument(to);
}

std::vector<std::string> TextsOf(nb::handle list) {
  std::vector<std::string> texts;
  for (const nb::handle text : list) texts.push_back(FromStr(text));
  return texts;
}

// Of a dict of convert()'s arguments.
convert::Request RequestOf(const nb::dict& words) {
  convert::Request request;
  for (const nb::handle file : words["files"]) {
    request.files.push_back({FromStr(file[0]), FromStr(file[1])});
  }
  if (!words["to"].is_none()) request.to = DestinationOf(words["to"]);
  for (const nb::handle rule : words["rules"]) {
    request.rules.push_back({FromStr(rule[0]), DestinationOf(rule[1])});
  }
  request.only = TextsOf(words["only"]);
  request.excluded = TextsOf(words["exclude"]);
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
  if (!words["scale_rule"].is_none()) {
    request.scale_rule = Argument("scale_rule", words["scale_rule"], convert::ParseScaleRule,
                                  convert::ScaleRules(), convert::ScaleRuleName);
  }
  request.cast = OptionsOf(nb::cast<nb::dict>(words["options"]));
  if (!words["assume_type"].is_none()) request.assume_type = TypeArgument(words["assume_type"]);
  request.allow_hard_links = nb::cast<bool>(words["allow_hard_links"]);
  request.max_shard_bytes = nb::cast<std::uint64_t>(words["max_shard_bytes"]);
  return request;
}

nb::dict JobDict(const convert::PlannedJob& job) {
  nb::list shape;
  for (const std::uint64_t size : job.shape) shape.append(size);
  nb::dict fields;
  fields["name"] = ToStr(job.name);
  fields["action"] = ToStr(convert::ActionName(job.action));
  fields["shape"] = nb::tuple(shape);
  fields["from_type"] = job.from == DataType::kUndefined ? nb::none() : ToStr(TypeName(job.from));
  fields["to_type"] = job.to == DataType::kUndefined ? nb::none() : ToStr(TypeName(job.to));
  fields["format"] = job.format == convert::ScaledFormat::kNone
                         ? nb::none()
                         : ToStr(convert::ScaledFormatName(job.format));
  fields["bytes_before"] = job.bytes_before;
  fields["bytes_after"] = job.bytes_after ? nb::object(nb::int_(*job.bytes_after)) : nb::none();
  fields["reason"] = ToStr(convert::ReasonName(job.reason));
  fields["text"] = ToStr(job.text);
  return fields;
}

// Runs a plan whole; `progress` is called with (bytes done, bytes in all, name).
nb::list Run(const convert::ConversionPlan& plan, bool overwrite, bool measures,
             std::optional<std::size_t> asked, nb::handle progress) {
  std::vector<convert::JobLoss> losses;
  std::optional<nb::python_error> raised;
  std::string error;
  Status status;
  RunInterruptibly([&](std::atomic<bool>& interrupted) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < plan.jobs(); ++i) bytes += plan.job(i).bytes_before;
    CallThreads threads(ThreadsFor(asked, bytes));
    convert::RunSettings settings;
    if (threads.Concurrency() > 1) settings.executor = &threads;
    settings.interrupted = &interrupted;
    if (!progress.is_none()) {
      settings.progress = [&](const convert::Progress& done) {
        const nb::gil_scoped_acquire gil;
        if (raised) return;
        try {
          progress(done.bytes_done, done.bytes_total, ToStr(done.name));
        } catch (nb::python_error& what) {
          raised.emplace(std::move(what));
          interrupted = true;
        }
      };
    }
    status =
        convert::RunConversion(plan, settings, overwrite, measures ? &losses : nullptr, &error);
  });
  if (raised) throw nb::python_error(std::move(*raised));
  Check(status, error);
  nb::list result;
  for (convert::JobLoss& loss : losses) {
    result.append(nb::make_tuple(ToStr(plan.job(loss.job).name), nb::cast(std::move(loss.loss))));
  }
  return result;
}

}  // namespace

void BindConversion(nb::module_& m) {
  nb::class_<convert::ConversionPlan>(m, "ConversionPlan")
      .def(
          "__init__",
          [](convert::ConversionPlan* self, const nb::dict& words) {
            const convert::Request request = RequestOf(words);
            convert::ConversionPlan plan;
            std::string error;
            Status status;
            RunInterruptibly([&](std::atomic<bool>& interrupted) {
              convert::RunSettings settings;
              settings.interrupted = &interrupted;
              status = convert::ConversionPlan::Make(request, settings, &plan, &error);
            });
            Check(status, error);
            new (self) convert::ConversionPlan(std::move(plan));
          },
          nb::arg("request"))
      .def_static(
          "from_json",
          [](const std::string& json) {
            convert::ConversionPlan plan;
            std::string error;
            Status status;
            RunInterruptibly([&](std::atomic<bool>& interrupted) {
              convert::RunSettings settings;
              settings.interrupted = &interrupted;
              status = convert::ConversionPlan::FromJson(json, settings, &plan, &error);
            });
            Check(status, error);
            return plan;
          },
          nb::arg("json"))
      .def("to_json",
           [](const convert::ConversionPlan& self) {
             std::string json;
             Check(self.ToJson(&json));
             return ToStr(json);
           })
      .def("inputs",
           [](const convert::ConversionPlan& self) {
             nb::list paths;
             for (std::size_t i = 0; i < self.inputs(); ++i) paths.append(ToStr(self.input(i)));
             return paths;
           })
      .def("outputs",
           [](const convert::ConversionPlan& self) {
             nb::list paths;
             for (std::size_t i = 0; i < self.outputs(); ++i) paths.append(ToStr(self.output(i)));
             return paths;
           })
      .def("jobs",
           [](const convert::ConversionPlan& self) {
             nb::list jobs;
             for (std::size_t i = 0; i < self.jobs(); ++i) jobs.append(JobDict(self.job(i)));
             return jobs;
           })
      .def("notes",
           [](const convert::ConversionPlan& self) {
             nb::list notes;
             for (const std::string& note : self.notes()) notes.append(ToStr(note));
             for (const std::string& found : self.findings()) notes.append(ToStr(found));
             return notes;
           })
      .def("run", &Run, nb::arg("overwrite"), nb::arg("measures"), nb::arg("threads").none(),
           nb::arg("progress").none());
}

}  // namespace tensorcast::python
