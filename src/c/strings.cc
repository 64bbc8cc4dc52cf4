// The C interface: strings.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <string_view>

#include "c/boundary.h"

using tensorcast::CastOptions;
using tensorcast::DataType;
using tensorcast::ParseFailure;
using tensorcast::RunOptions;
using tensorcast::Status;
using tensorcast::StatusCode;
using tensorcast::Strings;
namespace c = tensorcast::c;

namespace tensorcast::c {
namespace {

static_assert(TENSORCAST_PRINTED_VALUE_BYTES == kLongestPrinted + 1);
static_assert(sizeof(tensorcast_parse_failure::text) == sizeof(ParseFailure::text));

// Runs `parse` with a failure of ours, and hands it on where there is one.
template <class Parse> Status WithFailure(tensorcast_parse_failure* given, const Parse& parse) {
  if (given != nullptr && CheckOutputStruct(given) != StatusCode::kOk) {
    return Status(StatusCode::kBadStruct);
  }
  ParseFailure failure;
  const Status status = parse(&failure);
  if (given != nullptr &&
      (status.code() == StatusCode::kNotANumber || status.code() == StatusCode::kNotAnInteger)) {
    tensorcast_parse_failure copy = {};
    copy.index = failure.index;
    std::memcpy(copy.text, failure.text, sizeof(copy.text));
    WriteStruct(copy, given);
  }
  return status;
}

Strings MakeStrings(const std::uint64_t* offsets, std::uint64_t offsets_count, const char* bytes,
                    std::uint64_t bytes_size) {
  return {Items(offsets, offsets_count), Items(bytes, bytes_size)};
}

}  // namespace
}  // namespace tensorcast::c

std::int32_t tensorcast_parse_strings(const std::uint64_t* offsets, std::uint64_t offsets_count,
                                      const char* bytes, std::uint64_t bytes_size, std::int32_t to,
                                      void* destination, std::uint64_t destination_bytes,
                                      const tensorcast_options* options, const tensorcast_run* run,
                                      tensorcast_parse_failure* failure) {
  if (c::IsMissing(offsets, offsets_count) || c::IsMissing(bytes, bytes_size)) {
    return TENSORCAST_NULL_POINTER;
  }
  return c::WithOptions(
      options, run, [&](const CastOptions& cast_options, const RunOptions& run_options) {
        return c::WithFailure(failure, [&](ParseFailure* text) {
          return tensorcast::ParseStrings(
              c::MakeStrings(offsets, offsets_count, bytes, bytes_size), static_cast<DataType>(to),
              c::Bytes(destination, destination_bytes), cast_options, run_options, text);
        });
      });
}

std::int32_t tensorcast_printed_bytes(std::int32_t from, const void* source,
                                      std::uint64_t source_bytes, std::uint64_t n,
                                      const tensorcast_options* options, const tensorcast_run* run,
                                      std::uint64_t* printed) {
  c::Clear(printed);
  return c::WithOptions(options, run,
                        [&](const CastOptions& cast_options, const RunOptions& run_options) {
                          return tensorcast::PrintedStringBytes(static_cast<DataType>(from),
                                                                c::Bytes(source, source_bytes), n,
                                                                printed, cast_options, run_options);
                        });
}

std::int32_t tensorcast_print_strings(std::int32_t from, const void* source,
                                      std::uint64_t source_bytes, std::uint64_t n,
                                      std::uint64_t* offsets, std::uint64_t offsets_count,
                                      char* bytes, std::uint64_t bytes_size,
                                      const tensorcast_options* options,
                                      const tensorcast_run* run) {
  if (c::IsMissing(offsets, offsets_count) || c::IsMissing(bytes, bytes_size)) {
    return TENSORCAST_NULL_POINTER;
  }
  return c::WithOptions(
      options, run, [&](const CastOptions& cast_options, const RunOptions& run_options) {
        return tensorcast::PrintStrings(static_cast<DataType>(from), c::Bytes(source, source_bytes),
                                        n, c::Items(offsets, offsets_count),
                                        c::Items(bytes, bytes_size), cast_options, run_options);
      });
}

