// What is thrown where a file, or its contents, cannot be read or written; and how a call that
// takes long is stopped.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FILES_ERROR_H_
#define TENSORCAST_SRC_FILES_ERROR_H_

#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "core/failure.h"
#include "files/byte_source.h"
#include "tensorcast/tensorcast.hpp"
#include "words/error_text.h"

namespace tensorcast::files {

using core::ErrorKind;

// One line: what, where (file, tensor, offset, what was expected), what to do. Text that came from
// a file is escaped (see Escape).
class Error : public core::Failure {
 public:
  // `subject` and `system_error` as Refusal has them.
  Error(core::ErrorKind kind, const std::string& message, Remedy remedy = Remedy::kNone,
        std::string subject = {}, int system_error = 0)
      : Failure(core::CodeOf(kind), message, remedy, std::move(subject), system_error),
        kind_(kind) {}
  Error(core::ErrorKind kind, const std::string& message, std::string_view subject)
      : Error(kind, message, Remedy::kNone, std::string(subject)) {}
  core::ErrorKind kind() const { return kind_; }

 private:
  core::ErrorKind kind_;
};

// Throws Error: something is wrong with a file as a whole, and `why` goes on behind its path.
[[noreturn]] void FailFile(const ByteSource& file, const std::string& why,
                           core::ErrorKind kind = core::ErrorKind::kContents);

// Thrown where a flag of the caller's became true: work that takes long looks at it now and then.
class Interrupted : public core::Failure {
 public:
  Interrupted() : Failure(StatusCode::kInterrupted, "interrupted") {}
};
// Null: there is no flag.
inline void StopIfInterrupted(const std::atomic<bool>* flag) {
  if (flag != nullptr && flag->load(std::memory_order_relaxed)) throw Interrupted();
}

// The flag of the call that is on. What outlives the call that made it asks here, as a reader that
// inflates when it is read; each call that lets it read says its own flag first.
class CurrentInterrupt {
 public:
  explicit CurrentInterrupt(const std::atomic<bool>* flag = nullptr) : flag_(flag) {}
  void Set(const std::atomic<bool>* flag) { flag_.store(flag, std::memory_order_relaxed); }
  void StopIfSet() const { StopIfInterrupted(flag_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<const std::atomic<bool>*> flag_;
};

}  // namespace tensorcast::files

#endif  // TENSORCAST_SRC_FILES_ERROR_H_
