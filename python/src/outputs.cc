// Outputs that are begun once and written range by range, by this process and by others that join.
//
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "convert/conversion_plan.h"
#include "errors.h"
#include "held_plan.h"
#include "tensorcast/convert.hpp"
#include "text_objects.h"
#include "threads.h"

namespace nb = nanobind;

namespace tensorcast::python {
namespace {

// Outputs as Python holds them. The plan outlives them: Python's object of it is kept alive.
class HeldOutputs {
 public:
  explicit HeldOutputs(HeldPlan& held) : held_(&held) {}
  HeldOutputs(HeldOutputs&&) noexcept = default;
  HeldOutputs& operator=(HeldOutputs&&) = delete;
  ~HeldOutputs() { Close(); }

  HeldPlan& held() const { return *held_; }
  convert::ConversionOutputs& outputs() const { return *outputs_; }

  // Removes what is not committed if it is this process's. (A forked process has the same memory,
  // but the files are its parent's.)
  void Close() noexcept {
    if (getpid() != owner_) static_cast<void>(outputs_.release());
    outputs_.reset();
  }

 private:
  HeldPlan* held_;
  pid_t owner_ = getpid();
  std::unique_ptr<convert::ConversionOutputs> outputs_ =
      std::make_unique<convert::ConversionOutputs>();
};

// Calls work(settings, error), and hears signals meanwhile.
template <class Work> void Do(HeldPlan& held, const Work& work) {
  std::string error;
  Status status;
  RunInterruptibly(held.interrupted, [&] {
    convert::RunSettings settings;
    settings.interrupted = &held.interrupted;
    status = work(settings, &error);
  });
  Check(status, error);
}

HeldOutputs Begin(HeldPlan& held, bool overwrite) {
  HeldOutputs made(held);
  Do(held, [&](const convert::RunSettings& settings, std::string* error) {
    return convert::ConversionOutputs::Create(held.plan, overwrite, settings, &made.outputs(),
                                              error);
  });
  return made;
}

HeldOutputs Join(HeldPlan& held, nb::handle handle) {
  HeldOutputs made(held);
  const std::string text = FromStr(handle);
  Do(held, [&](const convert::RunSettings& settings, std::string* error) {
    return convert::ConversionOutputs::Join(held.plan, text, settings, &made.outputs(), error);
  });
  return made;
}

nb::list Units(HeldPlan& held, std::uint64_t most_bytes) {
  std::vector<convert::WorkUnit> units;
  Do(held, [&](const convert::RunSettings&, std::string* error) {
    return convert::CutIntoUnits(held.plan, most_bytes, &units, error);
  });
  return ListOf(units, [](const convert::WorkUnit& unit) {
    const nb::tuple ranges(ListOf(unit.ranges, [](const convert::JobRange& range) {
      return nb::make_tuple(range.job, range.first, range.elements);
    }));
    return nb::make_tuple(ToStr(unit.file), unit.part, unit.parts, unit.bytes, unit.is_for_creator,
                          ranges);
  });
}

nb::list RunRanges(HeldOutputs& self, const nb::list& asked, bool measures,
                   std::optional<std::size_t> threads, nb::handle progress) {
  const convert::ConversionPlan& plan = self.held().plan;
  std::vector<convert::JobRange> ranges;
  std::uint64_t bytes = 0;  // at most: of the jobs
  for (const nb::handle range : asked) {
    ranges.push_back({nb::cast<std::size_t>(range[0]), nb::cast<std::uint64_t>(range[1]),
                      nb::cast<std::uint64_t>(range[2])});
    if (ranges.back().job < plan.jobs()) bytes += plan.job(ranges.back().job).bytes_before;
  }
  std::vector<convert::JobLoss> losses;
  RunPlan(self.held(), bytes, threads, progress,
          [&](const convert::RunSettings& settings, std::string* error) {
            return convert::RunConversion(plan, ranges, settings, &self.outputs(),
                                          measures ? &losses : nullptr, error);
          });
  return LossesList(losses);
}

}  // namespace

void BindOutputs(nb::module_& m) {
  nb::class_<HeldOutputs>(m, "ConversionOutputs")
      .def("share",
           [](HeldOutputs& self) {
             std::string handle;
             Do(self.held(), [&](const convert::RunSettings&, std::string* error) {
               return self.outputs().Share(&handle, error);
             });
             return ToStr(handle);
           })
      .def("run", &RunRanges, nb::arg("ranges"), nb::arg("measures"), nb::arg("threads").none(),
           nb::arg("progress").none())
      .def("commit",
           [](HeldOutputs& self) {
             Do(self.held(), [&](const convert::RunSettings&, std::string* error) {
               return self.outputs().Commit(error);
             });
           })
      .def("close", [](HeldOutputs& self) {
        const WithoutGil without_gil;
        self.Close();
      });
  m.def("begin", &Begin, nb::arg("plan"), nb::arg("overwrite"), nb::keep_alive<0, 1>());
  m.def("join", &Join, nb::arg("plan"), nb::arg("handle"), nb::keep_alive<0, 1>());
  // The files that a plan reads, by their paths.
  m.def("input_files", [](const HeldPlan& held) {
    const convert::PlanState* const state = convert::PlanAccess::StateOf(held.plan);
    return ListOf(convert::InputPaths(*state), ToStr);
  });
  // Gives for each job a number that it shares with those that have to be run with it, or None.
  m.def("groups", [](const HeldPlan& held) {
    const convert::PlanState* const state = convert::PlanAccess::StateOf(held.plan);
    nb::list groups;
    for (const convert::PlannedFile& file : state->files) {
      for (const convert::TensorJob& job : file.plan.jobs) {
        const auto group = file.plan.globals->GroupOf(job.tensor);
        groups.append(group ? nb::object(nb::int_(*group)) : nb::none());
      }
    }
    return groups;
  });
  m.def("units", &Units, nb::arg("plan"), nb::arg("most_bytes"));
}

}  // namespace tensorcast::python
