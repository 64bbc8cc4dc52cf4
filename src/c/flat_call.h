// What the flat C functions share: the text of a call, arguments that are checked, and tensors that
// come as arrays.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_C_FLAT_CALL_H_
#define TENSORCAST_SRC_C_FLAT_CALL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "c/boundary.h"
#include "core/failure.h"
#include "tensorcast/onnx.hpp"
#include "tensorcast/tensor_view.hpp"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::c {

// What tensorcast_last_error gives.
void SetLastError(std::string_view text) noexcept;

// Runs `body`, which gives a Status and may throw core::Failure, and keeps its text: for the thread
// and, where `own` is given, for a handle.
template <class Body> std::int32_t FlatCall(std::string* own, const Body& body) noexcept {
  std::string text;
  const Status status = core::Guarded(&text, [&] { return body(&text); });
  NameRemedy(status.remedy(), &text);
  SetLastError(text);
  if (own != nullptr) own->swap(text);
  return Code(status);
}

[[noreturn]] inline void Refuse(StatusCode code, const std::string& why) {
  throw core::Failure(code, why);
}

// Throws what a call of the library that gave its text there says, where it failed.
inline void Check(Status status, const std::string* text) {
  if (!status.ok()) throw core::Failure(status, *text);
}

// ---------------------------------------------------------------------------- arguments

// Throws kNullPointer.
void CheckGiven(const void* pointer, const char* what);
// An array of `count` 64-bit items. Throws kNullPointer, kMisaligned, and kBadInput for a count
// that none can have.
void CheckTable(const void* items, std::uint64_t count, const char* what);
template <class Item> std::span<Item> Table(Item* items, std::uint64_t count, const char* what) {
  CheckTable(items, count, what);
  return Items(items, count);
}
// The same of bytes, of no alignment.
void CheckBytes(const void* bytes, std::uint64_t size, const char* what);
// Throws kBadInput where a count is above a limit that is known before the array is read: a count
// that is wired wrongly is then not taken for the size of an array.
void CheckCount(std::uint64_t count, std::uint64_t most, const char* what, const char* items);
// A shape, of as many sizes as a tensor may have dimensions.
std::span<const std::int64_t> ShapeOf(const std::int64_t* shape, std::uint64_t rank,
                                      const char* what);

// Throw kInvalidOption.
bool Truth(std::int32_t value, const char* what);
RoundingMode RoundingModeOf(std::int32_t value);
// The options of a cast as the flat functions take them; those that some do not have are 0.
struct FlatOptions {
  std::int32_t saturate = 1;
  std::int32_t round_mode = 0;
  std::int32_t integer_overflow = 0;
  std::int32_t fnuz_infinity = 0;
  std::int32_t finite_only_nan = 0;
  std::int32_t string_style = 0;
};
CastOptions CastOptionsOf(const FlatOptions& given);
onnx::Contradictions ContradictionsOf(std::int32_t value);
onnx::OptimizeOptions OptimizeOptionsOf(std::int32_t fold_all,
                                        std::int32_t nan_payloads_may_change);
// What a run is told: its executor, and what interrupts it.
template <class Run>
Run RunOf(const tensorcast_executor* executor, const tensorcast_interrupt* interrupt) {
  Run run;
  run.executor = ExecutorOf(executor);
  run.interrupted = FlagOf(interrupt);
  return run;
}
// Throws kInvalidType.
DataType TypeOf(std::int32_t type, const char* what);

inline std::string_view TextOf(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}
// The lines of a text, which may end in '\n'; none of the empty text.
std::vector<std::string_view> LinesOf(const char* text);

// ------------------------------------------------------------------------------ results

// Throws kBufferTooSmall.
void CheckRoom(std::uint64_t room, std::uint64_t needed, const char* what);
// Copies a text and a NUL, and says how long it is; with no room it says that alone.
Status GiveText(std::string_view text, char* buffer, std::uint64_t buffer_bytes,
                std::uint64_t* needed);
// Copies an array, and says how many there are; with no room it says that alone.
template <class From, class To, class Convert>
Status GiveItems(std::span<const From> from, To* to, std::uint64_t capacity, std::uint64_t* count,
                 const char* what, const Convert& convert) {
  CheckGiven(count, "count");
  CheckTable(to, capacity, what);
  *count = from.size();
  if (capacity == 0) return {};
  CheckRoom(capacity, from.size(), what);
  std::transform(from.begin(), from.end(), to, convert);
  return {};
}
template <class Number> void Give(Number number, Number* to) {
  if (to != nullptr) *to = number;
}

// ------------------------------------------------------------------------------ tensors

// A tensor as the caller has it.
struct FlatTensor {
  const void* bytes = nullptr;
  std::uint64_t bytes_size = 0;
  const std::int64_t* shape = nullptr;
  std::uint64_t rank = 0;
  std::int32_t type = 0;
  const std::int64_t* lengths = nullptr;
  std::uint64_t lengths_count = 0;
};

// The same as the C++ interface has it, with what the view needs. Its memory is used again.
struct TensorHolder {
  TensorHolder() = default;
  TensorHolder(TensorHolder&&) noexcept = default;  // the view's buffers stay where they are
  TensorHolder& operator=(TensorHolder&&) noexcept = default;

  // Throws kBadInput (a negative size or length, lengths that fit neither the shape nor the bytes,
  // more dimensions than a tensor may have), kNullPointer, kMisaligned. With `copies` the bytes are
  // its own, where they are as many as the shape takes.
  void Take(const FlatTensor& given, bool copies);

  TensorView view;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets;
  std::vector<std::byte> bytes;
};

// Copies a shape, in a room that was checked.
void CopyShape(std::span<const std::uint64_t> shape, std::int64_t* to);
// Declared sizes as the flat calls give them: -1 where there is none.
template <class Size> std::int64_t SizeOrUnknown(const Size& size) {
  return size ? static_cast<std::int64_t>(*size) : -1;
}

}  // namespace tensorcast::c

#endif  // TENSORCAST_SRC_C_FLAT_CALL_H_
