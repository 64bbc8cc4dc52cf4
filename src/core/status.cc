// The sentences of the status codes.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/tensorcast.hpp"

namespace tensorcast {

std::string_view Status::message() const {
  switch (code_) {
    case StatusCode::kOk: return "no error";
    case StatusCode::kInvalidType: return "the data type is not one of the 26 element types";
    case StatusCode::kInvalidOption: return "an option's value is outside its enumeration";
    case StatusCode::kNullPointer: return "a buffer is null and the element count is not 0";
    case StatusCode::kSizeOverflow: return "the element count is too large to address";
    case StatusCode::kBufferTooSmall: return "a buffer is shorter than its elements need";
    case StatusCode::kOverlap:
      return "source and destination overlap and are not exactly in place with equal widths";
    case StatusCode::kUnsupported: return "string tensors are not cast by this version";
    case StatusCode::kTargetUnavailable:
      return "the target is not in this build or does not run on this machine";
    case StatusCode::kLossPosition:
      return "a measured run must begin at a multiple of 1024 elements or where the meter stopped";
    case StatusCode::kLossMismatch: return "the loss meter is for other types or options";
    case StatusCode::kOutOfMemory: return "no memory for the workers' loss meters";
  }
  return "unknown status";
}

}  // namespace tensorcast
