// Reads tags, varints and fixed-width values out of a window that follows the reading.
//
// SPDX-License-Identifier: Apache-2.0
#include "protobuf/protobuf_wire.h"

#include <algorithm>
#include <cstring>

#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include "core/little_endian.h"
#include "files/error.h"

namespace tensorcast::protobuf {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::size_t kLongestVarint = protozero::max_varint_length;
// After a jump over a payload most often a few small fields follow, then the next payload.
constexpr std::size_t kWindowAfterJump = 4 * 1024;
constexpr std::size_t kLargestWindow = 64 * 1024;

}  // namespace

WireReader::WireReader(const files::ByteSource& source, std::uint64_t begin, std::uint64_t end)
    : WireReader(source, begin, begin, end) {}

WireReader::WireReader(const files::ByteSource& source, std::uint64_t at, std::uint64_t payload_end,
                       std::uint64_t end)
    : source_(source),
      end_(end),
      at_(at),
      payload_end_(payload_end),
      window_begin_(at),
      window_end_(at),
      next_window_(kWindowAfterJump / 4) {}

void WireReader::Fail(const std::string& why) const {
  throw Error(ErrorKind::kContents, words::PathText(source_.path()) + ": " + why, source_.path());
}

void WireReader::FailField(const WireField& field, const std::string& why) const {
  Fail("field " + std::to_string(field.number) + " at offset " + std::to_string(field.offset) +
       ' ' + why);
}

// Where `end` is the source's own, what is missing once was there.
std::string WireReader::CutShort(std::uint64_t end) const {
  return end == source_.size() ? "; the file is cut short" : "";
}

std::span<const std::byte> WireReader::Window(std::size_t wanted, std::uint64_t end) {
  const std::uint64_t least = std::min<std::uint64_t>(wanted, end - at_);
  if (at_ > window_end_ || window_end_ - at_ < least) {
    const bool jumped = at_ > window_end_ && at_ - window_end_ > kLargestWindow;
    next_window_ = jumped ? kWindowAfterJump : std::min(next_window_ * 4, kLargestWindow);
    const auto size = static_cast<std::size_t>(
        std::min<std::uint64_t>(std::max<std::size_t>(next_window_, wanted), end_ - at_));
    if (window_.size() < size) window_.resize(size);
    // Nothing is in the window should the reading throw.
    window_begin_ = window_end_ = at_;
    source_.Read(at_, std::span(window_).first(size));
    window_end_ = at_ + size;
  }
  const auto from = static_cast<std::size_t>(at_ - window_begin_);
  const auto there = static_cast<std::size_t>(std::min(window_end_, end) - at_);
  return std::span<const std::byte>(window_).subspan(from, there);
}

std::uint64_t WireReader::Varint(std::uint64_t end, const char* what) {
  const std::span<const std::byte> bytes = Window(kLongestVarint, end);
  const char* const first = reinterpret_cast<const char*>(bytes.data());
  const char* data = first;
  try {
    const std::uint64_t value = protozero::decode_varint(&data, first + bytes.size());
    at_ += static_cast<std::uint64_t>(data - first);
    return value;
  } catch (const protozero::varint_too_long_exception&) {
    Fail("has " + std::string(what) + " of more than 10 bytes at offset " + std::to_string(at_));
  } catch (const protozero::end_of_buffer_exception&) {
    Fail("has " + std::string(what) + " at offset " + std::to_string(at_) +
         " that does not end within " + std::string(end == end_ ? "its message" : "its field") +
         CutShort(end));
  }
}

std::uint64_t WireReader::Fixed(std::size_t size) {
  const std::span<const std::byte> bytes = Window(size, end_);
  if (bytes.size() < size) {
    Fail("has a value of " + std::to_string(size) + " bytes at offset " + std::to_string(at_) +
         ", but only " + std::to_string(bytes.size()) + " follow" + CutShort(end_));
  }
  at_ += size;
  return core::LoadLittle(bytes.data(), size);
}

bool WireReader::Next(WireField* field) {
  at_ = payload_end_;
  if (at_ == end_) return false;
  field->offset = at_;
  field->value = 0;
  const std::uint64_t tag = Varint(end_, "a field's tag");
  if (tag > UINT32_MAX) {
    Fail("has a field's tag of more than 32 bits at offset " + std::to_string(field->offset));
  }
  field->number = static_cast<std::uint32_t>(tag >> 3);
  const auto type = static_cast<unsigned>(tag & 7);
  if (field->number == 0) FailField(*field, "has the number 0; protobuf counts from 1");
  if (type == 3 || type == 4) FailField(*field, "is a group, which ONNX does not use");
  if (type > 5) {
    FailField(*field, "has the wire type " + std::to_string(type) + "; protobuf has 0 to 5");
  }
  field->type = static_cast<WireType>(type);
  field->begin = at_;
  switch (field->type) {
    case WireType::kVarint: field->value = Varint(end_, "a varint"); break;
    case WireType::kFixed64: field->value = Fixed(8); break;
    case WireType::kFixed32: field->value = Fixed(4); break;
    case WireType::kBytes: {
      const std::uint64_t size = Varint(end_, "a field's length");
      if (size > end_ - at_) {
        FailField(*field, "has " + words::CountText(size, "byte") + ", but only " +
                              std::to_string(end_ - at_) + " follow" + CutShort(end_));
      }
      field->begin = at_;
      payload_end_ = at_ + size;
      break;
    }
  }
  if (field->type != WireType::kBytes) payload_end_ = at_;
  field->end = payload_end_;
  return true;
}

bool WireReader::NextVarint(std::uint64_t* value) {
  if (at_ == payload_end_) return false;
  *value = Varint(payload_end_, "a varint");
  return true;
}

void WireReader::ReadPayload(std::uint64_t offset, std::span<std::byte> out) {
  if (out.empty()) return;  // of an empty vector: memcpy takes no null pointer
  if (offset >= window_begin_ && offset <= window_end_ && window_end_ - offset >= out.size()) {
    std::memcpy(out.data(), window_.data() + (offset - window_begin_), out.size());
  } else {
    source_.Read(offset, out);
  }
}

std::string WireReader::ReadText(const WireField& field) {
  std::string text(static_cast<std::size_t>(field.size()), '\0');
  ReadPayload(field.begin, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace tensorcast::protobuf
