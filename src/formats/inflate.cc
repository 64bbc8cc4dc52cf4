// zlib, with its input read in pieces and its output held to the size that the directory declares.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/inflate.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include <zlib.h>

#include "files/error.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::size_t kInputBytes = std::size_t{64} << 10;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts in 32 bits

}  // namespace

struct Inflater::Stream {
  Stream(const files::ByteSource& bytes, const ZipMember& of) : source(bytes), member(of) {
    // Negative: without zlib's own header, as ZIP has it.
    if (inflateInit2(&state, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { inflateEnd(&state); }

  [[noreturn]] void Fail(const std::string& why) const {
    throw Error(ErrorKind::kContents, MemberText(source, member) + ' ' + why);
  }

  void ReadInput() {
    const auto piece = std::span(input).first(static_cast<std::size_t>(
        std::min<std::uint64_t>(input.size(), member.packed_bytes - taken)));
    source.Read(member.data_begin + taken, piece);
    taken += piece.size();
    state.next_in = reinterpret_cast<Bytef*>(piece.data());
    state.avail_in = static_cast<uInt>(piece.size());
  }

  // Inflates into all of `out`, or up to the end of the stream; returns the bytes made.
  std::size_t Inflate(std::span<std::byte> out) {
    state.next_out = reinterpret_cast<Bytef*>(out.data());
    state.avail_out = static_cast<uInt>(out.size());
    while (state.avail_out > 0 && !ended) {
      if (state.avail_in == 0 && taken < member.packed_bytes) ReadInput();
      // Also where no input is left: zlib may hold output that it had no room for.
      const int result = inflate(&state, Z_NO_FLUSH);
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      if (result == Z_STREAM_END) {
        ended = true;
      } else if (result == Z_BUF_ERROR) {  // there is room for output: it wants more input
        Fail("ends in the middle of its deflated data, after " +
             std::to_string(made + out.size() - state.avail_out) + " of " +
             words::CountText(member.bytes, "byte"));
      } else if (result != Z_OK) {
        Fail("has damaged deflated data before offset " +
             std::to_string(member.data_begin + taken - state.avail_in) +
             (state.msg != nullptr ? " (" + std::string(state.msg) + ")" : ""));
      }
    }
    const std::size_t got = out.size() - state.avail_out;
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(out.data()), got);
    made += got;
    return got;
  }

  const files::ByteSource& source;
  const ZipMember& member;
  z_stream state = {};
  std::vector<std::byte> input = std::vector<std::byte>(kInputBytes);
  std::uint64_t taken = 0;  // of the member's packed bytes
  std::uint64_t made = 0;
  uLong crc = 0;
  bool ended = false;
};

Inflater::Inflater(const files::ByteSource& source, const ZipMember& member)
    : stream_(std::make_unique<Stream>(source, member)) {}

Inflater::~Inflater() = default;

std::size_t Inflater::Next(std::span<std::byte> out) {
  Stream& stream = *stream_;
  const std::uint64_t left = stream.member.bytes - stream.made;
  const auto most =
      static_cast<std::size_t>(std::min<std::uint64_t>({left, out.size(), kMostAtOnce}));
  std::size_t done = 0;
  while (done < most && !stream.ended) done += stream.Inflate(out.subspan(done, most - done));
  if (done < most) {
    stream.Fail("holds " + words::CountText(stream.made, "byte") + "; the central directory says " +
                std::to_string(stream.member.bytes));
  }
  return done;
}

void Inflater::Finish() {
  Stream& stream = *stream_;
  const uLong crc = stream.crc;
  // The stream's end may still be in the input; one byte more is one too many.
  std::byte more{};
  if (!stream.ended && stream.Inflate(std::span(&more, 1)) > 0) {
    stream.Fail("holds more than the " + words::CountText(stream.member.bytes, "byte") +
                " that the central directory says");
  }
  const std::uint64_t unread = stream.member.packed_bytes - stream.taken + stream.state.avail_in;
  if (unread > 0) {
    stream.Fail("has " + words::CountText(unread, "byte") + " after the end of its deflated data");
  }
  if (crc != stream.member.crc) {
    stream.Fail("does not have the CRC-32 that the central directory states; it is damaged");
  }
}

}  // namespace tensorcast::formats
