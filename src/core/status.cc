// The version and the sentences of the status codes.
//
// SPDX-License-Identifier: Apache-2.0
#include "tensorcast/tensorcast.hpp"

namespace tensorcast {
inline namespace TENSORCAST_ABI {

std::string_view Version() { return TENSORCAST_VERSION; }
std::int32_t VersionNumber() { return TENSORCAST_VERSION_NUMBER; }

std::string_view Status::message() const {
  switch (code_) {
    case StatusCode::kOk: return "no error";
    case StatusCode::kInvalidType: return "the data type is not one of the element types";
    case StatusCode::kInvalidOption: return "an option's value is outside its enumeration";
    case StatusCode::kNullPointer: return "a pointer that the call needs is null";
    case StatusCode::kSizeOverflow: return "the element count is too large to address";
    case StatusCode::kBufferTooSmall: return "a buffer is shorter than its elements need";
    case StatusCode::kOverlap:
      return "source and destination overlap and are not exactly in place with equal widths";
    case StatusCode::kUnsupported:
      return "strings have no fixed size, and their loss is not measured";
    case StatusCode::kTargetUnavailable:
      return "the target is not in this build or does not run on this machine";
    case StatusCode::kLossPosition:
      return "a measured run must begin at a multiple of 1024 elements or where the meter stopped";
    case StatusCode::kLossMismatch: return "the loss meter is for other types or options";
    case StatusCode::kOutOfMemory: return "out of memory";
    case StatusCode::kWrongCall:
      return "this call is not for these types: numbers are cast, strings are parsed, printed and "
             "copied by calls of their own";
    case StatusCode::kNotANumber: return "a text is not a number";
    case StatusCode::kNotAnInteger:
      return "a text is nan, inf or outside -2^63 to 2^64 - 1, which no integer type holds";
    case StatusCode::kBadOffsets:
      return "the offsets of the strings decrease or end beyond their bytes";
    case StatusCode::kMisaligned: return "a table of offsets is not aligned to 8 bytes";
    case StatusCode::kBadStruct:
      return "a struct_size is below 4 or above 4096, or fields are set that this version does not "
             "know";
    case StatusCode::kExecutorFailed: return "the executor failed, or did not run every task once";
    case StatusCode::kNoThreads: return "this build has no oneTBB: give an executor";
    case StatusCode::kFileError: return "the system refused a file: missing, permission or full";
    case StatusCode::kBadFile:
      return "the contents of a file, or the bytes given, are not what they should be";
    case StatusCode::kUnsupportedFile:
      return "the file is legal, but holds something that is not supported";
    case StatusCode::kBadInput: return "what was asked for or given does not fit the model";
    case StatusCode::kInterrupted: return "interrupted";
    case StatusCode::kNoSuchName: return "nothing in the graph has this name";
    case StatusCode::kNoSuchIndex: return "the graph has nothing at this index";
    case StatusCode::kInternalError: return "internal error";
    case StatusCode::kCallbackFailed: return "a callback threw";
  }
  return "unknown status";
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
