// Reads a ZIP archive from its end: the end record (and its ZIP64 form), the central directory, and
// each member's local header, which must say the same.
//
// SPDX-License-Identifier: Apache-2.0
#include "formats/zip_directory.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "core/little_endian.h"
#include "files/error.h"
#include "formats/name_order.h"

namespace tensorcast::formats {

using core::ErrorKind;
using files::Error;
namespace {

constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
// Bits of the flags: encrypted, sizes after the data, patched, strongly encrypted, headers masked.
constexpr std::uint16_t kEncrypted = 1u << 0 | 1u << 6 | 1u << 13;
constexpr std::uint16_t kSizesAfterData = 1u << 3;
constexpr std::uint16_t kPatched = 1u << 5;
// Deflate gives at most 258 bytes for 2 bits, a little less with what surrounds them.
constexpr std::uint64_t kMostRatio = 1032;

std::uint64_t Load64(std::span<const std::byte> bytes, std::size_t at) {
  return core::LoadLittle(&bytes[at], 8);
}

std::uint16_t Load16(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(core::LoadLittle(&bytes[at], 2));
}

std::uint32_t Load32(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(core::LoadLittle(&bytes[at], 4));
}

[[noreturn]] void FailMember(const files::ByteSource& source, const ZipMember& member,
                             const std::string& why, ErrorKind kind = ErrorKind::kContents) {
  throw Error(kind, MemberText(source, member) + ' ' + why);
}

// Where the central directory lies.
struct Directory {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

// The offset of the end record: the last one whose comment is all that follows it.
std::uint64_t FindEnd(const files::ByteSource& source) {
  constexpr std::uint64_t kMostComment = 0xFFFF;
  const std::uint64_t tail = std::min<std::uint64_t>(source.size(), kZipEndBytes + kMostComment);
  std::vector<std::byte> bytes(static_cast<std::size_t>(tail));
  source.Read(source.size() - tail, bytes);
  for (std::size_t back = kZipEndBytes; back <= bytes.size(); ++back) {
    const std::size_t at = bytes.size() - back;
    if (Load32(bytes, at) != kZipEndSignature) continue;
    if (Load16(bytes, at + 20) == back - kZipEndBytes) return source.size() - back;
  }
  files::FailFile(
      source, "has no end record of a ZIP archive; the file is cut short, or is not an archive");
}

void RefuseDisks(const files::ByteSource& source) {
  files::FailFile(source, "is one disk of a ZIP archive in several; join them first",
                  ErrorKind::kUnsupported);
}

// The ZIP64 end record that a locator before the end record names; nothing without a locator.
std::optional<Directory> ReadZip64End(const files::ByteSource& source, std::uint64_t end) {
  if (end < kZip64LocatorBytes) return std::nullopt;
  std::array<std::byte, kZip64LocatorBytes> locator;
  source.Read(end - locator.size(), locator);
  if (Load32(locator, 0) != kZip64LocatorSignature) return std::nullopt;
  const std::uint64_t at = Load64(locator, 8);
  if (Load32(locator, 4) != 0 || Load32(locator, 16) > 1) RefuseDisks(source);
  const std::uint64_t locator_at = end - locator.size();
  if (at > locator_at || locator_at - at < kZip64EndBytes) {
    files::FailFile(source, "gives its ZIP64 end record the offset " + std::to_string(at) +
                                ", where there is no room for it");
  }
  std::array<std::byte, kZip64EndBytes> record;
  source.Read(at, record);
  if (Load32(record, 0) != kZip64EndSignature || Load64(record, 4) != locator_at - at - 12) {
    files::FailFile(source, "has no ZIP64 end record at offset " + std::to_string(at) +
                                ", where its locator says it is");
  }
  if (Load32(record, 16) != 0 || Load32(record, 20) != 0) RefuseDisks(source);
  Directory directory;
  directory.entries = Load64(record, 32);
  directory.bytes = Load64(record, 40);
  directory.begin = Load64(record, 48);
  if (Load64(record, 24) != directory.entries) RefuseDisks(source);
  if (directory.begin > at || directory.bytes != at - directory.begin) {
    files::FailFile(source, "has a central directory of " +
                                words::CountText(directory.bytes, "byte") + " from offset " +
                                std::to_string(directory.begin) +
                                ", which does not end at its end record, at " + std::to_string(at));
  }
  return directory;
}

Directory FindDirectory(const files::ByteSource& source) {
  const std::uint64_t end = FindEnd(source);
  std::array<std::byte, kZipEndBytes> record;
  source.Read(end, record);
  Directory directory;
  directory.entries = Load16(record, 10);
  directory.bytes = Load32(record, 12);
  directory.begin = Load32(record, 16);
  if (const std::optional<Directory> wide = ReadZip64End(source, end)) {
    const auto differs = [](std::uint64_t narrow, std::uint64_t most, std::uint64_t value) {
      return narrow != most && narrow != value;
    };
    if (differs(directory.entries, 0xFFFF, wide->entries) ||
        differs(directory.bytes, UINT32_MAX, wide->bytes) ||
        differs(directory.begin, UINT32_MAX, wide->begin)) {
      files::FailFile(source, "has two end records, ZIP64's and the older, that do not agree");
    }
    directory = *wide;
  } else {
    if (Load16(record, 4) != 0 || Load16(record, 6) != 0 ||
        Load16(record, 8) != directory.entries) {
      RefuseDisks(source);
    }
    if (directory.begin > end || directory.bytes != end - directory.begin) {
      files::FailFile(source,
                      "has a central directory of " + words::CountText(directory.bytes, "byte") +
                          " from offset " + std::to_string(directory.begin) +
                          ", which does not end at its end record, at " + std::to_string(end));
    }
  }
  if (directory.entries > kMostZipMembers || directory.bytes > kMostZipDirectoryBytes) {
    files::FailFile(source, "has " + words::CountText(directory.entries, "member") +
                                " in a directory of " + words::CountText(directory.bytes, "byte") +
                                "; at most " + std::to_string(kMostZipMembers) + " and " +
                                std::to_string(kMostZipDirectoryBytes) + " are read");
  }
  return directory;
}

// Sizes and offset as a header gives them; those of 32 one bits stand in its ZIP64 extra field.
struct Places {
  std::uint64_t bytes = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t header_begin = 0;
};

// False where the extra fields are malformed, or have no room for what they should hold.
bool ApplyZip64(std::span<const std::byte> extra, bool has_header_begin, Places& places) {
  std::span<const std::byte> wide;
  while (!extra.empty()) {
    if (extra.size() < 4) return false;
    const std::size_t size = Load16(extra, 2);
    if (extra.size() - 4 < size) return false;
    if (Load16(extra, 0) == kZip64Extra) wide = extra.subspan(4, size);
    extra = extra.subspan(4 + size);
  }
  std::size_t at = 0;
  const auto widen = [&](std::uint64_t& value) {
    if (value != UINT32_MAX) return true;
    if (wide.size() - at < 8) return false;
    value = Load64(wide, at);
    at += 8;
    return true;
  };
  return widen(places.bytes) && widen(places.packed_bytes) &&
         (!has_header_begin || widen(places.header_begin));
}

std::string MethodText(std::uint16_t method) {
  std::string_view name;
  switch (method) {
    case 9: name = " (deflate64)"; break;
    case 12: name = " (bzip2)"; break;
    case 14: name = " (lzma)"; break;
    case 93: name = " (zstd)"; break;
    case 95: name = " (xz)"; break;
    default: break;
  }
  return std::to_string(method) + std::string(name);
}

// One entry of the directory; `flags` are kept for the comparison with the local header.
struct Entry {
  ZipMember member;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
};

// Takes the entry at the front of `rest`, of a directory that begins at `begin` in the file.
Entry TakeEntry(const files::ByteSource& source, std::uint64_t begin,
                std::span<const std::byte>& rest, std::uint64_t at) {
  const auto cut = [&] {
    files::FailFile(source, "has no whole entry at offset " + std::to_string(begin + at) +
                                ", in its central directory");
  };
  if (rest.size() < kZipEntryBytes || Load32(rest, 0) != kZipEntrySignature) cut();
  const std::size_t name_bytes = Load16(rest, 28);
  const std::size_t extra_bytes = Load16(rest, 30);
  const std::size_t whole = kZipEntryBytes + name_bytes + extra_bytes + Load16(rest, 32);
  if (rest.size() < whole) cut();
  Entry entry;
  ZipMember& member = entry.member;
  const std::span<const std::byte> name = rest.subspan(kZipEntryBytes, name_bytes);
  member.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  entry.flags = Load16(rest, 8);
  entry.method = Load16(rest, 10);
  member.crc = Load32(rest, 16);
  Places places{Load32(rest, 24), Load32(rest, 20), Load32(rest, 42)};
  if (!ApplyZip64(rest.subspan(kZipEntryBytes + name_bytes, extra_bytes), true, places)) {
    FailMember(source, member, "has extra fields that are cut short, in the central directory");
  }
  member.bytes = places.bytes;
  member.packed_bytes = places.packed_bytes;
  member.header_begin = places.header_begin;
  member.is_deflated = entry.method == kDeflated;
  const std::uint16_t disk = Load16(rest, 34);
  if (disk != 0 && disk != 0xFFFF) RefuseDisks(source);
  rest = rest.subspan(whole);

  if (const std::string_view why = WhyNoMemberName(member.name); !why.empty()) {
    FailMember(source, member, "has a name " + std::string(why));
  }
  if ((entry.flags & kEncrypted) != 0) {
    FailMember(source, member, "is encrypted; decrypt it first", ErrorKind::kUnsupported);
  }
  if ((entry.flags & kPatched) != 0 || (entry.method != kStored && entry.method != kDeflated)) {
    FailMember(source, member,
               (entry.flags & kPatched) != 0
                   ? std::string("is a patch of another file, which is not read")
                   : "is compressed by method " + MethodText(entry.method) +
                         "; stored and deflated members are read",
               ErrorKind::kUnsupported);
  }
  if (!member.is_deflated && member.bytes != member.packed_bytes) {
    FailMember(source, member,
               "is stored, but takes " + words::CountText(member.packed_bytes, "byte") + " for " +
                   std::to_string(member.bytes));
  }
  if (member.is_deflated && member.bytes / kMostRatio > member.packed_bytes) {
    FailMember(source, member,
               "would give " + words::CountText(member.bytes, "byte") + " from " +
                   std::to_string(member.packed_bytes) + "; deflate cannot do more than " +
                   std::to_string(kMostRatio) + " for one");
  }
  return entry;
}

// Reads the local header, holds it against the entry and sets data_begin.
void CheckLocalHeader(const files::ByteSource& source, std::uint64_t directory_begin,
                      Entry& entry) {
  ZipMember& member = entry.member;
  const auto outside = [&] {
    FailMember(source, member,
               "lies at offset " + std::to_string(member.header_begin) + " with " +
                   words::CountText(member.packed_bytes, "byte") +
                   " of data, beyond the central directory's offset " +
                   std::to_string(directory_begin));
  };
  if (member.header_begin > directory_begin ||
      directory_begin - member.header_begin < kZipLocalBytes) {
    outside();
  }
  std::array<std::byte, kZipLocalBytes> header;
  source.Read(member.header_begin, header);
  const auto differ = [&](const std::string& what) {
    FailMember(source, member,
               "has another " + what + " in its local header, at offset " +
                   std::to_string(member.header_begin) + ", than in the central directory");
  };
  if (Load32(header, 0) != kZipLocalSignature) {
    FailMember(source, member,
               "has no local header at offset " + std::to_string(member.header_begin));
  }
  const std::size_t name_bytes = Load16(header, 26);
  const std::size_t extra_bytes = Load16(header, 28);
  const std::uint64_t room = directory_begin - member.header_begin - kZipLocalBytes;
  if (room < name_bytes + extra_bytes || room - name_bytes - extra_bytes < member.packed_bytes) {
    outside();
  }
  std::vector<std::byte> rest(name_bytes + extra_bytes);
  source.Read(member.header_begin + kZipLocalBytes, rest);
  if (std::string_view(reinterpret_cast<const char*>(rest.data()), name_bytes) != member.name) {
    differ("name");
  }
  if (Load16(header, 8) != entry.method) differ("method");
  if (Load16(header, 6) != entry.flags) differ("set of flags");
  Places places{Load32(header, 22), Load32(header, 18), 0};
  if (!ApplyZip64(std::span(rest).subspan(name_bytes), false, places)) {
    FailMember(source, member, "has extra fields that are cut short, in its local header");
  }
  const bool after = (entry.flags & kSizesAfterData) != 0;
  const auto check = [&](std::uint64_t local, std::uint64_t central, const char* what) {
    if (local != central && !(after && local == 0)) differ(what);
  };
  check(Load32(header, 14), member.crc, "CRC-32");
  check(places.bytes, member.bytes, "size");
  check(places.packed_bytes, member.packed_bytes, "compressed size");
  member.data_begin = member.header_begin + kZipLocalBytes + name_bytes + extra_bytes;
}

// No two members share a name, and none lies on another.
void CheckApart(const files::ByteSource& source, const std::vector<ZipMember>& members) {
  if (const auto twice = NameOrder<ZipMember>(members).Twice()) {
    FailMember(source, members[twice->first], "is in the central directory twice");
  }
  std::vector<std::uint32_t> order(members.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return members[a].header_begin < members[b].header_begin;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const ZipMember& before = members[order[i - 1]];
    const ZipMember& member = members[order[i]];
    const std::uint64_t end = before.data_begin + before.packed_bytes;
    if (member.header_begin < end) {
      FailMember(source, member,
                 "begins at offset " + std::to_string(member.header_begin) + ", inside member " +
                     words::Quoted(before.name) + ", which ends at " + std::to_string(end));
    }
  }
}

}  // namespace

std::string MemberText(const files::ByteSource& source, const ZipMember& member) {
  return words::PathText(source.path()) + ": member " + words::Quoted(member.name);
}

std::string_view WhyNoMemberName(std::string_view name) {
  if (name.empty()) return "of no character";
  if (name.size() > 0xFFFF) return "of more than 65535 bytes";
  if (name.find('\0') != std::string_view::npos) return "with a NUL byte";
  constexpr std::string_view kSeparators = "/\\";
  if (kSeparators.find(name[0]) != std::string_view::npos) return "that is an absolute path";
  while (true) {
    const std::size_t end = name.find_first_of(kSeparators);
    if (name.substr(0, end) == "..") return "that leads out of its directory";
    if (end == std::string_view::npos) return {};
    name.remove_prefix(end + 1);
  }
}

std::vector<ZipMember> ReadZipDirectory(const files::ByteSource& source) {
  const Directory directory = FindDirectory(source);
  std::vector<std::byte> bytes(static_cast<std::size_t>(directory.bytes));
  source.Read(directory.begin, bytes);
  std::span<const std::byte> rest = bytes;
  std::vector<ZipMember> members;
  while (!rest.empty() && members.size() < directory.entries) {
    Entry entry = TakeEntry(source, directory.begin, rest, bytes.size() - rest.size());
    CheckLocalHeader(source, directory.begin, entry);
    members.push_back(std::move(entry.member));
  }
  if (!rest.empty() || members.size() != directory.entries) {
    files::FailFile(source, "has " + std::string(rest.empty() ? "fewer" : "more") +
                                " members in its central directory than the " +
                                std::to_string(directory.entries) + " of its end record");
  }
  CheckApart(source, members);
  return members;
}

}  // namespace tensorcast::formats
