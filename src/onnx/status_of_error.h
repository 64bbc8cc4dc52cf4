// Where the library's inside ends: an exception becomes a status and a text.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_ONNX_STATUS_OF_ERROR_H_
#define TENSORCAST_SRC_ONNX_STATUS_OF_ERROR_H_

#include <new>
#include <string>
#include <string_view>

#include "io/tensor_file.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::onnx {

inline StatusCode CodeOf(io::ErrorKind kind) {
  switch (kind) {
    case io::ErrorKind::kArguments: return StatusCode::kBadInput;
    case io::ErrorKind::kContents: return StatusCode::kBadFile;
    case io::ErrorKind::kSystem: return StatusCode::kFileError;
    case io::ErrorKind::kUnsupported: return StatusCode::kUnsupportedFile;
  }
  return StatusCode::kBadFile;
}

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

// Calls `work`, which gives a Status, and turns what it throws into one. `error`, where given, says
// what is wrong, and is empty after a success.
template <class Work> Status Guarded(std::string* error, const Work& work) noexcept {
  if (error != nullptr) error->clear();
  try {
    const Status status = work();
    if (!status.ok() && error != nullptr && error->empty()) {
      return Refused(status.code(), status.message(), error);
    }
    return status;
  } catch (const io::Error& failure) {
    return Refused(CodeOf(failure.kind()), failure.what(), error);
  } catch (const std::bad_alloc&) {
    const Status status(StatusCode::kOutOfMemory);
    return Refused(status.code(), status.message(), error);
  } catch (...) {
    // Of what is not ours only the caller's code runs inside: an executor.
    const Status status(StatusCode::kExecutorFailed);
    return Refused(status.code(), status.message(), error);
  }
}

}  // namespace tensorcast::onnx

#endif  // TENSORCAST_SRC_ONNX_STATUS_OF_ERROR_H_
