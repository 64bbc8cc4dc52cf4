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

// A failure on its way to the caller: a Refusal that has its own texts.
class Failure : public std::runtime_error {
 public:
  Failure(StatusCode code, const std::string& text, Remedy remedy = Remedy::kNone,
          std::string subject = {}, int system_error = 0)
      : std::runtime_error(text),
        code_(code),
        remedy_(remedy),
        subject_(std::move(subject)),
        system_error_(system_error) {}
  explicit Failure(const Refusal& refusal)
      : Failure(refusal.kind, std::string(refusal.text), refusal.remedy,
                std::string(refusal.subject), refusal.system_error) {}
  // What a call to the library that has just failed on this thread says, with the rest of it.
  Failure(Status status, const std::string& text);

  StatusCode code() const { return code_; }
  Remedy remedy() const { return remedy_; }
  const std::string& subject() const { return subject_; }
  int system_error() const { return system_error_; }
  // It lasts as long as the failure.
  Refusal refusal() const { return {code_, remedy_, subject_, what(), system_error_}; }

 private:
  StatusCode code_;
  Remedy remedy_;
  std::string subject_;
  int system_error_;
};

// Sets what LastRefusal gives on this thread.
void KeepRefusal(const Refusal& refusal) noexcept;

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

// Keeps the refusal of a call that gives this status, which is not ok, and perhaps a text in
// `error`: the one that is kept already, where it says just that. Sets an empty text to the
// status's.
Status KeptStatus(Status status, std::string* error) noexcept;

// A status's message, and behind it what an exception that is not ours says, where it says
// anything, in printable ASCII.
std::string WithThrown(Status status, std::string_view what);

// The status of the exception that is being handled; `error` as Guarded has it.
Status StatusOfThrown(std::string* error) noexcept;

// Calls `body`, which gives a Status, and turns what it throws into one, and keeps the refusal;
// what nobody foresaw is an internal error. `error`, where given, says what is wrong, and is empty
// after a success.
template <class Body> Status Guarded(std::string* error, const Body& body) noexcept {
  if (error != nullptr) error->clear();
  Status status;
  try {
    status = body();
  } catch (...) {
    return StatusOfThrown(error);
  }
  return status.ok() ? status : KeptStatus(status, error);
}

}  // namespace tensorcast::core

#endif  // TENSORCAST_SRC_CORE_FAILURE_H_
