// The flat C interface: conversions of files.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>

#include "c/flat_call.h"
#include "tensorcast/convert.hpp"
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
