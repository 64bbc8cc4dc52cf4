// What the library throws inside, and the one place where anything thrown becomes a status and a
// text. Every room may include it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_FAILURE_H_
#define TENSORCAST_SRC_CORE_FAILURE_H_

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

// A failure on its way to the caller: its code, and what is wrong, where and what to do.
class Failure : public std::runtime_error {
 public:
  Failure(StatusCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  StatusCode code() const { return code_; }

 private:
  StatusCode code_;
};

// Sets `error`, where it is given; for want of memory it stays empty.
inline Status Refused(StatusCode code, std::string_view text, std::string* error) noexcept {
  if (error != nullptr) {
    try {
      *error = text;
    } catch (...) {
      error->clear();
    }
  }
  return Status(code);
}

// Calls `body`, which gives a Status, and turns what it throws into one. `error`, where given, says
// what is wrong, and is empty after a success.
template <class Body> Status Guarded(std::string* error, const Body& body) noexcept {
  if (error != nullptr) error->clear();
  Status status;
  try {
    status = body();
  } catch (const Failure& failure) {
    return Refused(failure.code(), failure.what(), error);
  } catch (const std::bad_alloc&) {
    status = Status(StatusCode::kOutOfMemory);
  } catch (...) {
    // Of what is not ours only the caller's code runs inside: an executor. oneTBB throws too.
    status = Status(StatusCode::kExecutorFailed);
  }
  if (!status.ok() && error != nullptr && error->empty()) {
    return Refused(status.code(), status.message(), error);
  }
  return status;
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_FAILURE_H_
