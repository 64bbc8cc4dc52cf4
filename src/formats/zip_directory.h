// The members of a ZIP archive, as its central directory lists them.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_SRC_FORMATS_ZIP_DIRECTORY_H_
#define TENSORCAST_SRC_FORMATS_ZIP_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_source.h"

namespace tensorcast::formats {

// Ours, so that a small file cannot fill the memory; above what any archive of tensors holds.
inline constexpr std::uint64_t kMostZipMembers = 200'000;
inline constexpr std::uint64_t kMostZipDirectoryBytes = std::uint64_t{16} << 20;

// The numbers of the format.
inline constexpr std::uint32_t kZipLocalSignature = 0x04034B50;
inline constexpr std::uint32_t kZipEntrySignature = 0x02014B50;
inline constexpr std::uint32_t kZipEndSignature = 0x06054B50;
inline constexpr std::uint32_t kZip64EndSignature = 0x06064B50;
inline constexpr std::uint32_t kZip64LocatorSignature = 0x07064B50;
inline constexpr std::size_t kZipLocalBytes = 30;
inline constexpr std::size_t kZipEntryBytes = 46;
inline constexpr std::size_t kZipEndBytes = 22;
inline constexpr std::size_t kZip64EndBytes = 56;
inline constexpr std::size_t kZip64LocatorBytes = 20;
inline constexpr std::uint16_t kZip64Extra = 1;
inline constexpr std::uint16_t kZipUtf8Flag = 1u << 11;

struct ZipMember {
  std::string name;                // any bytes without NUL, and no way out of a directory
  std::uint64_t header_begin = 0;  // of its local header
  std::uint64_t data_begin = 0;
  std::uint64_t packed_bytes = 0;  // in the file
  std::uint64_t bytes = 0;         // of what it holds, as the directory says
  std::uint32_t crc = 0;           // likewise
  bool is_deflated = false;        // else stored
};

// The members in the order of the directory. Throws Error unless every one is stored or deflated,
// lies within the file and apart from the others, and its two headers agree.
std::vector<ZipMember> ReadZipDirectory(const files::ByteSource& source);

// Why a name is none for a member (", which ..."); empty where it is one.
std::string_view WhyNoMemberName(std::string_view name);

// Begins messages about a member: "model.npz: member "w.npy"".
std::string MemberText(const files::ByteSource& source, const ZipMember& member);

}  // namespace tensorcast::formats

#endif  // TENSORCAST_SRC_FORMATS_ZIP_DIRECTORY_H_
