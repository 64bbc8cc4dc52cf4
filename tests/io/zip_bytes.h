// ZIP archives put together byte by byte, so that each of them can lie in one place.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_IO_ZIP_BYTES_H_
#define TENSORCAST_TESTS_IO_ZIP_BYTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "test_files.h"

namespace tensorcast::io {

// Bit by bit, from the polynomial.
inline std::uint32_t Crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
  }
  return ~crc;
}

// A deflate stream that holds `bytes` (fewer than 64 KiB) in one block, uncompressed.
inline std::string DeflateStored(std::string_view bytes) {
  const auto size = static_cast<std::uint16_t>(bytes.size());
  return '\x01' + LittleEndian(size, 2) + LittleEndian(static_cast<std::uint16_t>(~size), 2) +
         std::string(bytes);
}

// What the headers of a member say; each of them may lie.
struct ZipEntry {
  ZipEntry(std::string of, std::string_view content)
      : name(std::move(of)),
        packed(content),
        size(content.size()),
        packed_size(content.size()),
        crc(Crc32(content)) {}
  ZipEntry& Deflate(std::string stream) {
    method = 8;
    packed = std::move(stream);
    packed_size = packed.size();
    return *this;
  }

  std::string name;
  std::string packed;
  std::uint64_t size;         // in the central directory
  std::uint64_t packed_size;  // likewise
  std::uint32_t crc;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::uint16_t disk = 0;
  std::string local_extra, central_extra, comment;
  std::string after;  // bytes behind the data
  // What the local header says otherwise.
  std::optional<std::string> local_name;
  std::optional<std::uint64_t> local_size, local_packed_size, local_crc, local_method, local_flags;
  std::optional<std::uint64_t> offset;  // in the central directory
  std::string signature = "PK\x03\x04";
};

struct ZipEnd {
  std::optional<std::uint64_t> entries = {}, entries_here = {};
  std::optional<std::uint64_t> directory_bytes = {}, directory_begin = {};
  std::uint16_t disk = 0;
  std::string before = {};  // between the directory and the end record
  std::string comment = {};
};

inline std::string Zip(const std::vector<ZipEntry>& entries, const ZipEnd& end = {}) {
  std::string file, directory;
  for (const ZipEntry& entry : entries) {
    const std::uint64_t begin = file.size();
    const std::string local_name = entry.local_name.value_or(entry.name);
    file += entry.signature + LittleEndian(20, 2) +
            LittleEndian(entry.local_flags.value_or(entry.flags), 2) +
            LittleEndian(entry.local_method.value_or(entry.method), 2) + LittleEndian(0, 4) +
            LittleEndian(entry.local_crc.value_or(entry.crc), 4) +
            LittleEndian(entry.local_packed_size.value_or(entry.packed_size), 4) +
            LittleEndian(entry.local_size.value_or(entry.size), 4) +
            LittleEndian(local_name.size(), 2) + LittleEndian(entry.local_extra.size(), 2) +
            local_name + entry.local_extra + entry.packed + entry.after;
    directory +=
        "PK\x01\x02" + LittleEndian(20, 2) + LittleEndian(20, 2) + LittleEndian(entry.flags, 2) +
        LittleEndian(entry.method, 2) + LittleEndian(0, 4) + LittleEndian(entry.crc, 4) +
        LittleEndian(entry.packed_size, 4) + LittleEndian(entry.size, 4) +
        LittleEndian(entry.name.size(), 2) + LittleEndian(entry.central_extra.size(), 2) +
        LittleEndian(entry.comment.size(), 2) + LittleEndian(entry.disk, 2) + LittleEndian(0, 2) +
        LittleEndian(0, 4) + LittleEndian(entry.offset.value_or(begin), 4) + entry.name +
        entry.central_extra + entry.comment;
  }
  const std::uint64_t begin = file.size();
  const std::uint64_t count = end.entries.value_or(entries.size());
  return file + directory + end.before + "PK\x05\x06" + LittleEndian(end.disk, 2) +
         LittleEndian(0, 2) + LittleEndian(end.entries_here.value_or(count), 2) +
         LittleEndian(count, 2) + LittleEndian(end.directory_bytes.value_or(directory.size()), 4) +
         LittleEndian(end.directory_begin.value_or(begin), 4) +
         LittleEndian(end.comment.size(), 2) + end.comment;
}

}  // namespace tensorcast::io

#endif  // TENSORCAST_TESTS_IO_ZIP_BYTES_H_
