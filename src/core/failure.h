// What the library throws inside, and the one place where anything thrown becomes a status and a
// text. Every room may include it.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_CORE_FAILURE_H_
#define TENSORCAST_SRC_CORE_FAILURE_H_

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tensorcast/tensorcast.hpp"

namespace tensorcast::core {

// Who has to act on a failure.
enum class ErrorKind {
  kArguments,    // what was asked cannot be (output exists, output = input ...)
  kContents,     // the contents of an input: a file, or a graph that breaks a rule
  kSystem,       // the system refused (missing, permission, full, shrank while read)
  kUnsupported,  // legal, but not ours (unknown format, object arrays)
};

constexpr StatusCode CodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kArguments: return StatusCode::kBadInput;
    case ErrorKind::kContents: return StatusCode::kBadFile;
    case ErrorKind::kSystem: return StatusCode::kFileError;
    case ErrorKind::kUnsupported: return StatusCode::kUnsupportedFile;
  }
  return StatusCode::kBadFile;
}

// A file that the system refused, and its number for why (errno); 0: there is none.
struct SystemRefusal {
  int error = 0;
  std::string path;
};

// A failure on its way to the caller: its code, what is wrong, where and what to do.
class Failure : public std::runtime_error {
 public:
  Failure(StatusCode code, const std::string& text, Remedy remedy = Remedy::kNone,
          SystemRefusal refusal = {})
      : std::runtime_error(text), code_(code), remedy_(remedy), refusal_(std::move(refusal)) {}
  // Of a call to the library itself.
  Failure(Status status, const std::string& text) : Failure(status.code(), text, status.remedy()) {}
  StatusCode code() const { return code_; }
  Remedy remedy() const { return remedy_; }
  const SystemRefusal& refusal() const { return refusal_; }

 private:
  StatusCode code_;
  Remedy remedy_;
  SystemRefusal refusal_;
};

// That of the failure which Guarded turned into a status last on this thread, for languages whose
// errors have a place for it, as a status has not. None after a call that went well.
void KeepRefusal(const SystemRefusal& refusal) noexcept;
SystemRefusal LastRefusal();

// Sets `error`, where it is given; for want of memory it stays empty.
inline Status Refused(Status status, std::string_view text, std::string* error) noexcept {
  if (error != nullptr) {
    try {
      *error = text;
    } catch (...) {
      error->clear();
    }
  }
  return status;
}

// A status's message, and behind it what an exception that is not ours says, where it says
// anything, in printable ASCII.
std::string WithThrown(Status status, std::string_view what);

// The status of the exception that is being handled; `error` as Guarded has it.
Status StatusOfThrown(std::string* error) noexcept;

// Calls `body`, which gives a Status, and turns what it throws into one; what nobody foresaw is an
// internal error. `error`, where given, says what is wrong, and is empty after a success.
template <class Body> Status Guarded(std::string* error, const Body& body) noexcept {
  if (error != nullptr) {
    error->clear();
    KeepRefusal({});
  }
  Status status;
  try {
    status = body();
  } catch (...) {
    return StatusOfThrown(error);
  }
  if (!status.ok() && error != nullptr && error->empty()) {
    return Refused(status, status.message(), error);
  }
  return status;
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_FAILURE_H_
