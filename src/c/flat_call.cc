// Arguments and tensors of the flat C functions, and the text that a call leaves with its thread.
//
// SPDX-License-Identifier: Apache-2.0
#include "c/flat_call.h"

#include <array>
#include <numeric>
#include <optional>

#include "core/shape.h"
#include "tensorcast/flat.h"
#include "tensorcast/onnx.h"
#include "words/utf8.h"

namespace tensorcast::c {
namespace {

// Plain bytes: a thread that ends has nothing to let go, wherever the library then is.
struct ThreadText {
  std::array<char, 1024> bytes;
  std::size_t size;
};
thread_local ThreadText last_error = {};

// Far more than any memory holds.
constexpr std::uint64_t kMostItems = std::uint64_t{1} << 48;

std::string Given(const char* what) { return std::string("parameter ") + what; }

}  // namespace

void SetLastError(std::string_view text) noexcept {
  const std::size_t size = words::WholeUtf8(text, last_error.bytes.size() - 1);
  text.copy(last_error.bytes.data(), size);
  last_error.size = size;
}

void CheckGiven(const void* pointer, const char* what) {
  if (pointer == nullptr) Refuse(StatusCode::kNullPointer, Given(what) + " is null; give it");
}

void CheckBytes(const void* bytes, std::uint64_t size, const char* what) {
  if (size != 0) CheckGiven(bytes, what);
}

void CheckTable(const void* items, std::uint64_t count, const char* what) {
  CheckBytes(items, count, what);
  if (count > kMostItems) {
    Refuse(StatusCode::kBadInput,
           Given(what) + " cannot have " + std::to_string(count) + " items; check its count");
  }
  if (count != 0 && reinterpret_cast<std::uintptr_t>(items) % alignof(std::uint64_t) != 0) {
    Refuse(StatusCode::kMisaligned, Given(what) + " is not aligned to 8 bytes");
  }
}

void CheckCount(std::uint64_t count, std::uint64_t most, const char* what, const char* items) {
  if (count <= most) return;
  Refuse(StatusCode::kBadInput, Given(what) + " has " + std::to_string(count) + ' ' + items +
                                    "; at most " + std::to_string(most) + " are taken");
}

std::span<const std::int64_t> ShapeOf(const std::int64_t* shape, std::uint64_t rank,
                                      const char* what) {
  CheckCount(rank, core::kMostDimensions, what, "dimensions");
  return Table(shape, rank, what);
}

bool Truth(std::int32_t value, const char* what) {
  if (value == 0 || value == 1) return value == 1;
  Refuse(StatusCode::kInvalidOption,
         Given(what) + " is " + std::to_string(value) + "; it is 0 or 1");
}

RoundingMode RoundingModeOf(std::int32_t value) {
  if (value < TENSORCAST_ROUND_UP || value > TENSORCAST_ROUND_NEAREST) {
    Refuse(StatusCode::kInvalidOption, Given("round_mode") + " is " + std::to_string(value) +
                                           "; it is 0 (up), 1 (down) or 2 (nearest)");
  }
  return static_cast<RoundingMode>(value);
}

CastOptions CastOptionsOf(const FlatOptions& given) {
  CastOptions options;
  options.saturate = Truth(given.saturate, "saturate");
  options.round_mode = RoundingModeOf(given.round_mode);
  options.integer_overflow =
      static_cast<IntegerOverflow>(Truth(given.integer_overflow, "integer_overflow"));
  options.fnuz_infinity = static_cast<FnuzInfinity>(Truth(given.fnuz_infinity, "fnuz_infinity"));
  options.finite_only_nan =
      static_cast<FiniteOnlyNan>(Truth(given.finite_only_nan, "finite_only_nan"));
  options.string_style = static_cast<StringStyle>(Truth(given.string_style, "string_style"));
  return options;
}

onnx::Contradictions ContradictionsOf(std::int32_t value) {
  return Truth(value, "contradictions") ? onnx::Contradictions::kTests
                                        : onnx::Contradictions::kText;
}

onnx::OptimizeOptions OptimizeOptionsOf(std::int32_t fold_all,
                                        std::int32_t nan_payloads_may_change) {
  onnx::OptimizeOptions options;
  options.fold_all = Truth(fold_all, "fold_all");
  options.nan_payloads_may_change = Truth(nan_payloads_may_change, "nan_payloads_may_change");
  return options;
}

DataType TypeOf(std::int32_t type, const char* what) {
  if (FindType(static_cast<DataType>(type)) == nullptr) {
    Refuse(StatusCode::kInvalidType, Given(what) + " is " + std::to_string(type) +
                                         ", which is not the number of an element type");
  }
  return static_cast<DataType>(type);
}

std::vector<std::string_view> LinesOf(const char* text) {
  std::vector<std::string_view> lines;
  std::string_view rest = TextOf(text);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

void CheckRoom(std::uint64_t room, std::uint64_t needed, const char* what) {
  if (room >= needed) return;
  Refuse(StatusCode::kBufferTooSmall, Given(what) + " has room for " + std::to_string(room) +
                                          "; it takes " + std::to_string(needed));
}

Status GiveText(std::string_view text, char* buffer, std::uint64_t buffer_bytes,
                std::uint64_t* needed) {
  CheckBytes(buffer, buffer_bytes, "buffer");
  Give<std::uint64_t>(text.size() + 1, needed);
  if (buffer_bytes == 0 && needed != nullptr) return {};
  CheckRoom(buffer_bytes, text.size() + 1, "buffer");
  text.copy(buffer, text.size());
  buffer[text.size()] = '\0';
  return {};
}

void TensorHolder::Take(const FlatTensor& given, bool copies) {
  view = {};
  view.type = static_cast<DataType>(given.type);
  if (view.type == DataType::kUndefined) return;
  const bool is_text = view.type == DataType::kString;
  shape.clear();
  for (const std::int64_t size : ShapeOf(given.shape, given.rank, "shape")) {
    if (size < 0) {
      Refuse(StatusCode::kBadInput, "the tensor's shape has the size " + std::to_string(size) +
                                        "; the sizes of data are known and not negative");
    }
    shape.push_back(static_cast<std::uint64_t>(size));
  }
  view.shape = shape;
  const std::optional<std::uint64_t> elements = core::CheckedProduct(shape);
  if (!elements) Refuse(StatusCode::kBadInput, "the shape takes more than 2^64 - 1 elements");
  CheckBytes(given.bytes, given.bytes_size, "bytes");
  std::span<const std::byte> data = Bytes(given.bytes, given.bytes_size);
  if (is_text) {
    if (given.lengths_count != *elements) {
      Refuse(StatusCode::kBadInput, "the shape takes " + std::to_string(*elements) + " lengths; " +
                                        std::to_string(given.lengths_count) + " are given");
    }
    offsets.assign(1, 0);
    std::uint64_t end = 0;
    for (const std::int64_t length : Table(given.lengths, given.lengths_count, "lengths")) {
      if (length < 0 || static_cast<std::uint64_t>(length) > given.bytes_size - end) {
        Refuse(StatusCode::kBadInput, "the length " + std::to_string(length) + " of string " +
                                          std::to_string(offsets.size() - 1) +
                                          " does not fit its tensor's " +
                                          std::to_string(given.bytes_size) + " bytes");
      }
      end += static_cast<std::uint64_t>(length);
      offsets.push_back(end);
    }
    if (end != given.bytes_size) {
      Refuse(StatusCode::kBadInput, "the strings have " + std::to_string(end) +
                                        " bytes by their lengths; " +
                                        std::to_string(given.bytes_size) + " are given");
    }
  }
  // What does not fit is refused by what it is for, which has a name.
  if (copies && (is_text || StorageBytes(view.type, *elements) == given.bytes_size)) {
    bytes.assign(data.begin(), data.end());
    data = bytes;
  }
  if (is_text) {
    view.strings = {offsets, {reinterpret_cast<const char*>(data.data()), data.size()}};
  } else {
    view.data = data;
  }
}

void CopyShape(std::span<const std::uint64_t> shape, std::int64_t* to) {
  std::transform(shape.begin(), shape.end(), to,
                 [](std::uint64_t size) { return static_cast<std::int64_t>(size); });
}

}  // namespace tensorcast::c

std::int32_t tensorcast_last_error(char* buffer, std::uint64_t buffer_bytes,
                                   std::uint64_t* needed) {
  using tensorcast::c::last_error;
  return tensorcast::c::WriteText({last_error.bytes.data(), last_error.size}, buffer, buffer_bytes,
                                  needed);
}
