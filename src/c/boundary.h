// What every C function needs: structs of other versions, spans of what the caller says, exceptions
// kept inside, and what the handles hold.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_C_BOUNDARY_H_
#define TENSORCAST_SRC_C_BOUNDARY_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/failure.h"
#include "tensorcast/tensorcast.h"
#include "tensorcast/tensorcast.hpp"

struct tensorcast_plan {
  tensorcast::CastPlan plan;
};
struct tensorcast_executor {
  std::unique_ptr<tensorcast::Executor> own;
  std::unique_ptr<tensorcast::Executor> executor;  // calls that
};
struct tensorcast_loss_meter {
  tensorcast::LossMeter meter;
};
struct tensorcast_interrupt {
  std::atomic<bool> wanted{false};
};

namespace tensorcast::c {

constexpr std::int32_t Code(StatusCode code) { return static_cast<std::int32_t>(code); }
inline std::int32_t Code(Status status) { return Code(status.code()); }

// Runs `body`, which gives a code; nothing it throws goes on.
template <class Body> std::int32_t Guarded(const Body& body) noexcept {
  return Code(core::Guarded(nullptr, [&] { return Status(static_cast<StatusCode>(body())); }));
}

// What a function is to give is null or 0 until it gives it; a null pointer is passed over.
template <class... Out> void Clear(Out*... out) {
  ((out == nullptr ? void() : void(*out = Out{})), ...);
}

// ------------------------------------------------------------------------------ structs

inline constexpr std::uint32_t kLargestStruct = 4096;

// struct_size, or 0 where it cannot be one. Caller's structs are read by memcpy only: nothing is
// known of their alignment or age.
inline std::uint32_t StructSize(const void* given) {
  std::uint32_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  return size >= sizeof(size) && size <= kLargestStruct ? size : 0;
}

// Reads a struct of any version into this one's; a null pointer leaves it as it is. `ends` are the
// offsets behind its fields: one that is only partly there is not read.
template <class Struct>
StatusCode ReadStruct(const Struct* given, std::initializer_list<std::size_t> ends,
                      Struct* current) {
  if (given == nullptr) return StatusCode::kOk;
  const std::uint32_t size = StructSize(given);
  if (size == 0) return StatusCode::kBadStruct;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof(Struct) && std::any_of(bytes + sizeof(Struct), bytes + size,
                                           [](unsigned char byte) { return byte != 0; })) {
    return StatusCode::kBadStruct;
  }
  std::size_t known = 0;
  for (const std::size_t end : ends) {
    if (end <= size) known = end;
  }
  std::memcpy(current, given, known);
  return StatusCode::kOk;
}

template <class Struct> StatusCode CheckOutputStruct(const Struct* given) {
  if (given == nullptr) return StatusCode::kNullPointer;
  return StructSize(given) == 0 ? StatusCode::kBadStruct : StatusCode::kOk;
}

// Writes as much of a struct as the caller's version has; bytes beyond this version's become 0.
template <class Struct> void WriteStruct(Struct current, Struct* given) {
  const std::uint32_t size = StructSize(given);
  current.struct_size = size;
  std::memcpy(given, &current, std::min<std::size_t>(size, sizeof(Struct)));
  if (size > sizeof(Struct)) {
    std::memset(reinterpret_cast<unsigned char*>(given) + sizeof(Struct), 0, size - sizeof(Struct));
  }
}

// ------------------------------------------------------------------------------ buffers

// Where size_t is narrower than 64 bits, no buffer is larger than it says.
inline std::size_t Size(std::uint64_t size) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(size, SIZE_MAX));
}
template <class Item> std::span<Item> Items(Item* items, std::uint64_t size) {
  if (items == nullptr) return {};
  return {items, Size(size)};
}
inline std::span<const std::byte> Bytes(const void* bytes, std::uint64_t size) {
  return Items(static_cast<const std::byte*>(bytes), size);
}
inline std::span<std::byte> Bytes(void* bytes, std::uint64_t size) {
  return Items(static_cast<std::byte*>(bytes), size);
}
inline bool IsMissing(const void* buffer, std::uint64_t size) {
  return buffer == nullptr && size != 0;
}
inline std::string_view Text(const char* text, std::uint64_t size) {
  return text == nullptr ? std::string_view() : std::string_view(text, Size(size));
}

// Says behind a text how a caller of the C functions asks for what lifts the refusal.
void NameRemedy(Remedy remedy, std::string* text) noexcept;

// Copies a text and a NUL, and says how long a buffer it takes; with no room it says that alone.
std::int32_t WriteText(std::string_view text, char* buffer, std::uint64_t buffer_bytes,
                       std::uint64_t* needed);

// The figures alone; the caller writes struct_size.
void CopyLoss(const LossReport& figures, tensorcast_loss_report* copy);

// ------------------------------------------------------------------- options, how to run

StatusCode ReadOptions(const tensorcast_options* given, CastOptions* options);
inline Executor* ExecutorOf(const tensorcast_executor* executor) {
  return executor == nullptr ? nullptr : executor->executor.get();
}
inline const std::atomic<bool>* FlagOf(const tensorcast_interrupt* interrupt) {
  return interrupt == nullptr ? nullptr : &interrupt->wanted;
}
StatusCode ReadRun(const tensorcast_run* given, RunOptions* run);

// Calls body(options, run), which gives a Status, with what the caller gave of either; null stands
// for the defaults. Nothing it throws goes on.
template <class Body>
std::int32_t WithOptions(const tensorcast_options* given_options, const tensorcast_run* given_run,
                         const Body& body) {
  CastOptions options;
  RunOptions run;
  // Reading none takes as long as casting a few elements.
  StatusCode code = StatusCode::kOk;
  if (given_options != nullptr) code = ReadOptions(given_options, &options);
  if (code == StatusCode::kOk && given_run != nullptr) code = ReadRun(given_run, &run);
  if (code != StatusCode::kOk) return Code(code);
  return Code(core::Guarded(nullptr, [&] { return body(options, run); }));
}

}  // namespace tensorcast::c

#endif  // TENSORCAST_SRC_C_BOUNDARY_H_
