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
    case StatusCode::kNullPointer: return "a pointer that the call needs is null";
    case StatusCode::kSizeOverflow: return "the element count is too large to address";
    case StatusCode::kBufferTooSmall: return "a buffer is shorter than its elements need";
    case StatusCode::kOverlap:
      return "source and destination overlap and are not exactly in place with equal widths";
    case StatusCode::kUnsupported: return "the loss of a cast from or to strings is not measured";
    case StatusCode::kTargetUnavailable:
      return "the target is not in this build or does not run on this machine";
    case StatusCode::kLossPosition:
      return "a measured run must begin at a multiple of 1024 elements or where the meter stopped";
    case StatusCode::kLossMismatch: return "the loss meter is for other types or options";
    case StatusCode::kOutOfMemory: return "no memory for the workers' shares";
    case StatusCode::kWrongCall:
      return "the plan is for another call: Run for numbers, Parse from strings, Print to strings";
    case StatusCode::kNotANumber: return "a text is not a number";
    case StatusCode::kNotAnInteger:
      return "a text is nan, inf or outside -2^63 to 2^64 - 1, which no integer type holds";
    case StatusCode::kBadOffsets:
      return "the offsets of the strings decrease or end beyond their bytes";
    case StatusCode::kMisaligned: return "a table of offsets is not aligned to 8 bytes";
    case StatusCode::kBadStruct:
      return "a struct's struct_size is 0, or it sets fields that this version does not know";
    case StatusCode::kExecutorFailed: return "the executor failed, or did not run every task once";
    case StatusCode::kNoThreads: return "this build has no oneTBB: bring an executor";
  }
  return "unknown status";
}

}  // namespace tensorcast
