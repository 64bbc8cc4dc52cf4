// Options and how to run, from the C structs; texts into the caller's buffers.
//
// SPDX-License-Identifier: Apache-2.0
#include "c/boundary.h"

#include <cstddef>

namespace tensorcast::c {
namespace {

// Sets an option; false where the value is none of its own.
template <class Option> bool Set(std::int32_t value, std::int32_t most, Option* option) {
  if (value < 0 || value > most) return false;
  *option = static_cast<Option>(value);
  return true;
}

}  // namespace

std::int32_t WriteText(std::string_view text, char* buffer, std::uint64_t buffer_bytes,
                       std::uint64_t* needed) {
  Clear(needed);
  if (IsMissing(buffer, buffer_bytes)) return TENSORCAST_NULL_POINTER;
  if (needed != nullptr) {
    *needed = text.size() + 1;
    if (buffer_bytes == 0) return TENSORCAST_OK;
  }
  if (buffer_bytes < text.size() + 1) return TENSORCAST_BUFFER_TOO_SMALL;
  text.copy(buffer, text.size());
  buffer[text.size()] = '\0';
  return TENSORCAST_OK;
}

void NameRemedy(Remedy remedy, std::string* text) noexcept {
  (void)core::Guarded(nullptr, [&] {
    if (remedy == Remedy::kAllowOverwriting) *text += " with overwrite 1";
    return Status();
  });
}

StatusCode ReadOptions(const tensorcast_options* given, CastOptions* options) {
  tensorcast_options current = {};
  const StatusCode code = ReadStruct(
      given,
      {offsetof(tensorcast_options, no_saturate), offsetof(tensorcast_options, round_mode),
       offsetof(tensorcast_options, integer_overflow), offsetof(tensorcast_options, fnuz_infinity),
       offsetof(tensorcast_options, finite_only_nan), offsetof(tensorcast_options, string_style),
       sizeof(tensorcast_options)},
      &current);
  if (code != StatusCode::kOk) return code;
  bool no_saturate = false;
  const bool valid = Set(current.no_saturate, 1, &no_saturate) &&
                     Set(current.round_mode, 2, &options->round_mode) &&
                     Set(current.integer_overflow, 1, &options->integer_overflow) &&
                     Set(current.fnuz_infinity, 1, &options->fnuz_infinity) &&
                     Set(current.finite_only_nan, 1, &options->finite_only_nan) &&
                     Set(current.string_style, 1, &options->string_style);
  options->saturate = !no_saturate;
  return valid ? StatusCode::kOk : StatusCode::kInvalidOption;
}

StatusCode ReadRun(const tensorcast_run* given, RunOptions* run) {
  tensorcast_run current = {};
  const StatusCode code =
      ReadStruct(given,
                 {offsetof(tensorcast_run, reserved), offsetof(tensorcast_run, loss_index),
                  offsetof(tensorcast_run, executor), offsetof(tensorcast_run, loss),
                  offsetof(tensorcast_run, interrupt), sizeof(tensorcast_run)},
                 &current);
  if (code != StatusCode::kOk) return code;
  if (current.reserved != 0) return StatusCode::kBadStruct;
  run->executor = ExecutorOf(current.executor);
  run->loss = current.loss == nullptr ? nullptr : &current.loss->meter;
  run->loss_index = current.loss_index;
  run->interrupted = FlagOf(current.interrupt);
  return StatusCode::kOk;
}

}  // namespace tensorcast::c
