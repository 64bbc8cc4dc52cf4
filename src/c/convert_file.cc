// The flat C interface: files of tensors, converted and compared.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "c/flat_call.h"
#include "tensorcast/convert.hpp"
#include "tensorcast/diff.hpp"
#include "tensorcast/flat.h"

using namespace tensorcast;

std::int32_t tensorcast_convert_file_with_options(
    const char* input, const char* output, const char* pattern, std::int32_t to,
    std::int32_t saturate, std::int32_t round_mode, std::int32_t integer_overflow,
    std::int32_t fnuz_infinity, std::int32_t finite_only_nan, std::int32_t string_style,
    std::int32_t all_types, std::int32_t overwrite, tensorcast_executor* executor,
    const tensorcast_interrupt* interrupt, std::uint64_t* cast) {
  c::Clear(cast);
  return c::FlatCall(nullptr, [&](std::string* text) {
    c::CheckGiven(input, "input");
    c::CheckGiven(output, "output");
    convert::Request request;
    request.files = {{input, output}};
    request.to = c::TypeOf(to, "to");
    if (!c::TextOf(pattern).empty()) request.only = {pattern};
    request.all_types = c::Truth(all_types, "all_types");
    request.cast = c::CastOptionsOf(
        {saturate, round_mode, integer_overflow, fnuz_infinity, finite_only_nan, string_style});
    const auto settings = c::RunOf<convert::RunSettings>(executor, interrupt);
    const bool replaces = c::Truth(overwrite, "overwrite");
    convert::ConversionPlan plan;
    Status status = convert::ConversionPlan::Make(request, settings, &plan, text);
    if (status.ok()) status = convert::RunConversion(plan, settings, replaces, nullptr, text);
    if (!status.ok()) return status;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < plan.jobs(); ++i) {
      count += plan.job(i).action == convert::Action::kCopy ? 0U : 1U;
    }
    c::Give(count, cast);
    return status;
  });
}

static_assert(TENSORCAST_DIFF_COUNTS == kDiffKinds);
static_assert(TENSORCAST_DIFF_SAME_VALUES == static_cast<int>(DiffKind::kSameValues));

std::int32_t tensorcast_diff_files(const char* a, const char* b, const char* pattern,
                                   std::int32_t ignore_scales, tensorcast_executor* executor,
                                   const tensorcast_interrupt* interrupt, std::int64_t* counts,
                                   std::uint64_t counts_count, double* worst_snr_db) {
  c::Clear(worst_snr_db);
  return c::FlatCall(nullptr, [&](std::string* text) {
    c::CheckGiven(a, "a");
    c::CheckGiven(b, "b");
    c::CheckTable(counts, counts_count, "counts");
    c::CheckRoom(counts_count, TENSORCAST_DIFF_COUNTS, "counts");
    DiffRequest request;
    request.a = a;
    request.b = b;
    if (!c::TextOf(pattern).empty()) request.only = {pattern};
    request.ignore_scales = c::Truth(ignore_scales, "ignore_scales");
    DiffReport report;
    const Status status =
        Diff(request, c::RunOf<convert::RunSettings>(executor, interrupt), &report, text);
    if (!status.ok()) return status;
    std::transform(report.counts, report.counts + kDiffKinds, counts,
                   [](std::uint64_t count) { return static_cast<std::int64_t>(count); });
    c::Give(report.sum.worst ? ComparableDecibel(report.sum.worst_loss)
                             : std::numeric_limits<double>::infinity(),
            worst_snr_db);
    return status;
  });
}