std::int32_t tensorcast_copy_strings(const std::uint64_t* offsets, std::uint64_t offsets_count,
                                     const char* bytes, std::uint64_t bytes_size,
                                     std::uint64_t* destination_offsets,
                                     std::uint64_t destination_offsets_count, char* destination,
                                     std::uint64_t destination_bytes) {
  if (c::IsMissing(offsets, offsets_count) || c::IsMissing(bytes, bytes_size) ||
      c::IsMissing(destination_offsets, destination_offsets_count) ||
      c::IsMissing(destination, destination_bytes)) {
    return TENSORCAST_NULL_POINTER;
  }
  return c::Guarded([&] {
    return c::Code(
        tensorcast::CopyStrings(c::MakeStrings(offsets, offsets_count, bytes, bytes_size),
                                c::Items(destination_offsets, destination_offsets_count),
                                c::Items(destination, destination_bytes)));
  });
}

std::int32_t tensorcast_plan_parse(const tensorcast_plan* plan, const std::uint64_t* offsets,
                                   std::uint64_t offsets_count, const char* bytes,
                                   std::uint64_t bytes_size, std::uint64_t source_first,
                                   void* destination, std::uint64_t destination_bytes,
                                   std::uint64_t destination_first, std::uint64_t n,
                                   const tensorcast_run* run, tensorcast_parse_failure* failure) {
  if (plan == nullptr || c::IsMissing(offsets, offsets_count) || c::IsMissing(bytes, bytes_size)) {
    return TENSORCAST_NULL_POINTER;
  }
  return c::WithOptions(nullptr, run, [&](const CastOptions&, const RunOptions& run_options) {
    return c::WithFailure(failure, [&](ParseFailure* text) {
      return plan->plan.Parse(c::MakeStrings(offsets, offsets_count, bytes, bytes_size),
                              source_first, c::Bytes(destination, destination_bytes),
                              destination_first, n, run_options, text);
    });
  });
}

std::int32_t tensorcast_plan_printed_bytes(const tensorcast_plan* plan, const void* source,
                                           std::uint64_t source_bytes, std::uint64_t source_first,
                                           std::uint64_t n, const tensorcast_run* run,
                                           std::uint64_t* printed) {
  c::Clear(printed);
  if (plan == nullptr) return TENSORCAST_NULL_POINTER;
  return c::WithOptions(nullptr, run, [&](const CastOptions&, const RunOptions& run_options) {
    return plan->plan.PrintedBytes(c::Bytes(source, source_bytes), source_first, n, printed,
                                   run_options);
  });
}

std::int32_t tensorcast_plan_print(const tensorcast_plan* plan, const void* source,
                                   std::uint64_t source_bytes, std::uint64_t source_first,
                                   std::uint64_t n, std::uint64_t* offsets,
                                   std::uint64_t offsets_count, char* bytes,
                                   std::uint64_t bytes_size, const tensorcast_run* run) {
  if (plan == nullptr || c::IsMissing(offsets, offsets_count) || c::IsMissing(bytes, bytes_size)) {
    return TENSORCAST_NULL_POINTER;
  }
  return c::WithOptions(nullptr, run, [&](const CastOptions&, const RunOptions& run_options) {
    return plan->plan.Print(c::Bytes(source, source_bytes), source_first, n,
                            c::Items(offsets, offsets_count), c::Items(bytes, bytes_size),
                            run_options);
  });
}

std::int32_t tensorcast_parse_value(const char* text, std::uint64_t text_bytes, std::int32_t to,
                                    const tensorcast_options* options, std::uint64_t* code) {
  c::Clear(code);
  if (code == nullptr || c::IsMissing(text, text_bytes)) return TENSORCAST_NULL_POINTER;
  return c::WithOptions(options, nullptr, [&](const CastOptions& cast_options, const RunOptions&) {
    return tensorcast::ParseValue(c::Text(text, text_bytes), static_cast<DataType>(to), code,
                                  cast_options);
  });
}

std::int32_t tensorcast_print_value(std::int32_t from, std::uint64_t code,
                                    const tensorcast_options* options, char* buffer,
                                    std::uint64_t buffer_bytes, std::uint64_t* needed) {
  c::Clear(needed);
  return c::WithOptions(options, nullptr, [&](const CastOptions& cast_options, const RunOptions&) {
    char printed[tensorcast::kLongestPrinted];
    std::string_view text;
    const Status status =
        tensorcast::PrintValue(static_cast<DataType>(from), code, printed, &text, cast_options);
    if (!status.ok()) return status;
    return Status(static_cast<StatusCode>(c::WriteText(text, buffer, buffer_bytes, needed)));
  });
}
