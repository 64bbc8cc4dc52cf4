// Right checksums; see zip_checksums.h. Offsets are those of APPNOTE.TXT 4.3.7 and 4.3.12.
//
// SPDX-License-Identifier: Apache-2.0
#include "zip_checksums.h"

#include <zlib.h>

#include <cstring>
#include <optional>

namespace {

constexpr std::size_t kCentralSize = 46;
constexpr std::size_t kLocalSize = 30;
constexpr std::size_t kMostInflated = 1 << 20;

std::uint32_t Get(std::span<const std::uint8_t> bytes, std::size_t at, int size) {
  std::uint32_t value = 0;
  for (int i = size; i-- > 0;) value = value << 8 | bytes[at + static_cast<std::size_t>(i)];
  return value;
}

void Put(std::span<std::uint8_t> bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint32_t Checksum(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(crc32(0, bytes.data(), static_cast<uInt>(bytes.size())));
}

std::optional<std::uint32_t> ChecksumOfDeflated(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> inflated(kMostInflated);
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
  stream.next_in = const_cast<Bytef*>(bytes.data());  // zlib does not write to it
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = inflated.data();
  stream.avail_out = static_cast<uInt>(inflated.size());
  const int result = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (result != Z_STREAM_END) return std::nullopt;
  return Checksum(std::span(inflated).first(stream.total_out));
}

}  // namespace

std::vector<std::uint8_t> WithRightChecksums(std::span<const std::uint8_t> archive) {
  std::vector<std::uint8_t> righted(archive.begin(), archive.end());
  const std::size_t size = righted.size();
  for (std::size_t at = 0; at + kCentralSize <= size; ++at) {
    if (std::memcmp(righted.data() + at, "PK\1\2", 4) != 0) continue;
    const std::size_t local = Get(righted, at + 42, 4);
    if (local > size || size - local < kLocalSize) continue;
    const std::size_t data =
        local + kLocalSize + Get(righted, local + 26, 2) + Get(righted, local + 28, 2);
    const std::size_t stored = Get(righted, at + 20, 4);
    if (data > size || stored > size - data) continue;
    const auto member = std::span<const std::uint8_t>(righted).subspan(data, stored);
    const std::uint32_t method = Get(righted, at + 10, 2);
    std::optional<std::uint32_t> checksum;
    if (method == 0) checksum = Checksum(member);
    if (method == 8) checksum = ChecksumOfDeflated(member);
    if (!checksum) continue;
    Put(righted, at + 16, *checksum);
    Put(righted, local + 14, *checksum);
  }
  return righted;
}
