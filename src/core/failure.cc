// The file that the system refused last, kept for each thread, and what an exception becomes; see
// failure.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/failure.h"

#include <array>
#include <cstddef>
#include <exception>
#include <new>

namespace tensorcast::core {
namespace {

// Plain bytes: a thread that ends has nothing to let go, wherever the library then is.
struct KeptRefusal {
  int error;
  std::size_t size;
  std::array<char, 4096> path;  // as long as paths are
};
thread_local KeptRefusal last_refusal = {};

}  // namespace

void KeepRefusal(const SystemRefusal& refusal) noexcept {
  const bool fits = refusal.path.size() <= last_refusal.path.size();
  last_refusal.error = fits ? refusal.error : 0;
  last_refusal.size = fits ? refusal.path.copy(last_refusal.path.data(), refusal.path.size()) : 0;
}

SystemRefusal LastRefusal() {
  return {last_refusal.error, {last_refusal.path.data(), last_refusal.size}};
}

std::string WithThrown(Status status, std::string_view what) {
  std::string text(status.message());
  if (what.empty()) return text;
  text += ": ";
  for (const char c : what) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

Status StatusOfThrown(std::string* error) noexcept {
  const Status internal(StatusCode::kInternalError);
  try {
    try {
      throw;
    } catch (const Failure& failure) {
      if (error != nullptr) KeepRefusal(failure.refusal());
      return Refused(Status(failure.code(), failure.remedy()), failure.what(), error);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& unforeseen) {
      return Refused(internal, WithThrown(internal, unforeseen.what()), error);
    } catch (...) {
      return Refused(internal, internal.message(), error);
    }
  } catch (...) {  // the end of memory, of the text's too
    const Status status(StatusCode::kOutOfMemory);
    return Refused(status, status.message(), error);
  }
}

}  // namespace tensorcast::core
