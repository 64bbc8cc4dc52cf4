// The flat C interface: what a build that converts and compares no files says.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "c/flat_call.h"
#include "tensorcast/flat.h"

using namespace tensorcast;

std::int32_t tensorcast_convert_file_with_options(
    const char* /*input*/, const char* /*output*/, const char* /*pattern*/, std::int32_t /*to*/,
    std::int32_t /*saturate*/, std::int32_t /*round_mode*/, std::int32_t /*integer_overflow*/,
    std::int32_t /*fnuz_infinity*/, std::int32_t /*finite_only_nan*/, std::int32_t /*string_style*/,
    std::int32_t /*all_types*/, std::int32_t /*overwrite*/, tensorcast_executor* /*executor*/,
    const tensorcast_interrupt* /*interrupt*/, std::uint64_t* cast) {
  c::Clear(cast);
  return c::FlatCall(nullptr, [](std::string*) -> Status {
    c::Refuse(StatusCode::kUnsupported,
              "this build of the library converts no files; take one that was built with "
              "TENSORCAST_CONVERT");
  });
}

std::int32_t tensorcast_diff_files(const char* /*a*/, const char* /*b*/, const char* /*pattern*/,
                                   std::int32_t /*ignore_scales*/,
                                   tensorcast_executor* /*executor*/,
                                   const tensorcast_interrupt* /*interrupt*/,
                                   std::int64_t* /*counts*/, std::uint64_t /*counts_count*/,
                                   double* worst_snr_db) {
  c::Clear(worst_snr_db);
  return c::FlatCall(nullptr, [](std::string*) -> Status {
    c::Refuse(StatusCode::kUnsupported,
              "this build of the library compares no files; take one that was built with "
              "TENSORCAST_CONVERT");
  });
}
